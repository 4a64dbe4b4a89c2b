"""How markers are taken out where no library does it, in our own words: four algorithms, in no package registry.

All read one marker as the citation guide's own helper does: a family, then ids, then perhaps a locator.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from streamcite import OPENAI, Reference

from .reading import Cite, Piece

START, DELIMITER, STOP = OPENAI.tokens
_MARKER = re.compile(f"{START}(?:file)?cite{DELIMITER}(.*?){STOP}", re.DOTALL)
_LOCATOR = re.compile(r"L\d+(?:-L\d+)?")
_SOURCE_ID = re.compile(r"[A-Za-z0-9_-]+")


def cite(body: str) -> Cite | None:
    """Read what stands between a marker's family and its stop; None if it is not a citation."""
    words = [word for word in map(str.strip, body.split(DELIMITER)) if word]
    locator = words.pop() if words and _LOCATOR.fullmatch(words[-1]) else None
    if not words or not all(map(_SOURCE_ID.fullmatch, words)):
        return None
    *before, last = words
    return Cite((*map(Reference, before), Reference(last, locator)))


def pieces(text: str) -> list[Piece]:
    """Take the markers out of a text; all else stays."""
    found: list[Piece] = []
    end = 0
    for match in _MARKER.finditer(text):
        if (cited := cite(match[1])) is not None:
            found += [text[end : match.start()], cited]
            end = match.end()
    return [*found, text[end:]]


class AtTheEnd:
    """A regular expression over the whole text, when it has ended; nothing is shown before."""

    def __init__(self) -> None:
        self._deltas: list[str] = []

    def feed(self, delta: str) -> Sequence[Piece]:
        """Gather the next delta."""
        self._deltas.append(delta)
        return ()

    def close(self) -> Sequence[Piece]:
        """Read all."""
        return pieces("".join(self._deltas))


class Rescan:
    """The same over all that has come, after each delta; what it gives replaces what was shown."""

    def __init__(self) -> None:
        self._text = ""

    def feed(self, delta: str) -> Sequence[Piece]:
        """Read all again."""
        self._text += delta
        return pieces(self._text)

    def close(self) -> Sequence[Piece]:
        """Read all once more."""
        return pieces(self._text)


class GrowingBuffer:
    """A regular expression over what is not shown yet, which waits from a start on for the marker's stop."""

    def __init__(self) -> None:
        self._buffer = ""

    def feed(self, delta: str) -> Sequence[Piece]:
        """Read the buffer again, and give what stands before the next start."""
        self._buffer += delta
        *given, rest = pieces(self._buffer)
        text = str(rest)
        start = text.find(START)
        shown, self._buffer = (text, "") if start < 0 else (text[:start], text[start:])
        return [*given, shown]

    def close(self) -> Sequence[Piece]:
        """Give the buffer: no stop has come."""
        return [self._buffer]


class HoldUntilStop:
    """A filter that holds whatever follows a start until a stop comes, and drops what never gets one."""

    def __init__(self) -> None:
        self._held: list[str] | None = None

    def feed(self, delta: str) -> Sequence[Piece]:
        """Show what stands outside of markers."""
        given: list[Piece] = []
        while delta:
            if self._held is None:
                shown, start, delta = delta.partition(START)
                given.append(shown)
                if start:
                    self._held = []
            else:
                inside, stop, delta = delta.partition(STOP)
                self._held.append(inside)
                if stop:
                    family, _, body = "".join(self._held).partition(DELIMITER)
                    self._held = None
                    if family in OPENAI.families and (cited := cite(body)) is not None:
                        given.append(cited)
        return given

    def close(self) -> Sequence[Piece]:
        """Drop what is held."""
        return ()
