"""Where in a text the contents of Markdown blocks stand, which markdown-it-py does not say. Offsets in code points."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import TypeAlias

# Of a line of a content: its offset there, its column in the line of the text, its length.
Anchor: TypeAlias = tuple[int, int, int]

_PIPE = re.compile(r"(?<!\\)\|")


def paragraph_anchors(content: str, lines: Sequence[str], begin: int, end: int) -> dict[int, Anchor]:
    """Find the lines of a paragraph again: each is the end of a line of the text, blanks at its ends apart.

    Args:
        content: what its inline token holds.
        lines: those of the text.
        begin: the number of its first line.
        end: the number of the line after its last.
    """
    anchors = {}
    parts = iter(content.split("\n"))
    part, offset = next(parts), 0
    for line in range(begin, end):
        found, shown = lines[line].rstrip(), part.rstrip().lstrip(" \t")
        if not found.endswith(shown):
            continue  # a line of exotic blanks, which was cut off
        anchors[line] = offset + len(part.rstrip()) - len(shown), len(found) - len(shown), len(shown)
        offset += len(part) + 1
        part = next(parts, "")
    return anchors


def heading_anchors(content: str, lines: Sequence[str], begin: int, _: int) -> dict[int, Anchor]:
    """Find the content of a heading again, as `paragraph_anchors` does: it stands after the first run of ``#``."""
    line = lines[begin]
    level = line.index("#")
    level += len(line[level:]) - len(line[level:].lstrip("#"))
    return {begin: (0, max(line.find(content, level), 0), len(content))}


def code_anchors(content: str, lines: Sequence[str], begin: int, _: int) -> dict[int, Anchor]:
    """Find the lines of a block of code again, as `paragraph_anchors` does.

    Where a tab before one was cut in two, its content has more blanks than the text.
    """
    anchors, offset = {}, 0
    for number, part in enumerate(content.split("\n"), begin):
        if number < len(lines):
            anchors[number] = offset, len(lines[number]) - len(part), len(part)
        offset += len(part) + 1
    return anchors


class Row:
    """Find the contents of a table's row again.

    Args:
        line: the line of the text.
        contents: those of its cells.
        is_head: whether it is the first row.
    """

    def __init__(self, line: str, contents: Sequence[str], *, is_head: bool) -> None:
        pipes = [found.start() for found in _PIPE.finditer(line)]
        self._bounds = [0, *(pipe + 1 for pipe in pipes), len(line) + 1]
        # A pipe before the first cell: only a head may stand after the mark of a list, but has all of its cells.
        blank_end = not line[self._bounds[-2] :].strip()
        self._leading: bool = (
            len(pipes) - blank_end == len(contents) if is_head else not line[: self._bounds[1] - 1].strip(" \t>")
        )
        # Of each cell: the column of its content, how long that is as it is written, and where in that its pipes are.
        self._cells: list[tuple[int, int, list[int]]] = []
        for (start, end), content in zip(pairwise(self._bounds[self._leading :]), contents, strict=False):
            written = content.replace("|", "\\|")
            begin = start + len(line[start : end - 1].rstrip()) - len(written)
            self._cells.append((begin, len(written), [found.start() for found in re.finditer(r"\|", written)]))

    def cell(self, column: int) -> int:
        """Give the number of the cell that a column is in, from 0; there may be none of this number."""
        return max(bisect_right(self._bounds, column) - 1 - self._leading, 0)

    def offset(self, number: int, column: int) -> int:
        """Give where in the content of a cell a column is."""
        begin, length, pipes = self._cells[number]
        offset = min(max(column - begin, 0), length)
        return offset - bisect_left(pipes, offset)  # less the backslashes of the pipes before it
