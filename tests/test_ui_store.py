"""The stores against a model of one, and each by itself: what is written once is read once, in order, by everybody."""

import asyncio
import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Any

import anyio
import pytest
import redis
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from redis.asyncio import Redis

from streamcite.ui import producer
from streamcite.ui.redis_store import RedisStore
from streamcite.ui.store import (
    PAGE,
    MemoryStore,
    Page,
    State,
    Store,
    StoreFull,
    StreamEnded,
    StreamLost,
    StreamNotFound,
    StreamTooLong,
    Written,
)
from tests.processes import PATIENCE
from tests.redis_server import RedisServer, connected, run_redis
from tests.stores import TEXTS, Answer, Unreliable, frames_of, produce, read_all

LEASE = 60.0
MAX_BYTES = 4000


@pytest.fixture(scope="module")
def redis_server() -> Iterator[RedisServer]:
    with run_redis() as server:
        yield server


@dataclass
class Stream:
    """What a store must know of a stream."""

    producer: str
    frames: list[bytes] = field(default_factory=list)
    ended: bool = False
    alive: bool = True

    def page(self, start: int) -> Page | None:
        """What a reader is given at once; None to wait. `StreamNotFound` stands for itself."""
        frames = self.frames[start : start + PAGE]
        if frames or (self.ended and start == len(self.frames)):
            return Page(frames, self.ended and start + len(frames) == len(self.frames))
        return None if self.alive or self.ended else Page([], alive=False)


def size(frames: list[bytes]) -> int:
    return sum(map(len, frames))


KEYS = ["a", "{b}"]
keys = st.sampled_from(KEYS)
producers = st.sampled_from(["own", "own", "own", "other"])
some_frames = st.lists(st.binary(min_size=1, max_size=60), max_size=PAGE + 5)


class StoreMachine(RuleBasedStateMachine):
    """Any calls in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.runner.get_loop()
        self.store, self.kill = self.open()
        self.streams: dict[str, Stream] = {}
        self.waiting: list[tuple[str, int, asyncio.Task[Page]]] = []
        self.names = count()

    def teardown(self) -> None:
        for _, _, task in self.waiting:
            self.cancel(task)
        self.runner.run(self.close())
        self.runner.close()

    def open(self) -> tuple[Store, Callable[[str], Any]]:
        """Give a store, and what makes the last word of a stream's producer too old."""
        raise NotImplementedError

    async def close(self) -> None:
        """Close what `open` has opened."""

    def run(self, call: Any) -> Any:
        """What a call gives, or the class of its error."""

        async def bounded() -> Any:
            with anyio.fail_after(PATIENCE):
                return await call

        try:
            return self.runner.run(bounded())
        except (StreamNotFound, StreamEnded, StreamTooLong) as error:
            return type(error)

    def name(self, key: str, producer: str) -> str:
        """Name who began a stream, or somebody whose name is new."""
        stream = self.streams.get(key)
        return stream.producer if stream and stream.producer and producer == "own" else f"p{next(self.names)}"

    def cancel(self, task: "asyncio.Task[Page]") -> None:
        async def cancelled() -> None:
            task.cancel()
            with suppress(asyncio.CancelledError, StreamNotFound):
                await task

        self.runner.run(cancelled())

    @initialize()
    def begin_all(self) -> None:
        for key in KEYS:
            self.begin(key, "other", again=False)

    @rule(key=keys, producer=producers, again=st.booleans())
    def begin(self, key: str, producer: str, again: bool) -> None:
        producer = self.name(key, producer)
        known = self.streams.setdefault(key, Stream(producer))
        for _ in range(1 + again):
            assert self.run(self.store.begin(key, producer)) == (known.producer == producer)

    @rule(key=keys, producer=producers, gap=st.integers(-PAGE, 2), frames=some_frames, again=st.booleans())
    def append(self, key: str, producer: str, gap: int, frames: list[bytes], again: bool) -> None:
        producer, stream = self.name(key, producer), self.streams.get(key)
        start = max(len(stream.frames) + gap, 0) if stream else 0
        if stream:
            frames = [*stream.frames[start:], *frames]  # a frame never changes
        for _ in range(1 + again):
            found = self.run(self.store.append(key, producer, start, frames))
            if stream is None:
                assert found in {StreamEnded, StreamLost}
            elif stream.producer != producer or stream.ended:
                assert found is StreamEnded
            elif start > len(stream.frames):
                assert self.is_written(found, len(stream.frames))
            elif (
                sum(map(len, {**dict(enumerate(stream.frames)), **dict(enumerate(frames, start))}.values())) > MAX_BYTES
            ):
                assert found is StreamTooLong
                return
            else:
                stream.alive = True
                stream.frames[start:] = frames
                assert self.is_written(found, len(stream.frames))
                continue
            if stream and stream.producer == producer and not stream.ended:
                stream.alive = True

    @rule(key=keys, producer=st.none() | producers, gap=st.integers(-1, 1), frames=some_frames, again=st.booleans())
    def finish(self, key: str, producer: str | None, gap: int, frames: list[bytes], again: bool) -> None:
        producer, stream = producer and self.name(key, producer), self.streams.get(key)
        start = max(len(stream.frames) + gap, 0) if stream else 0
        if stream:
            frames = [*stream.frames[start:], *frames]
        for _ in range(1 + again):
            found = self.run(self.store.finish(key, producer, start, frames))
            if stream is None:
                missing = {StreamLost, StreamNotFound}
                assert found in (missing if producer is None else {StreamEnded, StreamLost})
                continue
            if producer is not None and stream.producer != producer:
                assert found is StreamEnded
                continue
            count = len(stream.frames)
            may_end = count == start and not stream.alive if producer is None else start <= count
            if may_end and not stream.ended:
                stream.frames[start:] = frames
                stream.ended, stream.producer = True, producer or ""
            assert self.is_written(found, len(stream.frames))

    def is_written(self, found: Any, total: int) -> bool:
        assert isinstance(found, Written)
        assert 0 <= found.idle < PATIENCE
        return found.total == total

    @rule(key=keys)
    def look(self, key: str) -> None:
        found = self.run(self.store.look(key))
        if stream := self.streams.get(key):
            assert found == State(len(stream.frames), stream.ended)
        else:
            assert issubclass(found, StreamNotFound)

    @rule(key=keys, back=st.integers(-2, 2 * PAGE))
    def read(self, key: str, back: int) -> None:
        stream = self.streams.get(key)
        start = max(len(stream.frames) - back, 0) if stream else 0
        if stream and not stream.ended and stream.page(start) is None:
            task = self.runner.get_loop().create_task(self.store.read(key, start))
            self.waiting.append((key, start, task))
            self.runner.run(asyncio.sleep(0.001))
            return
        self.check(key, start, self.run(self.store.read(key, start)))

    def check(self, key: str, start: int, found: Any) -> None:
        stream = self.streams.get(key)
        page = stream.page(start) if stream else None
        if page is None:
            assert issubclass(found, StreamNotFound)
            return
        assert found.alive == page.alive
        # It may have been there before the last frames came; then there is no end yet.
        assert list(found.frames) == page.frames[: len(found.frames)]
        assert bool(found.frames) == bool(page.frames)
        assert found.ended <= page.ended
        assert found.ended or not page.ended or page.frames

    @precondition(lambda self: self.waiting)
    @rule(which=st.integers(0, 9))
    def leave(self, which: int) -> None:
        _, _, task = self.waiting.pop(which % len(self.waiting))
        self.cancel(task)

    @rule(key=keys, chance=st.integers(0, 4))
    def expire(self, key: str, chance: int) -> None:
        if chance:
            return
        self.run(self.store.expire(key))
        self.streams.pop(key, None)
        self.drop(key)

    @rule(key=keys)
    def die(self, key: str) -> None:
        stream = self.streams.get(key)
        if stream and stream.alive and not stream.ended:
            self.kill(key)
            stream.alive = False
            self.drop(key)

    def drop(self, key: str) -> None:
        """Let readers leave that hear of a loss by the clock only."""
        for waiting in [each for each in self.waiting if each[0] == key]:
            self.cancel(waiting[2])
            self.waiting.remove(waiting)

    @invariant()
    def readers_hear_of_what_comes(self) -> None:
        for waiting in [*self.waiting]:
            key, start, task = waiting
            stream = self.streams.get(key)
            if stream is None or stream.ended or stream.page(start) is not None:
                self.waiting.remove(waiting)
                self.check(key, start, self.run(task))
            else:
                assert not task.done()


def test_the_memory_store_is_what_a_store_is() -> None:
    class Machine(StoreMachine):
        def open(self) -> tuple[Store, Callable[[str], Any]]:
            store = MemoryStore(lease=LEASE, keep=1e6, max_bytes=MAX_BYTES)

            def kill(key: str) -> None:
                store._streams[key].beat -= LEASE

            return store, kill

    run_state_machine_as_test(Machine, settings=settings(max_examples=50))


def test_the_redis_store_is_what_a_store_is(redis_server: RedisServer) -> None:
    class Machine(StoreMachine):
        def open(self) -> tuple[Store, Callable[[str], Any]]:
            self.stack = ExitStack()
            client = self.stack.enter_context(connected(redis_server))
            client.flushall()
            # Before Python 3.12 the client, with a limit of its own, hears of a cancellation late.
            self.redis = Redis(unix_socket_path=str(redis_server.path), socket_timeout=None)
            store = RedisStore(self.redis, lease=LEASE, max_bytes=MAX_BYTES)

            async def settled() -> bool:
                return True  # as if Redis ran for longer than a lease

            store._is_settled = settled  # type: ignore[method-assign]
            return store, lambda key: client.hset(f"streamcite:{{{key}}}:producer", "beat", 0)

        async def close(self) -> None:
            await self.redis.aclose()
            self.stack.close()

    run_state_machine_as_test(Machine, settings=settings(max_examples=30, stateful_step_count=30))


@pytest.mark.anyio
async def test_the_memory_store_has_room_for_so_many() -> None:
    store = MemoryStore(max_streams=2, lease=LEASE)
    assert await store.begin("a", "p")
    assert await store.begin("b", "p")
    with pytest.raises(StoreFull, match="all of 2 streams"):
        await store.begin("c", "p")
    await store.finish("b", "p", 0, [b"last"])
    assert await store.begin("c", "p")  # in the place of the one that has ended
    with pytest.raises(StreamNotFound):
        await store.read("b", 0)
    store._streams["a"].beat -= LEASE
    assert not (await store.read("a", 0)).alive
    assert await store.begin("d", "p")  # in the place of the one that is dead
    with pytest.raises(StreamNotFound):
        await store.read("a", 0)


@pytest.mark.anyio
async def test_the_memory_store_forgets_what_is_old() -> None:
    store = MemoryStore(keep=LEASE, lease=LEASE)
    await store.begin("a", "p")
    await store.finish("a", "p", 0, [b"last"])
    assert await store.read("a", 0) == ([b"last"], True, True)
    store._streams["a"].beat -= 2 * LEASE
    await store.begin("b", "p")
    with pytest.raises(StreamNotFound):
        await store.read("a", 0)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.anyio
async def test_a_bad_line_loses_and_doubles_nothing(
    anyio_backend: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(producer, "_FIRST_PAUSE", 0.0005)
    store, outcomes = Unreliable(Random(seed)), []

    async def read() -> None:
        while True:
            try:
                outcomes.append(await read_all(store, "a"))
            except StreamNotFound:  # it has not begun, or was lost before anything of it was read
                await anyio.lowlevel.checkpoint()
            else:
                return

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            for _ in range(10):
                group.start_soon(read)
            await produce(store, "a", Answer())
    assert outcomes == [frames_of(TEXTS)] * 10
    assert store.failed
    assert store.lost


@pytest.mark.parametrize("options", [{"lease": 0}, {"lease": math.inf}, {"keep": "1"}, {"max_bytes": -1}, {"keep": 1}])
def test_limits_are_numbers(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"^{next(iter(options))}: must be"):
        MemoryStore(**options)
    with pytest.raises(ValueError, match=f"^{next(iter(options))}: must be"):
        RedisStore(Redis(), **options)


def test_the_memory_store_holds_some() -> None:
    with pytest.raises(ValueError, match="max_streams: must be a number"):
        MemoryStore(max_streams=0)


def test_the_redis_store_reads_bytes() -> None:
    with pytest.raises(ValueError, match="decode_responses"):
        RedisStore(Redis(decode_responses=True))
    clients: list[Any] = [redis.Redis(), "redis://localhost", None]
    for client in clients:
        with pytest.raises(TypeError, match=r"must be a client of redis\.asyncio, not "):
            RedisStore(client)
