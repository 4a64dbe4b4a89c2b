"""Where emphasis and code are in the inline content of a Markdown block.

markdown-it's inline tokens carry no offsets. The state below notes in each token where it was pushed.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal, TypeAlias

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline, backtick
from markdown_it.token import Token

if TYPE_CHECKING:
    from markdown_it.utils import EnvType  # not in all versions

# What HTML has for emphasis and code, as far as it is in use.
_NAME = r"<(/?)(b|strong|i|em|code|pre)(?=[\s/>])"
_TAG = re.compile(f"{_NAME}[^<>]*>", re.IGNORECASE)
_WHOLE_TAG = re.compile(f"{_NAME}.*", re.IGNORECASE | re.DOTALL)
_CODE_TAGS = ("code", "pre")

# Without one of these there is neither.
_MARKS = re.compile("[*_`<]")

# The first and the last point of a stretch of text.
_Span: TypeAlias = tuple[int, int]


class Spans:
    """Know the stretches of a text of one kind.

    Args:
        spans: the first and last point of each; they may overlap, in any order.
    """

    __slots__ = ("_ends", "_starts")

    def __init__(self, spans: Iterable[_Span]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, end in sorted(spans):
            if self._ends and start <= self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], end)
            else:
                self._starts.append(start)
                self._ends.append(end)

    def __contains__(self, point: int) -> bool:
        index = bisect_right(self._starts, point) - 1
        return index >= 0 and point <= self._ends[index]

    def hold(self, index: int) -> bool:
        """Say whether the character at an index is within one."""
        return index in self and index + 1 in self


@dataclass(frozen=True, slots=True)
class Marked:
    """Say where in a text code and emphasis are."""

    code: Spans
    emphasis: Spans


UNMARKED = Marked(Spans(()), Spans(()))
"""What holds neither."""


def read_inline(content: str, env: EnvType) -> Marked:
    """Read the inline content of a block.

    Args:
        content: what an inline token of the block holds.
        env: that of the block parse, which knows the link references.

    Returns:
        `UNMARKED`, if that is known without reading.
    """
    if not _MARKS.search(content):
        return UNMARKED
    reader = _reader()
    state = _State(content, reader, env, [])
    reader.inline.tokenize(state)
    for rule in reader.inline.ruler2.getRules(""):
        rule(state)
    code: list[_Span] = []
    emphasis: list[_Span] = []
    opened: list[int] = []
    tags = _Tags(code, emphasis)
    for token in state.tokens:
        if token.type in ("em_open", "strong_open"):
            opened.append(token.meta["at"] + 1)
        elif token.type in ("em_close", "strong_close"):
            emphasis.append((opened.pop(), token.meta["at"]))
        elif token.type == "code_inline":
            code.append((token.meta["at"] + 1, token.meta["end"] - 1))
        elif token.type == "html_inline" and (found := _WHOLE_TAG.match(token.content)):
            tags.add(found, token.meta["at"])
    return Marked(Spans(code), Spans(emphasis))


def read_html(content: str) -> Marked:
    """Read a block of HTML."""
    tags = _Tags([], [])
    for found in _TAG.finditer(content):
        tags.add(found, found.start())
    return Marked(Spans(tags.code), Spans(tags.emphasis))


@cache
def _reader() -> MarkdownIt:
    # With the nesting that CommonMark's preset allows: each level of brackets that are not links reads them once more.
    reader = MarkdownIt("commonmark").enable("strikethrough")
    reader.inline.ruler.at("backticks", _backtick)
    return reader


class _State(StateInline):
    """Note in each token that a rule pushes where in the text that was: where what it stands for begins."""

    _run, _pushed = -1, 0

    def push(self, ttype: str, tag: str, nesting: Literal[-1, 0, 1]) -> Token:
        token = super().push(ttype, tag, nesting)
        at = self.pos
        if ttype == "text":
            # The rule for emphasis pushes a token for each character of a run, and only then goes on.
            self._pushed = self._pushed + 1 if at == self._run else 0
            self._run = at
            at += self._pushed
        token.meta["at"] = at
        return token


def _backtick(state: StateInline, silent: bool) -> bool:
    start = state.pos
    matched = backtick(state, silent)
    if matched and state.tokens and (token := state.tokens[-1]).type == "code_inline" and token.meta.get("at") == start:
        token.meta["end"] = state.pos
    return matched


class _Tags:
    """Pair the tags of HTML, each name for itself."""

    def __init__(self, code: list[_Span], emphasis: list[_Span]) -> None:
        self.code = code
        self.emphasis = emphasis
        self._opened: defaultdict[str, list[int]] = defaultdict(list)

    def add(self, found: re.Match[str], at: int) -> None:
        """Take the next tag, which begins at an offset."""
        name, opened = found[2].lower(), self._opened[found[2].lower()]
        if not found[1]:
            opened.append(at + len(found[0]))
        elif opened:
            (self.code if name in _CODE_TAGS else self.emphasis).append((opened.pop(), at))
