"""One marker read: a `CitationFormat` in compiled form. Pure; the parser keeps the state."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from .body import Body, Opaque, Spaced, Strict
from .fields import Fields, References

if TYPE_CHECKING:
    from .format import CitationFormat


def _family(guard: str = "") -> str:
    return rf"{guard}[A-Za-z](?:{guard}[A-Za-z0-9_-]){{0,31}}"


FAMILY = _family()


@dataclass(frozen=True, slots=True)
class Scanner:
    """Find the tokens of a format. Each function takes the text and the index to begin at.

    Attributes:
        in_text: searches the next piece of markup in text. The ``lastgroup`` of a match says what is to be done: it is
            the reason why it is malformed (of a start: if what follows it is not markup), or
            ``body`` (after the match begins a marker's body), ``ignored``, or ``undecided``. After a start, group
            ``name`` holds what can be a family name, if anything can.
        in_marker: searches the next token inside a marker.
    """

    in_text: Callable[[str, int], re.Match[str] | None]
    in_marker: Callable[[str, int], re.Match[str] | None]


class Grammar:
    """Hold what is derived from a format once, for every parser that shares it.

    Attributes:
        open_scanner: while more input may come: a token still incomplete at the end of the text is found too.
        closed_scanner: once no more input can come.
        in_plain: whether a string that is ASCII or printable can hold no part of a token, nor an ignored character.
        fields: what the fields of a marker name.
    """

    def __init__(self, fmt: CitationFormat) -> None:
        self._display = fmt.display
        self.open_scanner: Scanner = _scanner(fmt, incomplete=True)
        self.closed_scanner: Scanner = _scanner(fmt, incomplete=False)
        special = fmt.ignored.union(*fmt.tokens)
        self.in_plain: bool = not any(character.isascii() or character.isprintable() for character in special)
        self._tokens = re.compile(_any_of(fmt.tokens, incomplete=False))
        self._longest_first = sorted(fmt.tokens, key=len, reverse=True)
        self._unshown = re.compile(f"[{re.escape(''.join(sorted(fmt.ignored)))}\ud800-\udfff]")
        self.fields: Fields = Fields(
            source_id=fmt.source_id, locator=fmt.locator, field_chars=fmt.field_chars, tokens=fmt.tokens
        )
        cited = Spaced if fmt.spaces_in_fields else Strict
        self._cited: dict[str, Body] = {family: cited(family, self.fields) for family in ("", *fmt.families)}
        self._opaque = Opaque(fmt.tokens)

    def body(self, family: str) -> Body:
        """Give the way to read the body of a marker of this family."""
        return self._cited.get(family, self._opaque)

    def reads(self, marker: str, words: Sequence[str], references: References) -> bool:
        """Say whether ``marker``, written of a family and fields, is read as just these."""
        family, *fields = words
        body = self.body(family)
        return (
            body.family == family != ""
            and self._tokens.split(marker) == ["", *words, ""]
            and all(body.advance(field, 0, len(field), 0)[0] == len(field) for field in fields)
            and self.fields.read(fields) == (references, None)
        )

    def show(self, family: str, fields: tuple[str, ...]) -> str:
        """Give what the reader sees of a marker that is not a citation; without markup, whatever is returned."""
        function = self._display.get(family)
        if function is None:
            return ""
        try:
            shown = function(fields)
        except Exception:  # noqa: BLE001  # the fields are model output: a function they break shows nothing
            return ""
        return self.without_markup(shown) if isinstance(shown, str) else ""

    def without_markup(self, shown: str) -> str:
        """Give a text without tokens, ignored characters and surrogates."""
        kept: list[str] = []
        # Removing a token can bring the ends of another together, so each is looked for as its last part arrives.
        for character in self._tokens.sub("", self._unshown.sub("", shown)):
            kept.append(character)
            for token in self._longest_first:
                if character == token[-1] and kept[-len(token) :] == list(token):
                    del kept[-len(token) :]
        return "".join(kept)


@lru_cache(maxsize=64)
def grammar_for(fmt: CitationFormat) -> Grammar:
    """Give the compiled form of a format, shared by all who use an equal one."""
    return Grammar(fmt)


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
