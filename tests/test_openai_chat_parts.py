"""`chat_events`: all texts of a stream, its result and its state, at every moment."""

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamcite import Citation, Event, Malformed, clean, parse
from streamcite.openai import EventView, Part, chat_events
from tests import strategies as sc
from tests.chats import (
    KINDS,
    TOOL_CALL,
    USAGE,
    Shape,
    as_utf16,
    both,
    choice,
    chunk,
    given_as,
    halves,
    plain,
    streamed,
)
from tests.markers import MARKER, SENTENCE
from tests.odd_chats import CHANNELS, conversations
from tests.reading import joined, source_text


@st.composite
def texts(draw: st.DrawFn) -> dict[tuple[int, str], tuple[str, str]]:
    """Draw the texts of two choices, each with the finish reason of its choice."""
    reasons = draw(st.tuples(*[st.sampled_from(["stop", "length"])] * 2))
    places = st.tuples(st.integers(0, 1), st.sampled_from(list(CHANNELS)))
    drawn = draw(st.dictionaries(places, sc.texts(sc.OPENAI, max_pieces=4), max_size=4))
    return {place: (text, reasons[place[0]]) for place, text in drawn.items()}


@given(KINDS, st.data(), texts())
def test_each_text_is_read_by_itself_however_they_interleave(
    kind: str, data: st.DataObject, texts: dict[tuple[int, str], tuple[str, str]]
) -> None:
    pieces = {place: data.draw(sc.cuts(text)) for place, (text, _) in texts.items()}
    order = data.draw(st.permutations([place for place, cut in pieces.items() for _ in cut]))
    shapes = [chunk({"index": place[0], "delta": {place[1]: pieces[place].pop(0)}}) for place in order]
    shapes += [chunk(choice(None, index, reason)) for index, reason in {(i, r) for (i, _), (_, r) in texts.items()}]
    view = chat_events(given_as(kind, shapes))
    seen: dict[Part, list[Event]] = {}
    for part, event in view.iter_parts():
        seen.setdefault(part, []).append(event)
    results = {(each.part.index, each.part.field): each for each in view.result.parts}
    for place, (text, reason) in texts.items():
        text = as_utf16(text)
        expected = parse(text, complete=reason == "stop")
        part = Part(CHANNELS[place[1]], place[0], 0, place[1])  # type: ignore[arg-type]
        assert joined(seen.pop(part, [])) == expected
        if text:
            result = results.pop(place)
            assert (result.part, result.raw, result.finish_reason) == (part, text, reason)
            assert result.text == "".join(map(str, expected))
            assert result.citations == tuple(event for event in expected if isinstance(event, Citation))
            assert result.malformed == tuple(event for event in expected if isinstance(event, Malformed))
            assert not result.snapshot_mismatch
    assert (seen, results) == ({}, {})
    answer = texts.get((0, "content"), ("", "stop"))
    assert joined(chat_events(given_as(kind, shapes))) == parse(as_utf16(answer[0]), complete=answer[1] == "stop")


@given(KINDS, conversations())
def test_the_result_is_what_was_read_so_far_and_complete_at_the_end_only(kind: str, shapes: list[Shape]) -> None:
    read = 0

    def counted() -> Iterator[Any]:
        nonlocal read
        for each in given_as(kind, shapes):
            read += 1
            yield each

    view = chat_events(counted())
    finished: dict[int, bool] = {}
    seen: dict[Part, list[Event]] = {}
    assert (view.result.parts, view.result.usage, view.result.complete) == ((), None, False)
    for part, event in view.iter_parts():
        seen.setdefault(part, []).append(event)
        result = view.result
        for each in result.parts:  # a chunk is read at once, so that the result may be ahead
            assert each.raw.startswith(source_text(seen.get(each.part, [])))
        usage = [shape["usage"] for shape in shapes[:read] if shape["usage"]]
        assert plain(result.usage) == (usage[-1] if usage else None)
        assert result.complete in (False, read == len(shapes))
    for shape in shapes:
        for one in shape["choices"]:
            finished[one["index"]] = finished.get(one["index"], False) or bool(one["finish_reason"])
    assert view.result.complete == (bool(finished) and all(finished.values()))
    assert {each.part: each.raw for each in view.result.parts if each.raw} == {
        part: source_text(events) for part, events in seen.items()
    }
    assert view.held == ""


@given(KINDS, conversations(), st.booleans(), st.data())
def test_going_on_from_a_snapshot_gives_what_going_on_without_gives(
    kind: str, shapes: list[Shape], by_part: bool, data: st.DataObject
) -> None:
    def iterated(view: EventView[Event]) -> Iterator[Any]:
        return view.iter_parts() if by_part else view

    everything = list(iterated(chat_events(given_as(kind, shapes))))
    stop = data.draw(st.integers(0, len(everything)))
    chunks = iter(given_as(kind, shapes))
    view = chat_events(chunks)
    items = iterated(view)
    seen = [next(items) for _ in range(stop)]
    snapshot = json.loads(json.dumps(view.snapshot()))
    rest = list(chunks)
    resumed = chat_events(rest, snapshot=snapshot)
    held = view.held
    assert resumed.held == held
    later = list(iterated(resumed))
    assert _joined(seen + later) == _joined(everything)
    if not by_part:
        assert resumed.result.text == "".join(map(str, later))
    again = chat_events(given_as(kind, shapes), snapshot=chat_events([]).snapshot())
    assert list(iterated(again)) == everything


def _joined(items: list[Any]) -> list[Any]:
    """Join the strings that a text has next to each other; the two views may cut them elsewhere."""
    by_part: dict[Any, list[Event]] = {}
    for item in items:
        part, event = item if isinstance(item, tuple) else (None, item)
        by_part.setdefault(part, []).append(event)
    return [(part, joined(events)) for part, events in sorted(by_part.items(), key=str)]


def test_a_snapshot_in_the_middle_of_a_chunk_has_what_was_not_handed_out() -> None:
    text = f"a{MARKER}" * 50 + "\ue200cite"
    view = chat_events(given_as("dict", [chunk(choice(text))]))
    for done in range(1, 101):
        next(view)
        resumed = chat_events(given_as("dict", streamed(["\ue202a1\ue201b"])), snapshot=view.snapshot())
        assert joined(resumed) == parse(text + "\ue202a1\ue201b")[done:]


def test_a_snapshot_after_the_finish_knows_that_it_came() -> None:
    shapes = streamed(["Yes.\ue200cite\ue202a1"])
    view = chat_events(iter(given_as("typed", shapes)))
    assert [next(view), next(view)] == parse("Yes.\ue200cite\ue202a1", complete=True)
    resumed = chat_events(given_as("typed", [chunk(usage=USAGE)]), snapshot=view.snapshot())
    assert list(resumed) == []
    assert resumed.result.complete


WRONG: list[Any] = [
    {},
    {"version": 0},
    {"version": 1},
    {"version": 2, "texts": [], "pending": [], "finished": []},
    {"version": 1, "texts": [{}], "pending": [], "finished": []},
    {"version": 1, "texts": [], "pending": [[[0, 0, "content"], {"type": "text", "text": "a"}]], "finished": []},
    {"version": 1, "texts": [], "pending": [], "finished": 5},
    {"version": 1, "texts": [], "pending": 5, "finished": []},
]


@pytest.mark.parametrize("snapshot", WRONG, ids=str)
def test_what_is_not_a_snapshot_is_misuse_at_once(snapshot: Any) -> None:
    with pytest.raises(ValueError, match=r"^snapshot: must be what snapshot\(\) gave, not "):
        chat_events([], snapshot=snapshot)


# Surrogates


@given(KINDS, st.data())
def test_a_character_that_is_cut_in_two_is_joined_again(kind: str, data: st.DataObject) -> None:
    text = as_utf16(data.draw(sc.texts(sc.OPENAI))) + "\U0001f680"
    units = halves(text)
    places = sorted(data.draw(st.lists(st.integers(0, len(units)))))
    deltas = ["".join(units[i:j]) for i, j in zip([0, *places], [*places, len(units)], strict=True)]
    view = chat_events(given_as(kind, streamed(deltas)))
    assert joined(view) == parse(text, complete=True)
    assert [each.replaced for each in view.result.parts] == [0]


@given(KINDS, st.lists(st.sampled_from(("\ud83d", "\ude80", "a", "\U0001f680", *MARKER)), min_size=1), st.booleans())
def test_a_lone_surrogate_becomes_a_replacement_and_is_counted(kind: str, deltas: list[str], finished: bool) -> None:
    text = "".join(deltas)
    expected = as_utf16(text)
    view = chat_events(given_as(kind, streamed(deltas, "stop" if finished else None)))
    events = []
    for event in view:
        events.append(event)
        str(event).encode()
        view.held.encode("utf-8", "surrogatepass")
    assert joined(events) == parse(expected, complete=finished)
    [result] = view.result.parts
    assert (result.raw, result.text) == (expected, clean(expected, complete=finished))
    assert result.replaced == expected.count("\ufffd")


@both
def test_a_half_waits_for_the_other_and_not_for_another_texts(kind: str) -> None:
    shapes = [
        chunk(choice("a\ud83d"), choice("b\ud83d", 1)),
        chunk(choice("\ude80"), choice("\ud83d", 1)),
        chunk(choice(None, 1, reasoning="\ude80"), choice(None, 0, "stop")),
    ]
    view = chat_events(given_as(kind, shapes))
    assert [(part.index, part.field, event) for part, event in view.iter_parts()] == [
        (0, "content", "a"),
        (1, "content", "b"),
        (0, "content", "\U0001f680"),
        (1, "content", "\ufffd"),
        (1, "reasoning", "\ufffd"),
        (1, "content", "\ufffd"),
    ]
    assert [each.replaced for each in view.result.parts] == [0, 2, 1]


# Ends


@both
def test_text_after_the_finish_is_read_and_its_positions_go_on(kind: str) -> None:
    text = "It lasts.\ue200cite\ue202a1"
    shapes = [chunk(choice(text, finish_reason="stop")), chunk(choice(SENTENCE)), chunk(usage=USAGE)]
    view = chat_events(given_as(kind, shapes))
    events = list(view)
    assert source_text(events) == text + SENTENCE
    citations = [event for event in events if isinstance(event, Citation)]
    assert [(each.start, each.position) for each in citations] == [(9, 9), (len(text) + 9, 18)]
    assert [(each.finish_reason, each.raw) for each in view.result.parts] == [("stop", text + SENTENCE)]
    assert view.result.complete


class Broken(Exception):
    """What no library raises."""


@both
def test_an_error_comes_as_it_was_after_what_was_held_and_the_result_is_not_complete(kind: str) -> None:
    error = Broken()

    def stream() -> Iterator[Any]:
        yield from given_as(kind, streamed(["It lasts.\ue200cite\ue202a1"], None))
        yield from given_as(kind, [chunk(choice(None, 1, "stop"))])
        raise error

    view = chat_events(stream())
    assert [next(view), next(view)] == parse("It lasts.\ue200cite\ue202a1")
    with pytest.raises(Broken) as raised:
        next(view)
    assert raised.value is error
    assert not view.result.complete
    assert view.result.text == "It lasts."


@pytest.mark.anyio
async def test_an_error_of_an_async_stream_comes_as_it_was_too(anyio_backend: str) -> None:
    error = Broken()

    async def stream() -> AsyncIterator[Any]:
        for each in given_as("typed", streamed(["It lasts.\ue200cite\ue202a1"])):
            yield each
        raise error

    async with chat_events(stream()) as view:
        assert [await anext(view), await anext(view)] == parse("It lasts.\ue200cite\ue202a1", complete=True)
        with pytest.raises(Broken) as raised:
            await anext(view)
    assert raised.value is error
    assert not view.result.complete  # every choice has finished, but the stream has not


@both
def test_tool_calls_and_functions_are_not_text(kind: str) -> None:
    shapes = [chunk(choice(None, tool_calls=[TOOL_CALL], function_call={"arguments": MARKER}))]
    view = chat_events(given_as(kind, [*shapes, chunk(choice(None, finish_reason="tool_calls"))]))
    assert list(view.iter_parts()) == []
    assert (view.result.parts, view.result.complete) == ((), True)


def test_only_one_iteration_may_read_the_stream() -> None:
    view = chat_events(given_as("typed", streamed(SENTENCE)))
    next(view)
    with pytest.raises(
        RuntimeError, match=r"^this stream is being read already: iterate over it, or over its iter_parts"
    ):
        next(view.iter_parts())
