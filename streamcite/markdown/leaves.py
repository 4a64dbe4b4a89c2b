"""Where a point of a text stands in its Markdown: in which block, and where in the content of that.

The text is what the reader sees, without markers: one that is left in changes the structure (after a closing fence it
opens it again, beside emphasis it may undo it). markdown-it-py says what the blocks are; this finds the content of a
block's lines again in the text, which it does not say.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token

from .contents import Anchor, Row, code_anchors, heading_anchors, paragraph_anchors

if TYPE_CHECKING:
    from markdown_it.utils import EnvType  # not in all versions

# Blocks, in levels of markdown-it: deeper than any answer nests, and far from Python's own limit. What is nested deeper
# is in no block.
NESTING = 100
_SURROGATE = re.compile("[\ud800-\udfff]")


def block_reader(**options: bool) -> MarkdownIt:
    """Make a reader of blocks, tables among them; of their inline content it reads nothing.

    Args:
        options: of markdown-it-py.
    """
    reader = MarkdownIt("commonmark", {"maxNesting": NESTING, **options}).enable("table")
    reader.core.ruler.enableOnly(["block"])
    return reader


@dataclass(slots=True, eq=False)
class Leaf:
    """A block that holds no others.

    Attributes:
        kind: ``text`` is a paragraph or an underlined heading; ``cell``, one of a table.
        token: that of its content.
        begin, end: its first line, and the one after its last, from 0.
        is_paragraph, is_head: what of a text, and of a cell, it is.
        is_closed: whether a fence has a line that closes it, once that was asked.
        anchors: those of its lines, once they were asked for.
        row: what the first cell of a row knows of it.
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


class Leaves:
    """Read the blocks of a text, and say in which of them points of it stand. Linear in the text.

    Args:
        text: the clean text.
        points: the offsets that will be asked for: only what these need is kept.
        reader: a `block_reader`.
        env: what it knows of link references, which it adds to.

    Attributes:
        tokens: those of the blocks.
        all: the blocks that hold no others, in order.
        lines, starts: the lines, in which nothing but a few characters have changed, and their offsets in the text.
        items: the lines on which an item of a list begins.
    """

    def __init__(self, text: str, points: Iterable[int], reader: MarkdownIt, env: EnvType) -> None:
        # Nothing here changes a length: an offset is one in the text that was given.
        text = text.replace("\r\n", " \n").replace("\r", "\n").replace("\0", "\ufffd")
        if not text.isascii():
            text = _SURROGATE.sub("\ufffd", text)
        self.lines: list[str] = text.split("\n")
        self.starts: list[int] = list(accumulate((len(line) + 1 for line in self.lines), initial=0))
        self.items: set[int] = set()
        self.tokens: list[Token] = reader.parse(text, env)
        self.all: list[Leaf] = list(self._read())
        self._at: dict[int, list[Leaf]] = {self.line(point): [] for point in points}
        for leaf in self.all:
            for line in range(leaf.begin, leaf.end):
                if line in self._at:
                    self._at[line].append(leaf)

    def line(self, point: int) -> int:
        """Give the number of the line that a point stands in, from 0."""
        return min(bisect_right(self.starts, point), len(self.lines)) - 1

    def on(self, line: int) -> Sequence[Leaf]:
        """Give the blocks on the line of a point: one, or the cells of a row; none where there is no content."""
        return self._at[line]

    def find(self, point: int) -> tuple[Leaf | None, int]:
        """Say in which block a point is, and where in the content of that.

        Returns:
            The block, None where none is; and the offset in the content of its token. On the line that closes a fence
            it is -1.
        """
        line = self.line(point)
        leaves = self.on(line)
        if not leaves:
            return None, 0
        leaf, column = leaves[0], point - self.starts[line]
        if leaf.kind == "cell":
            if leaf.row is None:
                leaf.row = Row(self.lines[line], [cell.token.content for cell in leaves], is_head=leaf.is_head)
            number = leaf.row.cell(column)
            return (leaves[number], leaf.row.offset(number, column)) if number < len(leaves) else (None, 0)
        if leaf.kind == "html":
            return leaf, point - self.starts[leaf.begin]
        if leaf.kind == "fence" and line == leaf.end - 1 and self._is_closed(leaf):
            return leaf, -1
        if leaf.anchors is None:
            find = _ANCHORS[leaf.kind]
            leaf.anchors = find(leaf.token.content, self.lines, leaf.begin + (leaf.kind == "fence"), leaf.end)
        offset, begin, length = leaf.anchors.get(line, (0, 0, 0))
        return leaf, offset + min(max(column - begin, 0), length)

    def _read(self) -> Iterator[Leaf]:
        parent = Token("", "", 0)
        for token in self.tokens:
            begin, end = token.map or (0, 0)
            match token.type:
                case "list_item_open":
                    self.items.add(begin)
                case "inline" if parent.type in ("th_open", "td_open"):
                    yield Leaf("cell", token, begin, end, is_head=parent.type == "th_open")
                case "inline" if parent.markup.startswith("#"):
                    yield Leaf("heading", token, begin, end)
                case "inline":
                    yield Leaf("text", token, begin, end, is_paragraph=parent.type == "paragraph_open")
                case "fence":
                    yield Leaf("fence", token, begin, end)
                case "code_block":
                    yield Leaf("code", token, begin, end)
                case "html_block":
                    yield Leaf("html", token, begin, end)
            parent = token

    def _is_closed(self, fence: Leaf) -> bool:
        if fence.is_closed is None:
            content = fence.token.content
            lines = content.count("\n") + (content != "" and not content.endswith("\n"))
            fence.is_closed = fence.end - fence.begin >= lines + 2 and self.lines[fence.end - 1].rstrip().endswith(
                fence.token.markup
            )
        return fence.is_closed


_ANCHORS = {
    "text": paragraph_anchors,
    "heading": heading_anchors,
    "fence": code_anchors,
    "code": code_anchors,
}
