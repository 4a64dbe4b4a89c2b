"""`Resolver`: what each citation points to, sources that come late, and citations that were prose."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import pytest

from streamcite import (
    Citation,
    CitationFormat,
    Cited,
    Event,
    Link,
    Malformed,
    OtherMarker,
    Passage,
    Reference,
    Resolved,
    Resolver,
    Source,
    Sources,
    parse,
)
from streamcite.resolve import Problem, ResolverClosed, resolve

A = Source("turn0file0", "one\ntwo\nthree\n", url="https://example.org/a")
B = Source("turn0file1", "four\nfive\n", title="B")
SOURCES = {source.id: source for source in (A, B)}


def cite(*fields: str) -> str:
    """Return the marker with these fields, well formed or not."""
    return "\ue202".join(["\ue200cite", *fields]) + "\ue201"


def cited(text: str, sources: Mapping[str, Source] = SOURCES, **options: Any) -> list[Cited]:
    return [event for event in resolve(text, sources, **options) if isinstance(event, Cited)]


def links(text: str, sources: Mapping[str, Source] = SOURCES, **options: Any) -> list[Link]:
    return [link for event in cited(text, sources, **options) for link in event.links]


def problems(text: str, sources: Mapping[str, Source] = SOURCES, **options: Any) -> list[Problem | None]:
    return [link.problem for link in links(text, sources, **options)]


# A citation and its sources.


def test_a_citation_with_all_that_it_points_to() -> None:
    text = f"It lasts{cite('turn0file0', 'L2-L3', 'turn0file1')}."
    (citation,) = (event for event in parse(text) if isinstance(event, Citation))
    assert resolve(text, SOURCES) == [
        "It lasts",
        Cited(
            citation,
            index=0,
            position=8,
            links=(
                Link(Reference("turn0file0", "L2-L3"), A, Passage("two\nthree", 4, 2, 3), 1, None),
                Link(Reference("turn0file1"), B, Passage("four\nfive\n", 0), 2, None),
            ),
            pending=False,
        ),
        ".",
    ]


def test_citations_are_counted_from_0_whatever_they_cite() -> None:
    text = (
        f"{cite('turn0file0')}{cite('turn9file9')}a{cite('file0')}{cite()}\ue200cite\ue202covid19 {cite('turn0file1')}"
    )
    assert [event.index for event in cited(text)] == [0, 1, 2, 3, 4]


def test_all_that_is_no_citation_passes_as_the_same_object() -> None:
    events = [
        event for event in parse(f"a\ue200url\ue202b\ue201 \ue201{cite()}c" * 3) if not isinstance(event, Citation)
    ]
    assert {type(event) for event in events} == {str, OtherMarker, Malformed}
    resolver = Resolver(SOURCES)
    assert all(given is event for given, event in zip(resolver.feed(events), events, strict=True))
    assert resolver.feed([]) == resolver.close() == []


# Numbers.


def test_numbers_are_given_by_first_appearance() -> None:
    text = f"{cite('turn0file1')}{cite('turn0file0', 'turn0file1')}{cite('turn0file1', 'L1')}"
    assert [link.number for link in links(text)] == [1, 2, 1, 1]


def test_one_document_or_url_has_one_number_whatever_the_id() -> None:
    twins = [
        Source("a", url="https://example.org"),
        Source("b", url="https://example.org", text="other"),
        Source("c", document="book", url="https://example.com/1"),
        Source("d", document="book", url="https://example.com/2"),
        Source("e"),
    ]
    sources = {source.id: source for source in twins}
    assert [link.number for link in links(cite("e", "d", "a", "b", "c"), sources)] == [1, 2, 3, 3, 2]


def test_what_has_no_source_takes_no_number() -> None:
    sources = {**SOURCES, "shown": Source("shown", citable=False)}
    text = cite("turn9file9", "turn0file0", "shown", "turn9file8", "turn0file1", "L9")
    assert [link.number for link in links(text, sources)] == [None, 1, None, None, 2]


# Problems.


@pytest.mark.parametrize("locator", ["L0", "L4", "L3-L1", "L1-L4", "L0-L2", "L1-L999999999", f"L1-L{'9' * 3000}"])
def test_lines_that_are_not_there(locator: str) -> None:
    (link,) = links(cite("turn0file0", locator))
    assert (link.source, link.passage, link.number, link.problem) == (A, None, 1, "unknown-lines")


@pytest.mark.parametrize("unit", ["document", "block"])
def test_lines_of_what_has_none(unit: Any) -> None:
    sources = {"a": Source("a", "one\ntwo", unit=unit)}
    assert problems(cite("a", "L1") + cite("a"), sources) == ["unknown-lines", None]


@pytest.mark.parametrize("locator", ["L1", "L3", "L1-L3", "L2–3"])
def test_lines_that_are_there(locator: str) -> None:
    assert problems(cite("turn0file0", locator)) == [None]


@pytest.mark.parametrize("sources", [{}, MappingProxyType({}), Sources(), {"turn0file0": Source("a", citable=False)}])
def test_an_unknown_source(sources: Mapping[str, Source]) -> None:
    (link,) = links(cite("turn0file0", "L1"), sources)
    assert link == Link(Reference("turn0file0", "L1"), None, None, None, "unknown-source")


def registry() -> Sources:
    sources = Sources()
    call = sources.tool_call()
    for text in ("one\n", "two\n", "three\n"):
        call.add(text)
    return sources


def test_only_the_program_marks_what_was_cited() -> None:
    sources = Sources()
    sources.add(A)
    events = cited(cite(A.id, "unknown"), sources)
    before = sources.cited
    for event in events:
        sources.mark_cited(*event.citation.source_ids)
    assert (before, sources.cited) == ((), (A.id,))


def test_an_ambiguous_source() -> None:
    sources = registry()
    sources.mark_ambiguous("turn0file1")
    first, second = links(cite("turn0file0") + cite("turn0file1", "L1"), sources)
    assert first.problem is None
    assert (second.problem, second.source, second.number) == ("ambiguous-source", sources["turn0file1"], 2)


def test_a_stale_source() -> None:
    sources = registry()
    sources.mark_shown("turn0file0", "turn0file1")
    sources.user_message()
    sources.mark_shown("turn0file1", sources.tool_call().add("four\n").id)
    sources.mark_shown(sources.tool_call().add("five\n").id)
    text = cite("turn0file0", "turn0file1", "turn1file0", "turn2file0", "turn0file2")
    assert problems(text, sources) == [None] * 5
    assert problems(text, sources, scope="answer") == ["stale-source", None, None, None, None]
    assert [link.number for link in links(text, sources, scope="answer")] == [1, 2, 3, 4, 5]
    assert problems(text, dict(sources), scope="answer") == [None] * 5


def test_of_several_problems_the_first_is_told() -> None:
    sources = registry()
    sources.mark_shown(*sources)
    sources.user_message()
    sources.mark_ambiguous("turn0file0")
    assert problems(cite("turn0file0", "L9", "turn0file1", "L9", "turn0file1"), sources, scope="answer") == [
        "ambiguous-source",
        "stale-source",
        "stale-source",
    ]
    assert [link.passage for link in links(cite("turn0file1", "L9", "turn0file1", "L1"), sources)] == [
        None,
        Passage("two", 0, 1, 1),
    ]


# Sources that come late.


def events_of(text: str) -> list[Event]:
    return parse(text)


def test_a_late_source() -> None:
    sources = {A.id: A}
    resolver = Resolver(sources)
    marker, other = events_of(cite("turn0file1", "L1", "turn0file0") + cite("turn0file0"))
    (first,) = resolver.feed([marker])
    assert isinstance(first, Cited)
    assert first.pending
    assert resolver.pending
    assert [(link.problem, link.number) for link in first.links] == [("unknown-source", None), (None, 1)]
    assert resolver.feed(["a"]) == ["a"]
    sources[B.id] = B
    resolved, second = resolver.feed([other])
    assert resolved == Resolved(
        0,
        (
            Link(Reference(B.id, "L1"), B, Passage("four", 0, 1, 1), 2, None),
            Link(Reference(A.id), A, Passage(A.text, 0), 1),
        ),
    )
    assert isinstance(second, Cited)
    assert not second.pending
    assert not resolver.pending
    assert resolver.close() == []


def test_each_source_is_told_as_it_comes() -> None:
    sources: dict[str, Source] = {}
    resolver = Resolver(sources)
    resolver.feed(events_of(cite("turn0file0", "turn0file1", "turn0file2")))
    told = []
    for source in (B, A):
        sources[source.id] = source
        told += resolver.feed(["a"])[:-1]
    (last,) = resolver.close()
    assert [(event.pending, [link.number for link in event.links]) for event in [*told, last]] == [  # type: ignore[union-attr]
        (True, [None, 1, None]),
        (True, [2, 1, None]),
        (False, [2, 1, None]),
    ]


def test_what_is_unknown_at_the_end_is_final() -> None:
    text = f"a{cite('turn9file9')}b{cite('turn0file0')}{cite('turn9file8', 'turn9file9')}"
    *_, first, last = resolve(text, SOURCES)
    unknown = Link(Reference("turn9file9"), problem="unknown-source")
    assert first == Resolved(0, (unknown,))
    assert last == Resolved(2, (Link(Reference("turn9file8"), problem="unknown-source"), unknown))


def test_a_source_that_comes_before_the_end_is_told_there() -> None:
    sources: dict[str, Source] = {}
    resolver = Resolver(sources)
    resolver.feed(events_of(cite("turn0file0") + cite("turn0file1")))
    sources[B.id] = B
    told = resolver.close()
    assert [(event.index, event.links[0].problem) for event in told if isinstance(event, Resolved)] == [
        (1, None),
        (0, "unknown-source"),
    ]
    assert resolver.close() == []
    assert not resolver.pending


def test_a_source_that_is_not_citable_is_not_waited_for() -> None:
    sources = {"a": Source("a", citable=False)}
    resolver = Resolver(sources)
    now, late = resolver.feed(events_of(cite("a") + cite("a", "b")))
    assert isinstance(now, Cited)
    assert isinstance(late, Cited)
    assert (now.pending, late.pending) == (False, True)
    sources["a"], sources["b"] = Source("a"), Source("b", citable=False)
    assert resolver.feed([]) == [Resolved(1, late.links)]


def test_what_was_told_of_a_source_stays() -> None:
    sources = Sources()
    sources.add(A, key="a")
    resolver = Resolver(sources)
    (first,) = resolver.feed(events_of(cite(A.id, "L1", B.id)))
    sources.mark_ambiguous(A.id)
    sources.add(Source(A.id, "other"), key="a")
    sources.add(B)
    (later,) = resolver.feed([])
    assert isinstance(first, Cited)
    assert isinstance(later, Resolved)
    assert later.links[0] is first.links[0]
    assert later.links[0].passage == Passage("one", 0, 1, 1)


# Citations that were prose.


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("\ue200cite\ue202covid19 spreads", "covid19 spreads"),
        ("\ue200cite\ue202covid19", "covid19"),
        ("\ue200filecite\ue202a1\ue202b2 c", "a1b2 c"),
        ("\ue200cite\ue202a1\ue202L2 c", "a1L2 c"),
        (cite("a1", "#"), "a1#"),
        (cite("a1 ", "L2", "#"), "a1 L2#"),
        (cite("turn0file", "#"), "turn0file#"),
        (cite("xturn0file0", "#"), "xturn0file0#"),
    ],
)
def test_a_broken_marker_of_unknown_ids_may_have_been_prose(text: str, seen: str) -> None:
    sources: dict[str, Source] = {}
    resolver = Resolver(sources)
    first, *rest = resolver.feed(parse(text, complete=True))
    assert isinstance(first, Cited)
    assert first.citation.repaired
    assert not first.pending
    assert not resolver.pending
    assert {link.problem for link in first.links} == {"unknown-source"}
    assert "".join(map(str, [first, *rest])) == seen
    sources["covid19"] = Source("covid19")
    assert resolver.feed(["."]) + resolver.close() == ["."]


@pytest.mark.parametrize(
    "text", [cite("turn0file7", "#"), cite("a1", "turn12search3", "#"), cite("a1", "turn0file0", "#")]
)
def test_a_broken_marker_with_an_id_that_is_none_by_chance_is_a_citation(text: str) -> None:
    (event,) = cited(text)
    assert event.citation.repaired
    assert str(event) == ""
    assert event.pending


def test_a_broken_marker_of_a_source_that_is_not_citable_is_a_citation() -> None:
    (event,) = cited(cite("covid19", "#"), {"covid19": Source("covid19", citable=False)})
    assert (str(event), event.pending, event.links[0].problem) == ("", False, "unknown-source")


def test_a_well_formed_marker_is_a_citation_whatever_it_names() -> None:
    (event,) = cited(cite("covid19"))
    assert (str(event), event.pending) == ("", True)


def test_prose_moves_what_stands_behind_it() -> None:
    link = "\ue200url\ue202b\ue201"
    text = (
        f"a{cite('turn0file0')}{link}\ue200cite\ue202a1 {link}{cite('turn0file1')}{cite('b2', '#')}\ue201{cite('c')}d"
    )
    seen = ""
    for event in resolve(text, SOURCES):
        if isinstance(event, Cited | OtherMarker | Malformed):
            assert event.position == len(seen)
        seen += str(event)
    assert seen == "aba1 bb2#d"
    whole = parse(text)
    moved = [event for event in resolve(text, SOURCES) if isinstance(event, OtherMarker | Malformed)]
    before, *behind = [event for event in whole if isinstance(event, OtherMarker | Malformed)]
    assert moved[0] == before
    assert [(event.raw, event.text, event.start) for event in moved[1:]] == [(e.raw, e.text, e.start) for e in behind]


def test_prose_is_shown_without_what_its_format_takes_out_of_text() -> None:
    bars = CitationFormat(
        start="[[", delimiter="||", stop="]]", families=("ref",), ignored=frozenset("*"), field_chars=r"\S"
    )
    text = "x[[ref||a1||#*|]]]"
    (event,) = cited(text, format=bars)
    assert event.citation.repaired
    assert str(event) == "a1#|"
    assert "".join(map(str, resolve(text, SOURCES, format=bars))) == "xa1#|]"


# Cost, counted without a clock.


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
    (event,) = cited(text, {}, max_marker=len(text))
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


def test_sources_that_come_while_many_are_told_are_told_in_order() -> None:
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
    assert problems(text, sources) == [None] * 300 + ["unknown-lines"]


# State.


def test_a_snapshot_is_taken_up_by_another_resolver() -> None:
    sources = {A.id: A}
    bars = CitationFormat(start="[[", delimiter="|", stop="]]", families=("ref",))
    first, *rest = parse(f"[[ref|{A.id}|turn1file0]][[ref|a1 b[[ref|{B.id}]]", format=bars)
    resolver = Resolver(sources, "answer", format=bars)
    resolver.feed([first])
    saved = resolver.snapshot()
    assert saved == {
        "version": 1,
        "cited": 1,
        "moved": 0,
        "numbers": [A.identity],
        "pending": [
            [0, [{"source_id": A.id, "locator": None}, {"source_id": "turn1file0", "locator": None}], ["turn1file0"]]
        ],
    }
    for each in (resolver, Resolver.restore(saved, sources, "answer", format=bars)):
        prose, _, last = each.feed(rest)
        assert isinstance(prose, Cited)
        assert isinstance(last, Cited)
        assert (prose.index, str(prose), last.index, last.position) == (1, "a1", 2, 4)
        assert [event.index for event in each.close() if isinstance(event, Resolved)] == [0, 2]


def test_behind_its_end_a_resolver_has_the_counts_to_go_on_with() -> None:
    resolver = Resolver({A.id: A})
    resolver.feed(parse(cite(A.id, "turn1file0")))
    resolver.close()
    saved = resolver.snapshot()
    assert (saved["cited"], saved["numbers"], saved["pending"]) == (1, [A.identity], [])
    (cited,) = Resolver.restore(saved, {B.id: B}).feed(parse(cite(B.id)))
    assert isinstance(cited, Cited)
    assert (cited.index, cited.links[0].number) == (1, 2)


# One event after the other.


def two_pending() -> tuple[Resolver, dict[str, Source]]:
    """Give a resolver with two pending citations, and the sources that it has."""
    sources: dict[str, Source] = {}
    resolver = Resolver(sources)
    resolver.feed(parse(cite(A.id, B.id) + cite(A.id)))
    return resolver, sources


def all_taken(resolver: Resolver, *, last: bool = False) -> list[Any]:
    return list(iter(lambda: resolver.take([], last=last), None))


def taken(resolver: Resolver, *, last: bool = False) -> list[Any]:
    return [(event.index, event.pending) for event in all_taken(resolver, last=last)]


def test_what_waits_is_taken_behind_what_became_known() -> None:
    resolver, sources = two_pending()
    waiting = [*parse(cite(B.id)), "a"]
    assert resolver.take([]) is None
    sources[A.id] = A
    events = [resolver.take(waiting, last=True) for _ in range(6)]
    assert [type(event) for event in events] == [Resolved, Resolved, str, Cited, Resolved, Resolved]
    assert waiting == []
    assert resolver.take(waiting, last=True) is None


@pytest.mark.parametrize("stop", range(5))
def test_a_snapshot_between_two_events_goes_on_behind_the_first(stop: int) -> None:
    resolver, sources = two_pending()
    sources[A.id] = A
    told: list[Any] = []
    while len(told) < stop and (event := resolver.take([], last=True)) is not None:
        told.append(event)
    other = Resolver.restore(json.loads(json.dumps(resolver.snapshot())), sources)
    expected = all_taken(resolver, last=True)
    assert all_taken(other, last=True) == expected
    assert [(each.index, each.pending) for each in told + expected] == [(0, True), (1, False), (0, False)]
    assert expected == [] or expected[-1].links[-1].problem == "unknown-source"


def test_what_comes_while_others_are_told_is_told_in_order() -> None:
    resolver, sources = two_pending()
    resolver.feed(parse(cite(B.id)))
    sources[A.id] = A
    assert resolver.take([]) is not None
    sources[B.id] = B
    saved = resolver.snapshot()
    for each in (resolver, Resolver.restore(saved, sources)):
        assert taken(each) == [(0, False), (1, False), (2, False)]


def test_once_it_was_told_what_is_unknown_is_final() -> None:
    resolver, sources = two_pending()
    assert resolver.take([], last=True) is not None
    sources[A.id] = A
    assert taken(resolver, last=True) == [(1, False)]
    assert taken(resolver) == resolver.close() == []
    with pytest.raises(ResolverClosed, match="take"):
        resolver.take(["a"])


def test_the_end_of_many_that_are_pending_costs_no_more_than_each_once() -> None:
    class Counted(dict[str, Source]):
        looked = 0

        def get(self, name: str, default: Any = None) -> Any:
            self.looked += 1
            return super().get(name, default)

    sources = Counted()
    resolver = Resolver(sources)
    resolver.feed(parse("".join(cite(f"turn0file{number}", f"turn1file{number}") for number in range(MANY))))
    sources.update({f"turn0file{number}": A for number in range(MANY)})
    sources.looked = 0
    assert len(resolver.close()) == 2 * MANY
    assert sources.looked <= 5 * MANY


def test_positions_begin_anew_with_the_next_text() -> None:
    resolver = Resolver({})
    prose = parse("x\ue200cite\ue202a1 b\ue200other\ue202c\ue201")
    positions = [event.position for event in resolver.feed(prose)[1:] if isinstance(event, Cited | OtherMarker)]
    assert positions == [1, 5]
    left = resolver.next_text()
    assert left == 2
    assert resolver.feed(parse("xy" + cite(A.id)))[1].position == 2  # type: ignore[union-attr]
    assert resolver.next_text(left) == 0
    assert resolver.feed(prose[-1:])[0].position == 5  # type: ignore[union-attr]


SNAPSHOT: dict[str, Any] = Resolver({}).snapshot()
REFERENCE = {"source_id": "a", "locator": None}
WRONG: list[Any] = [None, -1, "a", [1], [[0, "a"]], [[0]], {}, [[0, [REFERENCE], []]], [[0, [REFERENCE], ["b"]]]]


@pytest.mark.parametrize(
    "snapshot",
    [
        *(None, 1, [], {}, {**SNAPSHOT, "version": 2}),
        *({name: value for name, value in SNAPSHOT.items() if name != left_out} for left_out in SNAPSHOT),
        *({**SNAPSHOT, name: wrong} for name in SNAPSHOT for wrong in WRONG),
    ],
)
def test_what_is_no_snapshot_is_refused(snapshot: Any) -> None:
    with pytest.raises(ValueError, match="not a snapshot of version 1"):
        Resolver.restore(snapshot, {})


# Misuse.


def test_feeding_a_closed_resolver_is_an_error() -> None:
    resolver = Resolver({})
    resolver.close()
    for events in ([], ["a"]):
        with pytest.raises(ResolverClosed, match="feed"):
            resolver.feed(events)
    assert issubclass(ResolverClosed, RuntimeError)


@pytest.mark.parametrize("sources", [None, 1, [A], "a", {A}])
def test_what_is_no_mapping_is_refused(sources: Any) -> None:
    how = r"such as Sources or {source.id: source for source in ...}, not "
    with pytest.raises(
        TypeError, match=f"^sources: must be a mapping from id to Source, {how}{type(sources).__name__}$"
    ):
        Resolver(sources)


@pytest.mark.parametrize("scope", [None, "", "all", 1, ["answer"]])
def test_another_scope_is_refused(scope: Any) -> None:
    with pytest.raises(ValueError, match=r"^scope: must be one of 'conversation', 'answer', not "):
        Resolver({}, scope)


@pytest.mark.parametrize("format", [None, "cite", {}])
def test_what_is_no_format_is_refused(format: Any) -> None:
    with pytest.raises(TypeError, match=r"^format: must be a CitationFormat, not "):
        Resolver({}, format=format)


def test_a_mapping_of_something_else_is_an_error() -> None:
    sources: dict[str, Any] = {"a": "text"}
    with pytest.raises(TypeError, match=r"^sources: must hold a Source for 'a', not str"):
        Resolver(sources).feed(events_of(cite("a")))
    resolver = Resolver(sources)
    resolver.feed(events_of(cite("b")))
    sources["b"] = 1
    with pytest.raises(TypeError, match=r"^sources: must hold a Source for 'b', not int"):
        resolver.feed([])


@pytest.mark.parametrize("event", [None, 1, b"a", {}, Resolved(0, ()), cited(cite("a"))[0]])
def test_what_is_no_event_of_a_parser_is_refused(event: Any) -> None:
    with pytest.raises(TypeError, match=f"^events: must be those of a parser, not {type(event).__name__}"):
        Resolver({}).feed([event])


def test_a_lookup_leaves_a_mapping_as_it_is() -> None:
    sources: defaultdict[str, Source] = defaultdict(lambda: A)
    assert problems(cite("a"), sources) == ["unknown-source"]
    assert sources == {}
