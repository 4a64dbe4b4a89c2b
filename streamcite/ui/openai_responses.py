"""OpenAI's Responses: the events of a stream with the annotations of its citations, and the whole response.

Source: the API reference, "Responses: streaming events" and "The response object".
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Iterator
from typing import Any, Literal, TypeAlias

from streamcite.annotations import Annotation, Unit, responses_annotations
from streamcite.events import check_iterable
from streamcite.links import ResolvedEvent
from streamcite.sse import encode_json

from .places import Placed, Places
from .protocol import Encoder
from .writer import NUMBER, TEXT, TextWriter

__all__ = ["ENCODER", "OpenAIResponsesEncoder", "model_response"]

_Json: TypeAlias = dict[str, Any]
_Status: TypeAlias = Literal["in_progress", "completed", "incomplete", "failed"]

_PLACE = {"output_index": 0, "content_index": 0}


class OpenAIResponsesEncoder(Encoder):
    """Encode the events of one answer as those of a response; see `Encoder`.

    The response is one message with one text, and its events are a whole sequence, from ``response.created`` to
    ``response.completed``, or ``response.incomplete`` for an answer that is not complete, or ``response.failed`` after
    an error. An annotation is announced as soon as its source is known: a ``url_citation`` of a URL, else a
    ``file_citation``. The ``sequence_number`` of an event is the number of its frame, which has no id.

    Args:
        model: what the response names as the model.
        response_id: its id, such as ``resp_1``; None for a new one. The message has one of its own, of the same end.
        created: when it was made, as Unix time in seconds; None for now.
        unit: what the offsets of annotations count: code points, or the UTF-16 units of JavaScript.
    """

    def __init__(
        self,
        *,
        model: str = "streamcite",
        response_id: str | None = None,
        created: int | None = None,
        unit: Unit = "codepoint",
    ) -> None:
        super().__init__()
        self._answer = _Answer(model, response_id, created, unit)

    def _start(self) -> list[bytes]:
        self._writer = self._answer.writer(_event(NUMBER, self._answer.delta(TEXT)), self._numbers)
        return self._frames(self._answer.start())

    def _encode(self, events: Iterable[ResolvedEvent]) -> list[bytes]:
        return self._frames(found for event in events for found in self._answer.read(event))

    def _end(self, *, complete: bool) -> list[bytes]:
        return self._frames(self._answer.end("completed" if complete else "incomplete"))

    def _fail(self, message: str) -> list[bytes]:
        return self._frames(self._answer.end("failed", {"code": "server_error", "message": message}))

    def _frames(self, events: Iterable[_Json]) -> list[bytes]:
        return [_event(next(self._numbers), event) for event in events]


def _event(number: int, event: _Json) -> bytes:
    kind = event["type"]
    return encode_json({"type": kind, "sequence_number": number, **event}, event=kind)


def model_response(
    events: Iterable[ResolvedEvent],
    *,
    model: str = "streamcite",
    response_id: str | None = None,
    created: int | None = None,
    unit: Unit = "codepoint",
) -> _Json:
    """Give the response of a whole answer: what the events of `OpenAIResponsesEncoder` add up to.

    Args:
        events: all that a `Resolver` handed out.
        model: as for `OpenAIResponsesEncoder`.
        response_id: as for `OpenAIResponsesEncoder`.
        created: as for `OpenAIResponsesEncoder`.
        unit: as for `OpenAIResponsesEncoder`.

    Raises:
        TypeError: they are not an iterable of events of a resolver, or one text.
    """
    check_iterable(events)
    answer = _Answer(model, response_id, created, unit)
    for event in events:
        for _ in answer.read(event):
            pass
    return answer.response("completed")


class _Answer:
    """Make the events of one response."""

    def __init__(self, model: str, response_id: str | None, created: int | None, unit: Unit) -> None:
        self._id = response_id or f"resp_{uuid.uuid4().hex}"
        self._item_id = f"msg_{self._id.removeprefix('resp_')}"
        self._created = int(time.time()) if created is None else created
        self._model = model
        self._places = Places(unit)
        self._texts: list[str] = []
        self._annotations: list[Annotation] = []
        self._announced: dict[int, set[str]] = {}  # the ids of sources that were, by the index of the citation

    def start(self) -> Iterator[_Json]:
        for stage in ("created", "in_progress"):
            yield {"type": f"response.{stage}", "response": self._response("in_progress", [])}
        yield {"type": "response.output_item.added", "output_index": 0, "item": self._item("in_progress", [])}
        yield {"type": "response.content_part.added", "item_id": self._item_id, **_PLACE, "part": self._part()}

    def read(self, event: ResolvedEvent) -> Iterator[_Json]:
        found = self._places.read(event)
        if not isinstance(found, str):
            yield from self._announce(found)
        elif found:
            self._texts.append(found)
            yield self.delta(found)

    def writer(self, frame: bytes, numbers: Iterator[int]) -> TextWriter:
        """Give what writes texts, which are learned so."""
        return self._places.writer(frame, numbers, self._texts)

    def delta(self, text: str) -> _Json:
        delta = {"delta": text, "logprobs": []}
        return {"type": "response.output_text.delta", "item_id": self._item_id, **_PLACE, **delta}

    def end(self, status: _Status, error: _Json | None = None) -> Iterator[_Json]:
        if error is None:
            part = self._part()
            text = {"text": part["text"], "logprobs": []}
            yield {"type": "response.output_text.done", "item_id": self._item_id, **_PLACE, **text}
            yield {"type": "response.content_part.done", "item_id": self._item_id, **_PLACE, "part": part}
            yield {"type": "response.output_item.done", "output_index": 0, "item": self._item(status, [part])}
        yield {"type": f"response.{status}", "response": {**self.response(status), "error": error}}

    def response(self, status: _Status) -> _Json:
        return self._response(status, [self._item("incomplete" if status == "failed" else status, [self._part()])])

    def _announce(self, placed: Placed) -> Iterator[_Json]:
        """Announce the annotations of a citation that have not been yet."""
        announced = self._announced.setdefault(placed.known.index, set())
        new = {source_id: source for source_id, source in placed.sources.items() if source_id not in announced}
        announced.update(new)
        for annotation in responses_annotations(new.values(), placed.offset):
            which = {"annotation_index": len(self._annotations), "annotation": annotation}
            self._annotations.append(annotation)
            yield {"type": "response.output_text.annotation.added", "item_id": self._item_id, **_PLACE, **which}

    def _part(self) -> _Json:
        text = "".join(self._texts)
        return {"type": "output_text", "annotations": list(self._annotations), "logprobs": [], "text": text}

    def _item(self, status: _Status, parts: list[_Json]) -> _Json:
        return {"id": self._item_id, "type": "message", "status": status, "role": "assistant", "content": parts}

    def _response(self, status: _Status, output: list[_Json]) -> _Json:
        return {
            "id": self._id,
            "object": "response",
            "created_at": self._created,
            "status": status,
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": {},
            "model": self._model,
            "output": output,
            "parallel_tool_calls": True,
            "temperature": None,
            "tool_choice": "auto",
            "tools": [],
            "top_p": None,
        }


ENCODER = OpenAIResponsesEncoder
