"""A recorded answer as OpenAI's Responses API sends it: the events of a stream, or one response.

Shapes: the API reference, "Responses: streaming events" and "The response object".
"""

from __future__ import annotations

import hashlib
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from .output import MESSAGE, REASONING, OutputItem
from .recorded import RecordedAnswer
from .request import ResponsesRequest
from .tokens import token_deltas

_BLOCK = 16  # characters: a padded delta fills whole blocks, so that its length on the wire tells little


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelResponse:
    """One model response: a value from which its events follow, the very same whenever they are asked for.

    Attributes:
        id: its own id.
        created_at: Unix time, in seconds.
        answer: what it says.
        request: what it answers.
        input_tokens: how long the instructions and the input were, cut as an answer would be.
    """

    id: str
    created_at: int
    answer: RecordedAnswer
    request: ResponsesRequest
    input_tokens: int

    @classmethod
    def create(cls, answer: RecordedAnswer, request: ResponsesRequest) -> ModelResponse:
        """Answer a request."""
        return cls(
            id=f"resp_{uuid.uuid4().hex}",
            created_at=int(time.time()),
            answer=answer,
            # A response may be kept for long; its input may be large, and only the length of it is needed.
            request=replace(request, prompt=""),
            input_tokens=len(token_deltas(request.instructions or "")) + len(token_deltas(request.prompt)),
        )

    def events(self, starting_after: int | None = None) -> Iterator[dict[str, Any]]:
        """Give the events of the stream, with their numbers.

        Args:
            starting_after: the ``sequence_number`` of the last event that is left out; None leaves out none.
        """
        events = (self._numbered(number, event) for number, event in enumerate(self._events()))
        return islice(events, 0 if starting_after is None else starting_after + 1, None)

    def final(self) -> dict[str, Any]:
        """Give the response when it is finished."""
        items = self._items()
        lengths = {item.kind.type: len(item.deltas) for item in items}
        spent, reasoning = sum(lengths.values()), lengths.get(REASONING.type, 0)
        return {
            **self._object(self._status),
            "incomplete_details": {"reason": "max_output_tokens"} if self._status == "incomplete" else None,
            "output": [item.final() for item in items],
            "usage": {
                "input_tokens": self.input_tokens,
                "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
                "output_tokens": spent,
                "output_tokens_details": {"reasoning_tokens": reasoning},
                "total_tokens": self.input_tokens + spent,
            },
        }

    def _events(self) -> Iterator[dict[str, Any]]:
        for stage in ("created", "in_progress"):
            yield {"type": f"response.{stage}", "response": self._object("in_progress")}
        for item in self._items():
            yield from item.events()
        yield {"type": f"response.{self._status}", "response": self.final()}

    def _numbered(self, number: int, event: dict[str, Any]) -> dict[str, Any]:
        numbered = {"type": event["type"], "sequence_number": number, **event}
        if self.request.include_obfuscation and "delta" in event:
            # From a hash, since it must be the same when the stream is retrieved.
            padding = hashlib.sha256(f"{self.id}{number}".encode()).hexdigest()
            numbered["obfuscation"] = padding[: _BLOCK - len(event["delta"]) % _BLOCK]
        return numbered

    @property
    def _deltas(self) -> tuple[str, ...]:
        return self.answer.deltas[: self.request.max_output_tokens]

    @property
    def _status(self) -> str:
        return "completed" if len(self._deltas) == len(self.answer.deltas) else "incomplete"

    def _items(self) -> list[OutputItem]:
        texts = [(MESSAGE, self._deltas, self._status)]
        if self.answer.reasoning:
            texts.insert(0, (REASONING, tuple(token_deltas(self.answer.reasoning)), "completed"))
        own = self.id.removeprefix("resp_")
        return [
            OutputItem(kind=kind, id=own, index=index, deltas=deltas, status=status)
            for index, (kind, deltas, status) in enumerate(texts)
        ]

    def _object(self, status: str) -> dict[str, Any]:
        return {
            "id": self.id,
            "object": "response",
            "created_at": self.created_at,
            "status": status,
            "background": False,
            "error": None,
            "incomplete_details": None,
            "instructions": self.request.instructions,
            "max_output_tokens": self.request.max_output_tokens,
            "metadata": {},
            "model": self.answer.id,
            "output": [],
            "parallel_tool_calls": True,
            "previous_response_id": None,
            "reasoning": {"effort": None, "summary": None},
            "service_tier": "default",
            "store": self.request.store,
            "temperature": 1.0,
            "text": {"format": {"type": "text"}},
            "tool_choice": "auto",
            "tools": [],
            "top_p": 1.0,
            "truncation": "disabled",
            "usage": None,
            "user": None,
        }
