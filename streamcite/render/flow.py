"""Where in a Markdown text that streams a link can stand and still be one, found without a parser."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable

from .inlines import Inlines
from .lines import Lines
from .stage import blank_line

# What a place for a link is looked for between. What stands in one of these stays together; what is longer than anybody
# writes is cut, so that what is held is bounded.
_TOKEN = re.compile(
    r"(?P<end>\r\n|\r|\n)|(?P<tail>(?:\||\#{1,64})[ \t]{0,64})|(?P<run>`{1,64}|[*_~]{1,64})|(?P<cut>[ \t]{1,64})"
    r"|\\[^\r\n]|&#?[A-Za-z0-9]{1,31};|[\[\]()<>:&\\]|(?P<word>[^\r\n`\\|#*_~ \t\[\]()<>:&]{1,64})"
)
# What may be no more than the beginning of one of them, or is known by what follows it.
_OPEN_END = re.compile(r"(?:\r|`{1,64}|\\|(?:\||\#{1,64})[ \t]{0,64}|[*_~]{1,64}|[<\[\]]|&#?[A-Za-z0-9]{0,31})\Z")
_PLAIN = re.compile(r"[^\r\n`\\|#*_~\[\]()<>:&]+")
# After these a link needs a blank before it, or it is an image, a reference or not a link.
_APART = ("!", "]", "\\", "^")


class Flow:
    """Pass a text on, and draw in it what waits: where it waits, or after what no link can stand in.

    That is code of all kinds, a link, an address in pointed brackets, the end of emphasis, what a line begins with, the
    bar that ends the row of a table. Whether it is what it seems is known only later; until then what waits goes on
    waiting, while the text goes on.

    Args:
        draw: gives what the next that wait, as many as it is asked for, are drawn as; it may be nothing.
        minds: says whether a link needs a blank beside a character, though it is a link without.
        notes: whether it is footnotes that are drawn: what would be one of the text is made text.
    """

    def __init__(
        self, draw: Callable[[int], str], *, minds: Callable[[str], bool] = lambda _: False, notes: bool = False
    ) -> None:
        self._draw = draw
        self._minds = minds
        self._notes = notes
        self._lines, self._inlines = Lines(), Inlines()
        self._out: list[str] = []
        self._last = ""  # the last two characters that were passed on
        self._text = ""  # what was not passed on yet
        self._offset = 0  # of that
        self._ahead: deque[int] = deque()  # the offsets of what waits and was not reached yet
        self._reached = 0  # how much waits that was

    def wait(self) -> None:
        """Note that something waits at the end of the text."""
        self._ahead.append(self._offset + len(self._text))

    def feed(self, text: str) -> str:
        """Read more of the text, and pass on what is certain."""
        if not (self._text or self._ahead or self._reached) and self._lines.content and _PLAIN.fullmatch(text):
            self._offset += len(text)
            self._lines.take(text)
            self._put(text)
        else:
            self._text += text
            self._read(final=False)
        return self._given_out()

    def close(self, list_of_sources: str = "") -> str:
        """Read the end of the text, and put something after it, in a block of its own."""
        self._read(final=True)
        lines, last = self._lines, self._last
        inline = (lines.content and lines.is_prose) or lines.is_item
        closed = lines.end()
        drawn = self._drawn(self._offset)
        if lines.fence and (drawn or list_of_sources):
            self._put(("" if last.endswith("\n") else "\n") + lines.fence)
            inline = False
        if inline:
            self._put_links(drawn)
        elif drawn:
            self._put(f"\n{closed}{drawn}" if closed is not None else blank_line(self._last) + drawn)
        self._put(list_of_sources and blank_line(self._last) + list_of_sources)
        return self._given_out()

    def _given_out(self) -> str:
        text = "".join(self._out)
        self._out.clear()
        return text

    def _put(self, text: str) -> None:
        if text:
            self._out.append(text)
            self._last = (self._last + text[-2:])[-2:]

    def _reach(self, offset: int) -> None:
        while self._ahead and self._ahead[0] <= offset:
            self._ahead.popleft()
            self._reached += 1

    def _drawn(self, offset: int) -> str:
        """Draw what waits up to an offset."""
        self._reach(offset)
        count, self._reached = self._reached, 0
        return self._draw(count) if count else ""

    def _put_links(self, drawn: str, before: str = "", behind: str = "") -> None:
        if drawn:
            last = self._last[-1:]
            apart = last.endswith(_APART) or self._minds(last)
            self._put(f"{before or (' ' if apart else '')}{drawn}{behind}")

    def _read(self, *, final: bool) -> None:
        text, position = self._text, 0
        held = None if final else _OPEN_END.search(text)
        limit = held.start() if held else len(text)
        while position < limit:
            token = self._next(text, position)
            self._take(token, self._offset + position, text[token.end() : token.end() + 1])
            position = token.end()
        self._text = text[position:]
        self._offset += position

    def _next(self, text: str, position: int) -> re.Match[str]:
        """Give the token at a position, up to where something waits that may be drawn in the midst of it."""
        token = _TOKEN.match(text, position)
        assert token is not None  # noqa: S101 - every character is in one
        if token.lastgroup == "word" and not self._lines.content:
            return self._cut(token, position + 1)
        self._reach(self._offset + position)
        if token.lastgroup in ("cut", "word", "run") and self._ahead:
            end = self._ahead[0] - self._offset
            whole = token.lastgroup == "run" and (
                self._inlines.closes(token[0]) or not self._inlines.closes(text[position:end])
            )
            if end < token.end() and not whole:
                return self._cut(token, end)
        return token

    def _cut(self, token: re.Match[str], end: int) -> re.Match[str]:
        cut = _TOKEN.match(token.string, token.start(), end)
        assert cut is not None  # noqa: S101
        return cut

    def _take(self, token: re.Match[str], offset: int, behind: str) -> None:
        """Pass a token on, with what waits before it or within it if that can be drawn there."""
        written, lines, inlines = token[0], self._lines, self._inlines
        if token.lastgroup == "end":
            self._end_line(written, offset)
            return
        lines.look(written, behind)
        if lines.begins:
            lines.begins = False
            inlines.end()
        if self._reached or self._ahead:
            self._draw_before(token, offset, behind)
        before = self._last[-1:]
        lines.take(written)
        if not lines.is_code:
            if written[0] == "|" and lines.is_row:
                inlines.end()
            inlines.take(written, before, behind)
            if self._notes and written == "[" and behind == "^" and not inlines.in_code:
                written = "\\["
        self._put(written)

    def _draw_before(self, token: re.Match[str], offset: int, behind: str) -> None:
        written = token[0]
        if not self._may_stand(written):
            return
        if token.lastgroup == "tail" and behind in ("", "\r", "\n"):
            # It ends the row, and what stands after it is in no cell; or it ends the heading.
            if written[0] == "|" or (self._lines.is_heading and self._last.endswith((" ", "\t"))):
                self._put_links(self._drawn(offset + len(written)), behind=" ")
        else:
            if token.lastgroup == "run":
                self._reach(offset + len(written) - 1)
            apart = self._minds(written[0]) or (self._notes and written[0] in "([")
            self._put_links(self._drawn(offset), behind=" " if apart else "")

    def _may_stand(self, written: str) -> bool:
        """Say whether a link may stand before a token."""
        if not self._lines.is_prose or self._inlines.is_open or self._inlines.closes(written):
            return False
        return not (self._last.endswith("]") and written[0] in "([:")

    def _end_line(self, newline: str, offset: int) -> None:
        lines = self._lines
        if lines.is_empty and not lines.is_code and not lines.is_behind_code:
            # Alone in its line, it ends the block in front, or is one; the blank line stays.
            apart = "\n" if lines.after_row or lines.head else ""
            self._put_links(self._drawn(offset), before=apart + lines.indentation, behind="\n")
            self._inlines.end()
        elif lines.is_prose and lines.content:
            if lines.is_row or lines.is_heading:
                self._inlines.end()
            if not self._inlines.is_open:
                self._put_links(self._drawn(offset))
        closed = lines.end()
        if lines.is_code:
            self._inlines.end()
        self._put(newline)
        if closed is not None and (drawn := self._drawn(offset)):
            self._put(f"{closed}{drawn}\n{closed.rstrip()}\n")
