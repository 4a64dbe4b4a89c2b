"""Where in a Markdown text a citation stands: in code, in emphasis, on a fence, alone in its line.

The text is what the reader sees, without markers: one that is left in changes the structure (behind a closing fence it
opens it again, beside emphasis it may undo it). markdown-it-py says what the blocks are; this finds the content of a
block's lines again in the text, which it does not say.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token

from .inline import UNMARKED, Marked, read_html, read_inline

if TYPE_CHECKING:
    from markdown_it.utils import EnvType  # not in all versions

# Blocks, in levels of markdown-it: deeper than any answer nests, and far from Python's own limit. What is nested deeper
# is in no block.
_NESTING = 100
_WORD = re.compile(r"\w")
# A line without words: blanks, marks of Markdown, punctuation of any script.
_NO_WORDS = re.compile(
    r"[\s!-/:-@\[-`{-~\u00a1\u00a7\u00ab\u00b6\u00b7\u00bb\u00bf\u2010-\u205e\u3000-\u3003\u3008-\u301f\u3030\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40"
    r"\uff5b-\uff65]*"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_PIPE = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True)
class Place:
    """Say what a point in the text is within."""

    in_code: bool = False
    in_emphasis: bool = False
    on_fence_line: bool = False


_PLAIN = Place()


class Structure:
    """Read a text as Markdown, and say where points in it stand. Linear in the text.

    Args:
        text: the clean text.
        points: the offsets that will be asked for: only what these need is read.

    Attributes:
        several: whether it has several paragraphs.
        last_word: the offset of the last letter or digit in any block but code; -1 if there is none.
    """

    def __init__(self, text: str, points: Iterable[int]) -> None:
        # Nothing here changes a length: an offset is one in the text that was given.
        text = text.replace("\r\n", " \n").replace("\r", "\n").replace("\0", "\ufffd")
        if not text.isascii():
            text = _SURROGATE.sub("\ufffd", text)
        self._lines = text.split("\n")
        self._starts = list(accumulate((len(line) + 1 for line in self._lines), initial=0))
        self._env: EnvType = {}
        self._leaves: dict[int, list[_Leaf]] = {self.line(point): [] for point in points}
        self._items: set[int] = set()  # the lines on which an item of a list begins
        paragraphs, last = 0, None
        for leaf in self._read(text):
            for line in range(leaf.begin, leaf.end):
                if line in self._leaves:
                    self._leaves[line].append(leaf)
            if leaf.kind in ("text", "heading", "cell") and _WORD.search(leaf.token.content):
                last = leaf
                paragraphs += leaf.is_paragraph
        self.several: bool = paragraphs > 1
        self.last_word: int = -1 if last is None else self._last_word(text, last)

    def line(self, point: int) -> int:
        """Give the number of the line that a point stands in, from 0."""
        return min(bisect_right(self._starts, point), len(self._lines)) - 1

    def place(self, point: int) -> Place:
        """Say what a point is within."""
        line = self.line(point)
        leaves = self._leaves[line]
        if not leaves:
            return _PLAIN
        leaf, column = leaves[0], point - self._starts[line]
        if leaf.kind == "code":
            return Place(in_code=True)
        if leaf.kind == "fence":
            closes = line == leaf.end - 1 and self._is_closed(leaf)
            return Place(in_code=not closes, on_fence_line=closes)
        offset = 0
        if leaf.kind == "cell":
            number, offset = _in_row(self._lines[line], column, [cell.token.content for cell in leaves], leaf.is_head)
            if number >= len(leaves):
                return _PLAIN
            leaf = leaves[number]
        marked = self._marked(leaf)
        if marked is UNMARKED:
            return _PLAIN
        if leaf.kind == "html":
            offset = point - self._starts[leaf.begin]
        elif leaf.kind == "heading":
            offset = _in_heading(self._lines[line], column, leaf.token)
        elif leaf.kind == "text":
            offset = self._in_text(line, column, leaf)
        return Place(in_code=offset in marked.code, in_emphasis=offset in marked.emphasis)

    def is_alone(self, line: int) -> bool:
        """Say whether a line is without words, so that what was cut out of it stood alone; not in code and tables."""
        leaves = self._leaves[line]
        if leaves and leaves[0].kind not in ("text", "heading"):
            return False
        return bool(_NO_WORDS.fullmatch(self._lines[line])) or (not leaves and line in self._items)

    def _read(self, text: str) -> Iterator[_Leaf]:
        parent = Token("", "", 0)
        # A line more, so that an empty last line is part of what is still open there.
        for token in _reader().parse(f"{text}\n", self._env):
            begin, end = token.map or (0, 0)
            match token.type:
                case "list_item_open":
                    self._items.add(begin)
                case "inline" if parent.type in ("th_open", "td_open"):
                    yield _Leaf("cell", token, begin, end, is_head=parent.type == "th_open")
                case "inline" if parent.markup.startswith("#"):
                    yield _Leaf("heading", token, begin, end)
                case "inline":
                    yield _Leaf("text", token, begin, end, is_paragraph=parent.type == "paragraph_open")
                case "fence":
                    yield _Leaf("fence", token, begin, end)
                case "code_block":
                    yield _Leaf("code", token, begin, end)
                case "html_block":
                    yield _Leaf("html", token, begin, end)
            parent = token

    def _marked(self, leaf: _Leaf) -> Marked:
        if leaf.marked is None:
            if leaf.kind == "html":
                leaf.marked = read_html("\n".join(self._lines[leaf.begin : leaf.end]))
            else:
                leaf.marked = read_inline(leaf.token.content, self._env)
        return leaf.marked

    def _is_closed(self, fence: _Leaf) -> bool:
        content = fence.token.content
        lines = content.count("\n") + (content != "" and not content.endswith("\n"))
        closed = fence.end - fence.begin >= lines + 2
        return closed and self._lines[fence.end - 1].rstrip().endswith(fence.token.markup)

    def _in_text(self, line: int, column: int, leaf: _Leaf) -> int:
        """Give where in the content of a paragraph, or of an underlined heading, a point is."""
        if leaf.anchors is None:
            leaf.anchors = dict(_anchors(leaf, self._lines))
        offset, begin, length = leaf.anchors.get(line, (0, 0, 0))
        return offset + min(max(column - begin, 0), length)

    def _last_word(self, text: str, leaf: _Leaf) -> int:
        point = self._starts[leaf.end] - 1
        while not _WORD.match(text, point):
            point -= 1
        return point


@dataclass(slots=True)
class _Leaf:
    """A block that holds no others.

    Attributes:
        kind: ``text`` is a paragraph or an underlined heading; ``cell``, one of a table.
        token: that of its content.
        begin, end: its first line, and the one behind its last, from 0.
        is_paragraph, is_head: what of a text, and of a cell, it is.
        anchors: of the lines of a text: the offset in the content, the column in the line, the length.
        marked: what its content holds, once it was asked for.
    """

    kind: Literal["text", "heading", "cell", "fence", "code", "html"]
    token: Token
    begin: int
    end: int
    is_paragraph: bool = False
    is_head: bool = False
    anchors: dict[int, tuple[int, int, int]] | None = None
    marked: Marked | None = None


@cache
def _reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"maxNesting": _NESTING}).enable("table")
    reader.core.ruler.enableOnly(["block"])  # of the inline content only what is asked for is read
    return reader


def _anchors(leaf: _Leaf, lines: Sequence[str]) -> Iterator[tuple[int, tuple[int, int, int]]]:
    """Find the lines of a content again: each is the end of a line of the text, blanks at its ends apart."""
    parts = iter(leaf.token.content.split("\n"))
    part, offset = next(parts), 0
    for line in range(leaf.begin, leaf.end):
        found, shown = lines[line].rstrip(), part.strip()
        if not found.endswith(shown):
            continue  # a line of exotic blanks, which was cut off
        yield line, (offset + len(part) - len(part.lstrip()), len(found) - len(shown), len(shown))
        offset += len(part) + 1
        part = next(parts, "")


def _in_heading(line: str, column: int, token: Token) -> int:
    """Give where in the content of a heading a point of its line is: the one behind all ``#`` is at its end."""
    begin = line.index("#")
    begin += len(line[begin:]) - len(line[begin:].lstrip("#"))
    begin = max(line.find(token.content, begin), 0)
    return min(max(column - begin, 0), len(token.content))


def _in_row(line: str, column: int, contents: Sequence[str], is_head: bool) -> tuple[int, int]:
    """Give the number of the cell that a point of a table's row is in, from 0, and where in its content it is."""
    pipes = [found.start() for found in _PIPE.finditer(line)]
    bounds = [0, *(pipe + 1 for pipe in pipes), len(line) + 1]
    # A pipe in front of the first cell: only a head may stand behind the mark of a list, but has all of its cells.
    blank_end = not line[bounds[-2] :].strip()
    leading = len(bounds) - 2 - blank_end == len(contents) if is_head else not line[: bounds[1] - 1].strip(" \t>")
    number = max(bisect_right(bounds, column) - 1 - leading, 0)
    if number >= len(contents):
        return number, 0
    cell = line[bounds[number + leading] : bounds[number + leading + 1] - 1].rstrip()
    written = contents[number].replace("|", "\\|")
    begin = bounds[number + leading] + len(cell) - len(written)
    before = written[: min(max(column - begin, 0), len(written))]
    return number, len(before.replace("\\|", "|"))
