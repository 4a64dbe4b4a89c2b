"""Where in a Markdown text a citation stands: in code, in emphasis, on a fence, alone in its line.

The text is what the reader sees, without markers, since one that is left in changes the blocks: behind a closing fence
it opens it again. Inside a line a marker that was cut out may have changed what is left, too: see `_places`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token

from .contents import Anchor, Row, heading_anchors, paragraph_anchors
from .inline import UNMARKED, Marked, read_html, read_inline

if TYPE_CHECKING:
    from markdown_it.utils import EnvType  # not in all versions

# Blocks, in levels of markdown-it: deeper than any answer nests, and far from Python's own limit. What is nested deeper
# is in no block.
_NESTING = 100
_WORD = re.compile(r"\w")
# A line without words: blanks, marks of Markdown, punctuation of any script.
_NO_WORDS = re.compile(
    r"[\s!-/:-@\[-`{-~\u00a1\u00a7\u00ab\u00b6\u00b7\u00bb\u00bf\u2010-\u205e\u3000-\u3003\u3008-\u301f\u3030"
    r"\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]*"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
# What stands beside a marker that may make a difference; and one mark on either side of it.
_BESIDE = re.compile("[*_`~]")
_BETWEEN = re.compile(r"([*_`~])\1")
_SIGN = "\N{DAGGER}"


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
        points: the offsets where markers were: only what these need is read.

    Attributes:
        places: what each point is within.
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
        lines = {point: self.line(point) for point in points}
        self._leaves: dict[int, list[_Leaf]] = {line: [] for line in lines.values()}
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
        self.places: dict[int, Place] = dict.fromkeys(lines, _PLAIN)
        for point, line in lines.items():
            if self._leaves[line]:
                self._locate(point, line, self._leaves[line])
        for leaves in self._leaves.values():
            for leaf in leaves:
                if leaf.points:
                    self.places |= _places(leaf, self._env)
                    leaf.points.clear()

    def line(self, point: int) -> int:
        """Give the number of the line that a point stands in, from 0."""
        return min(bisect_right(self._starts, point), len(self._lines)) - 1

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

    def _locate(self, point: int, line: int, leaves: list[_Leaf]) -> None:
        """Find the place of a point in code, or where in the content of which of its line's leaves it is."""
        leaf, column = leaves[0], point - self._starts[line]
        if leaf.kind == "code":
            self.places[point] = Place(in_code=True)
        elif leaf.kind == "fence":
            if leaf.is_closed is None:
                leaf.is_closed = self._is_closed(leaf)
            closes = leaf.is_closed and line == leaf.end - 1
            self.places[point] = Place(in_code=not closes, on_fence_line=closes)
        elif leaf.kind == "html":
            if leaf.marked is None:
                leaf.marked = read_html("\n".join(self._lines[leaf.begin : leaf.end]))
            offset = point - self._starts[leaf.begin]
            self.places[point] = Place(offset in leaf.marked.code, offset in leaf.marked.emphasis)
        elif leaf.kind == "cell":
            if leaf.row is None:
                leaf.row = Row(self._lines[line], [cell.token.content for cell in leaves], is_head=leaf.is_head)
            number = leaf.row.cell(column)
            if number < len(leaves):
                leaves[number].points[point] = leaf.row.offset(number, column)
        else:
            if leaf.anchors is None:
                find = heading_anchors if leaf.kind == "heading" else paragraph_anchors
                leaf.anchors = find(leaf.token.content, self._lines, leaf.begin, leaf.end)
            offset, begin, length = leaf.anchors.get(line, (0, 0, 0))
            leaf.points[point] = offset + min(max(column - begin, 0), length)

    def _is_closed(self, fence: _Leaf) -> bool:
        content = fence.token.content
        lines = content.count("\n") + (content != "" and not content.endswith("\n"))
        closed = fence.end - fence.begin >= lines + 2
        return closed and self._lines[fence.end - 1].rstrip().endswith(fence.token.markup)

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
        is_closed: whether a fence has a line that closes it, once that was asked.
        anchors: of the lines of a text or heading: the offset in the content, the column in the line, the length.
        row: what the first cell of a row knows of it.
        marked: what an HTML block holds, once it was read.
        points: where in its content the points are that stand in it, by their offset in the text.
    """

    kind: Literal["text", "heading", "cell", "fence", "code", "html"]
    token: Token
    begin: int
    end: int
    is_paragraph: bool = False
    is_head: bool = False
    is_closed: bool | None = None
    anchors: dict[int, Anchor] | None = None
    row: Row | None = None
    marked: Marked | None = None
    points: dict[int, int] = field(default_factory=dict)


@cache
def _reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"maxNesting": _NESTING}).enable("table")
    reader.core.ruler.enableOnly(["block"])  # of the inline content only what is asked for is read
    return reader


def _places(leaf: _Leaf, env: EnvType) -> dict[int, Place]:
    """Give what the points in a content are within: for the reader, or as the model wrote it.

    Beside a mark of emphasis or code the two differ. ``**Bold @**`` and ``**@**``, with a marker for the @, are no
    emphasis any more when it is cut out; ``**Bold@**Text`` is none before. Where it stands between two such marks, they
    are one for the reader, which says nothing of the marker. A sign of punctuation does for it: a letter or a symbol
    would be part of a word.
    """
    content = leaf.token.content
    cut = read_inline(content, env)
    if cut is UNMARKED:
        return {}
    offsets = sorted(set(leaf.points.values()))
    signed = cut
    if any(_BESIDE.search(content, max(offset - 1, 0), offset + 1) for offset in offsets):
        pieces = [content[begin:end] for begin, end in pairwise([0, *offsets, len(content)])]
        signed = read_inline(_SIGN.join(pieces), env)
    places = {}
    for number, offset in enumerate(offsets):
        apart = not _BETWEEN.match(content, max(offset - 1, 0))
        sign = offset + number
        places[offset] = Place(
            (signed is not cut and signed.code.hold(sign)) or (apart and offset in cut.code),
            (signed is not cut and signed.emphasis.hold(sign)) or (apart and offset in cut.emphasis),
        )
    return {point: places[offset] for point, offset in leaf.points.items()}
