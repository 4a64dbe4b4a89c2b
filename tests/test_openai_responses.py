"""`responses_events`: every text of a response as events, whatever the stream repeats, leaves out, or breaks off in."""

import itertools
import json
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamcite import Citation, Event, parse
from streamcite.openai import EventView, Part, responses_events
from tests import responses_streams as rs
from tests import strategies as sc
from tests.markers import MARKER, SENTENCE
from tests.reading import joined, source_text
from tests.responses_streams import (
    UNCLOSED,
    Item,
    Json,
    both_shapes,
    message,
    stream_of,
    typed,
)


async def aiterate(events: Iterable[Any]) -> AsyncIterator[Any]:
    for event in events:
        yield event


def by_part(pairs: Iterable[tuple[Part, Event]]) -> dict[Part, list[Event]]:
    found: dict[Part, list[Event]] = defaultdict(list)
    for part, event in pairs:
        found[part].append(event)
    return {part: joined(events) for part, events in found.items()}


def expected(items: Iterable[Item], *, complete: bool = False) -> dict[Part, list[Event]]:
    """Read each text by itself."""
    found: dict[Part, list[Event]] = {}
    for index, item in rs.indexed(list(items)):
        numbers: dict[bool, int] = defaultdict(int)
        for part in item.parts:
            in_summary = part.field == "summary_text"
            channel: Any = {"output_text": "answer", "refusal": "refusal"}.get(part.field, "reasoning")
            if channel == "answer" and item.phase == "commentary":
                channel = "commentary"
            if events := parse(part.text, complete=complete):
                found[Part(channel, index, numbers[in_summary], part.field)] = events
            numbers[in_summary] += 1
    return found


def answer_of(parts: dict[Part, list[Event]]) -> list[Event]:
    return joined(event for part in sorted(parts) if part.channel == "answer" for event in parts[part])


def ordered(keys: Iterable[Any], first: Any) -> list[tuple[Any, ...]]:
    """Give every order in which parts may come one after the other, of which `first` begins first."""
    return [each for each in itertools.permutations(keys) if each[:1] in ((), (first,))]


def check_result(view: Any, parts: dict[Part, list[Event]], reason: str) -> None:
    result = view.result
    assert {part.part: joined(parse(part.raw, complete=True)) for part in result.parts if part.raw} == parts
    for part in result.parts:
        events = parts.get(part.part, [])
        assert part.text == "".join(map(str, events))
        assert part.citations == tuple(event for event in events if isinstance(event, Citation))
        assert (part.finish_reason, part.replaced, part.snapshot_mismatch) == (reason, 0, False)
    assert result.complete
    assert result.text == "".join(map(str, answer_of(parts)))
    assert result.citations == tuple(event for event in answer_of(parts) if isinstance(event, Citation))


# Every text, however it is cut and whatever it interleaves with


@both_shapes
@sc.examples(60)
@given(st.lists(rs.items(), max_size=3), rs.orders())
def test_every_text_is_read_by_itself(shape: Any, items: list[Item], order: Any) -> None:
    events = stream_of(*items, order=order)
    view = responses_events(shape(events))
    assert isinstance(view, EventView)
    pairs = list(view.iter_parts())
    assert by_part(pairs) == expected(items)
    check_result(view, expected(items), "completed")
    assert view.held == ""

    plain = responses_events(shape(events))
    texts = {part: events for part, events in expected(items).items() if part.channel == "answer"}
    if order is None:
        assert joined(plain) == answer_of(texts)
    else:
        first = next((part for part, _ in pairs if part in texts), None)
        assert joined(plain) in [
            joined(event for part in each for event in texts[part]) for each in ordered(texts, first)
        ]
    check_result(plain, expected(items), "completed")


@sc.examples(40)
@given(st.lists(rs.items(), max_size=3), rs.orders(), st.sampled_from(["asyncio", "trio"]))
def test_an_async_stream_gives_the_same(items: list[Item], order: Any, backend: str) -> None:
    events = typed(stream_of(*items, order=order))

    async def read() -> tuple[list[Any], list[Event]]:
        pairs = [pair async for pair in responses_events(aiterate(events)).iter_parts()]
        return pairs, [event async for event in responses_events(aiterate(events))]

    assert anyio.run(read, backend=backend) == (
        list(responses_events(events).iter_parts()),
        list(responses_events(events)),
    )


@pytest.mark.parametrize("at", range(1, len(SENTENCE)))
def test_a_marker_may_be_cut_anywhere(at: int) -> None:
    events = stream_of(message(SENTENCE[:at], SENTENCE[at:]))
    assert joined(responses_events(events)) == joined(responses_events(typed(events))) == parse(SENTENCE)


def test_parts_that_interleave_come_one_after_the_other_or_as_they_come() -> None:
    items = [message("Two", f".{MARKER}", " Two.", index=2), message("\ue200ci", MARKER[3:], " Four.", index=4)]
    events = [event for pair in zip(*[stream_of(item) for item in items], strict=True) for event in pair][1:-1]
    assert joined(responses_events(events)) == [*parse(f"Two.{MARKER} Two."), *parse(f"{MARKER} Four.")]
    seen = [(part.index, str(event)) for part, event in responses_events(events).iter_parts()]
    assert seen == [(2, "Two"), (2, "."), (2, ""), (4, ""), (2, " Two."), (4, " Four.")]


@sc.examples(60)
@given(st.lists(rs.items(), min_size=1, max_size=3), rs.orders(), st.booleans())
def test_what_is_held_and_what_was_handed_out_is_what_was_read(items: list[Item], order: Any, by_parts: bool) -> None:
    deltas: dict[tuple[int, int], str] = defaultdict(str)
    channels = {
        (part.index, part.content_index): part.channel for part in expected(items) if part.field == "output_text"
    }
    read: list[tuple[int, int]] = []

    def chunks() -> Iterator[Json]:
        for event in stream_of(*items, order=order):
            if event["type"] == "response.output_text.delta" and event["delta"]:
                key = (event["output_index"], event["content_index"])
                deltas[key] += event["delta"]
                read.append(key)
            yield event

    view = responses_events(chunks())
    handed: dict[tuple[int, int], str] = defaultdict(str)
    taken = ""
    steps: Iterable[Any] = view.iter_parts() if by_parts else view
    for step in steps:
        answers = [key for key in dict.fromkeys(read) if channels[key] == "answer"]
        if by_parts:
            part, event = step
            handed[part.index, part.content_index] += source_text([event])
            # Here they come as they come; so those that are held are told apart by the texts alone.
            assert view.held == "".join(deltas[key].removeprefix(handed[key]) for key in sorted(answers))
        else:
            taken += source_text([step])
            wanted = ["".join(deltas[key] for key in each) for each in itertools.permutations(answers)]
            assert taken + view.held in wanted
    assert view.held == ""


# Channels


@both_shapes
def test_only_what_is_not_commentary_reasoning_or_refusal_is_the_answer(shape: Any) -> None:
    items = [
        Item([rs.Part([f"Hm.{MARKER}"], "summary_text"), rs.Part([f"So.{MARKER}"], "reasoning_text")]),
        message(f"Let me see.{MARKER}", phase="commentary"),
        message(f"It lasts.{MARKER}", phase="final_answer"),
        Item([rs.Part([f"But not for you.{MARKER}"], "refusal")]),
        message(f" And on.{MARKER}"),
    ]
    view = responses_events(shape(stream_of(*items)))
    assert joined(view) == [*parse(f"It lasts.{MARKER}"), *parse(f" And on.{MARKER}")]
    assert [part.part.channel for part in view.result.parts] == [
        *["reasoning"] * 2, "commentary", "answer", "refusal", "answer",
    ]  # fmt: skip
    assert all(len(part.citations) == 1 for part in view.result.parts)
    assert len(view.result.citations) == 2
    assert view.result.text == "It lasts. And on."
    assert rs.plain(view.result.usage)["output_tokens"] == 2


# The end


class LostError(Exception):
    """What a stream raises when its connection is lost."""


def broken(events: Iterable[Any]) -> Iterator[Any]:
    yield from events
    raise LostError


@both_shapes
@pytest.mark.parametrize("repeats", range(4))
@pytest.mark.parametrize("end", [*rs.ENDS, None, "error", "lost"])
def test_only_a_completed_response_completes_a_marker(shape: Any, repeats: int, end: str | None) -> None:
    text = f"It lasts.{UNCLOSED}"
    status = "completed" if end == "response.completed" else "incomplete"
    events = stream_of(message(text[:13], text[13:], status=status), end=end if end in rs.ENDS else None)
    kept = [event for event in events if event["type"] not in rs.REPEATS]
    kept += [event for event in events if event["type"] in rs.REPEATS][:repeats]
    kept.sort(key=lambda event: event["sequence_number"])
    if end == "error":
        kept.append({"type": "error", "sequence_number": 99, "message": "overloaded", "code": None, "param": None})
    view = responses_events(broken(shape(kept)) if end == "lost" else shape(kept))
    seen = []
    try:
        seen += [next(view)]
        seen += view
    except LostError:
        assert end == "lost"
    else:
        assert end != "lost"
    assert joined(seen) == parse(text, complete=end == "response.completed")
    assert isinstance(seen[-1], Citation) == (end == "response.completed")
    assert view.held == ""
    (part,) = view.result.parts
    assert part.raw == text
    assert view.result.complete == (end in ("response.completed", "response.incomplete"))
    reasons = {"response.completed": "completed", "response.incomplete": "max_output_tokens"}
    assert part.finish_reason == (reasons | {"response.failed": "failed"}).get(end or "")


@pytest.mark.parametrize("status", ["completed", "incomplete"])
def test_what_ends_before_the_last_message_is_complete_if_its_item_is(status: str) -> None:
    items = [message(UNCLOSED, status=status), message("So on.")]
    seen = joined(responses_events(stream_of(*items)))
    assert seen == [*parse(UNCLOSED, complete=status == "completed"), "So on."]


def test_a_part_may_end_while_another_holds_half_a_marker() -> None:
    for order in range(20):
        items = [message(f"One.{MARKER[:9]}", MARKER[9:]), message(f"Two.{MARKER[:-1]}", "\ue201", " On.")]
        events = stream_of(*items, order=random.Random(order))
        assert by_part(responses_events(events).iter_parts()) == expected(items)


# What is repeated, or said there only


@both_shapes
@sc.examples(40)
@given(st.lists(rs.items(), max_size=3), st.data())
def test_text_may_come_in_any_of_its_places(shape: Any, items: list[Item], data: st.DataObject) -> None:
    events = stream_of(*items)
    last = events.pop()
    kept = [event for event in events if event["type"].endswith("added") or data.draw(st.booleans())]
    # A text of which deltas are missing in between is another text; so all after a missing one go, too.
    gone: set[tuple[Any, ...]] = set()
    shown = []
    for event in events:
        if event["type"].endswith(".delta"):
            part = (event["type"], event["output_index"], event.get("content_index", event.get("summary_index")))
            if event not in kept:
                gone.add(part)
            if part in gone:
                continue
        elif event not in kept:
            continue
        shown.append(event)
    view = responses_events(shape([*shown, last]))
    assert by_part(view.iter_parts()) == expected(items)
    assert not any(part.snapshot_mismatch for part in view.result.parts)


@both_shapes
@pytest.mark.parametrize("kind", ["response.output_text.done", "response.content_part.done",
                                  "response.output_item.done", "response.completed"])  # fmt: skip
def test_another_text_where_it_is_repeated_is_reported_and_not_shown(shape: Any, kind: str) -> None:
    events, others = stream_of(message(SENTENCE)), stream_of(message("Another."))
    # Both have as many events as deltas.
    mixed = [other if event["type"] == kind else event for event, other in zip(events, others, strict=True)]
    view = responses_events(shape(mixed))
    assert joined(view) == parse(SENTENCE)
    (part,) = view.result.parts
    assert part.snapshot_mismatch
    assert part.raw == SENTENCE
    shorter = [other if event["type"] == kind else event
               for event, other in zip(events, stream_of(message(SENTENCE[:5])), strict=True)]  # fmt: skip
    view = responses_events(shape(shorter))
    assert joined(view) == parse(SENTENCE)
    assert view.result.parts[0].snapshot_mismatch


def test_item_ids_may_differ_from_event_to_event() -> None:
    items = [message(f"One.{MARKER}"), message(f"Two.{MARKER}")]
    events = json.loads(json.dumps(stream_of(*items)))
    for number, event in enumerate(events):
        if "item_id" in event:
            event["item_id"] = f"other_{number}"
        for item in [event.get("item"), *event.get("response", {}).get("output", [])]:
            if item:
                item["id"] = f"{item['id']}_{number}"
    view = responses_events(events)
    assert by_part(view.iter_parts()) == expected(items)
    assert not any(part.snapshot_mismatch for part in view.result.parts)


def test_ids_and_indexes_may_be_missing() -> None:
    items = [message(f"One.{MARKER}"), message(f"Two.{MARKER}")]
    events = json.loads(json.dumps(stream_of(*items, numbered=False)))
    for event in events:
        event.pop("item_id", None)
        for item in [event.get("item"), *event.get("response", {}).get("output", [])]:
            if item:
                item.pop("id")
    for shape in (list, typed):
        view = responses_events(shape(events))
        assert by_part(view.iter_parts()) == expected(items)
        assert not any(part.snapshot_mismatch for part in view.result.parts)
    single = json.loads(json.dumps(stream_of(items[0], numbered=False)))
    for event in single:
        event.pop("output_index", None)
        event.pop("content_index", None)
    assert joined(responses_events(single)) == parse(f"One.{MARKER}")


@both_shapes
def test_output_indexes_may_have_gaps(shape: Any) -> None:
    items = [message(f"One.{MARKER}", index=1), message(f"Two.{MARKER}", index=5)]
    view = responses_events(shape(stream_of(*items)))
    assert by_part(view.iter_parts()) == expected(items)
    assert not any(part.snapshot_mismatch for part in view.result.parts)
