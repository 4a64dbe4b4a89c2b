"""One marker read: a `CitationFormat` in compiled form. Pure; the parser keeps the state."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from .body import Body, Opaque, References, Spaced, Strict
from .events import Reason, Reference

if TYPE_CHECKING:
    from .format import CitationFormat


def _family(guard: str = "") -> str:
    return rf"{guard}[A-Za-z](?:{guard}[A-Za-z0-9_-]){{0,31}}"


FAMILY = _family()
# What markers are made of, tested once when a format is compiled: ASCII, and the dashes of a typographic range.
COMMON_CHARACTERS = [*map(chr, range(0x80)), *map(chr, range(0x2010, 0x2016))]

# A NamedTuple's own constructor costs twice as much.
_new = tuple.__new__


@dataclass(frozen=True, slots=True)
class Scanner:
    """Find the tokens of a format. Each function takes the text and the index to begin at.

    Attributes:
        in_text: searches the next piece of markup in text. The ``lastgroup`` of a match says what is to be done: it is
            the reason why it is malformed (of a start that is, what follows it is none of the markup), or
            ``body`` (behind the match begins a marker's body), ``ignored``, or ``undecided``. Behind a start, group
            ``name`` holds what can be a family name, if anything can.
        in_marker: searches the next token inside a marker.
    """

    in_text: Callable[[str, int], re.Match[str] | None]
    in_marker: Callable[[str, int], re.Match[str] | None]


class Grammar:
    """Hold what is derived from a format once, for every parser that shares it.

    Attributes:
        open: the scanner while more input may come: a token still incomplete at the end of the text is found too.
        closed: the scanner once no more input can come.
        in_plain: whether a string that is ASCII or printable can hold no part of a token, nor an ignored character.
        common: the usual characters a field may hold, without those a token is made of.
    """

    def __init__(self, fmt: CitationFormat) -> None:
        self.fmt = fmt
        self.open = _scanner(fmt, incomplete=True)
        self.closed = _scanner(fmt, incomplete=False)
        special = fmt.ignored.union(*fmt.tokens)
        self.in_plain = not any(character.isascii() or character.isprintable() for character in special)
        self._tokens = re.compile(_any_of(fmt.tokens, incomplete=False))
        self._longest_first = sorted(fmt.tokens, key=len, reverse=True)
        self._field_char = re.compile(fmt.field_chars).fullmatch
        self.common = frozenset(filter(self.field_holds, COMMON_CHARACTERS)).difference(*fmt.tokens)
        self._source_id = re.compile(fmt.source_id).fullmatch
        self._locator = re.compile(fmt.locator).fullmatch
        self._unshown = re.compile(f"[{re.escape(''.join(sorted(fmt.ignored)))}\ud800-\udfff]")
        self._cited: Strict | Spaced = Spaced(self) if fmt.spaces_in_fields else Strict(self)
        self._opaque = Opaque(self)

    def body(self, family: str) -> Body:
        """Give the way to read the body of a marker of this family."""
        return self._opaque if family and family not in self.fmt.families else self._cited

    def field_holds(self, character: str) -> bool:
        """Say whether a field may hold this character in strict reading."""
        return not character.isspace() and self._field_char(character) is not None

    def read_fields(self, fields: Iterable[str]) -> tuple[References, Reason | None]:
        """Read the fields of a closed marker.

        Returns:
            The references before the first bad token, and what is wrong with that one or with there being none.
        """
        is_locator, is_source_id = self._locator, self._source_id
        references: list[Reference] = []
        source_id: str | None = None
        bare = False  # whether that source id is in no reference yet, as a locator may follow
        reason: Reason | None = None
        for field in fields:
            token = field.strip()
            if is_locator(token):
                if source_id is None:
                    return (), "no_source"
                references.append(_new(Reference, (source_id, token)))
                bare = False
            elif token:
                if bare:
                    references.append(_new(Reference, (source_id, None)))
                bare = is_source_id(token) is not None
                if not bare:
                    reason = "bad_source_id"
                    break
                source_id = token
        else:
            reason = None if source_id else "empty"
        if bare:
            references.append(_new(Reference, (source_id, None)))
        return tuple(references), reason

    def take_fields(self, fields: Sequence[str], *, cut_at_punctuation: bool) -> tuple[int, References]:
        """Take the finished fields of an unclosed marker from the left, as long as nothing in them may be prose.

        Returns:
            The length up to the end of the last token taken, in code points, and the references taken.
        """
        tokens: list[str] = []
        offset = end = 0
        for field in fields:
            if token := field.strip():
                candidates = [token, token[: _first_punctuation(token)]] if cut_at_punctuation else [token]
                taken = next((part for part in candidates if self._is_no_prose(part, tokens)), None)
                if taken is None or field[0].isspace():
                    break
                tokens.append(taken)
                end = offset + len(taken)
                if taken is not token:
                    break
            offset += len(field) + len(self.fmt.delimiter)
        return end, self.read_fields(tokens)[0]

    def reads(self, marker: str, words: Sequence[str], references: References) -> bool:
        """Say whether ``marker``, written of a family and fields, is read as just these."""
        family, *fields = words
        return (
            family in self.fmt.families
            and self._tokens.split(marker) == ["", *words, ""]
            and all(self._cited.advance(field, 0, len(field), 0)[0] == len(field) for field in fields)
            and self.read_fields(fields) == (references, None)
        )

    def show(self, family: str, fields: tuple[str, ...]) -> str:
        """Give what the reader sees of a marker that is no citation; without markup, whatever the function returns."""
        function = self.fmt.display.get(family)
        if function is None:
            return ""
        try:
            shown = function(fields)
        except Exception:  # noqa: BLE001  # the fields are model output: a function they break shows nothing
            return ""
        return self._without_markup(shown) if isinstance(shown, str) else ""

    def _is_no_prose(self, token: str, tokens: list[str]) -> bool:
        """Say whether a token behind these names a source or a passage, and holds a digit, as few words do."""
        if not any("0" <= character <= "9" for character in token):
            return False
        return bool(tokens) if self._locator(token) else self._source_id(token) is not None

    def _without_markup(self, shown: str) -> str:
        kept: list[str] = []
        # Removing a token can bring the ends of another together, so each is looked for as its last part arrives.
        for character in self._tokens.sub("", self._unshown.sub("", shown)):
            kept.append(character)
            for token in self._longest_first:
                if character == token[-1] and kept[-len(token) :] == list(token):
                    del kept[-len(token) :]
        return "".join(kept)


grammar = lru_cache(maxsize=64)(Grammar)
"""Give the compiled form of a format, shared by all who use an equal one."""


def _scanner(fmt: CitationFormat, *, incomplete: bool) -> Scanner:
    start, delimiter, stop = (re.escape(token) for token in fmt.tokens)
    in_marker = _any_of(fmt.tokens, incomplete=incomplete)
    # Only where a token can begin with what a name is made of must each letter be tested for being one.
    lettered = any(re.match(r"[A-Za-z0-9_-]", token) for token in fmt.tokens)
    name = _family(f"(?!{in_marker})" if lettered else "")
    # A lone delimiter or stop is markup only if no text could mean it: "|" and "]]" are text, U+E202 is not.
    private = all(unicodedata.category(character) == "Co" for token in fmt.tokens for character in token)
    behind = [
        f"(?P<body>{delimiter})",
        f"(?P<no_delimiter>{stop})",
        f"(?P<unclosed>(?={start}))",
        rf"(?P<undecided>{in_marker}|\Z)",
        "(?P<bad_family>)",
    ]
    choices = [
        f"{_rest(fmt.start)}(?P<name>{name})?(?:{'|'.join(behind)})",
    ]
    if private:
        choices += [f"(?P<stray_delimiter>{_rest(fmt.delimiter)})", f"(?P<stray_stop>{_rest(fmt.stop)})"]
    if fmt.ignored:
        choices.append(f"(?<={_one_of(fmt.ignored)})(?P<ignored>)")
    known = fmt.tokens if private else fmt.tokens[:1]
    if incomplete:
        choices += [_rest(token, incomplete=True) for token in known if len(token) > 1]
    # Begun with a set of characters, and only then told apart, the search skips text ten times as fast.
    first = _one_of(fmt.ignored.union(token[0] for token in known))
    return Scanner(re.compile(f"{first}(?:{'|'.join(choices)})").search, re.compile(in_marker).search)


def _one_of(characters: Iterable[str]) -> str:
    return f"[{re.escape(''.join(sorted(characters)))}]"


def _any_of(tokens: Iterable[str], *, incomplete: bool) -> str:
    return "|".join(re.escape(token[0]) + _rest(token, incomplete=incomplete, behind=False) for token in tokens)


def _rest(token: str, *, incomplete: bool = False, behind: bool = True) -> str:
    """Give a pattern for a token whose first character was read.

    With ``incomplete`` it also matches any beginning of the token that ends the text; with ``behind`` it looks back
    whether the character read was its first.
    """
    pattern = re.escape(token[1:])
    if incomplete:
        pattern = ""
        for character in reversed(token[1:]):
            pattern = rf"(?:{re.escape(character)}{pattern}|\Z)"
    return f"(?<={re.escape(token[0])}){pattern}" if behind else pattern


def _first_punctuation(token: str) -> int:
    return next(
        (k for k, character in enumerate(token) if unicodedata.category(character) in ("Po", "Pe", "Pf")), len(token)
    )
