"""An answer as HTML while it streams: at the end it is what one render gives, and until then it looks as if it were."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it.parser_block import ParserBlock
from markdown_it.parser_inline import ParserInline
from markdown_it.token import Token

from benchmarks import render as benchmark
from streamcite import CitationParser, Cited, Resolved, ResolvedEvent, Resolver
from streamcite.render import allowance
from streamcite.render.allowance import Allowance
from streamcite.render.context import HERE, Context, find_cut
from streamcite.render.html import render_html, render_inline
from streamcite.render.last_line import HIDDEN
from streamcite.render.live import BlockPatch, LiveHtml, RendererClosed
from streamcite.render.structure import read_blocks
from streamcite.render.unfinished import show
from tests.live_reader import Reader, at_once, resolve_all
from tests.markers import cite
from tests.rendering import PIECES, SOURCES, answers, cuts, feeds

# Blocks that go on for long, and what may end them, or change what they are.
LINES = (
    *("- a", "- b **c**", "  d", "* e", "1. f", "2. g", "12) h", "   i", "- ", "-", "\n", "\n"),
    *("| a | b |", "|---|---|", "| 1 | `2` |", "| 3", "j | k", "|", "===", "---", "# l", "> m", "n"),
    *("```", "```py", "~~~", "    o", "[p]: /q", "[p]", '"r"', "[s]: https://t.example", "**u", "v**", "[w](https://x"),
)
blocks = st.lists(st.sampled_from((*LINES, *PIECES[:4])), max_size=12).map("\n".join)
texts = answers | blocks | st.tuples(blocks, answers).map("\n".join)


def seen(text: str) -> str:
    """Give what is seen of an answer that has come so far."""
    return Reader().feed([text])


def final(events: Iterable[ResolvedEvent]) -> str:
    """Give one render of events, each citation as it is known in the end."""
    events = list(events)
    links = {event.index: event.links for event in events if isinstance(event, Resolved)}
    return render_html(
        replace(event, links=links.get(event.index, event.links), pending=False) if isinstance(event, Cited) else event
        for event in events
        if not isinstance(event, Resolved)
    )


def follow(text: str, cuts: Iterable[int]) -> None:
    """Read an answer cut so: what is seen is what is seen of it in one delta, and at the end it is one render."""
    *fed, last = feeds(text, cuts)
    reader, events = Reader(), []
    for feed in fed:
        events += feed
        assert reader.feed(feed) == Reader().feed(at_once(events))
    reader.feed(last)
    assert reader.close() == final(events + last)


@given(texts, cuts)
@example("- a\n- b\n\n- c", [3, 7, 9])
@example("- a\n- b\n\n-", [7, 9])
@example("a\n===\n", [2, 3])
@example("[p] x\n\n[p]: /q\n\n[p]", [1, 8])
@example("> a\nb\n\nc", [3, 5])
@example("a\n| b | c |\n|---|---|\n| d |", [3, 12, 20])
@example("*a_ *a_ *a_ ", [])
@example("***a** b* ", [])
@example("&amp;", [3])
@example("```\n" + "`" * 1100, [4])
def test_what_is_seen_at_the_end_is_one_render(text: str, cuts: list[int]) -> None:
    fed, reader = feeds(text, cuts), Reader()
    for events in fed:
        reader.feed(events)
    assert reader.close() == final(event for events in fed for event in events)


@given(texts, cuts)
@example("- a\n| a | b |\n   i\n\n\n| a | b |", [18])
@example('~~**",**k:**', [10])
@example('~~**",**k:** l', [4, 9])
@example("__](b)**:**__*", [3, 4, 10, 13])
@example("**_k:_*", [6])
def test_what_is_seen_does_not_depend_on_the_cuts(text: str, cuts: list[int]) -> None:
    follow(text, cuts)


@pytest.mark.parametrize("begin", ["", "a\n"])
@pytest.mark.parametrize("marks", ["|", "|-", "`", "~~~|a", "~"])
@pytest.mark.parametrize("rest", ["_b c. d", "*b* |", "-|\n", "\na"])
def test_a_line_longer_than_is_waited_for_may_still_become_anything(begin: str, marks: str, rest: str) -> None:
    text = begin + (marks * 1030)[:1030] + rest
    follow(text, range(len(text) - len(rest) - 8, len(text)))


@given(texts, cuts)
@example("===\n    o", [3, 6, 7])
@example("a \n-->|_~ /q", [3, 4, 5])
@example("- a<!--]```<!--=\t\n /q=    *|-", [17, 18, 19])
@settings(max_examples=50)
def test_what_is_seen_where_nothing_is_read_again_does_not_depend_on_the_cuts(text: str, cuts: list[int]) -> None:
    with patch.multiple(allowance, _WINDOW=8, _MARKS=4, _FREE=0, _RATE=1, _GRACE=2, _SLOW=6):
        follow(text, cuts)


# What a line ends with may look like the content that stands in front of it, or be no part of that; and what begins a
# link may not be seen, wherever a citation stands.
AMBIGUOUS = st.text("# |-\\a1)\n[\u3000\x1b", max_size=12) | st.lists(
    st.sampled_from(
        ("[", "![", "](", "](http://a", ")", " ", "a", "!", "*", "<", "`", "\x1b", "\\", ":", cite("t1"), cite("x"))
    ),
    max_size=10,
).map("".join)


@given(AMBIGUOUS, cuts)
@example("# # #\n", [])
@example("> ## # ##\t##\n", [4])
@example("|-\n--\n", [])
@example("|a|\n|-|\n|\\|", [])
@example(f"\\{cite('x')}\\:", [-2])
@example(f"    a {cite('x')}b| ", [-2])
@example("|![|\n", [4])
@example("* |\n1)|", [])
@example("-||\n-|-\n0)|", [])
@example("|a|\n|-|\n|a|\n| |\n", [9])
@example("a\x1b[\u3000", [3])
@example("[[\u3000 ", [2])
@example("a\u3000a", [2])
@example("a `a\xa0:", [5])
@example("[]( http://a)", [12])
@example(f"![[{cite('x')}!-", [-2])
@example("[a][()", [5])
@example("[a]![[(b) c", [7, 9])
@example("a][(b", [2])
def test_what_is_seen_of_what_may_be_many_things(text: str, cuts: list[int]) -> None:
    follow(text, cuts)


# What is open for long, by what it is made of.
HOSTILE = (
    *(
        "*a@*",
        "**a ",
        "*a_ ",
        "***a** b* ",
        "~~a ",
        "a**b",
        "<b <i ",
        "<",
        "<http://a",
        "[[[[",
        "![",
        "[a](",
        "[a](b 'c ",
    ),
    *("[a]", "`a ``b ", "\\", "&amp;", "a&b;", "|a", "| a ", "# ", "a\t", "*", "- ", "> ", "a\n", "**a\n", "`a\n"),
    *("a| b\n", "> a\n", "> - a\n", "- a\n ", "    a\n", "```\n", "[a]: b\n", "- [a]: b\n", "1. a\n   - b\n"),
    *(
        cite("t1"),
        f"{cite('t1')}\n",
        "a\n\n- b\n\n  c\n",
        "* a\n\n* b\n+ c\n\n+ d\n",
        f"**a{cite('t1')}",
        f"> a{cite('t1')}\n",
    ),
)
endless = st.lists(
    st.tuples(st.sampled_from((*HOSTILE, *LINES, *PIECES)), st.sampled_from((1, 2, 50, 150))), min_size=1, max_size=5
).map(lambda parts: "".join(part * count for part, count in parts)[:900])


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE)
def test_what_is_read_is_bounded_by_the_length_of_the_answer(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    for kind in (ParserBlock, ParserInline):
        parse = kind.parse

        def counted(self: Any, source: str, *args: Any, parse: Any = parse) -> Any:
            read.append(len(source))
            return parse(self, source, *args)

        monkeypatch.setattr(kind, "parse", counted)
    text = (text * 600)[:600]
    parser, resolver, reader = CitationParser(), Resolver(SOURCES), Reader()
    for begin in range(0, len(text), 4):
        reader.feed(resolver.feed(parser.feed(text[begin : begin + 4])))
    assert sum(read) <= 128 * len(text)


@pytest.mark.parametrize("part", ["(b", "(b\\)", "\\((b", "(b)"])
def test_where_half_a_link_leads_is_read_in_one_way(part: str) -> None:
    # Whatever tried every way to part this would not come to an end, nor what tried each beginning anew.
    reader = Reader()
    assert reader.feed([f"[a]({part * 100} c"]) == reader.close()
    for content in (f"[a]({part * 10_000} c", f"[a]({part}" * 10_000 + " c", "[a](b" * 10_000 + " c"):
        assert show(content).text.endswith(" c")
    assert show(f"[a]({part * 10_000}").text == "a"


def test_a_long_blank_line_is_looked_at_once() -> None:
    # Whatever took a step for each pair of these blanks would take hours.
    assert HIDDEN.search("a\n" + " " * 1_000_000 + "b") is None
    assert HIDDEN.search("a\n" + " " * 1_000_000 + "- ") is not None


@given(endless, cuts)
@settings(max_examples=50)
def test_what_is_seen_of_an_endless_block_does_not_depend_on_the_cuts(text: str, cuts: list[int]) -> None:
    follow(text, [cut * 5 for cut in cuts[:4]])


@given(endless, cuts)
@settings(max_examples=50)
def test_an_endless_block_is_one_render_at_the_end(text: str, cuts: list[int]) -> None:
    fed, reader = feeds(text, cuts), Reader()
    for events in fed:
        reader.feed(events)
    assert reader.close() == final(event for events in fed for event in events)


def test_an_endless_block_goes_on() -> None:
    html = seen("**a " * 200 + "**b** `c`")
    assert html.endswith("<strong>b</strong> <code>c</code></p>\n")
    ends = {seen("> a\n" * count + "> *b*").rpartition("a\n")[2] for count in range(30, 60)}
    assert ends == {f"{mark}<em>b</em></p>\n</blockquote>\n" for mark in ("", "&gt; ")}
    assert Reader().feed(resolve_all(f"**a{cite('t1')}" * 90)).count('class="cite"') == 90
    definitions = f"[a]: https://a.example/{'b' * 900}\n" * 9
    assert seen(definitions) == ""
    reader = Reader()
    html = reader.feed([definitions[:-9], *resolve_all(cite("t1"))])
    assert html.startswith('<a class="cite"')
    assert html.count("<") == 2


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("**Bo", '<p dir="auto"><strong>Bo</strong></p>\n'),
        ("**Bo*", '<p dir="auto"><strong>Bo</strong></p>\n'),
        ("**_k:_*", '<p dir="auto"><strong><em>k:</em></strong></p>\n'),
        ("a *b **c", '<p dir="auto">a <em>b <strong>c</strong></em></p>\n'),
        ("a **", '<p dir="auto">a</p>\n'),
        ("2 * 3", '<p dir="auto">2 * 3</p>\n'),
        ("snake_case", '<p dir="auto">snake_case</p>\n'),
        ("~~a", '<p dir="auto"><s>a</s></p>\n'),
        ("`a", '<p dir="auto"><code>a</code></p>\n'),
        ("`a` b", '<p dir="auto"><code>a</code> b</p>\n'),
        ("see [the pa", '<p dir="auto">see the pa</p>\n'),
        ("see [the page](https://x.exa", '<p dir="auto">see the page</p>\n'),
        ("see ![the page](https://x.exa", '<p dir="auto">see the page</p>\n'),
        ("see <https://x.exa", '<p dir="auto">see https://x.exa</p>\n'),
        ("[a](https://x.example) b", '<p dir="auto"><a href="https://x.example">a</a> b</p>\n'),
        ("**[a](https://x", '<p dir="auto"><strong>a</strong></p>\n'),
        ("a\n-", '<p dir="auto">a</p>\n'),
        ("a\n--", '<p dir="auto">a</p>\n'),
        ("- a\n- ", '<ul>\n<li dir="auto">a</li>\n</ul>\n'),
        ("- a\n- **b", '<ul>\n<li dir="auto">a</li>\n<li dir="auto"><strong>b</strong></li>\n</ul>\n'),
        ("a\n1", '<p dir="auto">a</p>\n'),
        ("``", ""),
        ("```py", ""),
        ("```py\na = 1", '<pre><code class="language-py">a = 1</code></pre>\n'),
        ("```py\na = 1\n``", '<pre><code class="language-py">a = 1</code></pre>\n'),
        ("[a]: https://x.exa", ""),
        ("[a][(b)", '<p dir="auto">[a][(b)</p>\n'),
        ("[a]![[(b)](c", '<p dir="auto">[a][(b)</p>\n'),
        ("[(b) c", '<p dir="auto">(b) c</p>\n'),
        ("a \\", '<p dir="auto">a</p>\n'),
        ("a <1", '<p dir="auto">a &lt;1</p>\n'),
        ("a * *_", '<p dir="auto">a *</p>\n'),
        ("[a]:\nhttps://x.example", ""),
        ("- a]: b\n- c", '<ul>\n<li dir="auto">a]: b</li>\n<li dir="auto">c</li>\n</ul>\n'),
        ("\n- a\n- b", '<ul>\n<li dir="auto">a</li>\n<li dir="auto">b</li>\n</ul>\n'),
        ("- a\n   b", '<ul>\n<li dir="auto">a\nb</li>\n</ul>\n'),
        ("> a\n> **b", '<blockquote>\n<p dir="auto">a\n<strong>b</strong></p>\n</blockquote>\n'),
    ],
)
def test_what_is_not_finished_looks_as_if_it_were(text: str, html: str) -> None:
    assert seen(text) == html


@pytest.mark.parametrize("text", ["| a | b", "| a | b |", "| a | b |\n", "| a | b |\n|--", "| a | b |\n|---|---|\n"])
def test_the_head_of_a_table_is_one_from_the_beginning(text: str) -> None:
    head = '<table>\n<thead>\n<tr>\n<th dir="auto">a</th>\n<th dir="auto">b</th>\n</tr>\n</thead>\n</table>\n'
    assert seen(text) == head


def test_words_are_all_that_is_sent_for_words() -> None:
    reader = Reader()
    reader.feed(["- **A** b"])
    assert reader.live.feed([" few 🎉"]) == [BlockPatch(0, " few 🎉</li>\n</ul>\n", 40)]
    assert reader.live.feed([" more"]) == [BlockPatch(0, " more</li>\n</ul>\n", 47)]
    assert reader.live.feed([" "]) == []


def test_marks_are_not_read_again_with_the_words_behind_them(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def counted(content: str, env: Any) -> str:
        read.append(content)
        return render_inline(content, env)

    monkeypatch.setattr("streamcite.render.open_tail.render_inline", counted)
    deltas = ("The **W", "ho", ":**", " has", " `c", "ode", "`", " ~~a", " b~~", ' "on"', "; *e", "*", "f", " &", " g")
    reader = Reader()
    drawn = [reader.feed([delta]) for delta in deltas]
    assert [content.rpartition(HERE)[0][-2:] for content in read] == ["*W", "`c", "~a", "*e", "*f", " &"]
    assert drawn == [seen("".join(deltas[: count + 1])) for count in range(len(deltas))]


@pytest.mark.parametrize("name", benchmark.LONG)
def test_of_a_long_block_the_last_part_is_sent(name: str) -> None:
    def received(characters: int) -> int:
        reader = Reader()
        for events in benchmark.events(benchmark.long_block(name, characters)):
            reader.feed(events)
        return reader.received

    assert received(10_000) < 12 * received(1_000)


def test_a_patch_has_a_json_form() -> None:
    assert BlockPatch(3, "<p>").to_dict() == {"block": 3, "html": "<p>"}
    assert BlockPatch(3, "<p>", 7).to_dict() == {"block": 3, "html": "<p>", "keep": 7}


def test_feeding_a_closed_one_is_a_mistake() -> None:
    live = LiveHtml()
    assert live.close() == live.close() == []
    with pytest.raises(RendererClosed):
        live.feed([])
    with pytest.raises(TypeError, match="not int"):
        LiveHtml().feed([1])  # type: ignore[list-item]


def test_what_cannot_be_cut_is_not() -> None:
    def read(text: str) -> Sequence[Token]:
        return read_blocks(text, {})

    assert find_cut("- a\n- b", Context(), read("- a\n- b"), read) is not None
    assert find_cut("? a\n? b", Context(), read("- a\n- b"), read) is None  # its items are not found
    assert find_cut("[a]: https://a.example", Context(), [], read) is None


@pytest.mark.parametrize("text", ["x", "word ", "é "])
@pytest.mark.parametrize("begin", ["", "- ", "> "])
def test_a_long_line_is_not_copied_again_and_again(begin: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one delta: what is looked at of it is in proportion to its length."""
    looked_at = []
    take = Allowance.take

    def counted(self: Allowance, text: str) -> int:
        looked_at.append(len(text))
        return take(self, text)

    monkeypatch.setattr(Allowance, "take", counted)
    totals = []
    for length in (100_000, 400_000):
        looked_at.clear()
        live = LiveHtml()
        live.feed([begin + text * (length // len(text))])
        live.close()
        totals.append(sum(looked_at))
    assert 0 < totals[1] <= 6 * totals[0]
