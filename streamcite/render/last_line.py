"""What the last line of Markdown that grows may be, and what is seen of it already."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it.token import Token

# A line of which the next character says what it is; and one that opens a block of code, of which nothing is seen yet.
_UNDECIDED = re.compile(r"(?:[\s>]|[-+*]\s|[0-9]{1,9}[.)]\s)*+(?:[-\s=_*+#>|:`~]*|[0-9]{1,9}[.)]?\s*|`{3}[^`]*|~{3}.*)")
# Nothing that is longer is waited for.
_LONGEST = 1024  # code points
MARKS = re.compile(r"[-\s=_*+#>|:`~]*")
# A line of which all is told without a reader of blocks: what begins with a word is a paragraph, a heading or an item.
SIMPLE = re.compile(
    r"((?: {0,3}(?:[-+*]|[0-9]{1,9}[.)]) {1,4})?|#{1,6} +)"
    r"((?:\*{1,2})?[^\W\d_][^\x00-\x1f#|\x7f-\x9f\u2028\u2029\ufdd0]*)"
)
TWO_ITEMS = re.compile(
    r"(([-+*]|[0-9]{1,9}([.)])) +(?:\*{1,2})?[^\W\d_][^\x00-\x1f|\x7f-\x9f\u2028\u2029\ufdd0]*\n)"
    r"((?:\2|[0-9]{1,9}\3) +(?:\*{1,2})?[^\W\d_][^\x00-\x1f#|\x7f-\x9f\u2028\u2029\ufdd0]*)"
)
_PIPE = re.compile(r"(?<!\\)\|")
# What is left of a heading ends so only where what closes it stands after that.
_CLOSED = re.compile(r"(?:\A|[ \t])#+\Z")
# A last line of which nothing may be seen yet.
HIDDEN = re.compile(r"(?:\A|\n)[ \t]*+(?:[\[!<\\`][^\n]*|[-=_*+#>|:~ \t]+)\Z")
LAST_PIPE = re.compile(r"(?<=[^\s|])[ \t]*(?<!\\)\|[ \t]*\Z")
ROW_END = re.compile(r"\A[ \t]*\|")
BLANKS = " \t\n"
# What is read with a block, not with its inline content.
OF_BLOCKS = re.compile(r"[\x00-\x1f#|\x7f-\x9f\u2028\u2029]")


def is_undecided(line: str) -> bool:
    """Say whether a last line may become anything, and is waited for."""
    return len(line) < _LONGEST and _UNDECIDED.fullmatch(line) is not None


def is_overlong(line: str) -> bool:
    """Say whether a last line may become anything, but is too long to be waited for."""
    return len(line) >= _LONGEST and _UNDECIDED.fullmatch(line) is not None


def decided(source: str) -> str:
    """Give a source without a last line that may become anything, and without the blanks at its end."""
    before, _, line = source.rpartition("\n")
    if is_undecided(line):
        return before.rstrip(BLANKS)
    if is_undecided(LAST_PIPE.sub("", line)):  # it is what it is by its pipe
        return source.rstrip(BLANKS)
    return LAST_PIPE.sub("", source).rstrip(BLANKS)


def last_content(tokens: Sequence[Token]) -> tuple[Token | None, int]:
    """Give the token of the last content, and of which cell of its row it is, from 1; else 0.

    There is no token of what looks like the end of the text, but stands before that: the content of a heading that
    looks like what closes it, and that of a cell with an escaped pipe.
    """
    for index in range(len(tokens) - 1, -1, -1):
        if (token := tokens[index]).type in ("fence", "code_block") or (token.type == "inline" and token.content):
            if tokens[index - 1].type not in ("th_open", "td_open"):
                is_closed = tokens[index - 1].type == "heading_open" and _CLOSED.search(token.content)
                return (None if is_closed else token), 0
            cells = 0
            while tokens[index].type != "tr_open":
                cells += tokens[index].type in ("th_open", "td_open")
                index -= 1
            return (None if "|" in token.content else token), cells
    return None, 0


def delimiter_row(source: str, tokens: Sequence[Token]) -> str:
    """Give what makes a table of a last line that looks like the head of one."""
    line = source.rpartition("\n")[2]
    if (
        not line.startswith("|")
        or MARKS.fullmatch(line)
        or len(tokens) < 3
        or tokens[-3].type != "paragraph_open"
        or tokens[-3].level
    ):
        return ""
    return "\n" + "|---" * cells(source) + "|"


def cells(source: str) -> int:
    """Count the cells that the last line has, if it is a row."""
    found = _PIPE.split(source.rpartition("\n")[2].strip(" \t").removeprefix("|"))
    return len(found) - (len(found) > 1 and found[-1] == "")
