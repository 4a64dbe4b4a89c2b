"""What the fields of a marker name, against the oracle's reading of the same rules."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streamcite import OPENAI, CitationFormat, Reference
from streamcite.grammar import grammar_for
from tests import strategies as sc
from tests.reference import Fmt, _Reader

BRACKETS = CitationFormat(**sc.BRACKETS)


def oracle(args: sc.FormatArgs, text: str = "") -> _Reader:
    return _Reader(text, Fmt(**args), "drop", True, 4096, None)


FIELDS = st.lists(
    st.one_of(
        st.sampled_from(
            ("a1", "b", "L2", "L8-L13", "P 2", "12", "", " ", "#", "a1.", "L2,", " a1 ", "文1", "a1(.", "٣")
        ),
        st.text("aL12 .-#é\n", max_size=4),
    ),
    min_size=1,
    max_size=6,
)


@given(sc.formats(), FIELDS)
@example({}, ["a1", "L1", "L2"])
@example({}, ["L1"])
@example({}, [" ", ""])
def test_fields_are_read_in_order(args: sc.FormatArgs, fields: list[str]) -> None:
    found, reason = oracle(args).references([field.strip() for field in fields if field.strip()])
    references, given = grammar_for(CitationFormat(**args)).fields.read(fields)
    assert [reference._asdict() for reference in references] == found
    assert all(type(reference) is Reference for reference in references)
    assert given == (reason or ("" if references else "empty") or None)


@given(sc.formats(), FIELDS, st.booleans())
@example({}, ["a1", "L2.", "b2"], True)
@example({}, ["a0", "b9"], True)
@example({}, ["a1", " L2"], True)
@example({}, ["a1 "], False)
@example(sc.SPACED, ["a1", "P 2"], False)
def test_the_head_of_an_unclosed_marker(args: sc.FormatArgs, fields: list[str], finished: bool) -> None:
    body = grammar_for(CitationFormat(**args)).body("")
    spaced = args.get("spaces_in_fields", False)
    last = fields[-1]
    # In strict reading whitespace after a token finishes its field; a field of whitespace alone makes no difference.
    is_finished = finished or (not spaced and last[-1:].isspace())
    end, tokens = oracle(args).head("spaced" if spaced else "strict", 0, fields, is_finished)
    found, _ = oracle(args).references(tokens)
    length, references = body.head(fields, finished)
    assert length == end
    assert [reference._asdict() for reference in references] == found


@pytest.mark.parametrize("character", [*"aZ09!~-_–―.", "]"])
def test_what_a_field_holds(character: str) -> None:
    assert grammar_for(OPENAI).fields.may_hold(character)
    assert character in grammar_for(OPENAI).fields.common


@pytest.mark.parametrize("character", [*" \n\té文−\x00\x7f\u3000\u200b"])
def test_what_a_field_does_not_hold(character: str) -> None:
    assert not grammar_for(OPENAI).fields.may_hold(character)
    assert character not in grammar_for(OPENAI).fields.common


def test_whitespace_is_held_by_no_field() -> None:
    assert not grammar_for(CitationFormat(**sc.WHITESPACE_CHARS)).fields.may_hold(" ")
    assert grammar_for(CitationFormat(**sc.WIDE)).fields.may_hold("文")


def test_what_is_part_of_a_token_is_not_common() -> None:
    assert not grammar_for(BRACKETS).fields.common & {*"[|]"}
    assert grammar_for(BRACKETS).fields.may_hold("]")


@pytest.mark.parametrize(
    ("fields", "references", "reason"),
    [
        (["a1", ""], [("a1", None)], None),
        (["a1", " ", "L5"], [("a1", "L5")], None),
        (["", " "], [], "empty"),
        (["", "L5"], [], "no_source"),
    ],
)
def test_an_empty_field_is_not_a_locator_whatever_a_locator_may_be(
    fields: list[str], references: list[tuple[str, str | None]], reason: str | None
) -> None:
    loose = CitationFormat(locator="(?:L[0-9]+)?")
    assert grammar_for(loose).fields.read(fields) == (tuple(Reference(*pair) for pair in references), reason)
