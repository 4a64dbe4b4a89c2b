"""Iterables of chunks in, events out: `iter_events` for any iterable, `aiter_events` for any asynchronous one.

Both only drive a `CitationParser` and the stages after it, which hold all state, and close what they were given. One
piece of the parser stands here again: its test for "no markup, nothing held", which saves a call for each delta that
has none.
"""

from __future__ import annotations

from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Generator,
    Iterable,
    Mapping,
)
from typing import Any, TypeAlias, TypeVar, Unpack, overload

from .driver import Given
from .event_streams import AsyncEventStream, AsyncResolvedStream, EventStream, ResolvedStream
from .events import Event
from .format import OPENAI
from .options import ParserOptions
from .parser import CitationParser
from .resolve import Resolver, Scope
from .source import Source
from .spacing import Spacing, Tidy, tidier

__all__ = ["AsyncEventStream", "AsyncResolvedStream", "EventStream", "ResolvedStream", "aiter_events", "iter_events"]

_T = TypeVar("_T")
_Complete: TypeAlias = bool | Callable[[], bool]
_Text: TypeAlias = Callable[[Any], str | None]

_isascii = str.isascii
_isprintable = str.isprintable


@overload
def iter_events(
    chunks: Iterable[str],
    *,
    complete: _Complete = False,
    sources: None = None,
    scope: Scope = ...,
    spacing: Spacing = ...,
    **options: Unpack[ParserOptions],
) -> EventStream: ...
@overload
def iter_events(
    chunks: Iterable[str],
    *,
    complete: _Complete = False,
    sources: Mapping[str, Source],
    scope: Scope = ...,
    spacing: Spacing = ...,
    **options: Unpack[ParserOptions],
) -> ResolvedStream: ...
@overload
def iter_events(
    chunks: Iterable[_T],
    *,
    text: Callable[[_T], str | None] | None,
    complete: _Complete = False,
    sources: None = None,
    scope: Scope = ...,
    spacing: Spacing = ...,
    **options: Unpack[ParserOptions],
) -> EventStream: ...
@overload
def iter_events(
    chunks: Iterable[_T],
    *,
    text: Callable[[_T], str | None] | None,
    complete: _Complete = False,
    sources: Mapping[str, Source],
    scope: Scope = ...,
    spacing: Spacing = ...,
    **options: Unpack[ParserOptions],
) -> ResolvedStream: ...
def iter_events(
    chunks: Iterable[Any],
    *,
    text: Callable[[Any], str | None] | None = None,
    complete: _Complete = False,
    sources: Mapping[str, Source] | None = None,
    scope: Scope = "conversation",
    spacing: Spacing = "exact",
    **options: Unpack[ParserOptions],
) -> EventStream | ResolvedStream:
    """Iterate over the events of a stream of chunks.

    Args:
        chunks: any iterable. It is closed by its ``close``, if it has one, when the stream ends or is closed.
        text: picks the delta out of a chunk; None for a chunk without. Left out, each chunk is a delta.
        complete: whether an answer whose chunks come to their end has ended by itself, as for `CitationParser.close`;
            or a function that is asked when that end is reached, where the chunks say it.
        sources: what the citations point to, by source id, as for `Resolver`. It may grow while the stream is read.
            Left out, citations are not resolved.
        scope: as for `Resolver`; without sources it says nothing.
        spacing: ``exact``: all blanks are those that the model wrote; ``tidy``: where a marker was, what is left of it
            is mended as by `streamcite.spacing.Tidy`, which holds a blank or bracket back until it is decided.
        options: as for `CitationParser`.

    Returns:
        An iterator over the events, in order, that is also a context manager: with sources a `ResolvedStream`, in which
        a `Cited` stands in the place of each `Citation`. Nothing is read ahead, and an event is resolved when it is
        asked for.

    Raises:
        TypeError: ``chunks`` is not an iterable, ``text``, ``complete`` or ``format`` are of the wrong type,
            ``sources`` is not a mapping; while iterating, a delta is not a ``str``, or the mapping holds something else
            than sources.
        ValueError: another option is of the wrong type or out of its range.
    """
    _check(text, complete)
    resolver = None if sources is None else Resolver(sources, scope, format=options.get("format", OPENAI))
    parser = _parser(options, spacing, resolver)
    try:
        iterator = iter(chunks)
    except TypeError:
        raise TypeError(
            f"chunks: must be an iterable, not {type(chunks).__name__}; for an asynchronous one there is aiter_events"
        ) from None
    deltas = iterator if text is None else (text(chunk) or "" for chunk in iterator)
    given = Given(deltas, iterator, chunks)
    if resolver is None:
        return EventStream(parser, _drive(parser, given, complete, None), given)
    return ResolvedStream(parser, _drive(parser, given, complete, resolver), given)


@overload
def aiter_events(
    chunks: AsyncIterable[str],
    *,
    complete: _Complete = False,
    sources: None = None,
    scope: Scope = ...,
    spacing: Spacing = ...,
    **options: Unpack[ParserOptions],
) -> AsyncEventStream: ...
@overload
def aiter_events(
    chunks: AsyncIterable[str],
    *,
    complete: _Complete = False,
    sources: Mapping[str, Source],
    scope: Scope = ...,
    spacing: Spacing = ...,
    **options: Unpack[ParserOptions],
) -> AsyncResolvedStream: ...
@overload
def aiter_events(
    chunks: AsyncIterable[_T],
    *,
    text: Callable[[_T], str | None] | None,
    complete: _Complete = False,
    sources: None = None,
    scope: Scope = ...,
    spacing: Spacing = ...,
    **options: Unpack[ParserOptions],
) -> AsyncEventStream: ...
@overload
def aiter_events(
    chunks: AsyncIterable[_T],
    *,
    text: Callable[[_T], str | None] | None,
    complete: _Complete = False,
    sources: Mapping[str, Source],
    scope: Scope = ...,
    spacing: Spacing = ...,
    **options: Unpack[ParserOptions],
) -> AsyncResolvedStream: ...
def aiter_events(
    chunks: AsyncIterable[Any],
    *,
    text: Callable[[Any], str | None] | None = None,
    complete: _Complete = False,
    sources: Mapping[str, Source] | None = None,
    scope: Scope = "conversation",
    spacing: Spacing = "exact",
    **options: Unpack[ParserOptions],
) -> AsyncEventStream | AsyncResolvedStream:
    """Iterate over the events of an asynchronous stream of chunks, on asyncio or trio.

    Args:
        chunks: any asynchronous iterable. It is closed by its ``aclose`` or else its ``close``, a coroutine or not, if
            it has one, when the stream ends or is closed.
        text: as for `iter_events`.
        complete: as for `iter_events`.
        sources: as for `iter_events`.
        scope: as for `iter_events`.
        spacing: as for `iter_events`.
        options: as for `CitationParser`.

    Returns:
        An asynchronous iterator over the events, in order, that is also an asynchronous context manager: with sources
        an `AsyncResolvedStream`. Nothing is read ahead, and the only waiting is that for the next chunk.

    Raises:
        TypeError: ``chunks`` is not an asynchronous iterable, ``text``, ``complete`` or ``format`` are of the wrong
            type, ``sources`` is not a mapping; while iterating, a delta is not a ``str``, or the mapping holds
            something other than sources.
        ValueError: another option is of the wrong type or out of its range.
    """
    _check(text, complete)
    resolver = None if sources is None else Resolver(sources, scope, format=options.get("format", OPENAI))
    parser = _parser(options, spacing, resolver)
    try:
        iterator = aiter(chunks)
    except TypeError:
        raise TypeError(
            f"chunks: must be an asynchronous iterable, not {type(chunks).__name__}; for others there is iter_events"
        ) from None
    given = Given(iterator if text is None else _picked(iterator, text), iterator, chunks)
    if resolver is None:
        return AsyncEventStream(parser, _adrive(parser, given, complete, None), given)
    return AsyncResolvedStream(parser, _adrive(parser, given, complete, resolver), given)


def _check(text: _Text | None, complete: _Complete) -> None:
    if text is not None and not callable(text):
        raise TypeError(f"text: must be a function or None, not {text!r}")
    if not isinstance(complete, bool) and not callable(complete):
        raise TypeError(f"complete: must be True, False or a function, not {complete!r}")


class _TidyParser:
    """A parser with a stage after it that mends the spacing; it is fed every delta, as that must see all text."""

    __slots__ = ("_end", "_idle", "_parser", "_tidy")

    def __init__(self, parser: CitationParser, tidy: Tidy) -> None:
        self._parser = parser
        self._tidy = tidy
        self._idle = False
        self._end = 0  # nothing is passed by, so that nothing is to be added

    @property
    def held(self) -> str:
        return self._tidy.held + self._parser.held

    def feed(self, delta: str) -> list[Any]:
        return self._tidy.feed(self._parser.feed(delta))

    def close(self, *, complete: bool) -> list[Any]:
        return [*self._tidy.feed(self._parser.close(complete=complete)), *self._tidy.close()]


_Parser: TypeAlias = CitationParser | _TidyParser


def _parser(options: ParserOptions, spacing: Spacing, resolver: Resolver | None) -> _Parser:
    new_tidy = tidier(spacing, None if resolver is None else resolver.words)
    parser = CitationParser(**options)
    return parser if new_tidy is None else _TidyParser(parser, new_tidy(None))


async def _picked(chunks: AsyncIterator[Any], text: _Text) -> AsyncGenerator[str, None]:
    async for chunk in chunks:
        yield text(chunk) or ""


# The two drivers differ in "async" and "await" only. What a delta means is decided by the parser; where it cannot hold
# markup and nothing is held, `feed` would hand back the same delta (a test proves the two equal). The length of those
# is counted here and passed to the parser before it reads on, which is cheaper than telling it of each. A resolver has
# nothing to say of them either, unless a citation is pending.


def _drive(parser: _Parser, given: Given, complete: _Complete, resolver: Resolver | None) -> Generator[Any, None, None]:
    idle, passed, delta = parser._idle, 0, ""
    take = None if resolver is None else resolver.take
    try:
        for delta in given.deltas:
            if idle and delta and (_isascii(delta) or _isprintable(delta)):
                yield delta
                passed += len(delta)
            else:
                if events := _feed(parser, passed, delta):
                    for event in given.hand_out(events, take):
                        yield event
                idle, passed = parser._idle and (resolver is None or not resolver.pending), 0
        for event in given.hand_out(_close(parser, passed, complete), take, last=True):
            yield event
    except TypeError:
        if isinstance(delta, str):
            raise
        raise TypeError(_not_a_delta(delta)) from None
    finally:
        given.close()


async def _adrive(
    parser: _Parser, given: Given, complete: _Complete, resolver: Resolver | None
) -> AsyncGenerator[Any, None]:
    idle, passed, delta = parser._idle, 0, ""
    take = None if resolver is None else resolver.take
    try:
        async for delta in given.deltas:
            if idle and delta and (_isascii(delta) or _isprintable(delta)):
                yield delta
                passed += len(delta)
            else:
                if events := _feed(parser, passed, delta):
                    for event in given.hand_out(events, take):
                        yield event
                idle, passed = parser._idle and (resolver is None or not resolver.pending), 0
        for event in given.hand_out(_close(parser, passed, complete), take, last=True):
            yield event
    except TypeError:
        if isinstance(delta, str):
            raise
        raise TypeError(_not_a_delta(delta)) from None
    finally:
        await given.aclose()


def _not_a_delta(chunk: object) -> str:
    return f"delta: must be a str, not {type(chunk).__name__}; text= is a function that picks one out of a chunk"


def _feed(parser: _Parser, passed: int, delta: str) -> list[Event]:
    parser._end += passed
    return parser.feed(delta)


def _close(parser: _Parser, passed: int, complete: _Complete) -> list[Event]:
    parser._end += passed
    return parser.close(complete=complete if isinstance(complete, bool) else complete())
