"""What a `Resolver` costs: counted without a clock, by what it asks of the sources."""

from collections.abc import Iterator, Mapping

import pytest

from streamcite import Citation, Cited, Reference, Resolved, Resolver, Source, Sources, parse
from streamcite.resolve import resolve
from tests.markers import cite


class Counted(Mapping[str, Source]):
    """Count how often an id is looked up, and how often all ids are listed."""

    def __init__(self, sources: dict[str, Source]) -> None:
        self.sources = sources
        self.looked_up = self.listed = 0

    def __getitem__(self, id: str) -> Source:
        self.looked_up += 1
        return self.sources[id]

    def __len__(self) -> int:
        return len(self.sources)

    def __iter__(self) -> Iterator[str]:
        self.listed += 1
        return iter(self.sources)


MANY = 10_000


def many(ids: list[str]) -> Citation:
    return Citation(family="cite", references=tuple(map(Reference, ids)), raw="", start=0, position=0)


def test_many_ids_in_a_marker_are_each_looked_up_once() -> None:
    sources = Counted({f"a{i}": Source(f"a{i}") for i in range(0, MANY, 100)})
    (event,) = Resolver(sources).feed([many([f"a{i}" for i in range(MANY)] * 2)])
    assert isinstance(event, Cited)
    assert sources.looked_up == MANY
    assert [link.number for link in event.links[:201:100]] == [1, 2, 3]
    assert len(event.links) == 2 * MANY


def test_a_marker_of_many_ids_is_read_from_its_text() -> None:
    text = cite(*(f"a{i}" for i in range(MANY)))
    event, *_ = resolve(text, {}, max_marker=len(text))
    assert isinstance(event, Cited)
    assert len(event.links) == MANY


def test_many_unknown_ids_cost_nothing_while_no_source_comes() -> None:
    sources = Counted({})
    resolver = Resolver(sources)
    resolver.feed([many([f"a{i}" for i in range(MANY)])])
    looked_up = sources.looked_up
    for _ in range(1000):
        resolver.feed(["a"])
    assert (sources.looked_up, sources.listed) == (looked_up, 0)
    sources.sources["b"] = Source("b")
    resolver.feed(["a"])
    assert (sources.looked_up, sources.listed) == (looked_up, 1)
    assert len(resolver.close()) == 1


def test_many_sources_cost_nothing_while_few_ids_are_unknown() -> None:
    sources = Counted({f"a{i}": Source(f"a{i}") for i in range(1000)})
    resolver = Resolver(sources)
    resolver.feed([many(["b", "c"])])
    for i in range(1000):
        sources.sources[f"d{i}"] = Source(f"d{i}")
        assert resolver.feed([]) == []
    assert (sources.looked_up, sources.listed) == (2 + 2 * 1000, 0)


def test_the_end_of_many_that_are_pending_costs_no_more_than_each_once() -> None:
    sources = Counted({})
    resolver = Resolver(sources)
    resolver.feed(parse("".join(cite(f"turn0file{number}", f"turn1file{number}") for number in range(MANY))))
    sources.sources.update({f"turn0file{number}": Source("a") for number in range(MANY)})
    sources.looked_up = 0
    assert len(resolver.close()) == 2 * MANY
    assert sources.looked_up <= 5 * MANY


class CountedSources(Sources):
    """Count how often an id is looked up or listed."""

    count = 0

    def __getitem__(self, id: str) -> Source:
        self.count += 1
        return super().__getitem__(id)

    def __iter__(self) -> Iterator[str]:
        for id in super().__iter__():
            self.count += 1
            yield id

    def __reversed__(self) -> Iterator[str]:
        for id in super().__reversed__():
            self.count += 1
            yield id


@pytest.mark.parametrize("citations", [1, MANY])
def test_sources_that_come_one_by_one_are_each_looked_at_once(citations: int) -> None:
    sources = CountedSources()
    resolver = Resolver(sources)
    ids = [f"a{number}" for number in range(MANY // 10)]
    events = resolver.feed([many(ids)] if citations == 1 else [many([id]) for id in ids])
    assert sources.count == len(ids)
    sources.count = 0
    for number, id in enumerate(reversed(ids)):
        sources.add(Source(id))
        (told,) = resolver.feed([])
        assert isinstance(told, Resolved)
        assert told.index == (0 if citations == 1 else len(ids) - 1 - number)
    assert sources.count < 4 * len(ids)  # also for those that the test adds
    assert resolver.close() == []
    assert len(events) == (1 if citations == 1 else len(ids))


def test_sources_that_come_while_many_are_reported_are_reported_in_order() -> None:
    sources: dict[str, Source] = {}
    resolver = Resolver(sources)
    resolver.feed([many([f"a{number}", f"b{number}"]) for number in range(100)])
    sources.update({f"a{number}": Source(f"a{number}") for number in range(100)})
    told = []
    while (event := resolver.take([])) is not None:
        assert isinstance(event, Resolved)
        told.append(event.index)
        if len(told) < 50:
            sources[f"b{99 - len(told)}"] = Source(f"b{99 - len(told)}")
    assert told == list(range(100))  # the later ones once, with both
    assert [event.index for event in resolver.close() if isinstance(event, Resolved)] == [*range(50), 99]


def test_what_is_added_where_something_went_is_found_at_the_latest_at_the_end() -> None:
    sources = {"x": Source("x"), "y": Source("y")}
    resolver = Resolver(sources)
    resolver.feed([many(["a"]), many(["b"]), many(["c"])])
    del sources["x"], sources["y"]
    assert resolver.feed([]) == []
    sources |= {"a": Source("a")}
    (told,) = resolver.feed([])
    del sources["a"]
    sources |= {"b": Source("b"), "c": Source("c")}
    rest = [*resolver.feed([]), *resolver.close()]
    assert [event.index for event in [told, *rest] if isinstance(event, Resolved)] == [0, 2, 1]
    assert not any(link.problem for event in rest if isinstance(event, Resolved) for link in event.links)


class Sorted(dict[str, Source]):
    """Keep the ids in order, as such mappings do."""

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(super().__iter__()))

    def __reversed__(self) -> Iterator[str]:
        return iter(sorted(super().__iter__(), reverse=True))


def test_a_mapping_may_keep_another_order() -> None:
    sources = Sorted()
    resolver = Resolver(sources)
    resolver.feed([many(["a", "b"])])
    for id in ("b", "a"):
        sources[id] = Source(id)
        (told,) = resolver.feed([])
        assert isinstance(told, Resolved)
        assert told.pending == (id == "b")


def test_no_passage_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    def passage(self: Source, locator: str | None = None) -> None:
        raise AssertionError(locator)

    monkeypatch.setattr(Source, "passage", passage)
    sources = {"a": Source("a", "one\n" * MANY)}
    text = cite("a", *(f"L1-L{MANY - i}" for i in range(300)), "L1-L999999999")
    (event,) = resolve(text, sources)
    assert isinstance(event, Cited)
    assert [link.problem for link in event.links] == [None] * 300 + ["unknown-lines"]
