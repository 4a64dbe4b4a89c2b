"""Answers in a terminal: what is on its screen."""

import os
from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.text import Text

from streamcite import Cited, Source
from streamcite.links import Resolved, ResolvedEvent
from streamcite.render import terminal
from streamcite.render.terminal import RendererClosed, TerminalRenderer
from streamcite.resolve import resolve
from tests.markers import cite
from tests.rendering import PIECES, SOURCES, cuts, feeds
from tests.screen import Screen

M = cite("t1")
COLUMNS, ROWS = 60, 200


@pytest.fixture(autouse=True, scope="module")
def _size() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(COLUMNS))
        patch.setenv("LINES", str(ROWS))
        patch.setenv("TERM", "xterm-256color")
        patch.delenv("NO_COLOR", raising=False)
        yield


def screen(output: str) -> Screen:
    seen = Screen(output.encode(), columns=COLUMNS, rows=ROWS)
    assert seen.wrapped == []
    return seen


def shown(feeds: Iterable[Iterable[ResolvedEvent]]) -> Screen:
    """The screen after an answer that was drawn after each feed."""
    renderer, output = TerminalRenderer(), ""
    for events in feeds:
        output += renderer.feed(events) + renderer.draw()
    seen = screen(output + renderer.close())
    assert seen.cursor_shown
    return seen


def answer(text: str) -> Screen:
    return shown([resolve(text, SOURCES)])


def lines(text: str) -> list[str]:
    """The lines of the answer, without those of its sources."""
    return "\n".join(answer(text).lines).partition("Sources ─")[0].rstrip("\n").split("\n")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"a.{M} b{cite('t2', 't1')}", ["a.[1] b[2][1]"]),
        (f"**Bold.**{M} `c{M}` **太字{M}**です", ["Bold.[1] c[1] 太字[1]です"]),
        (f"# a{M}\n\nb", ["a[1]", "", "b"]),
        (f"```\na\n```{M}\nb", [" a", "", "", "[1]", "", "b"]),
        (f"- a{M}\n- b\n\n{M}\n\nc", [" • a[1]", " • b[1]", "", "c"]),
        (f"a{cite('x')} b{cite('x9')}", ["a b"]),
        (f"{M}", ["[1]"]),
        ("\n\na", ["a"]),
        (f"a\r\n{M}\x1b[31mb", ["a [1]\ufffd[31mb"]),
        (f"\ud83d\ude00 \ud83d{M}\ude00", ["😀 [1]😀"]),
        (f"⁅1⁆{M}", ["[1][1]"]),
        ("[a]: https://b.example\n\n[a] <b> ![c](https://c.example)", ["", "a <b> c"]),
    ],
)
def test_an_answer(text: str, expected: list[str]) -> None:
    assert lines(text) == expected
    assert lines(text) == "\n".join(shown(feeds(text, range(len(text)))).lines).partition("Sources ─")[0].rstrip(
        "\n"
    ).split("\n")


def test_a_table() -> None:
    rows = [line.split() for line in lines(f"| a | b |\n|---|---|\n| c{M} | d |{M}\n")]
    assert (rows[0], rows[2]) == (["a", "b"], ["c[1]", "d[1]"])


def test_a_table_that_is_too_wide_is_a_list_of_its_cells() -> None:
    seen = lines(f"| {'a' * 30} | b |\n|---|---|\n| {'c' * 25}{M} | {'d' * 28} |\n")
    assert seen[:2] == [f"{'a' * 30} {'c' * 25}[1]", f"b{' ' * 29} {'d' * 28}"]
    assert set(seen[2]) == {"─"}


def test_sources_and_hyperlinks() -> None:
    text = f"a{cite('t1', 'L2-L3')} b{cite('js', 'L9')} c{cite('t2')} d{cite('none')} e{cite('rtl')}[f](javascript:x)"
    seen = answer(text)
    entries = "\n".join(seen.lines).partition("Sources ─")[2].lstrip("─").strip()
    assert entries.split("\n\n") == [
        "[1] Office days\n    https://a.example/office?a=1&b=2\n    L2 line 2\n    L3 line 3",
        "[2] Script\n    L9 line 9",
        '[3] A | b] <script>alert("x")</script> `c` **d**\n    https://a.example/`|<>',
        "[4] none",
        "[5] ימי משרד\n    https://a.example/ימים",
    ]
    assert {link for link in seen.links if link} == {
        "https://a.example/office?a=1&b=2",
        "https://a.example/%60%7C%3C%3E",
        "https://a.example/%D7%99%D7%9E%D7%99%D7%9D",
    }


def test_a_source_without_text_has_its_lines_named() -> None:
    source = SOURCES["t1"].from_dict({"id": "t1", "title": "Office"})
    seen = shown([resolve(f"a{cite('t1', 'L2-L3')}", {"t1": source})])
    assert "[1] Office, lines 2\N{EN DASH}3" in seen.lines


def test_of_a_block_the_beginning_stands_below_its_title() -> None:
    seen = shown([resolve(f"a{cite('b1')}", {"b1": Source("b1", "Open till nine.", title="Hours", unit="block")})])
    assert "\n".join(seen.lines).endswith("[1] Hours\n    Open till nine.\n")


@given(st.lists(st.sampled_from(PIECES), max_size=15).map("".join), cuts)
@settings(max_examples=25)
def test_it_does_not_depend_on_how_the_answer_is_cut(text: str, cuts: list[int]) -> None:
    assert shown(feeds(text, cuts)).text == answer(text).text


def test_what_has_come_is_on_the_screen_before_the_rest() -> None:
    renderer, output = TerminalRenderer(), ""
    for event, on_screen in [
        ("One **t", "One **t"),
        ("wo**", "One two"),
        *((e, "One two[1]") for e in resolve(M, SOURCES)),
    ]:
        assert renderer.feed([event]) == ""
        output += renderer.draw()
        assert screen(output).lines[0] == on_screen
    assert renderer.draw() == ""


def test_a_source_that_comes_late_is_drawn_while_its_block_is_open() -> None:
    [cited] = (event for event in resolve(M, {}) if isinstance(event, Cited))
    [known] = (event for event in resolve(M, SOURCES) if isinstance(event, Cited))
    late = Resolved(0, known.links)
    assert shown([["One", cited], [late]]).lines[0] == "One[1]"
    assert shown([["One", cited, "\n\nTwo"], [late]]).lines[:3] == ["One", "", "Two"]
    assert "[1] Office days" in shown([["One", cited, "\n\nTwo"], [late]]).lines


def test_an_answer_that_breaks_off_leaves_what_has_come() -> None:
    renderer = TerminalRenderer()
    renderer.feed(resolve(f"One.\n\nTwo{M}\ud83d", SOURCES))
    seen = screen(renderer.interrupt())
    assert seen.lines[:3] == ["One.", "", "Two[1]�"]
    assert seen.cursor_shown
    assert "Sources" not in seen.text
    assert renderer.close() == ""
    with pytest.raises(RendererClosed):
        renderer.feed([])


def test_a_citation_before_a_block_that_begins_is_part_of_it() -> None:
    assert shown([resolve(f"One.\n\n{M}Two.", SOURCES)]).lines[:3] == ["One.", "", "[1]Two."]


def test_a_wrong_size_is_not_heeded() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "0")
        TerminalRenderer()
        assert "COLUMNS" not in os.environ


def test_a_question() -> None:
    assert screen(TerminalRenderer().ask("Why?", "m at x")).lines[:3] == ["> Why?", "  m at x", ""]
    hostile = screen(TerminalRenderer().ask("W\x1b[31my\udcff", "m\x9b2J"))
    assert hostile.lines[:3] == ["> W\ufffd[31my\ufffd", "  m\ufffd2J", ""]


def test_what_has_come_is_drawn_together(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []

    def markdown(tokens: object) -> Text:
        drawn.append(1)
        return Text("")

    monkeypatch.setattr(terminal, "markdown", markdown)
    renderer = TerminalRenderer()
    for _ in range(1000):
        renderer.feed(["x = 1\n"])
    assert drawn == []
    for _ in range(3):
        renderer.draw()
    assert drawn == [1]
