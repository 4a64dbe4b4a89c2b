"""Answers as plain text."""

import pytest
from hypothesis import given

from streamcite import Cited, Source
from streamcite.links import Resolved
from streamcite.render.plain import PlainRenderer, RendererClosed, render_plain
from streamcite.resolve import resolve
from tests.markers import cite
from tests.rendering import SOURCES, answers, cuts, feeds, rendered

M = cite("t1")


def plain(text: str) -> str:
    return render_plain(resolve(text, SOURCES)).partition("\n\nSources:\n")[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"Three days a week{M}.", "Three days a week (source 1)."),
        (f"Three days. {M} Ask.", "Three days. (source 1) Ask."),
        (f"Three days.{M}Ask.", "Three days. (source 1) Ask."),
        (f"Days{M}{cite('t2')} and{cite('t2', 't1', 'none')}", "Days (sources 1 and 2) and (sources 2, 1 and 3)"),
        (f"Days{M}{M}, ({M}) and\n{M}\nmore", "Days (source 1), ((source 1)) and\n(source 1)\nmore"),
        (f"Nothing{cite('x9')} known.", "Nothing known."),
        (f"日{M}本", "日 (source 1) 本"),
        (f"{M}", "(source 1)"),
    ],
)
def test_a_citation_is_read_aloud(text: str, expected: str) -> None:
    assert plain(text) == expected


def test_the_sources() -> None:
    text = f"a{cite('t1', 'L2-L3')}{cite('t1', 'L5')}{cite('t1', 'L4')}{cite('t2', 'L9')}{cite('js')}{cite('none')}\n"
    assert render_plain(resolve(text, SOURCES)).partition("\n\n")[2] == (
        "Sources:\n"
        "1. Office days, lines 2 to 5: https://a.example/office?a=1&b=2\n"
        '2. A | b] <script>alert("x")</script> `c` **d**, line 9: https://a.example/`|<>\n'
        "3. Script\n"
        "4. none\n"
    )
    assert render_plain(resolve("None.", SOURCES)) == "None."


def test_lines_that_are_not_there_are_not_named() -> None:
    text = f"a{cite('t1', 'L7-L19')}{cite('t2', 'L2')}{cite('t2', 'L70')}{cite('none', 'L1')}"
    listed = render_plain(resolve(text, SOURCES)).partition("Sources:\n")[2].splitlines()
    assert listed[0] == "1. Office days: https://a.example/office?a=1&b=2"
    assert ", line 2: " in listed[1]
    assert listed[2:] == ["3. none"]


@given(answers, cuts)
def test_it_does_not_depend_on_how_the_answer_is_cut(text: str, cuts: list[int]) -> None:
    assert rendered(PlainRenderer(), feeds(text, cuts)) == render_plain(resolve(text, SOURCES))


def test_a_citation_is_given_out_in_one_piece_with_what_follows_it() -> None:
    renderer = PlainRenderer()
    events = resolve(f"One{M}. Two", SOURCES)
    assert [renderer.feed([event]) for event in events] == ["One", "", " (source 1). Two"]
    assert renderer.close().startswith("\n\nSources:\n1. ")
    assert renderer.close() == ""
    with pytest.raises(RendererClosed):
        renderer.feed([])


def test_a_source_that_comes_before_the_text_goes_on_is_named() -> None:
    [cited] = (event for event in resolve(cite("t1"), {}) if isinstance(event, Cited))
    [known] = (event for event in resolve(cite("t1"), SOURCES) if isinstance(event, Cited))
    late = Resolved(0, known.links)
    assert render_plain(["One", cited, late, "."]).startswith("One (source 1).\n\nSources:\n1. ")
    assert render_plain(["One", cited, ".", late]).startswith("One.\n\nSources:\n1. ")
    assert render_plain(["One", cited, ".", Resolved(0, cited.links)]) == "One."


def test_what_is_cited_may_be_quoted_below_its_source() -> None:
    sources = {"t1": SOURCES["t1"], "b1": Source("b1", "Open till nine.", title="Hours", unit="block")}
    renderer = PlainRenderer(passages=True)
    text = renderer.feed(resolve(f"a{cite('t1', 'L2-L3')}{cite('b1')}", sources)) + renderer.close()
    assert text.partition("Sources:\n")[2].splitlines() == [
        "1. Office days, lines 2 to 3: https://a.example/office?a=1&b=2",
        *("   L2: line 2", "   L3: line 3"),
        *("2. Hours", "   Open till nine."),
    ]
