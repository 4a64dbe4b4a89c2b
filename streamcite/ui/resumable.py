"""Answers that survive a reload: written once into a store, and read from there by whoever comes, from any frame on."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Self, TypeAlias, TypeVar

from anyio import create_task_group
from anyio.abc import TaskGroup, TaskStatus

from streamcite.format import OPENAI, CitationFormat
from streamcite.resolve import Resolver, Scope
from streamcite.source import Source

from .asgi import FrameResponse
from .frames import BROKE_OFF, AnswerFrames, Complete, Events
from .producer import patiently, produce
from .protocol import Encoder, ProtocolName, new_encoder
from .store import MemoryStore, Store, StoreError, StoreUnavailable, StreamEnded, StreamLost, StreamNotFound

__all__ = ["ManyAnswers", "Resumable", "StoredFrames"]

ManyAnswers: TypeAlias = ProtocolName | Callable[[], Encoder]
"""A protocol for many answers: its name, or what makes an encoder of it, such as the encoder's class."""

_T = TypeVar("_T")
_logger = logging.getLogger(__name__)
_NUMBER = re.compile("[0-9]{1,15}")  # of a frame: more digits than any has


class Resumable:
    """Serve answers that survive a reload: each is produced once, in the background, for any number of readers.

    It runs as long as a block does, such as the lifespan of an application; where the block ends, answers that are
    still being written break off. Readers may come to any process that has the same store.

        async with Resumable() as answers:
            await answers.start("a1", stream_chat(client, ...))  # in the handler of a question
            return await answers.response("a1", last_event_id=request.headers.get("last-event-id"))

    A key names one answer, once: take a new one for a new answer.

    Args:
        store: where answers are kept; by default a `MemoryStore`.
        protocol: how answers are encoded.
        grace: None to go on with an answer though nobody reads it; else for how many seconds nobody may have read it
            before it is given up. A reader that takes longer than that for 64 frames counts as gone.
        ping: after how many seconds without a frame a reader is sent a comment; None for none.
        on_error: gives what readers are told when reading the events raises, as for `sse_response`.

    Attributes:
        store: where answers are kept.

    Raises:
        TypeError, ValueError: as `new_encoder` of ``protocol``; a TypeError for an encoder, which is for one answer,
            and for a ``store`` that is not a `Store`, such as a client of Redis.
    """

    def __init__(
        self,
        store: Store | None = None,
        *,
        protocol: ManyAnswers = "native",
        grace: float | None = None,
        ping: float | None = 15.0,
        on_error: Callable[[Exception], str] | None = None,
    ) -> None:
        if isinstance(protocol, Encoder):
            raise TypeError("protocol: must be a name or what makes an Encoder, since one is for one answer")
        if store is not None and not hasattr(store, "lease"):
            raise TypeError(f"store: must be a Store, such as RedisStore(client), not {type(store).__name__}")
        self.store: Store = MemoryStore() if store is None else store
        self._headers = new_encoder(protocol).headers
        self._protocol = protocol
        self._grace = grace
        self._ping = ping
        self._on_error = on_error
        self._group: TaskGroup | None = None

    async def __aenter__(self) -> Self:
        self._group = await create_task_group().__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        group = self._group
        if group is None:
            raise RuntimeError("the block of this Resumable has not begun")
        self._group = None
        group.cancel_scope.cancel()
        if not isinstance(error, Exception):
            return await group.__aexit__(kind, error, traceback)
        await group.__aexit__(None, None, None)
        return None  # the error goes on as it is, and not in a group

    async def start(
        self,
        key: str,
        events: Events,
        *,
        sources: Mapping[str, Source] | None = None,
        scope: Scope = "conversation",
        format: CitationFormat = OPENAI,
        complete: Complete = None,
    ) -> bool:
        """Begin to write an answer, unless the store has one under this key, and return when readers can find it.

        What fails later is logged, and readers are told that the answer broke off.

        Args:
            key: of the answer.
            events: of it, as for `sse_response`, like all that follows; closed in the end. What asks for the answer
                when it is read or entered, as ``stream_chat`` does, asks for none that is there.
            sources: see there.
            scope: see there.
            format: see there.
            complete: see there.

        Returns:
            Whether this call is what began it.

        Raises:
            StoreError: the store has failed; its class says how.
            RuntimeError: the block has not begun, or has ended.
            TypeError, ValueError: as `sse_response` does.
        """
        if self._group is None:
            raise RuntimeError("start() outside the block of this Resumable")
        encoder = new_encoder(self._protocol)
        resolver = Resolver({} if sources is None else sources, scope, format=format)
        answer = AnswerFrames(events, encoder, resolver=resolver, complete=complete, on_error=self._on_error)
        begun: bool = await self._group.start(self._produce, key, answer, encoder)
        return begun

    async def response(self, key: str, *, last_event_id: str | None = None) -> FrameResponse:
        """Give the response for a reader: the frames of an answer, those that are there and those that come.

        Args:
            key: of the answer.
            last_event_id: the header ``Last-Event-ID`` of the request, by which a reader that has come back says which
                frame it had last; without one all are sent. It is the number of a frame of this answer: that of
                another one cannot be told from it.

        Returns:
            An ASGI response: status 200; 204 if the reader has all, which tells an ``EventSource`` to stay away; 404 if
            there is no such answer, or it has no such frame, ended or not; 400 if the id is not a number of a frame;
            503 if the store cannot be reached.
        """
        start = 0
        if last_event_id:
            if not _NUMBER.fullmatch(last_event_id):
                return _refusal(400, "Last-Event-ID: must be the number of a frame.")
            start = int(last_event_id) + 1
        try:
            known = await patiently(partial(self.store.look, key), self.store.lease)
        except StreamNotFound:
            return _refusal(404, "There is no such answer, or no longer.")
        except StoreError:
            _logger.exception("%s: cannot be read", key)
            return _refusal(503, "Answers cannot be read for now.")
        if start > known.total and known.whole:
            return _refusal(404, "The answer has no such frame.")
        if start == known.total and known.ended:
            return _refusal(204, "")
        frames = StoredFrames(self.store, key, start, protocol=self._protocol)
        return FrameResponse(frames, headers=self._headers, ping=self._ping)

    async def _produce(
        self, key: str, answer: AnswerFrames, encoder: Encoder, *, task_status: TaskStatus[bool]
    ) -> None:
        begun = _Begun(task_status)
        try:
            await produce(self.store, key, answer, encoder, grace=self._grace, task_status=begun)
        except StreamEnded as error:
            _logger.info("%s", error)
        except Exception:
            if not begun.told:
                raise  # to whoever starts it
            _logger.exception("%s: the answer broke off", key)


class StoredFrames(AsyncIterator[bytes]):
    """Read a stream: each frame from a number on once, in order, those that are there and those that come.

    Where its producer is dead, the reader that notices ends the stream for all of them. Where the store cannot be
    reached, or has lost the stream, it is asked again for as long as its lease.

    Args:
        store: where from.
        key: of the stream.
        start: the number of the first frame.
        protocol: the one that the stream is written by: so it ends, if its producer is dead.

    Attributes:
        ended: whether the last frames were given.
    """

    def __init__(self, store: Store, key: str, start: int = 0, *, protocol: ManyAnswers = "native") -> None:
        self._store = store
        self._key = key
        self._number = start
        self._protocol = protocol
        self._passing: tuple[type[StoreError], ...] = (StoreUnavailable,)
        self.ended: bool = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        """Wait for the next frames, and give them joined, as `next` does."""
        while not self.ended:
            if frames := await self.next():
                return frames[0] if len(frames) == 1 else b"".join(frames)
        raise StopAsyncIteration

    async def next(self) -> Sequence[bytes]:
        """Wait for the next frames, and give them one by one, at most 64; none where the stream ends without more.

        Raises:
            StreamNotFound: there is no such stream, or it has ended before that number; at once, if it is so at first.
            StoreUnavailable: as its class says.
        """
        page = await self._call(partial(self._store.read, self._key, self._number))
        # What was there once may come back.
        self._passing = (StoreUnavailable, StreamLost)
        self._number += len(page.frames)
        self.ended = page.ended
        if not page.alive:
            await self._break_off()
        return page.frames

    async def _break_off(self) -> None:
        """End the stream in the place of its producer."""
        encoder = new_encoder(self._protocol)
        if self._number:
            encoder.skip(self._number)
        finish = partial(self._store.finish, self._key, None, self._number, encoder.fail(BROKE_OFF))
        written = await self._call(finish)
        if written.total < self._number:
            raise StreamNotFound(f"{self._key}: has broken off after {written.total} frames")

    async def _call(self, call: Callable[[], Awaitable[_T]]) -> _T:
        return await patiently(call, self._store.lease, self._passing)


class _Begun(TaskStatus[bool]):
    """Pass on whether a producer has begun, and remember that."""

    def __init__(self, status: TaskStatus[bool]) -> None:
        self.told = False
        self._status = status

    def started(self, value: bool | None = None) -> None:
        self.told = True
        self._status.started(bool(value))


def _refusal(status: int, text: str) -> FrameResponse:
    async def body() -> AsyncGenerator[bytes, None]:
        if text:
            yield text.encode()

    return FrameResponse(body(), headers={"content-type": "text/plain; charset=utf-8"}, status_code=status, ping=None)
