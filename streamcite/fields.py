"""What the fields of a marker name: ids and locators in, references out. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from .events import Reason, Reference

# What markers are made of, tested once when a format is compiled: ASCII, and the dashes of a typographic range.
COMMON_CHARACTERS = [*map(chr, range(0x80)), *map(chr, range(0x2010, 0x2016))]

# A NamedTuple's own constructor costs twice as much.
_new = tuple.__new__

References: TypeAlias = tuple[Reference, ...]


class Fields:
    """Read the fields of a format's markers.

    Attributes:
        delimiter: what stands between two fields.
        common: the usual characters a field may hold, without those a token is made of.
    """

    def __init__(self, *, source_id: str, locator: str, field_chars: str, tokens: tuple[str, str, str]) -> None:
        self._source_id = re.compile(source_id).fullmatch
        self._locator = re.compile(locator).fullmatch
        self._field_char = re.compile(field_chars).fullmatch
        self.delimiter: str = tokens[1]
        self.common: frozenset[str] = frozenset(filter(self.may_hold, COMMON_CHARACTERS)).difference(*tokens)

    def may_hold(self, character: str) -> bool:
        """Say whether a field may hold this character in strict reading."""
        return not character.isspace() and self._field_char(character) is not None

    def read(self, fields: Iterable[str]) -> tuple[References, Reason | None]:
        """Read the fields of a closed marker.

        Returns:
            The references before the first bad token, and what is wrong with that one or with there being none.
        """
        is_locator, is_source_id = self._locator, self._source_id
        references: list[Reference] = []
        source_id: str | None = None
        bare = False  # whether that source id is in no reference yet, as a locator may follow
        for field in fields:
            token = field.strip()
            if not token:
                continue
            if is_locator(token):
                if source_id is None:
                    return (), "no_source"
                references.append(_new(Reference, (source_id, token)))
                bare = False
                continue
            if bare:
                references.append(_new(Reference, (source_id, None)))
            if not is_source_id(token):
                return tuple(references), "bad_source_id"
            source_id, bare = token, True
        if bare:
            references.append(_new(Reference, (source_id, None)))
        return tuple(references), None if source_id else "empty"

    def take(self, fields: Sequence[str], *, cut_at_punctuation: bool) -> tuple[int, References]:
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
            offset += len(field) + len(self.delimiter)
        return end, self.read(tokens)[0]

    def _is_no_prose(self, token: str, tokens: list[str]) -> bool:
        """Say whether a token that follows these is an id or a locator that holds a digit, as few words do."""
        if not any("0" <= character <= "9" for character in token):
            return False
        return bool(tokens) if self._locator(token) else self._source_id(token) is not None


def _first_punctuation(token: str) -> int:
    return next(
        (k for k, character in enumerate(token) if unicodedata.category(character) in ("Po", "Pe", "Pf")), len(token)
    )
