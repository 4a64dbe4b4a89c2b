"""What is iterated over: streams of events, synchronous and not, that close what they were given.

They hold a driver, which reads, and what was given, which it shares with them; see `driver`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from types import TracebackType
from typing import Generic, Protocol, Self, TypeVar

from .driver import Given
from .events import Event, raw_of
from .links import ResolvedEvent

_E = TypeVar("_E")


class _Holding(Protocol):
    """What reads a stream, and says what it holds of it."""

    @property
    def held(self) -> str: ...


class Stream(Iterator[_E], Generic[_E]):
    """What `EventStream` and `ResolvedStream` are, and the views of an adapter."""

    __slots__ = ("_events", "_given", "_parser")

    def __init__(self, parser: _Holding, events: Generator[_E, None, None], given: Given) -> None:
        self._parser = parser
        self._events = events
        self._given = given

    @property
    def held(self) -> str:
        """Give the end of what was read that is in no event handed out: what an error or `close` broke off in."""
        return "".join(map(raw_of, self._given.pending)) + self._parser.held

    def close(self) -> None:
        """End the iteration and close the iterable that was given. What is held stays readable as `held`."""
        self._events.close()
        self._given.close()  # where the iteration had not begun

    def __iter__(self) -> Iterator[_E]:
        # The driver itself: a loop over it has a call less for each event, and lets go of it when it is left.
        return self._events

    def __next__(self) -> _E:
        return next(self._events)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class EventStream(Stream[Event]):
    """Iterate over the events of a stream; `iter_events` makes one.

    The iterable that was given is closed once: at the end of the stream, at an error in it, by `close`, at the end of a
    ``with`` block, or when a loop that was left holds the last reference.
    """

    __slots__ = ()


class ResolvedStream(Stream[ResolvedEvent]):
    """Iterate over the events of a stream with its citations resolved, as `EventStream`; `iter_events` makes one."""

    __slots__ = ()


class AsyncStream(AsyncIterator[_E], Generic[_E]):
    """What `AsyncEventStream` and `AsyncResolvedStream` are, and the views of an adapter."""

    __slots__ = ("_events", "_given", "_parser")

    def __init__(self, parser: _Holding, events: AsyncGenerator[_E, None], given: Given) -> None:
        self._parser = parser
        self._events = events
        self._given = given

    @property
    def held(self) -> str:
        """Give the end of what was read that is in no event handed out, as `EventStream.held`."""
        return "".join(map(raw_of, self._given.pending)) + self._parser.held

    async def aclose(self) -> None:
        """End the iteration and close the iterable that was given. What is held stays readable as `held`."""
        await self._events.aclose()
        await self._given.aclose()  # where the iteration had not begun

    def __aiter__(self) -> AsyncIterator[_E]:
        return self._events  # as in `Stream`

    async def __anext__(self) -> _E:
        return await anext(self._events)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()


class AsyncEventStream(AsyncStream[Event]):
    """Iterate over the events of an asynchronous stream; `aiter_events` makes one. Runs on asyncio and trio.

    The iterable that was given is closed once: at the end of the stream, at an error in it or a cancellation while
    waiting for it, by `aclose`, or at the end of an ``async with`` block. The closing is shielded from cancel scopes,
    anyio's and trio's, for at most 10 seconds. A cancellation while waiting ends the stream, so that a timeout on each
    event belongs round the task that reads, not round ``anext``.
    """

    __slots__ = ()


class AsyncResolvedStream(AsyncStream[ResolvedEvent]):
    """Iterate over the events of an asynchronous stream with its citations resolved, as `AsyncEventStream`.

    `aiter_events` makes one.
    """

    __slots__ = ()
