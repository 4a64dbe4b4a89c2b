"""What of a piece of Markdown that grows need not be read again: the items, rows, lines and blocks that have ended."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from .html import render_piece

if TYPE_CHECKING:
    from markdown_it.token import Token

# Stands where words go on. To Markdown it is a letter, and it is in no text: Unicode has it for a program's own use.
HERE = "\ufdd0"

_ITEM = re.compile(r" {0,3}(?:[-+*]|[0-9]{1,9}[.)])(?=[ \t\n])")
_LISTS = {"bullet_list_open": "</ul>\n", "ordered_list_open": "</ol>\n"}
_ITEM_END = "</li>\n"

_Read = Callable[[str], Sequence["Token"]]


class Context(NamedTuple):
    """What to read before the rest of a block, so that it is read as such.

    Attributes:
        source: Markdown: whole lines.
        cut: a regular expression for what the HTML of these ends with, and what is set does too.
        end: what the HTML of the whole block ends with.
        is_tight: whether it is a list without paragraphs, so far.
    """

    source: str = ""
    cut: str = ""
    end: str = ""
    is_tight: bool = False

    def takes(self, mark: str) -> bool:
        """Say whether a line with this mark, or none, is read after it as it would be alone."""
        return not self.source or (self.cut == _ITEM_END and mark.endswith(" "))

    def behind(self, html: str) -> str:
        """Give of the HTML of all the part that is not that of the source."""
        if not self.source:
            return html
        found = re.search(self.cut, html)
        return html[found.end() :] if found else self.end


class Cut(NamedTuple):
    """Where a piece can be cut.

    Attributes:
        at: the offset, at the beginning of a line.
        context: that of what is after it.
        first: what to read before what is set, so that it is read as what it is a part of.
    """

    at: int
    context: Context
    first: str = ""


def turned_loose(context: Context, tokens: Sequence[Token]) -> bool:
    """Say whether a list that was without paragraphs has them, by what its rest is read as: all of its items change."""
    return context.is_tight and not tokens[2].hidden


def find_cut(source: str, context: Context, tokens: Sequence[Token], read: _Read) -> Cut | None:
    """Find the last place where what stands after it does not change what stands before it.

    Args:
        source: Markdown. Of its last line the kind is known.
        context: what is read before it.
        tokens: what both are read as.
        read: reads other Markdown like that.
    """
    starts = [token for token in tokens if token.level == 0 and token.nesting >= 0 and token.map]
    if not starts:
        return None
    before, last = context.source.count("\n"), starts[-1]
    begin = last.map[0] - before if last.map else 0
    if last.type == "fence" and begin <= 0:
        return _cut_fence(source, context)
    if "]:" in source:  # the definition of a link reference leaves no token
        return None
    if begin > 0:
        return Cut(_offset(source, begin), Context())
    if last.type in _LISTS:
        return _cut_list(source, context, tokens, read, _LISTS[last.type])
    if last.type == "table_open":
        return _cut_table(source, context, tokens)
    return None


def cut_items(first: str, context: Context) -> Cut | None:
    """Give where to cut between two items of a list, of which the first is one line without marks of other blocks."""
    mark = _ITEM.match(first)
    if mark is None or "]:" in first or (context.source and context.cut != _ITEM_END):
        return None
    is_tight = context.is_tight or not context.source
    gap = "" if is_tight else "\n"
    end = _LISTS["bullet_list_open" if mark[0] in "-+*" else "ordered_list_open"]
    return Cut(len(first), Context(f"{mark[0]} x\n{gap}", _ITEM_END, end, is_tight))


def _cut_list(source: str, context: Context, tokens: Sequence[Token], read: _Read, end: str) -> Cut | None:
    items = [token.map[0] for token in tokens if token.type == "list_item_open" and token.level == 1 and token.map]
    line = items[-1] - context.source.count("\n")
    if line <= 0:
        return None
    at = _offset(source, line)
    first, last = _ITEM.match(source), _ITEM.match(source, at)
    if first is None or last is None:
        return None
    is_tight = context.is_tight
    if not context.source:
        is_tight = read(f"{first[0]} x\n{source}")[2].hidden
    gap = "" if is_tight else "\n"
    return Cut(at, Context(f"{last[0]} x\n{gap}", _ITEM_END, end, is_tight), f"{first[0]} x\n{gap}")


def _cut_table(source: str, context: Context, tokens: Sequence[Token]) -> Cut | None:
    rows = [token.map[0] for token in tokens if token.type == "tr_open" and token.map]
    line = rows[-1] - context.source.count("\n")
    if len(rows) < 3 or line <= 0:
        return None
    head = context.source or source[: _offset(source, 2)]
    return Cut(_offset(source, line), Context(head, "<tbody>\n", "</tbody>\n</table>\n"))


def _cut_fence(source: str, context: Context) -> Cut | None:
    at = source.rfind("\n") + 1
    opening = context.source or source[: source.find("\n") + 1]
    if at == len(opening) * (not context.source):
        return None
    return Cut(at, Context(opening, r"<code[^>]*>", "</code></pre>\n"))


def _offset(source: str, line: int) -> int:
    offset = 0
    for _ in range(line):
        offset = source.index("\n", offset) + 1
    return offset


@lru_cache(maxsize=256)
def frame(context: Context, mark: str) -> str:
    """Give the HTML of a line that begins with a mark, or none."""
    html = render_piece(f"{context.source}{mark}{HERE}")
    return context.behind(html)
