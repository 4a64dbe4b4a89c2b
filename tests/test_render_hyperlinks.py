"""Links in Markdown, as a CommonMark reader reads them."""

import re
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from streamcite.render.hyperlinks import markdown_link, markdown_text, one_line
from streamcite.urls import is_safe_url

# As it is written: what a reader does with a URL when it shows it is its own affair.
READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
READER.normalizeLink = lambda url: url  # type: ignore[method-assign]
READER.validateLink = bool  # type: ignore[method-assign, assignment]

HOSTILE = ["a | b", "a]b", "[a](b)", "a\nb", "<script>x</script>", "`a`", "\\", "a\\|b", "a\\", "![x](y)", "*a* _b_"]
PIECES = ["|", "]", "[", "(", ")", "\n", "<", ">", "`", "\\", "*", "_", "&amp;", "&#106;", "!", "~~", "a", "b ", "é"]
labels = st.lists(st.sampled_from(PIECES)).map("".join)
urls = st.lists(st.sampled_from([*PIECES[:5], *PIECES[6:], '"', "'", " ", "\u202e", "\ud800", "/", "?", "%41"])).map(
    lambda pieces: "https://a.example/" + "".join(pieces)
)


def inline(text: str) -> list[Token]:
    return [child for token in READER.parse(text) if token.type == "inline" for child in token.children or ()]


def read(text: str) -> list[tuple[str | None, str]]:
    """The stretches of a text that are one link or none: where it leads, and what is seen of it."""
    stretches: list[tuple[str | None, str]] = [(None, "")]
    for token in inline(text):
        if token.type == "link_open":
            stretches.append((str(token.attrs["href"]), ""))
        elif token.type == "link_close":
            stretches.append((None, ""))
        else:
            assert token.type == "text", token
            stretches[-1] = (stretches[-1][0], stretches[-1][1] + token.content)
    return [stretch for stretch in stretches if stretch != (None, "")]


@given(labels, urls)
def test_a_link_is_read_as_it_was_meant(label: str, url: str) -> None:
    expected = unquote(url).replace("\ud800", "\ufffd")
    for before, behind in (("", ""), ("a ` b ", " c"), ("(", ")"), ("*", ""), ("<", ">")):
        found = read(f"{before}{markdown_link(label, url)}{behind}" if one_line(label) else "[a](<https://a.example/>)")
        [link] = [each for each in found if each[0] is not None]
        if one_line(label):
            assert (unquote(link[0] or ""), link[1]) == (expected, one_line(label))


@given(labels, urls)
def test_a_link_in_a_table_leaves_its_cells(label: str, url: str) -> None:
    row = f"| a {markdown_link(label, url)} | b |"
    assert READER.render(f"| a | b |\n|---|---|\n{row}\n").count("<td>") == 2


@given(labels)
def test_a_text_is_text(label: str) -> None:
    assert "".join(seen for _, seen in read(f"a {markdown_text(label)}")) == f"a {one_line(label)}".rstrip()


@pytest.mark.parametrize("label", HOSTILE)
def test_a_hostile_label(label: str) -> None:
    assert read(f"a {markdown_link(label, 'https://a.example/')}") == [
        (None, "a "),
        ("https://a.example/", one_line(label)),
    ]
    assert "<script" not in markdown_link(label, "https://a.example/")


@pytest.mark.parametrize("text", ["https://a.example", "www.a.example", "WWW.a.example", "a@b.example", "$x$", "x^2^"])
def test_what_extensions_of_markdown_take_for_markup_is_text(text: str) -> None:
    assert re.search(r"\\[:.@$^]", markdown_text(text))
    assert read(markdown_text(text)) == [(None, text)]


SAFE = ["http://a", "HTTPS://a/b?c#d", "mailto:a@b.example", "https://a/b c", "https://é.example/文"]
UNSAFE = [
    *("javascript:alert(1)", "JaVaScRiPt:x", "\x01javascript:x", " javascript:x", "java\nscript:x", "data:text/html,x"),
    *(
        "\tdata:x",
        "vbscript:x",
        "file:///etc",
        "//a.example",
        "/a",
        "a",
        "",
        "https:",
        "https:a",
        "https://",
        "mailto:",
    ),
    *(
        "https:///a",
        "https://?",
        " https://a",
        "https://a\n",
        "https://a\x00",
        "\x01https://a",
        "ftp://a",
        "https\t://a",
    ),
]


@pytest.mark.parametrize("url", SAFE)
def test_a_safe_url(url: str) -> None:
    assert is_safe_url(url)
    assert read(markdown_link("1", url)) == [(url.replace(" ", "%20"), "1")]


@pytest.mark.parametrize("url", UNSAFE)
def test_a_url_that_is_not_safe_is_not_a_link(url: str) -> None:
    assert not is_safe_url(url)
    assert markdown_link("[1]", url) == "\\[1\\]"


def test_an_empty_label_is_nothing() -> None:
    assert markdown_link("\u202e\n", "https://a.example") == ""


def test_one_line() -> None:
    assert one_line(" a\r\n\u2028b\x00\x1b[0m \u202eevil\ud800 ") == "a b[0m evil\ufffd"
