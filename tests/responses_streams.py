"""Streams of the Responses API for tests: their events as dicts, or as the client makes objects of them."""

import copy
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import pytest
from hypothesis import strategies as st
from openai._models import construct_type
from openai.types.responses import Response, ResponseStreamEvent

from streamcite import Citation, Event, Source, parse
from tests import strategies as sc
from tests.markers import MARKER

Json = dict[str, Any]

TWO = "\ue200cite\ue202turn0file1\ue202turn1search0\ue202turn9file9\ue201"
UNCLOSED = "\ue200cite\ue202turn0file1"
SOURCES = {
    "turn0file1": Source(id="turn0file1", title="handbook.md"),
    "turn1search0": Source(id="turn1search0", title="News", url="https://example.org/news"),
    "turn2file3": Source(id="turn2file3"),
    "turn2search1": Source(id="turn2search1", url="https://example.org/"),
}
# What each kind of part is called in its item, and in the events of its text.
_NAMES = {
    "output_text": ("content", "content_index", "response.output_text", "response.content_part", "text"),
    "refusal": ("content", "content_index", "response.refusal", "response.content_part", "refusal"),
    "reasoning_text": ("content", "content_index", "response.reasoning_text", "response.content_part", "text"),
    "summary_text": (
        "summary",
        "summary_index",
        "response.reasoning_summary_text",
        "response.reasoning_summary_part",
        "text",
    ),
}
ENDS = ("response.completed", "response.incomplete", "response.failed")
REPEATS = {f"{event}.done" for names in _NAMES.values() for event in names[2:4]} | {"response.output_item.done"}


@dataclass(frozen=True)
class Part:
    """One text of an item; `hosted` are annotations of the API, with offsets into what the model wrote."""

    deltas: Sequence[str]
    field: str = "output_text"
    hosted: Sequence[Json] = ()
    logprobs: bool = False

    @property
    def text(self) -> str:
        return "".join(self.deltas)


@dataclass(frozen=True)
class Item:
    """A message, or the reasoning, by the first of its parts."""

    parts: Sequence[Part]
    phase: str | None = None
    index: int | None = None  # in the output; by default the next
    status: str = "completed"


def message(*deltas: str, **fields: Any) -> Item:
    """Give a message of one text."""
    return Item([Part(deltas)], **fields)


def tokens(text: str) -> list[Json]:
    """Give a token for each character."""
    return [{"token": each, "logprob": -0.5, "bytes": list(each.encode()), "top_logprobs": []} for each in text]


def final_part(part: Part, text: str) -> Json:
    if part.field != "output_text":
        return {"type": part.field, _NAMES[part.field][4]: text}
    hosted = copy.deepcopy(list(part.hosted)) if text else []
    return {
        "type": part.field,
        "text": text,
        "annotations": hosted,
        "logprobs": tokens(text) if part.logprobs else [],
    }


def final_item(item: Item, index: int, status: str, *, parts: bool = True) -> Json:
    is_message = item.parts[0].field in ("output_text", "refusal")
    final: Json = {"id": f"item_{index}", "type": "message" if is_message else "reasoning", "status": status}
    if is_message:
        final |= {"role": "assistant", "content": []}
        if item.phase is not None:
            final["phase"] = item.phase
    else:
        final["summary"] = []
    for part in item.parts if parts else []:
        final.setdefault(_NAMES[part.field][0], []).append(final_part(part, part.text))
    return final


def merged(lists: Iterable[Sequence[Json]], order: random.Random | None) -> list[Json]:
    """Join lists one after the other, or else in any order that keeps that of each."""
    left = [list(each) for each in lists if each]
    result = []
    while left:
        chosen = order.choice(left) if order else left[0]
        result.append(chosen.pop(0))
        left = [each for each in left if each]
    return result


def _part_events(part: Part, place: Json, number: int) -> list[Json]:
    _, numbered, text_event, part_event, name = _NAMES[part.field]
    place = {**place, numbered: number}
    logprobs = part.field == "output_text"
    events: list[Json] = [{"type": f"{part_event}.added", **place, "part": final_part(part, "")}]
    for delta in part.deltas:
        own = {"logprobs": tokens(delta) if part.logprobs else []} if logprobs else {}
        events.append({"type": f"{text_event}.delta", **place, "delta": delta, **own, "obfuscation": "xxxx"})
    events += [
        {
            "type": "response.output_text.annotation.added",
            **place,
            "annotation_index": index,
            "annotation": copy.deepcopy(annotation),
        }
        for index, annotation in enumerate(part.hosted)
    ]
    own = {"logprobs": tokens(part.text) if part.logprobs else []} if logprobs else {}
    events.append({"type": f"{text_event}.done", **place, name: part.text, **own})
    events.append({"type": f"{part_event}.done", **place, "part": final_part(part, part.text)})
    return events


def _item_events(item: Item, index: int, order: random.Random | None) -> list[Json]:
    place = {"item_id": f"item_{index}", "output_index": index}
    numbers: dict[str, int] = {}
    parts = []
    for part in item.parts:
        field = _NAMES[part.field][0]
        number = numbers[field] = numbers.get(field, -1) + 1
        parts.append(_part_events(part, place, number))
    return [
        {
            "type": "response.output_item.added",
            "output_index": index,
            "item": final_item(item, index, "in_progress", parts=False),
        },
        *merged(parts, order),
        {"type": "response.output_item.done", "output_index": index, "item": final_item(item, index, item.status)},
    ]


def response_of(items: Sequence[Item], status: str = "completed") -> Json:
    """Give the whole response."""
    reason = {"reason": "max_output_tokens"} if status == "incomplete" else None
    output = [final_item(item, index, item.status) for index, item in indexed(items)]
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1.0,
        "model": "any",
        "status": status,
        "incomplete_details": reason,
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
    }


def indexed(items: Sequence[Item]) -> Iterator[tuple[int, Item]]:
    for number, item in enumerate(items):
        yield number if item.index is None else item.index, item


def stream_of(
    *items: Item, end: str | None = "response.completed", order: random.Random | None = None, numbered: bool = True
) -> list[Json]:
    """Give the events of a response; without an end it stops after the last item."""
    begun = {**response_of([], "in_progress"), "usage": None}
    events: list[Json] = [{"type": "response.created", "response": begun}]
    events += merged([_item_events(item, index, order) for index, item in indexed(items)], order)
    if end is not None:
        events.append({"type": end, "response": response_of(items, end.removeprefix("response."))})
    if numbered:
        events = [{**event, "sequence_number": number} for number, event in enumerate(events)]
    return events


def typed(events: Iterable[Json]) -> list[Any]:
    """Make objects of events as the client does: without validation."""
    return [construct_type(type_=cast("Any", ResponseStreamEvent), value=copy.deepcopy(event)) for event in events]


def typed_response(response: Json) -> Any:
    """Make an object of a response, as the client does."""
    return construct_type(type_=Response, value=copy.deepcopy(response))


def plain(value: Any) -> Any:
    """Give an object of the client as JSON values."""
    return copy.deepcopy(value) if isinstance(value, dict) else value.to_dict(mode="json")


both_shapes = pytest.mark.parametrize("shape", [list, typed], ids=["dicts", "typed"])


# Events that bring no text

DELTA = {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "item_id": "item_0"}
CALL = {"type": "function_call", "arguments": MARKER}
SILENT_EVENTS: list[Json] = [
    {},
    {"type": "keepalive", "sequence_number": 3},
    {"type": "response.unheard_of", "text": "no", "part": {"type": "output_text", "text": "no"}},
    {"type": None},
    {"type": 5},
    {"type": "response.output_text.delta"},
    {**DELTA, "delta": None},
    {**DELTA, "delta": ""},
    {"type": "response.content_part.added", "part": None},
    {"type": "response.function_call_arguments.done", "output_index": 9, "arguments": MARKER},
    {"type": "response.in_progress", "response": {"output": None}},
    {"type": "response.queued"},
]
# They bring no text either, but tell that the answer went on after a text that ended.
TELLING: list[Json] = [
    {**DELTA, "delta": 5},
    {"type": "response.unheard_of.delta", "delta": "no"},
    {"type": "response.output_item.added", "item": CALL, "output_index": 9},
    {"type": "response.output_item.added", "item": None},
    {"type": "response.function_call_arguments.delta", "output_index": 9, "delta": MARKER},
]


def everywhere(silent: Json, events: Iterable[Json]) -> list[Json]:
    return [silent, *(each for event in events for each in (event, silent))]


# What is said of a text, slowly and obviously


def size(text: str, unit: str) -> int:
    return len(text) if unit == "codepoint" else len(text.encode("utf-16-le")) // 2


def cited(events: Iterable[Event], sources: Mapping[str, Source], unit: str) -> list[Json]:
    """Give the annotations of the citations in a text."""
    shown, found = "", []
    for event in events:
        shown += str(event)
        for id in dict.fromkeys(event.source_ids) if isinstance(event, Citation) else ():
            at = size(shown, unit)
            if id not in sources:
                continue
            source = sources[id]
            if source.url:
                place = {"start_index": at, "end_index": at}
                found.append({"type": "url_citation", "url": source.url, "title": source.title or source.url, **place})
            else:
                found.append({"type": "file_citation", "file_id": id, "filename": source.title or id, "index": at})
    return found


# Texts that mean everything that a marker may come to, and how they are cut.

PIECES = (
    MARKER,
    TWO,
    "\ue200cite\ue202turn2file3\ue202turn2search1\ue201",
    "\ue200video\ue202x\ue201",
    "\ue200cite\ue202\ue201",
    "\ue202",
    "It lasts. ",
    "\U0001f680",
    "é",
    "\n\n",
)


def is_settled(text: str) -> bool:
    """Say whether a text means the same whether or not it ended by itself."""
    return parse(text, complete=True) == parse(text)


def texts(min_size: int = 0) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(PIECES), min_size=min_size, max_size=5).map("".join).filter(is_settled)


@st.composite
def parts(draw: st.DrawFn, fields: Sequence[str]) -> Part:
    return Part(draw(sc.cuts(draw(texts()))), draw(st.sampled_from(fields)))


@st.composite
def items(draw: st.DrawFn) -> Item:
    if draw(st.integers(0, 3)) == 0:
        return Item(draw(st.lists(parts(["reasoning_text", "summary_text"]), min_size=1, max_size=2)))
    message_parts = draw(st.lists(parts(["output_text", "output_text", "refusal"]), min_size=1, max_size=2))
    return Item(message_parts, phase=draw(st.sampled_from([None, "commentary", "final_answer"])))


@st.composite
def orders(draw: st.DrawFn) -> random.Random | None:
    """Draw the order in which parts interleave; most streams have none."""
    return random.Random(draw(st.integers(0, 99))) if draw(st.booleans()) else None
