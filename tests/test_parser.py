"""`CitationParser`, `parse` and `clean`: every case in every cut, the options, the state, the cost by count."""

import gc
import itertools
import json
import random
import re
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, SupportsIndex

import pytest

from streamcite import OPENAI, Citation, CitationFormat, Malformed, OtherMarker, Reference, grammar
from streamcite import parser as parser_module
from streamcite.body import Opaque, Spaced, Strict
from streamcite.options import MARKER_LENGTH, REMEMBERED
from streamcite.parser import PIECE, CitationParser, ParserClosed, clean, parse
from tests import strategies as sc
from tests.reading import CASES, Case, joined, read_through
from tests.reference import held_after

# The longest text of which every partition is tried: 2 ** 13 of them.
SHORT = 14
# The longest text that the oracle, which reads all of it again for each prefix, is asked about.
READABLE = 100
MARKER = "\ue200cite\ue202turn0file1\ue202L8-L13\ue201"
OPEN = "\ue200cite\ue202"

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


def test_what_is_remembered_of_markers_is_used_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    parser = CitationParser(max_marker=4_999)  # as no other test has it: what is remembered is shared
    options = parser._options
    read: list[Any] = []
    read_fields = options.read_fields

    def counted(fields: Any) -> Any:
        read.append(fields)
        return read_fields(fields)

    monkeypatch.setattr(options, "read_fields", counted)
    for length, remembered in [(30, True), (MARKER_LENGTH, True), (MARKER_LENGTH + 1, False), (4_000, False)]:
        marker = OPENAI.write([Reference("a" * (length - 7))])
        assert len(marker) == length
        read.clear()
        for _ in range(3):
            assert len(parser.feed(marker)) == 1
        assert len(read) == (1 if remembered else 3)
        assert (marker in options.markers) == remembered
    sizes = []
    for number in range(3 * REMEMBERED):
        parser.feed(OPENAI.write([Reference(f"a{number}")]))
        sizes.append(len(options.markers))
    assert max(sizes) == REMEMBERED


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


# Options and misuse.


@pytest.mark.parametrize(
    ("options", "error", "name"),
    [
        ({"malformed": "hide"}, ValueError, "malformed"),
        ({"malformed": None}, ValueError, "malformed"),
        ({"max_marker": 7}, ValueError, "max_marker"),
        ({"max_marker": -1}, ValueError, "max_marker"),
        ({"max_payload": 4095}, ValueError, "max_payload"),
        ({"max_marker": 100, "max_payload": 99}, ValueError, "max_payload"),
        ({"format": None}, TypeError, "format"),
        ({"format": "openai"}, TypeError, "format"),
    ],
)
def test_a_bad_option_is_refused_by_name(options: dict[str, Any], error: type[Exception], name: str) -> None:
    for use in (lambda: CitationParser(**options), lambda: parse("", **options), lambda: clean("", **options)):
        with pytest.raises(error, match=f"^{name}: "):
            use()


@pytest.mark.parametrize(
    "options",
    [
        *({"max_marker": "9"}, {"max_marker": None}, {"max_marker": 4096.0}, {"max_marker": [9]}, {"max_payload": "9"}),
        *({"malformed": ["drop"]}, {"format": {"start": "["}}, {"other": 1}),
    ],
)
def test_an_option_of_a_wrong_type_is_refused_whatever_was_made_before(options: dict[str, Any]) -> None:
    for _ in range(2):
        with pytest.raises((TypeError, ValueError), match=f"{next(iter(options))}"):
            CitationParser(**options)
        CitationParser()


def test_the_limits_by_default() -> None:
    marker = OPEN + "a" * (4096 - len(OPEN) - 1)
    payload = "\ue200g\ue202" + "a" * (65536 - 4)
    assert [len(event.raw) for event in parse(f"{marker}\ue201") if isinstance(event, Citation)] == [4096]
    assert isinstance(parse(f"{marker}a\ue201")[0], Malformed)
    assert [len(event.raw) for event in parse(f"{payload}\ue201") if isinstance(event, OtherMarker)] == [65536]
    assert isinstance(parse(f"{payload}a\ue201")[0], Malformed)
    # A higher limit of markers is one of payloads too.
    (event,) = parse(f"{payload}aaaa\ue201", max_marker=70_000)
    assert isinstance(event, OtherMarker)


@pytest.mark.parametrize("state", ["", "text", "\ue200", "\ue200ci", OPEN, OPEN + "a", OPEN + "a ", "\ue200g\ue202{"])
@pytest.mark.parametrize("delta", [None, 1, b"", b"bytes", ["a", "b"], ("a",), bytearray(b"x"), {"a": "b"}])
def test_a_delta_that_is_not_a_str_is_refused_and_changes_nothing(state: str, delta: Any) -> None:
    parser = CitationParser()
    before = parser.feed(state)
    snapshot = parser.snapshot()
    with pytest.raises(TypeError):
        parser.feed(delta)
    assert parser.snapshot() == snapshot
    rest = "turn0file1\ue202L8-L13\ue201 text"
    assert joined(before + read_through(parser, [rest])) == parse(state + rest)


@pytest.mark.parametrize("text", [None, 1, b"", b"bytes", ["a"]])
def test_a_text_that_is_not_a_str_is_refused(text: Any) -> None:
    with pytest.raises(TypeError):
        parse(text)
    with pytest.raises(TypeError):
        clean(text)


@pytest.mark.parametrize("state", ["", "text", "\ue200ci", OPEN, OPEN + "turn0file1", "[["])
@pytest.mark.parametrize("delta", ["", "text", "\ue200", "turn0file1", None])
def test_feed_after_close_is_refused(state: str, delta: Any) -> None:
    parser = CitationParser()
    parser.feed(state)
    parser.close()
    assert parser.held == ""
    with pytest.raises(ParserClosed, match="close"):
        parser.feed(delta)
    assert parser.close() == []
    assert parser.close(complete=True) == []


def test_feed_after_close_is_refused_where_nothing_is_plain() -> None:
    parser = CitationParser(CitationFormat(**sc.BRACKETS))
    assert parser.feed("a") == ["a"]
    assert parser.close() == []
    with pytest.raises(ParserClosed):
        parser.feed("a")


# The state.


@pytest.mark.parametrize(
    ("text", "held", "offset", "position"),
    [
        ("", "", 0, 0),
        ("text", "", 4, 4),
        ("te\ue200ci", "\ue200ci", 2, 2),
        (f"\U0001f600{MARKER}text{OPEN}turn0", f"{OPEN}turn0", 29, 5),
        (f"{OPEN}x y\ue202", "", 10, 3),
    ],
)
def test_snapshot(text: str, held: str, offset: int, position: int) -> None:
    parser = CitationParser()
    parser.feed(text)
    assert parser.held == held
    assert parser.snapshot() == {"version": 1, "held": [held], "offset": offset, "position": position}


SNAPSHOT = {"version": 1, "held": [OPEN], "offset": 3, "position": 2}


@pytest.mark.parametrize(
    "snapshot",
    [
        *({}, [], None, 1, "version"),
        *({key: value for key, value in SNAPSHOT.items() if key != missing} for missing in SNAPSHOT),
        *(SNAPSHOT | {"version": other} for other in (0, 2, "1", None)),
        *(SNAPSHOT | {"held": other} for other in (None, b"", 1, OPEN, [b""], [None])),
        *(SNAPSHOT | {"offset": other} for other in (None, "3", 3.5, -1, True)),
        *(SNAPSHOT | {"position": other} for other in (None, "2", 2.5, -1, True)),
    ],
    ids=repr,
)
def test_what_is_not_a_snapshot_of_this_version_is_refused(snapshot: Any) -> None:
    with pytest.raises(ValueError, match="not a snapshot of version 1"):
        CitationParser.restore(snapshot)


@pytest.mark.parametrize("held", ["a", "\ue200 ", MARKER, OPEN + "a b", "\ue200" * 2, "\ue200" + "a" * 33])
def test_a_snapshot_that_holds_what_is_not_held_is_refused(held: str) -> None:
    with pytest.raises(ValueError, match="other options"):
        CitationParser.restore(SNAPSHOT | {"held": [held]})


def test_a_snapshot_of_other_options_is_refused() -> None:
    parser = CitationParser(max_marker=100)
    parser.feed(OPEN + "a" * 50)
    snapshot = parser.snapshot()
    assert CitationParser.restore(snapshot, max_marker=100).held == parser.held
    for other in ({"max_marker": 20}, {"format": CitationFormat(**sc.BRACKETS)}):
        with pytest.raises(ValueError, match="other options"):
            CitationParser.restore(snapshot, **other)
    with pytest.raises(ValueError, match=r"^malformed: "):
        CitationParser.restore(snapshot, malformed="hide")  # type: ignore[arg-type]


def test_a_closed_parser_has_no_snapshot() -> None:
    parser = CitationParser()
    parser.close()
    with pytest.raises(ValueError, match="closed"):
        parser.snapshot()


def test_a_restored_parser_counts_on() -> None:
    parser = CitationParser.restore({"version": 1, "held": [OPEN], "offset": 1_000, "position": 1_200})
    (citation,) = parser.feed("a1\ue201")
    assert isinstance(citation, Citation)
    assert (citation.start, citation.position) == (1_000, 1_200)
    assert parser.snapshot() == {"version": 1, "held": [""], "offset": 1_009, "position": 1_200}


# The cost, without a clock.

PLAIN = [
    "a",
    "text and\nmore\r\n\t",
    "\x00",
    " ",
    "中文。",
    "é",
    "\U0001f600 face",
    "‘a’ – 1",
    "\u0301",
    "text" * 999,
]
# Neither ASCII nor printable: these must be looked at, and still come back as they are.
UNUSUAL = ["é\n中", "\u200b", "\u3000", "\ud800", "\xa0", "\ue0b0", "a\u2028b", "\U000f0000"]


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collect the deltas that the fast path did not take."""
    taken: list[str] = []
    feed = CitationParser._read

    def counted(self: CitationParser, delta: str) -> list[Any]:
        taken.append(delta)
        return feed(self, delta)

    monkeypatch.setattr(CitationParser, "_read", counted)
    return taken


def test_plain_deltas_come_back_untouched(slow: list[str]) -> None:
    parser = CitationParser()
    for delta in [*PLAIN, *PLAIN]:
        (event,) = parser.feed(delta)
        assert event is delta
    assert parser.feed("") == []
    assert slow == []
    assert parser.snapshot()["position"] == 2 * sum(map(len, PLAIN))


@pytest.mark.parametrize("format", [OPENAI, CitationFormat(**sc.BRACKETS), CitationFormat(**sc.TAGS)])
def test_a_delta_without_markup_comes_back_as_the_same_object(format: CitationFormat) -> None:
    parser = CitationParser(format)
    for delta in [*PLAIN, *UNUSUAL]:
        (event,) = parser.feed(delta)
        assert event is delta


def test_only_markers_and_what_may_hold_one_are_looked_at(slow: list[str]) -> None:
    pieces = ["\ue200", "cite", "\ue202", "turn", "0", "file", "1", "\ue202", "L", "8", "-L", "13", "\ue201"]
    text = ["It ", "lasts", ". ", *pieces, " And ", "so", " on", "."] * 100
    first, parser = CitationParser(), CitationParser()
    for delta in text[: 3 + len(pieces)]:
        first.feed(delta)
    # What opens and ends a marker has to be read once, whatever parser comes upon it.
    assert len(slow) <= len(pieces)
    slow.clear()
    events = joined(itertools.chain.from_iterable(map(parser.feed, text)))
    assert sum(isinstance(event, Citation) for event in events) == 100
    assert slow == []
    for delta in UNUSUAL:
        parser.feed(delta)
    assert slow == UNUSUAL


class Counted(str):
    """A text that counts what is searched and what is copied of it, and of all that is cut from it or joined to it."""

    __slots__ = ()
    searched = 0
    copied = 0

    def __getitem__(self, key: SupportsIndex | slice) -> "Counted":
        return self._copy(super().__getitem__(key))

    def __add__(self, other: str) -> "Counted":
        return self._copy(super().__add__(other))

    def __radd__(self, other: str) -> "Counted":
        return self._copy(other.__add__(self))

    def find(self, sub: str, start: SupportsIndex | None = None, end: SupportsIndex | None = None, /) -> int:
        found = super().find(sub, start, end)
        begin, finish, _ = slice(start, end).indices(len(self))
        Counted.searched += (finish if found < 0 else found) - begin
        return found

    @staticmethod
    def _copy(text: str) -> "Counted":
        Counted.copied += len(text)
        return Counted(text)


# So short that copying a piece of a marker once more for each delta would show.
SHORT_PIECE = 16
Costs = Callable[[CitationFormat, str, int], tuple[int, int]]
Search = Callable[[str, int], re.Match[str] | None]


@pytest.fixture
def costs(monkeypatch: pytest.MonkeyPatch) -> Costs:
    """Give a function that reads a text in deltas of a size and counts the characters searched, and those copied."""

    def counting(search: Search) -> Search:
        def counted(text: str, i: int) -> re.Match[str] | None:
            found = search(text, i)
            Counted.searched += (found.end() if found else len(text)) - i
            return found

        return counted

    def scanner(*args: Any, **options: Any) -> grammar.Scanner:
        uncounted = compiled(*args, **options)
        return grammar.Scanner(counting(uncounted.in_text), counting(uncounted.in_marker))

    compiled = grammar._scanner
    monkeypatch.setattr(grammar, "_scanner", scanner)
    for body in (Strict, Spaced, Opaque):

        def advance(self: Any, text: str, i: int, j: int, state: int, advance: Any = body.advance) -> Any:
            Counted.searched += j - i
            return advance(self, text, i, j, state)

        monkeypatch.setattr(body, "advance", advance)
    monkeypatch.setattr(parser_module, "PIECE", SHORT_PIECE)

    def read(format: CitationFormat, text: str, size: int) -> tuple[int, int]:
        # A family that no other format has: the format is compiled here, with what counts.
        parser = CitationParser(replace(format, families=(*format.families, "counted")), max_payload=5_000)
        Counted.searched = Counted.copied = 0
        for delta in map(Counted, cut(text, size)):
            parser.feed(delta)
        parser.close()
        return Counted.searched, Counted.copied

    return read


def cut(text: str, size: int) -> list[str]:
    return [text[i : i + size] for i in range(0, len(text), size)]


def test_the_counting_counts(costs: Costs) -> None:
    assert costs(OPENAI, "a" * 100, 10) == (0, 0)
    searched, copied = costs(OPENAI, "\u200b" * 100, 10)
    assert searched >= 100
    assert copied >= 100
    searched, copied = costs(OPENAI, MARKER * 10, 1)
    assert searched >= len(MARKER)
    assert copied >= len(MARKER)


# Each is repeated to the length wanted: what costs most in a reader that looks again at what it has read.
HOSTILE = {
    "prose": "word \U0001f600 ",
    "prose that is looked at": "wörd\n",
    "starts": "\ue200",
    "delimiters": "\ue202",
    "stops": "\ue201",
    "families": "\ue200cite",
    "long families": "\ue200" + "a" * 33,
    "no delimiter": "\ue200cite\ue201",
    "opened": OPEN,
    "opened payloads": "\ue200g\ue202",
    "opened JSON": "\ue200g\ue202{",
    "unclosed": OPEN + "turn0file1 ",
    "unclosed, prose": OPEN + "turn0file1. And so on, ",
    "empty fields": OPEN + "\ue202" * 50,
    "too long": OPEN + "a1" * 3_000,
    "too long, whitespace": OPEN + " " * 5_000,
    "too long, delimiters": OPEN + "\ue202" * 5_000,
    "too long, digits and full stops": OPEN + "1." * 3_000,
    "payloads over two lines": "\ue200g\ue202a\n",
    "JSON and blank lines": "\ue200g\ue202[\n\n",
    "a payload too long": "\ue200g\ue202" + "a" * 6_000,
    "JSON too long": "\ue200g\ue202[" + "a\n" * 6_000,
    "citations": MARKER,
}
# A family name is read again with each delta until it is known, up to its 33rd character; all else is read twice.
MOST = 17
# Enough for markers that pass their limit several times.
LENGTH = 16_000
SIZES = {"by 1": 1, "by 4": 4, "whole": LENGTH}


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE)
def test_each_character_is_read_a_few_times_whatever_the_input(costs: Costs, piece: str, size: int) -> None:
    searched, copied = costs(OPENAI, (piece * LENGTH)[:LENGTH], size)
    assert searched <= MOST * LENGTH
    assert copied <= MOST * LENGTH + 2 * SHORT_PIECE * LENGTH / size


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("first", ["\ue200", "\ue200cite", OPEN, "\ue200g\ue202", "\ue200g\ue202["])
def test_prose_after_one_start_is_read_a_few_times(costs: Costs, first: str, size: int) -> None:
    searched, copied = costs(OPENAI, (first + "And \U0001f600 so on. " * LENGTH)[:LENGTH], size)
    assert searched <= MOST * LENGTH
    assert copied <= MOST * LENGTH + 2 * SHORT_PIECE * LENGTH / size


@pytest.mark.slow
@pytest.mark.parametrize("piece", [OPEN, OPEN + "a1" * 5_000, "\ue200g\ue202["], ids=["strict", "too long", "JSON"])
def test_a_hostile_delta_of_a_megabyte_is_read(piece: str) -> None:
    # No clock: a reader that goes back over it once for each start takes 10**10 steps here and never comes back.
    text = (piece * (350_000 // len(piece) + 1))[:350_000]
    assert clean(text, malformed="keep") == text


@pytest.fixture
def allocated() -> Iterator[Callable[[], int]]:
    """Give a function that says how many bytes are allocated now."""

    def now() -> int:
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    yield now
    tracemalloc.stop()


def test_an_idle_parser_takes_160_bytes(allocated: Callable[[], int]) -> None:
    parsers: list[CitationParser | None] = [CitationParser(), *[None] * 10_000]
    before = allocated()
    for i in range(1, len(parsers)):
        parsers[i] = CitationParser()
    assert allocated() - before <= 160 * 10_000


# A field may hold anything, so that a marker is open for as long as it is fed.
ANYTHING = CitationFormat(field_chars=r"\S")
ASCII, MIXED = "0123456789abcdef", "0123456789abcd\U0001f600f"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("opening", "fill", "length", "size"),
    [
        (OPEN, MIXED, 20_000, 1),
        (OPEN, ASCII, 20_000, 4),
        ("\ue200g\ue202a", ASCII, 20_000, 1),
        ("\ue200g\ue202[", ASCII, 24_000, 1),
        ("\ue200g\ue202[", MIXED, 24_000, 4),
        ("\ue200g\ue202[", ASCII * 100 + MIXED, 24_000, 1),
    ],
)
def test_an_open_marker_takes_six_bytes_a_character(
    allocated: Callable[[], int], opening: str, fill: str, length: int, size: int
) -> None:
    text = opening + (fill * length)[: length - len(opening)]
    for deltas in [cut(text[:2_000], size), cut(text, size)]:  # once before, so that what is made once is there
        parser = CitationParser(ANYTHING, max_marker=100_000)
        before = allocated()
        for delta in deltas:
            parser.feed(delta)
        taken = allocated() - before
    assert parser.held == text
    assert taken <= 6 * length + 1024


def test_a_snapshot_keeps_two_surrogates_apart_in_json() -> None:
    text = '\ue200entity\ue202["x","Paris \ud83d'
    parser = CitationParser()
    assert parser.feed(f"see {text}\ude00") == ["see "]
    snapshot = parser.snapshot()
    assert "".join(snapshot["held"]) == f"{text}\ude00"
    restored = CitationParser.restore(json.loads(json.dumps(snapshot)))
    assert restored.held == parser.held
    assert restored.feed('"]\ue201 b') == parser.feed('"]\ue201 b')
    assert restored.snapshot() == parser.snapshot()


@pytest.mark.parametrize("fed", [[], ["\ue200ci"], [OPEN], [OPEN + " "], ["\ue200g\ue202{"]], ids=repr)
@pytest.mark.parametrize("delta", [None, 5, b"a", b" ", [], ["a"], [" "], ("a",)], ids=repr)
def test_what_is_not_a_delta_is_refused_by_name_and_changes_nothing(fed: list[str], delta: Any) -> None:
    parser = CitationParser()
    for before in fed:
        parser.feed(before)
    snapshot = parser.snapshot()
    with pytest.raises(TypeError, match=f"^delta: must be a str, not {type(delta).__name__}$"):
        parser.feed(delta)
    assert parser.snapshot() == snapshot


@pytest.mark.parametrize("text", [None, 5, b"a", ["a"]], ids=repr)
@pytest.mark.parametrize("read", [parse, clean], ids=["parse", "clean"])
def test_what_is_not_text_is_refused_by_name(read: Callable[[Any], object], text: Any) -> None:
    with pytest.raises(TypeError, match=f"^text: must be a str, not {type(text).__name__}$"):
        read(text)


class Odd(str):
    """A string that fails in a way of its own."""

    __slots__ = ()

    def __len__(self) -> int:
        raise TypeError("odd")


def test_an_error_of_the_delta_itself_is_not_renamed() -> None:
    with pytest.raises(TypeError, match=r"^odd$"):
        CitationParser().feed(Odd("a"))


def test_whether_anything_is_held() -> None:
    parser = CitationParser()
    assert not parser.holds
    for delta, holds in (("a", False), ("\ue200", True), ("cite\ue202", True), ("x", True), ("\ue201", False)):
        parser.feed(delta)
        assert parser.holds == holds == bool(parser.held)
