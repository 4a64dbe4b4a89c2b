"""What stands between a marker's first delimiter and its stop: three ways to read it, each a class. Pure.

Which is taken when is said by semantics, section 3, BODY. All that a body has to remember from one delta to the next is
a small int, its *field state*, which the parser keeps for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from .fields import Fields, References

# Longer than any locator such as "Paragraph 21", shorter than the prose after a missing stop (semantics, section 3).
MAX_SPACED_FIELD = 64

# The field state of a strict body: where in its field the input stands, as seen from the field's token.
BEFORE, INSIDE, BEHIND = range(3)
# The field state of an opaque body: which kind it is, and for JSON whether a newline (and a \r) was just read.
UNDECIDED, PLAIN, JSON, JSON_NEWLINE, JSON_NEWLINE_RETURN = range(5)

_BLANK_LINE = re.compile(r"\n\r?\n")

QuietTest: TypeAlias = Callable[[str], bool]

never: QuietTest = frozenset[str]().issuperset
"""The test that says no of every string but the empty one."""


class Body(Protocol):
    """A way to read a body."""

    is_payload: bool
    """Whether the body holds no citation, but the payload of another marker."""
    family: str
    """The family of the citation that the body holds; empty if it holds none."""

    def quiet(self, state: int) -> QuietTest:
        """Give a cheap test whether a delta, as many as come, is just more of this body; `never` if there is none.

        The test may say no of such a delta, but never yes of another one, as long as the limit is not reached.
        """

    def resume(self, state: int, last: str) -> int:
        """Give the field state after the character ``last``, when only `quiet` deltas were read since ``state``."""

    def advance(self, text: str, i: int, j: int, state: int) -> tuple[int, int]:
        """Read ``text[i:j]``, in which no token of the format stands.

        Returns:
            The index of the first character that this body cannot hold, else ``j``; and the field state there.
        """

    def divide(self, state: int) -> int:
        """Give the field state after a delimiter."""

    def finishes(self, character: str) -> bool:
        """Say whether the field before a violation is finished by the character that made it."""

    def may_be_prose(self, state: int) -> bool:
        """Say whether what is still open at the end of the input may be prose; else it is markup."""

    def head(self, fields: Sequence[str], finished: bool) -> tuple[int, References]:
        """Find how much of an unclosed body is markup.

        Args:
            fields: the fields that were read.
            finished: whether what followed the last one finished it; whitespace after its token does so too.

        Returns:
            The length of that part, in code points, and the references it holds.
        """


class Strict(Body):
    """Fields that hold no spaces inside their token."""

    is_payload = False

    def __init__(self, family: str, fields: Fields) -> None:
        self.family = family
        self._fields = fields
        self._common = fields.common
        one_character = len(fields.delimiter) == 1
        self._quiet: QuietTest = fields.common.union(fields.delimiter).issuperset if one_character else never

    def quiet(self, state: int) -> QuietTest:
        return never if state == BEHIND else self._quiet

    def resume(self, state: int, last: str) -> int:
        if last == self._fields.delimiter:
            return BEFORE
        return state if last.isspace() else INSIDE

    def advance(self, text: str, i: int, j: int, state: int) -> tuple[int, int]:
        if state != BEHIND and self._common.issuperset(text[i:j]):
            return j, INSIDE
        for k in range(i, j):
            character = text[k]
            if character.isspace():
                state = BEHIND if state == INSIDE else state
            elif state == BEHIND or not self._fields.may_hold(character):
                return k, state
            else:
                state = INSIDE
        return j, state

    def divide(self, state: int) -> int:
        return BEFORE

    def finishes(self, character: str) -> bool:
        return True

    def may_be_prose(self, state: int) -> bool:
        return False

    def head(self, fields: Sequence[str], finished: bool) -> tuple[int, References]:
        if not finished and not fields[-1][-1:].isspace():
            fields = fields[:-1]
        return self._fields.take(fields, cut_at_punctuation=True)


class Spaced(Body):
    """Fields that may hold spaces. The field state is the length of the field so far."""

    is_payload = False

    def __init__(self, family: str, fields: Fields) -> None:
        self.family = family
        self._fields = fields

    def quiet(self, state: int) -> QuietTest:
        return never

    def resume(self, state: int, last: str) -> int:
        return state

    def advance(self, text: str, i: int, j: int, state: int) -> tuple[int, int]:
        end = min(j, i + MAX_SPACED_FIELD - state)
        newline = text.find("\n", i, end)
        k = end if newline < 0 else newline
        return k, state + k - i

    def divide(self, state: int) -> int:
        return 0

    def finishes(self, character: str) -> bool:
        return character == "\n"

    def may_be_prose(self, state: int) -> bool:
        return True

    def head(self, fields: Sequence[str], finished: bool) -> tuple[int, References]:
        return self._fields.take(fields if finished else fields[:-1], cut_at_punctuation=False)


class Opaque(Body):
    """The payload of a marker that is not a citation: JSON, or else plain fields."""

    is_payload = True
    family = ""

    def __init__(self, tokens: tuple[str, str, str]) -> None:
        start, delimiter, stop = tokens
        # One character is there or not, and makes no difference; one of several may be the first half of the token.
        halves = delimiter if len(delimiter) > 1 else ""
        self._quiet: QuietTest = frozenset("\r\n").union(start, stop, halves).isdisjoint

    def quiet(self, state: int) -> QuietTest:
        return never if state == UNDECIDED else self._quiet

    def resume(self, state: int, last: str) -> int:
        return state if last in "\r\n" else min(state, JSON)

    def advance(self, text: str, i: int, j: int, state: int) -> tuple[int, int]:
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
        return JSON if state >= JSON else PLAIN

    def finishes(self, character: str) -> bool:
        return False

    def may_be_prose(self, state: int) -> bool:
        return state < JSON

    def head(self, fields: Sequence[str], finished: bool) -> tuple[int, References]:
        return 0, ()
