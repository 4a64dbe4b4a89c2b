"""The linter as a stage: what it tells while an answer streams, what at its end, and that cuts change nothing."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamcite import CitationParser, Event, Resolved, Resolver, Source, parse
from streamcite.lint import Finding, Linter, LinterClosed, Rule, lint, linter
from tests.linting import MARKER, SOURCES, answers
from tests.markers import cite
from tests.strategies import cuts, partitions


def streamed(deltas: list[str], linter: Linter) -> list[Finding]:
    """Lint deltas through a parser, and sort what is found."""
    parser = CitationParser()
    found = [finding for delta in deltas for finding in linter.feed(parser.feed(delta))]
    found += linter.feed(parser.close())
    return in_order(found + linter.close())


def in_order(findings: list[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda finding: (finding.start, finding.end, finding.rule, finding.message))


def told(found: list[Finding]) -> list[Rule]:
    return [finding.rule for finding in found]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        (["Yes.\ue201"], ["malformed-marker"]),
        (["Yes.\ue200cite\ue202turn0file1 and"], ["repaired-marker"]),
        ([f"Yes.{cite('turn0file1', 'L9')}"], ["unknown-lines"]),
        (["Yes", MARKER, "."], ["before-punctuation"]),
        (["Yes", MARKER, "!", " No"], ["before-punctuation"]),
        (["See turn0", "file7 for"], ["bare-id"]),
    ],
)
def test_what_is_certain_is_reported_while_the_answer_streams(events: list[str], expected: list[Rule]) -> None:
    parser, linter = CitationParser(), Linter(SOURCES)
    found = [told(linter.feed(parser.feed(delta))) for delta in events]
    assert found == [[]] * (len(events) - 1) + [expected]


@pytest.mark.parametrize("delta", ["Yes.@", "`a@`", "**a@**", "@\n", f"Yes.{cite('a1')}", "Yes"])
def test_what_depends_on_more_is_reported_at_the_end(delta: str) -> None:
    parser, linter = CitationParser(), Linter({**SOURCES})
    assert linter.feed(parser.feed(delta.replace("@", MARKER))) == []
    assert linter.feed(parser.close()) == []
    assert bool(linter.close()) == (delta != "Yes.@")
    assert linter.close() == []


def test_a_source_may_come_until_the_end() -> None:
    answer = f"See new-1.{cite('new-1', 'L2')} Yes.{cite('new-2')} No."
    events: list[Event] = [piece for event in parse(answer) for piece in (event if isinstance(event, str) else [event])]
    late = {"new-1": Source("new-1", "one"), "new-2": Source("new-2", "one")}
    expected = in_order(lint(answer, late))
    assert told(expected) == ["bare-id", "unknown-lines"]
    for first in range(len(events) + 1):
        for second in range(first, len(events) + 1):
            sources: dict[str, Source] = {}
            linter, found = Linter(sources), []
            for number, event in enumerate([*events, ""]):
                sources |= {"new-1": late["new-1"]} if number == first else {}
                sources |= {"new-2": late["new-2"]} if number == second else {}
                found += linter.feed([event])
            assert in_order(found + linter.close()) == expected


def test_what_never_came_is_unknown() -> None:
    sources: dict[str, Source] = {}
    linter = Linter(sources)
    assert linter.feed(parse(f"Yes.{cite('a1', 'b2', 'L9')}")) == []
    sources["b2"] = Source("b2", "one")
    assert told(linter.feed([" No."])) == ["unknown-lines"]
    assert told(linter.close()) == ["unknown-source"]


def test_what_a_late_source_has_no_lines_for_is_not_missing() -> None:
    sources: dict[str, Source] = {}
    linter = Linter(sources, lines="required")
    assert linter.feed(parse(f"Yes.{cite('a1', 'b2', 'c3')}")) == []
    sources |= {"a1": Source("a1", "one"), "b2": Source("b2", "two", unit="block")}
    assert told(linter.feed([" No."])) == ["missing-lines"]
    assert told(linter.close()) == ["unknown-source", "missing-lines"]


def test_the_events_of_a_resolver() -> None:
    answer = (
        f"Yes.{cite('late1', 'turn0file1', 'L8')} No{cite('turn0file1', 'L9')}. See \ue200cite\ue202so2 on turn0file1."
    )
    sources = dict(SOURCES)
    resolver, linter = Resolver(sources), Linter(sources)
    found = linter.feed(resolver.feed(parse(answer)))
    expected = ["unknown-lines", "unknown-lines", "before-punctuation", "repaired-marker", "unknown-source"]
    assert told(found) == expected
    found += linter.feed(resolver.close()) + linter.close()
    assert in_order(found) == in_order(lint(answer, SOURCES))
    # Without sources of its own it has the resolver's word, also of one that was not closed.
    linter = Linter()
    found = linter.feed(Resolver(SOURCES).feed(parse(answer))) + linter.close()
    assert in_order(found) == in_order(lint(answer, SOURCES))
    text = f"Yes.{cite('late1')}"
    resolver, linter = Resolver(sources), Linter()
    assert linter.feed(resolver.feed(parse(text))) == []
    sources["late1"] = Source("late1")
    assert linter.feed([*resolver.feed([]), *resolver.close()]) + linter.close() == []


def test_a_position_counts_the_words_of_a_marker_that_was_prose() -> None:
    answer = f"See \ue200cite\ue202so2 on `x{MARKER}`."
    found = lint(answer, SOURCES)
    assert [(finding.rule, finding.position) for finding in found] == [
        ("repaired-marker", 4),
        ("unknown-source", 4),
        ("in-code", len("See so2 on `x")),
    ]
    assert [(finding.rule, finding.position) for finding in lint(answer)][-1] == ("in-code", len("See  on `x"))


def test_misuse() -> None:
    linter = Linter()
    # What stands for no citation that it was told of says nothing.
    assert linter.feed(["", Resolved(3, ())]) + linter.close() == []
    with pytest.raises(LinterClosed, match=r"^feed\(\) after close\(\): make a new linter for a new answer"):
        linter.feed([])


@pytest.mark.parametrize("linter", [Linter(), Linter(SOURCES)], ids=["without sources", "with sources"])
def test_what_is_not_an_event(linter: Linter) -> None:
    with pytest.raises(TypeError, match=r"^events: must be those of an answer, not int$"):
        linter.feed(["a", 1])  # type: ignore[list-item]


# The limit


def test_what_stands_after_the_limit_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = f"Yes{cite('late1')}! See turn0file1, block-7 and `x{MARKER}`. So{MARKER}, too: turn0file1 \ue201"
    whole = in_order(lint(answer, SOURCES))
    at_the_end = {"bare-id", "in-code"}
    for limit in range(len(answer) + 1):
        monkeypatch.setattr(linter, "MAX_ANSWER", limit)
        found = in_order(lint(answer, SOURCES))
        if limit == len(answer):
            assert found == whole
            continue
        (too_long,) = (finding for finding in found if finding.rule == "too-long")
        assert (too_long.severity, too_long.end) == ("error", too_long.start)
        # What is before it counts, and a marker that only begins there.
        assert limit <= too_long.start < limit + len(MARKER)
        assert str(limit) in too_long.message
        rest = [finding for finding in found if finding is not too_long]
        assert set(rest) <= set(whole)
        assert all(finding.end <= too_long.start for finding in rest)
        missed = [each for each in whole if each not in rest and each.end + 1 < limit and each.rule not in at_the_end]
        assert missed == []
        for size in (1, 3, 7):
            deltas = [answer[begin : begin + size] for begin in range(0, len(answer), size)]
            assert streamed(deltas, Linter(SOURCES)) == found


def test_an_answer_without_an_end_is_reported_once_and_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linter, "MAX_ANSWER", 1_000)
    sources: dict[str, Source] = {}
    resolver, stage = Resolver(sources), Linter()
    assert told(stage.feed(resolver.feed(parse(f"Yes.{cite('late1', 'L2')}")))) == []
    pieces = (f"{number} turn0file{cite('a1')}" + "x" * 10_000 for number in range(100))
    found = [stage.feed(resolver.feed(parse(next(pieces)))) for _ in range(3)]
    assert [told(findings) for findings in found] == [["too-long"], [], []]
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for piece in pieces:
        assert stage.feed([*parse(piece)]) == []
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - before < 50_000
    # What becomes known of a citation before that is still told.
    sources["late1"] = Source("late1", "one")
    assert told(stage.feed(resolver.feed([]))) == ["unknown-lines"]
    assert told(stage.close()) == ["unknown-source"]


# Cuts


@given(st.data(), answers)
def test_cuts_change_nothing(data: st.DataObject, answer: str) -> None:
    assert streamed(data.draw(cuts(answer)), Linter(SOURCES)) == in_order(lint(answer, SOURCES))


@pytest.mark.slow
@pytest.mark.parametrize("answer", [f"a{cite('b1')}!b1.", f"\n{cite('b1')}\n", "a b1![b1"])
def test_no_partition_of_a_short_answer_changes_anything(answer: str) -> None:
    sources = {"b1": Source("b1")}
    expected = in_order(lint(answer, sources))
    for deltas in partitions(answer):
        assert streamed(deltas, Linter(sources)) == expected
