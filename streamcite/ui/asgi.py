"""Send frames to a client that may be slow, or leave: an ASGI response for Starlette, FastAPI or anything else ASGI."""

from __future__ import annotations

import math
from collections.abc import AsyncIterable, Awaitable, Callable, Mapping, MutableMapping
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from anyio import CancelScope, Event, create_task_group, sleep
from anyio.lowlevel import checkpoint

from streamcite.driver import Given

if TYPE_CHECKING:
    from starlette.background import BackgroundTask
    from starlette.responses import Response as _Response
else:
    try:
        # FastAPI sends what is a Response of Starlette's; whatever else an endpoint gives it makes JSON of.
        from starlette.responses import Response as _Response
    except ModuleNotFoundError:

        class _Response:
            """What is used of it, where there is no Starlette."""

            def init_headers(self, headers: Mapping[str, str]) -> None:
                self.raw_headers = [(name.lower().encode(), value.encode()) for name, value in headers.items()]


__all__ = ["PING", "FrameResponse"]

_Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[_Message]]
Send: TypeAlias = Callable[[_Message], Awaitable[None]]

PING: Final = b": ping\n\n"
"""A comment, which every reader of server-sent events passes over."""
# A server that takes a frame without waiting gives no other task its turn. So many messages make one.
MESSAGES_PER_TURN: Final = 64


class FrameResponse(_Response):
    """Send frames as they come, each whole, and end right behind the last one.

    The next frames are asked for when the server has taken the last ones, so that a slow client slows down what they
    come from. When the client leaves, what gives them is cancelled where it waits, and closed. While nothing comes,
    a comment goes out now and then, so that nothing on the way takes the connection for dead. Where only the headers
    are asked for (HEAD), no frame is.

    What an error leaves is no whole body: the error is raised to the server, which cuts the connection, and a client
    can tell that from an end. One that is raised behind the last frames is raised behind the end of the body.

    Args:
        frames: whole frames, one or several joined; closed in the end. Where it has an attribute ``ended``, that is
            True as soon as the last ones were given, so that the body need not wait for the end of the iteration.
        headers: of the response.
        status_code: of the response.
        ping: after how many seconds without a frame a comment is sent; None for none.

    Raises:
        TypeError: ``frames`` are no asynchronous iterable.
        ValueError: ``ping`` is no number above 0.
    """

    def __init__(
        self,
        frames: AsyncIterable[bytes],
        *,
        headers: Mapping[str, str],
        status_code: int = 200,
        ping: float | None = 15.0,
    ) -> None:
        if not isinstance(frames, AsyncIterable):
            raise TypeError(f"frames: must be an asynchronous iterable of bytes, not {type(frames).__name__}")
        if ping is not None and not 0 < ping < math.inf:
            raise ValueError(f"ping: must be a number of seconds above 0, not {ping!r}")
        self.status_code: int = status_code
        self.background: BackgroundTask | None = None
        self.init_headers(headers)
        self._frames: AsyncIterable[bytes] | None = frames
        self._ping = ping

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request, as ASGI says.

        Raises:
            RuntimeError: it is no HTTP request, or another one was answered before.
        """
        frames, self._frames = self._frames, None
        if frames is None or scope["type"] != "http":
            raise RuntimeError("a response answers one HTTP request: make a new one for another")
        head = {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        await _Body(frames, receive, send).run(head, self._ping, bare=scope["method"] == "HEAD")
        if self.background is not None:
            await self.background()


class _Left(Exception):
    """Raised where the client has left."""


class _Body:
    """One body on its way."""

    def __init__(self, frames: AsyncIterable[bytes], receive: Receive, send: Send) -> None:
        self._frames = frames
        self._receive = receive
        self._send = send
        self._sending = self._ended = self._left = False
        self._pinged: Event | None = None  # set when the comment that is being sent was taken
        self._sent = monotonic()  # when something was taken last

    async def run(self, head: _Message, ping: float | None, *, bare: bool) -> None:
        given = Given(aiter(self._frames), self._frames)
        failure: Exception | None = None
        async with create_task_group() as group:
            try:
                try:
                    await self._give(head)
                    if not bare:
                        group.start_soon(self._watch, group.cancel_scope)
                        if ping is not None:
                            group.start_soon(self._keep_alive, ping, group.cancel_scope)
                        await self._write(given.deltas.__anext__)
                    await self._end()
                finally:
                    group.cancel_scope.cancel()
                    await given.aclose()
            except _Left:
                pass
            except Exception as error:  # noqa: BLE001  # raised below, as a group would wrap it
                failure = error
        if failure is not None and not self._left:
            raise failure

    async def _write(self, following: Callable[[], Awaitable[bytes]]) -> None:
        count = 0
        with suppress(StopAsyncIteration):
            while True:
                data = await following()
                if getattr(self._frames, "ended", False):
                    await self._end(data)
                    continue
                await self._put(data)
                count += 1
                if count % MESSAGES_PER_TURN == 0:
                    await checkpoint()

    async def _end(self, data: bytes = b"") -> None:
        if not self._ended:
            await self._put(data, more=False)

    async def _put(self, data: bytes, *, more: bool = True) -> None:
        if self._pinged is not None:
            await self._pinged.wait()
        self._sending, self._ended = True, not more
        await self._give({"type": "http.response.body", "body": data, "more_body": more})
        self._sending = False

    async def _give(self, message: _Message) -> None:
        try:
            await self._send(message)
        except OSError:  # so the specification of ASGI
            self._left = True
            raise _Left from None
        self._sent = monotonic()

    async def _keep_alive(self, ping: float, scope: CancelScope) -> None:
        """Send a comment whenever nothing was taken for so long, nor waits to be."""
        while not self._ended:
            wait = ping if self._sending else self._sent + ping - monotonic()
            if wait > 0:
                await sleep(wait)
                continue
            self._pinged = Event()
            try:
                await self._give({"type": "http.response.body", "body": PING, "more_body": True})
            except _Left:
                scope.cancel()
                return
            self._pinged.set()
            self._pinged = None

    async def _watch(self, scope: CancelScope) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        if not self._ended:  # behind the end a server says the same
            self._left = True
            scope.cancel()
