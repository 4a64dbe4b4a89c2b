import re
import sys
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamcite.units import Lines, Passage, line_range, split_blocks

# What finds faults is where ends, blanks and headings stand, not the variety of letters.
PIECES = (
    *("a", "word ", "two words", "x" * 30, "end. ", "文。", "é", "\N{GRINNING FACE}", "\ud800", "\0", "\u202e"),
    *("\n", "\n", "\n\n", "\r\n", "\r\n\r\n", "\r", "\x0c", "\u2028", "\x85", " \n", "\t\n", "  ", "\n \r\n"),
    *(
        "# H\n",
        "\n# H",
        "\n## Two words\n\n",
        "   # Far\n",
        "#no",
        "\n```\n",
        "- a\n",
        "> q\n",
        "|a|b|\n|-|-|\n|1|2|\n",
    ),
)
texts = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)
sizes = st.sampled_from((2, 3, 5, 8, 20, 50, 1000))
HEADING = re.compile(r"(?:\A|\n) {0,3}#{1,6}[ \t][^\n]*\n?\s*\Z")


def blocks(text: str, size: int = 20) -> list[str]:
    return [block.text for block in split_blocks(text, size=size)]


@given(texts, sizes)
def test_joined_blocks_are_the_document(text: str, size: int) -> None:
    found = list(split_blocks(text, size=size))
    assert "".join(block.text for block in found) == text
    assert all(text[block.start : block.end] == block.text for block in found)
    assert all(0 < len(block.text) <= size for block in found)
    assert all(before.end == block.start for before, block in pairwise(found))
    assert all((block.first_line, block.last_line) == (None, None) for block in found)


@given(texts, sizes)
def test_no_block_cuts_a_line_end(text: str, size: int) -> None:
    assert not any(before.endswith("\r") and block.startswith("\n") for before, block in pairwise(blocks(text, size)))


@given(texts, sizes)
def test_blocks_are_as_few_as_fit(text: str, size: int) -> None:
    assert all(len(one + other) > size // 2 for one, other in pairwise(blocks(text, size)))


@given(st.lists(st.sampled_from(("a", "two words", "x" * 9, "é\r\nb")), max_size=12), st.integers(12, 40))
def test_no_paragraph_is_cut_that_fits(paragraphs: list[str], size: int) -> None:
    text = "\n\n".join(paragraphs)
    assert [part for block in blocks(text, size) for part in block.strip("\n").split("\n\n") if part] == paragraphs


@given(st.lists(st.sampled_from(("# H\n", "## Two\n\n", "text\n", "a paragraph\n\n", "x" * 30 + "\n")), max_size=15))
def test_no_block_ends_with_a_heading(parts: list[str]) -> None:
    text = "".join([*parts, "The end."])
    assert not any(HEADING.search(block) for block in blocks(text, 140))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("a", ["a"]),
        ("\n\n\n", ["\n\n\n"]),
        ("One.\n\nTwo.\n\nThree and four.\n", ["One.\n\nTwo.\n\n", "Three and four.\n"]),
        ("One.\r\n \r\nTwo and three are.\r\n", ["One.\r\n \r\n", "Two and three are.\r\n"]),
        ("A paragraph.\n# H\nText is here.", ["A paragraph.\n", "# H\nText is here."]),
        ("A paragraph.\n\n# H\n\nText is here.", ["A paragraph.\n\n", "# H\n\nText is here."]),
        ("# Title\n\n## Part\nText.\nAnd so on.", ["# Title\n\n## Part\nTex", "t.\nAnd so on."]),
        ("# H\nThis line is long, and so on.", ["# H\nThis line is ", "long, and so on."]),
        ("First line 1\nsecond line\nthird", ["First line 1\n", "second line\nthird"]),
        ("One is this. Two it is not.", ["One is this. ", "Two it is not."]),
        ("He said “it is so.” And more.", ["He said “it is so.” ", "And more."]),
        ("一二三四五六七八九十一二三。四五六七八九十", ["一二三四五六七八九十一二三。", "四五六七八九十"]),
        ("x" * 45, ["x" * 20, "x" * 20, "x" * 5]),
        ("x" * 19 + "\r\n" + "y", ["x" * 19, "\r\ny"]),
        ("#" + "x" * 30, ["#" + "x" * 19, "x" * 11]),
        ("# " + "x" * 30 + "\ntext", ["# " + "x" * 18, "x" * 12 + "\ntext"]),
    ],
)
def test_where_a_document_is_cut(text: str, expected: list[str]) -> None:
    assert blocks(text) == expected


def test_a_block_has_by_default_2000_code_points_at_most() -> None:
    assert [len(block.text) for block in split_blocks("\N{GRINNING FACE}" * 4500)] == [2000, 2000, 500]


def test_misuse_is_refused_at_once() -> None:
    with pytest.raises(TypeError, match=r"^text: must be a str, not bytes"):
        split_blocks(b"text")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^size: must be an int, not 20\.0"):
        split_blocks("text", size=20.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^size: must be at least 2, not 1"):
        split_blocks("text", size=1)


def test_without_markdown_it_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "markdown_it", None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "streamcite\[markdown\]"') as raised:
        split_blocks("text", markdown=True)
    assert raised.value.name == "markdown_it"


def naive_spans(text: str) -> list[tuple[int, int]]:
    """Give the start and the end of each line as the contract of `Lines` says, a character at a time."""
    spans, start = [], 0
    for offset, character in enumerate(text):
        if character == "\n":
            spans.append((start, offset - text.endswith("\r", start, offset)))
            start = offset + 1
    return [*spans, (start, len(text))] if start < len(text) else spans


def naive_lines(text: str) -> list[str]:
    return [text[start:end] for start, end in naive_spans(text)]


@given(texts)
def test_only_newlines_end_a_line(text: str) -> None:
    lines = Lines(text)
    expected = naive_lines(text)
    assert list(lines) == expected
    assert len(lines) == len(expected)
    assert [text[lines.start(number) :].startswith(line) for number, line in enumerate(lines, 1)] == [True] * len(lines)


@given(texts, st.integers(-1, 12), st.integers(-1, 12))
def test_a_passage_of_lines_is_exact(text: str, first: int, last: int) -> None:
    passage = Lines(text).passage(first, last)
    expected = naive_spans(text)
    assert (passage is not None) == (1 <= first <= last <= len(expected))
    if passage is not None:
        assert text[passage.start : passage.end] == passage.text
        assert (passage.start, passage.end) == (expected[first - 1][0], expected[last - 1][1])
        assert (passage.first_line, passage.last_line) == (first, last)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("a", ["a"]),
        ("a\n", ["a"]),
        ("a\n\n", ["a", ""]),
        ("\n", [""]),
        ("a\r\nb\r\n", ["a", "b"]),
        ("a\rb\x0bc\x0cd\x85e\u2028f\u2029g\x1ch", ["a\rb\x0bc\x0cd\x85e\u2028f\u2029g\x1ch"]),
        ("a\r\r\nb\r", ["a\r", "b\r"]),
        ("\r\n\r", ["", "\r"]),
    ],
)
def test_the_lines_of_a_text(text: str, expected: list[str]) -> None:
    assert list(Lines(text)) == expected == naive_lines(text)


def test_lines_of_a_long_text_are_counted_piece_by_piece() -> None:
    text = "a line\r\n" * 300_000 + "the last"
    lines = Lines(text)
    assert (len(lines), lines.passage(300_000, 300_001)) == (
        300_001,
        Passage("a line\r\nthe last", 299_999 * 8, 300_000, 300_001),
    )


@pytest.mark.parametrize("number", [-1, 0, 3])
def test_the_start_of_a_line_that_is_not_there(number: int) -> None:
    with pytest.raises(IndexError, match=f"^number: there are lines 1 to 2, not {number}"):
        Lines("a\nb").start(number)


@pytest.mark.parametrize(
    ("locator", "expected"),
    [
        ("L8", (8, 8)),
        ("L8-L13", (8, 13)),
        ("L8–13", (8, 13)),
        ("L8‐L13", (8, 13)),
        ("L8―L13", (8, 13)),
        ("L13-L8", (13, 8)),
        ("L0", (0, 0)),
        ("L007", (7, 7)),
        ("L1-L999999999", (1, 999_999_999)),
        ("L1-L" + "9" * 18, (1, 10**18 - 1)),
        ("L1-L" + "9" * 100_000, (1, sys.maxsize)),
        ("L" + "0" * 100_000 + "2", (2, 2)),
        *((other, None) for other in ("", "L", "8", "l8", "L8-", "L8−L13", "L٣", "L8 ", "P 8", "L8-L9-L10", "L8\n")),
    ],
)
def test_a_locator_names_lines(locator: str, expected: tuple[int, int] | None) -> None:
    assert line_range(locator) == expected
