"""What a model response consists of: output items, each with one part of text, and the events that spell it.

Shapes: the API reference, "Responses: streaming events" and "The response object".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """How the parts of an item are called, in the item and in its events.

    Attributes:
        type: the type of the item.
        prefix: how its id starts.
        item: further fields of the item.
        parts: the field of the item that holds its parts.
        index: the field of an event that says which part it is about.
        part_event: what the events of a part are called, except for their ends.
        text_event: what the events of a part's text are called, except for their ends.
        part: the fields of a part, except for its text.
        text: further fields of the events of a part's text.
    """

    type: str
    prefix: str
    item: Mapping[str, Any]
    parts: str
    index: str
    part_event: str
    text_event: str
    part: Mapping[str, Any]
    text: Mapping[str, Any]


MESSAGE = Kind(
    type="message",
    prefix="msg",
    item={"role": "assistant"},
    parts="content",
    index="content_index",
    part_event="response.content_part",
    text_event="response.output_text",
    part={"type": "output_text", "annotations": [], "logprobs": []},
    text={"logprobs": []},
)
REASONING = Kind(
    type="reasoning",
    prefix="rs",
    item={},
    parts="summary",
    index="summary_index",
    part_event="response.reasoning_summary_part",
    text_event="response.reasoning_summary_text",
    part={"type": "summary_text"},
    text={},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputItem:
    """One item of a response's output.

    Attributes:
        kind: what it is.
        id: its own id, without the prefix of its kind.
        index: its place in the output.
        deltas: its text.
        status: ``completed`` or ``incomplete``, when it is done.
    """

    kind: Kind
    id: str
    index: int
    deltas: tuple[str, ...]
    status: str

    def events(self) -> Iterator[dict[str, Any]]:
        """Give the events of the item, from its place in the output to what it is when it is done."""
        kind, text = self.kind, "".join(self.deltas)
        place = {"item_id": self._id, "output_index": self.index, kind.index: 0}
        yield {"type": "response.output_item.added", "output_index": self.index, "item": self._item("in_progress")}
        yield {"type": f"{kind.part_event}.added", **place, "part": self._part("")}
        for delta in self.deltas:
            yield {"type": f"{kind.text_event}.delta", **place, "delta": delta, **kind.text}
        yield {"type": f"{kind.text_event}.done", **place, "text": text, **kind.text}
        yield {"type": f"{kind.part_event}.done", **place, "part": self._part(text)}
        yield {"type": "response.output_item.done", "output_index": self.index, "item": self.final()}

    def final(self) -> dict[str, Any]:
        """Give the item when it is done."""
        return self._item(self.status, self._part("".join(self.deltas)))

    @property
    def _id(self) -> str:
        return f"{self.kind.prefix}_{self.id}"

    def _item(self, status: str, *parts: dict[str, Any]) -> dict[str, Any]:
        kind = self.kind
        return {"id": self._id, "type": kind.type, "status": status, kind.parts: list(parts), **kind.item}

    def _part(self, text: str) -> dict[str, Any]:
        return {**self.kind.part, "text": text}
