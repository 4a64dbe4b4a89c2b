import re
from typing import Any, SupportsIndex

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streamcite.guide import CitationDict, extract_citations, strip_citations

START, DELIMITER, STOP = "\ue200", "\ue202", "\ue201"

# What decides a marker, and what is easily taken for it: whitespace and digits beyond ASCII, dashes, names in names.
PIECES = [
    *(START, DELIMITER, STOP, START + "cite" + DELIMITER, "cite", "filecite", "cit", "é.*"),
    *("turn0file0", "a-b_c", "L1", "L8-L13", "L\u0663-L\u0664", "L1\u2013L2", "L1-2", "l1", "ü", "-", "_", "7"),
    *(" ", "\n", "\t", "\u2028", "\u3000", "\x1f", ".", "prose ", "\U0001f600"),
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)
FAMILIES = st.lists(
    st.sampled_from(["cite", "filecite", "cit", "é.*", "", DELIMITER, "a" + STOP, "cite" + DELIMITER]), max_size=4
)


def by_the_book(text: str, families: list[str]) -> list[CitationDict]:
    """Semantics, section 4, sentence by sentence: slow, and as plain as a regex can say it."""
    if not families:
        return []
    markers = re.compile(
        f"{START}({'|'.join(re.escape(family) for family in families)}){DELIMITER}(.*?){STOP}", re.DOTALL
    )
    found = []
    for marker in markers.finditer(text):
        parts = [part.strip() for part in marker[2].split(DELIMITER) if part.strip()]
        locator = None
        if parts and re.fullmatch(r"L\d+(-L\d+)?", parts[-1]):
            locator = parts[-1]
            parts = parts[:-1]
        if parts and not [part for part in parts if not re.fullmatch("[A-Za-z0-9_-]+", part)]:
            start, end = marker.span()
            found.append(
                CitationDict(raw=marker[0], family=marker[1], source_ids=parts, locator=locator, start=start, end=end)
            )
    return found


def test_reads_the_guides_own_example() -> None:
    text = f"The on-call handoff. {START}cite{DELIMITER}turn0file0{DELIMITER}L8-L13{STOP} More."
    citations = extract_citations(text)
    assert citations == [
        {
            "raw": text[21:45],
            "family": "cite",
            "source_ids": ["turn0file0"],
            "locator": "L8-L13",
            "start": 21,
            "end": 45,
        }
    ]
    assert strip_citations(text, citations) == "The on-call handoff.  More."


@pytest.mark.parametrize(
    ("body", "source_ids", "locator"),
    [
        ("turn0file1", ["turn0file1"], None),
        (f"turn0search0{DELIMITER}turn1news2", ["turn0search0", "turn1news2"], None),
        (f"a{DELIMITER}b{DELIMITER}L1", ["a", "b"], "L1"),
        (f"a{DELIMITER}L\u0661-L\u0662", ["a"], "L\u0661-L\u0662"),
        (f" a {DELIMITER}{DELIMITER}\u3000{DELIMITER}\nL1\t", ["a"], "L1"),
        (f"a{DELIMITER}L1-L2{DELIMITER}b", ["a", "L1-L2", "b"], None),
        (f"L1{DELIMITER}L2", ["L1"], "L2"),
        (f"a{DELIMITER}L1-2", ["a", "L1-2"], None),
    ],
)
def test_reads_a_body(body: str, source_ids: list[str], locator: str | None) -> None:
    raw = f"{START}cite{DELIMITER}{body}{STOP}"
    (citation,) = extract_citations(raw)
    assert (citation["raw"], citation["source_ids"], citation["locator"]) == (raw, source_ids, locator)


@pytest.mark.parametrize(
    "body", ["", " ", DELIMITER, "L1", "a b", f"a{DELIMITER}L1\u2013L2", f"a{START}cite{DELIMITER}b"]
)
def test_skips_a_bad_marker_and_leaves_it_in_the_text(body: str) -> None:
    text = f"x {START}cite{DELIMITER}{body}{STOP} y {START}cite{DELIMITER}good{STOP}"
    citations = extract_citations(text)
    assert [citation["source_ids"] for citation in citations] == [["good"]]
    assert strip_citations(text, citations) == f"x {START}cite{DELIMITER}{body}{STOP} y "


def test_families_are_looked_for_as_given() -> None:
    text = f"{START}cite{DELIMITER}a{STOP}{START}filecite{DELIMITER}b{STOP}"
    assert [citation["source_ids"] for citation in extract_citations(text)] == [["a"]]
    assert [citation["source_ids"] for citation in extract_citations(text, families=["filecite"])] == [["b"]]
    assert [citation["family"] for citation in extract_citations(text, families=iter(["filecite", "cite"]))] == [
        "cite",
        "filecite",
    ]
    assert extract_citations(text, families=()) == []


@pytest.mark.parametrize("text", [None, b"text", ["text"]], ids=repr)
def test_a_text_is_a_string(text: Any) -> None:
    with pytest.raises(TypeError, match=f"^text: must be a str, not {type(text).__name__}$"):
        extract_citations(text)


def test_a_string_is_not_a_list_of_families() -> None:
    with pytest.raises(ValueError, match=r"^families: must be an iterable of names, not the string 'cite'$"):
        extract_citations("", families="cite")


@given(TEXTS, FAMILIES)
@example(f"{START}a{STOP}{DELIMITER}b{STOP}", ["a" + STOP])
@example(f"{START}cite{DELIMITER}a{DELIMITER}b", ["cite", "cite" + DELIMITER])
def test_extract_is_the_plain_regex(text: str, families: list[str]) -> None:
    assert extract_citations(text, families=families) == by_the_book(text, families)
    assert extract_citations(text) == by_the_book(text, ["cite"])


@st.composite
def texts_and_spans(draw: st.DrawFn) -> tuple[str, list[CitationDict]]:
    """Draw a text and spans of it in any order, equal and overlapping ones among them."""
    text = draw(st.text("abcdefghij", max_size=20))
    ends = st.integers(0, len(text))
    spans = draw(st.lists(st.tuples(ends, ends).map(sorted), max_size=8))
    return text, [
        CitationDict(raw="", family="cite", source_ids=[], locator=None, start=start, end=end) for start, end in spans
    ]


@given(texts_and_spans())
def test_strip_cuts_each_span_from_the_last_to_the_first(case: tuple[str, list[CitationDict]]) -> None:
    text, citations = case
    expected = text
    for citation in sorted(citations, key=lambda citation: citation["start"], reverse=True):
        expected = expected[: citation["start"]] + expected[citation["end"] :]
    assert strip_citations(text, citations) == expected
    assert strip_citations(text, iter(citations)) == expected


@given(TEXTS)
def test_what_is_stripped_is_what_was_extracted(text: str) -> None:
    citations = extract_citations(text)
    assert all(text[citation["start"] : citation["end"]] == citation["raw"] for citation in citations)
    assert len(strip_citations(text, citations)) == len(text) - sum(len(citation["raw"]) for citation in citations)


@pytest.mark.parametrize(
    "text",
    [
        f"{START}cite{DELIMITER}" * 1_000_000,
        f"{START}cite{DELIMITER}a" + START * 5_000_000,
        f"{STOP}{START}cite{DELIMITER}" + "x" * 5_000_000,
        START * 5_000_000 + STOP,
        DELIMITER * 5_000_000,
        f"{START}cite{DELIMITER}" * 1_000_000 + STOP,
    ],
    ids=["unclosed", "starts", "one unclosed", "starts and a stop", "delimiters", "closed at the end"],
)
def test_hostile_text_is_read_in_linear_time(text: str) -> None:
    # No clock: a reader that runs to the end of the text from each start takes 10**12 steps here and never comes back.
    assert extract_citations(text) == []


class Counted(str):
    """A text that counts the characters which are copied out of it."""

    __slots__ = ("copied",)
    copied: int

    def __getitem__(self, key: SupportsIndex | slice) -> str:
        piece = super().__getitem__(key)
        self.copied += len(piece)
        return piece


def test_strip_copies_each_character_once() -> None:
    text = Counted(f"word {START}cite{DELIMITER}a{STOP}" * 100_000)
    text.copied = 0
    clean = strip_citations(text, extract_citations(text))
    assert clean == "word " * 100_000
    assert text.copied == len(clean)
