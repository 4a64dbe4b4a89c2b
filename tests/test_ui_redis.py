"""Redis that goes and comes back, with and without what was in it; and how little is asked of it."""

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as Disconnected

from streamcite.ui.redis_store import RedisStore
from streamcite.ui.resumable import Resumable, StoredFrames
from streamcite.ui.store import StoreError, StoreUnavailable, StreamEnded, StreamNotFound
from tests.processes import PATIENCE
from tests.redis_server import RedisServer, connected, run_redis
from tests.stores import TEXTS, Answer, frames_of, produce, read_all

pytestmark = pytest.mark.asyncio
STREAM = "streamcite:{a}"
HASH = f"{STREAM}:producer"


@pytest.fixture(scope="module")
def redis_server() -> Iterator[RedisServer]:
    with run_redis() as server:
        with connected(server) as client:
            client.flushall()
        yield server


@pytest.fixture
def server(redis_server: RedisServer) -> RedisServer:
    with connected(redis_server) as client:
        client.flushall()
    return redis_server


def connect(server: RedisServer, **options: Any) -> "Redis":
    return Redis(unix_socket_path=str(server.path), **options)


async def until(ask: Callable[[], Any], so: Callable[[Any], bool]) -> None:
    """Ask until it is so. A connection that Redis took with it is noticed by a question, and the next makes another."""
    while True:
        with suppress(Disconnected):
            if so(await ask()):
                return
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("persistent", [False, True], ids=["in memory", "on disk"])
async def test_redis_restarts(persistent: bool) -> None:
    """Twice while an answer is written, with readers in another process: here, with a store of their own."""
    with run_redis(persistent=persistent) as server:
        async with connect(server) as one, connect(server) as other, asyncio.timeout(PATIENCE):
            store, far = RedisStore(one), RedisStore(other)
            answer = Answer(pause=0.004, held=True)
            producing = asyncio.create_task(produce(store, "a", answer))
            await until(lambda: one.exists(HASH), bool)
            readers = [asyncio.create_task(read_all(where, "a")) for where in (store, far) for _ in range(5)]
            for least in (30, 80):
                await until(lambda: one.xlen(STREAM), least.__le__)
                server.kill()
                await asyncio.to_thread(server.start)
            answer.may_end.set()
            assert await producing
            assert await asyncio.gather(*readers) == [frames_of(TEXTS)] * 10
            assert await read_all(far, "a") == frames_of(TEXTS)


class Forgetful(Redis):
    """A client whose Redis has just been started before each call, as far as scripts go."""

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        run: Any = super().execute_command
        await run("SCRIPT FLUSH")
        return await run(*args, **options)


async def test_redis_may_forget_its_scripts_before_any_call(server: RedisServer) -> None:
    async with Forgetful(unix_socket_path=str(server.path)) as client, asyncio.timeout(PATIENCE):
        store = RedisStore(client)
        assert await produce(store, "a", Answer())
        assert (await store.look("a")).total == len(frames_of(TEXTS))
        assert await read_all(store, "a") == frames_of(TEXTS)
        await store.expire("a")
        with pytest.raises(StreamNotFound):
            await store.look("a")


async def test_redis_forgets_the_last_frames(server: RedisServer) -> None:
    """As it does that writes to the disk once a second."""
    async with connect(server) as client, asyncio.timeout(PATIENCE):
        store = RedisStore(client)
        answer = Answer(pause=0.004, held=True)
        producing = asyncio.create_task(produce(store, "a", answer))
        await until(lambda: client.xlen(STREAM), lambda length: length >= 60)
        reader = asyncio.create_task(read_all(store, "a", 30))
        await asyncio.sleep(0.02)
        forget = """
            for _, entry in ipairs(redis.call('XRANGE', KEYS[1], '40-0', '+')) do
              redis.call('XDEL', KEYS[1], entry[1])
            end
            redis.call('XSETID', KEYS[1], '39-0')
        """
        await client.eval(forget, 1, STREAM)
        answer.may_end.set()
        assert await producing
        assert await reader == frames_of(TEXTS)[30:]
        assert await read_all(store, "a") == frames_of(TEXTS)


async def test_who_is_ahead_of_redis_that_has_just_come_up_waits_for_what_is_brought_back(server: RedisServer) -> None:
    async with connect(server) as client, asyncio.timeout(PATIENCE):
        await until(lambda: client.info("server"), lambda info: info["uptime_in_seconds"] >= 1)
        for lease, status in ((600.0, 200), (1.0, 404)):
            store = RedisStore(client, lease=lease)
            await store.begin("a", "p")
            assert (await Resumable(store).response("a", last_event_id="7")).status_code == status


async def test_redis_that_stays_away_is_an_error_of_its_name() -> None:
    with run_redis() as server:
        # The client itself tries for some seconds, unless it is told not to.
        async with connect(server, retry=Retry(NoBackoff(), 0)) as client, asyncio.timeout(PATIENCE):
            store = RedisStore(client, lease=PATIENCE)  # nobody takes the producer for dead
            store.lease = 0.5  # but that is for how long Redis is asked again
            answer = Answer(pause=0.01)
            producing = asyncio.create_task(produce(store, "a", answer))
            await until(lambda: client.exists(HASH), bool)
            reading = [asyncio.create_task(read_all(store, "a")) for _ in range(3)]
            await asyncio.sleep(0.05)
            server.kill()
            for task in (producing, *reading):
                with pytest.raises(StoreUnavailable, match="a: Redis"):
                    await task
            assert answer.closed
            for call in (store.look("a"), store.expire("a"), store.begin("b", "p"), store.read("b", 0)):
                with pytest.raises(StoreUnavailable):
                    await call
            server.start()
            with pytest.raises(StreamNotFound):
                await read_all(store, "a")


async def test_a_producer_is_not_dead_because_redis_was(server: RedisServer) -> None:
    """What Redis has from before says that nothing was heard for long; so it is when it comes back."""
    async with connect(server) as client, asyncio.timeout(PATIENCE):
        await until(lambda: client.info("server"), lambda info: info["uptime_in_seconds"] >= 1)
        up = (await client.info("server"))["uptime_in_seconds"]
        store = RedisStore(client, lease=up + PATIENCE)
        await store.begin("a", "p")
        await client.hset(HASH, "beat", 0)
        reading = asyncio.create_task(read_all(store, "a"))
        await asyncio.sleep(0.05)
        assert not reading.done()
        await store.finish("a", "p", 0, [b"last"])
        assert await reading == [b"last"]
        later = RedisStore(client, lease=1.0)  # as if so long had passed since
        await later.begin("b", "p")
        await client.hset(HASH.replace("a}", "b}"), "beat", 0)
        assert b"broke off" in (await read_all(later, "b"))[-1]


async def test_where_redis_does_not_tell_how_long_it_is_up(server: RedisServer) -> None:
    async with connect(server) as client:
        await client.acl_setuser("weak", enabled=True, nopass=True, keys=["*"], commands=["+@all", "-info"])
        async with connect(server, username="weak") as weak, asyncio.timeout(PATIENCE):
            store = RedisStore(weak, lease=1000, keep=1000)
            await store.begin("a", "p")
            await client.hset(HASH, "beat", 0)
            assert b"broke off" in (await read_all(store, "a"))[-1]


@pytest.mark.parametrize("protocol", [2, 3])
async def test_both_protocols_of_redis(server: RedisServer, protocol: int) -> None:
    async with connect(server, protocol=protocol) as client, asyncio.timeout(PATIENCE):
        store = RedisStore(client)
        producing = asyncio.create_task(produce(store, "a", Answer(pause=0.001)))
        await until(lambda: client.exists(HASH), bool)
        assert await read_all(store, "a") == frames_of(TEXTS)
        assert await producing


async def blocked(client: "Redis") -> list[str]:
    return [each["id"] for each in await client.client_list() if "b" in each["flags"]]


async def test_one_reader_waits_for_all(server: RedisServer) -> None:
    async with connect(server) as client, connect(server) as watch, asyncio.timeout(PATIENCE):
        store = RedisStore(client)
        await store.begin("a", "p")
        reading = [asyncio.create_task(read_all(store, "a")) for _ in range(300)]
        await until(lambda: watch.info("clients"), lambda info: info["blocked_clients"] == 1)
        first = await blocked(watch)
        reading[0].cancel()  # the one that asks; another takes its place
        await until(lambda: blocked(watch), lambda ids: len(ids) == 1 and ids != first)
        before = (await watch.info("stats"))["total_commands_processed"]
        await store.append("a", "p", 0, [b"one"])
        await store.finish("a", "p", 1, [b"two"])
        outcomes = await asyncio.gather(*reading[1:])
        assert outcomes == [[b"one", b"two"]] * 299
        assert (await watch.info("stats"))["total_commands_processed"] - before < 100
        assert (await watch.info("clients"))["connected_clients"] < 25


async def test_a_cancellation_is_never_lost(server: RedisServer) -> None:
    """Before Python 3.12 it may be, in the client, that has a limit for each of its calls."""
    async with connect(server) as client, asyncio.timeout(PATIENCE):
        store = RedisStore(client, lease=PATIENCE)
        store._block = 100  # milliseconds until what has lost a cancellation hears of it
        await store.begin("a", "p")
        for number in range(40):
            reading = asyncio.create_task(read_all(store, "a"))
            await asyncio.sleep(0.0003 * (number % 10))
            reading.cancel()
            with suppress(asyncio.CancelledError):
                assert await reading is None, "it went on"


async def test_an_error_of_redis_is_one_of_the_store(server: RedisServer) -> None:
    async with connect(server) as client:
        store = RedisStore(client)
        await client.set(HASH, "no hash")
        with pytest.raises(StoreError, match="WRONGTYPE"):
            await store.begin("a", "p")
        await client.flushall()
        await store.begin("a", "p")
        await client.config_set("maxmemory", "1")
        try:
            with pytest.raises(StoreError, match="maxmemory"):
                await store.append("a", "p", 0, [b"frame"])
        finally:
            await client.config_set("maxmemory", "0")


async def test_a_key_of_which_redis_has_dropped_a_part(server: RedisServer) -> None:
    async with connect(server) as client, asyncio.timeout(PATIENCE):
        store = RedisStore(client)
        store._block = 300  # milliseconds until a reader looks again at what it waits for
        for name in (STREAM, HASH):
            await client.flushall()
            answer = Answer(pause=0.004, held=True)
            producing = asyncio.create_task(produce(store, "a", answer))
            await until(lambda: client.xlen(STREAM), lambda length: length >= 20)
            stored = StoredFrames(store, "a")
            got = [*await stored.next()]
            await client.delete(name)
            answer.may_end.set()
            while not stored.ended:
                got += await stored.next()
            assert got == frames_of(TEXTS)
            assert await producing


async def test_streams_expire(server: RedisServer) -> None:
    async with connect(server) as client:
        store = RedisStore(client, lease=20, keep=100)
        await store.begin("a", "p")
        await store.finish("a", "p", 0, [b"last"])
        assert [0 < await client.pttl(name) <= 100_000 for name in (STREAM, HASH)] == [True, True]
        await store.expire("a")
        with pytest.raises(StreamEnded):
            await store.append("a", "p", 0, [b"frame"])
        assert not await store.begin("a", "p")
        assert not await client.exists(STREAM)
        assert 0 < await client.pttl(HASH) <= 40_000


async def test_without_its_client_the_store_says_what_brings_it() -> None:
    program = (
        "import sys; sys.modules['redis'] = None\n"
        "try: import streamcite.ui.redis_store\n"
        "except ModuleNotFoundError as error: print(error)"
    )
    command = [sys.executable, "-P", "-c", program]
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, timeout=PATIENCE, check=True)
    assert b'pip install "streamcite[redis]"' in done.stdout
