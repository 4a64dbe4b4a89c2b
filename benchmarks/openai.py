"""What the OpenAI adapters add to a streamed chunk, as parts of what the client itself spends on one.

``python -m benchmarks openai``. The chunks are built before, so that what a view adds is a loop over it less the bare
loop. What the client spends is a loop over its typed stream, whose bytes come from memory.
"""

from __future__ import annotations

import asyncio
import json
import tracemalloc
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from importlib.util import find_spec
from threading import Thread
from typing import Any

from openai import AsyncOpenAI
from openai.types.chat import ChatCompletionChunk
from openai.types.responses import ResponseTextDeltaEvent

from streamcite import Source
from streamcite.openai import (
    chat_events,
    clean_chat,
    clean_responses,
    responses_events,
    stream_chat,
    stream_responses,
)
from streamcite.sse import encode

from .core import given
from .report import Figure
from .shapes import make
from .timing import fastest

HTTPX: Any = import_module("httpx2" if find_spec("httpx2") else "httpx")  # what this version of the client uses

CHUNKS = 2_000
QUICK = {"chunks": 200, "passes": 2}
EVENT_LIMIT = 0.02
OBJECT_LIMIT = 0.05
# The densest one is only reported: what is added there is mostly what the parser costs.
SHAPES = {"no citation": True, "1 per 200": True, "1 per 20, 20 distinct": False}
SOURCES = {
    name: Source(name, title="A page", url="https://example.org/page")
    for name in (f"turn{number // 10}file{number % 10}" for number in range(20))
}


@dataclass(frozen=True)
class Api:
    """One API of the client.

    Attributes:
        name: what the report calls it.
        build: a chunk with a delta, as it stands on the wire.
        kind: the client's class for it.
        event: the type that its frame names, if any.
        ask: opens the client's stream.
        events: the event view.
        objects: the object view.
        fast: opens the fast lane.
        bytes: opens the client's stream of bytes.
        fast_limit: the most that the fast lane may cost of what the client's typed stream costs.
    """

    name: str
    build: Callable[[str], dict[str, Any]]
    kind: Any
    event: str | None
    ask: Callable[[AsyncOpenAI], Any]
    events: Callable[[Any], AsyncIterator[Any]]
    objects: Callable[[Any], AsyncIterator[Any]]
    fast: Callable[[AsyncOpenAI], Any]
    bytes: Callable[[AsyncOpenAI], Any]
    fast_limit: float


def chat_chunk(delta: str) -> dict[str, Any]:
    """Give a chunk as OpenAI sends it."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "any",
        "service_tier": "default",
        "system_fingerprint": None,
        "choices": [{"index": 0, "delta": {"content": delta}, "logprobs": None, "finish_reason": None}],
        "obfuscation": "Jq3",
    }


def text_delta(delta: str) -> dict[str, Any]:
    """Give an event of the Responses API as OpenAI sends it."""
    return {
        "type": "response.output_text.delta",
        "item_id": "msg_1",
        "output_index": 0,
        "content_index": 0,
        "delta": delta,
        "logprobs": [],
        "sequence_number": 4,
        "obfuscation": "Jq3",
    }


APIS = [
    Api(
        "chat",
        chat_chunk,
        ChatCompletionChunk,
        None,
        lambda client: client.chat.completions.create(model="any", messages=[], stream=True),
        chat_events,
        partial(clean_chat, sources=SOURCES),
        lambda client: stream_chat(client, model="any", messages=[]),
        lambda client: client.chat.completions.with_streaming_response.create(model="any", messages=[], stream=True),
        0.12,
    ),
    Api(
        "responses",
        text_delta,
        ResponseTextDeltaEvent,
        "response.output_text.delta",
        lambda client: client.responses.create(model="any", input="any", stream=True),
        responses_events,
        partial(clean_responses, sources=SOURCES),
        lambda client: stream_responses(client, model="any", input="any"),
        lambda client: client.responses.with_streaming_response.create(model="any", input="any", stream=True),
        0.16,
    ),
]


def figures(*, chunks: int = CHUNKS, passes: int = 9) -> Iterator[Figure]:
    """Measure all that has a limit, one figure after the other.

    Args:
        chunks: about how many chunks a stream has.
        passes: how often each is run; the fastest counts.
    """
    for api in APIS:
        for name, limited in SHAPES.items():
            for view, added in _views(api, name, chunks, passes).items():
                limit = {"events": EVENT_LIMIT, "objects": OBJECT_LIMIT}[view]
                yield Figure(f"{api.name}, {view}: added / the client's own: {name}", added, limit if limited else None)
        yield from _memory(api, 5 * chunks)
        yield from _fast_lane(api, 5 * chunks, passes)


def _views(api: Api, name: str, chunks: int, passes: int) -> dict[str, float]:
    deltas = make(name, chunks).deltas
    wire = [encode(json.dumps(api.build(delta))) for delta in deltas]
    whole = [api.kind.construct(**api.build(delta)) for delta in deltas]
    # The object view changes its objects, so that each pass needs its own.
    own = iter([[api.kind.construct(**api.build(delta)) for delta in deltas] for _ in range(passes)])
    client = _client_of(wire)
    with asyncio.Runner() as runner:
        times = fastest(
            {
                "client": lambda: runner.run(_read_client(api, client)),
                "loop": lambda: runner.run(_read(given(whole))),
                "events": lambda: runner.run(_read(api.events(given(whole)))),
                "objects": lambda: runner.run(_read(api.objects(given(next(own))))),
            },
            passes=passes,
        )
    return {view: (times[view] - times["loop"]) / times["client"] for view in ("events", "objects")}


async def _read(stream: AsyncIterator[Any]) -> None:
    async for _ in stream:
        pass


def _client_of(wire: Sequence[bytes]) -> AsyncOpenAI:
    """Make a client that gets these bytes as the answer to every request."""

    async def body() -> AsyncIterator[bytes]:
        for frame in wire:
            yield frame
        yield encode("[DONE]")

    def answer(_: Any) -> Any:
        return HTTPX.Response(200, headers={"content-type": "text/event-stream"}, content=body())

    transport = HTTPX.AsyncClient(transport=HTTPX.MockTransport(answer))
    return AsyncOpenAI(api_key="any", base_url="http://in.memory/v1", http_client=transport)


async def _read_client(api: Api, client: AsyncOpenAI) -> None:
    await _read(await api.ask(client))


def _fast_lane(api: Api, chunks: int, passes: int) -> Iterator[Figure]:
    """Compare the fast lane to the client's typed stream, of the same bytes over loopback."""
    frames = [encode(json.dumps(api.build(delta)), event=api.event) for delta in make("1 per 200", chunks).deltas]
    with _serving([*frames, encode("[DONE]")]) as url, asyncio.Runner() as runner:
        client = AsyncOpenAI(api_key="any", base_url=url)
        times = fastest(
            {name: partial(_run, runner, read, client) for name, read in _lanes(api).items()}, passes=passes
        )
        runner.run(client.close())
    yield Figure(f"{api.name}: fast lane / the client's own", times["fast"] / times["typed"], api.fast_limit)
    yield Figure(f"{api.name}: bytes thrown away / the client's own", times["bytes"] / times["typed"])


def _lanes(api: Api) -> dict[str, Callable[[AsyncOpenAI], Any]]:
    async def typed(client: AsyncOpenAI) -> None:
        await _read(await api.ask(client))

    async def fast(client: AsyncOpenAI) -> None:
        async with api.fast(client) as events:
            await _read(events)

    async def only_bytes(client: AsyncOpenAI) -> None:
        async with api.bytes(client) as response:
            await _read(response.iter_bytes())

    return {"typed": typed, "fast": fast, "bytes": only_bytes}


def _run(runner: asyncio.Runner, read: Callable[[AsyncOpenAI], Any], client: AsyncOpenAI) -> None:
    runner.run(read(client))


@contextmanager
def _serving(frames: Sequence[bytes]) -> Iterator[str]:
    """Answer every request with these frames, each a chunk of the body as servers send them, at once."""
    body = b"".join(b"%x\r\n%b\r\n" % (len(frame), frame) for frame in [*frames, b""])

    class Answer(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()
            thread.join()


def _memory(api: Api, chunks: int) -> Iterator[Figure]:
    """Say how much an open stream keeps: to begin with, and for each delta that it has read."""
    deltas = make("no citation", chunks).deltas
    kept = {count: asyncio.run(_kept(api, deltas[:count])) for count in (1, len(deltas))}
    yield Figure(f"bytes of an open stream: {api.name}", kept[1])
    yield Figure(f"bytes a delta that was read: {api.name}", (kept[len(deltas)] - kept[1]) / (len(deltas) - 1))


async def _kept(api: Api, deltas: Sequence[str]) -> int:
    async def chunks() -> AsyncIterator[Any]:
        for delta in deltas:
            yield api.kind.construct(**api.build("".join(delta)))

    await _read(api.events(chunks()))  # what all views share is built before
    tracemalloc.start()
    view = api.events(chunks())
    await _read(view)
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return used
