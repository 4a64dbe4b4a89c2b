"""What an id of a source looks like, and which family a marker that cites it is of."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streamcite import OPENAI, CitationFormat, Reference
from streamcite.ids import (
    KIND,
    RESULT_ID,
    block_id,
    call_of,
    check_id,
    family_of,
    is_result_id,
    kind_of,
    marker_of,
    result_id,
)


@given(st.integers(0, 10**12), st.from_regex(KIND, fullmatch=True), st.integers(0))
@example(10**9 - 1, "file", 0)
@example(10**9, "file", 0)
def test_a_result_id_says_its_call_and_its_kind(call: int, kind: str, number: int) -> None:
    id = result_id(call, kind, number)
    assert is_result_id(id)
    assert re.fullmatch(RESULT_ID, id)
    assert (call_of(id), kind_of(id)) == (call if call < 10**9 else None, kind)


@pytest.mark.parametrize("id", ["", "turn0", "turn0file", "file0", "turnfile0", "turn0file0 ", "turn0é0", "TURN0file0"])
def test_what_has_another_form(id: str) -> None:
    assert (is_result_id(id), call_of(id), kind_of(id)) == (False, None, "")


def test_a_block_id_says_its_kind() -> None:
    assert (kind_of(block_id(12)), call_of(block_id(12)), is_result_id(block_id(12))) == ("block", None, False)
    assert (kind_of("block"), kind_of("block1x")) == ("", "")


@pytest.mark.parametrize(
    ("families", "expected"),
    [(("cite", "filecite"), "cite"), (("ref", "cite"), "cite"), (("ref", "note"), "ref"), ((), "")],
)
def test_the_family_to_write_with(families: tuple[str, ...], expected: str) -> None:
    assert family_of(CitationFormat(families=families)) == expected


def test_the_marker_of_an_id() -> None:
    assert marker_of("a1", OPENAI) == OPENAI.write([Reference("a1")])
    check_id("a1", OPENAI)
    for id, format in (("L1", OPENAI), ("a1", CitationFormat(families=()))):
        for use in (marker_of, check_id):
            with pytest.raises(ValueError, match=f"^id: '{id}' is not a source id of this format"):
                use(id, format)


def test_an_id_that_the_format_cannot_write_is_refused_with_what_it_may_be() -> None:
    for format, allowed in (
        (OPENAI, "whose ids are ASCII letters, digits, _ and -, and nothing like L8"),
        (CitationFormat(source_id="[0-9]+"), "whose ids match [0-9]+"),
    ):
        message = f"id: 'docs/handbook.md' is not a source id of this format, {allowed} (source_id=...)"
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            check_id("docs/handbook.md", format)
