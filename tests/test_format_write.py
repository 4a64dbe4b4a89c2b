"""Writing a marker, which must read back as what it was written of (semantics, section 1)."""

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamcite import Citation, Reference, parse
from streamcite.format import OPENAI, CitationFormat
from tests import strategies as sc

BRACKETS = CitationFormat(**sc.BRACKETS)
SPACED = CitationFormat(**sc.SPACED)


@pytest.mark.parametrize(
    ("format", "references", "family", "marker"),
    [
        (OPENAI, [Reference("turn0file1")], "cite", "\ue200cite\ue202turn0file1\ue201"),
        (OPENAI, [Reference("a", "L8-L13")], "filecite", "\ue200filecite\ue202a\ue202L8-L13\ue201"),
        (OPENAI, [Reference("a", "L1"), Reference("b")], "cite", "\ue200cite\ue202a\ue202L1\ue202b\ue201"),
        (BRACKETS, [Reference("a"), Reference("b", "L2")], "ref", "[[ref|a|b|L2]]"),
        (SPACED, [Reference("doc.v2:3", "Paragraph 21")], "c", "\ue200c\ue202doc.v2:3\ue202Paragraph 21\ue201"),
    ],
)
def test_write(format: CitationFormat, references: list[Reference], family: str, marker: str) -> None:
    assert format.write(references, family=family) == marker
    assert format.write(iter(references), family) == marker
    assert parse(marker, format=format) == [
        Citation(family=family, references=tuple(references), raw=marker, start=0, position=0)
    ]


def test_write_is_of_the_family_cite_by_default() -> None:
    assert OPENAI.write([Reference("a")]) == "\ue200cite\ue202a\ue201"
    with pytest.raises(ValueError, match="cite"):
        BRACKETS.write([Reference("a")])


@pytest.mark.parametrize(
    ("format", "references", "family"),
    [
        (OPENAI, [], "cite"),
        (OPENAI, [Reference("a")], ""),
        (OPENAI, [Reference("a")], "url"),
        (OPENAI, [Reference("")], "cite"),
        (OPENAI, [Reference("a", "")], "cite"),
        (OPENAI, [Reference(" a")], "cite"),
        (OPENAI, [Reference("a b")], "cite"),
        (OPENAI, [Reference("a.b")], "cite"),
        (OPENAI, [Reference("文")], "cite"),
        (OPENAI, [Reference("L1")], "cite"),
        (OPENAI, [Reference("a", "b")], "cite"),
        (OPENAI, [Reference("a"), Reference("L1", "L2")], "cite"),
        (OPENAI, [Reference("a\ue202b")], "cite"),
        (OPENAI, [Reference("a\ue201")], "cite"),
        (BRACKETS, [Reference("a]")], "c"),
        (BRACKETS, [Reference("a[[b")], "c"),
        (SPACED, [Reference("a", "P 2\n")], "c"),
        (SPACED, [Reference("a" * 65)], "c"),
        (SPACED, [Reference("a", "P 2 ")], "c"),
    ],
)
def test_write_refuses_what_would_not_read_back(
    format: CitationFormat, references: list[Reference], family: str
) -> None:
    with pytest.raises(ValueError, match=r"^(no marker of this format reads back|(source_id|locator|references): )"):
        format.write(references, family=family)


def test_write_says_what_is_wrong() -> None:
    with pytest.raises(TypeError, match=r"^references: must be a list of References, not Reference"):
        OPENAI.write(Reference("turn0file1"))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^references: must hold at least one, not none$"):
        OPENAI.write([])
    with pytest.raises(
        ValueError, match=r"^source_id: 'docs/a.md' is not an id of this format, whose ids are ASCII letters"
    ):
        OPENAI.write([Reference("docs/a.md")])
    with pytest.raises(ValueError, match=r"^locator: 'page 3' is not a locator of this format, whose locators match L"):
        OPENAI.write([Reference("a", "page 3")])
    numbers = CitationFormat(source_id="[0-9]+")
    with pytest.raises(ValueError, match=r"^source_id: 'a' is not an id of this format, whose ids match \[0-9\]\+$"):
        numbers.write([Reference("a")])


def test_write_refuses_a_marker_over_the_limit() -> None:
    longest = "a" * (4096 - len("\ue200cite\ue202\ue201"))
    marker = OPENAI.write([Reference(longest)])
    assert len(marker) == 4096
    assert isinstance(parse(marker)[0], Citation)
    with pytest.raises(ValueError, match="no marker"):
        OPENAI.write([Reference(longest + "a")])


@pytest.mark.parametrize(
    "references", [["a"], [("a", None)], [None], [Reference("a"), "L1"], [Reference._make([None, None])], "a", 1, None]
)
def test_write_takes_references_only(references: Any) -> None:
    with pytest.raises(TypeError):
        OPENAI.write(references)


WORDS = (
    *("a1", "b", "turn0file0", "L2", "L8-L13", "L8–13", "L8x", "a.1", "doc.v2:3", "P 2", "Paragraph 21", "12"),
    *("", " ", " a1", "a1 ", "a 1", "a\n", "é1", "文1", "#", "[", "<", "x<", "a1" * 32, "a1" * 32 + "b"),
)


@st.composite
def references_to_write(draw: st.DrawFn) -> tuple[sc.FormatArgs, list[Reference], str]:
    args = draw(sc.formats())
    tokens = sc.tokens_of(args)
    mixed = st.lists(st.sampled_from((*"".join(tokens), *tokens, "a", "1", "L2"))).map("".join)
    word = st.one_of(*[st.sampled_from(WORDS)] * 4, mixed)
    references = draw(st.lists(st.builds(Reference, word, st.none() | word), max_size=3))
    family = draw(st.sampled_from((*args.get("families", ("cite",)), *args.get("families", ("cite",)), "url", "c", "")))
    return args, references, family


@given(references_to_write())
def test_write_refuses_exactly_what_does_not_read_back(drawn: tuple[sc.FormatArgs, list[Reference], str]) -> None:
    args, references, family = drawn
    format = CitationFormat(**args)
    words = [family, *(word for reference in references for word in reference if word is not None)]
    marker = format.start + format.delimiter.join(words) + format.stop
    citation = Citation(family=family, references=tuple(references), raw=marker, start=0, position=0)
    try:
        written = format.write(references, family=family)
    except ValueError:
        assert parse(marker, format=format) != [citation]
    else:
        assert written == marker
        assert parse(marker, format=format) == [citation]
        # Nor does it depend on what stands around it, as long as that does not run into its tokens.
        around = parse(f" {marker} ", format=format)
        assert around == [" ", dataclasses.replace(citation, start=1, position=1), " "]


@given(sc.formats(), st.lists(st.sampled_from(WORDS)))
def test_what_is_cited_can_be_written(args: sc.FormatArgs, fields: list[str]) -> None:
    format = CitationFormat(**args)
    for family in format.families:
        raw = format.start + format.delimiter.join([family, *fields]) + format.stop
        for event in parse(raw, format=format):
            if isinstance(event, Citation) and not event.repaired:
                written = format.write(event.references, family=event.family)
                (again,) = parse(written, format=format)
                assert isinstance(again, Citation)
                assert (again.family, again.references, again.repaired) == (event.family, event.references, False)
