"""What the bytes of an event say before anything is decoded: whether they can hold markup at all."""

from __future__ import annotations

import re

from streamcite.format import CitationFormat

BACKSLASH = ord("\\")
LF = ord("\n")
# Escapes of a surrogate, which may stand alone and is joined or replaced then; and of a letter, an underscore or a full
# stop, which nobody needs: with these the name of a field, or of a type of event, may be spelled.
_SURROGATE, _NAME = "[dD][89a-fA-F]", "00(?:2[eE]|5[fF]|[67])"
# Characters below this may be written as an escape of one letter.
_FIRST_PRINTABLE = " "


class Marks:
    """Find in JSON, as bytes, the first characters of what a parser may change in a text of which nothing is held.

    What is found may be something else; where nothing is found, text stays as it is.

    Attributes:
        lead: a byte that is in whatever `found` finds, unless a backslash is. Looking for it, and for the backslash,
            costs a tenth of calling that.
    """

    __slots__ = ("_characters", "_escapes", "lead")

    def __init__(self, format: CitationFormat) -> None:
        firsts = {token[0] for token in format.tokens} | format.ignored
        encoded = [first.encode("utf-8", "surrogatepass") for first in firsts]
        leads = {each[0] for each in encoded}
        # Where there is no such byte, one that is in every event.
        self.lead: int = leads.pop() if len(leads) == 1 else LF
        self._characters = re.compile(b"|".join(map(re.escape, encoded)))
        spelled = [f"{ord(first):04x}" for first in firsts if ord(first) <= 0xFFFF]
        escapes = rf"\\u(?:(?i:{'|'.join(spelled) or '(?!)'})|{_SURROGATE}|{_NAME})"
        if any(first < _FIRST_PRINTABLE for first in firsts):
            escapes += r"|\\[bfnrt]"
        self._escapes = re.compile(escapes.encode())

    def found(self, data: bytes) -> bool:
        """Say whether any of these characters may be in the strings of this JSON."""
        if self._characters.search(data):
            return True
        return BACKSLASH in data and self._escapes.search(data) is not None


class Finder:
    """Find in many frames, from the first to the last, what must not be passed unread. Each byte is searched once.

    Args:
        data: the frames.
        lead: as of `Marks`.
    """

    __slots__ = ("_data", "_next")

    def __init__(self, data: bytes, lead: int) -> None:
        self._data = data
        # Where each is that was looked for last; before the beginning: not yet; after the end: nowhere.
        self._next = dict.fromkeys((bytes([lead]), bytes([BACKSLASH]), b"annotation"), -1)

    def next(self, begin: int, *, annotations: bool) -> int:
        """Give where the first lead or backslash is, or the first annotation if these count too; -1 if none is.

        Args:
            begin: from where on; never less than before.
            annotations: whether these count.
        """
        nearest = end = len(self._data)
        for sought, at in self._next.items():
            if sought == b"annotation" and not annotations:
                continue
            if at < begin:
                at = self._data.find(sought, begin)
                at = end if at < 0 else at
                self._next[sought] = at
            nearest = min(nearest, at)
        return -1 if nearest == end else nearest
