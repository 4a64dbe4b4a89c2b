"""Send frames to a client that may be slow, or leave: an ASGI response for Starlette, FastAPI or anything else ASGI."""

from __future__ import annotations

import math
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, Final, NoReturn, Protocol, TypeAlias

from anyio import CancelScope, Event, create_task_group, sleep
from anyio.lowlevel import checkpoint

from streamcite.driver import Given

from .failures import failure_of

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


__all__ = ["PING", "FrameResponse", "Frames"]

_Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[_Message]]
Send: TypeAlias = Callable[[_Message], Awaitable[None]]

PING: Final = b": ping\n\n"
"""A comment, which every reader of server-sent events passes over."""
# A server that takes a frame without waiting gives no other task its turn. So many messages make one.
MESSAGES_PER_TURN: Final = 128


class Frames(Protocol):
    """What a response sends: the frames of items, which it reads, as `streamcite.ui.frames.AnswerFrames` makes them."""

    @property
    def write(self) -> Callable[[str], bytes] | None:
        """Give what makes the frames of strings in less time than `encode`, until that is called; None if nothing."""

    def start(self) -> bytes:
        """Give what is sent first."""

    async def open(self) -> AsyncIterator[Any]:
        """Give the items."""

    def encode(self, item: Any) -> bytes:
        """Give the frames of an item; there may be none."""

    def end(self, error: Exception | None = None) -> bytes:
        """Give what is sent last, after an error too; or raise the error, where nobody can know what comes last."""

    async def aclose(self) -> None:
        """Close what was opened, shielded from cancellation."""


class FrameResponse(_Response):
    """Send frames as they come, each whole, and end right after the last one.

    The next frames are asked for when the server has taken the last ones, so that a slow client slows down what they
    come from. When the client leaves, what gives them is cancelled where it waits, and closed. While nothing comes,
    a comment goes out now and then, so that nothing on the way takes the connection for dead. Where only the headers
    are asked for (HEAD), no frame is.

    What an error leaves is not a whole body: the error is raised to the server, which cuts the connection, and a client
    can tell that from an end. Where the frames have an end for it, that is sent, and the error raised after it.

    Args:
        frames: whole frames, one or several joined, or what makes them; closed in the end.
        headers: of the response.
        status_code: of the response.
        ping: after how many seconds without a frame a comment is sent, or a quarter later; None for none.

    Raises:
        TypeError: ``frames`` are neither.
        ValueError: ``ping`` is not a number above 0.
    """

    def __init__(
        self,
        frames: AsyncIterable[bytes] | Frames,
        *,
        headers: Mapping[str, str],
        status_code: int = 200,
        ping: float | None = 15.0,
    ) -> None:
        if not (isinstance(frames, AsyncIterable) or hasattr(frames, "encode")):
            raise TypeError(f"frames: must be an asynchronous iterable of bytes, not {type(frames).__name__}")
        if ping is not None and not 0 < ping < math.inf:
            raise ValueError(f"ping: must be a number of seconds above 0, not {ping!r}")
        self.status_code: int = status_code
        self.background: BackgroundTask | None = None
        self.init_headers(headers)
        self._frames: Frames | None = _Ready(frames) if isinstance(frames, AsyncIterable) else frames
        self._ping = ping

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request, as ASGI says.

        Raises:
            RuntimeError: it is not an HTTP request, or another one was answered before.
        """
        frames, self._frames = self._frames, None
        if frames is None or scope["type"] != "http":
            raise RuntimeError("a response answers one HTTP request: make a new one for another")
        head = {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        await _Body(frames, receive, send).run(head, self._ping, bare=scope["method"] == "HEAD")
        if self.background is not None:
            await self.background()


class _Ready:
    """Frames that are made already."""

    write = None

    def __init__(self, frames: AsyncIterable[bytes]) -> None:
        self._given = Given(aiter(frames), frames)
        self.aclose = self._given.aclose

    def start(self) -> bytes:
        return b""

    async def open(self) -> AsyncIterator[bytes]:
        return self._given.deltas  # type: ignore[no-any-return]

    def encode(self, item: bytes) -> bytes:
        return item

    def end(self, error: Exception | None = None) -> bytes:
        if error is not None:
            raise error
        return b""


class _Left(Exception):
    """Raised where the client has left."""


class _Body:
    """One body on its way."""

    def __init__(self, frames: Frames, receive: Receive, send: Send) -> None:
        self._frames = frames
        self._receive = receive
        self._send = send
        self._ended = self._left = False
        self._pinged: Event | None = None  # set when the comment that is being sent was taken
        # How many messages are left of this turn, which changes with each; None while one waits to be taken.
        self._turn: int | None = 0

    async def run(self, head: _Message, ping: float | None, *, bare: bool) -> None:
        failure: Exception | None = None
        async with create_task_group() as group:
            try:
                try:
                    await self._give(head)
                    if not bare:
                        group.start_soon(self._watch, group.cancel_scope)
                        if ping is not None:
                            group.start_soon(self._keep_alive, ping / 4, group.cancel_scope)
                        await self._write()
                    await self._end()
                finally:
                    group.cancel_scope.cancel()
                    await self._frames.aclose()
            except _Left:
                pass
            except Exception as error:  # noqa: BLE001  # raised below, as a group would wrap it
                failure = error
        if failure is not None and not self._left:
            raise failure

    async def _write(self) -> None:
        """Send all, and the end of the body right after it."""
        frames, failure = self._frames, None
        try:
            if first := frames.start():
                self._turn = None
                await self._give(_part(first))
                self._turn = 0
            await self._send_items(await frames.open())
            last = frames.end()
        except _Left:
            raise
        except BaseException as error:  # noqa: BLE001  # raised below, when the client was told of it
            failure = failure_of(error)
            last = frames.end(failure)
        await self._end(last)
        if failure is not None:
            raise failure

    async def _send_items(self, items: AsyncIterator[Any]) -> None:
        frames, send = self._frames, self._send
        write, turn = frames.write, MESSAGES_PER_TURN
        async for item in items:
            if write is not None and type(item) is str and item:
                data = write(item)
            else:
                data = frames.encode(item)
                write = frames.write
                if not data:
                    continue
            if self._pinged is not None:
                await self._pinged.wait()
            self._turn = None
            try:
                await send({"type": "http.response.body", "body": data, "more_body": True})
            except OSError:
                self._leave()
            self._turn = turn = turn - 1
            if not turn:
                turn = MESSAGES_PER_TURN
                await checkpoint()

    async def _end(self, data: bytes = b"") -> None:
        if not self._ended:
            if self._pinged is not None:
                await self._pinged.wait()
            self._ended = True
            await self._give(_part(data, more=False))

    async def _give(self, message: _Message) -> None:
        try:
            await self._send(message)
        except OSError:  # so the specification of ASGI
            self._leave()

    def _leave(self) -> NoReturn:
        self._left = True
        raise _Left

    async def _keep_alive(self, quarter: float, scope: CancelScope) -> None:
        """Send a comment whenever nothing was taken for so long, nor waits to be."""
        quiet, last = 0, self._turn
        while True:
            await sleep(quarter)
            quiet = quiet + 1 if self._turn == last is not None and not self._ended else 0
            last = self._turn
            if quiet < 5:
                continue
            quiet, self._pinged = 0, Event()
            try:
                await self._give(_part(PING))
            except _Left:
                scope.cancel()
            self._pinged.set()
            self._pinged = None

    async def _watch(self, scope: CancelScope) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        if not self._ended:  # after the end a server says the same
            self._left = True
            scope.cancel()


def _part(data: bytes, *, more: bool = True) -> _Message:
    return {"type": "http.response.body", "body": data, "more_body": more}
