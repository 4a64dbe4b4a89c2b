"""Send frames to a client that may be slow, or leave: an ASGI response for Starlette, FastAPI or anything else ASGI."""

from __future__ import annotations

import math
from collections.abc import AsyncIterable, Awaitable, Callable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from anyio import CancelScope, Lock, create_task_group, current_time, sleep_until

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


class FrameResponse(_Response):
    """Send frames as they come, each whole, and end right behind the last one.

    The next frames are asked for when the server has taken the last ones, so that a slow client slows down what they
    come from. When the client leaves, what gives them is cancelled where it waits, and closed. While nothing comes,
    a comment goes out now and then, so that nothing on the way takes the connection for dead.

    What an error leaves is no whole body: the error is raised to the server, which cuts the connection, and a client
    can tell that from an end.

    Args:
        frames: whole frames, one or several joined; closed in the end.
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
        self._frames = frames
        self._ping = ping

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request, as ASGI says."""
        body = _Body(self._frames, send)
        await body.run(receive, {"status": self.status_code, "headers": self.raw_headers}, self._ping)
        if self.background is not None:
            await self.background()


class _Left(Exception):
    """Raised where the client has left."""


class _Body:
    """One body on its way."""

    def __init__(self, frames: AsyncIterable[bytes], send: Send) -> None:
        self._given = Given(aiter(frames), frames)
        self._send = send
        self._lock = Lock()  # a comment must not come while a frame waits to be taken
        self._sent = current_time()  # when something was sent last
        self._ended = False
        self._error: Exception | None = None

    async def run(self, receive: Receive, head: _Message, ping: float | None) -> None:
        try:
            async with create_task_group() as group:
                group.start_soon(self._watch, receive, group.cancel_scope)
                if ping is not None:
                    group.start_soon(self._keep_alive, ping, group.cancel_scope)
                await self._write(head)
                group.cancel_scope.cancel()
        finally:
            await self._given.aclose()
        if self._error is not None:
            raise self._error

    async def _write(self, head: _Message) -> None:
        try:
            await self._put({"type": "http.response.start", **head})
            async for data in self._given.deltas:
                await self._put({"type": "http.response.body", "body": data, "more_body": True})
            await self._put({"type": "http.response.body"}, last=True)
        except _Left:
            pass
        except Exception as error:  # noqa: BLE001  # raised by `run`, not in a group
            self._error = error

    async def _put(self, message: _Message, *, last: bool = False, silence: float = 0.0) -> None:
        """Send a message, unless something was sent in so many seconds, or all was."""
        async with self._lock:
            if self._ended or current_time() < self._sent + silence:
                return
            try:
                await self._send(message)
            except OSError:  # so the specification of ASGI
                raise _Left from None
            self._sent, self._ended = current_time(), last

    async def _keep_alive(self, ping: float, scope: CancelScope) -> None:
        while True:
            await sleep_until(self._sent + ping)
            try:
                await self._put({"type": "http.response.body", "body": PING, "more_body": True}, silence=ping)
            except _Left:
                scope.cancel()

    async def _watch(self, receive: Receive, scope: CancelScope) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        scope.cancel()
