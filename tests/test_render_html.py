"""Answers as HTML, read back by an HTML parser, against markdown-it-py and against the same text without citations."""

import re
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from streamcite import Cited, Reference, Source, clean
from streamcite.links import Link, Resolved
from streamcite.render.html import HtmlRenderer, PlacedCitation, RendererClosed, render_html, render_piece
from streamcite.render.pieces import Pieces
from streamcite.resolve import resolve
from tests.linting import MARKDOWN
from tests.markers import cite
from tests.rendering import LINKED, SOURCES, answers, cuts, feeds, rendered

CHIP = re.compile(r'<(a|span) class="cite".*?</\1>')
VOID = {"br", "hr"}


class Reader(HTMLParser):
    """Read HTML, and refuse what is not nested as it should be, or what no answer may hold."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.chips: list[dict[str, str | None]] = []
        self.links: list[str | None] = []
        self.text = ""
        self._opened: list[str] = []
        self.feed(html)
        self.close()
        assert self._opened == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        assert len(values) == len(attrs)
        assert not any(name.startswith("on") or name in ("style", "src") for name in values)
        assert tag not in {"script", "img", "b", "div"}
        if tag == "a":
            assert "a" not in self._opened
            assert re.match("https?://|mailto:", str(values["href"]))
            self.links.append(values["href"])
        if values.get("class") == "cite":
            self.chips.append({"tag": tag, **values})
        if tag not in VOID:
            self._opened.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self._opened.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def lines(html: str) -> str:
    return html.replace("\r\n", "\n").replace("\r", "\n")


def answer_of(html: str) -> str:
    return html.partition('<section class="sources">')[0]


@given(answers)
def test_each_citation_is_there_once_in_order_and_changes_nothing_else(text: str) -> None:
    events = resolve(text, SOURCES)
    html = answer_of(render_html(events))
    expected = [
        (str(event.index), source_id, "a" if source_id in LINKED else "span")
        for event in events
        if isinstance(event, Cited)
        for source_id, _ in dict.fromkeys(event.citation.references)
    ]
    assert [(chip["data-citation"], chip["data-id"], chip["tag"]) for chip in Reader(html).chips] == expected
    pieces = Pieces()
    env: dict[str, Any] = {}
    plain = "".join(render_piece(piece, env=env) for piece in [*pieces.feed(lines(clean(text))), pieces.open])
    without = CHIP.sub("", html).replace('<p dir="auto"></p>\n', "")
    assert without.replace(">\n", ">") == plain.replace(">\n", ">")


@given(answers, cuts)
def test_it_does_not_depend_on_how_the_answer_is_cut(text: str, cuts: list[int]) -> None:
    assert rendered(HtmlRenderer(), feeds(text, cuts)) == render_html(resolve(text, SOURCES))


markdown = st.lists(st.sampled_from([*MARKDOWN, "\n\n", "\n\n", "\n- ", "\n```\n", "\n\nWord"]), max_size=30).map(
    "".join
)


@given(markdown)
def test_pieces_are_what_the_whole_is(text: str) -> None:
    text = text.replace("[", "")  # references hold from their piece on
    pieces = Pieces()
    ended = [piece for character in text for piece in pieces.feed(character)]
    assert "".join([*ended, pieces.open]) == text
    assert pieces.length == len(pieces.open)
    assert "".join(map(render_piece, [*ended, pieces.open])) == render_piece(text)
    again = Pieces()
    assert again.feed(text) == ended


def test_a_piece_ends_where_a_block_begins_for_certain() -> None:
    texts = ["a\n\n", "- b\n\n- c\n\n  d\n \n", "1986 e\n\n", "```\nf\n\ng\n~~~\n```\n\n", "    h\n\n    i\n\n", "*j*"]
    pieces = Pieces()
    assert [piece for character in "".join(texts) for piece in pieces.feed(character)] == texts[:-1]
    assert pieces.open == texts[-1]


@given(markdown)
def test_it_is_what_markdown_it_makes_of_it(text: str) -> None:
    text = text.replace("[", "")
    reader = MarkdownIt("commonmark", {"html": False, "maxNesting": 100}).enable(["table", "strikethrough"])
    assert render_piece(text).replace(' dir="auto"', "") == reader.render(text)


M = cite("t1")
CHIP_1 = (
    '<a class="cite" href="https://a.example/office?a=1&amp;b=2" rel="nofollow noopener" title="Office days" '
    'data-citation="0" data-number="1" data-id="t1">[1]</a>'
)
PLACES = [
    (f"a.{M} b", "<p>a.@ b</p>"),
    (f"# a{M} #", "<h1>a@</h1>"),
    (f"a\n==={M}", "<h1>a@</h1>"),
    (f"**a.**{M} b", "<p><strong>a.</strong>@ b</p>"),
    (f"**太字{M}**です", "<p><strong>太字</strong>@です</p>"),
    (f"`a{M}` b", "<p><code>a</code>@ b</p>"),
    (f"[a{M}](https://b.example) c", '<p><a href="https://b.example">a</a>@ c</p>'),
    (f"[a](https://b.example{M}/x) c", '<p><a href="https://b.example/x">a</a>@ c</p>'),
    (f"[a]{M}(https://b.example) c", '<p><a href="https://b.example">a</a>@ c</p>'),
    (f"<https://b.{M}example> c", '<p><a href="https://b.example">https://b.example</a>@ c</p>'),
    (f"![a{M}](https://b.example/c) d", '<p><a href="https://b.example/c">a</a>@ d</p>'),
    (f"[![a{M}](https://b.example{M} 't{M}')](https://c.example)", '<p><a href="https://c.example">a</a>@@@</p>'),
    ("![a ![b\nc](https://b.example)](https://c.example)", '<p><a href="https://c.example">a b c</a></p>'),
    (f"a\\{M}*b*", "<p>a*@b*</p>"),
    (f"- a{M}\n- b", "<ul>\n<li>a@</li>\n<li>b</li>\n</ul>"),
    (f"-{M} a", "<ul>\n<li>@a</li>\n</ul>"),
    (f"{M}- a", "<ul>\n<li>@a</li>\n</ul>"),
    (f"- a\n- {M}\n", "<ul>\n<li>a</li>\n<li>@</li>\n</ul>"),
    (f"> a\n{M}> b", "<blockquote>\n<p>a\n@b</p>\n</blockquote>"),
    (f"```\na{M}\nb\n```", "<pre><code>a@\nb\n</code></pre>"),
    (f"```{M}\na\n```", "<pre><code>@a\n</code></pre>"),
    (f"```\na\n```{M}\nb", "<pre><code>a\n</code></pre>\n<p>@</p>\n<p>b</p>"),
    (f"```\na\n```{M}{M}", "<pre><code>a\n</code></pre>\n<p>@@</p>"),
    (f"```\na\n```{M}", "<pre><code>a\n</code></pre>\n<p>@</p>"),
    (f"- ```\n  a\n  ```{M}", "<ul>\n<li>\n<pre><code>a\n</code></pre>\n<p>@</p>\n</li>\n</ul>"),
    (f"    a{M}\n\tb", "<pre><code>a@\nb\n</code></pre>"),
    (f"\ta\n \t{M}b", "<pre><code>a\n@b\n</code></pre>"),
    (f"---{M}\na", "<hr />\n<p>@</p>\n<p>a</p>"),
    (f"a\n\n{M}\n\nb", "<p>a@</p>\n<p>b</p>"),
    (f"a\n\n{M}b", "<p>a</p>\n<p>@b</p>"),
    (f"{M}", "<p>@</p>"),
    (f"\n\n{M}\n", "<p>@</p>"),
    (f"<b>{M}</b>", "<p>&lt;b&gt;@&lt;/b&gt;</p>"),
    (f"a\r{M}\nb", "<p>a@\nb</p>"),
]


@pytest.mark.parametrize(("text", "expected"), PLACES)
def test_where_a_citation_is_drawn(text: str, expected: str) -> None:
    html = answer_of(render_html(resolve(text, SOURCES)))
    assert (
        re.sub(r'data-citation="\d+"', 'data-citation="0"', html).replace(CHIP_1, "@").replace(' dir="auto"', "")
        == f"{expected}\n"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"| a{M} | b |\n|---|---|\n| c | d |", "<th>a@</th> <th>b</th> <td>c</td> <td>d</td>"),
        (f"| a | b |\n|---|---|{M}\n| c | d |", "<th>a</th> <th>b@</th> <td>c</td> <td>d</td>"),
        (f"| a | b |\n|---|---|\n| c | d{M} |", "<th>a</th> <th>b</th> <td>c</td> <td>d@</td>"),
        (f"| a | b |\n|---|---|\n| c | d |{M}\n", "<th>a</th> <th>b</th> <td>c</td> <td>d@</td>"),
        (f"| a | b |\n|---|---|\n{M}| c | d |", "<th>a</th> <th>b</th> <td>@c</td> <td>d</td>"),
    ],
)
def test_where_a_citation_of_a_table_is_drawn(text: str, expected: str) -> None:
    html = answer_of(render_html(resolve(text, SOURCES))).replace(CHIP_1, "@").replace(' dir="auto"', "")
    assert " ".join(re.findall("<t[hd]>.*?</t[hd]>", html)) == expected


def chips_of(*fields: str, sources: dict[str, Source] = SOURCES) -> list[dict[str, str | None]]:
    return Reader(render_html(resolve(f"a.{cite(*fields)}", sources))).chips


def test_what_a_chip_says() -> None:
    [chip] = chips_of("t1", "L2-L3")
    assert chip == {
        "tag": "a",
        "class": "cite",
        "href": "https://a.example/office?a=1&b=2",
        "rel": "nofollow noopener",
        "title": "Office days, lines 2\N{EN DASH}3",
        "data-citation": "0",
        "data-number": "1",
        "data-id": "t1",
        "data-lines": "2-3",
    }
    assert [chip["data-number"] for chip in chips_of("t1", "t2", "t1")] == ["1", "2"]


def test_what_is_no_link() -> None:
    for source_id, title in (("js", "Script"), ("data", "data"), ("none", "none")):
        [chip] = chips_of(source_id)
        assert (chip["tag"], chip["title"], chip.get("href")) == ("span", title, None)
    [chip] = chips_of("t9file1")
    assert (chip["tag"], chip["data-problem"], chip["data-id"]) == ("span", "unknown-source", "t9file1")
    [chip] = chips_of("t1", "L99")
    assert (chip["tag"], chip["data-problem"], chip["title"]) == ("a", "unknown-lines", "Office days")
    assert "data-lines" not in chip


def test_an_id_is_data() -> None:
    links = (Link(Reference('a"><script>\n', "L1")),)
    html = render_piece("a", [PlacedCitation(1, 0, links, pending=True)])
    [chip] = Reader(html).chips
    assert (chip["data-id"], chip["data-pending"]) == ('a"><script>\n', "")


def test_a_hostile_source_is_text() -> None:
    html = render_html(resolve(f"a{cite('t2')}{cite('js')}{cite('data')}", SOURCES))
    read = Reader(html)
    assert 'A | b] <script>alert("x")</script> `c` **d**' in read.text
    assert set(read.links) == {"https://a.example/%60%7C%3C%3E"}


def test_links_of_the_answer() -> None:
    text = (
        "[a](javascript:x) [b](/c) <data:x> <ftp://x> [d](mailto:a@b.example) <a@b.example>\n\n[e]: javascript:x\n\n[e]"
        "\n\n[f]() ![g]() [![h]()]( 'i')"
    )
    assert set(Reader(render_html(resolve(text, SOURCES))).links) == {"mailto:a@b.example"}


def test_a_reference_holds_behind_its_definition() -> None:
    text = "[a] one\n\n[a]: https://a.example\n\n[a] two\n"
    assert render_html(resolve(text, {})) == (
        '<p dir="auto">[a] one</p>\n<p dir="auto"><a href="https://a.example">a</a> two</p>\n'
    )


def test_the_sources() -> None:
    html = render_html(resolve(f"a{cite('t1', 'L2-L3')}{cite('js')}{cite('t1', 'L5')}{cite('t1', 'L4')}", SOURCES))
    assert html.partition("</p>\n")[2] == (
        '<section class="sources">\n<h2>Sources</h2>\n<ol>\n'
        '<li value="1"><bdi><a href="https://a.example/office?a=1&amp;b=2" rel="nofollow noopener">'
        "Office days</a></bdi>, lines 2\N{EN DASH}5</li>\n"
        '<li value="2"><bdi>Script</bdi></li>\n</ol>\n</section>\n'
    )


def test_a_piece_is_given_out_when_the_next_begins() -> None:
    renderer = HtmlRenderer()
    assert renderer.feed(["One.\n", "\n"]) == ""
    assert renderer.feed(["T"]) == '<p dir="auto">One.</p>\n'
    assert renderer.feed(["wo."]) == ""
    assert renderer.close() == '<p dir="auto">Two.</p>\n'
    assert renderer.close() == ""
    with pytest.raises(RendererClosed):
        renderer.feed([])


def test_a_source_that_comes_before_its_piece_ends_is_drawn() -> None:
    cited, last = (event for event in resolve(f"One.{cite('t1')}", {}) if isinstance(event, Cited | Resolved))
    assert isinstance(cited, Cited)
    [known] = (event for event in resolve(f"One.{cite('t1')}", SOURCES) if isinstance(event, Cited))
    late = Resolved(0, known.links)
    in_time = render_html(["One.", cited, late])
    assert in_time == render_html(["One.", known])
    too_late = render_html(["One.", cited, "\n\nTwo.", late])
    assert '<span class="cite" data-citation="0" data-id="t1" data-problem="unknown-source">[?]</span>' in too_late
    assert "Office days" in too_late
    assert render_html(["One.", cited, last]).count("[?]") == 1


def test_a_citation_that_was_prose_is_text() -> None:
    [cited] = (event for event in resolve(f"{cite('t1')}", SOURCES) if isinstance(event, Cited))
    assert render_html([replace(cited, text="words", links=())]) == '<p dir="auto">words</p>\n'


def test_what_is_shown_of_another_marker_is_text() -> None:
    text = '\ue200entity\ue202["x","<Ada>"]\ue201\ue200cite\ue202#\ue201'
    assert render_html(resolve(text, SOURCES, malformed="keep")).startswith('<p dir="auto">&lt;Ada&gt;\ue200cite')


def test_many_citations_that_would_change_the_text_stand_at_its_end() -> None:
    read = answer_of(render_html(resolve(f"a *b{M}*c" * 30, SOURCES)))
    assert len(Reader(read).chips) == 30
    assert CHIP.sub("", read) == f'<p dir="auto">{"a <em>b</em>c" * 30}</p>\n'


@pytest.mark.parametrize("events", [[1], [None], [resolve(cite("t1"), SOURCES)[0].citation]])  # type: ignore[union-attr]
def test_misuse(events: Sequence[Any]) -> None:
    with pytest.raises(TypeError, match="events: must be those of a Resolver"):
        HtmlRenderer().feed(events)


def test_what_stands_for_citations_may_be_in_the_text() -> None:
    text = "\u20420\u2042 \u2042000\u2042 \u2042"
    read = Reader(answer_of(render_html(resolve(f"{text}{M}00{M}", SOURCES))))
    assert (read.text, len(read.chips)) == (f"{text}[1]00[1]\n", 2)


def test_halves_of_a_character_are_one_in_html() -> None:
    events = resolve(f"\ud83d{cite('x')}\ude00", {})
    html = render_html(events)
    assert html.startswith('<p dir="auto"><span class="cite"')
    assert html.endswith("</span>😀</p>\n")
