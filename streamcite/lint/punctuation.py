"""Markers that stand in front of the punctuation that they belong behind."""

from __future__ import annotations

from .findings import Finding, Spot

# The guide's rule: a marker comes after these.
_MARKS = frozenset(".,;:!?。，、；：！？．")  # noqa: RUF001  # marks of Chinese and Japanese
_BLANKS = " \t\xa0\u3000"
# In Markdown no exclamation mark, but what opens an image.
_IMAGE = "!["
_MESSAGE = "Move the marker behind the punctuation that follows it."


class Punctuation:
    """Look at what stands on either side of markers, one right behind the other or alone."""

    def __init__(self) -> None:
        self._before = ""  # the last character of the text that is no blank
        self._markers: list[Spot] = []  # those at its end
        self._waiting = ""  # what may open an image behind them

    def mark(self, spot: Spot) -> list[Finding]:
        """Take a marker."""
        findings = self.close()
        self._markers.append(spot)
        return findings

    def read(self, text: str) -> list[Finding]:
        """Take the next text, which is not empty."""
        findings: list[Finding] = []
        if self._markers:
            behind = self._waiting + text[: len(_IMAGE)]
            if behind == _IMAGE[0]:
                self._waiting = behind
                return []
            findings = self._settle(behind)
        if shown := text.rstrip(_BLANKS):
            self._before = shown[-1]
        return findings

    def close(self) -> list[Finding]:
        """Settle what waits for more text."""
        return self._settle(self._waiting) if self._waiting else []

    def _settle(self, behind: str) -> list[Finding]:
        misplaced = behind[0] in _MARKS and not behind.startswith(_IMAGE) and self._before not in _MARKS
        findings = [spot.report("before-punctuation", _MESSAGE) for spot in self._markers] if misplaced else []
        if self._waiting:
            self._before, self._waiting = self._waiting, ""
        self._markers.clear()
        return findings
