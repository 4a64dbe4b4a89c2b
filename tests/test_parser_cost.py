"""What a parser costs, without a clock: what is looked at, searched, copied, remembered and held."""

import gc
import itertools
import re
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, SupportsIndex

import pytest

from streamcite import OPENAI, Citation, CitationFormat, Reference, grammar
from streamcite import parser as parser_module
from streamcite.body import Opaque, Spaced, Strict
from streamcite.options import MARKER_LENGTH, REMEMBERED
from streamcite.parser import CitationParser, clean
from tests import strategies as sc
from tests.markers import MARKER, OPEN
from tests.reading import joined

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
