"""The piece of an answer that still grows, as HTML: what more text changes of it, and what stays.

What is seen is a function of the text so far, however that was cut. The short ways taken here only save work:

* words that go on where words stand are put there;
* inline content is read from the last place on that nothing behind it changes (`open_tail.py`);
* of a long list or table only the last item or row is read again (`context.py`), from the beginning of a line on.

Where they save too little, the text goes on without what is in front of it, from a place on, up to the end of the line:
as inline content that is read by itself. It goes on so until there is an allowance to read all (`allowance.py`), or the
piece ends.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import replace
from typing import TYPE_CHECKING

from .allowance import Allowance
from .html import PlacedCitation, render_citation
from .last_line import BLANKS, OF_BLOCKS, is_undecided
from .open_blocks import NOTHING, OpenBlocks
from .open_html import OpenHtml
from .open_source import OpenSource
from .open_tail import MARK_OR_END, WORDS, OpenTail

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from markdown_it.utils import EnvType  # not in all versions

# A line is taken in stretches, so that what is left of a long one is not copied again and again.
_STRETCH = 16384  # code points
_LINES = re.compile(rf"\n|[^\n]{{1,{_STRETCH}}}")
_BEHIND_CITATION = re.compile(r"[ .,]|\w")


class OpenPiece:
    """Keep the HTML of one piece while it grows.

    Args:
        env: what is defined before it (link references).
        citations: those that stand in it already, by their offsets.

    Attributes:
        html: what is seen of it, unless it is stale.
        is_stale: whether it must be read again to know what is seen of it.
    """

    def __init__(self, env: EnvType, citations: Sequence[PlacedCitation] = ()) -> None:
        self.html: OpenHtml = OpenHtml()
        self._source = OpenSource(env, citations)
        self._tail = OpenTail(self.html, env)
        self._blocks = OpenBlocks(self._source, self.html, self._tail)
        self._allowance = Allowance()
        self._line: str | None = ""  # the last line, while its kind is not known
        self._in_code = False  # whether it is one of a block of code
        self._is_fixed = False  # whether nothing is read again but the tail, up to the end of the line
        self._is_hidden = False  # and nothing of that is seen
        self.is_stale: bool = bool(citations)

    def write(self, text: str) -> None:
        """Take more text, as `Normal` gives it."""
        size, tail, allowance = len(text), self._tail, self._allowance
        if (  # the beginning of what is done below, for most deltas
            tail.goes_on
            and 0 < size < allowance.room
            and not MARK_OR_END.search(text)
            and not self._blocks.is_behind_citation
        ):
            source = self._source
            allowance.room -= size
            source.parts.append(text)
            source.length += size
            tail.add(text)
        elif text and "\n" not in text and len(text) <= _STRETCH:
            self._write_line(text)
        else:
            for part in _LINES.findall(text):
                if part == "\n":
                    self._end_line()
                else:
                    self._write_line(part)

    def cite(self, placed: PlacedCitation) -> None:
        """Take a citation that stands at the end of the text so far."""
        tail, length = self._tail, self._source.read_length
        placed = replace(placed, offset=self._source.length)
        self._allowance.cite(length)
        if not self._is_fixed and not self._allowance.may_read(length):
            self._fix()
        if self._is_fixed:
            if not self._is_hidden:
                self._fix()
                self.html.put(tail.take_blanks())
            self.html.put(render_citation(placed))
        elif not self.is_stale and tail.goes_on and not tail.blanks and (tail.source == "" or tail.is_code):
            self.html.put(render_citation(placed))
            self._blocks.is_behind_citation = not tail.is_code
        else:
            self._turn_stale()
        self._source.citations.append(placed)

    def update(self, news: Mapping[int, PlacedCitation]) -> None:
        """Draw citations as they are now, by `PlacedCitation.index`."""
        self._source.update(news)
        self.html.redraw(news)

    def patch(self) -> tuple[int, str] | None:
        """Say what is new of its HTML, as `OpenHtml.patch` does."""
        if self.is_stale:
            self._read()
        return self.html.patch()

    def end(self, text: str, *, is_last: bool = False) -> list[PlacedCitation]:
        """Say that it has ended.

        Args:
            text: it, which may be less than was written.
            is_last: whether no other piece follows.

        Returns:
            The citations that stand after it, where they stand from its end on.
        """
        source = self._source
        text = text[source.cut_length :]
        left = [] if is_last else [placed for placed in source.citations if placed.offset >= len(text)]
        as_seen = not (self.is_stale or self._is_fixed or left)
        self._turn_stale()
        del source.citations[len(source.citations) - len(left) :]
        self._blocks.end(text, as_seen=as_seen)
        self.is_stale = False
        return [replace(placed, offset=placed.offset - len(text)) for placed in left]

    # The text, line by line

    def _write_line(self, text: str) -> None:
        if self._line is not None:
            text = self._begin_line(self._line, text)
        while text:
            count = self._allowance.pass_code(text) if self._in_code else self._allowance.take(text)
            self._take(text[:count])
            if self._allowance.is_due:
                self._look_for_place()
            text = text[count:]

    def _begin_line(self, line: str, text: str) -> str:
        """Read the source up to where the kind of its last line is known; return the text after that."""
        whole = line + text
        ends = range(len(line) + 1, len(whole) + 1)
        undecided = bisect_left(ends, True, key=lambda end: not is_undecided(whole[:end]))
        count = min(undecided + 1, len(text))
        self._allowance.pass_over(count)
        if undecided == len(text):
            self._line = whole
            self._append_unseen(text)
            return ""
        self._turn_stale()
        self._source.append(text[:count])
        length, tail = self._source.read_length, self._tail
        self._read(may_cut=True)
        self._line, self._in_code = None, tail.is_code
        again = 0 if self._in_code else None if tail.source is None else len(tail.source)
        self._allowance.begin_line(length, again)
        return text[count:]

    def _end_line(self) -> None:
        source = self._source
        self._allowance.pass_over(1)
        if not self._allowance.may_read(source.read_length):
            if not self._is_fixed:
                self._fix()
            self._tail.blanks += "\n"
            self._tail.goes_on = False
            source.append("\n")
            return
        if self._is_fixed:
            self._turn_stale()
            self._blocks.seen = NOTHING
        elif self._line and not self._line.isspace():
            self._allowance.read_line(source.read_length)
        self._line, self._is_fixed, self._is_hidden = "", False, False
        blanks = self._tail.blanks
        if blanks[blanks.rfind("\n") + 1 :].strip(BLANKS):  # what was not certain is now
            self._turn_stale()
        self._append_unseen("\n")

    def _append_unseen(self, text: str) -> None:
        """Take text that changes nothing of what is seen, unless that is not known."""
        if not self.is_stale:
            self._tail.stop()
            self._tail.blanks += text
        self._source.append(text)

    def _take(self, text: str) -> None:
        """Take text of a line whose kind is known."""
        if not self.is_stale and not self._go_on(text):
            self._turn_stale()
        self._source.append(text)

    def _go_on(self, text: str) -> bool:
        """Show more text, if that can be without reading all that is open."""
        tail, blocks = self._tail, self._blocks
        if self._is_hidden or (self._is_fixed and not text.strip(BLANKS)):
            tail.blanks += text
            return True
        if tail.is_code:
            tail.add_code(text)
            return True
        if not self._is_fixed:
            if blocks.is_behind_citation and not _BEHIND_CITATION.match(text):
                return False
            if ":" in text and "]:" in self._source.parts[-1][-1:] + text:
                return False
        if tail.goes_on and WORDS.fullmatch(text) and not (";" in text and self._may_be_entity()):
            if tail.add(text):
                blocks.is_behind_citation = False
            return True
        if tail.source is None or (not self._is_fixed and (blocks.may_define or OF_BLOCKS.search(text))):
            return False
        if not self._is_fixed and text.rstrip(BLANKS)[-1:].isspace():  # no content ends with these
            return False
        tail.read(tail.source + tail.blanks + text)
        blocks.is_behind_citation = False
        return True

    def _may_be_entity(self) -> bool:
        tail = self._tail
        return not tail.is_code and "&" in (self._source.text if tail.source is None else tail.source)

    def _turn_stale(self) -> None:
        if not self.is_stale:
            self.is_stale = True
            self._blocks.seen = self._source.length - len(self._tail.blanks), len(self._source.citations)
            self._tail.stop()

    def _read(self, *, may_cut: bool = False) -> None:
        self.is_stale = False
        self._blocks.read(may_cut=may_cut)

    # Places after which a line is read by itself

    def _look_for_place(self) -> None:
        """Go on without what is in front, if nothing is open here, or if it must be."""
        if self._is_hidden:
            self._allowance.begin_window()
            return
        self._read_again()
        if self._tail.source == "" or self._allowance.is_forced:
            self._fix()

    def _fix(self) -> None:
        """Go on without what is in front, up to the end of the line at least."""
        tail = self._tail
        self._read_again()
        self.html.settle()
        tail.settle((self._source.text.rstrip(BLANKS) if tail.source is None else tail.source)[-1:])
        self._allowance.begin_window()
        if not self._is_fixed and "]:" in self._source.text and not self.html.all:  # definitions of link references
            self._is_hidden, tail.goes_on = True, False
        self._is_fixed, self._in_code, self._line = True, False, None
        self._blocks.is_behind_citation = False

    def _read_again(self) -> None:
        """Read all that is open again, as if it had come at once."""
        if self._tail.source is not None:
            self._tail.read_again()
        else:
            self._blocks.seen = NOTHING
            self._read()
