"""The fast lane over sockets: what is asked, which errors come, and what becomes of the connection."""

import asyncio
import gc
import warnings
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from typing import Any

import anyio
import openai
import pytest
from openai import (
    DEFAULT_CONNECTION_LIMITS,
    APIConnectionError,
    APIStatusError,
    APITimeoutError,
    AsyncAzureOpenAI,
    AsyncOpenAI,
    AuthenticationError,
    AzureOpenAI,
    DefaultAsyncHttpxClient,
    DefaultHttpxClient,
    InternalServerError,
    OpenAI,
    RateLimitError,
    Timeout,
)

from streamcite import parse
from streamcite.openai.raw import AsyncRawView, RawView, stream_chat
from tests.chats import MARKER
from tests.http_peer import Exchange, Peer, run_peer
from tests.processes import PATIENCE
from tests.raw_streams import APIS, CHAT, RESPONSES, TLS, Api, aoutcome, body, outcome
from tests.reading import joined
from tests.responses_streams import UNCLOSED
from tests.test_openai_raw import short

every_api = pytest.mark.parametrize("api", APIS.values(), ids=APIS)
# A connection that somebody still holds is missed by the next request.
ONE: Any = type(DEFAULT_CONNECTION_LIMITS)(max_connections=1)
ANY: Any = {"api_key": "any", "max_retries": 0, "timeout": Timeout(PATIENCE, pool=5)}
TEXT = f"It lasts.{MARKER} So."


@pytest.fixture(scope="module")
def running() -> Iterator[Peer]:
    with run_peer() as peer:
        yield peer


@pytest.fixture
def peer(running: Peer) -> Peer:
    running.reset()
    return running


@pytest.fixture
def client(peer: Peer) -> Iterator[OpenAI]:
    with OpenAI(base_url=peer.base_url, http_client=DefaultHttpxClient(limits=ONE, verify=TLS), **ANY) as client:
        yield client


def async_client(peer: Peer) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=peer.base_url, http_client=DefaultAsyncHttpxClient(limits=ONE, verify=TLS), **ANY)


def answer_of(api: Api) -> bytes:
    return body(short(api, *TEXT), named=api is RESPONSES, done=api is CHAT)


def opened(api: Api, client: Any, **params: Any) -> Any:
    return api.raw(client, model="any", **api.params, **params)


def begun(api: Api) -> bytes:
    """Give two texts of an answer, and what holds part of a marker."""
    return body(short(api, "It", " lasts.", UNCLOSED)[:3], done=False)


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
    assert joined(outcome(opened(api, client)).items) == parse(TEXT)


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
        assert joined((await aoutcome(opened(api, client))).items) == parse(TEXT)


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
        assert joined((await aoutcome(opened(api, client))).items) == parse(TEXT)


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


# The connection is used again


def test_a_connection_is_used_again_behind_the_end(peer: Peer, client: OpenAI) -> None:
    # Of chat completions only if no [DONE] comes: behind that the client's own stream reads no further either.
    peer.gives(answer_of(RESPONSES))
    for _ in range(3):
        assert outcome(opened(RESPONSES, client)).complete
    peer.gives(body(short(CHAT, *TEXT), done=False))
    for _ in range(3):
        assert outcome(opened(CHAT, client)).complete
    assert peer.accepted == 1


@every_api
@pytest.mark.anyio
async def test_an_async_connection_is_used_again_behind_the_end(peer: Peer, api: Api, anyio_backend: str) -> None:
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
    """Behind [DONE] the server keeps silent, or goes on for ever."""

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


# Errors


REFUSALS: list[tuple[int, type[APIStatusError]]] = [
    (401, AuthenticationError),
    (429, RateLimitError),
    (500, InternalServerError),
]


@every_api
@pytest.mark.anyio
@pytest.mark.parametrize(("status", "kind"), REFUSALS)
async def test_a_refusal_is_the_clients_own_error(
    peer: Peer, client: OpenAI, api: Api, status: int, kind: type[APIStatusError], anyio_backend: str
) -> None:
    peer.answer = lambda exchange: exchange.refuse(status)
    with pytest.raises(kind) as raised, opened(api, client):
        pass
    assert raised.value.body == {"message": "refused", "code": "no"}
    async with async_client(peer) as other:
        with pytest.raises(kind):
            async with opened(api, other):
                pass
    assert len(peer.asked) == 2


@every_api
@pytest.mark.anyio
async def test_the_client_tries_again_as_it_was_told(peer: Peer, client: OpenAI, api: Api, anyio_backend: str) -> None:
    def refuse_twice(exchange: Exchange) -> None:
        if len(peer.asked) % 3:
            exchange.refuse(500, retry_after_ms="1")
        else:
            exchange.start()
            exchange.send(answer_of(api))
            exchange.end()

    peer.answer = refuse_twice
    assert outcome(opened(api, client.with_options(max_retries=2))).complete
    assert len(peer.asked) == 3
    async with async_client(peer) as other:
        assert (await aoutcome(opened(api, other.with_options(max_retries=2)))).complete
    assert len(peer.asked) == 6


@every_api
@pytest.mark.anyio
async def test_nobody_there_is_the_clients_own_error(client: OpenAI, api: Api, anyio_backend: str) -> None:
    with run_peer() as gone:
        pass
    with pytest.raises(APIConnectionError), opened(api, client.with_options(base_url=gone.base_url)):
        pass
    async with async_client(gone) as other:
        with pytest.raises(APIConnectionError):
            async with opened(api, other):
                pass


@every_api
@pytest.mark.anyio
async def test_a_silent_server_is_a_timeout_behind_what_was_held(
    peer: Peer, client: OpenAI, api: Api, anyio_backend: str
) -> None:
    peer.gives(begun(api), ends=False)
    patience: Any = Timeout(PATIENCE, read=0.2)
    seen = outcome(opened(api, client.with_options(timeout=patience)))
    assert seen == outcome(opened(api, client, request={"timeout": patience}))
    async with async_client(peer) as other:
        assert seen == await aoutcome(opened(api, other, request={"timeout": patience}))
    assert joined(seen.items) == parse(f"It lasts.{UNCLOSED}")
    assert seen.error is not None
    assert seen.error[0] == APITimeoutError.__name__
    assert (seen.complete, seen.held) == (False, "")


@every_api
def test_an_error_object_is_what_the_clients_typed_stream_raises(peer: Peer, client: OpenAI, api: Api) -> None:
    error = {"message": "overloaded", "type": "server_error", "code": "503", "param": "p"}
    peer.gives(begun(api), body([{"error": error}]))
    raised: list[Any] = []
    for is_raw in (True, False):
        stream = opened(api, client) if is_raw else api.view(api.create(client, model="any", **api.params))
        with pytest.raises(openai.APIError) as caught, stream as events:
            list(events)
        raised.append(caught.value)
    for name in ("body", "message", "code", "param", "type"):
        assert getattr(raised[0], name) == getattr(raised[1], name)
    assert [str(each.request.url) for each in raised] == [peer.base_url + peer.asked[0].path[3:]] * 2


# Clients, and what they ask


@every_api
@pytest.mark.anyio
async def test_what_is_asked_is_what_the_client_asks(peer: Peer, api: Api, anyio_backend: str) -> None:
    peer.gives(answer_of(api))
    request = {"extra_headers": {"x-extra": "1"}, "extra_query": {"q": "2"}, "extra_body": {"more": [3]}}
    own: Any = {"base_url": peer.base_url, "default_headers": {"x-mine": "4"}, **ANY}
    with OpenAI(http_client=DefaultHttpxClient(headers={"x-http": "5"}, verify=TLS), **own) as client:
        assert outcome(opened(api, client, request=request, temperature=0.5)).complete
        with api.create(client, model="any", temperature=0.5, **api.params, **request) as plain:
            list(plain)
    async with AsyncOpenAI(http_client=DefaultAsyncHttpxClient(headers={"x-http": "5"}, verify=TLS), **own) as other:
        assert (await aoutcome(opened(api, other, request=request, temperature=0.5))).complete
    path = "chat/completions" if api is CHAT else "responses"
    for asked in peer.asked:
        assert asked.path == f"/v1/{path}?q=2"
        assert asked.body == {**api.params, "model": "any", "temperature": 0.5, "stream": True, "more": [3]}
        sent = {name.lower(): value for name, value in asked.headers.items()}
        assert [sent[f"x-{name}"] for name in ("extra", "mine", "http")] == ["1", "4", "5"]
        assert sent["authorization"] == "Bearer any"
    assert len(peer.asked) == 3


@every_api
@pytest.mark.anyio
async def test_azures_clients(peer: Peer, api: Api, anyio_backend: str) -> None:
    first: Any = {"choices": [], "prompt_filter_results": []} if api is CHAT else {"type": "response.created"}
    peer.gives(body([first], done=False), answer_of(api))
    azure: Any = {"azure_endpoint": peer.url, "api_version": "2024-10-21", "api_key": "secret", "max_retries": 0}
    with AzureOpenAI(**azure) as client, opened(api, client) as events:
        assert isinstance(events, RawView)
        assert joined(events) == parse(TEXT)
    async with AsyncAzureOpenAI(**azure) as other, opened(api, other) as async_events:
        assert isinstance(async_events, AsyncRawView)
        assert joined([event async for event in async_events]) == parse(TEXT)
    path = "deployments/any/chat/completions" if api is CHAT else "responses"
    for asked in peer.asked:
        assert asked.path == f"/openai/{path}?api-version=2024-10-21"
        assert {name.lower(): value for name, value in asked.headers.items()}["api-key"] == "secret"
    assert len(peer.asked) == 2


@every_api
def test_what_is_no_client_is_misuse_at_once(api: Api) -> None:
    for other in (None, "client", openai, OpenAI, object()):
        with pytest.raises(TypeError, match=r"^client: must be a client of the openai package, not "):
            api.raw(other, model="any", **api.params)


@every_api
def test_options_of_the_parser(peer: Peer, client: OpenAI, api: Api) -> None:
    peer.gives(body(short(api, UNCLOSED)[:1]))
    kept = outcome(opened(api, client, parser={"malformed": "keep"}))
    assert joined(kept.items) == parse(UNCLOSED, malformed="keep") != parse(UNCLOSED)
    asked = len(peer.asked)
    for bad in ({"max_marker": 7}, {"malformed": "no"}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            opened(api, client, parser=bad)
    assert len(peer.asked) == asked


def test_nothing_is_asked_before_the_block(peer: Peer, client: OpenAI) -> None:
    stream_chat(client, model="any", messages=[])
    assert peer.accepted == 0
