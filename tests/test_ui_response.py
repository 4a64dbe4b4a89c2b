"""Answers as ASGI responses, in the process, on both backends: which frames, of which events, to which requests."""

import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any, get_args

import anyio
import pytest
from starlette.background import BackgroundTask
from starlette.responses import Response

from streamcite import Source, aiter_events, iter_events, parse
from streamcite.links import AnyEvent
from streamcite.openai import chat_events, stream_chat
from streamcite.resolve import resolve
from streamcite.ui.ai_sdk import AISDKEncoder
from streamcite.ui.asgi import FrameResponse
from streamcite.ui.frames import BROKE_OFF
from streamcite.ui.protocol import ProtocolName, new_encoder
from streamcite.ui.response import sse_response
from tests.asgi import Client
from tests.clients import new_async_client, new_client
from tests.markers import cite
from tests.processes import ENVIRONMENT
from tests.rendering import SOURCES
from tests.ui_answers import ASK, ENCODERS, TEXT, Upstream, encoded, every_protocol
from tests.upstreams import Llmock

# Which frames


@pytest.mark.anyio
@every_protocol
async def test_each_message_holds_the_frames_of_one_event_and_the_last_ends_the_body(protocol: ProtocolName) -> None:
    events = resolve(TEXT, SOURCES, complete=True)
    upstream, client, encoder = Upstream(*events), Client(), ENCODERS[protocol]()
    await client.call(sse_response(upstream, protocol=ENCODERS[protocol]))
    start, *bodies = client.received
    assert dict(start["headers"]) == {name.encode(): value.encode() for name, value in encoder.headers.items()}
    assert start["status"] == 200
    frames = [encoder.feed([]), *(encoder.feed([event]) for event in events), encoder.close()]
    assert [message["body"] for message in bodies] == [b"".join(each) for each in frames if each]
    assert [message["more_body"] for message in bodies] == [True] * (len(bodies) - 1) + [False]
    assert upstream.closed


@pytest.mark.anyio
@pytest.mark.parametrize("protocol", get_args(ProtocolName))
async def test_an_empty_text_is_no_frame_unless_it_is_to_the_encoder(protocol: ProtocolName) -> None:
    client, encoder, events = Client(), new_encoder(protocol), ["", "a", "", "b", ""]
    await client.call(sse_response(events, protocol=protocol))
    frames = [encoder.feed([]), *(encoder.feed([event]) for event in events), encoder.close()]
    assert len(client.bodies) == len([each for each in frames if each])


@pytest.mark.anyio
async def test_citations_are_resolved_on_the_way() -> None:
    client, unresolved = Client(), Client()
    await client.call(sse_response(Upstream(*parse(TEXT)), protocol="ai-sdk", sources=SOURCES))
    assert client.body == encoded(AISDKEncoder(), resolve(TEXT, SOURCES))
    await unresolved.call(sse_response(Upstream(*parse(TEXT)), protocol="ai-sdk"))
    assert unresolved.body == encoded(AISDKEncoder(), resolve(TEXT, {}))


@pytest.mark.anyio
async def test_a_source_may_come_while_the_answer_does() -> None:
    sources: dict[str, Source] = {}

    async def events() -> AsyncIterator[AnyEvent]:
        for event in parse(f"A{cite('t1')}"):
            yield event
        sources.update(SOURCES)
        yield " b"
        yield " c"

    client = Client()
    await client.call(sse_response(events(), sources=sources))
    names = [line[7:] for line in client.body.splitlines() if line.startswith(b"event: ")]
    told = [b"start", b"text", b"patch", b"cited", b"patch", b"resolved", b"text", b"patch", b"text"]
    assert names[: len(told)] == told


# From what


@pytest.mark.anyio
async def test_any_iterable_of_events_will_do() -> None:
    expected = encoded(AISDKEncoder(), resolve(TEXT, SOURCES))
    threads = []

    def generated() -> Iterator[AnyEvent]:
        threads.append(threading.current_thread())
        yield from parse(TEXT)

    async def deltas() -> AsyncIterator[str]:
        for character in TEXT:
            yield character

    given: list[Any] = [
        parse(TEXT),
        tuple(parse(TEXT)),
        generated(),
        aiter_events(deltas()),
        iter_events([TEXT]),
        iter_events([TEXT], sources=SOURCES),
    ]
    for events in given:
        client = Client()
        await client.call(sse_response(events, protocol="ai-sdk", sources=SOURCES))
        assert text_of(client.body) == text_of(expected)
    assert threads != [threading.current_thread()]


def text_of(body: bytes) -> bytes:
    """Leave out what depends on how the text was cut."""
    return b"".join(line.split(b'"delta":"')[1][:-2] for line in body.splitlines() if b'"text-delta"' in line)


@pytest.mark.anyio
async def test_a_view_says_whether_the_answer_is_complete(llmock: Llmock) -> None:
    async with new_async_client(llmock.base_url) as openai:
        whole, cut = llmock.answer(TEXT), llmock.answer(TEXT, fault="truncate", after_chunks=2)
        for model, reason in ((whole, b"stop"), (cut, b"other")):
            created = await openai.chat.completions.create(model=model, stream=True, **ASK)
            for events in (chat_events(created), stream_chat(openai, model=model, **ASK)):
                client = Client()
                await client.call(sse_response(events, protocol="ai-sdk", sources=SOURCES))
                assert client.body.count(b'"finishReason":"%b"' % reason) == 1


def test_a_synchronous_client_is_read_in_a_thread(llmock: Llmock) -> None:
    with new_client(llmock.base_url) as openai:
        client = Client()
        events = stream_chat(openai, model=llmock.answer(TEXT), sources=SOURCES, **ASK)
        anyio.run(client.call, sse_response(events, protocol="ai-sdk"))
    assert text_of(client.body) == b"A b c"
    assert b"source-url" in client.body


@pytest.mark.anyio
@pytest.mark.parametrize("complete", [True, False])
async def test_others_are_complete_unless_it_is_said(complete: bool) -> None:
    for said in (complete, lambda: complete, *([None] if complete else [])):
        client = Client()
        await client.call(sse_response(Upstream("A"), protocol="ai-sdk", complete=said))
        assert client.body == b"".join([*(encoder := AISDKEncoder()).feed(["A"]), *encoder.close(complete=complete)])


@pytest.mark.anyio
@every_protocol
@pytest.mark.parametrize("told", [None, "yes", 1, ZeroDivisionError()])
async def test_what_says_whether_an_answer_is_complete_must_say_that(protocol: ProtocolName, told: Any) -> None:
    """As an asynchronous function does not. The answer has an end nevertheless."""

    def tell() -> bool:
        if isinstance(told, Exception):
            raise told
        return told  # type: ignore[no-any-return]

    client, encoder = Client(), ENCODERS[protocol]()
    with pytest.raises((TypeError, ZeroDivisionError)):
        await client.call(sse_response(Upstream("A"), protocol=ENCODERS[protocol], complete=tell))
    assert client.body == b"".join([*encoder.feed([]), *encoder.feed(["A"]), *encoder.fail(BROKE_OFF)])


@pytest.mark.anyio
async def test_frames_that_do_not_say_which_is_the_last_are_followed_by_the_end() -> None:
    async def frames() -> AsyncIterator[bytes]:
        yield b"data: a\n\n"
        yield b"data: b\n\n"

    client = Client()
    await client.call(FrameResponse(frames(), headers={"a": "b"}, status_code=201, ping=None))
    assert client.received == [
        {"type": "http.response.start", "status": 201, "headers": [(b"a", b"b")]},
        *({"type": "http.response.body", "body": b"data: %b\n\n" % name, "more_body": True} for name in (b"a", b"b")),
        {"type": "http.response.body", "body": b"", "more_body": False},
    ]


# Requests


@pytest.mark.anyio
async def test_a_request_for_the_headers_reads_nothing() -> None:
    upstream, client = Upstream("A"), Client("HEAD")
    await client.call(sse_response(upstream, protocol="ai-sdk"))
    assert (client.body, client.ended, upstream.given, upstream.closed) == (b"", True, 0, True)


@pytest.mark.anyio
async def test_a_response_is_for_one_request() -> None:
    response = sse_response([])
    await Client().call(response)
    with pytest.raises(RuntimeError):
        await Client().call(response)
    client = Client()
    client.scope["type"] = "websocket"
    with pytest.raises(RuntimeError):
        await client.call(sse_response([]))


@pytest.mark.anyio
async def test_it_is_a_response_of_starlette() -> None:
    done: list[int] = []
    response = sse_response([], headers={"X-Answer": "1", "Cache-Control": "no-store"})
    assert isinstance(response, Response)
    response.set_cookie("a", "b")
    response.background = BackgroundTask(done.append, 1)
    client = Client()
    await client.call(response)
    headers = dict(client.received[0]["headers"])
    assert (headers[b"x-answer"], headers[b"cache-control"]) == (b"1", b"no-store")
    assert headers[b"set-cookie"].startswith(b"a=b")
    assert b"content-length" not in headers
    assert done == [1]


def test_no_framework_is_needed() -> None:
    program = """import sys; sys.modules["starlette"] = None
import anyio
from streamcite.ui.asgi import MESSAGES_PER_TURN
from streamcite.ui.response import sse_response
async def receive(): await anyio.sleep_forever()
async def send(message): print(message["type"], message.get("more_body"))
anyio.run(sse_response(["a"], protocol="ai-sdk"), {"type": "http", "method": "GET"}, receive, send)"""
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, env=ENVIRONMENT)
    assert (done.stderr, done.stdout.splitlines()) == (
        "",
        ["http.response.start None", *["http.response.body True"] * 2, "http.response.body False"],
    )
