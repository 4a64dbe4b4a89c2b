"""`Resolver`: sources that come late, or never."""

from streamcite import (
    Cited,
    Link,
    Passage,
    Reference,
    Resolved,
    Resolver,
    Source,
    Sources,
    parse,
)
from streamcite.resolve import resolve
from tests.markers import cite
from tests.resolving import SOURCES, A, B


def test_a_late_source() -> None:
    sources = {A.id: A}
    resolver = Resolver(sources)
    marker, other = parse(cite("turn0file1", "L1", "turn0file0") + cite("turn0file0"))
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


def test_each_source_is_reported_as_it_comes() -> None:
    sources: dict[str, Source] = {}
    resolver = Resolver(sources)
    resolver.feed(parse(cite("turn0file0", "turn0file1", "turn0file2")))
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


def test_a_source_that_comes_before_the_end_is_reported_there() -> None:
    sources: dict[str, Source] = {}
    resolver = Resolver(sources)
    resolver.feed(parse(cite("turn0file0") + cite("turn0file1")))
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
    now, late = resolver.feed(parse(cite("a") + cite("a", "b")))
    assert isinstance(now, Cited)
    assert isinstance(late, Cited)
    assert (now.pending, late.pending) == (False, True)
    sources["a"], sources["b"] = Source("a"), Source("b", citable=False)
    assert resolver.feed([]) == [Resolved(1, late.links)]


def test_what_was_reported_of_a_source_stays() -> None:
    sources = Sources()
    sources.add(A, key="a")
    resolver = Resolver(sources)
    (first,) = resolver.feed(parse(cite(A.id, "L1", B.id)))
    sources.mark_ambiguous(A.id)
    sources.add(Source(A.id, "other"), key="a")
    sources.add(B)
    (later,) = resolver.feed([])
    assert isinstance(first, Cited)
    assert isinstance(later, Resolved)
    assert later.links[0] is first.links[0]
    assert later.links[0].passage == Passage("one", 0, 1, 1)
