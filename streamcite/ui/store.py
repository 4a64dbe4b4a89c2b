"""Where the frames of answers are kept while and after they stream, so that a reader may come late, and come back.

`Store` is what is asked of one, `MemoryStore` keeps them in this process, `redis_store` in Redis, for many machines.
`resumable` writes answers into a store and reads them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from time import monotonic
from typing import Final, NamedTuple, Protocol

from anyio import Event, move_on_after
from anyio.lowlevel import checkpoint

__all__ = [
    "MAX_BYTES",
    "PAGE",
    "MemoryStore",
    "Page",
    "State",
    "Store",
    "StoreError",
    "StoreFull",
    "StoreUnavailable",
    "StreamEnded",
    "StreamLost",
    "StreamNotFound",
    "StreamTooLong",
    "Written",
]

PAGE: Final = 64
"""The most frames that a reader is given at once, which is what it holds of an answer."""
MAX_BYTES: Final = 16 * 2**20
"""How much is kept of one answer, in bytes, unless a store is given another limit: far more than a model writes."""


class StoreError(RuntimeError):
    """What a store raises where it cannot do what it was asked for; each kind is a class of its own."""


class StoreUnavailable(StoreError):
    """Raised where the store cannot be reached, for now: the same call may be made again, and nothing is doubled."""


class StoreFull(StoreError):
    """Raised by `Store.begin` where there is no room for another answer, since all are still being written."""


class StreamNotFound(StoreError):
    """Raised for a stream of which there is nothing: none has begun, or it is too old, or its frames never came."""


class StreamLost(StreamNotFound):
    """Raised where the store may have lost a stream that was there; if so, its producer brings it back."""


class StreamEnded(StoreError):
    """Raised to the writer of a stream where it has ended, or is no longer theirs: nothing can be written any more."""


class StreamTooLong(StoreError):
    """Raised by `Store.append` for frames that would make a stream longer than the store keeps; none was added."""


class Page(NamedTuple):
    """The next frames of a stream.

    Attributes:
        frames: at most `PAGE`.
        ended: whether nothing follows them, ever.
        alive: whether who writes the stream has been heard of in time; if not, there are no frames.
    """

    frames: Sequence[bytes]
    ended: bool = False
    alive: bool = True


class State(NamedTuple):
    """How far a stream is.

    Attributes:
        total: how many frames it has.
        ended: whether none will follow.
        whole: whether it is all that was written; if not, the last frames may be lost, and be brought back.
    """

    total: int
    ended: bool
    whole: bool = True


class Written(NamedTuple):
    """What became of frames.

    Attributes:
        total: how many the stream has; fewer than ``start`` says that some in front are missing, and none was added.
        idle: for how long nobody has read it, in seconds.
    """

    total: int
    idle: float


class Store(Protocol):
    """Keep streams, each under a key: frames, numbered from 0, that one producer writes and any number of readers read.

    Every call may be repeated when its outcome is not known, and has then happened once. A producer is known by its
    name, a string of its own that nobody else has. Calls are safe from every task, but not from another thread.
    """

    lease: float
    """After how many seconds without a word from its producer a stream counts as abandoned."""

    async def begin(self, key: str, producer: str) -> bool:
        """Begin a stream, if there is none under this key.

        Returns:
            Whether the stream is this producer's.

        Raises:
            StoreFull, StoreUnavailable: as their classes say.
        """

    async def append(self, key: str, producer: str, start: int, frames: Sequence[bytes]) -> Written:
        """Add frames. Those that the stream has are passed over; an empty list only says that the producer lives.

        Args:
            key: of the stream.
            producer: who began it.
            start: the number of the first frame.
            frames: whole ones.

        Raises:
            StreamEnded, StreamTooLong, StreamLost, StoreUnavailable: as their classes say.
        """

    async def finish(self, key: str, producer: str | None, start: int, frames: Sequence[bytes]) -> Written:
        """Add the last frames, whatever their length, and end the stream. To end it again changes nothing.

        Args:
            key: of the stream.
            producer: who began it; None for a reader, in the place of one that is dead. That does nothing while the
                producer is alive, or the stream has another length than ``start``.
            start: the number of the first of these frames.
            frames: whole ones, or none.

        Raises:
            StreamEnded, StreamLost, StreamNotFound, StoreUnavailable: as their classes say.
        """

    async def look(self, key: str) -> State:
        """Say how far a stream is, at once; whoever asks counts as a reader.

        Raises:
            StreamNotFound, StoreUnavailable: as their classes say.
        """

    async def read(self, key: str, start: int) -> Page:
        """Give the frames from a number on; wait until there is one, the stream has ended, or its producer is dead.

        Raises:
            StreamNotFound: there is no such stream, or it has ended before this number.
            StreamLost, StoreUnavailable: as their classes say.
        """

    async def expire(self, key: str) -> None:
        """Forget a stream; its producer meets `StreamEnded`, its readers `StreamNotFound`.

        Raises:
            StoreUnavailable: as its class says.
        """


def check_limits(*, lease: float, keep: float, max_bytes: int) -> None:
    """Check what every store is given.

    Raises:
        ValueError: one of them is not above 0 and finite, or a stream would be dropped before its producer is dead.
    """
    for name, value in (("lease", lease), ("keep", keep), ("max_bytes", max_bytes)):
        if not (isinstance(value, int | float) and 0 < value < math.inf):
            raise ValueError(f"{name}: must be a finite number above 0, not {value!r}")
    if keep < lease:
        raise ValueError(f"keep: must be at least the lease, {lease:g} seconds, not {keep:g}")


class MemoryStore:
    """Keep streams in the memory of this process: a `Store` for one process, on asyncio or trio.

    Args:
        lease: as `Store.lease` says, in seconds.
        keep: for how long a stream stays after its last frame, in seconds; it is dropped when the next one begins.
        max_bytes: how long a stream may be.
        max_streams: how many there may be. For another one the oldest that has ended, or was abandoned, is dropped.

    Raises:
        ValueError: one of them is not above 0 and finite, or ``keep`` is less than ``lease``.
    """

    def __init__(
        self, *, lease: float = 15.0, keep: float = 600.0, max_bytes: int = MAX_BYTES, max_streams: int = 1000
    ) -> None:
        check_limits(lease=lease, keep=keep, max_bytes=max_bytes)
        if not isinstance(max_streams, int) or max_streams < 1:
            raise ValueError(f"max_streams: must be a number from 1, not {max_streams!r}")
        self.lease: float = lease
        self._keep = keep
        self._max_bytes = max_bytes
        self._max_streams = max_streams
        self._streams: dict[str, _Stream] = {}  # what was written last stands last

    async def begin(self, key: str, producer: str) -> bool:
        """Begin a stream, as `Store.begin` says."""
        await checkpoint()
        now = monotonic()
        self._drop(now)
        known = self._streams.get(key)
        if known is None:
            if len(self._streams) >= self._max_streams:
                raise StoreFull(f"all of {self._max_streams} streams are being written")
            self._streams[key] = known = _Stream(producer, now)
        return known.producer == producer

    async def append(self, key: str, producer: str, start: int, frames: Sequence[bytes]) -> Written:
        """Add frames, as `Store.append` says."""
        await checkpoint()
        stream = self._written_by(key, producer)
        if stream.ended:
            raise StreamEnded(f"{key}: has ended")
        new = frames[len(stream.frames) - start :] if start <= len(stream.frames) else ()
        if new and stream.size + sum(map(len, new)) > self._max_bytes:
            raise StreamTooLong(f"{key}: would be longer than {self._max_bytes} bytes")
        return self._write(key, stream, new)

    async def finish(self, key: str, producer: str | None, start: int, frames: Sequence[bytes]) -> Written:
        """Add the last frames, as `Store.finish` says."""
        await checkpoint()
        stream = self._find(key) if producer is None else self._written_by(key, producer)
        count = len(stream.frames)
        if producer is None:
            may_end = count == start and stream.is_dead(self.lease)
        else:
            may_end = count >= start and not stream.ended
        if not may_end:
            return Written(count, stream.idle())
        stream.ended = True
        stream.producer = producer or ""  # one that was dead and comes back finds that it is not its own
        return self._write(key, stream, frames[count - start :])

    async def look(self, key: str) -> State:
        """Say how far a stream is, as `Store.look` says."""
        await checkpoint()
        stream = self._find(key)
        stream.seen = monotonic()
        return State(len(stream.frames), stream.ended)

    async def read(self, key: str, start: int) -> Page:
        """Give the next frames, as `Store.read` says."""
        has_waited = False
        while True:
            stream = self._find(key)
            frames = stream.frames[start : start + PAGE]
            if not (frames or stream.ended or stream.is_dead(self.lease)):
                await stream.wait(self.lease)
                has_waited = True
                continue
            if start > len(stream.frames) and stream.ended:
                raise StreamNotFound(f"{key}: has {len(stream.frames)} frames, and none after {start}")
            stream.seen = monotonic()
            ended = stream.ended and start + len(frames) == len(stream.frames)
            if not has_waited:
                await checkpoint()
            return Page(frames, ended, alive=bool(frames) or ended)

    async def expire(self, key: str) -> None:
        """Forget a stream, as `Store.expire` says."""
        await checkpoint()
        self._remove(key)

    def _find(self, key: str) -> _Stream:
        try:
            return self._streams[key]
        except KeyError:
            raise StreamNotFound(f"{key}: there is no such stream") from None

    def _written_by(self, key: str, producer: str) -> _Stream:
        stream = self._streams.get(key)
        if stream is None or stream.producer != producer:
            raise StreamEnded(f"{key}: is no longer this producer's")
        return stream

    def _write(self, key: str, stream: _Stream, frames: Sequence[bytes]) -> Written:
        stream.beat = monotonic()
        stream.frames += frames
        stream.size += sum(map(len, frames))
        if frames or stream.ended:
            stream.wake()
        self._streams[key] = self._streams.pop(key)
        return Written(len(stream.frames), stream.idle())

    def _drop(self, now: float) -> None:
        """Make room: drop what is too old, and the oldest that nobody writes where there are too many."""
        for key in [key for key, stream in self._streams.items() if now - stream.beat > self._keep]:
            self._remove(key)
        if len(self._streams) >= self._max_streams:
            idle = (key for key, stream in self._streams.items() if stream.ended or stream.is_dead(self.lease))
            if (oldest := next(idle, None)) is not None:
                self._remove(oldest)

    def _remove(self, key: str) -> None:
        if stream := self._streams.pop(key, None):
            stream.wake()


class _Stream:
    """One stream."""

    __slots__ = ("_changed", "_waiting", "_watched", "beat", "ended", "frames", "producer", "seen", "size")

    def __init__(self, producer: str, now: float) -> None:
        self.producer = producer
        self.frames: list[bytes] = []
        self.size = 0
        self.ended = False
        self.beat = now  # when its producer was heard of last
        self.seen = now  # when it was read last
        self._changed = Event()
        self._waiting = 0
        self._watched = False  # whether one of those that wait looks at the time

    def is_dead(self, lease: float) -> bool:
        return not self.ended and monotonic() - self.beat >= lease

    def idle(self) -> float:
        return 0.0 if self._waiting else monotonic() - self.seen

    def wake(self) -> None:
        self._changed.set()
        self._changed = Event()

    async def wait(self, lease: float) -> None:
        """Wait for a change, or until the producer has not been heard of for as long as the lease."""
        changed = self._changed
        self._waiting += 1
        try:
            if self._watched:
                await changed.wait()
            else:
                await self._watch(changed, lease)
        finally:
            self._waiting -= 1
            self.seen = monotonic()

    async def _watch(self, changed: Event, lease: float) -> None:
        """Wait for all that wait, by one timer; who does so and leaves wakes the others, for another one to do it."""
        self._watched = True
        try:
            with move_on_after(max(self.beat + lease - monotonic(), 0)):
                await changed.wait()
        finally:
            self._watched = False
            if not changed.is_set():
                self.wake()
