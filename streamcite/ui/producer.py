"""Write an answer into a store, once: its frames as they come, whatever becomes of the store meanwhile."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final, TypeVar

from anyio import TASK_STATUS_IGNORED, CancelScope, Lock, create_task_group, current_time, move_on_after, sleep
from anyio.abc import TaskStatus

from streamcite.driver import CLOSING_TIME

from .failures import failure_of
from .frames import BROKE_OFF, AnswerFrames
from .protocol import Encoder
from .store import PAGE, Store, StoreError, StoreUnavailable, StreamEnded, StreamLost, Written

__all__ = ["patiently", "produce"]

_T = TypeVar("_T")

_FIRST_PAUSE: Final = 0.05  # seconds between two tries; each time it is doubled
_LONGEST_PAUSE: Final = 1.0  # seconds


async def produce(
    store: Store,
    key: str,
    answer: AnswerFrames,
    encoder: Encoder,
    *,
    grace: float | None = None,
    task_status: TaskStatus[bool] = TASK_STATUS_IGNORED,
) -> bool:
    """Write an answer into a store, to its end, unless the store has one under this key.

    While nothing comes, the store is told three times a lease that this producer lives. Where the store cannot be
    reached it is asked again for as long as a lease, and where it has lost the stream that is written again: the frames
    of the answer are held until it has ended.

    Args:
        store: where to.
        key: of the stream.
        answer: its frames; closed in the end, read or not.
        encoder: what encodes them, which also reports an end that the answer does not know of.
        grace: None to go on though nobody reads; else for how many seconds nobody may have read before the answer is
            given up, as one that is not complete. A reader that takes longer than that for 64 frames counts as gone.
        task_status: where ``start`` of a task group is told whether this call writes the answer, once that is known.

    Returns:
        Whether this call has written the answer to its end; False if it was there, or was given up.

    Raises:
        StoreError: the store failed; its class says how. `StreamEnded`: this producer was taken for dead, or the stream
            was expired.
        Exception: what has ended the answer; readers have been told that it broke off.
    """
    producer = _Producer(store, key, encoder, grace)
    try:
        begun = await producer.begin()
        task_status.started(begun)
        return begun and await producer.write(answer)
    finally:
        await answer.aclose()


class _Producer:
    """The writer of one stream."""

    def __init__(self, store: Store, key: str, encoder: Encoder, grace: float | None) -> None:
        self._store = store
        self._key = key
        self._encoder = encoder
        self._grace = grace
        self._name = secrets.token_hex(16)
        self._frames: list[bytes] = []  # of the whole answer, which the store may lose
        self._count = 0  # how many of them it has
        self._lock = Lock()  # the two tasks must not both write them
        self._error: Exception | None = None
        self._ended = False  # whether the stream has its end
        self._written = False  # whether that is the one of the answer

    async def begin(self) -> bool:
        return await patiently(partial(self._store.begin, self._key, self._name), self._store.lease)

    async def write(self, answer: AnswerFrames) -> bool:
        """Write the answer, and an end if it has none; raise the first error."""
        try:
            async with create_task_group() as group:
                group.start_soon(self._beat, group.cancel_scope)
                await self._write_all(answer)
                self._written = self._ended
                group.cancel_scope.cancel()
        finally:
            if not self._ended:
                with move_on_after(CLOSING_TIME, shield=True):
                    await self._break_off()
        if self._error:
            raise self._error
        return self._written

    async def _write_all(self, answer: AnswerFrames) -> None:
        error: Exception | None = None
        try:
            try:
                await self._send(_frames_in(answer.start()))
                async for event in await answer.open():
                    await self._send(_frames_in(answer.encode(event)))
            except StoreError:
                raise
            except BaseException as caught:  # noqa: BLE001  # readers are told of it, and `write` raises it
                error = failure_of(caught)
            await self._send(_frames_in(answer.end(error)), last=True)
        except StoreError as caught:
            error = error or caught
        self._error = self._error or error

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

    async def _break_off(self) -> None:
        """End the stream, if it is still there to be ended."""
        if isinstance(self._error, StreamEnded | StoreUnavailable):
            return
        try:
            await self._send(self._encoder.fail(BROKE_OFF), last=True)
        except StoreError as error:
            self._error = self._error or error

    async def _send(self, frames: Sequence[bytes], *, last: bool = False) -> Written:
        """Add frames to the stream, and all before them that the store has not, or no longer."""
        self._frames += frames
        written = await patiently(partial(self._write, last=last), self._store.lease)
        self._ended = last
        return written

    async def _write(self, *, last: bool) -> Written:
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
                    continue  # it is told what is missing
                self._count = written.total
                if self._count == len(self._frames) and ends == last:
                    return written


def _frames_in(data: bytes) -> list[bytes]:
    """Take frames apart that were joined: each ends with an empty line, and none holds one."""
    return [frame + b"\n\n" for frame in data.split(b"\n\n")[:-1]]


async def patiently(
    call: Callable[[], Awaitable[_T]],
    patience: float,
    passing: tuple[type[StoreError], ...] = (StoreUnavailable,),
) -> _T:
    """Call again, for that many seconds, what meets an error that may pass."""
    pause, until = _FIRST_PAUSE, current_time() + patience
    while True:
        try:
            return await call()
        except passing:
            if current_time() + pause > until:
                raise
        await sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
