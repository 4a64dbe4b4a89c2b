r"""What a source says, made safe to show: it can forge no citation, header, label or id, and cannot close its block.

What would be read as one of these gets an escape before it or after its first character, such as ``\[L1] `` or
``<\/BLOCK>``: a visible character that no token of the format holds. So nothing is lost, nothing that was broken can
come together again, and what is safe stays as it is. Only a token of one character is replaced. Linear in the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Literal, NamedTuple, TypeAlias

from streamcite.format import CitationFormat
from streamcite.ids import RESULT_ID

from .joining import join

Field: TypeAlias = Literal["text", "title", "url", "updated"]
Kind: TypeAlias = Literal[
    "token", "block tag", "bracketed id", "line label", "block label", "citation marker line", "line break"
]

# What a reader may take for the end of a line (`str.splitlines`), though only the first ends one of ours.
LINE_ENDS = "\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029"
LINE_BREAK = re.compile(f"\r\n|[{LINE_ENDS}]")
# What is not seen at the beginning of a line: controls and marks of direction and the like, and blanks.
_UNSEEN = "\x00-\x08\x0e-\x1b\x7f\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff"
_BLANK = f"[ \t\x1f\xa0\u1680\u2000-\u200a\u202f\u205f\u3000{_UNSEEN}]*+"
_SPACE = rf"[\s{_UNSEEN}]*+"
# No format writes an id that is longer, see `CitationFormat.write`.
BRACKETED = f"【(?P<id>[^{LINE_ENDS}]{{1,4096}})】"


@dataclass(frozen=True, slots=True)
class Change:
    """Say what was made safe of a source: one kind of thing in one of its fields.

    Attributes:
        source_id: the source's id.
        field: where it stood.
        kind: what it was: a ``token`` of the format; a ``block tag`` such as ``</BLOCK>``; a ``bracketed id`` such as
            ``【turn2file1】``; at the beginning of a line a ``line label`` such as ``[L1]``, a ``block label`` such as
            ``[Block1]``, or a ``citation marker line``; a ``line break`` in a field of one line.
        count: how many there were.
        line: the line of the text in which the first of them stands, counted from 1 as `Lines` does; in another field
            that of the field.
    """

    source_id: str
    field: Field
    kind: Kind
    count: int
    line: int


class Found(NamedTuple):
    """What was found in a field: see `Change`."""

    kind: Kind
    times: int
    line: int


class Guard:
    """Make texts safe for a format."""

    def __init__(self, format: CitationFormat) -> None:
        tokens = [format.start, *filter(_is_private, (format.delimiter, format.stop))]
        taken = frozenset().union(*format.tokens)
        self._escape = _unused("\\", taken)
        self._substitute = _unused("\ufffd", taken)
        self._characters = [token for token in tokens if len(token) == 1]
        # Each occurrence is broken after its first character, also where several overlap.
        broken = (f"{re.escape(token[0])}(?={re.escape(token[1:])})" for token in tokens if token[1:])
        self._inline: list[_Rule] = [*(_rule("token", re.compile(pattern)) for pattern in broken), *_INLINE]
        self._is_id = re.compile(format.source_id).fullmatch

    def is_id(self, text: str) -> bool:
        """Say whether this can stand in a line as a source id, as far as the format's pattern says."""
        return text == text.strip() != "" and not LINE_BREAK.search(text) and self._is_id(text) is not None

    def text(self, text: str) -> tuple[str, list[Found]]:
        """Give a text of several lines made safe, and what was found in it."""
        return self._guard(text, [*self._inline, self._line_starts])

    def line(self, text: str) -> tuple[str, list[Found]]:
        """Give a text made safe and of one line, and what was found in it."""
        joined, count = LINE_BREAK.subn(" ", text)
        safe, found = self._guard(joined, self._inline)
        return safe, [*([Found("line break", count, 1)] if count else []), *found]

    def _guard(self, text: str, rules: Iterable[_Rule]) -> tuple[str, list[Found]]:
        text = "\n" + text  # so that every line has one before it
        found: list[Found] = []
        for token in self._characters:
            if count := text.count(token):
                found.append(Found("token", count, text.count("\n", 0, text.index(token))))
                text = text.replace(token, self._substitute)
        for rule in rules:
            first: dict[Kind, int] = {}
            times: Counter[Kind] = Counter()
            safe = join(_parted(text, rule(text), first, times), self._escape)
            found += (Found(kind, times[kind], text.count("\n", 0, place)) for kind, place in first.items())
            text = safe
        return text[1:], _summed(found)

    def _line_starts(self, text: str) -> Iterator[tuple[Kind, int]]:
        for match in _LINE_START.finditer(text):
            if not (id := match["id"]):
                yield _LINE_KINDS[match.lastgroup or ""], match.end()
            elif self.is_id(id):
                yield "bracketed id", match.end()


@lru_cache(maxsize=64)
def guard_for(format: CitationFormat) -> Guard:
    """Give the guard of a format, shared by all who use an equal one."""
    return Guard(format)


# Gives the places in a text where an escape must stand, each with what is found there.
_Rule: TypeAlias = Callable[[str], Iterable[tuple[Kind, int]]]


def _rule(kind: Kind, pattern: re.Pattern[str]) -> _Rule:
    return lambda text: ((kind, match.end()) for match in pattern.finditer(text))


def _parted(
    text: str, places: Iterable[tuple[Kind, int]], first: dict[Kind, int], times: Counter[Kind]
) -> Iterator[str]:
    """Give the parts of a text between these places, and note of each kind the first place and how many there are."""
    begin = 0
    for kind, place in places:
        first.setdefault(kind, place)
        times[kind] += 1
        yield text[begin:place]
        begin = place
    yield text[begin:]


_TAG = "BLOCK(?![A-Za-z0-9_-])"
_INLINE = (
    # With a blank in it, it is a tag only if it has an end: "a < block" is not one.
    _rule("block tag", re.compile(rf"<(?:(?=/?{_TAG})|{_SPACE}(?=(?:/{_SPACE})?+{_TAG}[^<>]*>))", re.IGNORECASE)),
    _rule("bracketed id", re.compile(f"【{_BLANK}(?={RESULT_ID})", re.IGNORECASE)),
)
_LINE_KINDS: dict[str, Kind] = {"line": "line label", "block": "block label", "header": "citation marker line"}
_LINE_START = re.compile(
    rf"[{LINE_ENDS}]{_BLANK}(?="
    rf"(?P<line>\[L[0-9]+\](?:\s|\Z))"
    rf"|(?P<block>\[Block[0-9]+\](?:\s|\Z))"
    rf"|(?P<header>Citation{_BLANK}Marker{_BLANK}[:\uff1a])"
    rf"|{BRACKETED}{_BLANK}(?:[{LINE_ENDS}]|\Z))",
    re.IGNORECASE,
)


def _unused(wanted: str, taken: Container[str]) -> str:
    """Give a visible character that is not in ``taken``: the wanted one, else the first of several hundred."""
    # As many as three tokens of 64 characters can hold, and more.
    every = chain(wanted, "\u00b7\u00a6\u00ac", filter(str.isprintable, map(chr, range(0x2190, 0x2400))))
    return next(character for character in every if character not in taken)


def _is_private(token: str) -> bool:
    return all(unicodedata.category(character) == "Co" for character in token)


def _summed(found: Iterable[Found]) -> list[Found]:
    """Put what is of one kind together."""
    kinds: dict[Kind, Found] = {}
    for kind, times, line in found:
        before = kinds.get(kind, Found(kind, 0, line))
        kinds[kind] = Found(kind, before.times + times, min(before.line, line))
    return list(kinds.values())
