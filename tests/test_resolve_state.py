"""A `Resolver` between two events: its snapshots, and what it gives one by one."""

import json
from typing import Any

import pytest

from streamcite import CitationFormat, Cited, OtherMarker, Resolved, Resolver, Source, parse
from streamcite.resolve import ResolverClosed
from tests.markers import cite

A = Source("turn0file0", "one\ntwo\nthree\n", url="https://example.org/a")
B = Source("turn0file1", "four\nfive\n", title="B")


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


def test_after_its_end_a_resolver_has_the_counts_to_go_on_with() -> None:
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


def test_what_waits_is_taken_after_what_became_known() -> None:
    resolver, sources = two_pending()
    waiting = [*parse(cite(B.id)), "a"]
    assert resolver.take([]) is None
    sources[A.id] = A
    events = [resolver.take(waiting, last=True) for _ in range(6)]
    assert [type(event) for event in events] == [Resolved, Resolved, str, Cited, Resolved, Resolved]
    assert waiting == []
    assert resolver.take(waiting, last=True) is None


@pytest.mark.parametrize("stop", range(5))
def test_a_snapshot_between_two_events_goes_on_after_the_first(stop: int) -> None:
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


def test_what_comes_while_others_are_reported_is_reported_in_order() -> None:
    resolver, sources = two_pending()
    resolver.feed(parse(cite(B.id)))
    sources[A.id] = A
    assert resolver.take([]) is not None
    sources[B.id] = B
    saved = resolver.snapshot()
    for each in (resolver, Resolver.restore(saved, sources)):
        assert taken(each) == [(0, False), (1, False), (2, False)]


def test_once_it_was_reported_what_is_unknown_is_final() -> None:
    resolver, sources = two_pending()
    assert resolver.take([], last=True) is not None
    sources[A.id] = A
    assert taken(resolver, last=True) == [(1, False)]
    assert taken(resolver) == resolver.close() == []
    with pytest.raises(ResolverClosed, match="take"):
        resolver.take(["a"])


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
def test_what_is_not_a_snapshot_is_refused(snapshot: Any) -> None:
    with pytest.raises(ValueError, match="not a snapshot of version 1"):
        Resolver.restore(snapshot, {})
