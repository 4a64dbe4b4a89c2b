"""Answers and stores for tests of resumable streams."""

from collections.abc import AsyncIterator, Sequence
from random import Random
from typing import Any

import anyio
import anyio.lowlevel
from anyio.abc import TaskStatus

from streamcite import Resolver
from streamcite.links import ResolvedEvent
from streamcite.ui import producer
from streamcite.ui.frames import AnswerFrames
from streamcite.ui.native import NativeEncoder
from streamcite.ui.resumable import StoredFrames
from streamcite.ui.store import (
    MemoryStore,
    Page,
    State,
    Store,
    StoreUnavailable,
    StreamEnded,
    StreamLost,
    StreamNotFound,
    Written,
)
from tests.processes import PATIENCE

TEXTS = [f"word {number}, " for number in range(150)]
BROKEN_OFF = b'{"complete":false,"error":"The answer broke off."}\n\n'


def frames_of(texts: Sequence[str], *, complete: bool = True, broken: bool = False) -> list[bytes]:
    """What a reader is to get of an answer."""
    encoder = NativeEncoder()
    frames = encoder.feed([])
    for text in texts:
        frames += encoder.feed([text])
    return frames + (encoder.fail("The answer broke off.") if broken else encoder.close(complete=complete))


class Answer:
    """The events of an answer, one at a time, with a pause before each that is at least a turn of the others.

    Attributes:
        read: how many were given.
        done: set when the iteration has ended, or was closed.
        may_end: the last is given when this is set, as it is from the beginning if the answer is not ``held``.
    """

    def __init__(
        self,
        texts: Sequence[str] = TEXTS,
        *,
        pause: float = 0.0,
        error: BaseException | None = None,
        held: bool = False,
    ) -> None:
        self.read = 0
        self.done = anyio.Event()
        self.may_end = anyio.Event()
        if not held:
            self.may_end.set()
        self._texts = texts
        self._pause = pause
        self._error = error

    @property
    def closed(self) -> bool:
        return self.done.is_set()

    async def __aiter__(self) -> AsyncIterator[ResolvedEvent]:
        try:
            for text in self._texts:
                await anyio.sleep(self._pause)
                if self.read == len(self._texts) - 1:
                    await self.may_end.wait()
                self.read += 1
                yield text
            if self._error:
                raise self._error
        finally:
            self.done.set()

    async def aclose(self) -> None:
        self.done.set()


async def a_cancellation() -> BaseException:
    """Give what stands for a cancellation, of a scope that is over: nobody is cancelled any more."""
    with anyio.CancelScope() as scope:
        scope.cancel()
        try:
            await anyio.lowlevel.checkpoint()
        except anyio.get_cancelled_exc_class() as error:
            kept = error
            raise
    return kept


async def produce(
    store: Store,
    key: str,
    answer: Answer,
    *,
    grace: float | None = None,
    complete: Any = None,
    task_status: TaskStatus[bool] = anyio.TASK_STATUS_IGNORED,
) -> bool:
    encoder = NativeEncoder()
    frames = AnswerFrames(answer, encoder, resolver=Resolver({}), complete=complete)
    return await producer.produce(store, key, frames, encoder, grace=grace, task_status=task_status)


async def read_all(store: Store, key: str, start: int = 0) -> list[bytes]:
    stored = StoredFrames(store, key, start)
    got: list[bytes] = []
    while not stored.ended:
        got += await stored.next()
    return got


class Unreliable:
    """A store behind a bad line: a call may fail before it is done, or behind that, and the store may lose all."""

    def __init__(self, random: Random, *, lease: float = PATIENCE) -> None:
        self._store = MemoryStore(lease=lease)
        self._random = random
        self.lease = self._store.lease
        self.failed = self.lost = 0

    async def _call(self, name: str, key: str, *args: Any) -> Any:
        chance = self._random.random()
        if chance < 0.1:
            self.failed += 1
            raise StoreUnavailable("before")
        if 0.1 < chance < 0.12 and key in self._store._streams and not self._store._streams[key].ended:
            self.lost += 1
            self._store._remove(key)
        if name != "begin" and key not in self._store._streams:
            raise StreamLost(key)
        try:
            result = await getattr(self._store, name)(key, *args)
        except (StreamEnded, StreamNotFound):
            if key not in self._store._streams:
                raise StreamLost(key) from None
            raise
        if chance > 0.9:
            self.failed += 1
            raise StoreUnavailable("behind")
        return result

    async def begin(self, key: str, producer: str) -> bool:
        return bool(await self._call("begin", key, producer))

    async def append(self, key: str, producer: str, start: int, frames: Sequence[bytes]) -> Written:
        written: Written = await self._call("append", key, producer, start, frames)
        return written

    async def finish(self, key: str, producer: str | None, start: int, frames: Sequence[bytes]) -> Written:
        written: Written = await self._call("finish", key, producer, start, frames)
        return written

    async def look(self, key: str) -> State:
        state: State = await self._call("look", key)
        return state

    async def read(self, key: str, start: int) -> Page:
        page: Page = await self._call("read", key, start)
        return page

    async def expire(self, key: str) -> None:
        await self._call("expire", key)
