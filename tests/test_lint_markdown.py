"""Where points of a Markdown text are, against what markdown-it-py makes of a text with a sign in their place."""

import re

from hypothesis import assume, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from streamcite.lint.markdown import Place, Structure
from streamcite.markdown.contents import Row
from tests.linting import MARKDOWN

SIGN = "\N{OBJECT REPLACEMENT CHARACTER}"
RENDERER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
TAG = re.compile(r"<(/?)(em|strong|code)[ >]")


def open_tags(html: str) -> set[str]:
    """Give the tags that are open at the end of the beginning of a document."""
    opened: list[str] = []
    for closing, name in TAG.findall(html):
        if closing:
            opened.remove(name)
        else:
            opened.append(name)
    return set(opened)


@given(st.lists(st.sampled_from(MARKDOWN), min_size=1, max_size=20).map("".join), st.data())
def test_a_point_is_where_a_sign_would_be(text: str, data: st.DataObject) -> None:
    point = data.draw(st.integers(0, len(text)))
    html = RENDERER.render(text[:point] + SIGN + text[point:])
    # A sign may make other Markdown of a text: then it says nothing of the text.
    assume(html.count(SIGN) == 1 and html.replace(SIGN, "") == RENDERER.render(text))
    before = html.partition(SIGN)[0]
    assume('alt="' not in before[before.rfind("<") :])
    opened = open_tags(before)
    place = Structure(text, [point]).places[point]
    assert place.in_code == ("code" in opened)
    assert place.in_emphasis == bool(opened - {"code"})


def test_nothing_changes_a_length() -> None:
    text = "a\r\n\r\n\0**b**\r\ud800*c*\r\n"
    for inside in ("b", "c"):
        point = text.index(inside)
        assert Structure(text, [point]).places[point] == Place(in_emphasis=True)
    for outside in ("a", "\0", "\ud800"):
        point = text.index(outside)
        assert Structure(text, [point]).places[point] == Place()


def test_what_is_nested_too_deeply_is_nowhere() -> None:
    text = "> " * 200 + "**a**"
    assert Structure(text, [len(text) - 2]).places[len(text) - 2] == Place()
    text = "> " * 20 + "**a**"
    assert Structure(text, [len(text) - 2]).places[len(text) - 2] == Place(in_emphasis=True)


def test_a_column_of_a_cell_is_an_offset_in_its_content() -> None:
    line, contents = r"| a \| b \|\| c |  | \| d", ["a | b || c", "", "| d"]
    row = Row(line, contents, is_head=False)
    for number, content in enumerate(contents):
        written = content.replace("|", "\\|")
        begin = line.index(written) if written else line.index("|  |") + 3
        for length in range(len(written) + 1):
            assert row.cell(begin + length) == number
            assert row.offset(number, begin + length) == len(written[:length].replace("\\|", "|"))


def test_a_line_without_words() -> None:
    for line in ("", " ", "**", "()", "[ , ]", "> -", "（、）", "「」", "---", "„“", "…", "·", "1."):
        assert Structure(line, [0]).is_alone(0), line
    for line in ("a", "1", "文", "🚀", "€", "é"):
        assert not Structure(line, [0]).is_alone(0), line


def test_the_last_word_and_paragraphs() -> None:
    for text, several, last in [
        ("", False, -1),
        ("a", False, 0),
        ("# a\n\nb.", False, 5),
        ("a\n\nb.\n\n```\nc\n```", True, 3),
        ("- a\n- b", True, 6),
        ("a\n\n| b |\n|---|\n", False, 5),
    ]:
        structure = Structure(text, [])
        assert (structure.several, structure.last_word) == (several, last)
