"""`streamcite.testing`: the server speaks the Responses API as OpenAI does."""

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from openai import AsyncOpenAI, NotFoundError, OpenAI
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from streamcite.testing import RecordedAnswer, Server, app, serve, token_deltas
from tests.clients import new_async_client, new_client
from tests.recorded import ANSWERS, every_answer
from tests.responses_server import EMPTY, QUESTION, post, send

REASONED = RecordedAnswer(id="reasoned", text="Yes, you may.", reasoning="They ask about the stay.")
TORN = RecordedAnswer(id="torn", text="\ud83d\ude00", deltas=("\ud83d", "\ude00"))
SERVED = {**ANSWERS, **{answer.id: answer for answer in (REASONED, TORN, EMPTY)}}

# The client's own types, which it fills without looking; here every field that it promises must be there.
EVENT: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with serve(SERVED.values()) as running:
        yield running


def get(running: Server, path: str) -> bytes:
    response, body = send(running, "GET", path)
    assert response.status == 200
    return body


def frames(body: bytes) -> list[bytes]:
    *frames, rest = body.split(b"\n\n")
    assert rest == b""
    return frames


def read(body: bytes) -> list[Any]:
    """The objects of a stream, each in a frame that bears its type."""
    events = []
    for frame in frames(body):
        event, data = frame.decode().split("\n")
        events.append(json.loads(data.removeprefix("data: ")))
        assert event == f"event: {events[-1]['type']}"
    return events


def deltas(events: list[Any]) -> tuple[str, ...]:
    return tuple(event.delta for event in events if event.type == "response.output_text.delta")


# A stream


@every_answer
def test_a_stream_gives_the_deltas(client: OpenAI, answer: RecordedAnswer) -> None:
    events = list(client.responses.create(model=answer.id, input=QUESTION, stream=True))
    assert deltas(events) == answer.deltas
    assert [event.sequence_number for event in events] == list(range(len(events)))


@pytest.mark.anyio
@every_answer
async def test_an_async_stream_gives_the_same(async_client: AsyncOpenAI, answer: RecordedAnswer) -> None:
    stream = await async_client.responses.create(model=answer.id, input=QUESTION, stream=True)
    events = [event async for event in stream]
    assert deltas(events) == answer.deltas
    assert events[-1].type == "response.completed"


@every_answer
def test_the_text_stands_in_the_four_final_places(running: Server, answer: RecordedAnswer) -> None:
    text, part, item, last = read(post(running, answer.id, stream=True))[-4:]
    assert text["text"] == answer.text
    assert part["part"] == {"type": "output_text", "annotations": [], "logprobs": [], "text": answer.text}
    assert item["item"]["content"] == [part["part"]]
    assert item["item"]["status"] == "completed"
    assert last["response"]["output"] == [item["item"]]


def test_the_order_of_the_events(running: Server) -> None:
    events = read(post(running, "english", stream=True))
    types = [event["type"] for event in events]
    count = len(ANSWERS["english"].deltas)
    assert types == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        *["response.output_text.delta"] * count,
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert [event["sequence_number"] for event in events] == list(range(count + 8))
    assert {event["response"]["id"] for event in events if "response" in event} == {events[0]["response"]["id"]}
    assert [event["response"]["status"] for event in events[:2]] == ["in_progress"] * 2
    item = events[2]["item"]
    assert item == {**item, "type": "message", "status": "in_progress", "role": "assistant", "content": []}
    assert events[3]["part"] == {"type": "output_text", "annotations": [], "logprobs": [], "text": ""}
    for event in [events[3], *events[4:-2]]:
        assert (event["item_id"], event["output_index"], event["content_index"]) == (item["id"], 0, 0)
    assert all(event["logprobs"] == [] for event in events[4:-3])


def test_the_wire(running: Server) -> None:
    body = json.dumps({"model": "english", "input": QUESTION, "stream": True}).encode()
    response, received = send(running, "POST", "", body)
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert response.headers["cache-control"] == "no-cache"
    assert b"[DONE]" not in received
    assert "\ue200".encode() in received  # as UTF-8


@pytest.mark.parametrize("fields", [{}, {"max_output_tokens": 1}, {"instructions": "Be brief."}], ids=str)
@pytest.mark.parametrize("model", SERVED)
def test_every_object_is_as_the_client_declares_it(running: Server, model: str, fields: dict[str, Any]) -> None:
    for event in read(post(running, model, stream=True, stream_options={"include_obfuscation": True}, **fields)):
        assert EVENT.validate_python(event).type == event["type"]
    Response.model_validate(json.loads(post(running, model, **fields)))


@pytest.mark.parametrize("model", [*ANSWERS, "reasoned", "empty"])
def test_the_helper_of_the_client_gathers_the_same(client: OpenAI, model: str) -> None:
    with client.responses.stream(model=model, input=QUESTION) as stream:
        final = stream.get_final_response()
    assert (final.status, final.output_text) == ("completed", SERVED[model].text)


@pytest.mark.anyio
async def test_the_async_helper_gathers_the_same(async_client: AsyncOpenAI) -> None:
    answer = ANSWERS["technical"]
    async with async_client.responses.stream(model=answer.id, input=QUESTION) as stream:
        events = [event async for event in stream]
        final = await stream.get_final_response()
    assert deltas(events) == answer.deltas
    assert final.output_text == answer.text


def test_reasoning_comes_first_and_is_not_the_answer(client: OpenAI) -> None:
    events = list(client.responses.create(model="reasoned", input=QUESTION, stream=True))
    types = [event.type for event in events]
    start, end = types.index("response.output_item.added"), types.index("response.output_item.done")
    thought = token_deltas(REASONED.reasoning)
    assert types[start : end + 1] == [
        "response.output_item.added",
        "response.reasoning_summary_part.added",
        *["response.reasoning_summary_text.delta"] * len(thought),
        "response.reasoning_summary_text.done",
        "response.reasoning_summary_part.done",
        "response.output_item.done",
    ]
    heard = [event.delta for event in events if event.type == "response.reasoning_summary_text.delta"]
    assert heard == thought
    assert deltas(events) == REASONED.deltas
    assert {event.output_index for event in events if event.type == "response.output_text.delta"} == {1}
    last = events[-1]
    assert last.type == "response.completed"
    reasoning, message = last.response.output
    assert reasoning.type == "reasoning"
    assert [part.text for part in reasoning.summary] == [REASONED.reasoning]
    assert message.type == "message"
    assert last.response.output_text == REASONED.text
    assert last.response.usage is not None
    assert last.response.usage.output_tokens == len(thought) + len(REASONED.deltas)
    assert last.response.usage.output_tokens_details.reasoning_tokens == len(thought)


def test_padding_comes_when_asked_for(running: Server) -> None:
    plain = read(post(running, "reasoned", stream=True, stream_options={"include_obfuscation": False}))
    assert [event for event in plain if "obfuscation" in event] == []
    padded = read(post(running, "reasoned", stream=True, stream_options={"include_obfuscation": True}))
    assert [event["type"] for event in padded if "obfuscation" in event] == [
        event["type"] for event in plain if "delta" in event
    ]
    sizes = {len(event["delta"] + event["obfuscation"]) for event in padded if "delta" in event}
    assert sizes == {16}


def test_a_surrogate_cut_off_by_a_delta_goes_out_as_an_escape(running: Server) -> None:
    body = post(running, "torn", stream=True)
    assert rb'"delta":"\ud83d"' in body
    events = read(body)
    assert [event["delta"] for event in events if "delta" in event] == ["\ud83d", "\ude00"]
    assert events[-4]["text"] == "\U0001f600"  # the two escapes stand side by side, and JSON makes them one


# Without a stream


@every_answer
def test_without_stream_the_same_answer_comes_whole(client: OpenAI, answer: RecordedAnswer) -> None:
    response = client.responses.create(model=answer.id, input=QUESTION, instructions="Be brief.")
    assert (response.status, response.output_text) == ("completed", answer.text)
    assert (response.model, response.instructions) == (answer.id, "Be brief.")
    assert response.usage is not None
    assert response.usage.input_tokens == len(token_deltas("Be brief.")) + len(token_deltas(QUESTION))
    assert response.usage.output_tokens == len(answer.deltas)
    assert response.usage.total_tokens == response.usage.input_tokens + len(answer.deltas)


@pytest.mark.anyio
@every_answer
async def test_without_stream_the_async_client_gets_it_too(async_client: AsyncOpenAI, answer: RecordedAnswer) -> None:
    response = await async_client.responses.create(model=answer.id, input=QUESTION)
    assert response.output_text == answer.text


@every_answer
def test_the_last_event_holds_what_comes_without_a_stream(running: Server, answer: RecordedAnswer) -> None:
    streamed = read(post(running, answer.id, stream=True))[-1]["response"]
    assert streamed == json.loads(get(running, f"/{streamed['id']}"))
    whole = json.loads(post(running, answer.id))
    assert whole.keys() == streamed.keys()
    assert [part["text"] for item in whole["output"] for part in item["content"]] == [answer.text]


def test_the_input_may_stand_in_items(client: OpenAI) -> None:
    items: list[Any] = [
        {"role": "developer", "content": "Be brief."},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello"}]},
        {"role": "user", "content": [{"type": "input_image", "image_url": "data:,"}]},
        {"type": "function_call_output", "call_id": "call_1", "output": "{}"},
    ]
    response = client.responses.create(model="english", input=items)
    assert response.usage is not None
    assert response.usage.input_tokens == len(token_deltas("Be brief.\nHello\n\n"))


def test_what_is_not_heeded_is_let_pass(client: OpenAI) -> None:
    response = client.responses.create(
        model="english", input=QUESTION, background=True, temperature=0, previous_response_id="resp_0", top_p=0.5
    )
    assert response.output_text == ANSWERS["english"].text


@pytest.mark.parametrize("limit", [1, 18])
def test_a_limit_cuts_the_answer(client: OpenAI, limit: int) -> None:
    # The 18th delta is the start of the first marker.
    cut = "".join(ANSWERS["english"].deltas[:limit])
    *_, text, part, item, last = client.responses.create(
        model="english", input=QUESTION, stream=True, max_output_tokens=limit
    )
    assert text.type == "response.output_text.done"
    assert text.text == cut
    assert part.type == "response.content_part.done"
    assert part.part.type == "output_text"
    assert part.part.text == cut
    assert item.type == "response.output_item.done"
    assert item.item.type == "message"
    assert item.item.status == "incomplete"
    assert last.type == "response.incomplete"
    whole = client.responses.create(model="english", input=QUESTION, max_output_tokens=limit)
    for response in (last.response, whole):
        assert (response.status, response.output_text) == ("incomplete", cut)
        assert (response.max_output_tokens, response.usage and response.usage.output_tokens) == (limit, limit)
        assert response.incomplete_details is not None
        assert response.incomplete_details.reason == "max_output_tokens"


def test_a_limit_that_is_not_reached_cuts_nothing(client: OpenAI) -> None:
    limit = len(ANSWERS["english"].deltas)
    response = client.responses.create(model="english", input=QUESTION, max_output_tokens=limit)
    assert (response.status, response.incomplete_details) == ("completed", None)


# What is kept


@pytest.mark.parametrize("fields", [{}, {"max_output_tokens": 5}, {"stream_options": {"include_obfuscation": True}}])
@pytest.mark.parametrize("model", ["english", "reasoned", "empty"])
def test_a_stream_can_be_had_again_from_anywhere(running: Server, model: str, fields: dict[str, Any]) -> None:
    first = post(running, model, stream=True, **fields)
    id = read(first)[0]["response"]["id"]
    assert get(running, f"/{id}?stream=true") == first
    count = len(frames(first))
    for last_seen in (0, 1, 2, count // 2, count - 2):
        again = get(running, f"/{id}?stream=true&starting_after={last_seen}")
        assert frames(again) == frames(first)[last_seen + 1 :]
    for last_seen in (count - 1, count, 10**18 - 1):
        assert get(running, f"/{id}?stream=true&starting_after={last_seen}") == b""
    assert json.loads(get(running, f"/{id}?stream=false")) == read(first)[-1]["response"]


@every_answer
def test_the_client_can_resume(client: OpenAI, answer: RecordedAnswer) -> None:
    events = list(client.responses.create(model=answer.id, input=QUESTION, stream=True))
    created = events[0]
    assert created.type == "response.created"
    for last_seen in (3, len(events) - 2):
        again = client.responses.retrieve(created.response.id, stream=True, starting_after=last_seen)
        assert list(again) == events[last_seen + 1 :]
    assert client.responses.retrieve(created.response.id).output_text == answer.text
    with client.responses.stream(response_id=created.response.id, starting_after=20) as stream:
        assert [event.sequence_number for event in stream] == list(range(21, len(events)))
        assert stream.get_final_response().output_text == answer.text


@pytest.mark.anyio
async def test_the_async_client_can_resume(async_client: AsyncOpenAI) -> None:
    created = await async_client.responses.create(model="japanese", input=QUESTION)
    events = [event async for event in await async_client.responses.retrieve(created.id, stream=True)]
    again = await async_client.responses.retrieve(created.id, stream=True, starting_after=9)
    assert [event async for event in again] == events[10:]
    assert (await async_client.responses.retrieve(created.id)).output_text == created.output_text


def test_an_unknown_response(client: OpenAI) -> None:
    unstored = client.responses.create(model="english", input=QUESTION, store=False).id
    for id in ("resp_0", unstored):
        with pytest.raises(NotFoundError, match=f"Response with id '{id}' not found") as caught:
            client.responses.retrieve(id)
        with pytest.raises(NotFoundError):
            client.responses.retrieve(id, stream=True)
        assert (caught.value.code, caught.value.param, caught.value.type) == (None, None, "invalid_request_error")


def test_only_the_newest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "_MAX_KEPT", 2)
    with serve([EMPTY]) as running:
        ids = [json.loads(post(running, "empty"))["id"] for _ in range(4)]
        assert [send(running, "GET", f"/{id}")[0].status for id in ids] == [404, 404, 200, 200]


def test_a_client_that_leaves_can_come_back(caplog: pytest.LogCaptureFixture) -> None:
    answer = ANSWERS["technical"]
    with serve([answer]) as running, new_client(running.base_url) as client:
        heard, seen, id = "", -1, ""
        with client.responses.create(model=answer.id, input=QUESTION, stream=True) as stream:
            for event in stream:
                seen = event.sequence_number
                if event.type == "response.created":
                    id = event.response.id
                elif event.type == "response.output_text.delta":
                    heard += event.delta
                if seen == 30:
                    break
        rest = list(client.responses.retrieve(id, stream=True, starting_after=seen))
    assert rest[0].sequence_number == 31
    assert heard + "".join(deltas(rest)) == answer.text
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


@pytest.mark.anyio
async def test_an_async_client_may_leave_a_stream_that_stands_still(anyio_backend: str) -> None:
    with serve("Never said.", pace=3600) as running:
        async with new_async_client(running.base_url) as client:
            stream = await client.responses.create(model="answer", input=QUESTION, stream=True)
            created = await anext(stream)
            await stream.close()
            assert created.type == "response.created"
            # What has left does not hold up the others; and the answer is there.
            assert (await client.responses.retrieve(created.response.id)).output_text == "Never said."
