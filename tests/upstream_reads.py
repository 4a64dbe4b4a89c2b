"""Streams of servers that nobody here wrote, read by the client to their end or their error."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Protocol

import anyio
from openai import AsyncOpenAI, OpenAI, Timeout
from openai.types.chat import ChatCompletionUserMessageParam

from tests.clients import new_async_client, new_client
from tests.markers import MARKER
from tests.processes import PATIENCE
from tests.upstreams import Fault, Upstream

TEXT = f"It lasts.{MARKER} And \U0001f680 so on."
WORDS = ["It ", f"lasts.{MARKER} ", "And ", "\U0001f680 ", "so ", "on."]
QUESTION = "How long does it last?"
ASK: list[ChatCompletionUserMessageParam] = [{"role": "user", "content": QUESTION}]

# Errors by name. First what the newest client raises while a stream is read, then what an older one lets through from
# its HTTP client, which is httpx or httpx2.
CUT = {"APIConnectionError", "RemoteProtocolError"}
ERRORS: dict[Fault, set[str] | set[None]] = {
    "truncate": {None},
    "malformed": {"JSONDecodeError"},
    "disconnect": CUT,
    "stall": {"APITimeoutError", "ReadTimeout"},
}
# Those of which the server tells, and the one that a reader must notice by itself.
TOLD: list[Fault] = ["truncate", "malformed", "disconnect"]
# How long to wait for what never comes, in seconds. What does come is there after milliseconds, or a little later on a
# machine that does other things. Tests that wait so do it side by side.
STALLED = 6.0


class Api(NamedTuple):
    """One of the two APIs: how a stream is asked for, and what is read in it."""

    create: Callable[[Any, str], Any]
    delta: Callable[[Any], str | None]
    end: Callable[[Any], str | None]
    opening: int  # chunks or events before the text


def create_chat(client: Any, model: str) -> Any:
    return client.chat.completions.create(model=model, messages=ASK, stream=True)


def create_response(client: Any, model: str) -> Any:
    return client.responses.create(model=model, input=QUESTION, stream=True)


CHAT = Api(
    create_chat,
    lambda chunk: chunk.choices[0].delta.content,
    lambda chunk: chunk.choices[0].finish_reason,
    1,  # the role
)
RESPONSES = Api(
    create_response,
    lambda event: event.delta if event.type == "response.output_text.delta" else None,
    lambda event: event.response.status if event.type == "response.completed" else None,
    4,  # the response is created and in progress; an item and a part are added
)


def client_of(upstream: Upstream, patience: float = PATIENCE) -> OpenAI:
    return new_client(upstream.base_url, timeout=Timeout(PATIENCE, read=patience))


def async_client_of(upstream: Upstream, patience: float) -> AsyncOpenAI:
    return new_async_client(upstream.base_url, timeout=Timeout(PATIENCE, read=patience))


class Received(NamedTuple):
    items: list[Any]  # chunks or events
    error: str | None  # its class


class Read(Protocol):
    """Read a stream to its end; `patience`, in seconds, is how long to wait for more of it."""

    def __call__(self, upstream: Upstream, api: Api, model: str, patience: float = PATIENCE, /) -> Received: ...


def read(upstream: Upstream, api: Api, model: str, patience: float = PATIENCE) -> Received:
    items: list[Any] = []
    error = None
    with client_of(upstream, patience) as client:
        try:
            for item in api.create(client, model):
                items.append(item)  # noqa: PERF402 - what came before an error counts
        except Exception as raised:  # noqa: BLE001 - which one it is, is the question
            error = type(raised).__name__
    return Received(items, error)


async def aread(upstream: Upstream, api: Api, model: str, patience: float) -> Received:
    items: list[Any] = []
    error = None
    async with async_client_of(upstream, patience) as client:
        try:
            async for item in await api.create(client, model):
                items.append(item)  # noqa: PERF401 - as above
        except Exception as raised:  # noqa: BLE001 - as above
            error = type(raised).__name__
    return Received(items, error)


def reader_on(backend: str) -> Read:
    def reader(upstream: Upstream, api: Api, model: str, patience: float = PATIENCE) -> Received:
        return anyio.run(aread, upstream, api, model, patience, backend=backend)

    return reader


READERS: dict[str, Read] = {"sync": read, "asyncio": reader_on("asyncio"), "trio": reader_on("trio")}


def at_once(*reads: Callable[[], Any]) -> list[Any]:
    """Read several streams side by side: each waits for a server that cuts or stalls."""
    with ThreadPoolExecutor(len(reads)) as pool:
        return [each.result() for each in [pool.submit(read) for read in reads]]


def deltas_of(received: Received, api: Api) -> list[str]:
    return [delta for item in received.items if (delta := api.delta(item))]
