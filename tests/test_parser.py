"""`CitationParser`, `parse` and `clean`: every case in every cut, and what one marker leaves behind for the next."""

import itertools
import json
import random

import pytest

from streamcite import Citation, CitationFormat, Malformed, OtherMarker, Reference
from streamcite.parser import PIECE, CitationParser, clean, parse
from tests import strategies as sc
from tests.reading import CASES, Case, joined, read_through
from tests.reference import held_after

# The longest text of which every partition is tried: 2 ** 13 of them.
SHORT = 14

# The longest text that the oracle, which reads all of it again for each prefix, is asked about.
READABLE = 100
every_case = pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
every_short_case = pytest.mark.parametrize(
    "case", [pytest.param(case, id=case.id) for case in CASES if len(case.text) <= SHORT]
)
every_long_case = pytest.mark.parametrize(
    "case", [pytest.param(case, id=case.id) for case in CASES if len(case.text) > SHORT]
)


# The cases.


@every_case
def test_case_as_given(case: Case) -> None:
    assert case.read(case.deltas) == case.events
    assert "".join(map(str, case.events)) == case.clean


@every_case
def test_case_whole(case: Case) -> None:
    assert parse(case.text, complete=case.complete, **case.options) == case.events
    assert clean(case.text, complete=case.complete, **case.options) == case.clean


@every_case
def test_case_by_character(case: Case) -> None:
    parser, events = CitationParser(**case.options), []
    for end, character in enumerate(case.text, 1):
        events += parser.feed(character)
        if end <= READABLE:
            assert parser.held == held_after(case.text[:end], case.fmt, **case.oracle_options)
    assert joined(events + parser.close(complete=case.complete)) == case.events


@pytest.mark.slow
@every_short_case
def test_case_in_every_partition(case: Case) -> None:
    for turn, deltas in enumerate(sc.partitions(case.text)):
        deltas.insert(turn % (len(deltas) + 1), "")
        assert case.read(deltas) == case.events, deltas


@every_long_case
def test_case_in_two_and_in_three(case: Case) -> None:
    text, draw = case.text, random.Random(case.id)
    twos = [[text[:i], text[i:]] for i in range(1, len(text))]
    threes = [sorted(draw.sample(range(1, len(text)), 2)) for _ in range(len(text))]
    for deltas in [*twos, *([text[:i], "", text[i:k], text[k:]] for i, k in threes)]:
        assert case.read(deltas) == case.events, deltas


@every_case
def test_case_restored_at_every_cut(case: Case) -> None:
    for cut in range(len(case.text) + 1):
        first = CitationParser(**case.options)
        events = first.feed(case.text[:cut])
        second = CitationParser.restore(json.loads(json.dumps(first.snapshot())), **case.options)
        assert second.held == first.held
        events += read_through(second, [case.text[cut:]], complete=case.complete)
        assert joined(events) == case.events, cut


# What one marker leaves behind for the next, and one parser for another with the same options.


@every_case
def test_case_read_twice(case: Case) -> None:
    assert case.read([case.text]) == case.read(case.text) == case.events


def test_what_follows_a_marker_decides_though_it_was_read_before() -> None:
    # The start holds the stop: whether "<<|" is one character and a stop, or begins a start, is known only after it.
    nasty = CitationFormat(**sc.NASTY, source_id="[a-z0-9<]+")
    closed, unclosed = "<<|xc|a1<<|y", "<<|xc|a1<<|xc|b2<|"
    expected = [
        [Citation(family="c", references=(Reference("a1<"),), raw="<<|xc|a1<<|", start=0, position=0), "y"],
        [
            Citation(family="c", references=(Reference("a1"),), repaired=True, raw="<<|xc|a1", start=0, position=0),
            Citation(family="c", references=(Reference("b2"),), raw="<<|xc|b2<|", start=8, position=0),
        ],
    ]
    for _ in range(2):
        assert [parse(text, format=nasty) for text in (closed, unclosed)] == expected
        for cut in range(1, len(closed)):
            assert read_through(CitationParser(nasty), [closed[:cut], closed[cut:]]) == expected[0]
        for first, second in itertools.combinations(range(1, len(unclosed)), 2):
            deltas = [unclosed[:first], unclosed[first:second], unclosed[second:]]
            assert read_through(CitationParser(nasty), deltas) == expected[1]


def test_more_markers_than_are_remembered() -> None:
    text = "".join(f"\ue200cite\ue202turn0file{number}\ue201" for number in range(1200)) * 2
    events = parse(text)
    assert [event.source_ids for event in events if isinstance(event, Citation)] == [
        (f"turn0file{number}",) for number in [*range(1200)] * 2
    ]


@pytest.mark.parametrize("head", ["\ue200cite\ue202a1", "\ue200genui\ue202{"])
@pytest.mark.parametrize("length", [PIECE - 16, PIECE, PIECE + 1, 3 * PIECE + 7])
@pytest.mark.parametrize("width", [1, 4, 1_000])
def test_a_marker_that_is_gathered_in_pieces_is_whole(head: str, length: int, width: int) -> None:
    text = f"{head}{'a1b2' * length}"[:length] + "\ue201"
    parser = CitationParser(max_marker=4 * PIECE)
    assert [event for at in range(0, length, width) for event in parser.feed(text[at : min(at + width, length)])] == []
    (event,) = parser.feed("\ue201")
    assert isinstance(event, Citation | OtherMarker)
    assert event.raw == text
    assert [event] == parse(text, max_marker=4 * PIECE)


def test_an_answer_is_cut_off_unless_it_is_said_to_be_complete() -> None:
    text = "\ue200cite\ue202turn0file1"
    parser = CitationParser()
    assert parser.feed(text) == []
    (cut_off,) = parser.close()
    assert isinstance(cut_off, Malformed)
    assert (cut_off.reason, cut_off.raw) == ("truncated", text)
    assert parse(text) == [cut_off]
    (cited,) = parse(text, complete=True)
    assert isinstance(cited, Citation)
    assert clean(f"{text} ", malformed="keep") == f"{text} "
    assert clean(f"{text} ", malformed="keep", complete=True) == " "
