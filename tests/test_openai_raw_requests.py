"""The fast lane over sockets: what is asked, of which clients, and which errors come."""

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import anyio
import openai
import pytest
from openai import (
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
from streamcite.openai.raw import stream_chat, stream_responses
from streamcite.openai.raw_views import AsyncRawView, RawView
from tests.clients import ANY, TLS, new_client
from tests.http_peer import Exchange, Peer, run_peer
from tests.processes import PATIENCE
from tests.raw_streams import (
    APIS,
    CHAT,
    RESPONSES,
    SENTENCE,
    Api,
    Outcome,
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
from tests.upstream_reads import STALLED, at_once

every_api = pytest.mark.parametrize("api", APIS.values(), ids=APIS)


@pytest.fixture
def client(peer_client: OpenAI) -> OpenAI:
    return peer_client


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


def test_a_silent_server_is_a_timeout_after_what_was_held(peer: Peer) -> None:
    def answer(exchange: Exchange) -> None:
        exchange.start()
        exchange.send(begun(CHAT if exchange.path.endswith("/chat/completions") else RESPONSES))
        exchange.wait_until_left()

    peer.answer = answer
    patience: Any = Timeout(PATIENCE, read=STALLED)

    def seen(api: Api, *, by_client: bool) -> Outcome:
        with new_client(peer.base_url) as client:
            if by_client:
                return outcome(opened(api, client.with_options(timeout=patience)))
            return outcome(opened(api, client, request={"timeout": patience}))

    async def seen_async(api: Api) -> Outcome:
        async with async_client(peer) as client:
            return await aoutcome(opened(api, client, request={"timeout": patience}))

    reads: list[Callable[[], Outcome]] = []
    for api in APIS.values():
        reads += [partial(seen, api, by_client=by_client) for by_client in (True, False)]
        reads += [partial(anyio.run, seen_async, api, backend=backend) for backend in ("asyncio", "trio")]
    outcomes = at_once(*reads)
    for place, found in enumerate(outcomes):
        assert found == outcomes[place // 4 * 4]
        assert joined(found.items) == parse(f"It lasts.{UNCLOSED}")
        assert found.error is not None
        assert found.error[0] == APITimeoutError.__name__
        assert (found.complete, found.held) == (False, "")


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
        assert joined(events) == parse(SENTENCE)
    async with AsyncAzureOpenAI(**azure) as other, opened(api, other) as async_events:
        assert isinstance(async_events, AsyncRawView)
        assert joined([event async for event in async_events]) == parse(SENTENCE)
    path = "deployments/any/chat/completions" if api is CHAT else "responses"
    for asked in peer.asked:
        assert asked.path == f"/openai/{path}?api-version=2024-10-21"
        assert {name.lower(): value for name, value in asked.headers.items()}["api-key"] == "secret"
    assert len(peer.asked) == 2


@every_api
def test_what_is_not_a_client_is_misuse_at_once(api: Api) -> None:
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


@pytest.mark.anyio
async def test_what_begins_no_block_is_told_how(peer: Peer, client: OpenAI) -> None:
    def ask(client: Any) -> Any:
        return stream_chat(client, model="any", messages=[])

    told = r"^nothing was asked for yet: use `with stream_chat\(\.\.\.\) as events`$"
    with pytest.raises(TypeError, match=told):
        iter(ask(client))
    with pytest.raises(TypeError, match=told):
        aiter(ask(client))
    with pytest.raises(TypeError, match=told):
        async with ask(client):
            pass
    async with async_client(peer) as other:
        told = told.replace("use `", "use `async ")
        with pytest.raises(TypeError, match=told):
            iter(ask(other))
        with pytest.raises(TypeError, match=told):
            aiter(ask(other))
        with pytest.raises(TypeError, match=told), ask(other):
            pass
        with pytest.raises(TypeError, match=told.replace("chat", "responses")):
            iter(cast(Any, stream_responses(other, model="any", input="?")))
    assert peer.accepted == 0
