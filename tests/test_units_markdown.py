"""Blocks of Markdown documents, whose structure markdown-it-py reads."""

import textwrap
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from streamcite.units import split_blocks

PIECES = (
    *("a", "word ", "x" * 30, "文。", "\N{GRINNING FACE}", "\ud800", "\0", "`", "*", "[r]: http://a.example\n"),
    *("\n", "\n", "\n\n", "\r\n", "\r\n\r\n", "\r", "\x0c", "\u2028", " \n", "\t", "  ", "    ", "\r\r\n"),
    *("# H\n", "## Two words\n\n", "T\n===\n", "T\n---\n", "---\n", "```\n", "~~~ py\n", "<div>\n", "<!-- a"),
    *("- a\n", "  - b\n", "1. a\n", "> ", ">> q\n", "|a|b|\n|-|-|\n", "|1|2|\n", "> - ", "> # H\n"),
)
texts = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)
FENCE = "```py\nfirst\n\nsecond\n```\n"
TABLE = "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n"
LIST = "- one\n\n  more\n- two\n\n- three\n"
QUOTE = "> one\n>\n> two\n"
SETEXT = "Title\n=====\n\nText.\n"
HTML = "<pre>\n\na\n\n</pre>\n"


def blocks(text: str, size: int) -> list[str]:
    return [block.text for block in split_blocks(text, size=size, markdown=True)]


@given(texts, st.sampled_from((2, 3, 5, 8, 20, 50, 1000)))
def test_joined_blocks_are_the_document(text: str, size: int) -> None:
    found = list(split_blocks(text, size=size, markdown=True))
    assert "".join(block.text for block in found) == text
    assert all(text[block.start : block.end] == block.text for block in found)
    assert all(0 < len(block.text) <= size for block in found)
    assert not any(one.text.endswith("\r") and two.text.startswith("\n") for one, two in pairwise(found))


@pytest.mark.slow
@pytest.mark.parametrize("structure", [FENCE, TABLE, LIST, QUOTE, SETEXT, HTML])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("before", ["", "Before it.\n\n", "A lone \r is no end of a line.\n\n", "\n\n"])
@pytest.mark.parametrize("behind", ["", "\nBehind it.\n", "\n\n\nBehind.\n"])
def test_what_fits_is_not_cut(structure: str, ending: str, before: str, behind: str) -> None:
    whole, before, behind = (text.replace("\n", ending) for text in (structure, before, behind))
    with_blank_lines = len(whole) + (3 + before.isspace() * 2) * len(ending)
    for size in range(with_blank_lines, len(before + whole + behind) + 1):
        assert [whole in block for block in blocks(before + whole + behind, size)].count(True) == 1


@given(st.lists(st.sampled_from(("# H\n\n", "T\n===\n\n", "text\n\n", FENCE, TABLE + "\n", QUOTE + "\n")), max_size=10))
def test_no_block_ends_with_a_heading(parts: list[str]) -> None:
    reader = MarkdownIt("commonmark").enable("table")
    for block in blocks("".join([*parts, "The end."]), 100):
        assert reader.parse(block)[-1].type != "heading_close"


@pytest.mark.parametrize(
    ("text", "size", "expected"),
    [
        ("", 20, []),
        ("\n \n", 20, ["\n \n"]),
        ("[r]: http://a.example\n", 30, ["[r]: http://a.example\n"]),
        (LIST, 20, ["- one\n\n  more\n", "- two\n\n- three\n"]),
        (LIST, 10, ["- one\n\n", "  more\n", "- two\n\n", "- three\n"]),
        (TABLE, 32, ["| a | b |\n|---|---|\n", "| 1 | 2 |\n| 3 | 4 |\n"]),
        (FENCE, 16, ["```py\nfirst\n\n", "second\n```\n"]),
        ("# H\n\n" + LIST, 20, ["# H\n\n- one\n\n  more\n", "- two\n\n- three\n"]),
        ("Text.\n\nTitle\n=====\nMore.\n", 20, ["Text.\n\n", "Title\n=====\nMore.\n"]),
        ("A text.\n\n    # code\n\n    more\n", 24, ["A text.\n\n", "    # code\n\n    more\n"]),
        ("- # H\n\n  text\n\n  more text\n- x\n", 18, ["- # H\n\n  text\n\n", "  more text\n- x\n"]),
    ],
)
def test_where_a_document_is_cut(text: str, size: int, expected: list[str]) -> None:
    assert blocks(text, size) == expected


def test_a_blank_line_in_code_ends_a_paragraph_unless_it_is_markdown() -> None:
    text = textwrap.dedent("""\
        Before.

        ```
        a

        # b
        ```
        """)
    assert blocks(text, 20) == ["Before.\n\n", "```\na\n\n# b\n```\n"]
    assert [block.text for block in split_blocks(text, size=20)] == ["Before.\n\n```\na\n\n", "# b\n```\n"]
