"""One marker read: a `CitationFormat` in compiled form. Pure; the parser keeps the state.

A *body* is what stands between a marker's first delimiter and its stop. There are three ways to read one (semantics,
section 3, BODY), a class each: `Strict`, `Spaced`, `Opaque`. All that a body has to remember from one delta to the next
is a small int, its *field state*, which the parser keeps for it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

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

# The groups of a start in text; the last one that took part says what was found behind the start and the name.
NAME, DELIMITER, STOP, INCOMPLETE = range(2, 6)

never = frozenset[str]().issuperset
"""Say of every delta but the empty one that it is not just more of an open marker."""

References: TypeAlias = tuple[Reference, ...]


class Strict:
    """Read a body whose fields hold no spaces inside their token."""

    is_payload = False

    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar
        one_character = len(grammar.fmt.delimiter) == 1
        self.quiet = grammar.common.union(grammar.fmt.delimiter).issuperset if one_character else never

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
    quiet = staticmethod(never)

    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar

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
    quiet = staticmethod(never)

    def resume(self, state: int, last: str) -> int:
        """As `Strict.resume`."""
        return state

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


class Scanner(NamedTuple):
    """Find the tokens of a format; each function takes the text and the index to begin at.

    Attributes:
        in_text: gives each token that counts in text. That of a start holds what can be read behind it as well: group
            ``NAME``, a family name, perhaps none; and, as the last group, `DELIMITER` or `STOP` if one follows, or
            `INCOMPLETE` if what follows is part of a token at the end of the text.
        in_marker: searches the next token inside a marker.
    """

    in_text: Callable[[str, int], Iterator[re.Match[str]]]
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
        self._opaque = Opaque()

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
        references: list[Reference] = []
        for token in map(str.strip, fields):
            if token and (reason := self._add(references, token)):
                return tuple(references), reason
        return tuple(references), None if references else "empty"

    def take_fields(self, fields: Sequence[str], *, cut_at_punctuation: bool) -> tuple[int, References]:
        """Take the finished fields of an unclosed marker from the left, as long as nothing in them may be prose.

        Returns:
            The length up to the end of the last token taken, in code points, and the references taken.
        """
        references: list[Reference] = []
        offset = end = 0
        for field in fields:
            if token := field.strip():
                if field[0].isspace():
                    break
                if not self._take(references, token):
                    token = token[: _first_punctuation(token)] if cut_at_punctuation else ""
                    if self._take(references, token):
                        end = offset + len(token)
                    break
                end = offset + len(token)
            offset += len(field) + len(self.fmt.delimiter)
        return end, tuple(references)

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

    def _add(self, references: list[Reference], token: str) -> Reason | None:
        """Add what one token names to the references before it, or say why it cannot be."""
        if self._locator(token):
            if not references:
                return "no_source"
            last = references[-1]
            if last.locator is None:
                references.pop()
            references.append(Reference(last.source_id, token))
            return None
        if self._source_id(token):
            references.append(Reference(token))
            return None
        return "bad_source_id"

    def _take(self, references: list[Reference], token: str) -> bool:
        """Add a token that may be prose only if it holds a digit, which few words do."""
        return any("0" <= character <= "9" for character in token) and self._add(references, token) is None

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
    start, delimiter, stop = map(re.escape, fmt.tokens)
    in_marker = _any_of(fmt.tokens, incomplete=incomplete)
    # Only where a token can begin with what a name is made of must each letter be tested for being one.
    lettered = any(re.match(r"[A-Za-z0-9_-]", token) for token in fmt.tokens)
    name = _family(f"(?!{in_marker})" if lettered else "")
    opening = f"({start})({name})?(?:({delimiter})|({stop})|((?!{start})(?:{in_marker})))?"
    # A lone delimiter or stop is markup only if no text could mean it: "|" and "]]" are text, U+E202 is not.
    private = all(unicodedata.category(character) == "Co" for token in fmt.tokens for character in token)
    others = [*(fmt.tokens if private else [fmt.start]), *sorted(fmt.ignored)]
    in_text = f"{opening}|{_any_of(others, incomplete=incomplete)}"
    return Scanner(re.compile(in_text).finditer, re.compile(in_marker).search)


def _any_of(tokens: Iterable[str], *, incomplete: bool) -> str:
    return "|".join(_one(token, incomplete=incomplete) for token in tokens)


def _one(token: str, *, incomplete: bool) -> str:
    """Give a pattern for a token, and with ``incomplete`` for any beginning of it at the end of the text."""
    if not incomplete:
        return re.escape(token)
    pattern = ""
    for character in reversed(token):
        pattern = re.escape(character) + (rf"(?:{pattern}|\Z)" if pattern else "")
    return pattern


def _first_punctuation(token: str) -> int:
    return next(
        (k for k, character in enumerate(token) if unicodedata.category(character) in ("Po", "Pe", "Pf")), len(token)
    )
