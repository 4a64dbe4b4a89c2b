"""Answers that survive a reload: written once into a store, and read from there by whoever comes, from any frame on."""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Sequence
from functools import partial
from typing import Final, TypeVar

from anyio import CancelScope, Lock, create_task_group, current_time, move_on_after, sleep

from streamcite.driver import CLOSING_TIME, Given
from streamcite.links import ResolvedEvent

from .protocol import Encoder, Protocol, new_encoder
from .store import PAGE, Store, StoreError, StoreUnavailable, StreamEnded, StreamLost, StreamNotFound, Written

__all__ = ["produce", "read_frames"]

_T = TypeVar("_T")

_FIRST_PAUSE: Final = 0.05  # seconds between two tries; each time it is doubled
_LONGEST_PAUSE: Final = 1.0  # seconds
_BROKEN: Final = "The answer broke off."


async def produce(
    store: Store,
    key: str,
    events: AsyncIterable[ResolvedEvent],
    *,
    protocol: Protocol = "native",
    grace: float | None = None,
) -> bool:
    """Write an answer into a store, to its end, unless the store has one under this key.

    While nothing comes, the store is told three times a lease that this producer lives. Where the store cannot be
    reached it is asked again for as long as a lease, and where it has lost the stream that is written again: the frames
    of the answer are held until it has ended.

    Args:
        store: where to.
        key: of the stream.
        events: of the answer; closed in the end, read or not.
        protocol: how they are encoded.
        grace: None to go on though nobody reads; else for how many seconds nobody may have read before the answer is
            given up, as one that is not complete. A reader that takes longer than that for 64 frames counts as gone.

    Returns:
        Whether this call has written the answer to its end; False if it was there, or was given up.

    Raises:
        StoreError: the store failed; its class says how. A `StreamEnded`: it was taken for dead, or the stream was
            expired.
        Exception: what the events raised; readers have been told that the answer broke off.
    """
    given = Given(aiter(events), events)
    producer = _Producer(store, key, new_encoder(protocol), grace)
    try:
        return await producer.begin() and await producer.write(given)
    finally:
        await given.aclose()


class _Producer:
    """Who writes one stream."""

    def __init__(self, store: Store, key: str, encoder: Encoder, grace: float | None) -> None:
        self._store = store
        self._key = key
        self._encoder = encoder
        self._grace = grace
        self._name = secrets.token_hex(16)
        self._frames: list[bytes] = []  # of the whole answer, which the store may lose
        self._count = 0  # how many of them it has
        self._lock = Lock()  # the two tasks must not both write them
        self._error: BaseException | None = None

    async def begin(self) -> bool:
        return await _patiently(partial(self._store.begin, self._key, self._name), self._store.lease)

    async def write(self, given: Given) -> bool:
        """Write events, or what became of them instead; raise the first error."""
        left = True
        try:
            async with create_task_group() as group:
                group.start_soon(self._beat, group.cancel_scope)
                left = not await self._all_written(given)
                group.cancel_scope.cancel()
        finally:
            with move_on_after(CLOSING_TIME, shield=True):
                await self._end(complete=not left)
        if self._error is not None:
            raise self._error
        return not left

    async def _all_written(self, given: Given) -> bool:
        try:
            await self._send(self._encoder.feed([]))
            async for event in given.deltas:
                await self._send(self._encoder.feed([event]))
        except Exception as error:  # noqa: BLE001  # raised by `write`, behind the end of the stream
            self._error = error
            return False
        return True

    async def _beat(self, scope: CancelScope) -> None:
        pause = min(self._store.lease / 3, self._grace or self._store.lease)
        while True:
            await sleep(pause)
            try:
                written = await self._send([])
            except StoreError as error:
                self._error = error
                break
            if self._grace is not None and written.idle >= self._grace:
                break
        scope.cancel()

    async def _end(self, *, complete: bool) -> None:
        """End the stream, if it is still there to be ended."""
        frames = self._encoder.fail(_BROKEN) if self._error else self._encoder.close(complete=complete)
        if isinstance(self._error, StreamEnded | StoreUnavailable):
            return
        try:
            await self._send(frames, last=True)
        except StoreError as error:
            self._error = self._error or error

    async def _send(self, frames: Sequence[bytes], *, last: bool = False) -> Written:
        """Add frames to the stream, and all in front of them that the store has not, or no longer."""
        self._frames += frames
        return await _patiently(partial(self._write_on, last=last), self._store.lease)

    async def _write_on(self, *, last: bool) -> Written:
        async with self._lock:
            while True:
                behind = self._count + PAGE
                rest = self._frames[self._count : behind]
                ends = last and behind >= len(self._frames)
                write = self._store.finish if ends else self._store.append
                try:
                    written = await write(self._key, self._name, self._count, rest)
                except StreamLost:
                    if not await self._store.begin(self._key, self._name):
                        raise StreamEnded(f"{self._key}: another producer writes it") from None
                    self._count = 0
                    continue
                self._count = written.total
                if self._count == len(self._frames) and ends == last:
                    return written


async def read_frames(
    store: Store, key: str, start: int = 0, *, protocol: Protocol = "native"
) -> AsyncGenerator[Sequence[bytes], None]:
    """Read a stream: each frame from a number on once, in order, those that are there and those that come.

    Where its producer is dead, the reader that notices ends the stream for all of them. Where the store cannot be
    reached, or has lost the stream, it is asked again for as long as its lease.

    Args:
        store: where from.
        key: of the stream.
        start: the number of the first frame.
        protocol: by which a stream ends whose producer is dead: the one it is written by.

    Yields:
        What is there, at most 64 frames at once. It ends where the stream has ended.

    Raises:
        StreamNotFound: there is no such stream, or it has ended before that number. At once, if it is so at first.
        StoreUnavailable: as its class says.
    """
    number = start
    passing: tuple[type[StoreError], ...] = (StoreUnavailable,)
    while True:
        page = await _patiently(partial(store.read, key, number), store.lease, passing)
        passing = (StoreUnavailable, StreamLost)
        if page.frames:
            yield page.frames
            number += len(page.frames)
        if page.ended:
            return
        if not page.alive:
            encoder = new_encoder(protocol)
            encoder.skip(number)
            finish = partial(store.finish, key, None, number, encoder.fail(_BROKEN))
            written = await _patiently(finish, store.lease, passing)
            if written.total < number:
                raise StreamNotFound(f"{key}: has broken off behind {written.total} frames")


async def _patiently(
    call: Callable[[], Awaitable[_T]],
    patience: float,
    passing: tuple[type[StoreError], ...] = (StoreUnavailable,),
) -> _T:
    """Call again, for so many seconds, what meets an error that may pass."""
    pause, until = _FIRST_PAUSE, current_time() + patience
    while True:
        try:
            return await call()
        except passing:
            if current_time() + pause > until:
                raise
        await sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
