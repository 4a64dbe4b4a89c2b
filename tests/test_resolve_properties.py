"""What holds of a resolver for any answer, any cut of it, and sources that come at any point.

What must come out is told again here, as plainly as can be: every citation is looked at before every event.
"""

import asyncio
import dataclasses
import itertools
import json
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamcite import (
    Citation,
    CitationParser,
    Cited,
    Event,
    Link,
    Resolved,
    ResolvedEvent,
    Resolver,
    Source,
    aiter_events,
    iter_events,
    parse,
)
from streamcite.resolve import resolve
from tests import strategies as sc

POOL = {
    source.id: source
    for source in (
        Source("turn0file0", "one\ntwo\n"),
        Source("turn0file1", "one\ntwo\nthree", url="https://example.org/a"),
        Source("turn1url0", "x", url="https://example.org/a"),
        Source("turn1url1", "x", citable=False),
        Source("a1", "block", unit="block", document="book"),
        Source("b2", "block", unit="block", document="book"),
    )
}
IDS = [*POOL, "turn7file7", "covid19"]
LATE = (
    "a\ue200cite\ue202turn0file0\ue202L1\ue201b\ue200cite\ue202a1\ue202turn0file0\ue201\ue200url\ue202c\ue201"
    "\ue200cite\ue202a1 d\ue200cite\ue202b2\ue202a1\ue202turn0file0\ue202turn1url1\ue201"
    "\ue200cite\ue202turn0file0\ue201"
)


def seen_words(citation: Citation) -> str:
    return citation.raw.removeprefix(f"\ue200{citation.family}\ue202").removesuffix("\ue201").replace("\ue202", "")


def looks_like_an_id(source_id: str) -> bool:
    return source_id[:4] == "turn" and source_id[4:5].isdigit() and source_id[-1:].isdigit()


def told(events: Iterable[Event], arrivals: Mapping[str, int]) -> list[ResolvedEvent]:
    """Return what must come of events where each source comes just before the event with its number."""
    known: dict[str, Source] = {}
    numbers: dict[str, int] = {}
    open_citations: dict[int, Citation] = {}
    out: list[ResolvedEvent] = []
    index = moved = 0

    def links(citation: Citation) -> tuple[Link, ...]:
        return tuple(map(link, citation.references))

    def link(reference: Any) -> Link:
        source = known.get(reference.source_id)
        if source is None or not source.citable:
            return Link(reference, problem="unknown-source")
        number = numbers.setdefault(source.identity, len(numbers) + 1)
        passage = source.passage(reference.locator)
        return Link(reference, source, passage, number, None if passage else "unknown-lines")

    def is_open(citation: Citation) -> bool:
        return not known.keys() >= set(citation.source_ids)

    for point, event in enumerate([*events, None]):
        come = {source_id for source_id, at in arrivals.items() if at == point}
        known.update({source_id: POOL[source_id] for source_id in come})
        for which, citation in [*open_citations.items()]:
            if come & set(citation.source_ids):
                out.append(Resolved(which, links(citation), is_open(citation)))
                if not is_open(citation):
                    del open_citations[which]
        if event is None:
            out += [Resolved(which, links(citation)) for which, citation in open_citations.items()]
        elif isinstance(event, Citation):
            unknown = not known.keys() & set(event.source_ids)
            is_prose = event.repaired and unknown and not any(map(looks_like_an_id, event.source_ids))
            words = seen_words(event) if is_prose else ""
            is_pending = is_open(event) and not is_prose
            out.append(Cited(event, index, event.position + moved, links(event), is_pending, words))
            if is_pending:
                open_citations[index] = event
            index += 1
            moved += len(words)
        elif isinstance(event, str) or not moved:
            out.append(event)
        else:
            out.append(dataclasses.replace(event, position=event.position + moved))
    return out


def fed(events: Iterable[Event], arrivals: Mapping[str, int], stops: Collection[int] = ()) -> list[ResolvedEvent]:
    """Return what a resolver gives of events where each source comes just before the event with its number.

    At the stops another resolver takes its place, just before or just after the sources that come there.
    """
    sources: dict[str, Source] = {}
    resolver = Resolver(sources)
    out: list[ResolvedEvent] = []
    for point, event in enumerate([*events, None]):
        saved = resolver.snapshot()
        sources.update({source_id: POOL[source_id] for source_id, at in arrivals.items() if at == point})
        if point in stops:
            resolver = Resolver.restore(json.loads(json.dumps(saved)), sources)
        if point + 10 in stops:
            resolver = Resolver.restore(resolver.snapshot(), sources)
        out += resolver.close() if event is None else resolver.feed([event])
    return out


@pytest.mark.parametrize(
    "some", [["turn0file0"], ["a1"], ["a1", "b2"], ["b2", "turn1url1"], ["turn0file0", "a1", "b2"]]
)
def test_sources_that_come_late_at_every_point(some: list[str]) -> None:
    events = parse(LATE)
    for ids in itertools.permutations(some):
        for points in itertools.combinations_with_replacement(range(len(events) + 1), len(ids)):
            arrivals = dict(zip(ids, points, strict=True))
            assert fed(events, arrivals) == told(events, arrivals), arrivals


FIELDS = st.lists(st.sampled_from([*IDS, *IDS, "L1", "L1-L2", "L3", "L0", "#", " a1"]), min_size=1, max_size=4)
ENDINGS = st.sampled_from(["\ue201"] * 6 + ["", " ", ". ", "\ue200"])
MARKERS = st.builds(lambda fields, ending: "\ue202".join(["\ue200cite", *fields]) + ending, FIELDS, ENDINGS)
PIECES = st.one_of(MARKERS, MARKERS, MARKERS, st.sampled_from(["a", "b ", "\ue200url\ue202c\ue201", "\ue201", "中文"]))
TEXTS = st.lists(PIECES, min_size=1, max_size=8).map("".join)
ARRIVALS = st.dictionaries(st.sampled_from([*POOL]), st.integers(0, 10), max_size=6)


@given(TEXTS, ARRIVALS)
def test_what_a_resolver_tells(text: str, arrivals: dict[str, int]) -> None:
    events = parse(text)
    resolved = fed(events, arrivals)
    assert resolved == told(events, arrivals)
    assert "".join(event if isinstance(event, str) else event.raw for event in resolved) == text
    seen = ""
    for event in resolved:
        if not isinstance(event, str | Resolved):
            assert event.position == len(seen)
        seen += str(event)
    assert not {"\ue200", "\ue201", "\ue202"} & set(seen)
    check_story(resolved)


def check_story(events: list[ResolvedEvent]) -> None:
    """Check what a reader of the events relies on, whatever the sources are."""
    numbers: dict[int, str] = {}
    open_links: dict[int, tuple[Link, ...]] = {}
    cited = [event.index for event in events if isinstance(event, Cited)]
    assert cited == [*range(len(cited))]
    for event in events:
        if isinstance(event, Resolved):
            before = open_links.pop(event.index)
            assert all(new == old for new, old in zip(event.links, before, strict=True) if old.source)
        if isinstance(event, Cited | Resolved):
            for link in event.links:
                assert (link.source is None) is (link.number is None) is (link.problem == "unknown-source")
                assert link.passage == (link.source and link.source.passage(link.reference.locator))
                if link.source and link.number:
                    assert link.number <= len(numbers) + 1
                    assert numbers.setdefault(link.number, link.source.identity) == link.source.identity
            if event.pending:
                open_links[event.index] = event.links
    assert open_links == {}
    assert len(set(numbers.values())) == len(numbers)


@given(TEXTS, ARRIVALS, st.sets(st.integers(0, 20)))
def test_another_resolver_can_go_on_anywhere(text: str, arrivals: dict[str, int], stops: set[int]) -> None:
    events = parse(text)
    assert fed(events, arrivals, stops) == told(events, arrivals)


@given(TEXTS)
def test_without_sources_everything_is_unknown(text: str) -> None:
    for event in resolve(text, {}):
        if isinstance(event, Cited | Resolved):
            assert all(link == Link(link.reference, problem="unknown-source") for link in event.links)


class Deltas:
    """Be asynchronous, with nothing to close, so that anyio is not needed."""

    def __init__(self, deltas: Iterable[str]) -> None:
        self.deltas = iter(deltas)

    def __aiter__(self) -> AsyncIterator[str]:
        return self

    async def __anext__(self) -> str:
        for delta in self.deltas:
            return delta
        raise StopAsyncIteration


class Late:
    """Gather events; let a source come when that many other than text were handed out."""

    def __init__(self, arrivals: Mapping[str, int]) -> None:
        self.sources: dict[str, Source] = {}
        self.arrivals = arrivals
        self.events: list[ResolvedEvent] = []
        self.markers = 0
        self.arrive()

    def arrive(self) -> None:
        self.sources.update(
            {source_id: POOL[source_id] for source_id, at in self.arrivals.items() if at == self.markers}
        )

    def take(self, event: ResolvedEvent) -> None:
        if isinstance(event, str) and self.events and isinstance(last := self.events[-1], str):
            self.events[-1] = last + event
            return
        self.events.append(event)
        if not isinstance(event, str):
            self.markers += 1
            self.arrive()


@given(st.data())
def test_neither_the_cut_nor_the_way_of_reading_shows(data: st.DataObject) -> None:
    text, arrivals = data.draw(TEXTS), data.draw(ARRIVALS)
    deltas, complete = data.draw(sc.cuts(text)), data.draw(st.booleans())
    whole, cut, awaited = Late(arrivals), Late(arrivals), Late(arrivals)
    for event in iter_events([text], sources=whole.sources, complete=complete):
        whole.take(event)
    stream = iter_events(deltas, sources=cut.sources, complete=complete)
    for event in stream:
        cut.take(event)
    assert stream.held == ""

    async def read() -> None:
        async for event in aiter_events(Deltas(deltas), sources=awaited.sources, complete=complete):
            awaited.take(event)

    asyncio.run(read())
    assert whole.events == cut.events == awaited.events
    check_story(whole.events)
    whole_sources = {source_id: POOL[source_id] for source_id, at in arrivals.items() if at == 0}
    once = resolve(text, whole_sources, complete=complete)
    fixed = Late({})
    for event in iter_events(deltas, sources=whole_sources, complete=complete):
        fixed.take(event)
    parser, resolver = CitationParser(), Resolver(whole_sources)
    stage = Late({})
    for events in [*map(parser.feed, deltas), parser.close(complete=complete)]:
        for event in resolver.feed(events):
            stage.take(event)
    for event in resolver.close():
        stage.take(event)
    assert once == fixed.events == stage.events
