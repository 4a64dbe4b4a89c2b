"""Answers in a store, on asyncio and trio and in Redis: produced once, read by all, and ended whatever happens."""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from functools import partial
from random import Random
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from anyio.abc import TaskStatus
from redis.asyncio import Redis

from streamcite.ui import producer
from streamcite.ui.native import NativeEncoder
from streamcite.ui.redis_store import RedisStore
from streamcite.ui.resumable import Resumable, StoredFrames
from streamcite.ui.store import (
    MemoryStore,
    Store,
    StoreError,
    StreamEnded,
    StreamLost,
    StreamNotFound,
    StreamTooLong,
    Written,
)
from tests.processes import PATIENCE
from tests.redis_server import RedisServer, run_redis
from tests.stores import BROKEN_OFF, TEXTS, Answer, a_cancellation, frames_of, produce, read_all

pytestmark = pytest.mark.anyio
NewStore = Callable[..., Store]


@pytest.fixture(scope="module")
def redis_server() -> Iterator[RedisServer]:
    with run_redis() as server:
        yield server


@pytest.fixture(params=[("memory", "asyncio"), ("memory", "trio"), ("redis", "asyncio")], ids="-".join)
def place(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def anyio_backend(place: tuple[str, str]) -> str:
    return place[1]


@pytest.fixture
async def new_store(
    place: tuple[str, str], anyio_backend: str, request: pytest.FixtureRequest
) -> AsyncIterator[NewStore]:
    if place[0] == "memory":
        yield MemoryStore
        return
    server: RedisServer = request.getfixturevalue("redis_server")
    async with Redis(unix_socket_path=str(server.path), socket_timeout=None) as client:
        await client.flushall()
        yield partial(RedisStore, client)


async def test_each_reader_gets_each_frame_once(new_store: NewStore) -> None:
    store, random, outcomes = new_store(), Random(5), []

    async def read(start: int) -> None:
        """Read from a frame on, and leave and come back now and then."""
        await anyio.sleep(random.random() * 0.1)
        got: list[bytes] = []
        while not got or b"event: end" not in got[-1]:
            with anyio.move_on_after(random.random() * 0.1):
                stored = StoredFrames(store, "a", start + len(got))
                while not stored.ended:
                    got += await stored.next()
                    await anyio.sleep(random.choice([0, 0, 0.01]))
        outcomes.append((start, got))

    assert await store.begin("other", "p")
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            await group.start(produce, store, "a", Answer(pause=0.001))
            for number in range(40):
                group.start_soon(read, number % 3 * 20)
    whole = frames_of(TEXTS)
    assert len(outcomes) == 40
    assert all(got == whole[start:] for start, got in outcomes)


async def test_an_answer_is_produced_once(new_store: NewStore) -> None:
    store, answers, outcomes = new_store(), [Answer(TEXTS[:3]) for _ in range(5)], []

    async def write(answer: Answer) -> None:
        outcomes.append(await produce(store, "a", answer))

    async with anyio.create_task_group() as group:
        for answer in answers:
            group.start_soon(write, answer)
    assert sorted(outcomes) == [False] * 4 + [True]
    assert sorted(answer.read for answer in answers) == [0, 0, 0, 0, 3]
    assert all(answer.closed for answer in answers)
    assert await read_all(store, "a") == frames_of(TEXTS[:3])


@pytest.mark.parametrize("complete", [False, lambda: False])
async def test_an_answer_may_end_before_it_is_complete(new_store: NewStore, complete: Any) -> None:
    store = new_store()
    await produce(store, "a", Answer(TEXTS[:3]), complete=complete)
    assert await read_all(store, "a") == frames_of(TEXTS[:3], complete=False)


async def test_an_error_ends_the_answer(new_store: NewStore) -> None:
    store, answer = new_store(), Answer(TEXTS[:2], error=OSError("reset"))
    with pytest.raises(OSError, match="reset"):
        await produce(store, "a", answer)
    assert answer.closed
    assert await read_all(store, "a") == frames_of(TEXTS[:2], broken=True)


async def test_a_source_that_was_cancelled_by_itself_ends_the_answer(new_store: NewStore) -> None:
    store, answer = new_store(), Answer(TEXTS[:2], error=await a_cancellation())
    with pytest.raises(RuntimeError, match="was cancelled, but nobody"):
        await produce(store, "a", answer)
    assert answer.closed
    assert await read_all(store, "a") == frames_of(TEXTS[:2], broken=True)


async def test_a_producer_that_is_cancelled_ends_the_answer(new_store: NewStore) -> None:
    store, answer = new_store(), Answer(held=True)
    async with anyio.create_task_group() as group:
        await group.start(produce, store, "a", answer)
        await StoredFrames(store, "a").next()
        group.cancel_scope.cancel()
    assert answer.closed
    assert answer.read < len(TEXTS)
    frames = await read_all(store, "a")
    assert frames[:-1] == frames_of(TEXTS)[: len(frames) - 1]
    assert BROKEN_OFF in frames[-1]


async def test_a_producer_goes_on_when_the_last_reader_leaves(new_store: NewStore) -> None:
    store = new_store()
    async with anyio.create_task_group() as group:
        await group.start(produce, store, "a", Answer(pause=0.002))
        with anyio.move_on_after(0.02):
            await read_all(store, "a")
    assert await read_all(store, "a") == frames_of(TEXTS)


async def test_a_producer_stops_when_the_last_reader_leaves(
    new_store: NewStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, answer, outcomes = new_store(lease=PATIENCE), Answer(TEXTS[:3], held=True), []
    beats, beat = anyio.create_memory_object_stream[None](0)

    async def sleep(seconds: float) -> None:
        assert seconds <= store.lease / 3
        await beat.receive()

    async def write(*, task_status: TaskStatus[bool]) -> None:
        outcomes.append(await produce(store, "a", answer, grace=PATIENCE, task_status=task_status))

    monkeypatch.setattr(producer, "sleep", sleep)
    with beats, beat, anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            await group.start(write)
            await leave(store)
            await StoredFrames(store, "a").next()
            await beats.send(None)
            while not beats.statistics().tasks_waiting_receive:  # until the producer has seen that somebody reads
                assert not outcomes
                await anyio.sleep(0.001)
            await leave(store)
            await beats.send(None)
    assert outcomes == [False]
    assert answer.closed
    assert BROKEN_OFF in (await read_all(store, "a"))[-1]


async def leave(store: Store) -> None:
    """Let it be long ago that somebody read."""
    if isinstance(store, MemoryStore):
        store._streams["a"].seen -= 2 * PATIENCE
    elif isinstance(store, RedisStore):
        await store._redis.hset("streamcite:{a}:producer", "seen", "0")


async def test_of_a_producer_that_says_nothing_for_long_it_is_heard_that_it_lives(
    new_store: NewStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, answer = new_store(lease=0.3), Answer(["late"], held=True)
    append, calls = store.append, 0

    async def told(key: str, producer: str, start: int, frames: Sequence[bytes]) -> Written:
        nonlocal calls
        calls += 1
        if calls > 5:  # three of them are a lease
            answer.may_end.set()
        return await append(key, producer, start, frames)

    monkeypatch.setattr(store, "append", told)
    with anyio.fail_after(PATIENCE):
        await produce(store, "a", answer)
    assert await read_all(store, "a") == frames_of(["late"])


async def test_a_dead_producer_is_noticed(new_store: NewStore) -> None:
    store, encoder = new_store(lease=0.2), NativeEncoder()
    frames = [*encoder.feed([]), *encoder.feed(["And then "])]
    await store.begin("a", "dies")
    await store.append("a", "dies", 0, frames)
    outcomes: list[list[bytes]] = []

    async def read() -> None:
        outcomes.append(await read_all(store, "a"))

    async def leave() -> None:
        with anyio.move_on_after(0.05):
            await read()

    with anyio.fail_after(PATIENCE / 2):
        async with anyio.create_task_group() as group:
            group.start_soon(leave)  # the first one, which may be what looks at the time for all
            for _ in range(5):
                group.start_soon(read)
        await read()  # who comes late is told the same
    assert all(got == outcomes[0] for got in outcomes)
    assert outcomes[0][:-1] == frames
    assert outcomes[0][-1] == b"event: end\nid: %d\ndata: " % len(frames) + BROKEN_OFF
    for call in (store.append, store.finish):  # one that was not dead after all
        with pytest.raises(StreamEnded):
            await call("a", "dies", len(frames), encoder.feed(["came the rest."]))


async def test_a_reader_ahead_of_a_dead_producer_is_told(new_store: NewStore) -> None:
    store = new_store(lease=0.1)
    await store.begin("a", "dies")
    with pytest.raises(StreamNotFound, match="broken off after 0 frames"), anyio.fail_after(PATIENCE):
        await read_all(store, "a", 7)


async def test_who_says_to_have_more_than_there_is_is_told_at_once(new_store: NewStore) -> None:
    """Whether the answer is being written, or its producer is dead, or it has ended."""
    store = new_store(lease=0.1, keep=PATIENCE)
    for key in ("live", "dead", "ended"):
        await store.begin(key, "p")
        await store.append(key, "p", 0, [b"id: 0\n\n", b"id: 1\n\n"])
    await store.finish("ended", "p", 2, [])
    await anyio.sleep(0.2)
    await store.append("live", "p", 2, [])
    with anyio.fail_after(PATIENCE):
        # A Redis that is just up may have lost some.
        while not (await store.look("live")).whole:  # noqa: ASYNC110  # time sets no event
            await anyio.sleep(0.01)
    for key, status in (("live", 200), ("dead", 200), ("ended", 204)):
        responses = [await Resumable(store).response(key, last_event_id=str(number)) for number in (1, *AHEAD)]
        assert [response.status_code for response in responses] == [status, *[404] * len(AHEAD)]


AHEAD = [2, 3, 63, 64, 10**15 - 1]


async def test_an_answer_without_an_end_is_ended(new_store: NewStore) -> None:
    store, answer = new_store(max_bytes=2000), Answer(["word "] * 100_000)
    with pytest.raises(StreamTooLong, match="longer"):
        await produce(store, "a", answer)
    assert answer.closed
    frames = await read_all(store, "a")
    assert BROKEN_OFF in frames[-1]
    assert sum(map(len, frames)) < 3000


async def test_an_answer_that_is_expired_is_no_longer_produced(new_store: NewStore) -> None:
    store, answer = new_store(), Answer(pause=0.05)
    await expire(store, answer)
    assert answer.closed
    assert answer.read < len(TEXTS)
    with pytest.raises(StreamNotFound):
        await read_all(store, "a")


async def expire(store: Store, answer: Answer) -> None:
    """Expire an answer when its first frame is there, and wait until its producer hears of it."""

    async def write(*, task_status: TaskStatus[bool]) -> None:
        with pytest.raises(StreamEnded):
            await produce(store, "a", answer, task_status=task_status)

    async with anyio.create_task_group() as group:
        await group.start(write)
        await StoredFrames(store, "a").next()
        await store.expire("a")


async def test_a_producer_hears_of_the_end_while_it_waits(new_store: NewStore) -> None:
    """By its next word to the store, not only by its next frame."""
    store, answer = new_store(lease=0.3), Answer(["word"], pause=PATIENCE)
    with anyio.fail_after(PATIENCE):
        await expire(store, answer)
    assert answer.closed


async def test_a_stream_that_ends_without_a_frame(new_store: NewStore) -> None:
    store = new_store(lease=0.1)
    await store.begin("a", "dies")
    body = b"".join([data async for data in StoredFrames(store, "a")])
    assert body == b"".join(frames_of([], broken=True))
    await store.begin("b", "ends")
    await store.finish("b", "ends", 0, [])
    assert [data async for data in StoredFrames(store, "b")] == []
    with pytest.raises(StreamNotFound):
        await store.read("b", 1)
    for call in (store.append, store.finish):
        with pytest.raises(StreamEnded):
            await call("a", "dies", 0, [b"frame"])
    with pytest.raises(StreamEnded):
        await store.append("b", "ends", 0, [b"frame"])


async def test_another_producer_takes_the_key(new_store: NewStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the store has lost the stream, and something else has begun one under its key."""
    store, calls = new_store(), 0

    async def append(*_: object) -> Written:
        nonlocal calls
        calls += 1
        await store.expire("a")
        await store.begin("a", "other")
        raise StreamLost("a")

    monkeypatch.setattr(store, "append", append)
    with pytest.raises(StreamEnded, match="another producer"):
        await produce(store, "a", Answer())
    assert calls == 1


@pytest.mark.parametrize("name", ["append", "finish"])
async def test_a_store_that_fails(new_store: NewStore, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store, answer = new_store(lease=0.1), Answer(TEXTS[:3])

    async def fail(*_: object) -> Written:
        raise StoreError(f"{name}: no")

    monkeypatch.setattr(store, name, fail)
    with pytest.raises(StoreError, match=f"{name}: no"):
        await produce(store, "a", answer)
    assert answer.closed


async def test_a_store_that_refuses_even_the_end(new_store: NewStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store = new_store(max_bytes=100)

    async def fail(*_: object) -> Written:
        raise StoreError("finish: no")

    monkeypatch.setattr(store, "finish", fail)
    with pytest.raises(StreamTooLong):
        await produce(store, "a", Answer())
