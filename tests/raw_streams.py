"""What the tests of the fast lane share: bodies, what reads them with and without the client's typed objects, and what
came of that.

A body is given as pieces, which `Replay` hands out as a response of the client does, or is sent by a `Server`.
"""

import itertools
import json
import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple, Self, cast

import anyio
from hypothesis import strategies as st
from openai import AsyncOpenAI, OpenAI, Stream
from openai.types.chat import ChatCompletionChunk
from openai.types.responses import ResponseStreamEvent

from streamcite.openai import chat_events, responses_events
from streamcite.openai.raw import stream_chat, stream_responses
from streamcite.sse import encode
from tests import responses_streams as rs
from tests.chats import USAGE, plain
from tests.clients import ONE, new_async_client, new_client
from tests.http_peer import Peer
from tests.markers import MARKER
from tests.responses_streams import UNCLOSED, message, stream_of

TEXT = f"Yes.{MARKER}\U0001f680 é"
ASK: Any = [{"role": "user", "content": "How long does it last?"}]
QUESTION = "How long does it last?"
DONE = b"data: [DONE]\n\n"
REQUEST: Any = object()


class Api(NamedTuple):
    """One API: its fast lane, the event view, how both are asked, and the type of the objects."""

    raw: Callable[..., Any]
    view: Callable[[Any], Any]
    create: Callable[..., Any]
    params: dict[str, Any]
    kind: Any


CHAT = Api(
    stream_chat,
    chat_events,
    lambda client, **params: client.chat.completions.create(stream=True, **params),
    {"messages": ASK},
    ChatCompletionChunk,
)
RESPONSES = Api(
    stream_responses,
    responses_events,
    lambda client, **params: client.responses.create(stream=True, **params),
    {"input": QUESTION},
    ResponseStreamEvent,
)
APIS = {"chat": CHAT, "responses": RESPONSES}


def body(objects: Iterable[Any], *, named: bool = False, done: bool = True, escapes: bool = True) -> bytes:
    """Give objects as a body of frames; a text is sent as it is."""

    def frame(value: Any) -> bytes:
        if isinstance(value, str):
            return encode(value)
        # A lone surrogate has no UTF-8.
        text = json.dumps(value, ensure_ascii=escapes or "\\ud" in json.dumps(value))
        return encode(text, event=value.get("type") if named else None)

    return b"".join(map(frame, objects)) + (DONE if done else b"")


# How it may be written.
WRITTEN = {
    "escapes": lambda objects: body(objects),
    "escapes in capitals": lambda objects: body(objects).replace(rb"\ue20", rb"\uE20"),
    "UTF-8": lambda objects: body(objects, escapes=False),
    "named": lambda objects: body(objects, named=True, escapes=False),
    "named message": lambda objects: re.sub(rb"(?m)^data: {", rb"event: message\ndata: {", body(objects)),
    "named otherwise": lambda objects: re.sub(rb"(?m)^data: {", rb"event: response.odd\ndata: {", body(objects)),
    "CRLF": lambda objects: body(objects, named=True).replace(b"\n", b"\r\n"),
    "CR": lambda objects: body(objects, escapes=False).replace(b"\n", b"\r"),
    "comments": lambda objects: b": ping\n\n" + body(objects).replace(b"data:", b": ping\n\n:\ndata:"),
    "no DONE": lambda objects: body(objects, done=False),
    "behind DONE": lambda objects: body(objects) + body(objects),
    "no space": lambda objects: body(objects).replace(b"data: ", b"data:"),
    "lines": lambda objects: body([json.dumps(each, indent=1) for each in objects]),
    "not ended": lambda objects: body(objects, done=False)[:-1],
}


def short(api: Api, *deltas: str) -> list[Any]:
    """Give the shortest answer that has all that matters: its texts, an end and the usage."""
    if api is CHAT:
        chunks = [{"choices": [{"delta": {"content": delta}}]} for delta in deltas]
        return [*chunks, {"choices": [{"finish_reason": "stop"}], "usage": USAGE}]
    events = [event for event in stream_of(message(*deltas), numbered=False) if event["type"].endswith("t.delta")]
    whole = {
        "status": "completed",
        "output": rs.response_of([message(*deltas)])["output"],
        "usage": {"input_tokens": 1},
    }
    return [*events, {"type": "response.completed", "response": whole}]


# Bodies in pieces


class Replay:
    """A response, as ``with_streaming_response`` gives it; also what the client's typed stream reads from."""

    http_request = request = REQUEST
    http_version = "HTTP/1.1"

    def __init__(self, pieces: Iterable[bytes], error: Exception | None = None) -> None:
        self._pieces = pieces
        self._error = error
        self.closings = 0

    def iter_bytes(self) -> Iterator[bytes]:
        yield from self._pieces
        if self._error:
            raise self._error

    def close(self) -> None:
        self.closings += 1

    # The client's own context manager closes it, too.

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncReplay(Replay):
    """The same, asynchronous."""

    async def iter_bytes(self) -> AsyncIterator[bytes]:  # type: ignore[override]
        for piece in self._pieces:
            await anyio.lowlevel.checkpoint()
            yield piece
        if self._error:
            raise self._error

    async def close(self) -> None:  # type: ignore[override]
        self.closings += 1

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def client_of(client: OpenAI | AsyncOpenAI, response: Replay) -> Any:
    """Let a client give this response."""
    resource = SimpleNamespace(with_streaming_response=SimpleNamespace(create=lambda **_: response))
    given = cast("Any", client)
    given.chat, given.responses = SimpleNamespace(completions=resource), resource
    return client


NOWHERE = "http://127.0.0.1:9/v1"
OPENAI = new_client(NOWHERE)
ASYNC = new_async_client(NOWHERE)
TYPED = new_client(NOWHERE)


def raw_of(api: Api, pieces: Iterable[bytes], error: Exception | None = None) -> Any:
    """Open the fast lane on pieces."""
    return api.raw(client_of(OPENAI, Replay(pieces, error)), model="any", **api.params)


def async_raw_of(api: Api, pieces: Iterable[bytes], error: Exception | None = None) -> Any:
    """Open the asynchronous fast lane on pieces."""
    return api.raw(client_of(ASYNC, AsyncReplay(pieces, error)), model="any", **api.params)


def view_of(api: Api, pieces: Iterable[bytes], error: Exception | None = None) -> Any:
    """Open the event view on the client's own typed stream of pieces."""
    response = cast("Any", Replay(pieces, error))
    return api.view(Stream(cast_to=api.kind, response=response, client=TYPED))


# What came


class Outcome(NamedTuple):
    """All that a view tells, at its end."""

    items: list[Any]
    error: tuple[str, str, Any] | None  # its class, its text, and its body if it has one
    parts: Any
    usage: Any
    complete: bool
    held: str


def told(error: Exception) -> tuple[str, str, Any]:
    return type(error).__name__, str(error), getattr(error, "body", None)


def outcome(opened: Any, *, parts: bool = False) -> Outcome:
    """Read a view to its end."""
    items: list[Any] = []
    failure = None
    with opened as view:
        try:
            for item in view.iter_parts() if parts else view:
                items.append(item)  # noqa: PERF402 - what came before an error counts
        except Exception as error:  # noqa: BLE001 - which one it is, is the question
            failure = told(error)
    return told_of(view, items, failure)


async def aoutcome(opened: Any, *, parts: bool = False) -> Outcome:
    """Read an asynchronous view to its end."""
    items: list[Any] = []
    failure = None
    async with opened as view:
        try:
            async for item in view.iter_parts() if parts else view:
                items.append(item)  # noqa: PERF401 - as above
        except Exception as error:  # noqa: BLE001 - as above
            failure = told(error)
    return told_of(view, items, failure)


def told_of(view: Any, items: list[Any], failure: tuple[str, str, Any] | None) -> Outcome:
    result = view.result
    return Outcome(items, failure, result.parts, plain(result.usage), result.complete, view.held)


def moments(view: Any, *, parts: bool = False) -> list[Any]:
    """Tell all that a view tells, after each of its items."""
    told = []
    for item in view.iter_parts() if parts else view:
        result = view.result
        told.append((item, view.held, result.parts, plain(result.usage), result.complete, view.snapshot()))
    return told


def in_pieces(data: bytes, places: Sequence[int]) -> list[bytes]:
    """Cut bytes at these places."""
    ends = sorted({0, *places, len(data)})
    return [data[start:end] for start, end in itertools.pairwise(ends)]


# Places to cut bytes at, as they come modulo their length.
PLACES = st.lists(st.integers(0, 100_000), max_size=12)


def bytewise(data: bytes) -> list[bytes]:
    return [data[at : at + 1] for at in range(len(data))]


# Over sockets


SENTENCE = f"It lasts.{MARKER} So."


def async_client(peer: Peer) -> AsyncOpenAI:
    return new_async_client(peer.base_url, limits=ONE)


def answer_of(api: Api) -> bytes:
    return body(short(api, *SENTENCE), named=api is RESPONSES, done=api is CHAT)


def opened(api: Api, client: Any, **params: Any) -> Any:
    return api.raw(client, model="any", **api.params, **params)


def begun(api: Api) -> bytes:
    """Give two texts of an answer, and what holds part of a marker."""
    return body(short(api, "It", " lasts.", UNCLOSED)[:3], done=False)
