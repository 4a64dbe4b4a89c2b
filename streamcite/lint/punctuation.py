"""Markers that stand before the punctuation that they belong after."""

from __future__ import annotations

import re

from .findings import Finding, Spot

# The guide's rule: a marker comes after these.
_ASCII = frozenset(".,;:!?")
_MARKS = _ASCII | frozenset("。，、；：！？．")  # noqa: RUF001  # marks of Chinese and Japanese
_BLANKS = " \t\xa0\u3000"
_EMPHASIS = "*_~"  # a reader does not see these before a marker
# In Markdown no exclamation mark, but what opens an image.
_IMAGE = "!["
# After a blank these begin a word, and end none: .NET, .5, :smile:, ./path, !=
_WORD = re.compile(r"[.,;:!?][A-Za-z0-9_/=-]")
_MESSAGE = "Move the marker after the punctuation that follows it."


class Punctuation:
    """Look at what stands on either side of markers, one right after the other or alone."""

    def __init__(self) -> None:
        self._before = ""  # the last character of the text that is not a blank, nor a mark of emphasis
        self._apart = True  # whether a blank, or nothing, stands at its end
        self._markers: list[Spot] = []  # those at its end
        self._waiting = ""  # what may begin something else after them

    def mark(self, spot: Spot) -> list[Finding]:
        """Take a marker."""
        findings = self.close()
        self._markers.append(spot)
        return findings

    def read(self, text: str) -> list[Finding]:
        """Take the next text, which is not empty."""
        findings: list[Finding] = []
        if self._markers:
            behind = (self._waiting + text[:2])[:2]
            if len(behind) == 1 and (behind in _ASCII if self._apart else behind == _IMAGE[0]):
                self._waiting = behind
                return []
            findings = self._settle(behind)
        if shown := text.rstrip(_BLANKS + _EMPHASIS):
            self._before = shown[-1]
        self._apart = text[-1].isspace()
        return findings

    def close(self) -> list[Finding]:
        """Settle what waits for more text."""
        return self._settle(self._waiting) if self._waiting else []

    def _settle(self, behind: str) -> list[Finding]:
        is_mark = behind[0] in _MARKS and behind != _IMAGE and not (self._apart and _WORD.match(behind))
        misplaced = is_mark and self._before not in _MARKS
        findings = [spot.report("before-punctuation", _MESSAGE) for spot in self._markers] if misplaced else []
        if self._waiting:
            self._before, self._apart, self._waiting = self._waiting, False, ""
        self._markers.clear()
        return findings
