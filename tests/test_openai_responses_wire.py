"""Responses in both views, and the real client over a real socket: `.stream()`, resuming, and what breaks off."""

import json
import random
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai import APIError, AsyncOpenAI, OpenAI

from streamcite import Event, clean, parse
from streamcite.openai import clean_response, clean_responses, responses_events
from streamcite.sse import encode
from streamcite.testing import RecordedAnswer, Server, recorded_answers, serve
from tests import responses_streams as rs
from tests import strategies as sc
from tests.clients import new_async_client, new_client
from tests.http_peer import Peer
from tests.markers import MARKER
from tests.raw_streams import body
from tests.reading import joined, source_text
from tests.responses_streams import SOURCES, TWO, UNCLOSED, Item, cited, message, plain, stream_of

ANSWERS = recorded_answers()
REASONED = RecordedAnswer(
    id="reasoned",
    text=f"\U0001f680 lasts.{TWO} So on.{MARKER}",
    reasoning=f"They ask.{MARKER} Look.",
    sources=SOURCES,
)
ASK = "How long does it last?"

every_answer = pytest.mark.parametrize("answer", [*ANSWERS.values(), REASONED], ids=lambda answer: answer.id)


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with serve([*ANSWERS.values(), REASONED]) as running:
        yield running


@every_answer
def test_a_stream_gives_what_the_parser_reads(client: OpenAI, answer: RecordedAnswer) -> None:
    stream = client.responses.create(model=answer.id, input=ASK, stream=True)
    with responses_events(stream) as view:
        assert joined(view) == parse(answer.text, complete=True)
    assert stream.response.is_closed
    assert view.result.text == clean(answer.text, complete=True)
    assert [part.raw for part in view.result.parts] == [text for text in (answer.reasoning, answer.text) if text]
    assert view.result.complete
    assert view.result.usage.output_tokens > 0


@every_answer
@pytest.mark.anyio
async def test_an_async_stream_gives_the_same(async_client: AsyncOpenAI, answer: RecordedAnswer) -> None:
    stream = await async_client.responses.create(model=answer.id, input=ASK, stream=True)
    async with responses_events(stream) as view:
        assert joined([event async for event in view]) == parse(answer.text, complete=True)
    assert stream.response.is_closed
    assert view.result.complete


@every_answer
def test_the_clients_own_helper_gives_the_same(client: OpenAI, answer: RecordedAnswer) -> None:
    with client.responses.stream(model=answer.id, input=ASK) as helper, responses_events(helper) as view:
        assert joined(view) == parse(answer.text, complete=True)
    assert view.result.text == clean(answer.text, complete=True)


@pytest.mark.anyio
async def test_the_async_clients_own_helper_too(async_client: AsyncOpenAI) -> None:
    async with async_client.responses.stream(model="technical", input=ASK) as helper, responses_events(helper) as view:
        assert joined([event async for event in view]) == parse(ANSWERS["technical"].text, complete=True)
    assert view.result.text == clean(ANSWERS["technical"].text, complete=True)


@pytest.mark.parametrize("kept", range(17, 32))
def test_an_answer_that_the_limit_cuts_is_not_complete(client: OpenAI, kept: int) -> None:
    # The deltas from the 18th to the 28th are the first marker.
    answer = ANSWERS["english"]
    stream = client.responses.create(model=answer.id, input=ASK, stream=True, max_output_tokens=kept)
    with responses_events(stream) as view:
        assert joined(view) == parse("".join(answer.deltas[:kept]))
    assert [part.finish_reason for part in view.result.parts] == ["max_output_tokens"]


# Objects


@every_answer
def test_recorded_answers_are_clean_and_cited(client: OpenAI, answer: RecordedAnswer) -> None:
    events = parse(answer.text, complete=True)
    annotations = cited(events, answer.sources, "codepoint")
    stream = client.responses.create(model=answer.id, input=ASK, stream=True)
    cleaned = list(clean_responses(stream, sources=answer.sources))
    numbers = [event.sequence_number for event in cleaned]
    assert numbers == sorted({*numbers})
    assert "".join(e.delta for e in cleaned if e.type == "response.output_text.delta") == clean(answer.text)
    assert [plain(e)["annotation"] for e in cleaned if "annotation" in e.type] == annotations
    last: Any = cleaned[-1]
    assert last.response.output_text == clean(answer.text)
    assert [each.to_dict() for each in last.response.output[-1].content[0].annotations] == annotations
    whole = client.responses.retrieve(last.response.id)
    assert plain(clean_response(whole, sources=answer.sources)) == plain(last.response)
    assert whole.output_text == answer.text


@every_answer
def test_the_clients_own_helper_is_clean_throughout(client: OpenAI, answer: RecordedAnswer) -> None:
    shown = clean(answer.text, complete=True)
    with client.responses.stream(model=answer.id, input=ASK) as helper:
        stream = clean_responses(helper, sources=answer.sources)
        assert stream is helper
        deltas = [event for event in stream if event.type == "response.output_text.delta"]
        final = stream.get_final_response()
    assert "".join(event.delta for event in deltas) == shown
    for number, event in enumerate(deltas):
        assert event.snapshot == "".join(each.delta for each in deltas[: number + 1])
    assert final.output_text == shown
    annotations = plain(final)["output"][-1]["content"][0]["annotations"]
    assert annotations == cited(parse(answer.text, complete=True), answer.sources, "codepoint")
    assert len(annotations) > 1


@pytest.mark.anyio
async def test_the_async_clients_own_helper_is_clean_throughout(client: OpenAI, async_client: AsyncOpenAI) -> None:
    sources = ANSWERS["technical"].sources
    with client.responses.stream(model="technical", input=ASK) as helper:
        stream = clean_responses(helper, sources=sources)
        deltas = [event for event in stream if event.type == "response.output_text.delta"]
        final = stream.get_final_response()
    async with async_client.responses.stream(model="technical", input=ASK) as async_helper:
        async_stream = clean_responses(async_helper, sources=sources)
        async_deltas = [event async for event in async_stream if event.type == "response.output_text.delta"]
        async_final = await async_stream.get_final_response()
    assert [(event.delta, event.snapshot) for event in async_deltas] == [(e.delta, e.snapshot) for e in deltas]
    assert plain(async_final)["output"][-1]["content"] == plain(final)["output"][-1]["content"]


# Going on from a snapshot


def again(snapshot: Any) -> Any:
    return json.loads(json.dumps(snapshot))


def behind(events: Iterable[Any], snapshot: Any) -> list[Any]:
    number = snapshot["sequence_number"]
    return [event for event in events if number is None or event["sequence_number"] > number]


@sc.examples(40)
@given(
    st.lists(rs.items(), min_size=1, max_size=3), rs.orders(), st.sampled_from([*rs.ENDS, None]), st.sampled_from("pi")
)
def test_a_snapshot_at_any_event_loses_and_doubles_nothing(
    items: list[Item], order: Any, end: str | None, way: str
) -> None:
    check_snapshots(stream_of(*items, order=order, end=end), by_parts=way == "p")


def check_snapshots(events: list[Any], *, by_parts: bool) -> None:
    def steps(view: Any) -> Iterator[Any]:
        return view.iter_parts() if by_parts else iter(view)

    whole = list(steps(responses_events(events)))
    result = responses_events(events)
    list(result)
    for count in range(len(whole) + 1):
        first = responses_events(iter(events))
        iterator = steps(first)
        taken = [next(iterator) for _ in range(count)]
        snapshot = again(first.snapshot())
        second = responses_events(behind(events, snapshot), snapshot=snapshot)
        assert taken + list(steps(second)) == whole
        assert second.result.complete == result.result.complete
    # And once more after each event that was read, whether it gave anything or not.
    for count in range(len(events) + 1):
        first = responses_events(iter(events[:count]))
        first_events: list[Any] = []
        read = iter_until_read(events[:count], first_events, by_parts=by_parts)
        snapshot = again(read.snapshot())
        second = responses_events(behind(events, snapshot), snapshot=snapshot)
        assert first_events + list(steps(second)) == whole
        assert not any(part.snapshot_mismatch for part in second.result.parts)


class Stopped(BaseException):
    """What ends the reading without the end of the stream."""


def iter_until_read(events: list[Any], taken: list[Any], *, by_parts: bool) -> Any:
    """Read all events, but not the end after them."""

    def chunks() -> Iterator[Any]:
        yield from events
        raise Stopped

    view = responses_events(chunks())
    try:
        taken.extend(view.iter_parts() if by_parts else view)
    except Stopped:
        return view
    raise AssertionError


@pytest.mark.parametrize("by_parts", [True, False])
def test_where_one_event_ends_a_text_and_lets_in_another_both_keep_their_turn(by_parts: bool) -> None:
    # The text comes whole, and only where it ends, when the other has been waiting.
    ended = stream_of(message(f"One.{MARKER}{MARKER}", index=0))[1:-1]
    waiting = stream_of(message(f"{MARKER}Two.{MARKER}", index=1))[1:-1]
    events = [*stream_of(message("One.", index=0))[1:4], *waiting, *ended[3:]]
    events = [{**event, "sequence_number": number} for number, event in enumerate(events)]
    check_snapshots(events, by_parts=by_parts)
    whole = source_text(responses_events(events))
    assert whole == f"One.{MARKER}{MARKER}{MARKER}Two.{MARKER}"
    view, taken = responses_events(events), ""
    for event in view:
        taken += source_text([event])
        assert whole.startswith(taken + view.held)


@pytest.mark.parametrize("by_parts", [True, False])
def test_a_snapshot_while_the_end_of_a_text_is_undecided(by_parts: bool) -> None:
    for status in ("completed", "incomplete"):
        for end in (*rs.ENDS, None):
            check_snapshots(stream_of(message(f"It lasts.{UNCLOSED}", status=status), end=end), by_parts=by_parts)
            items = [message("a", UNCLOSED, status=status), message(MARKER, "b"), message(UNCLOSED)]
            check_snapshots(stream_of(*items, end=end), by_parts=by_parts)


def test_a_snapshot_between_the_halves_of_a_character() -> None:
    check_snapshots(stream_of(message("a\ud83d", "\ude00b", "c\ud83d", MARKER)), by_parts=False)


def test_a_snapshot_keeps_what_the_events_said_before() -> None:
    items = [message(f"Hm.{MARKER}", phase="commentary"), message(f"Yes.{MARKER}", "So.", index=4)]
    check_snapshots(stream_of(*items), by_parts=True)
    check_snapshots(stream_of(*items), by_parts=False)


@pytest.mark.parametrize("answer", ["english", "technical", "reasoned"])
def test_a_retrieved_stream_goes_on_where_the_first_stopped(client: OpenAI, answer: str) -> None:
    created = client.responses.create(model=answer, input=ASK)
    whole = list(responses_events(client.responses.retrieve(created.id, stream=True)))
    for count in range(0, len(whole), 1 if answer == "reasoned" else len(whole) // 6):
        with responses_events(client.responses.retrieve(created.id, stream=True)) as first:
            taken = [next(first) for _ in range(count)]
            snapshot = again(first.snapshot())
        assert snapshot["sequence_number"] is None or count
        after = {} if snapshot["sequence_number"] is None else {"starting_after": snapshot["sequence_number"]}
        with responses_events(client.responses.retrieve(created.id, stream=True, **after), snapshot=snapshot) as rest:
            assert taken + list(rest) == whole
        assert rest.result.complete


@pytest.mark.anyio
async def test_a_retrieved_async_stream_goes_on_too(async_client: AsyncOpenAI) -> None:
    stream = await async_client.responses.create(model="english", input=ASK, stream=True)
    async with responses_events(stream) as first:
        taken: list[Event] = [await anext(first) for _ in range(40)]
        snapshot = again(first.snapshot())
    id = json.loads(json.dumps(snapshot))["sequence_number"]
    created = await async_client.responses.create(model="english", input=ASK)
    rest = await async_client.responses.retrieve(created.id, stream=True, starting_after=id)
    async with responses_events(rest, snapshot=snapshot) as events:
        taken += [event async for event in events]
    assert joined(taken) == parse(ANSWERS["english"].text, complete=True)


JSON: st.SearchStrategy[Any] = (
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.just([]) | st.just({}) | st.just([[1, 2]])
)


@sc.examples(150)
@given(st.data())
def test_a_bad_snapshot_is_a_value_error(data: st.DataObject) -> None:
    taken: list[Any] = []
    events = stream_of(message("a\ud83d"), message("b", f"c{MARKER}", index=3), end=None, order=random.Random(1))
    snapshot = again(iter_until_read(events, taken, by_parts=False).snapshot())
    assert snapshot["texts"]
    place: Any = snapshot
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(place[key], dict | list) or not place[key] or data.draw(st.booleans()):
            break
        place = place[key]
    if isinstance(place, dict) and data.draw(st.booleans()):
        del place[key]
    else:
        place[key] = data.draw(JSON)
    try:
        responses_events([], snapshot=snapshot)
    except ValueError as error:
        assert str(error).startswith("snapshot: must be what snapshot() gave, not ")  # noqa: PT017


@pytest.mark.parametrize("snapshot", [{}, {"version": 2}, {"version": 1}, [], 5, "x", {"version": 1, "texts": [{}]}])
def test_what_is_not_a_snapshot_is_a_value_error(snapshot: Any) -> None:
    with pytest.raises(ValueError, match=r"^snapshot: must be what snapshot\(\) gave"):
        responses_events([], snapshot=snapshot)


# Errors


@pytest.fixture
def breaking(peer: Peer) -> Peer:
    """Give half an answer, after which comes what the model's name says, or the connection is cut."""
    begun = body(stream_of(message("It lasts.", UNCLOSED))[:5], done=False)
    last = {"error": '{"error": {"message": "overloaded"}}', "no JSON": '{"type', "end": "[DONE]"}
    peer.gives_by_model({"cut": (begun, True)} | {name: (begun + encode(text), False) for name, text in last.items()})
    return peer


@pytest.mark.parametrize("model", ["error", "no JSON", "cut"])
def test_what_was_held_is_settled_before_the_clients_own_error(breaking: Peer, model: str) -> None:
    with new_client(breaking.base_url) as client:
        # The class depends on the client's version; an older one leaves its response open on an error.
        unwrapped = client.responses.create(model=model, input=ASK, stream=True)
        with unwrapped, pytest.raises(Exception, match=r".") as raised:
            list(unwrapped)
        stream = client.responses.create(model=model, input=ASK, stream=True)
        view = responses_events(stream)
        assert [next(view), next(view)] == parse(f"It lasts.{UNCLOSED}")
        with pytest.raises(raised.type) as caught:
            next(view)
        assert str(caught.value) == str(raised.value)
        assert stream.response.is_closed
    assert isinstance(caught.value, APIError) == (model == "error") or model == "cut"
    assert not view.result.complete
    assert view.held == ""


@pytest.mark.anyio
@pytest.mark.parametrize("model", ["error", "no JSON", "cut", "end"])
async def test_an_async_stream_settles_too(breaking: Peer, model: str, anyio_backend: str) -> None:
    async with new_async_client(breaking.base_url) as client:
        stream = await client.responses.create(model=model, input=ASK, stream=True)
        view = responses_events(stream)
        assert [await anext(view), await anext(view)] == parse(f"It lasts.{UNCLOSED}")
        with pytest.raises(StopAsyncIteration if model == "end" else Exception, check=lambda _: True):
            await anext(view)
        assert stream.response.is_closed
    assert not view.result.complete
