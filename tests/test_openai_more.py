"""`more`, the short cut of the cores for chunks with nothing but a delta: it comes to what `steps` comes to."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionChunk

from streamcite import Event
from streamcite.openai.chat_core import ChatCore
from streamcite.openai.parts import Part
from streamcite.openai.responses_core import ResponsesCore
from tests import responses_streams as rs
from tests import strategies as sc
from tests.chats import CHUNK, JSON, KINDS, Shape, choice, chunk, given_as, streamed
from tests.markers import MARKER
from tests.odd_chats import conversations
from tests.responses_streams import Item, message, stream_of

Pairs = list[tuple[Part, Event]]


def by_steps(core: Any, each: Any) -> Pairs:
    return [(text.part, event) for _, changes in core.steps(each) for text, new, *_ in changes for event in new]


def by_more(core: Any, each: Any) -> Pairs | None:
    found = core.more(each)
    return None if found is None else [(found[0].part, event) for event in found[1]]


def state_of(core: Any) -> Any:
    return core.result, core.snapshot([], None)


def check(make: Any, stream: list[Any], snapshot: Any = None) -> int:
    """Read a stream in both ways, and give how many chunks took the short cut."""
    short, long, count = make({}, snapshot), make({}, snapshot), 0
    for each in stream:
        before = state_of(short)
        pairs = by_more(short, each)
        if pairs is None:
            assert state_of(short) == before
            pairs = by_steps(short, each)
        else:
            count += 1
        assert pairs == by_steps(long, each)
        assert state_of(short) == state_of(long)
    return count


@sc.examples(50)
@given(KINDS, conversations(), st.lists(CHUNK, max_size=3), st.data())
def test_chunks(kind: str, shapes: list[Shape], odd: list[Shape], data: st.DataObject) -> None:
    stream = given_as(kind, data.draw(st.permutations([*shapes, *odd, *streamed([MARKER[:9], MARKER[9:]])])))
    # What is not a chunk at all is misuse before the first one, and no concern of `more`.
    check(ChatCore, [*given_as(kind, [chunk(choice("So"))]), *stream])


@sc.examples(20)
@given(st.booleans(), st.lists(rs.items(), max_size=2), rs.orders(), st.sampled_from([*rs.ENDS, None]), st.data())
def test_events(typed: bool, items: list[Item], order: Any, end: str | None, data: st.DataObject) -> None:
    events = stream_of(*items, order=order, end=end)
    if data.draw(st.booleans()):
        events = [{**each, "sequence_number": at} for at, each in enumerate(data.draw(st.permutations(events)))]
    check(ResponsesCore, rs.typed(events) if typed else events)
    at = data.draw(st.integers(0, len(events)))
    core = ResponsesCore({})
    for each in events[:at]:
        core.steps(each)
    check(ResponsesCore, rs.typed(events[at:]) if typed else events[at:], core.snapshot([], None))


@sc.examples(100)
@given(st.sampled_from(["output_index", "content_index", "delta", "type"]), JSON)
def test_a_field_of_an_event_of_any_type(name: str, value: Any) -> None:
    begun = {"type": "response.output_text.delta", "output_index": 1, "content_index": 1, "delta": "So"}
    check(ResponsesCore, [begun, {**begun, name: value}, begun])


@pytest.mark.parametrize("kind", ["typed", "dict"])
def test_most_chunks_take_it(kind: str) -> None:
    deltas = [*"It lasts", *MARKER, *" so long."]
    # The first begins the text, and the last finishes the choice.
    assert check(ChatCore, given_as(kind, streamed(deltas))) == len(deltas) - 1
    events = stream_of(message(*deltas))
    assert check(ResponsesCore, rs.typed(events) if kind == "typed" else events) == len(deltas) - 1


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content", "refusal", "tool_calls"])
def test_what_stands_beside_the_content_is_not_passed_over(name: Any) -> None:
    beside: dict[str, Any] = {name: "b"}
    for kind in ("typed", "dict"):
        assert check(ChatCore, given_as(kind, [chunk(choice("a", **beside))] * 3)) == 2 * (
            (kind, name) == ("typed", "tool_calls")  # which is declared, and no text
        )


class Items(dict[str, Any]):
    """A dict of a class of its own, as some clients give."""


def test_dicts_of_another_class() -> None:
    def as_items(value: Any) -> Any:
        if isinstance(value, dict):
            return Items({name: as_items(item) for name, item in value.items()})
        return [as_items(item) for item in value] if isinstance(value, list) else value

    deltas = ["It", " lasts.", MARKER]
    assert check(ChatCore, [as_items(each) for each in streamed(deltas)]) == 0
    assert check(ResponsesCore, [as_items(each) for each in stream_of(message(*deltas))]) == 0


def test_a_chunk_without_a_number() -> None:
    shapes: list[Shape] = [{"choices": [{"delta": {"content": "a"}}]}] * 2
    assert check(ChatCore, shapes) == 0
    assert check(ChatCore, [ChatCompletionChunk.construct(None, **each) for each in shapes]) == 0
