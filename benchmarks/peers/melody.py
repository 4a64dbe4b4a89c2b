"""``cohere-melody``, the package that reads what Cohere's models write: ``<co>text</co: 0:[1,2]>``.

Our markers are put into its language: a marker that follows a text cites an empty span there, and ids are numbers. It
has no locators, and trims the ends of an answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from streamcite import OPENAI, Reference

from .reading import Cite, Piece, Translation

START, DELIMITER, STOP = OPENAI.tokens
_MARKER = re.compile(
    f"{START}(?:file)?cite((?:{DELIMITER}[a-z]+[0-9]+(?:[a-z]+[0-9]+)?(?:{DELIMITER}L[0-9]+(?:-L[0-9]+)?)*)+)({STOP}?)"
)
_ID = re.compile("[a-z]+[0-9]+(?:[a-z]+[0-9]+)?")


def translate(text: str) -> Translation | None:
    """Put a text into melody's language; None if something in it has no place there."""
    ids: dict[str, str] = {}

    def marker(match: re.Match[str]) -> str:
        cited = [word for word in match[1].split(DELIMITER) if _ID.fullmatch(word)]
        numbers = [ids.setdefault(word, str(len(ids))) for word in cited]
        return f"<co></co: 0:[{','.join(numbers)}{']>' if match[2] else ''}"

    translated = _MARKER.sub(marker, text)
    return None if any(token in translated for token in OPENAI.tokens) else Translation(translated, ids)


class Melody:
    """Its filter, as it is set up for an answer with citations."""

    def __init__(self) -> None:
        melody: Any = import_module("cohere_melody")
        self._filter = melody.PyFilter(melody.PyFilterOptions().cmd3())
        self._filter.write_decoded("<|START_RESPONSE|>")

    def feed(self, delta: str) -> Sequence[Piece]:
        """Read the next delta."""
        return self._pieces(self._filter.write_decoded(delta))

    def close(self) -> Sequence[Piece]:
        """Settle what is held."""
        return self._pieces(self._filter.flush_partials())

    def _pieces(self, found: Any) -> Sequence[Piece]:
        text, citations = found.content or "", found.citations
        if not citations:
            return [text] if text else ()
        given: list[Piece] = [text]
        for citation in citations:
            numbers = [str(number) for source in citation.sources for number in source.tool_result_indices]
            given.append(Cite((*map(Reference, numbers),), citation.end_index))
        return given
