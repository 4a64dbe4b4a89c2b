"""The checked options of a parser, and what all parsers with the same options share."""

from collections.abc import Iterator
from typing import Any

import pytest

from streamcite import OPENAI, CitationFormat, CitationParser, Reference, clean, parse
from streamcite.body import never
from streamcite.grammar import grammar_for
from streamcite.options import MARKER_LENGTH, OPENING_LENGTH, REMEMBERED, Options, _cached, options_for
from tests import strategies as sc

OPENING = (grammar_for(OPENAI).body("cite"), 0, 6, never, 0)


DEFAULTS: dict[str, Any] = {
    "fmt": OPENAI,
    "malformed": "drop",
    "repair": True,
    "max_marker": 4096,
    "max_payload": None,
}


def made(**given: Any) -> Options:
    return Options(**(DEFAULTS | given))


@pytest.fixture
def fresh() -> Iterator[None]:
    """Let nothing be remembered from other tests."""
    _cached.cache_clear()
    yield
    _cached.cache_clear()


BAD: dict[str, list[Any]] = {
    "malformed": ["hide", "", None, True, ["drop"]],
    "repair": ["x", None, 1, 0, []],
    "max_marker": [7, 0, -1, "9", None, 9.5, 4096.0, float("nan"), [9]],
    "max_payload": [4095, 0, "9", 5000.5, []],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in BAD.items() for value in values])
def test_a_bad_option_is_refused_by_name(name: str, value: Any) -> None:
    for make in (Options, options_for):
        with pytest.raises(ValueError, match=rf"^{name}: "):
            make(**(DEFAULTS | {name: value}))


@pytest.mark.parametrize("value", [None, "openai", CitationFormat, [], {}])
def test_what_is_not_a_format_is_refused(value: Any) -> None:
    for make in (Options, options_for):
        with pytest.raises(TypeError, match=r"^format: must be a CitationFormat, not "):
            make(**(DEFAULTS | {"fmt": value}))


def test_the_limits() -> None:
    assert made().limits == (4096, 65536)
    assert made(max_marker=8).limits == (8, 65536)
    assert made(max_marker=100_000).limits == (100_000, 100_000)
    assert made(max_marker=8, max_payload=8).limits == (8, 8)


def test_what_is_derived() -> None:
    options = made(malformed="keep", repair=False)
    assert (options.start, options.delimiter, options.stop) == OPENAI.tokens
    assert options.grammar is grammar_for(OPENAI)
    assert options.in_plain
    assert options.keep
    assert not options.repair
    assert not made().keep
    assert not made(fmt=CitationFormat(**sc.BRACKETS)).in_plain


@pytest.mark.usefixtures("fresh")
def test_parsers_with_the_same_options_share_them() -> None:
    one, other = CitationParser(), CitationParser(CitationFormat(), max_marker=4096)
    assert one._options is other._options
    for different in (
        CitationParser(repair=False),
        CitationParser(malformed="keep"),
        CitationParser(max_payload=65537),
    ):
        assert different._options is not one._options


@pytest.mark.usefixtures("fresh")
def test_what_is_remembered_is_bounded() -> None:
    options = CitationParser()._options
    for number in range(3 * REMEMBERED):
        assert clean(f"\ue200cite\ue202id{number}\ue201\ue200cite\ue202id{number}") == ""
        assert len(options.markers) <= REMEMBERED
        assert len(options.openings) <= REMEMBERED
    assert options.markers
    assert options.openings


def test_what_is_short_is_remembered() -> None:
    options = made()
    for length in range(OPENING_LENGTH + 2):
        options.remember_opening("\ue200" * length, OPENING)
    assert sorted(map(len, options.openings)) == [*range(1, OPENING_LENGTH + 1)]


@pytest.mark.usefixtures("fresh")
def test_a_marker_that_is_no_longer_than_the_limit_is_remembered() -> None:
    markers = [f"\ue200cite\ue202{'a' * (length - 7)}\ue201" for length in (MARKER_LENGTH, MARKER_LENGTH + 1)]
    parse("".join(markers))
    assert [*CitationParser()._options.markers] == markers[:1]


@pytest.mark.usefixtures("fresh")
def test_what_is_read_of_the_fields_of_a_citation_is_remembered() -> None:
    no_fields = "\ue200\ue202a\ue201\ue200url\ue202a\ue201\ue200cite\ue202a1 b"
    bad, repaired, good = "\ue200cite\ue202!\ue201", "\ue200cite\ue202a\ue202!\ue201", "\ue200cite\ue202a\ue201"
    assert len(parse(bad + repaired + good + no_fields)) == 7
    assert CitationParser()._options.markers == {
        bad: ((), "bad_source_id"),
        repaired: ((Reference("a"),), "bad_source_id"),
        good: ((Reference("a"),), None),
    }
