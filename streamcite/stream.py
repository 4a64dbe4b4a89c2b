"""Iterables of chunks in, events out: `iter_events` for any iterable, `aiter_events` for any asynchronous one.

Both only drive a `CitationParser`, which holds all state, and close what they were given. One piece of the parser
stands here again: its test for "no markup, nothing held", which saves a call for each delta that has none.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Generator, Iterable, Iterator
from contextlib import AsyncExitStack, ExitStack
from types import TracebackType
from typing import Any, Self, TypeAlias, TypeVar, Unpack, overload

from .events import Event
from .options import ParserOptions
from .parser import CitationParser

_T = TypeVar("_T")
_Complete: TypeAlias = bool | Callable[[], bool]
_Text: TypeAlias = Callable[[Any], str | None]

_isascii = str.isascii
_isprintable = str.isprintable


class EventStream(Iterator[Event]):
    """Iterate over the events of a stream; `iter_events` makes one.

    The iterable that was given is closed once: at the end of the stream, at an error in it, by `close`, at the end of a
    ``with`` block, or when a loop that was left holds the last reference.
    """

    __slots__ = ("_events", "_parser", "_source")

    def __init__(self, parser: CitationParser, events: Generator[Event, None, None], source: _Given) -> None:
        self._parser = parser
        self._events = events
        self._source = source

    @property
    def held(self) -> str:
        """Give the end of the input that is in no event: after an error or `close`, the marker it broke off in."""
        return self._parser.held

    def close(self) -> None:
        """End the iteration and close the iterable that was given. What is held stays readable as `held`."""
        try:
            self._events.close()
        finally:
            self._source.close()

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
    waiting for it, by `aclose`, or at the end of an ``async with`` block. No cancellation cuts the closing short.
    """

    __slots__ = ("_events", "_parser", "_source")

    def __init__(self, parser: CitationParser, events: AsyncGenerator[Event, None], source: _Given) -> None:
        self._parser = parser
        self._events = events
        self._source = source

    @property
    def held(self) -> str:
        """Give the end of the input that is in no event: after an error or `aclose`, the marker it broke off in."""
        return self._parser.held

    async def aclose(self) -> None:
        """End the iteration and close the iterable that was given. What is held stays readable as `held`."""
        try:
            await self._events.aclose()
        finally:
            await self._source.aclose()

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
    iterator = iter(chunks)
    deltas = iterator if text is None else (text(chunk) or "" for chunk in iterator)
    source = _Given(deltas, iterator, chunks)
    return EventStream(parser, _drive(parser, source, complete), source)


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
    iterator = aiter(chunks)
    source = _Given(iterator if text is None else _picked(iterator, text), iterator, chunks)
    return AsyncEventStream(parser, _adrive(parser, source, complete), source)


def _check(text: _Text | None, complete: _Complete) -> None:
    if text is not None and not callable(text):
        raise TypeError(f"text: must be a function or None, not {text!r}")
    if not isinstance(complete, bool) and not callable(complete):
        raise TypeError(f"complete: must be True, False or a function, not {complete!r}")


class _Given:
    """Close what was given, and the iterator that was made of it, once.

    The driver and the stream object share it, so that neither needs a reference to the other: a loop that is left lets
    go of the driver, and with it of the source, at once.
    """

    __slots__ = ("_given", "deltas")

    def __init__(self, deltas: Any, *given: object) -> None:
        self.deltas: Any = deltas
        self._given = tuple({id(each): each for each in (deltas, *given)}.values())

    def close(self) -> None:
        with ExitStack() as closing:
            for close in self._take_closers("close"):
                closing.callback(close)

    async def aclose(self) -> None:
        closers = self._take_closers("aclose", "close")
        if not closers:
            return
        from anyio import CancelScope  # loaded when an asynchronous stream needs it, not with the package

        with CancelScope(shield=True):
            async with AsyncExitStack() as closing:
                for close in closers:
                    closing.push_async_callback(_call, close)

    def _take_closers(self, *names: str) -> list[Callable[[], object]]:
        """Give, once, what closes each object: the last one first, since an exit stack turns the order."""
        given, self._given = self._given, ()
        found = [next(filter(None, (getattr(each, name, None) for name in names)), None) for each in reversed(given)]
        return [close for close in found if close is not None]


async def _call(close: Callable[[], object]) -> None:
    result = close()
    if inspect.isawaitable(result):
        await result


async def _picked(chunks: AsyncIterator[Any], text: _Text) -> AsyncGenerator[str, None]:
    async for chunk in chunks:
        yield text(chunk) or ""


# The two drivers differ in "async" and "await" only. What a delta means is decided by the parser; where it cannot hold
# markup and nothing is held, `feed` would hand back the same delta (a test proves the two equal). The length of those
# is counted here and told to the parser before it reads on, which is cheaper than telling it of each.


def _drive(parser: CitationParser, source: _Given, complete: _Complete) -> Generator[Event, None, None]:
    idle, passed = parser._idle, 0
    try:
        for delta in source.deltas:
            if idle and (_isascii(delta) or _isprintable(delta)) and delta:
                passed += len(delta)
                yield delta
            else:
                for event in _feed(parser, passed, delta):
                    yield event
                idle, passed = parser._idle, 0
        for event in _close(parser, passed, complete):
            yield event
    finally:
        source.close()


async def _adrive(parser: CitationParser, source: _Given, complete: _Complete) -> AsyncGenerator[Event, None]:
    idle, passed = parser._idle, 0
    try:
        async for delta in source.deltas:
            if idle and (_isascii(delta) or _isprintable(delta)) and delta:
                passed += len(delta)
                yield delta
            else:
                for event in _feed(parser, passed, delta):
                    yield event
                idle, passed = parser._idle, 0
        for event in _close(parser, passed, complete):
            yield event
    finally:
        await source.aclose()


def _feed(parser: CitationParser, passed: int, delta: str) -> list[Event]:
    parser._end += passed
    return parser.feed(delta)


def _close(parser: CitationParser, passed: int, complete: _Complete) -> list[Event]:
    parser._end += passed
    return parser.close(complete=complete if isinstance(complete, bool) else complete())
