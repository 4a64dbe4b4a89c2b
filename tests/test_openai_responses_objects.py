"""`clean_responses` and `clean_response`: the client's own objects, clean wherever text stands, and cited."""

import copy
from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.responses import ResponseOutputTextAnnotationAddedEvent

from streamcite import clean
from streamcite.openai import AsyncObjectView, ObjectView, clean_response, clean_responses, responses_events
from tests import responses_streams as rs
from tests import strategies as sc
from tests.cleaned_responses import check_numbers, check_stream, expected, kinds, places_of, texts_of
from tests.markers import MARKER
from tests.responses_streams import (
    SOURCES,
    TWO,
    UNCLOSED,
    Item,
    Json,
    message,
    plain,
    size,
    stream_of,
    typed,
)
from tests.responses_streams import Part as TextPart

both_shapes = pytest.mark.parametrize("shape", [copy.deepcopy, typed], ids=["dicts", "typed"])
both_units = pytest.mark.parametrize("unit", ["codepoint", "utf16"])


# Every stream


@both_shapes
@pytest.mark.parametrize("annotations", ["streamed", "final", "off"])
@sc.examples(25)
@given(st.lists(rs.items(), min_size=1, max_size=3), rs.orders(), st.sampled_from(["codepoint", "utf16"]))
def test_all_texts_are_clean_and_cited_in_all_places(
    shape: Any, annotations: Any, items: list[Item], order: Any, unit: Any
) -> None:
    raw = stream_of(*items, order=order)
    sources = None if annotations == "off" else SOURCES
    view = clean_responses(shape(raw), sources=SOURCES, annotations=annotations, unit=unit)
    assert isinstance(view, ObjectView)
    cleaned = [plain(event) for event in view]
    check_stream(raw, cleaned, items, expected(items, sources, unit))
    # And it agrees with the events, and with the whole response.
    whole = clean_response(raw[-1]["response"], sources=SOURCES, annotations=annotations, unit=unit)
    assert cleaned[-1]["response"] == whole
    read, again = responses_events(raw), responses_events(cleaned)
    shown = "".join(map(str, read)), "".join(map(str, again))
    # What is read of the clean ones is the same; a part that began with a marker begins with its text, or not at all.
    assert sorted(shown[0]) == sorted(shown[1])
    assert read.result.text == again.result.text
    assert again.result.citations == ()


@sc.examples(30)
@given(st.lists(rs.items(), min_size=1, max_size=3), rs.orders(), st.sampled_from(["asyncio", "trio"]))
def test_dicts_objects_and_async_streams_agree(items: list[Item], order: Any, backend: str) -> None:
    raw = stream_of(*items, order=order)

    async def stream() -> AsyncIterator[Any]:
        for event in typed(raw):
            yield event

    async def read() -> list[Any]:
        view = clean_responses(stream(), sources=SOURCES)
        assert isinstance(view, AsyncObjectView)
        return [event async for event in view]

    objects = list(clean_responses(typed(raw), sources=SOURCES))
    assert anyio.run(read, backend=backend) == objects
    assert [plain(event) for event in objects] == list(clean_responses(copy.deepcopy(raw), sources=SOURCES))


@both_shapes
def test_a_marker_may_be_cut_anywhere(shape: Any) -> None:
    text = f"It \U0001f680.{TWO} And so on."
    for at in range(1, len(text)):
        items = [message(text[:at], text[at:])]
        cleaned = [plain(event) for event in clean_responses(shape(stream_of(*items)), sources=SOURCES)]
        check_stream(stream_of(*items), cleaned, items, expected(items, SOURCES))


@both_shapes
def test_streamed_annotations_follow_their_text_and_final_ones_precede_its_end(shape: Any) -> None:
    raw = stream_of(message("It lasts.", MARKER, " And", f" on.{TWO}"))
    short = {"response.output_text.delta": "delta", "response.output_text.annotation.added": "added"}
    orders = {"streamed": ["delta", "added", "delta", "delta", "added", "added", "response.output_text.done"],
              "final": ["delta", "delta", "delta", "added", "added", "added", "response.output_text.done"]}  # fmt: skip
    for annotations, wanted in orders.items():
        options: Any = {"annotations": annotations}
        view = clean_responses(shape(raw), sources=SOURCES, **options)
        assert [short.get(event["type"], event["type"]) for event in map(plain, view)][3:10] == wanted


def test_a_new_event_is_of_the_clients_class() -> None:
    events = list(clean_responses(typed(stream_of(message(MARKER, "a", MARKER))), sources=SOURCES))
    added = [event for event in events if event.type == "response.output_text.annotation.added"]
    assert len(added) == 2
    assert all(type(event) is ResponseOutputTextAnnotationAddedEvent for event in added)
    part = next(event for event in events if event.type == "response.content_part.done").part
    assert [type(each).__name__ for each in part.annotations] == ["AnnotationFileCitation"] * 2


# Annotations of the API


def hosted(start: int, end: int) -> list[Json]:
    return [
        {"type": "url_citation", "start_index": start, "end_index": end, "title": "T", "url": "https://example.org"},
        {"type": "file_citation", "file_id": "file_1", "filename": "a.md", "index": end},
        {"type": "container_file_citation", "container_id": "c", "file_id": "file_2", "filename": "b",
         "start_index": start, "end_index": end},
        {"type": "file_path", "file_id": "file_3", "index": start},
    ]  # fmt: skip


@both_shapes
@both_units
@sc.examples(25)
@given(st.data())
def test_hosted_annotations_keep_their_place(shape: Any, unit: Any, data: st.DataObject) -> None:
    text = data.draw(rs.texts(min_size=1))
    offsets = st.integers(0, size(text, unit))
    start, end = sorted([data.draw(offsets), data.draw(offsets)])
    item = Item([TextPart(data.draw(sc.cuts(text)), hosted=hosted(start, end))])
    for sources in (None, SOURCES):
        cleaned = [plain(event) for event in clean_responses(shape(stream_of(item)), sources=sources, unit=unit)]
        check_stream(stream_of(item), cleaned, [item], expected([item], sources, unit))


# What belongs to the length of a text


@both_shapes
def test_padding_goes_where_the_length_changed_and_stays_elsewhere(shape: Any) -> None:
    deltas = ["It lasts.", "\ue200cite\ue202turn0", "file1\ue201 So", " on.", "\ue200ci"]
    cleaned = [plain(event) for event in clean_responses(shape(stream_of(message(*deltas))))]
    found = [(e["delta"], e.get("obfuscation")) for e in cleaned if e["type"].endswith(".delta")]
    assert found == [("It lasts.", "xxxx"), (" So", None), (" on.", "xxxx")]


@both_shapes
@sc.examples(25)
@given(st.data())
def test_the_log_probabilities_are_those_of_what_is_shown(shape: Any, data: st.DataObject) -> None:
    text = data.draw(rs.texts(min_size=1))
    item = Item([TextPart([each for each in data.draw(sc.cuts(text)) if each], logprobs=True)])
    cleaned = [plain(event) for event in clean_responses(shape(stream_of(item)))]
    shown = clean(text)

    def spelled(holder: Json) -> str:
        return "".join(each["token"] for each in holder.get("logprobs") or [])

    deltas = [event for event in cleaned if event["type"] == "response.output_text.delta"]
    assert "".join(map(spelled, deltas)) == shown
    assert all(spelled(event) == event["delta"] for event in deltas)
    (done,) = [event for event in cleaned if event["type"] == "response.output_text.done"]
    (part,) = [event["part"] for event in cleaned if event["type"] == "response.content_part.done"]
    final = cleaned[-1]["response"]["output"][0]["content"][0]
    assert spelled(done) == spelled(part) == spelled(final) == shown


# The end


@both_shapes
@pytest.mark.parametrize("repeats", range(4))
@pytest.mark.parametrize("end", [*rs.ENDS, None])
def test_only_a_completed_response_completes_a_marker(shape: Any, repeats: int, end: str | None) -> None:
    status = "completed" if end == "response.completed" else "incomplete"
    item = message(f"It lasts.{UNCLOSED}", status=status)
    raw = stream_of(item, end=end)
    repeated = [event["sequence_number"] for event in raw if event["type"] in rs.REPEATS][repeats:]
    raw = [event for event in raw if event["sequence_number"] not in repeated]
    cleaned = [plain(event) for event in clean_responses(shape(raw), sources=SOURCES)]
    complete = end == "response.completed"
    want = expected([item], SOURCES, complete=complete)
    places = places_of(cleaned, [item])
    announced = places.pop("announced", {})
    assert announced == ({key: annotations for key, (_, annotations) in want.items()} if complete else {})
    for name, place in places.items():
        assert place == ({key: text for key, (text, _) in want.items()} if name in ("deltas", "done") else want)
    assert set(places) >= {"deltas", *["done", "part", "item"][:repeats], *(["response"] if end else [])}
    assert [kind for kind in kinds(cleaned) if kind in rs.REPEATS] == [
        kind for kind in kinds(raw) if kind in rs.REPEATS
    ]


@both_shapes
def test_what_is_held_as_text_comes_in_an_event_of_its_own(shape: Any) -> None:
    raw = stream_of(message("a", "\ud83d"))
    cleaned = [plain(event) for event in clean_responses(shape(raw), malformed="keep")]
    check_stream(raw, cleaned, [message("a")], {(0, 0, "output_text"): ("a\ufffd", [])})
    for end in ("response.completed", None):
        raw = stream_of(message("It lasts.", "\ue200cite"), end=end)
        cleaned = [plain(event) for event in clean_responses(shape(raw), malformed="keep")]
        places = places_of(cleaned, [message("")])
        assert places["deltas"] == places["done"] == {(0, 0, "output_text"): "It lasts.\ue200cite"}
        check_numbers(raw, cleaned)


@both_shapes
def test_text_that_is_repeated_only_is_clean_there(shape: Any) -> None:
    item = message(f"It lasts.{MARKER}")
    raw = [event for event in stream_of(item) if not event["type"].endswith(".delta")]
    for number, event in enumerate(raw):
        event["sequence_number"] = number
    cleaned = [plain(event) for event in clean_responses(shape(raw), sources=SOURCES)]
    places = places_of(cleaned, [item])
    assert places.pop("deltas", {}) == {}
    assert places["done"] == {(0, 0, "output_text"): "It lasts."}
    assert places["part"] == places["item"] == places["response"] == expected([item], SOURCES)
    check_numbers(raw, cleaned)


@both_shapes
def test_another_text_where_it_is_repeated_is_clean_too(shape: Any) -> None:
    other = stream_of(message(f"Other.{TWO}"))[-1]
    raw = [*stream_of(message(f"It lasts.{MARKER}"))[:-1], other]
    *_, last = clean_responses(shape(raw), sources=SOURCES)
    assert texts_of(plain(last)["response"], [message("")]) == expected([message(f"Other.{TWO}")], SOURCES)


@both_shapes
def test_what_is_not_text_passes_as_it_is(shape: Any) -> None:
    call = {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "find", "arguments": f'{{"q": "{MARKER}"}}'}
    raw: list[Json] = [
           {"type": "response.output_item.added", "output_index": 3, "item": call},
           {"type": "response.function_call_arguments.delta", "output_index": 3, "item_id": "fc_1", "delta": MARKER},
           {"type": "response.function_call_arguments.done", "output_index": 3, "item_id": "fc_1", "arguments": MARKER},
           {"type": "response.output_item.done", "output_index": 3, "item": call},
           {"type": "keepalive", "text": MARKER}, {"type": "error", "message": MARKER}]  # fmt: skip
    raw = [{**event, "sequence_number": number} for number, event in enumerate(raw)]
    assert [plain(event) for event in clean_responses(shape(raw), sources=SOURCES)] == raw


# The whole response


@sc.examples(40)
@given(st.lists(rs.items(), max_size=3), st.sampled_from(["codepoint", "utf16"]))
def test_a_whole_response_is_copied_and_clean(items: list[Item], unit: Any) -> None:
    raw = rs.response_of([Item(item.parts, phase=item.phase) for item in items])
    before = copy.deepcopy(raw)
    cleaned = clean_response(raw, sources=SOURCES, unit=unit)
    assert raw == before
    assert texts_of(cleaned, items) == expected(items, SOURCES, unit)
    own = rs.typed_response(raw)
    assert plain(clean_response(own, sources=SOURCES, unit=unit)) == cleaned
    assert plain(own) == before


def test_only_a_completed_response_completes_a_marker_in_it() -> None:
    for status, complete in [("completed", True), (None, True), ("incomplete", False), ("failed", False)]:
        raw = rs.response_of([message(UNCLOSED)], status or "completed") | {"status": status}
        assert texts_of(clean_response(raw, sources=SOURCES), [message("")]) == (
            expected([message(UNCLOSED)], SOURCES, complete=complete)
        )


@pytest.mark.parametrize("given", [None, 5, "text", {}, {"choices": []}, [{"output": []}]])
def test_what_is_not_a_response_is_misuse(given: Any) -> None:
    with pytest.raises(TypeError, match=r"^response: must be a response of"):
        clean_response(given)


@pytest.mark.parametrize(("name", "value"), [("annotations", "all"), ("unit", "byte"), ("max_marker", 7)])
def test_a_wrong_option_is_misuse_at_once(name: str, value: Any) -> None:
    options: Any = {name: value}
    no_mapping: Any = {"sources": []}
    with pytest.raises(ValueError, match=f"^{name}: "):
        clean_responses([], **options)
    with pytest.raises(ValueError, match=f"^{name}: "):
        clean_response({"output": []}, **options)
    with pytest.raises(TypeError, match=r"^sources: must"):
        clean_responses([], **no_mapping)
    with pytest.raises(TypeError, match=r"^sources: must"):
        clean_response({"output": []}, **no_mapping)
