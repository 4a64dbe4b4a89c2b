"""What is iterated over: streams of events, synchronous and not, that say what they hold."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from typing import Generic, Protocol, TypeVar

from .driver import AsyncShell, Given, Shell
from .events import Event, raw_of
from .links import ResolvedEvent

_E = TypeVar("_E")


class _Holding(Protocol):
    """What reads a stream, and says what it holds of it."""

    @property
    def held(self) -> str: ...


def _held(given: Given, parser: _Holding) -> str:
    return "".join(map(raw_of, given.pending)) + parser.held


class _Stream(Shell[_E], Generic[_E]):
    """What `EventStream` and `ResolvedStream` are."""

    __slots__ = ("_parser",)

    def __init__(self, parser: _Holding, events: Generator[_E, None, None], given: Given) -> None:
        super().__init__(given, events)
        self._parser = parser

    @property
    def held(self) -> str:
        """Give the end of what was read that is in no event handed out: what an error or `close` broke off in."""
        return _held(self._given, self._parser)


class EventStream(_Stream[Event]):
    """Iterate over the events of a stream; `iter_events` makes one.

    The iterable that was given is closed once: at the end of the stream, at an error in it, by `close`, at the end of a
    ``with`` block, or when a loop that was left holds the last reference. What is held then stays readable as `held`.
    """

    __slots__ = ()


class ResolvedStream(_Stream[ResolvedEvent]):
    """Iterate over the events of a stream with its citations resolved, as `EventStream`; `iter_events` makes one."""

    __slots__ = ()


class _AsyncStream(AsyncShell[_E], Generic[_E]):
    """What `AsyncEventStream` and `AsyncResolvedStream` are."""

    __slots__ = ("_parser",)

    def __init__(self, parser: _Holding, events: AsyncGenerator[_E, None], given: Given) -> None:
        super().__init__(given, events)
        self._parser = parser

    @property
    def held(self) -> str:
        """Give the end of what was read that is in no event handed out, as `EventStream.held`."""
        return _held(self._given, self._parser)


class AsyncEventStream(_AsyncStream[Event]):
    """Iterate over the events of an asynchronous stream; `aiter_events` makes one. Runs on asyncio and trio.

    The iterable that was given is closed once: at the end of the stream, at an error in it or a cancellation while
    waiting for it, by `aclose`, or at the end of an ``async with`` block. The closing is shielded from cancel scopes,
    anyio's and trio's, for at most 10 seconds. A cancellation while waiting ends the stream, so that a timeout on each
    event belongs round the task that reads, not round ``anext``. What is held then stays readable as `held`.
    """

    __slots__ = ()


class AsyncResolvedStream(_AsyncStream[ResolvedEvent]):
    """Iterate over the events of an asynchronous stream with its citations resolved, as `AsyncEventStream`.

    `aiter_events` makes one.
    """

    __slots__ = ()
