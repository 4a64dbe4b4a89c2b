"""What a thousand readers of one answer cost that is kept in a store: bytes a reader, and time for each frame."""

from __future__ import annotations

import asyncio
import shutil
import tracemalloc
from collections.abc import AsyncIterator, Iterator, MutableMapping
from importlib.util import find_spec
from pathlib import Path
from time import process_time
from typing import Any

from streamcite import ResolvedEvent, Resolver
from streamcite.ui.asgi import FrameResponse
from streamcite.ui.frames import AnswerFrames
from streamcite.ui.native import NativeEncoder
from streamcite.ui.producer import produce
from streamcite.ui.protocol import HEADERS
from streamcite.ui.resumable import StoredFrames
from streamcite.ui.store import MemoryStore, Store

from .redis_server import run_redis
from .report import Figure

READERS = 1_000
EVENTS = 100
SCOPE: dict[str, Any] = {"type": "http", "method": "GET"}


async def texts(count: int) -> AsyncIterator[ResolvedEvent]:
    """Give that many texts, and readers their turn before each."""
    for number in range(count):
        await asyncio.sleep(0.001)
        yield f"word {number} "


async def stay() -> MutableMapping[str, Any]:
    """Receive from a client that does not leave: nothing ever comes."""
    await asyncio.Event().wait()
    raise AssertionError


async def respond(store: Store) -> int:
    """Answer one reader in the process, and give how many bytes were sent."""
    size = 0

    async def take(message: MutableMapping[str, Any]) -> None:
        nonlocal size
        size += len(message.get("body", b""))

    await FrameResponse(StoredFrames(store, "answer"), headers=HEADERS)(SCOPE, stay, take)
    return size


async def deliver(store: Store, readers: int, events: int) -> float:
    """Write an answer while that many read it, and give the seconds that this process spends on it."""
    encoder = NativeEncoder(patches=False)
    answer = AnswerFrames(texts(events), encoder, resolver=Resolver({}))
    whole = NativeEncoder(patches=False)
    frames = whole.feed([]) + [frame for number in range(events) for frame in whole.feed([f"word {number} "])]
    size = sum(map(len, [*frames, *whole.close()]))
    await store.expire("answer")
    writing = asyncio.create_task(produce(store, "answer", answer, encoder))
    await asyncio.sleep(0.05)
    begin = process_time()
    assert set(await asyncio.gather(*(respond(store) for _ in range(readers)))) == {size}
    spent = process_time() - begin
    assert await writing
    return spent


async def costs(store: Store, readers: int, events: int) -> tuple[float, float]:
    """Give how many frames readers get in a second of a processor, and how many bytes each takes at the most."""
    await deliver(store, 1, events)  # what is loaded and compiled once
    spent = await deliver(store, readers, events)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    await deliver(store, readers, max(events // 10, 1))
    most = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    return readers * (events + 2) / spent, most / readers


def figures(*, readers: int = READERS, events: int = EVENTS) -> Iterator[Figure]:
    """Measure each store that there is.

    Args:
        readers: how many read at once.
        events: how many events the answer has.
    """
    yield from _figures("in memory", asyncio.run(costs(MemoryStore(), readers, events)), readers)
    if shutil.which("redis-server") and find_spec("redis"):
        with run_redis() as server:
            yield from _figures("in Redis", asyncio.run(_in_redis(server.path, readers, events)), readers)


def _figures(store: str, found: tuple[float, float], readers: int) -> Iterator[Figure]:
    yield Figure(f"frames in a second of a processor, to {readers} readers, {store}", found[0])
    # A task of asyncio with what waits in it takes 2 KiB, and a response has three.
    yield Figure(f"bytes a reader of {readers}, {store}", found[1], 32_768)


async def _in_redis(path: Path, readers: int, events: int) -> tuple[float, float]:
    from redis.asyncio import Redis

    from streamcite.ui.redis_store import RedisStore

    async with Redis(unix_socket_path=str(path)) as client:
        return await costs(RedisStore(client), readers, events)
