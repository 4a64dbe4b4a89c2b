"""An answer as an ASGI response: `sse_response` for Starlette, FastAPI, and anything else that calls an application.

Source: the ASGI specification, "HTTP connection scope".
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import suppress
from time import monotonic
from typing import Any, Protocol, TypeAlias

from anyio import CancelScope, Event, create_task_group, sleep
from anyio.lowlevel import checkpoint

from streamcite.format import OPENAI, CitationFormat
from streamcite.resolve import Resolver, Scope
from streamcite.source import Source

from . import protocol as protocols
from .frames import AnswerFrames, Complete, Events

__all__ = ["Frames", "SSEResponse", "sse_response"]

_Message: TypeAlias = MutableMapping[str, Any]
_Receive: TypeAlias = Callable[[], Awaitable[_Message]]
_Send: TypeAlias = Callable[[_Message], Awaitable[None]]

PING = b": ping\n\n"
# A server that takes a frame without waiting gives no other task its turn. So that many sends make a turn.
SENDS_PER_TURN = 64


class Frames(Protocol):
    """What a response sends: an `AnswerFrames`, or the stream of a store.

    Attributes:
        ended: whether `next` has given the last ones.
        error: what is raised behind the end of the body, if anything is.
    """

    ended: bool
    error: Exception | None

    async def next(self) -> list[bytes]:
        """Wait for the next frames; there may be none."""

    async def aclose(self) -> None:
        """Close what they come from, shielded from cancellation; called once, in all cases."""


def sse_response(
    events: Events,
    *,
    protocol: protocols.Protocol = "native",
    sources: Mapping[str, Source] | None = None,
    scope: Scope = "conversation",
    format: CitationFormat = OPENAI,
    complete: Complete = None,
    ping: float | None = 15.0,
    headers: Mapping[str, str] | None = None,
    on_error: Callable[[Exception], str] | None = None,
) -> SSEResponse:
    """Answer a request with the events of an answer, as they come.

    Args:
        events: the answer, as for `AnswerFrames`: an event view, ``stream_chat(client, ...)``, ``aiter_events(...)``,
            or any (asynchronous) iterable of events.
        protocol: what the front end speaks, as for `new_encoder`.
        sources: what citations point to, by source id, as for `Resolver`, where the events are not resolved. It may
            grow. Left out, no source is known.
        scope: as for `Resolver`.
        format: what a marker looks like, as for `Resolver`.
        complete: whether an answer whose events come to their end has ended by itself, as for `AnswerFrames`.
        ping: after so many seconds in which nothing was sent, as while a marker is held or the model is silent, a
            comment is sent, so that nothing on the way takes the connection for dead; None sends none.
        headers: more headers of the response, or others than the protocol's.
        on_error: gives what the reader is told when reading the events raises; None tells `BROKE_OFF`, as what an
            error says may be none of the reader's business.

    Returns:
        An ASGI application for one request: return it from an endpoint of Starlette or FastAPI, or ``await
        response(scope, receive, send)``. Where Starlette is loaded it is a response of Starlette's too. (As the
        annotation of an endpoint FastAPI takes its class with ``response_model=None`` only.)

    Raises:
        TypeError: ``events`` is no iterable, or as `new_encoder` and `Resolver` do.
        ValueError: ``ping`` is no positive number, or as these do.
    """
    encoder = protocols.new_encoder(protocol)
    resolver = Resolver({} if sources is None else sources, scope, format=format)
    frames = AnswerFrames(events, encoder, resolver=resolver, complete=complete, on_error=on_error)
    more = {name.lower(): value for name, value in (headers or {}).items()}
    return response_class()(frames, headers={**encoder.headers, **more}, ping=ping)


class SSEResponse:
    """Send frames, each as soon as it is there: an ASGI application for one request.

    The status and the headers are sent at once. Frames are waited for when those before them were taken: nothing is
    read ahead. When the client leaves, what is waited for is cancelled and closed. The body ends right behind the last
    frame; an error that has ended the answer is raised then, for the server's log. Where only the headers are asked for
    (HEAD), nothing is read.

    Args:
        frames: what is sent.
        headers: those of the response, by their names in lower case.
        ping: as for `sse_response`.

    Attributes:
        status_code: the status of the response.
        raw_headers: its headers, as ASGI has them.

    Raises:
        ValueError: ``ping`` is no positive number.
    """

    def __init__(
        self, frames: Frames, *, headers: Mapping[str, str] = protocols.HEADERS, ping: float | None = 15.0
    ) -> None:
        if ping is not None and (isinstance(ping, bool) or not isinstance(ping, int | float) or not ping > 0):
            raise ValueError(f"ping: must be a number of seconds above 0, or None, not {ping!r}")
        self._frames = frames
        self._interval = ping
        self._answered = False
        self.status_code: int = 200
        self.raw_headers: list[tuple[bytes, bytes]] = [
            (name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()
        ]

    async def __call__(self, scope: MutableMapping[str, Any], receive: _Receive, send: _Send) -> None:
        """Answer the request.

        Raises:
            RuntimeError: it is no HTTP request, or another one was answered before.
        """
        if scope["type"] != "http" or self._answered:
            raise RuntimeError("a response answers one HTTP request: make a new one for another")
        self._answered = True
        connection = _Connection(receive, send)
        failure: Exception | None = None
        async with create_task_group() as tasks:
            try:
                try:
                    await connection.start(self.status_code, self.raw_headers)
                    if scope["method"] == "HEAD":
                        await connection.send(b"", more=False)
                    else:
                        tasks.start_soon(connection.wait_until_left, tasks.cancel_scope)
                        if self._interval is not None:
                            tasks.start_soon(connection.ping, self._interval)
                        await self._send_all(connection)
                finally:
                    tasks.cancel_scope.cancel()
                    await self._frames.aclose()
            except Exception as error:  # noqa: BLE001  # raised below: a task group would wrap it
                failure = error
        failure = failure or self._frames.error
        if failure is not None and not connection.left:
            raise failure

    async def _send_all(self, connection: _Connection) -> None:
        frames, sends = self._frames, 0
        while not frames.ended:
            if found := await frames.next():
                sends += 1
                if sends % SENDS_PER_TURN == 0:
                    await checkpoint()
            if found or frames.ended:
                await connection.send(b"".join(found), more=not frames.ended)


class _Left(Exception):
    """The client has left, as the server has said."""


class _Connection:
    """The connection of one request.

    Attributes:
        left: whether the client has, before the end.
    """

    def __init__(self, receive: _Receive, send: _Send) -> None:
        self._receive = receive
        self._send = send
        self._sending = self._ended = False
        self._pinged: Event | None = None  # set when the ping that is being sent was taken
        self._last = monotonic()  # when something was sent last
        self.left: bool = False

    async def start(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        await self._give({"type": "http.response.start", "status": status, "headers": headers})

    async def send(self, body: bytes, *, more: bool) -> None:
        if self._pinged is not None:
            await self._pinged.wait()
        self._sending, self._ended = True, not more
        await self._give({"type": "http.response.body", "body": body, "more_body": more})
        self._sending = False

    async def wait_until_left(self, scope: CancelScope) -> None:
        """Cancel the scope when the client leaves. What is left of the request's body is passed over."""
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.left = not self._ended  # behind the end of the body a server says the same
        scope.cancel()

    async def ping(self, interval: float) -> None:
        """Send a comment whenever nothing was sent for so many seconds, nor waits to be taken."""
        while True:
            wait = interval if self._sending else self._last + interval - monotonic()
            if wait > 0:
                await sleep(wait)
                continue
            self._pinged = Event()
            with suppress(_Left):
                await self._give({"type": "http.response.body", "body": PING, "more_body": True})
            self._pinged.set()
            self._pinged = None

    async def _give(self, message: _Message) -> None:
        try:
            await self._send(message)
        except OSError:
            # So the specification has it since 2.4, where the client has left.
            self.left = True
            raise _Left from None
        self._last = monotonic()


def response_class() -> type[SSEResponse]:
    """Give the class of a response: one of Starlette's too, where that is loaded, for FastAPI asks for it."""
    if "starlette.responses" not in sys.modules:
        return SSEResponse
    from .starlette_response import StarletteSSEResponse

    return StarletteSSEResponse
