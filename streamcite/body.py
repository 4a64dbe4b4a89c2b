"""What stands between a marker's first delimiter and its stop: three ways to read it, each a class. Pure.

Which is taken when is said by semantics, section 3, BODY. All that a body has to remember from one delta to the next is
a small int, its *field state*, which the parser keeps for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from .events import Reference

if TYPE_CHECKING:
    from .grammar import Grammar

# Longer than any locator such as "Paragraph 21", shorter than the prose behind a missing stop (semantics, section 3).
MAX_SPACED_FIELD = 64

# The field state of a strict body: where in its field the input stands, as seen from the field's token.
BEFORE, INSIDE, BEHIND = range(3)
# The field state of an opaque body: which kind it is, and for JSON whether a newline (and a \r) was just read.
UNDECIDED, PLAIN, JSON, JSON_NEWLINE, JSON_NEWLINE_RETURN = range(5)

_BLANK_LINE = re.compile(r"\n\r?\n")

References: TypeAlias = tuple[Reference, ...]
Test: TypeAlias = Callable[[str], bool]

never: Test = frozenset[str]().issuperset
"""The test that says no of every string but the empty one."""


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


Body: TypeAlias = Strict | Spaced | Opaque
