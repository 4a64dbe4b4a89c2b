"""Iterables of chunks in, events out: `iter_events` for any iterable, `aiter_events` for any asynchronous one.

Both only drive a `CitationParser`, which holds all state, and close what they were given. One piece of the parser
stands here again: its test for "no markup, nothing held", which saves a call for each delta that has none.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Generator, Iterable, Iterator
from types import TracebackType
from typing import Any, Protocol, Self, TypeAlias, TypeVar, Unpack, overload

from .driver import Given
from .events import Event, raw_of
from .options import ParserOptions
from .parser import CitationParser

_T = TypeVar("_T")
_Complete: TypeAlias = bool | Callable[[], bool]
_Text: TypeAlias = Callable[[Any], str | None]

_isascii = str.isascii
_isprintable = str.isprintable


class _Holding(Protocol):
    """What reads a stream, and says what it holds of it."""

    @property
    def held(self) -> str: ...


class EventStream(Iterator[Event]):
    """Iterate over the events of a stream; `iter_events` makes one.

    The iterable that was given is closed once: at the end of the stream, at an error in it, by `close`, at the end of a
    ``with`` block, or when a loop that was left holds the last reference.
    """

    __slots__ = ("_events", "_given", "_parser")

    def __init__(self, parser: _Holding, events: Generator[Event, None, None], given: Given) -> None:
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

    def __iter__(self) -> Iterator[Event]:
        # The driver itself: a loop over it has a call less for each event, and lets go of it when it is left.
        return self._events

    def __next__(self) -> Event:
        return next(self._events)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class AsyncEventStream(AsyncIterator[Event]):
    """Iterate over the events of an asynchronous stream; `aiter_events` makes one. Runs on asyncio and trio.

    The iterable that was given is closed once: at the end of the stream, at an error in it or a cancellation while
    waiting for it, by `aclose`, or at the end of an ``async with`` block. The closing is shielded from cancel scopes,
    anyio's and trio's, for at most 10 seconds. A cancellation while waiting ends the stream, so that a timeout on each
    event belongs round the task that reads, not round ``anext``.
    """

    __slots__ = ("_events", "_given", "_parser")

    def __init__(self, parser: _Holding, events: AsyncGenerator[Event, None], given: Given) -> None:
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

    def __aiter__(self) -> AsyncIterator[Event]:
        return self._events  # as in `EventStream`

    async def __anext__(self) -> Event:
        return await anext(self._events)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()


@overload
def iter_events(
    chunks: Iterable[str], *, complete: _Complete = False, **options: Unpack[ParserOptions]
) -> EventStream: ...
@overload
def iter_events(
    chunks: Iterable[_T],
    *,
    text: Callable[[_T], str | None] | None,
    complete: _Complete = False,
    **options: Unpack[ParserOptions],
) -> EventStream: ...
def iter_events(
    chunks: Iterable[Any],
    *,
    text: Callable[[Any], str | None] | None = None,
    complete: _Complete = False,
    **options: Unpack[ParserOptions],
) -> EventStream:
    """Iterate over the events of a stream of chunks.

    Args:
        chunks: any iterable. It is closed by its ``close``, if it has one, when the stream ends or is closed.
        text: picks the delta out of a chunk; None for a chunk without. Left out, each chunk is a delta.
        complete: whether an answer whose chunks come to their end has ended by itself, as for `CitationParser.close`;
            or a function that is asked when that end is reached, where the chunks tell it.
        options: as for `CitationParser`.

    Returns:
        An iterator over the events, in order, that is also a context manager. Nothing is read ahead.

    Raises:
        TypeError: ``chunks`` is no iterable, ``text``, ``complete`` or ``format`` are of the wrong type; while
            iterating, a delta is no ``str``.
        ValueError: another option is of the wrong type or out of its range.
    """
    _check(text, complete)
    parser = CitationParser(**options)
    try:
        iterator = iter(chunks)
    except TypeError:
        raise TypeError(
            f"chunks: must be an iterable, not {type(chunks).__name__}; for an asynchronous one there is aiter_events"
        ) from None
    deltas = iterator if text is None else (text(chunk) or "" for chunk in iterator)
    given = Given(deltas, iterator, chunks)
    return EventStream(parser, _drive(parser, given, complete), given)


@overload
def aiter_events(
    chunks: AsyncIterable[str], *, complete: _Complete = False, **options: Unpack[ParserOptions]
) -> AsyncEventStream: ...
@overload
def aiter_events(
    chunks: AsyncIterable[_T],
    *,
    text: Callable[[_T], str | None] | None,
    complete: _Complete = False,
    **options: Unpack[ParserOptions],
) -> AsyncEventStream: ...
def aiter_events(
    chunks: AsyncIterable[Any],
    *,
    text: Callable[[Any], str | None] | None = None,
    complete: _Complete = False,
    **options: Unpack[ParserOptions],
) -> AsyncEventStream:
    """Iterate over the events of an asynchronous stream of chunks, on asyncio or trio.

    Args:
        chunks: any asynchronous iterable. It is closed by its ``aclose`` or else its ``close``, a coroutine or not, if
            it has one, when the stream ends or is closed.
        text: as for `iter_events`.
        complete: as for `iter_events`.
        options: as for `CitationParser`.

    Returns:
        An asynchronous iterator over the events, in order, that is also an asynchronous context manager. Nothing is
        read ahead, and the only waiting is that for the next chunk.

    Raises:
        TypeError: ``chunks`` is no asynchronous iterable, ``text``, ``complete`` or ``format`` are of the wrong
            type; while iterating, a delta is no ``str``.
        ValueError: another option is of the wrong type or out of its range.
    """
    _check(text, complete)
    parser = CitationParser(**options)
    try:
        iterator = aiter(chunks)
    except TypeError:
        raise TypeError(
            f"chunks: must be an asynchronous iterable, not {type(chunks).__name__}; for others there is iter_events"
        ) from None
    given = Given(iterator if text is None else _picked(iterator, text), iterator, chunks)
    return AsyncEventStream(parser, _adrive(parser, given, complete), given)


def _check(text: _Text | None, complete: _Complete) -> None:
    if text is not None and not callable(text):
        raise TypeError(f"text: must be a function or None, not {text!r}")
    if not isinstance(complete, bool) and not callable(complete):
        raise TypeError(f"complete: must be True, False or a function, not {complete!r}")


async def _picked(chunks: AsyncIterator[Any], text: _Text) -> AsyncGenerator[str, None]:
    async for chunk in chunks:
        yield text(chunk) or ""


# The two drivers differ in "async" and "await" only. What a delta means is decided by the parser; where it cannot hold
# markup and nothing is held, `feed` would hand back the same delta (a test proves the two equal). The length of those
# is counted here and told to the parser before it reads on, which is cheaper than telling it of each.


def _drive(parser: CitationParser, given: Given, complete: _Complete) -> Generator[Event, None, None]:
    idle, passed, delta = parser._idle, 0, ""
    try:
        for delta in given.deltas:
            if idle and delta and (_isascii(delta) or _isprintable(delta)):
                yield delta
                passed += len(delta)
            else:
                if events := _feed(parser, passed, delta):
                    for event in given.hand_out(events):
                        yield event
                idle, passed = parser._idle, 0
        for event in given.hand_out(_close(parser, passed, complete)):
            yield event
    except TypeError:
        if isinstance(delta, str):
            raise
        raise TypeError(_not_a_delta(delta)) from None
    finally:
        given.close()


async def _adrive(parser: CitationParser, given: Given, complete: _Complete) -> AsyncGenerator[Event, None]:
    idle, passed, delta = parser._idle, 0, ""
    try:
        async for delta in given.deltas:
            if idle and delta and (_isascii(delta) or _isprintable(delta)):
                yield delta
                passed += len(delta)
            else:
                if events := _feed(parser, passed, delta):
                    for event in given.hand_out(events):
                        yield event
                idle, passed = parser._idle, 0
        for event in given.hand_out(_close(parser, passed, complete)):
            yield event
    except TypeError:
        if isinstance(delta, str):
            raise
        raise TypeError(_not_a_delta(delta)) from None
    finally:
        await given.aclose()


def _not_a_delta(chunk: object) -> str:
    return f"delta: must be a str, not {type(chunk).__name__}; for such chunks give text=, a function that picks it out"


def _feed(parser: CitationParser, passed: int, delta: str) -> list[Event]:
    parser._end += passed
    return parser.feed(delta)


def _close(parser: CitationParser, passed: int, complete: _Complete) -> list[Event]:
    parser._end += passed
    return parser.close(complete=complete if isinstance(complete, bool) else complete())
