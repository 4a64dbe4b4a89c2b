"""Frames of answers in Redis, for readers on many machines. It needs the extra: ``pip install "streamcite[redis]"``."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any, Final

from streamcite.checks import missing

try:
    from redis.exceptions import ConnectionError as RedisConnectionError
    from redis.exceptions import NoScriptError, ReadOnlyError, RedisError, ResponseError
    from redis.exceptions import TimeoutError as RedisTimeoutError
except ModuleNotFoundError as _error:
    if (_error.name or "").partition(".")[0] != "redis":
        raise
    raise missing(_error, "this store", "redis") from _error

from .redis_scripts import APPEND, BEGIN, EXPIRE, FINISH, READ
from .store import (
    MAX_BYTES,
    PAGE,
    Page,
    State,
    StoreError,
    StoreUnavailable,
    StreamEnded,
    StreamLost,
    StreamNotFound,
    StreamTooLong,
    Written,
    check_limits,
)

if TYPE_CHECKING:
    from redis.asyncio import Redis

__all__ = ["RedisStore"]

# How many pages are kept that readers of this process have just been given, so that of a thousand one asks Redis, and
# for how long: what is read there is no word to Redis that somebody reads, and a key may be used again.
_RECENT: Final = 64
_FRESH: Final = 1.0  # seconds
_BEYOND: Final = 10**15  # the number of no frame
# How many ask Redis at once for pages; those that wait for what is not there yet are not counted.
_ASKING: Final = 16


class RedisStore:
    """Keep streams in Redis: a `Store` for many processes and machines, on asyncio, as its client is.

        store = RedisStore(Redis.from_url("redis://localhost"))  # the Redis of redis.asyncio

    A stream is one Redis stream, in which the id of an entry is the number of its frame, and a hash beside it with what
    is known of its producer. Each call is one script, which is done as a whole or not at all, so that a repeated one
    changes nothing. For what is not there yet one reader of each process waits in ``XREAD BLOCK``, on a connection of
    its own, for all that wait for the same frame: no reader asks again and again.

    Where Redis comes back without what was in it, all or the last of it, the producer writes what is missing again, and
    readers go on. Only what was lost after the end of an answer is lost: `StreamNotFound`, or an answer that breaks
    off.

    Args:
        redis: the client, which stays its owner's to close; it must give bytes (``decode_responses=False``).
        prefix: what the names of all keys begin with.
        lease: as `Store.lease` says, in seconds.
        keep: for how long a stream stays after its last frame, in seconds.
        max_bytes: how long a stream may be.

    Raises:
        TypeError: the client is not of ``redis.asyncio``.
        ValueError: the client decodes what it reads, a limit is not above 0 and finite, or ``keep`` is less than
            ``lease``.
        ModuleNotFoundError: from the import of this module: redis is missing.
    """

    def __init__(
        self,
        redis: Redis,
        *,
        prefix: str = "streamcite:",
        lease: float = 15.0,
        keep: float = 600.0,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        check_limits(lease=lease, keep=keep, max_bytes=max_bytes)
        if not iscoroutinefunction(getattr(redis, "execute_command", None)):
            kind = type(redis)
            raise TypeError(f"redis: must be a client of redis.asyncio, not {kind.__module__}.{kind.__qualname__}")
        settings = redis.connection_pool.connection_kwargs
        if settings.get("decode_responses"):
            raise ValueError("redis: must give bytes, and not be made with decode_responses=True")
        self.lease: float = lease
        self._redis = redis
        self._prefix = prefix
        self._limits = [_milliseconds(lease), _milliseconds(keep), max_bytes]
        # A client gives up a reply that takes longer than its own limit.
        self._block = _milliseconds(min(lease / 3, (settings.get("socket_timeout") or lease) / 2))
        self._hashes = {script: redis.register_script(script).sha for script in (BEGIN, APPEND, FINISH, READ, EXPIRE)}
        self._asking = asyncio.Semaphore(_ASKING)
        self._pages: dict[tuple[str, int], asyncio.Future[Page | None]] = {}  # that are being asked for
        self._recent: OrderedDict[tuple[str, int], tuple[float, Page]] = OrderedDict()

    async def begin(self, key: str, producer: str) -> bool:
        """Begin a stream, as `Store.begin` says. For room Redis itself has a limit, which is an error of its own."""
        return bool(await self._run(BEGIN, key, producer))

    async def append(self, key: str, producer: str, start: int, frames: Sequence[bytes]) -> Written:
        """Add frames, as `Store.append` says."""
        return _written(key, await self._run(APPEND, key, producer, start, *frames))

    async def finish(self, key: str, producer: str | None, start: int, frames: Sequence[bytes]) -> Written:
        """Add the last frames, as `Store.finish` says."""
        return _written(key, await self._run(FINISH, key, producer or "", start, *frames))

    async def look(self, key: str) -> State:
        """Say how far a stream is, as `Store.look` says."""
        state, total, _ = await self._run(READ, key, _BEYOND, 1, 1)
        if state in {b"lost", b"none"}:
            raise StreamNotFound(f"{key}: there is no such stream")
        ended = state == b"ended"
        return State(total, ended, whole=ended or await self._is_settled())

    async def read(self, key: str, start: int) -> Page:
        """Give the next frames, as `Store.read` says. All that wait for the same ones share what one of them asks."""
        where = key, start
        while True:
            if (kept := self._recent.get(where)) and kept[0] > _now():
                await asyncio.sleep(0)  # other readers have their turn
                return kept[1]
            page: Page | None
            if where in self._pages:
                page = await asyncio.shield(self._pages[where])
            else:
                with self._shared(where) as share:
                    page = share(await self._ask(key, start))
            if page is not None:  # else who asked has left before there was an answer
                return page

    async def expire(self, key: str) -> None:
        """Forget a stream, as `Store.expire` says."""
        await self._run(EXPIRE, key)
        for where in [where for where in self._recent if where[0] == key]:
            del self._recent[where]

    @contextmanager
    def _shared(self, where: tuple[str, int]) -> Iterator[Callable[[Page], Page]]:
        """Let others wait for the page that a block asks for, and for the error it meets."""
        future = self._pages[where] = asyncio.get_running_loop().create_future()

        def share(page: Page) -> Page:
            future.set_result(page)
            if page.frames:
                self._recent[where] = _now() + _FRESH, page
                self._recent.move_to_end(where)
                if len(self._recent) > _RECENT:
                    self._recent.popitem(last=False)
            return page

        try:
            yield share
        except StoreError as error:
            future.set_exception(error)
            future.exception()  # or asyncio tells of it where nobody else waits
            raise
        finally:
            del self._pages[where]
            if not future.done():
                future.set_result(None)

    async def _ask(self, key: str, start: int) -> Page:
        """Ask for a page, and wait until there is one."""
        known = False
        while True:
            async with self._asking:
                state, count, frames = await self._run(READ, key, start, PAGE, self._block)
            if state == b"lost" and known:
                raise StreamLost(f"{key}: Redis has lost it")
            if state in {b"lost", b"none"} or (state == b"ended" and start > count):
                error = StreamLost if state == b"lost" else StreamNotFound
                raise error(f"{key}: there is no such stream, or it has not {start} frames")
            if frames or state == b"ended":
                return Page(frames, state == b"ended" and start + len(frames) == count)
            if state == b"dead" and await self._is_settled():
                return Page((), alive=False)
            known = True
            entries = await self._wait(key, start)
            if entries:
                return _page(entries)

    async def _wait(self, key: str, start: int) -> Any:
        """Wait for what stands after a frame, for as long as a reader counts as reading without another word."""
        stream = self._names(key)[0]
        # The ids of frames are 1-0 and so on. The end of n frames is n-2, and so after n-1 too.
        async with _calling(key):
            found = await self._redis.xread({stream: f"{start}-1"}, count=PAGE, block=self._block)
        if not found:
            return None
        ((_, entries),) = found.items() if isinstance(found, dict) else found  # by the version of Redis's protocol
        return entries[0] if isinstance(found, dict) else entries

    async def _is_settled(self) -> bool:
        """Say whether Redis is up for long enough that a producer could have been heard since.

        Where it does not tell, it is taken to be.
        """
        async with _calling("is Redis up?"):
            try:
                up = (await self._redis.info("server")).get("uptime_in_seconds", self.lease)
            except ResponseError:
                return True
        return bool(up >= self.lease)

    def _names(self, key: str) -> list[str]:
        """Name the stream and the hash; the braces keep both on one machine of a cluster."""
        stream = f"{self._prefix}{{{key}}}"
        return [stream, f"{stream}:producer"]

    async def _run(self, script: str, key: str, *args: Any) -> Any:
        redis: Any = self._redis
        names = self._names(key)
        given = [len(names), *names, *self._limits, *args]
        async with _calling(key):
            try:
                return await redis.evalsha(self._hashes[script], *given)
            except NoScriptError:  # to load it first, as the client does, is lost where Redis restarts after that
                return await redis.eval(script, *given)


@asynccontextmanager
async def _calling(key: str) -> AsyncIterator[None]:
    """Name the errors of a call, and see to it that a cancellation during it is one.

    Before Python 3.12 ``asyncio.wait_for``, with which the client sends, may lose a cancellation.
    """
    task = asyncio.current_task()
    requests = task.cancelling() if task else 0
    try:
        yield
    except (RedisConnectionError, RedisTimeoutError, ReadOnlyError, OSError) as error:
        raise StoreUnavailable(f"{key}: Redis: {error}") from error
    except RedisError as error:
        raise StoreError(f"{key}: Redis: {error}") from error
    if task and task.cancelling() > requests:
        await asyncio.sleep(0)  # one of anyio comes again
        raise asyncio.CancelledError


def _now() -> float:
    return asyncio.get_running_loop().time()


def _milliseconds(seconds: float) -> int:
    return max(round(seconds * 1000), 1)


def _written(key: str, reply: list[Any]) -> Written:
    state, count, idle = reply
    if state == b"written":
        return Written(count, idle / 1000)
    if state == b"lost":
        raise StreamLost(f"{key}: Redis has lost it, or it has expired")
    if state == b"none":
        raise StreamNotFound(f"{key}: there is no such stream")
    if state == b"long":
        raise StreamTooLong(f"{key}: would be longer than the store keeps of a stream")
    raise StreamEnded(f"{key}: has ended, or is no longer this producer's")


def _page(entries: list[tuple[bytes, dict[bytes, bytes]]]) -> Page:
    frames = [fields[b"frame"] for _, fields in entries if b"frame" in fields]
    return Page(frames, ended=len(frames) < len(entries))
