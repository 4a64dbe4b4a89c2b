"""Answers as ASGI responses: clients that leave, that are slow, and that wait."""

from collections.abc import AsyncIterator

import anyio
import pytest

from streamcite import aiter_events
from streamcite.links import AnyEvent
from streamcite.resolve import resolve
from streamcite.ui.ai_sdk import AISDKEncoder
from streamcite.ui.asgi import MESSAGES_PER_TURN, PING
from streamcite.ui.response import sse_response
from tests.asgi import Client, Message
from tests.markers import cite
from tests.rendering import SOURCES
from tests.ui_answers import Upstream, encoded


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
