"""The splice over asynchronous streams: in a handler of one's own, and over what other servers send and break."""

import json
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from functools import partial
from http.client import HTTPConnection, IncompleteRead
from queue import SimpleQueue
from typing import Any
from urllib.parse import urlsplit

import anyio
import pytest
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from streamcite import clean
from streamcite.relay import CleanSSE, Splice
from streamcite.sse import LineTooLong
from streamcite.testing import Server, recorded_answers
from streamcite.testing.server import _running, _Uvicorn
from tests.chats import SOURCES, choice, chunk, streamed
from tests.clients import new_async_client, new_client
from tests.http_peer import Peer
from tests.markers import MARKER
from tests.processes import PATIENCE
from tests.raw_streams import ASK, body, bytewise
from tests.responses_streams import UNCLOSED
from tests.splices import cleaned, spliced, up_to_the_end, values
from tests.upstream_reads import STALLED, TEXT, TOLD, at_once
from tests.upstreams import Aimock, Fault, Llmock, Upstream


class Bytes:
    """A stream of bytes that counts how often it is closed, and may fail."""

    def __init__(self, pieces: list[bytes], error: Exception | None = None) -> None:
        self._pieces = pieces
        self._error = error
        self.closings = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            await anyio.lowlevel.checkpoint()
            yield piece
        if self._error:
            raise self._error

    async def aclose(self) -> None:
        await anyio.lowlevel.checkpoint()
        self.closings += 1


class LostError(Exception):
    """What a stream raises when its connection is lost."""


async def outcome(stream: CleanSSE) -> tuple[bytes, type[Exception] | None]:
    """Give what came, and the error that came after it."""
    seen = b""
    try:
        async for piece in stream:
            seen += piece
    except Exception as error:  # noqa: BLE001 - which one it is, is the question
        return seen, type(error)
    return seen, None


DATA = body([*streamed(["It ", TEXT, "lasts."])])


@pytest.mark.anyio
@pytest.mark.parametrize("pieces", [[DATA], bytewise(DATA)], ids=["whole", "bytewise"])
@pytest.mark.parametrize("options", [{}, {"sources": SOURCES, "annotations": "final"}], ids=str)
async def test_it_gives_what_a_splice_gives(pieces: list[bytes], options: Any) -> None:
    stream, response = Bytes(pieces), Bytes([])
    seen = [piece async for piece in CleanSSE(stream, closes=response, **options)]
    assert b"".join(seen) == spliced(pieces, **options)
    assert all(seen)
    assert (stream.closings, response.closings) == (1, 1)


@pytest.mark.anyio
async def test_it_is_closed_once_however_it_is_left() -> None:
    stream = Bytes([DATA, DATA])
    async with CleanSSE(stream) as cleaned_bytes:
        assert await anext(cleaned_bytes)
    await cleaned_bytes.aclose()
    assert stream.closings == 1
    unread = Bytes([DATA])
    await CleanSSE(unread).aclose()
    assert unread.closings == 1


@pytest.mark.anyio
async def test_an_error_comes_after_what_was_held() -> None:
    data = body(streamed(["It ", UNCLOSED], None), done=False)
    stream = Bytes([data], LostError("gone"))
    seen, error = await outcome(CleanSSE(stream))
    assert error is LostError
    assert values(seen) == cleaned("chat", values(data), stopped=True)
    assert stream.closings == 1


@pytest.mark.anyio
async def test_a_line_that_is_too_long_ends_it() -> None:
    stream = Bytes([body(streamed([UNCLOSED], None), done=False), *[b"x" * 600] * 3])
    seen, error = await outcome(CleanSSE(stream, max_line=1_000))
    assert error is LineTooLong
    assert seen == b""  # a marker that was cut off shows nothing
    assert stream.closings == 1


@pytest.mark.anyio
async def test_what_is_not_a_stream_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match="stream: must be an asynchronous iterable of bytes, not list"):
        CleanSSE([DATA])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="api: must be"):
        CleanSSE(Bytes([]), api="any")  # type: ignore[arg-type]


# A handler of one's own, over sockets


@contextmanager
def serving(upstream: str) -> Iterator[str]:
    """Run a handler of one's own in front of a server."""

    async def answer(request: Request) -> StreamingResponse:
        client = new_async_client(upstream)
        stream = await client.chat.completions.create(**await request.json())
        cleaned_bytes = CleanSSE(stream.response.aiter_bytes(), closes=stream)
        closing = BackgroundTask(client.close)  # a program has one for all
        return StreamingResponse(cleaned_bytes, media_type="text/event-stream", background=closing)

    app = Starlette(routes=[Route("/v1/chat/completions", answer, methods=["POST"])])
    with socket.create_server(("127.0.0.1", 0)) as listener, _running(_Uvicorn(app), listener):
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"


def test_a_client_of_the_handler_reads_clean_text(recorded: Server) -> None:
    answer = recorded_answers()["english"]
    with serving(recorded.base_url) as url, new_client(url) as client:
        stream = client.chat.completions.create(model=answer.id, messages=ASK, stream=True)
        deltas = [each.choices[0].delta.content or "" for each in stream if each.choices]
    assert "".join(deltas) == clean(answer.text, complete=True)


def test_text_comes_as_soon_as_it_is_there_and_a_reader_that_leaves_closes_the_upstream(peer: Peer) -> None:
    gone: SimpleQueue[bytes] = SimpleQueue()

    def answer(exchange: Any) -> None:
        exchange.start()
        exchange.send(body([chunk(choice("It "))], done=False))
        gone.put(exchange.connection.recv(1))  # nothing more is sent: it waits for the end of the connection

    peer.answer = answer
    with serving(peer.base_url) as url:
        with closing(HTTPConnection(urlsplit(url).netloc, timeout=PATIENCE)) as reader:
            asked = json.dumps({"model": "any", "messages": ASK, "stream": True})
            reader.request("POST", "/v1/chat/completions", asked, {"content-type": "application/json"})
            assert b"It " in reader.getresponse().read1()
            assert gone.empty()
        assert gone.get(timeout=PATIENCE) == b""


# Servers that nobody here wrote


PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses"}


def received(upstream: Upstream, name: str, model: str, patience: float = PATIENCE) -> tuple[list[bytes], bool]:
    """Give what a server sends, read by read, and whether that broke off."""
    pieces: list[bytes] = []
    asked = {"model": model, "stream": True, "messages": ASK, "input": "?"}
    with closing(HTTPConnection(urlsplit(upstream.url).netloc, timeout=patience)) as connection:
        try:
            connection.request("POST", PATHS[name], json.dumps(asked), {"content-type": "application/json"})
            response = connection.getresponse()
            while piece := response.read1():
                pieces.append(piece)
        except (OSError, IncompleteRead):
            return pieces, True
    return pieces, False


every_api = pytest.mark.parametrize("name", PATHS)


@every_api
@pytest.mark.parametrize("size", [1, 3, 7])
def test_answers_of_another_server_in_any_pieces(aimock: Aimock, name: str, size: int) -> None:
    pieces, _ = received(aimock, name, aimock.answer(TEXT, chunkSize=size))
    seen = spliced(pieces)
    assert values(seen) == cleaned(name, values(b"".join(pieces)))
    assert spliced(bytewise(b"".join(pieces))) == seen
    assert MARKER not in str(values(seen))


@every_api
def test_markers_written_as_escapes(llmock: Llmock, name: str) -> None:
    pieces, _ = received(llmock, name, llmock.answer(TEXT))
    assert b"\\ue200" in b"".join(pieces)
    seen = spliced(pieces)
    assert values(seen) == cleaned(name, values(b"".join(pieces)))
    assert b"\\ue20" not in seen


@every_api
@pytest.mark.parametrize("fault", TOLD)
def test_faults_pass_as_they_are(llmock: Llmock, name: str, fault: Fault) -> None:
    breaks_off(llmock, name, fault)


def test_streams_that_stall_pass_as_they_are(llmock: Llmock) -> None:
    at_once(*(partial(breaks_off, llmock, name, "stall", STALLED) for name in PATHS))


def breaks_off(llmock: Llmock, name: str, fault: Fault, patience: float = PATIENCE) -> None:
    text = f"It lasts. {MARKER[:-1]} and so on and on"
    model = llmock.answer(text, fault=fault, after_chunks=6)
    pieces, broken = received(llmock, name, model, patience)
    whole = b"".join(pieces)
    assert b"It " in whole
    assert broken == (fault in {"disconnect", "stall"})
    seen = spliced(pieces, stopped=broken)
    assert up_to_the_end(values(seen)) == cleaned(name, values(whole), stopped=broken)
    assert (b"[DONE]" in seen, b"completed" in seen) == (b"[DONE]" in whole, b"completed" in whole)


@every_api
def test_a_connection_that_is_cut_inside_a_marker(aimock: Aimock, name: str) -> None:
    pieces, broken = received(aimock, name, aimock.answer_cut(TEXT, after_chunks=8, chunkSize=3))
    assert broken
    splice = Splice()
    seen = b"".join([*map(splice.feed, pieces), splice.close(stopped=True)])
    assert values(seen) == cleaned(name, values(b"".join(pieces)), stopped=True)
