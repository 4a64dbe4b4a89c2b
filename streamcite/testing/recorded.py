"""The recorded answers: what a model said, in which deltas, and about which sources."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any

from streamcite.sources import Source

from .tokens import token_deltas


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedAnswer:
    """One answer of a model, raw, as the test server streams it.

    Attributes:
        id: its name, which a request gives as ``model``.
        text: the whole answer, markers included.
        deltas: the pieces in which it streams, which joined are the text; without them it is cut by `token_deltas`.
        reasoning: a summary of what the model thought before, which the Responses API gives as an item of its own, in
            front of the answer; chat completions have no place for it.
        question: what the user asked.
        sources: what the answer cites, by source id.

    Raises:
        TypeError: the id, the text, the reasoning or a delta is not a string.
        ValueError: the id is empty, or the joined deltas are not the text.
    """

    id: str
    text: str
    deltas: tuple[str, ...] = ()
    reasoning: str = ""
    question: str = ""
    sources: Mapping[str, Source] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        for name in ("id", "text", "reasoning"):
            if not isinstance(value := getattr(self, name), str):
                raise TypeError(f"{name}: must be a str, not {value!r}")
        if not self.id:
            raise ValueError(f"id: must be a non-empty string, not {self.id!r}")
        deltas = tuple(self.deltas) if isinstance(self.deltas, Iterable) else (self.deltas,)
        for delta in deltas:
            if not isinstance(delta, str):
                raise TypeError(f"deltas: must be strings, not {delta!r}")
        deltas = deltas or tuple(token_deltas(self.text))
        if "".join(deltas) != self.text:
            raise ValueError("deltas: must be the text when they are joined")
        object.__setattr__(self, "deltas", deltas)


@cache
def recorded_answers() -> Mapping[str, RecordedAnswer]:
    """Load the answers that come with this package.

    Each cites its sources ten times and more, several at once and line ranges among them, and holds malformed markers,
    as models write them.

    Returns:
        By id, read-only: ``english``, ``japanese``, and ``technical`` (code, a table and emoji).
    """
    files = (resources.files(__package__) / "answers").iterdir()
    answers = [_read(json.loads(file.read_text("utf-8"))) for file in sorted(files, key=lambda file: file.name)]
    return MappingProxyType({answer.id: answer for answer in answers})


def _read(record: Mapping[str, Any]) -> RecordedAnswer:
    sources = (Source(**{**source, "text": "\n".join(source["text"])}) for source in record["sources"])
    return RecordedAnswer(
        id=record["id"],
        text="\n".join(record["text"]),
        question=record["question"],
        sources=MappingProxyType({source.id: source for source in sources}),
    )
