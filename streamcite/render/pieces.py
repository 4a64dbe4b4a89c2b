"""A Markdown text that grows, cut into pieces that no text after them changes."""

from __future__ import annotations

import re

_SEGMENT = re.compile(r"[^\n]*\n|[^\n]+")
_BLANK = " \t\n"
# The mark of an item of a list, at the beginning of a line, and what may become one.
_ITEM = re.compile(r"( {0,3}(?:[-+*]|[0-9]{1,9}[.)]))([ \t\n]+)")
_MAY_BE_ITEM = re.compile(r" {0,3}(?:[-+*]|[0-9]{1,9}[.)]?)")
_INDENTED = re.compile(r"( {0,3}\t| {4})")
_FENCE = re.compile(r"( {0,3})(?:(`{3,})[^`]*\Z|(~{3,}))")
# As much of the beginning of a line as says what it is.
_ENOUGH = 32


class Pieces:
    """Cut a text before blocks that begin after a blank line, so that each piece is Markdown by itself.

    Read as CommonMark one by one, the pieces are what the whole is, except for the definition of a link reference,
    which holds in its piece and after it. Where a piece ends depends on nothing but the text. Linear in the text.

    Where it takes a whole parser to say whether a block begins, none does: pieces are rather too long. Lines end
    with a line feed.

    Attributes:
        length: how many code points the last piece has so far, of which no end is known.
    """

    def __init__(self) -> None:
        self.length: int = 0
        self._begin_piece()
        self._line: list[str] = []
        self._beginning: str | None = ""  # of the line; None once it needs not be known any more

    def feed(self, text: str) -> list[str]:
        """Read more of the text, and give the pieces that are ended by it."""
        if self._beginning is None and "\n" not in text:  # most deltas
            self._line.append(text)
            self.length += len(text)
            return []
        ended: list[str] = []
        for segment in _SEGMENT.findall(text):
            if self._beginning is not None:
                self._beginning = self._judge(self._beginning + segment, ended)
            self._line.append(segment)
            self.length += len(segment)
            if segment.endswith("\n"):
                self._end_line("".join(self._line))
        return ended

    @property
    def open(self) -> str:
        """Give the last piece, as far as it has come."""
        return "".join([*self._lines, *self._line])

    def _begin_piece(self) -> None:
        self._lines: list[str] = []
        self._behind_blank = False
        self._fence = ""  # what must close the code that is open
        self._item = 0  # where in its line what is in an item of a list begins; 0 if there was none
        self._indented = False  # whether the last line may be indented code

    def _judge(self, beginning: str, ended: list[str]) -> str | None:
        """Cut before the line that begins so, if a block does; return what must still be known of it."""
        if not self._behind_blank or self._fence:
            return None
        if not beginning.strip(_BLANK):
            return beginning[:_ENOUGH]
        if _MAY_BE_ITEM.fullmatch(beginning):
            return beginning
        if _INDENTED.match(beginning):
            goes_on = bool(self._item) or self._indented
        else:
            goes_on = bool(self._item) and (beginning[0] == " " or _ITEM.match(beginning) is not None)
        if not goes_on:
            ended.append("".join(self._lines))
            self.length -= len(ended[-1])
            self._begin_piece()
        return None

    def _end_line(self, line: str) -> None:
        self._lines.append(line)
        self._line.clear()
        self._beginning = ""
        self._behind_blank = not line.strip(_BLANK)
        if self._fence:
            marks = line.strip(_BLANK)
            closes = len(marks) >= len(self._fence) and not marks.strip(self._fence[0])
            if closes and not _INDENTED.match(line):
                self._fence = ""
        elif not self._behind_blank:
            self._indented = bool(_INDENTED.match(line))
            if item := _ITEM.match(line):
                self._item = len(item[1]) + (len(item[2]) if item[2].isspace() and len(item[2]) <= 4 else 1)
            elif (fence := _FENCE.match(line)) and not (self._item and len(fence[1]) >= self._item):
                self._fence = fence[2] or fence[3]
