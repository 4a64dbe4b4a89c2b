"""The open piece of an answer, read as blocks: what of it is set, and in what its text goes on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .context import HERE, Cut, cut_items, find_cut, frame, turned_loose
from .last_line import (
    BLANKS,
    HIDDEN,
    LAST_PIPE,
    MARKS,
    ROW_END,
    SIMPLE,
    TWO_ITEMS,
    cells,
    decided,
    delimiter_row,
    is_overlong,
    is_undecided,
    last_content,
)
from .structure import read_blocks
from .unfinished import Shown, may_define, may_mean, moved, show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it.token import Token

    from .html import PlacedCitation
    from .open_html import OpenHtml
    from .open_source import OpenSource
    from .open_tail import OpenTail

NOTHING = (-1, -1)


class OpenBlocks:
    """Read the source that was not cut off, and show it.

    Args:
        source: the Markdown that was not cut off, and where citations stand in it.
        html: where it is shown.
        tail: what reads the inline content that is open.

    Attributes:
        seen: how much of the source is seen, in code points, and how many citations; `NOTHING` if it is to be read in
            any case.
        may_define: whether it may become the definition of a link reference.
        is_behind_citation: whether words may be added, but if the first character ties them to the citation there.
    """

    def __init__(self, source: OpenSource, html: OpenHtml, tail: OpenTail) -> None:
        self.seen: tuple[int, int] = (0, 0)
        self.may_define: bool = False
        self.is_behind_citation: bool = False
        self._source = source
        self._html = html
        self._tail = tail
        self._in_row = False  # whether it ends with a row of a table
        self._completes = False  # whether it was read with more than there is
        self._is_overlong = False  # whether any more may change what its last line is

    def read(self, *, may_cut: bool = False) -> None:
        """Read all that is not set.

        Args:
            may_cut: whether to set what nothing changes any more.
        """
        source, tail = self._source, self._tail
        self.is_behind_citation = self.may_define = False
        tail.stop()
        text = decided(source.text)
        # The pipe at the end of a row is not seen, and changes nothing of what is seen as it stands.
        alike = LAST_PIPE.sub("", text).rstrip(BLANKS) if self._in_row and tail.is_exact else text
        seen, citations = self.seen
        if not self._is_overlong and citations == len(source.citations) and seen in (len(text), len(alike)):
            tail.blanks = source.text[seen:]
            return
        if may_cut and (items := TWO_ITEMS.fullmatch(text)) and (cut := cut_items(items[1], source.context)):
            self._set_off(cut)
            text = items[4]
        if self._read_simple(text):
            return
        tokens = source.tokens(text)
        if turned_loose(source.context, tokens):
            text = self.start_over() + text
            tokens = source.tokens(text)
        if may_cut and (cut := self._find_cut(text, tokens)):
            self._set_off(cut)
            text = text[cut.at :]
            if self._read_simple(text):
                return
            tokens = source.tokens(text)
        self._read_open(text, tokens)

    def end(self, text: str, *, as_seen: bool) -> None:
        """Read all that is not set for the last time.

        Args:
            text: it; the citations are those in it.
            as_seen: whether nothing has changed since it was read.
        """
        source = self._source
        if as_seen and self._is_seen(text, len(source.citations)):
            return
        if source.context.is_tight and turned_loose(source.context, source.tokens(text)):
            text = self.start_over() + text
        self._html.show(source.render(text, source.citations, is_last=True))

    def start_over(self) -> str:
        """Let nothing be set; return the source of what was."""
        self._html.clear()
        self.seen = NOTHING
        return self._source.join()

    def _find_cut(self, text: str, tokens: Sequence[Token]) -> Cut | None:
        source = self._source
        cut = None if HIDDEN.search(text) else find_cut(text, source.context, tokens, self._read_other)
        # A line that is not seen yet may begin with a citation, which is seen before it.
        return cut if cut and not any(placed.offset >= cut.at for placed in source.citations) else None

    def _read_other(self, text: str) -> Sequence[Token]:
        return read_blocks(text, self._source.env)

    def _set_off(self, cut: Cut) -> None:
        """Set what stands before a cut."""
        source = self._source
        text = source.text[: cut.at]
        done = [placed for placed in source.citations if placed.offset < cut.at]
        html = self._html.open if self._is_seen(text, len(done)) else source.render(text, done)
        if cut.context.source and not source.context.source and not cut.context.is_tight and cut.first:
            opening = html[: html.index("<li")]
            source.context = cut.context._replace(source=cut.first)
            html = opening + source.render(text, done)
        self._html.set(html.removesuffix(cut.context.end))
        source.cut(cut.at, cut.context, len(done))

    def _is_seen(self, text: str, citations: int) -> bool:
        """Say whether the beginning of the source looks as it would alone."""
        seen, seen_citations = self.seen
        rest = ROW_END.sub("", text[seen:]) if self._in_row else text[seen:]
        return (
            self._tail.is_exact
            and not self._completes
            and 0 <= seen <= len(text)
            and seen_citations == citations
            and not rest.strip(BLANKS)
        )

    def _read_simple(self, text: str) -> bool:
        """Read a source that is one line, if that is told without a reader of blocks."""
        source = self._source
        line = SIMPLE.fullmatch(text)
        if not line or source.citations or "]:" in text or not source.context.takes(line[1]):
            return False
        self._completes = self._in_row = self._is_overlong = False
        self._show(frame(source.context, line[1]), goes_on=True)
        self._read_content(text, line[2])
        return True

    def _read_open(self, text: str, tokens: Sequence[Token]) -> None:
        source, tail = self._source, self._tail
        row = delimiter_row(text, tokens)
        content, cell = last_content(source.tokens(text + row) if row else tokens)
        self._in_row = cell > 0
        self._completes = bool(row) or "]:" in text
        lines = source.context.source.count("\n") + text.count("\n") + 1
        reaches_end = content is not None and content.map is not None and content.map[1] == lines
        is_last = reaches_end and (not cell or cell == cells(text))
        tail.blanks = source.text[len(text) :]
        citations = [replace(placed, offset=min(placed.offset, len(text))) for placed in source.citations]
        if content is not None and content.type != "inline":
            self._show_code(text, content, citations, is_last=is_last)
        elif content is None or not is_last:
            self._show(source.render(text + row, citations))
        else:
            self._show_content(text, content.content, row, citations)
        if source.citations and source.citations[-1].offset > len(text):
            tail.stop()
            tail.is_exact = False
        elif tail.blanks.strip(" ") and not tail.is_code:
            tail.stop()
        self._is_overlong = not tail.is_code and is_overlong(source.text.rpartition("\n")[2])
        if self._is_overlong:
            tail.stop()

    def _show_code(self, text: str, code: Token, citations: Sequence[PlacedCitation], *, is_last: bool) -> None:
        tail = self._tail
        goes_on = is_last and "\n" not in tail.blanks
        if goes_on:  # a pipe at its end is part of it
            pipe = tail.blanks.rstrip(BLANKS)
            text, tail.blanks = text + pipe, tail.blanks[len(pipe) :]
        begin, end = code.map or (0, 0)
        has_begun = code.type != "fence" or end - begin > 1  # else its only line is the one that opens it
        self._show(self._source.render(text + HERE * (goes_on and has_begun), citations), goes_on=goes_on and has_begun)
        tail.is_code = tail.goes_on
        tail.is_exact = _is_closed(code) and not goes_on

    def _show_content(self, text: str, content: str, row: str, citations: Sequence[PlacedCitation]) -> None:
        """Show a source by the last content in it, or by the last line of that."""
        source = self._source
        before = ""
        if not text.endswith(content):
            before, _, content = content.rpartition("\n")
            content = content.lstrip(BLANKS)
        base = len(text) - len(content)
        is_apart = "]:" not in text and not any(placed.offset >= base for placed in citations)
        if not content or not text.endswith(content) or (before and not (is_apart and self._tail.is_settled(before))):
            self._show(source.render(text + row, citations))
        elif is_apart:
            self._show(source.render(f"{text[:base]}{HERE}{row}", citations), goes_on=True)
            self._read_content(text, content, " " if before else "")
            self.may_define = not before and may_define(content)
        else:
            self._show_at_once(text, content, row, citations)

    def _read_content(self, text: str, content: str, last: str = "") -> None:
        """Read the inline content that the source ends with, by itself."""
        tail = self._tail
        tail.blanks = self._source.text[len(text) :]
        tail.begin(content, last)
        if tail.blanks.strip(" "):
            tail.stop()

    def _show_at_once(self, text: str, content: str, row: str, citations: Sequence[PlacedCitation]) -> None:
        """Show a source of which the last content cannot be read by itself."""
        base, tail = text[: len(text) - len(content)], self._tail
        shown = show(content)
        line = base.rpartition("\n")[2]
        if MARKS.fullmatch(line + shown.text) or content[0] != shown.text[:1]:
            shown = Shown("", "", whole=False)
        # Of a citation behind a backslash what follows the next one may say where it stands.
        is_escaped = any(text.startswith("\\", placed.offset - 1) for placed in citations if placed.offset > len(base))
        here = HERE if shown.whole and "]:" not in text and not is_escaped else ""
        places = moved((placed.offset - len(base) for placed in citations), content, shown.text)
        placed_so = [replace(placed, offset=place + len(base)) for placed, place in zip(citations, places, strict=True)]
        if not shown.text and is_undecided(line):  # nothing is seen of it yet
            base = base[: len(base) - len(line)]
            placed_so = [placed for placed in placed_so if placed.offset < len(base)]
        source = f"{base}{shown.text}{here}{shown.closing}{row}"
        before = self._show(self._source.render(source, placed_so), goes_on=bool(here))
        tail.is_exact = shown.text == content and not shown.closing
        if tail.goes_on and tail.is_exact and not may_mean(content, before):
            tail.settle(content[-1])
        self.is_behind_citation = bool(citations) and citations[-1].offset == len(text)

    def _show(self, html: str, *, goes_on: bool = False) -> str:
        """Put HTML in the place of all that is not set; return what stands before the place where words go on."""
        before, *ends = html.split(HERE) if goes_on else [html]
        tail = self._tail
        tail.goes_on, tail.is_exact = len(ends) == 1 and before.rfind("<") <= before.rfind(">"), True
        if not tail.goes_on:  # also if it stands within a tag, or more than once
            before, ends = "".join([before, *ends]), [""]
        self._html.show(before, ends[0])
        return before


def _is_closed(code: Token) -> bool:
    """Say whether a block of code has a line that closes it."""
    begin, end = code.map or (0, 0)
    lines = code.content.count("\n") + (code.content != "" and not code.content.endswith("\n"))
    return code.type == "fence" and end - begin == lines + 2
