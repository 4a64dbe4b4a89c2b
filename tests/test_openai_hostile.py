"""Streams as no server should send them, each of which once leaked, lost, invented or cost too much."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from openai.types.chat import ChatCompletionChunk
from openai.types.responses import ResponseTextDeltaEvent, ResponseTextDoneEvent

from streamcite import Source, clean, parse
from streamcite.events import raw_of
from streamcite.openai import (
    chat_events,
    clean_chat,
    clean_completion,
    clean_response,
    clean_responses,
    responses_events,
    texts,
)
from tests.markers import MARKER
from tests.reading import joined

TEXT = f"It lasts.{MARKER} And \U0001f680 so on."
SOURCES = {"turn0file1": Source("turn0file1", title="A page", url="https://example.org/page")}
TOKENS = "\ue200\ue201\ue202"

every_kind = pytest.mark.parametrize("typed", [False, True], ids=["dicts", "typed"])


def chunk(content: Any, *, typed: bool = False, finish: str | None = None, **choice: Any) -> Any:
    shape: Any = {"choices": [{"index": 0, "delta": {"content": content}, "finish_reason": finish, **choice}]}
    return ChatCompletionChunk.construct(**shape) if typed else shape


def delta(text: str, number: int | None = None, *, typed: bool = False, **fields: Any) -> Any:
    shape: dict[str, Any] = {
        "type": "response.output_text.delta",
        "item_id": "m",
        "output_index": 0,
        "content_index": 0,
        "delta": text,
    }
    shape |= {"sequence_number": number, **fields}
    return ResponseTextDeltaEvent.construct(**shape) if typed else shape


def as_json(found: Any) -> str:
    return json.dumps(found if isinstance(found, dict) else found.to_dict(), ensure_ascii=False)


def leaks(objects: list[Any]) -> bool:
    return any(token in as_json(found) for found in objects for token in TOKENS)


@every_kind
def test_a_message_beside_a_delta_is_cleaned_too(typed: bool) -> None:
    pieces = [TEXT[i : i + 3] for i in range(0, len(TEXT), 3)]
    sofar = ["".join(pieces[: i + 1]) for i in range(len(pieces))]
    stream = [chunk(piece, typed=typed, message={"content": whole}) for piece, whole in zip(pieces, sofar, strict=True)]
    cleaned = list(clean_chat(stream))
    assert not leaks(cleaned)
    assert f'"message": {{"content": "{clean(TEXT)}"}}' in as_json(cleaned[-1])


@every_kind
def test_a_reason_to_finish_in_every_chunk(typed: bool) -> None:
    stream = [chunk(character, typed=typed, finish="stop") for character in TEXT]
    with chat_events(stream) as events:
        assert joined(events) == parse(TEXT, complete=True)
    assert events.result.complete


@pytest.mark.parametrize("entries", [5, "x", {}, [None], [5], [{"token": None, "bytes": "no"}]])
def test_log_probabilities_of_any_type_raise_nothing(entries: Any) -> None:
    assert not leaks(list(clean_responses([delta(character, logprobs=entries) for character in TEXT])))
    stream = [chunk(character, logprobs={"content": entries}) for character in TEXT]
    assert not leaks(list(clean_chat(stream)))


def test_log_probabilities_that_are_not_those_of_the_text_neither_leak_nor_pile_up() -> None:
    def entry(token: str) -> dict[str, Any]:
        return {"token": token, "bytes": list(token.encode()), "logprob": -0.1}

    pieces = ["Hi", *MARKER, " there", *MARKER, "!"]
    stream = [chunk(piece, logprobs={"content": [entry("<s>"), entry(piece)]}) for piece in pieces]
    assert not leaks(list(clean_chat(stream)))
    calls = [{"index": 0, "function": {"arguments": "{"}}]
    called = [chunk(None, logprobs={"content": [entry("{")]}) for _ in range(100)]
    for each in called:
        each["choices"][0]["delta"]["tool_calls"] = calls
    assert [each["choices"][0]["logprobs"]["content"] for each in clean_chat(called)] == [[entry("{")]] * 100


@pytest.mark.parametrize("at", range(len(MARKER) + 1))
def test_an_annotation_inside_held_text_stands_where_that_begins_and_only_once(at: int) -> None:
    text = f"Hi {MARKER} you"
    hosted = {"type": "url_citation", "start_index": 3, "end_index": 3 + at, "title": "t", "url": "https://a.example"}
    events = [
        delta(text[: 3 + at], 0),
        {"type": "response.output_text.annotation.added", "output_index": 0, "content_index": 0, "sequence_number": 1}
        | {"item_id": "m", "annotation_index": 0, "annotation": dict(hosted)},
        delta(text[3 + at :], 2),
        {"type": "response.content_part.done", "output_index": 0, "content_index": 0, "sequence_number": 3}
        | {"part": {"type": "output_text", "text": text, "annotations": [dict(hosted)]}},
    ]
    cleaned = list(clean_responses(events, sources=SOURCES))
    announced = [each["annotation"] for each in cleaned if each["type"].endswith("annotation.added")]
    moved = hosted | {"start_index": 3, "end_index": 3}
    assert moved in announced
    assert len(announced) == 2
    assert cleaned[-1]["part"]["annotations"] == announced
    assert [each["sequence_number"] for each in cleaned] == list(range(len(cleaned)))


class Counted(str):
    """A text that counts how often it is compared."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_many_annotations_are_not_compared_with_each_other() -> None:
    added = {"type": "response.output_text.annotation.added", "output_index": 0, "content_index": 0}
    hosted = [{"type": "x", "x_url": Counted("u"), "x_place": {"x_lines": [number]}} for number in range(200)]
    other = {"type": "x", "x_url": "u", "x_place": {"x_lines": ["other"]}}
    part = {"type": "output_text", "text": TEXT, "annotations": [*copy.deepcopy(hosted), other]}
    events = [
        delta(TEXT),
        *(added | {"annotation": each} for each in hosted),
        {"type": "response.content_part.done", "output_index": 0, "content_index": 0, "part": part},
    ]
    Counted.compared = 0
    *cleaned, done = clean_responses(events, sources=SOURCES)
    assert 0 < Counted.compared <= 5 * len(hosted)
    assert done["part"]["annotations"] == [*(each["annotation"] for each in cleaned[1:]), other]


@every_kind
@pytest.mark.parametrize(
    "end", [[], [{"type": "response.completed", "response": {"status": "completed", "output": []}}]]
)
def test_final_annotations_come_without_an_event_that_ends_the_text(typed: bool, end: list[Any]) -> None:
    cleaned = list(clean_responses([delta(TEXT, 0, typed=typed), *end], sources=SOURCES, annotations="final"))
    kinds = [each["type"] if isinstance(each, dict) else each.type for each in cleaned]
    assert kinds.count("response.output_text.annotation.added") == 1
    assert kinds[-1] == (end[0]["type"] if end else "response.output_text.annotation.added")


@every_kind
def test_a_new_event_is_of_the_kind_of_the_others(typed: bool) -> None:
    shape: dict[str, Any] = {"type": "response.output_text.done", "item_id": "m", "output_index": 0, "content_index": 0}
    shape |= {"text": f"{TEXT} B \ue200cite\ue202turn0file1", "sequence_number": 0}
    event: Any = ResponseTextDoneEvent.construct(**shape) if typed else shape
    cleaned = list(clean_responses([event], sources=SOURCES))
    assert len(cleaned) > 1
    assert {isinstance(each, dict) for each in cleaned} == {not typed}


@pytest.mark.parametrize("first", [0, 4])
@pytest.mark.parametrize("pieces", [[MARKER, "x"], ["x", MARKER], [MARKER[:5], MARKER[5:], "y"], [MARKER, MARKER]])
def test_the_numbers_go_on_from_the_first_event_even_one_that_is_left_out(first: int, pieces: list[str]) -> None:
    events = [delta(piece, first + i) for i, piece in enumerate(pieces)]
    numbers = [each["sequence_number"] for each in clean_responses(events, sources=SOURCES)]
    assert numbers[0] == first
    assert numbers == sorted({*numbers})
    assert numbers[-1] == first + len(pieces) - 1


def test_who_reads_chunks_may_change_them() -> None:
    def read() -> Iterator[Any]:
        for each in clean_chat(
            [chunk(f"a{MARKER[:9]}"), chunk(None, finish="length")], sources=SOURCES, malformed="keep"
        ):
            yield json.loads(json.dumps(each))
            each["choices"].clear()

    assert [each["choices"][0]["delta"]["content"] for each in read()] == ["a", MARKER[:9], None]


def test_what_is_not_a_source_is_refused_by_name() -> None:
    sources: Any = {"turn0file1": "https://example.org"}
    with pytest.raises(TypeError, match=r"^sources: must hold a Source for 'turn0file1', not str$"):
        list(clean_chat([chunk(TEXT)], sources=sources))
    with pytest.raises(TypeError, match=r"^sources: must hold a Source for 'turn0file1', not str$"):
        clean_completion({"choices": [{"index": 0, "message": {"content": TEXT}}]}, sources=sources)


@pytest.mark.parametrize("value", [None, 5, "text", [], {"choices": []}])
def test_what_is_not_an_event_is_passed_over_in_a_stream_of_events(value: Any) -> None:
    for events in ([delta(TEXT[:20]), value, delta(TEXT[20:])], [None, delta(TEXT)]):
        assert joined(responses_events(events)) == parse(TEXT)


def message(name: str, status: str, *texts: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []} for text in texts]
    return {"type": "message", "id": name, "status": status, "role": "assistant", "content": content}


def stream_of(items: list[dict[str, Any]], status: str) -> Iterator[dict[str, Any]]:
    """Give the events of a response, as the API sends them."""
    for index, item in enumerate(items):
        place = {"output_index": index, "item_id": item["id"]}
        yield {"type": "response.output_item.added", **place, "item": {**item, "content": [], "status": "in_progress"}}
        for number, part in enumerate(item["content"]):
            here = {**place, "content_index": number}
            yield {"type": "response.content_part.added", **here, "part": {**part, "text": ""}}
            yield {"type": "response.output_text.delta", **here, "delta": part["text"]}
            yield {"type": "response.output_text.done", **here, "text": part["text"]}
            yield {"type": "response.content_part.done", **here, "part": {**part}}
        yield {"type": "response.output_item.done", **place, "item": copy.deepcopy(item)}
    yield {"type": f"response.{status}", "response": {"status": status, "output": copy.deepcopy(items)}}


@pytest.mark.parametrize("status", ["completed", "incomplete"])
@pytest.mark.parametrize("first", ["completed", "incomplete"])
@pytest.mark.parametrize("last", ["completed", "incomplete"])
def test_a_whole_response_is_what_its_stream_comes_to_where_stops_are_left_out(
    status: str, first: str, last: str
) -> None:
    unclosed = f"Yes. {MARKER[:-1]}"
    for items in (
        [message("a", first, unclosed)],
        [message("a", first, unclosed), message("b", last, unclosed)],
        [message("a", first, unclosed, unclosed), message("b", last, "No.")],
    ):
        *_, end = clean_responses(stream_of(items, status), sources=SOURCES)
        whole = clean_response({"status": status, "output": items}, sources=SOURCES)
        assert end["response"] == whole
        assert not leaks([whole])


# Each a stream of that many chunks, in which every one makes the whole text be looked at.
GROWING = {
    "a finish in every chunk": lambda count: chat_events([chunk("abcd", finish="stop") for _ in range(count)]),
    "a short text that is done again and again": lambda count: responses_events(
        [delta("abcd " * count)]
        + [{"type": "response.output_text.done", "output_index": 0, "content_index": 0, "text": "no"}] * count
    ),
}


@pytest.mark.parametrize("stream", GROWING.values(), ids=GROWING)
def test_each_event_is_looked_at_so_often_whatever_comes(stream: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0

    def counted(event: Any) -> str:
        nonlocal looks
        looks += 1
        return raw_of(event)

    monkeypatch.setattr(texts, "raw_of", counted)
    counts = []
    for count in (200, 2000):
        looks = 0
        list(stream(count))
        counts.append(looks)
    assert counts[1] <= 12 * max(counts[0], 200)
