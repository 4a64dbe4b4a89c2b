"""`Resolver`: what each citation points to, and citations that were prose."""

from collections import defaultdict
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest

from streamcite import (
    Citation,
    CitationFormat,
    Cited,
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
from tests.markers import cite
from tests.resolving import SOURCES, A, B


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


def test_all_that_is_not_a_citation_passes_as_the_same_object() -> None:
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


def test_of_several_problems_the_first_is_reported() -> None:
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
def test_a_broken_marker_with_an_id_that_is_no_coincidence_is_a_citation(text: str) -> None:
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


def test_prose_moves_what_stands_after_it() -> None:
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


# Misuse.


def test_feeding_a_closed_resolver_is_an_error() -> None:
    resolver = Resolver({})
    resolver.close()
    for events in ([], ["a"]):
        with pytest.raises(ResolverClosed, match="feed"):
            resolver.feed(events)
    assert issubclass(ResolverClosed, RuntimeError)


@pytest.mark.parametrize("sources", [None, 1, [A], "a", {A}])
def test_what_is_not_a_mapping_is_refused(sources: Any) -> None:
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
def test_what_is_not_a_format_is_refused(format: Any) -> None:
    with pytest.raises(TypeError, match=r"^format: must be a CitationFormat, not "):
        Resolver({}, format=format)


def test_a_mapping_of_something_else_is_an_error() -> None:
    sources: dict[str, Any] = {"a": "text"}
    with pytest.raises(TypeError, match=r"^sources: must hold a Source for 'a', not str"):
        Resolver(sources).feed(parse(cite("a")))
    resolver = Resolver(sources)
    resolver.feed(parse(cite("b")))
    sources["b"] = 1
    with pytest.raises(TypeError, match=r"^sources: must hold a Source for 'b', not int"):
        resolver.feed([])


@pytest.mark.parametrize("event", [None, 1, b"a", {}, Resolved(0, ()), cited(cite("a"))[0]])
def test_what_is_not_an_event_of_a_parser_is_refused(event: Any) -> None:
    with pytest.raises(TypeError, match=f"^events: must be those of a parser, not {type(event).__name__}"):
        Resolver({}).feed([event])


def test_a_lookup_leaves_a_mapping_as_it_is() -> None:
    sources: defaultdict[str, Source] = defaultdict(lambda: A)
    assert problems(cite("a"), sources) == ["unknown-source"]
    assert sources == {}
