"""Answers as ASGI responses: in the process on both backends, and behind a real server on the loopback."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any, get_args

import anyio
import pytest
from openai import APIStatusError
from starlette.background import BackgroundTask
from starlette.responses import Response

from streamcite import Source, aiter_events, iter_events, parse
from streamcite.links import AnyEvent
from streamcite.openai import chat_events, stream_chat
from streamcite.resolve import resolve
from streamcite.ui.ai_sdk import AISDKEncoder
from streamcite.ui.asgi import MESSAGES_PER_TURN, PING, FrameResponse
from streamcite.ui.frames import BROKE_OFF
from streamcite.ui.native import NativeEncoder
from streamcite.ui.openai_chat import OpenAIChatEncoder
from streamcite.ui.protocol import Encoder, ProtocolName, new_encoder
from streamcite.ui.response import sse_response
from tests.asgi import Client, Message
from tests.clients import new_async_client, new_client
from tests.http_peer import Peer
from tests.markers import cite
from tests.processes import ENVIRONMENT, PATIENCE
from tests.rendering import SOURCES
from tests.stores import a_cancellation
from tests.upstreams import Llmock

TEXT = f"A{cite('t1')} b{cite('x')} c"
FIRST = b'id: 0\ndata: {"type":"start"}\n\n'


def encoded(encoder: Encoder, events: Sequence[Any]) -> bytes:
    return b"".join([*encoder.feed(events), *encoder.close()])


class Upstream:
    """Events that come one by one: the next when it is asked for and was let go."""

    def __init__(self, *events: AnyEvent, error: BaseException | None = None, stops: bool = False) -> None:
        self._events = events
        self._error = error
        self._stops = stops
        self.given = 0
        self.cancelled = self.closed = False

    def __aiter__(self) -> AsyncIterator[AnyEvent]:
        return self._run()

    async def _run(self) -> AsyncIterator[AnyEvent]:
        try:
            for event in self._events:
                self.given += 1
                yield event
            if self._error:
                raise self._error
            if self._stops:
                await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            self.cancelled = True
            raise

    async def aclose(self) -> None:
        await anyio.lowlevel.checkpoint()
        self.closed = True


# Which frames

every_protocol = pytest.mark.parametrize("protocol", ["native", "ai-sdk", "openai-chat"])
ENCODERS: dict[ProtocolName, Callable[[], Encoder]] = {
    "native": NativeEncoder,
    "ai-sdk": AISDKEncoder,
    "openai-chat": lambda: OpenAIChatEncoder(completion_id="c", created=1),
}


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


ASK: Any = {"messages": [{"role": "user", "content": "?"}]}


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


# Errors


@pytest.mark.anyio
async def test_an_error_is_reported_in_the_protocols_way_and_raised_after_the_end() -> None:
    for on_error, message in ((None, "The answer broke off."), (lambda error: f"So: {error}", "So: It failed.")):
        upstream, client = Upstream("A", error=ValueError("It failed.")), Client()
        with pytest.raises(ValueError, match="It failed"):
            await client.call(sse_response(upstream, protocol="ai-sdk", on_error=on_error))
        encoder = AISDKEncoder()
        assert client.body == b"".join([*encoder.feed(["A"]), *encoder.fail(message)])
        assert client.ended
        assert upstream.closed


@pytest.mark.anyio
@every_protocol
async def test_a_source_that_was_cancelled_by_itself_is_an_error(protocol: ProtocolName) -> None:
    """As one is that waits for a task which somebody else has cancelled. Nobody has cancelled the response."""
    for texts in ([], ["A"]):
        encoder, client = ENCODERS[protocol](), Client()
        upstream = Upstream(*texts, error=await a_cancellation())
        with pytest.raises(RuntimeError, match="was cancelled, but nobody") as raised:
            await client.call(sse_response(upstream, protocol=ENCODERS[protocol]))
        assert isinstance(raised.value.__cause__, anyio.get_cancelled_exc_class())
        assert client.body == b"".join([*encoder.feed([]), *encoder.feed(texts), *encoder.fail(BROKE_OFF)])
        assert client.ended
        assert upstream.closed


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_task_that_was_cancelled_is_an_error_of_who_waits_for_it(anyio_backend: str) -> None:
    async def events() -> AsyncIterator[AnyEvent]:
        yield "A"
        task = asyncio.create_task(asyncio.sleep(PATIENCE))
        task.cancel()
        await task

    client = Client()
    with pytest.raises(RuntimeError, match="was cancelled, but nobody"):
        await client.call(sse_response(events(), protocol="ai-sdk"))
    encoder = AISDKEncoder()
    assert client.body == b"".join([*encoder.feed(["A"]), *encoder.fail(BROKE_OFF)])
    # And who cancels the task of the response has cancelled the response.
    upstream, client = Upstream("A", stops=True), Client()
    calling = asyncio.create_task(client.call(sse_response(upstream, protocol="ai-sdk")))
    await client.until(lambda client: b'"A"' in client.body)
    calling.cancel()
    await asyncio.wait([calling])  # not every anyio passes a cancellation on
    assert upstream.closed
    assert not client.ended


@pytest.mark.anyio
@every_protocol
async def test_what_reports_an_error_may_fail_itself(protocol: ProtocolName) -> None:
    bodies = []
    for on_error in (None, lambda error: f"So: {error.code}"):
        client, make = Client(), ENCODERS[protocol]
        with pytest.raises(ValueError, match="It failed") as raised:
            await client.call(
                sse_response(Upstream("A", error=ValueError("It failed.")), protocol=make, on_error=on_error)
            )
        assert client.ended
        bodies.append(client.body)
    assert bodies[0] == bodies[1]
    assert raised.value.__notes__ == [
        "on_error failed: AttributeError(\"'ValueError' object has no attribute 'code'\")"
    ]


@pytest.mark.anyio
@every_protocol
@pytest.mark.parametrize("told", [None, 404, b"So.", ["So."], BaseException("So.")])
async def test_what_reports_an_error_gives_a_string(protocol: ProtocolName, told: Any) -> None:
    client, encoder = Client(), ENCODERS[protocol]()
    with pytest.raises(ValueError, match="It failed") as raised:
        await client.call(
            sse_response(
                Upstream("A", error=ValueError("It failed.")), protocol=ENCODERS[protocol], on_error=lambda _: told
            )
        )
    assert client.body == b"".join([*encoder.feed(["A"]), *encoder.fail(BROKE_OFF)])
    said = f"on_error failed: TypeError('must give a string, not {type(told).__name__}')"
    assert raised.value.__notes__ == [said]


@pytest.mark.anyio
async def test_a_request_that_fails_is_an_error_of_the_answer(peer: Peer) -> None:
    client = Client()
    async with new_async_client(peer.base_url) as openai:
        with pytest.raises(APIStatusError):
            await client.call(sse_response(stream_chat(openai, model="m", **ASK), protocol="openai-chat"))
    assert client.body.endswith(b'"The answer broke off.","type":"server_error","param":null,"code":null}}\n\n')


@pytest.mark.anyio
async def test_what_is_not_an_event_is_an_error(anyio_backend: str) -> None:
    client = Client()
    with pytest.raises(TypeError, match="events"):
        await client.call(sse_response(Upstream("A", 1), protocol="ai-sdk"))  # type: ignore[arg-type]
    assert b'"error"' in client.body


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"events": "text"}, TypeError),
        ({"events": 1}, TypeError),
        ({"protocol": "natives"}, ValueError),
        ({"ping": 0}, ValueError),
        ({"ping": float("nan")}, ValueError),
        ({"sources": []}, TypeError),
        ({"scope": "all"}, ValueError),
        ({"complete": "yes"}, TypeError),
        ({"complete": 1}, TypeError),
        ({"on_error": "Sorry."}, TypeError),
    ],
)
def test_misuse_is_an_error_at_once(options: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        sse_response(**{"events": [], **options})


def test_frames_come_asynchronously() -> None:
    frames: Any = [b"data: a\n\n"]
    with pytest.raises(TypeError, match="frames"):
        FrameResponse(frames, headers={})


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


@pytest.mark.anyio
async def test_an_error_of_frames_leaves_no_whole_body() -> None:
    async def frames() -> AsyncIterator[bytes]:
        yield b"data: a\n\n"
        raise ValueError("It failed.")

    client = Client()
    with pytest.raises(ValueError, match="It failed"):
        await client.call(FrameResponse(frames(), headers={}))
    assert client.body == b"data: a\n\n"
    assert not client.ended


# Clients


@pytest.mark.anyio
@pytest.mark.parametrize("told", [False, True])
async def test_a_client_that_leaves_cancels_what_is_waited_for(told: bool) -> None:
    upstream, client = Upstream("A", stops=True), Client(told=told)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client.call, sse_response(upstream, protocol="ai-sdk"))
        await client.until(lambda client: b'"A"' in client.body)
        client.leave.set()
    assert upstream.cancelled
    assert upstream.closed
    assert not client.ended


@pytest.mark.anyio
@pytest.mark.parametrize("told", [False, True])
async def test_nothing_more_is_read_when_a_client_leaves_while_it_takes_nothing(told: bool) -> None:
    upstream, client = Upstream(*"abcdef"), Client(told=told)
    client.waits_for = lambda client: b'"b"' in client.body
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client.call, sse_response(upstream, protocol="ai-sdk"))
        await client.until(client.waits_for)
        client.leave.set()
        if told:
            client.go_on()
    assert upstream.given == 3
    assert upstream.closed


@pytest.mark.anyio
async def test_nothing_is_read_ahead_of_a_slow_client() -> None:
    upstream, client = Upstream(*"abcdef"), Client()
    client.waits_for = lambda client: b'"c"' in client.body
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client.call, sse_response(upstream, protocol="ai-sdk", ping=0.001))
        await client.until(client.waits_for)
        for _ in range(20):
            await anyio.sleep(0.001)
        assert upstream.given == 4
        client.go_on()
    assert client.ended
    assert client.body.replace(PING, b"") == encoded(AISDKEncoder(), [*"abcdef"])


@pytest.mark.anyio
async def test_while_a_marker_is_held_comments_keep_the_stream_alive() -> None:
    go = anyio.Event()
    marker = cite("t1")

    async def deltas() -> AsyncIterator[str]:
        yield "A" + marker[:4]
        await go.wait()
        yield marker[4:]

    events = aiter_events(deltas(), sources=SOURCES)
    client = Client()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client.call, sse_response(events, protocol="ai-sdk", ping=0.001))
        await client.until(lambda client: client.bodies[-3:] == [PING] * 3)
        assert events.held == marker[:4]
        go.set()
    assert set(client.bodies[:1] + client.bodies[-2:]).isdisjoint({PING})
    assert client.body.replace(PING, b"") == encoded(AISDKEncoder(), resolve(f"A{marker}", SOURCES))


@pytest.mark.anyio
async def test_a_comment_that_is_not_taken_holds_the_next_frames_back() -> None:
    go = anyio.Event()

    async def events() -> AsyncIterator[AnyEvent]:
        yield "A"
        await go.wait()
        yield "B"

    class Stuck(Client):
        async def send(self, message: Message) -> None:
            if message.get("body") == PING and PING not in self.bodies:
                self._come.set()
                self.received.append(message)
                go.set()
                for _ in range(20):
                    await anyio.sleep(0.001)
                assert self.received[-1] is message
                return
            await super().send(message)

    client = Stuck()
    await client.call(sse_response(events(), protocol="ai-sdk", ping=0.001))
    assert client.body.replace(PING, b"") == encoded(AISDKEncoder(), ["A", "B"])


@pytest.mark.anyio
async def test_a_server_that_says_by_a_comment_that_the_client_left_is_believed() -> None:
    upstream = Upstream("A", stops=True)

    class Gone(Client):
        async def send(self, message: Message) -> None:
            if message.get("body") == PING:
                raise OSError("left")
            await super().send(message)

    client = Gone()
    await client.call(sse_response(upstream, ping=0.001))
    assert upstream.closed


@pytest.mark.anyio
async def test_whoever_cancels_the_response_closes_the_answer() -> None:
    upstream, client = Upstream("A", stops=True), Client()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client.call, sse_response(upstream))
        await client.until(lambda client: len(client.bodies) > 1)
        tasks.cancel_scope.cancel()
    assert upstream.cancelled
    assert upstream.closed
    assert not client.ended


@pytest.mark.anyio
async def test_the_body_ends_before_the_answer_is_closed() -> None:
    client, seen = Client(), []

    class Closing(Upstream):
        async def aclose(self) -> None:
            seen.append(client.ended)
            await super().aclose()

    upstream = Closing("A")
    await client.call(sse_response(upstream))
    assert seen == [True]
    assert upstream.closed


@pytest.mark.anyio
async def test_other_tasks_have_their_turn_though_nothing_is_waited_for() -> None:
    client, upstream = Client(), Upstream(*["a"] * 10_000)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client.call, sse_response(upstream, protocol="ai-sdk"))
        await client.until(lambda client: len(client.bodies) > 2)
        client.leave.set()
    assert upstream.given < 4 * MESSAGES_PER_TURN
    assert upstream.closed


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
