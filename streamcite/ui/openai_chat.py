"""OpenAI's chat completions: the chunks of a stream with the annotations of its citations, and the whole completion.

Source: the API reference, "The chat completion chunk object" and "The chat completion object".
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable
from typing import Any, TypeAlias

from streamcite.annotations import Annotation, Unit, chat_annotations
from streamcite.events import check_iterable
from streamcite.links import ResolvedEvent
from streamcite.sse import encode, encode_json

from .places import Placed, Places
from .protocol import Encoder
from .writer import TEXT

__all__ = ["ENCODER", "OpenAIChatEncoder", "chat_completion"]

_Json: TypeAlias = dict[str, Any]


class OpenAIChatEncoder(Encoder):
    """Encode the events of one answer as the chunks of a chat completion; see `Encoder`.

    The annotations come in one chunk right before the ``finish_reason``: of several, some readers keep the last alone.
    By then every source is known that came while the answer did. There are annotations of sources with a URL only, as
    a chat completion has no others. Each has an ``index``, by which readers of a stream add them up.

    An answer that is not complete has no ``finish_reason`` and no ``[DONE]``; after an error stands its ``error``
    object. A frame has no id: these readers resume nothing.

    Args:
        model: what the chunks name as the model.
        completion_id: their id; None for a new one.
        created: when the answer was made, as Unix time in seconds; None for now.
        unit: what the offsets of annotations count: code points, or the UTF-16 units of JavaScript.

    Raises:
        ValueError: ``unit`` is neither of the two.
    """

    def __init__(
        self,
        *,
        model: str = "streamcite",
        completion_id: str | None = None,
        created: int | None = None,
        unit: Unit = "codepoint",
    ) -> None:
        super().__init__()
        self._answer = _Answer(model, completion_id, created, unit)

    def _start(self) -> list[bytes]:
        self._writer = self._answer.places.writer(self._chunk({"content": TEXT}), self._numbers)
        return [self._chunk({"role": "assistant", "content": "", "refusal": None})]

    def _encode(self, events: Iterable[ResolvedEvent]) -> list[bytes]:
        return [self._chunk({"content": text}) for event in events if (text := self._answer.read(event))]

    def _end(self, *, complete: bool) -> list[bytes]:
        annotations = [{"index": index, **each} for index, each in enumerate(self._answer.annotations())]
        frames = [self._chunk({"annotations": annotations})] if annotations else []
        return [*frames, self._chunk({}, "stop"), encode("[DONE]")] if complete else frames

    def _fail(self, message: str) -> list[bytes]:
        error = {"message": message, "type": "server_error", "param": None, "code": None}
        return [*self._end(complete=False), encode_json({"error": error})]

    def _chunk(self, delta: _Json, finish_reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return encode_json({**self._answer.head("chat.completion.chunk"), "choices": [choice]})


def chat_completion(
    events: Iterable[ResolvedEvent],
    *,
    model: str = "streamcite",
    completion_id: str | None = None,
    created: int | None = None,
    unit: Unit = "codepoint",
) -> _Json:
    """Give the chat completion of a whole answer: what the chunks of `OpenAIChatEncoder` add up to, without ``index``.

    Args:
        events: all that a `Resolver` handed out.
        model: as for `OpenAIChatEncoder`.
        completion_id: as for `OpenAIChatEncoder`.
        created: as for `OpenAIChatEncoder`.
        unit: as for `OpenAIChatEncoder`.

    Raises:
        TypeError: they are not an iterable of events of a resolver, or one text.
        ValueError: as `OpenAIChatEncoder`.
    """
    check_iterable(events)
    answer = _Answer(model, completion_id, created, unit)
    message: _Json = {"role": "assistant", "content": "".join(map(answer.read, events)), "refusal": None}
    if annotations := answer.annotations():
        message["annotations"] = annotations
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    return {**answer.head("chat.completion"), "choices": [choice]}


class _Answer:
    """What the chunks and the completion share."""

    def __init__(self, model: str, completion_id: str | None, created: int | None, unit: Unit) -> None:
        self._id = completion_id or f"chatcmpl-{uuid.uuid4().hex}"
        self._created = int(time.time()) if created is None else created
        self._model = model
        self.places = Places(unit)
        self._cited: dict[int, Placed] = {}  # by index

    def head(self, kind: str) -> _Json:
        return {"id": self._id, "object": kind, "created": self._created, "model": self._model}

    def read(self, event: ResolvedEvent) -> str:
        """Learn an event, and give the text that it adds."""
        found = self.places.read(event)
        if isinstance(found, str):
            return found
        self._cited[found.known.index] = found
        return ""

    def annotations(self) -> list[Annotation]:
        return [
            each for placed in self._cited.values() for each in chat_annotations(placed.sources.values(), placed.offset)
        ]


ENCODER = OpenAIChatEncoder
