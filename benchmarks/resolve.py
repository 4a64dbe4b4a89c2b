"""What follows the parser, as ratios within one run: ``python -m benchmarks resolve``.

Every reader has the same consumer, which writes what a reader sees of each event; what that costs is on both sides of a
ratio.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from functools import partial
from io import StringIO

from streamcite import (
    OPENAI,
    Citation,
    CitationParser,
    Event,
    Reference,
    ResolvedEvent,
    Resolver,
    Source,
    aiter_events,
    iter_events,
)

from .core import given, read_fed
from .report import Figure
from .shapes import DELTAS, Shape, make
from .timing import fastest

# The most that events may cost with sources of what they cost without, by shape; None: it is only reported.
STREAM_LIMITS = {"no citation": 1.15, "1 per 200": None, "1 per 20, 20 distinct": None}
IDS = 100_000
QUICK = {"deltas": 10_000, "ids": 10_000, "passes": 3}
# The most that an id may cost in a long marker of what it costs in a short one.
LINEAR = 1.5


def figures(*, deltas: int = DELTAS, ids: int = IDS, passes: int = 9) -> Iterator[Figure]:
    """Measure all that has a limit, one figure after the other.

    Args:
        deltas: about how many deltas a shape has.
        ids: how many ids the longest marker has.
        passes: how often each is run; the fastest counts.
    """
    yield from _streams(deltas, passes)
    yield from _markers(ids, passes)


def sources_of(shape: Shape) -> dict[str, Source]:
    """Give a source with lines for every id that a shape cites."""
    cited = [reference for _, outcome in shape.markup if isinstance(outcome, tuple) for reference in outcome]
    return {reference.source_id: Source(reference.source_id, "A line.\n" * 20) for reference in cited}


def read_resolved(deltas: Sequence[str], sources: Mapping[str, Source] | None) -> None:
    """Read deltas through `iter_events`."""
    write = StringIO().write
    stream: Iterable[ResolvedEvent | Event] = iter_events(deltas, sources=sources)
    for event in stream:
        write(str(event))


def read_async(deltas: Sequence[str], sources: Mapping[str, Source] | None) -> None:
    """Read deltas through `aiter_events`."""

    async def read() -> None:
        write = StringIO().write
        stream: AsyncIterator[ResolvedEvent | Event] = aiter_events(given(deltas), sources=sources)
        async for event in stream:
            write(str(event))

    asyncio.run(read())


def read_staged(deltas: Sequence[str], sources: Mapping[str, Source]) -> None:
    """Read deltas through the ``feed`` of a parser, and what it gives through that of a resolver."""
    feed, resolve = CitationParser().feed, Resolver(sources).feed
    write = StringIO().write
    for delta in deltas:
        for event in resolve(feed(delta)):
            write(str(event))


def marker(*references: Reference) -> Citation:
    """Build a citation of any length."""
    return Citation(family="cite", references=references, raw="", start=0, position=0)


def read_markers(citations: Sequence[Citation], sources: Mapping[str, Source]) -> None:
    """Resolve citations one by one."""
    feed = Resolver(sources).feed
    for citation in citations:
        feed([citation])


def _streams(deltas: int, passes: int) -> Iterator[Figure]:
    for name, limit in STREAM_LIMITS.items():
        shape = make(name, deltas)
        sources = sources_of(shape)
        times = fastest(
            {
                "resolved": partial(read_resolved, shape.deltas, sources),
                "bare": partial(read_resolved, shape.deltas, None),
                "async resolved": partial(read_async, shape.deltas, sources),
                "async bare": partial(read_async, shape.deltas, None),
                "staged": partial(read_staged, shape.deltas, sources),
                "fed": partial(read_fed, CitationParser, shape.deltas),
            },
            passes=passes,
        )
        yield Figure(f"iter_events with sources / without: {name}", times["resolved"] / times["bare"], limit)
        yield Figure(
            f"aiter_events with sources / without: {name}", times["async resolved"] / times["async bare"], limit
        )
        yield Figure(f"feed of parser and resolver / of parser: {name}", times["staged"] / times["fed"])
    unknown = [OPENAI.write([Reference("turn0file0")]), *make("no citation", deltas).deltas]
    times = fastest(
        {"pending": partial(read_resolved, unknown, {}), "bare": partial(read_resolved, unknown, None)}, passes=passes
    )
    yield Figure("iter_events with an unknown id at the start / without sources", times["pending"] / times["bare"])


def _markers(ids: int, passes: int) -> Iterator[Figure]:
    """Compare what long markers, or the lines that they name, cost with short ones."""
    known = {f"turn0file{i}": Source(f"turn0file{i}", "A line.\n" * 20) for i in range(ids)}
    references, few = [*map(Reference, known)], ids // 100
    sizes = {
        size: [marker(*references[i : i + length]) for i in range(0, ids, length)]
        for size, length in {"long": ids, "short": few}.items()
    }
    for name, sources in {"known": known, "unknown": {}}.items():
        times = fastest(
            {size: partial(read_markers, citations, sources) for size, citations in sizes.items()}, passes=passes
        )
        yield Figure(f"an id of {ids:,} in a marker / of {few:,}: {name}", times["long"] / times["short"], LINEAR)
    book = {"turn0file0": Source("turn0file0", "A line.\n" * ids)}
    for locator in ("L1-L999999999", f"L1-L{ids - 1}"):
        times = fastest(
            {
                name: partial(read_markers, [marker(Reference("turn0file0", name))] * 1000, book)
                for name in (locator, "L1-L2")
            },
            passes=passes,
        )
        yield Figure(f"a citation of {locator} / of L1-L2", times[locator] / times["L1-L2"], LINEAR)
