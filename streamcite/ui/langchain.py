"""LangChain's messages: content blocks with annotations, in chunks that add up, as a LangGraph server streams them.

Source: LangChain's standard content blocks (`langchain_core.messages.content`, ``TextContentBlock`` and ``Citation``),
and the stream mode ``messages`` of a LangGraph server, which `useStream` reads.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from streamcite.events import check_iterable
from streamcite.links import ResolvedEvent, to_dict
from streamcite.sse import encode_json
from streamcite.urls import is_safe_url

from .places import Placed, Places
from .protocol import Encoder
from .writer import NUMBER, TEXT

__all__ = ["ENCODER", "LangChainEncoder", "ai_message"]

_Json: TypeAlias = dict[str, Any]

_EVENT = "messages"


class LangChainEncoder(Encoder):
    """Encode the events of one answer as chunks of a message, each in an event ``messages``; see `Encoder`.

    The ``data`` is the pair of a chunk and its metadata, which are empty; ``AIMessageChunk(**chunk)`` is one of
    `langchain_core`, and their sum is the message: one text block, with an annotation ``citation`` for each link that
    has a source, as soon as that is known. Its ``start_index`` and ``end_index`` are where the citation stands, in code
    points; its ``cited_text`` is the passage, if that is not a whole document; its ``extras`` hold ``source_id`` and
    ``locator`` as the model wrote them, the ``number`` of the source, and the ``problem``, if there is one.

    The last chunk of an answer that is complete says so, with ``finish_reason`` and ``chunk_position``; after an error
    there is an event ``error``.

    Args:
        message_id: the id of the message; None for a new one.
    """

    def __init__(self, *, message_id: str | None = None) -> None:
        super().__init__()
        self._answer = _Answer(message_id)

    def _start(self) -> list[bytes]:
        frame = encode_json([self._answer.chunk([_block(TEXT)]), {}], event=_EVENT, id=str(NUMBER))
        self._writer = self._answer.places.writer(frame, self._numbers)
        return [self._chunk([], response_metadata={"output_version": "v1"})]

    def _encode(self, events: Iterable[ResolvedEvent]) -> list[bytes]:
        return [self._chunk([block]) for event in events for block in self._answer.read(event)]

    def _end(self, *, complete: bool) -> list[bytes]:
        if not complete:
            return []
        return [self._chunk([], response_metadata={"finish_reason": "stop"}, chunk_position="last")]

    def _fail(self, message: str) -> list[bytes]:
        return [self._frame({"error": "Error", "message": message}, "error")]

    def _chunk(self, content: list[_Json], **more: Any) -> bytes:
        return self._frame([self._answer.chunk(content, **more), {}], _EVENT)


def ai_message(events: Iterable[ResolvedEvent], *, message_id: str | None = None) -> _Json:
    """Give the message of a whole answer: what the chunks of `LangChainEncoder` add up to, as an ``AIMessage``.

    Args:
        events: all that a `Resolver` handed out.
        message_id: as for `LangChainEncoder`.

    Raises:
        TypeError: they are not an iterable of events of a resolver, or one text.
    """
    check_iterable(events)
    answer = _Answer(message_id)
    blocks = [block for event in events for block in answer.read(event)]
    whole = _block("".join(block["text"] for block in blocks))
    if annotations := [each for block in blocks for each in block.get("annotations", ())]:
        whole["annotations"] = annotations
    metadata = {"output_version": "v1", "finish_reason": "stop"}
    content = [whole] if blocks else []
    return {"type": "ai", "id": answer.id, "content": content, "response_metadata": metadata}


class _Answer:
    """Make the content of one message."""

    def __init__(self, message_id: str | None) -> None:
        self.id = message_id or f"run-{uuid.uuid4()}"
        self.places = Places("codepoint")
        self._announced: dict[int, set[int]] = {}  # which of its links were, by the index of the citation

    def chunk(self, content: list[_Json], **more: Any) -> _Json:
        return {"type": "AIMessageChunk", "id": self.id, "content": content, **more}

    def read(self, event: ResolvedEvent) -> Iterator[_Json]:
        found = self.places.read(event)
        if not isinstance(found, str):
            if annotations := list(self._announce(found)):
                yield {**_block(""), "annotations": annotations}
        elif found:
            yield _block(found)

    def _announce(self, placed: Placed) -> Iterator[_Json]:
        """Give the annotations of the links of a citation that have become known."""
        announced = self._announced.setdefault(placed.known.index, set())
        for place, form in enumerate(to_dict(placed.known)["links"]):
            if form["source"] is not None and place not in announced:
                announced.add(place)
                yield _annotation(form, placed.offset)


def _annotation(form: _Json, offset: int) -> _Json:
    source, passage = form["source"], form["passage"]
    url = source["url"] if source["url"] and is_safe_url(source["url"]) else None
    told = {"title": source["title"], "url": url, "cited_text": passage and passage["text"]}
    extras = {**form["reference"], "number": form["number"], "problem": form["problem"]}
    return {
        "type": "citation",
        **{name: value for name, value in told.items() if value},
        "start_index": offset,
        "end_index": offset,
        "extras": {name: value for name, value in extras.items() if value is not None},
    }


def _block(text: str) -> _Json:
    return {"type": "text", "text": text, "index": 0}


ENCODER = LangChainEncoder
