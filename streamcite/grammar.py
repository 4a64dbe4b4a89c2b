"""One marker read: a `CitationFormat` in compiled form. Pure; the parser keeps the state.

A *body* is what stands between a marker's first delimiter and its stop. There are three ways to read one (semantics,
section 3, BODY), a class each: `Strict`, `Spaced`, `Opaque`. All that a body has to remember from one delta to the next
is a small int, its *field state*, which the parser keeps for it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from .events import Reason, Reference

if TYPE_CHECKING:
    from .format import CitationFormat


def _family(guard: str = "") -> str:
    return rf"{guard}[A-Za-z](?:{guard}[A-Za-z0-9_-]){{0,31}}"


FAMILY = _family()
# Longer than any locator such as "Paragraph 21", shorter than the prose behind a missing stop (semantics, section 3).
MAX_SPACED_FIELD = 64
# What markers are made of, tested once when a format is compiled: ASCII, and the dashes of a typographic range.
COMMON_CHARACTERS = [*map(chr, range(0x80)), *map(chr, range(0x2010, 0x2016))]

# The field state of a strict body: where in its field the input stands, as seen from the field's token.
BEFORE, INSIDE, BEHIND = range(3)
# The field state of an opaque body: which kind it is, and for JSON whether a newline (and a \r) was just read.
UNDECIDED, PLAIN, JSON, JSON_NEWLINE, JSON_NEWLINE_RETURN = range(5)

Test: TypeAlias = Callable[[str], bool]
# A NamedTuple's own constructor costs twice as much.
_new = tuple.__new__

never: Test = frozenset[str]().issuperset
"""The test that says no of every string but the empty one."""
References: TypeAlias = tuple[Reference, ...]


class Strict:
    """Read a body whose fields hold no spaces inside their token."""

    is_payload = False

    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar
        delimiter = grammar.fmt.delimiter
        self._quiet: Test = grammar.common.union(delimiter).issuperset if len(delimiter) == 1 else never

    def quiet(self, state: int) -> Test:
        """Give a cheap test whether a delta, as many as come, is just more of this body; `never` if there is none.

        The test may say no of such a delta, but never yes of another one, as long as the limit is not reached.
        """
        return never if state == BEHIND else self._quiet

    def resume(self, state: int, last: str) -> int:
        """Give the field state behind the character ``last``, when only `quiet` deltas were read since ``state``."""
        if last == self._grammar.fmt.delimiter:
            return BEFORE
        return state if last.isspace() else INSIDE

    def advance(self, text: str, i: int, j: int, state: int) -> tuple[int, int]:
        """Read ``text[i:j]``, in which no token of the format stands.

        Returns:
            The index of the first character that this body cannot hold, else ``j``; and the field state there.
        """
        if state != BEHIND and self._grammar.common.issuperset(text[i:j]):
            return j, INSIDE
        for k in range(i, j):
            character = text[k]
            if character.isspace():
                state = BEHIND if state == INSIDE else state
            elif state == BEHIND or not self._grammar.field_holds(character):
                return k, state
            else:
                state = INSIDE
        return j, state

    def divide(self, state: int) -> int:
        """Give the field state behind a delimiter."""
        return BEFORE

    def finishes(self, character: str) -> bool:
        """Say whether the field before a violation is finished by the character that made it."""
        return True

    def may_be_prose(self, state: int) -> bool:
        """Say whether what is still open at the end of the input may be prose; else it is markup."""
        return False

    def head(self, fields: Sequence[str], finished: bool) -> tuple[int, References]:
        """Find how much of an unclosed body is markup.

        Args:
            fields: the fields that were read.
            finished: whether what followed the last one finished it; whitespace behind its token does so too.

        Returns:
            The length of that part, in code points, and the references it holds.
        """
        if not finished and not fields[-1][-1:].isspace():
            fields = fields[:-1]
        return self._grammar.take_fields(fields, cut_at_punctuation=True)


class Spaced:
    """Read a body whose fields may hold spaces. The field state is the length of the field so far."""

    is_payload = False

    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar

    def quiet(self, state: int) -> Test:
        """As `Strict.quiet`."""
        return never

    def resume(self, state: int, last: str) -> int:
        """As `Strict.resume`."""
        return state

    def advance(self, text: str, i: int, j: int, state: int) -> tuple[int, int]:
        """As `Strict.advance`."""
        end = min(j, i + MAX_SPACED_FIELD - state)
        newline = text.find("\n", i, end)
        k = end if newline < 0 else newline
        return k, state + k - i

    def divide(self, state: int) -> int:
        """As `Strict.divide`."""
        return 0

    def finishes(self, character: str) -> bool:
        """As `Strict.finishes`."""
        return character == "\n"

    def may_be_prose(self, state: int) -> bool:
        """As `Strict.may_be_prose`."""
        return True

    def head(self, fields: Sequence[str], finished: bool) -> tuple[int, References]:
        """As `Strict.head`."""
        return self._grammar.take_fields(fields if finished else fields[:-1], cut_at_punctuation=False)


class Opaque:
    """Read a body that holds no citations: JSON, or else plain fields."""

    is_payload = True

    def __init__(self, grammar: Grammar) -> None:
        tokens = [token for token in grammar.fmt.tokens if token != grammar.fmt.delimiter or len(token) > 1]
        self._quiet = frozenset("\r\n").union(*tokens).isdisjoint

    def quiet(self, state: int) -> Test:
        """As `Strict.quiet`."""
        return never if state == UNDECIDED else self._quiet

    def resume(self, state: int, last: str) -> int:
        """As `Strict.resume`."""
        return state if last in "\r\n" else min(state, JSON)

    def advance(self, text: str, i: int, j: int, state: int) -> tuple[int, int]:
        """As `Strict.advance`."""
        if state == UNDECIDED:
            state = JSON if text[i] in "{[" else PLAIN
        if state == PLAIN:
            newline = text.find("\n", i, j)
            return (j if newline < 0 else newline), PLAIN
        seen = ("\n", "\n\r")[state - JSON_NEWLINE] if state > JSON else ""
        run = seen + text[i:j]
        if blank_line := _BLANK_LINE.search(run):
            return i + blank_line.end() - len(seen) - 1, JSON
        if run.endswith("\n"):
            return j, JSON_NEWLINE
        return j, JSON_NEWLINE_RETURN if run.endswith("\n\r") else JSON

    def divide(self, state: int) -> int:
        """As `Strict.divide`."""
        return JSON if state >= JSON else PLAIN

    def finishes(self, character: str) -> bool:
        """As `Strict.finishes`."""
        return False

    def may_be_prose(self, state: int) -> bool:
        """As `Strict.may_be_prose`."""
        return state < JSON

    def head(self, fields: Sequence[str], finished: bool) -> tuple[int, References]:
        """As `Strict.head`."""
        return 0, ()


_BLANK_LINE = re.compile(r"\n\r?\n")

Body: TypeAlias = Strict | Spaced | Opaque


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
