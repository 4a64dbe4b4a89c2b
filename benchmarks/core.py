"""What the core costs, as ratios within one run: ``python -m benchmarks core``.

The denominator is a *null parser*, whose ``feed`` returns ``[delta]``. Every reader has the same consumer, which writes
what a reader sees of each event, ``write(str(event))``; what that costs is on both sides of a ratio.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from functools import partial
from io import StringIO
from typing import TypeVar

from streamcite import CitationParser, Event, aiter_events, iter_events

from .report import Figure
from .shapes import DELTAS, make
from .timing import allocated, fastest

# The most that `feed` may cost of what the null parser costs, by shape; None: it is only reported.
SHAPE_LIMITS = {
    "no citation": 1.75,
    "1 per 200": 2.1,
    "1 per 20, 20 distinct": 3.2,
    "1 per 20, all distinct": 4.0,
    "1 per 20, cut at random": 5.0,
    "CJK, none": 2.3,
    "1 per 200, as tokens": None,
    "1 per 20, as tokens": None,
}
# The most that a delta of these may cost of what a delta of plain text costs.
HOSTILE_LIMITS = {
    "one start, then prose": 8.0,
    "only starts": 8.0,
    "only delimiters": 8.0,
    "an open payload": 8.0,
    "1-character deltas": 8.0,
}
HELD = 60_000
QUICK = {"deltas": 10_000, "passes": 3}

_T = TypeVar("_T")


class NullParser:
    """Hand back every delta: what reading a stream costs without a parser."""

    __slots__ = ()

    def feed(self, delta: str) -> list[Event]:
        """Return the delta."""
        return [delta]


def figures(*, deltas: int = DELTAS, passes: int = 9) -> Iterator[Figure]:
    """Measure all that has a limit, one figure after the other.

    Args:
        deltas: about how many deltas a shape has.
        passes: how often each is run; the fastest counts.
    """
    for name, limit in SHAPE_LIMITS.items():
        shape = make(name, deltas).deltas
        times = fastest(
            {"feed": partial(read_fed, CitationParser, shape), "null": partial(read_fed, NullParser, shape)},
            passes=passes,
        )
        yield Figure(f"feed / null: {name}", times["feed"] / times["null"], limit)
    yield from _streams(deltas, passes)
    yield from _hostile(deltas, passes)
    yield from _lengths(deltas, passes)
    yield from _memory()


def read_fed(parser: Callable[[], CitationParser | NullParser], deltas: Sequence[str]) -> None:
    """Read deltas through the ``feed`` of a parser."""
    feed = parser().feed
    write = StringIO().write
    for delta in deltas:
        for event in feed(delta):
            write(str(event))


def read_iterated(deltas: Sequence[str]) -> None:
    """Read deltas through `iter_events`."""
    write = StringIO().write
    for event in iter_events(deltas):
        write(str(event))


async def read_async(stream: Callable[[AsyncIterator[str]], AsyncIterator[Event]], deltas: Sequence[str]) -> None:
    """Read deltas through a wrapper of an asynchronous iterator."""
    write = StringIO().write
    async for event in stream(given(deltas)):
        write(str(event))


async def given(items: Iterable[_T]) -> AsyncIterator[_T]:
    """Give items as a stream does that is never waited for."""
    for item in items:
        yield item


async def _identity(deltas: AsyncIterator[str]) -> AsyncIterator[Event]:
    async for delta in deltas:
        yield delta


def _streams(deltas: int, passes: int) -> Iterator[Figure]:
    for name, limit in {"no citation": 0.65, "1 per 200": 0.8}.items():
        shape = make(name, deltas).deltas
        times = fastest(
            {"iter": partial(read_iterated, shape), "feed": partial(read_fed, CitationParser, shape)}, passes=passes
        )
        yield Figure(f"iter_events / feed: {name}", times["iter"] / times["feed"], limit)
    shape = make("no citation", deltas).deltas
    times = fastest(
        {
            "aiter": lambda: asyncio.run(read_async(aiter_events, shape)),
            "identity": lambda: asyncio.run(read_async(_identity, shape)),
        },
        passes=passes,
    )
    yield Figure("aiter_events / identity generator: no citation", times["aiter"] / times["identity"], 1.3)


def _hostile(deltas: int, passes: int) -> Iterator[Figure]:
    plain = make("no citation", deltas).deltas
    for name, limit in HOSTILE_LIMITS.items():
        shape = make(name, deltas).deltas
        times = fastest(
            {"hostile": partial(read_fed, CitationParser, shape), "plain": partial(read_fed, CitationParser, plain)},
            passes=passes,
        )
        ratio = times["hostile"] / len(shape) / (times["plain"] / len(plain))
        yield Figure(f"a delta / a delta of plain text: {name}", ratio, limit)


def _lengths(deltas: int, passes: int) -> Iterator[Figure]:
    """Compare a delta (or, of one delta, a character) of a long input to one of a tenth or a hundredth of it."""
    for name, long, short in [
        ("1 per 200", 10 * deltas, deltas // 10),
        *((name, deltas, deltas // 10) for name in HOSTILE_LIMITS),
        ("one 10 MB delta", deltas, deltas // 10),
    ]:
        shapes = {"long": make(name, long).deltas, "short": make(name, short).deltas}
        times = fastest(
            {size: partial(read_fed, CitationParser, shape) for size, shape in shapes.items()}, passes=passes
        )
        characters = {size: sum(map(len, shape)) for size, shape in shapes.items()}
        ratio = times["long"] / characters["long"] / (times["short"] / characters["short"])
        yield Figure(f"a character of {long:,} deltas / of {short:,}: {name}", ratio, 1.2)


def _memory() -> Iterator[Figure]:
    parsers: list[CitationParser | None] = [None] * 10_000
    CitationParser()  # what all parsers share is built before

    def fill() -> None:
        for i in range(len(parsers)):
            parsers[i] = CitationParser()

    yield Figure("bytes of an idle parser", allocated(fill) / len(parsers), 160)
    for name, head, piece in [("strict", "\ue200cite\ue202", "a1b2"), ("payload", "\ue200genui\ue202{", '"k":')]:
        parser = CitationParser(max_marker=2 * HELD)
        used = allocated(partial(_fill, parser, head, piece))
        yield Figure(f"bytes a held character over 1 KiB: {name}", (used - 1024) / len(parser.held), 6)


def _fill(parser: CitationParser, head: str, piece: str) -> None:
    parser.feed(head)
    for _ in range(HELD // len(piece)):
        parser.feed(piece)
