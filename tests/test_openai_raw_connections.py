"""The fast lane over sockets: when the first event comes, and what becomes of the connection."""

import asyncio
import gc
import warnings
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import anyio
import pytest
from openai import (
    OpenAI,
)

from streamcite import parse
from tests.http_peer import Exchange, Peer
from tests.processes import PATIENCE
from tests.raw_streams import (
    APIS,
    CHAT,
    RESPONSES,
    SENTENCE,
    Api,
    answer_of,
    aoutcome,
    async_client,
    begun,
    body,
    opened,
    outcome,
    short,
)
from tests.reading import joined
from tests.responses_streams import UNCLOSED

every_api = pytest.mark.parametrize("api", APIS.values(), ids=APIS)


@pytest.fixture
def client(peer_client: OpenAI) -> OpenAI:
    return peer_client


async def is_left(peer: Peer) -> bool:
    return await anyio.to_thread.run_sync(peer.left.acquire, True, PATIENCE)


# The first event


@every_api
def test_the_first_event_is_out_before_the_server_sends_more(peer: Peer, client: OpenAI, api: Api) -> None:
    first, rest = body(short(api, "It", " lasts.")[:1], done=False), body(short(api, "It", " lasts.")[1:])
    go = peer.gives_and_waits(first, rest)
    with opened(api, client) as events:
        assert next(events) == "It"
        assert not go.is_set()
        assert (events.held, events.result.text, events.result.complete) == ("", "It", False)
        go.set()
        assert [*events] == [" lasts."]
    assert events.result.complete


@every_api
@pytest.mark.anyio
async def test_the_first_async_event_is_out_before_the_server_sends_more(
    peer: Peer, api: Api, anyio_backend: str
) -> None:
    first, rest = body(short(api, "It", " lasts.")[:1], done=False), body(short(api, "It", " lasts.")[1:])
    go = peer.gives_and_waits(first, rest)
    async with async_client(peer) as client, opened(api, client) as events:
        assert await anext(events) == "It"
        assert not go.is_set()
        go.set()
        assert [event async for event in events] == [" lasts."]
    assert events.result.complete


# Every way to be done


class LostError(Exception):
    """What the reader of a stream raises."""


def leaves_the_loop(manager: Any) -> None:
    with manager as events:
        for _ in events:
            break


def leaves_the_block_at_once(manager: Any) -> None:
    with manager:
        pass


def fails(manager: Any) -> None:
    with suppress(LostError), manager as events:
        for _ in events.iter_parts(raw=True):
            raise LostError


def closes(manager: Any) -> None:
    with manager as events:
        next(events.iter_parts())
        events.close()
        events.close()
        assert list(events) == []


def lets_go(manager: Any) -> None:
    events = manager.__enter__()
    next(events)
    del events, manager
    gc.collect()


@every_api
@pytest.mark.parametrize("way", [leaves_the_loop, leaves_the_block_at_once, fails, closes, lets_go])
def test_leaving_frees_the_connection_at_once(peer: Peer, client: OpenAI, api: Api, way: Callable[[Any], None]) -> None:
    peer.gives(begun(api), ends=False)
    way(opened(api, client))
    assert peer.left.acquire(timeout=PATIENCE)
    peer.gives(answer_of(api))
    assert joined(outcome(opened(api, client)).items) == parse(SENTENCE)


async def aleaves_the_loop(manager: Any) -> None:
    async with manager as events:
        async for _ in events:
            break


async def aleaves_the_block_at_once(manager: Any) -> None:
    async with manager:
        pass


async def afails(manager: Any) -> None:
    with suppress(LostError):
        async with manager as events:
            async for _ in events.iter_parts(raw=True):
                raise LostError


async def acloses(manager: Any) -> None:
    async with manager as events:
        await anext(events.iter_parts())
        await events.aclose()
        await events.aclose()
        assert [event async for event in events] == []


async def is_cancelled_while_it_waits(manager: Any) -> None:
    with anyio.CancelScope() as scope:
        async with manager as events:
            async for _ in events:
                scope.cancel()
    assert scope.cancelled_caught
    came = events.result.text + events.held
    assert f"It lasts.{UNCLOSED}".startswith(came)
    assert came.startswith("It")
    assert not events.result.complete


async def is_cancelled_in_the_block(manager: Any) -> None:
    with anyio.CancelScope() as scope:
        async with manager as events:
            await anext(events)
            scope.cancel()
            await anyio.sleep_forever()
    assert scope.cancelled_caught


@every_api
@pytest.mark.anyio
@pytest.mark.parametrize(
    "way",
    [
        aleaves_the_loop,
        aleaves_the_block_at_once,
        afails,
        acloses,
        is_cancelled_while_it_waits,
        is_cancelled_in_the_block,
    ],
)
async def test_leaving_frees_the_async_connection_at_once(
    peer: Peer, api: Api, way: Callable[[Any], Awaitable[None]], anyio_backend: str
) -> None:
    async with async_client(peer) as client:
        peer.gives(begun(api), ends=False)
        tasks = asyncio.all_tasks() if anyio_backend == "asyncio" else set()
        await way(opened(api, client))
        if anyio_backend == "asyncio":
            assert asyncio.all_tasks() == tasks
        assert await is_left(peer)
        peer.gives(answer_of(api))
        assert joined((await aoutcome(opened(api, client))).items) == parse(SENTENCE)


@every_api
@pytest.mark.anyio
async def test_letting_go_frees_the_async_connection_too(peer: Peer, api: Api, anyio_backend: str) -> None:
    async with async_client(peer) as client:
        peer.gives(begun(api), ends=False)
        with warnings.catch_warnings():
            # Trio, unlike asyncio, wants an asynchronous generator closed by hand, and says so.
            warnings.filterwarnings("ignore", "Async generator", ResourceWarning)
            manager = opened(api, client)
            events = await manager.__aenter__()
            assert await anext(events) == "It"
            del events, manager
            gc.collect()
            assert await is_left(peer)
        peer.gives(answer_of(api))
        assert joined((await aoutcome(opened(api, client))).items) == parse(SENTENCE)


@every_api
@pytest.mark.anyio
async def test_a_task_that_is_cancelled_frees_the_connection(peer: Peer, api: Api, anyio_backend: str) -> None:
    """As `asyncio.timeout` and a web server do it, without a scope of anyio round the block."""
    waiting = anyio.Event()

    async def read() -> None:
        async with opened(api, client) as events:
            async for _ in events:
                waiting.set()

    async with async_client(peer) as client:
        peer.gives(begun(api), ends=False)
        if anyio_backend == "asyncio":
            task = asyncio.create_task(read())
            await waiting.wait()
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        else:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(read)
                await waiting.wait()
                tasks.cancel_scope.cancel()
        assert await is_left(peer)


@every_api
@pytest.mark.anyio
async def test_closing_in_the_block_frees_the_connection_there(
    peer: Peer, client: OpenAI, api: Api, anyio_backend: str
) -> None:
    peer.gives(begun(api), ends=False)
    with opened(api, client) as events:
        pairs = events.iter_parts(raw=True)
        next(pairs)
        events.close()
        assert await is_left(peer)
        assert list(pairs) == []
    async with async_client(peer) as other, opened(api, other) as async_events:
        async_pairs = async_events.iter_parts(raw=True)
        await anext(async_pairs)
        await async_events.aclose()
        assert await is_left(peer)
        assert [pair async for pair in async_pairs] == []


# The connection is used again


def test_a_connection_is_used_again_after_the_end(peer: Peer, client: OpenAI) -> None:
    # Of chat completions only if no [DONE] comes: after that the client's own stream reads no further either.
    peer.gives(answer_of(RESPONSES))
    for _ in range(3):
        assert outcome(opened(RESPONSES, client)).complete
    peer.gives(body(short(CHAT, *SENTENCE), done=False))
    for _ in range(3):
        assert outcome(opened(CHAT, client)).complete
    assert peer.accepted == 1


@every_api
@pytest.mark.anyio
async def test_an_async_connection_is_used_again_after_the_end(peer: Peer, api: Api, anyio_backend: str) -> None:
    peer.gives(*(answer_of(api)[at : at + 99] for at in range(0, len(answer_of(api)), 99)))
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        async with async_client(peer) as client:
            for _ in range(3):
                assert (await aoutcome(opened(api, client))).complete
                gc.collect()
        await anyio.lowlevel.checkpoint()
    assert peer.accepted == 1
    assert [str(each.message) for each in warned] == []


@pytest.mark.anyio
async def test_a_body_that_never_ends_is_not_waited_for(peer: Peer, anyio_backend: str) -> None:
    """After [DONE] the server keeps silent, or goes on for ever."""

    def babble(exchange: Exchange) -> None:
        exchange.start()
        exchange.send(answer_of(CHAT))
        with suppress(ConnectionError):
            while True:
                exchange.send(b": on and on\n\n" * 99)
        peer.left.release()

    async with async_client(peer) as client:
        peer.gives(answer_of(CHAT), ends=False)
        for answer in (peer.answer, babble):
            peer.answer = answer
            with anyio.fail_after(PATIENCE):
                assert (await aoutcome(opened(CHAT, client))).complete
                assert await is_left(peer)
