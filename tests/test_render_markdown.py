"""Answers as Markdown, read back by markdown-it-py."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from streamcite import OPENAI, Cited, Reference, Source, clean
from streamcite.render.markdown import MarkdownRenderer, MarkdownStyle, RendererClosed, render_markdown
from streamcite.resolve import resolve
from tests.markers import cite
from tests.rendering import SOURCES, answers, cuts, feeds, rendered

STYLES: tuple[MarkdownStyle, ...] = ("links", "footnotes", "sources")
READER = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
M = cite("t1")
LINK = "[1](<https://a.example/office?a=1&b=2>)"


def markdown(text: str, style: MarkdownStyle = "links") -> str:
    return render_markdown(resolve(text, SOURCES), style)


PLACES = [
    (f"a.{M} b", "a.@ b"),
    (f"a{M}b, 2020{M}", "a @ b, 2020 @"),
    (f"Really!{M} [a]{M} b\\{M}", "Really! @ [a] @ b\\ @"),
    (f"# a{M} #", "# a @ #"),
    (f"# a #{M}\nb", "# a @ #\nb"),
    (f"{M}# a", "# @ a"),
    (f"a #{M}", "a #@"),
    (f"**a.**{M} b", "**a.**@ b"),
    (f"**太字{M}**です", "**太字**@です"),
    (f"a {M}**b**", "a @**b**"),
    (f"**a**{M}**b**", "**a**@**b**"),
    (f"_a{M}_ snake_{M}case", "_a_@ snake_@ case"),
    (f"`a{M}` b", "`a`@ b"),
    (f"``a`{M}` b", "``a`` @ b".replace(" @", "@")),
    (f"`a`{M}`b`", "`a`@`b`"),
    (f"[a{M}](https://b.example) c", "[a](https://b.example)@ c"),
    (f"[a]({M}https://b.example) c", "[a](https://b.example)@ c"),
    (f"[a]{M}(https://b.example) c", "[a](https://b.example)@ c"),
    (f"[a]{M}[b] c", "[a][b] @ c"),
    (f"<https://b.{M}example> c", "<https://b.example>@ c"),
    (f"1 < 2{M} > 1", "1 < 2 @ > 1"),
    (f"a\\{M}*b*", "a\\*@ b*"),
    (f"&am{M}p; a", "&amp;@ a"),
    (f"- a{M}\n- b", "- a @\n- b"),
    (f"{M}- a\n-{M} b\n1.{M} c", "- @ a\n- @ b\n1. @ c"),
    (f"- a\n- {M}", "- a\n- @"),
    (f"| a | b |{M}\n|---|---|{M}\n| c | d |{M}\n", "| a | b @ |\n|---|---|\n| @ c | d @ |\n"),
    (f"{M}| a{M} | `b{M}` |\n|-|-|", "| @ a @ | `b`@ |\n|-|-|"),
    (f"a | b |{M}", "a | b @ |"),
    (f"```\na{M}\n\nb\n```\nc", "```\na\n\nb\n```\n@\n\nc"),
    (f"```{M}py\na\n```{M}", "```py\na\n```\n@"),
    (f"~~~\na\n~~~~{M}\n", "~~~\na\n~~~~\n@\n\n"),
    (f"- ```\n  a{M}\n  ```\n- b", "- ```\n  a\n  ```\n  @\n\n- b"),
    (f"> ```\n> a{M}\n> ```\nb", "> ```\n> a\n> ```\n> @\n>\nb"),
    (f"> ```\n> a{M}\nb", "> ```\n> a\n@ b"),
    (f"- ```\n  a{M}\nb", "- ```\n  a\n@ b"),
    (f"```\na{M}", "```\na\n```\n\n@"),
    (f"> ```\n> a{M}", "> ```\n> a\n> ```\n\n@"),
    (f"```a`{M} b", "```a` b @"),
    (f"    a{M}\n\n    b\n\nc", "    a\n\n    b\n\n@ c"),
    (f"    a{M}", "    a\n\n@"),
    (f"-     a{M}\n\nb", "-     a\n\n@ b"),
    (f"a\n\n{M}\n\nb", "a\n\n@\n\n\nb"),
    (f"a\n{M}\nb", "a\n@\n\nb"),
    (f"- a\n\n{M}\n\n- b", "- a\n\n  @\n\n\n- b"),
    (f"|a|\n|-|\n|b|\n{M}\nc", "|a|\n|-|\n|b|\n\n@\n\nc"),
    (f" {M}\n", " \n@\n\n"),
    (f"a `{M}b\n\nc", "a `b\n@\n\nc"),
    (f"a [{M}b\nc] d", "a [b\nc] @ d"),
    (f"a\n---{M}\nb", "a\n---\n@ b"),
    (f"---{M}", "---\n\n@"),
    (f"[a]: https://b.example{M}\nb", "[a]: https://b.example\n@ b"),
    (f"a{M}\r\nb", "a @\r\nb"),
    (f"{M}", "@"),
    (f"{M}\n\n{M}", "@\n\n\n@"),
]


@pytest.mark.parametrize(("text", "expected"), PLACES)
def test_where_a_citation_is_written(text: str, expected: str) -> None:
    written = markdown(text)
    assert written.replace(LINK, "@") == expected
    assert READER.render(written).count(">1</a>") == expected.count("@")
    renderer = MarkdownRenderer()
    by_character = "".join(renderer.feed(events) for events in feeds(text, range(len(text))))
    assert by_character + renderer.close() == written


@pytest.mark.parametrize("text", [" " * 200_000, "\t" * 200_000, "\u3000" * 50_000, "- " * 50_000])
def test_a_long_line_without_words_comes_to_an_end(text: str) -> None:
    # Whatever took a step for each pair of these characters would take minutes.
    assert markdown(f"{text}<{M}").removeprefix(f"{text}<").strip() == LINK


WORDS = (
    *("word", "太字。", "two words", "a.", "end!", "(see", "note)", "snake_case", "1984", "`code`", "**bold**", "*it*"),
    *("**Bold.**", "[link](https://b.example/a_b)", "https://b.example/", "<https://b.example/>", "~~del~~", "[a]"),
    *("\\*", "&amp;", "array[0]", "2 < 3", "#1", "**太字**です", "`a` `b`", " ", " ", "@", "@", "@"),
)
lines = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join)
blocks = st.one_of(
    lines,
    lines.map("# {}".format),
    st.lists(lines.map("- {}".format), min_size=1, max_size=3).map("\n".join),
    st.lists(lines.map("1. {}".format), min_size=1, max_size=3).map("\n\n".join),
    lines.map("> {}".format),
    lines.map("- a\n  - {}@\n\n  b@".format),
    st.sampled_from(["```py\nx@\n\n- y\n```@", "---@", "@", "    x@\n    y", "1. a\n   ```@\n   b@\n   ```@\n2. c@"]),
    lines.map(lambda line: f"| a@ | b |@\n|---|---|@\n@| {line.replace('|', '')} | c |@\n| d | @ |"),
)
documents = st.lists(blocks, min_size=1, max_size=4).map("\n\n".join)


@given(documents)
def test_every_citation_is_a_link_for_a_reader_and_nothing_else_is(document: str) -> None:
    # Each citation has a source of its own, so that each is found again.
    parts = document.split("@")
    sources = {f"s{n}": Source(f"s{n}", url=f"https://a.example/{n}", unit="block") for n in range(len(parts) - 1)}
    text = parts[0] + "".join(
        OPENAI.write([Reference(source_id)]) + part for source_id, part in zip(sources, parts[1:], strict=True)
    )
    html = READER.render(render_markdown(resolve(text, sources)))
    links = re.findall(r'<a href="https://a.example/(\d+)">(\d+)</a>', html)
    assert sorted((int(url) + 1, int(number)) for url, number in links) == [(n + 1, n + 1) for n in range(len(sources))]
    without = re.sub(r'<a href="https://a.example/.*?</a>', "", html)
    assert structure(without) == structure(READER.render(clean(text)))


def structure(html: str) -> str:
    return re.sub(r"\s|</?p>", "", html)


@given(answers, cuts, st.sampled_from(STYLES))
def test_it_does_not_depend_on_how_the_answer_is_cut(text: str, cuts: list[int], style: MarkdownStyle) -> None:
    assert rendered(MarkdownRenderer(style), feeds(text, cuts)) == markdown(text, style)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("mark", ["_", "*", "_*", "`", "~", "#", "|", "| ", " ", "&a", "[", "\\", "a", "\u3000"])
def test_a_run_of_any_length_is_the_same_however_it_is_cut(mark: str, style: MarkdownStyle) -> None:
    for length in (62, 63, 64, 65, 128, 130):
        run = (mark * length)[:length]
        for text in (f"{M}{run}", f"a{run}{M}b", f"# {run}{M}\n{run}{M}"):
            assert rendered(MarkdownRenderer(style), feeds(text, range(len(text)))) == markdown(text, style)


@given(answers)
def test_nothing_of_the_answer_is_lost(text: str) -> None:
    # In footnotes its own would be text.
    shown = markdown(text, "sources").partition("**Sources**")[0]
    assert subsequence(re.sub(r"\s", "", clean(text)), re.sub(r"\s", "", shown))


def subsequence(short: str, long: str) -> bool:
    rest = iter(long)
    return all(character in rest for character in short)


HOSTILE = f"a{cite('t2', 'L2-L3')} b{cite('js')} c{cite('data', 'L8')} d{cite('none')} e{cite('rtl')}\n"


def hrefs(markdown: str) -> set[str]:
    return set(re.findall('href="(.*?)"', READER.render(markdown)))


def test_links_and_a_list_of_what_has_none() -> None:
    written = markdown(HOSTILE)
    assert written == (
        "a [1](<https://a.example/%60%7C%3C%3E>) b \\[2\\] c \\[3\\] d \\[4\\] e [5](<https://a.example/ימים>)\n\n"
        "**Sources**\n\n- \\[2\\] *Script*\n- \\[3\\] *data*, line 8\n- \\[4\\] *none*\n"
    )
    assert all(url.startswith("https://a.example/") for url in hrefs(written))


def test_footnotes() -> None:
    assert markdown(HOSTILE, "footnotes") == (
        "a[^1] b[^2] c[^3] d[^4] e[^5]\n\n"
        '[^1]: [A &#124; b\\] &lt;script\\>alert("x")&lt;/script\\> &#96;c&#96; \\*\\*d\\*\\*]'
        "(<https://a.example/%60%7C%3C%3E>), lines 2\N{EN DASH}3\n"
        "[^2]: *Script*\n[^3]: *data*, line 8\n[^4]: *none*\n[^5]: [ימי משרד](<https://a.example/ימים>)\n"
    )


def test_a_footnote_is_neither_a_definition_nor_a_link() -> None:
    assert markdown(f"{M}: a{M}(b){M}[c]", "footnotes").partition("\n\n")[0] == ": [^1]a[^1] (b)[^1] [c]"


def test_a_footnote_of_the_answer_is_text() -> None:
    written = markdown(f"a[^1] `b[^1]`\n\n```\n[^2]\n```\n\n[^1]: c{M}\n", "footnotes")
    assert written.startswith("a\\[^1] `b[^1]`\n\n```\n[^2]\n```\n\n\\[^1]: c[^1]\n\n[^1]: [Office days]")


def test_a_list_of_sources() -> None:
    written, titled = markdown(f"- a{M}\n- b{cite('js')}", "sources"), LINK.replace("1", "Office days", 1)
    assert written == f"- a\\[1\\]\n- b\\[2\\]\n\n**Sources**\n\n- \\[1\\] {titled}\n- \\[2\\] *Script*\n"


@pytest.mark.parametrize("style", STYLES)
def test_the_end_of_an_answer_that_was_cut_off_in_code(style: MarkdownStyle) -> None:
    written = markdown(f"a{cite('js')}\n\n```py\nx", style)
    head, _, behind = written.partition("```py\nx\n```\n\n")
    assert head.startswith("a")
    assert behind.startswith("[^1]: " if style == "footnotes" else "**Sources**\n")
    assert markdown("```py\nx", style) == "```py\nx"


def test_a_link_is_given_out_in_one_piece_with_what_follows_it() -> None:
    renderer = MarkdownRenderer()
    events = resolve(f"One.{M} Two", SOURCES)
    assert [renderer.feed([event]) for event in events] == ["One.", "", f"{LINK} Two"]
    assert (renderer.close(), renderer.close()) == ("", "")
    with pytest.raises(RendererClosed):
        renderer.feed([])


def test_text_is_given_out_at_once_and_what_is_held_is_bounded() -> None:
    for piece in ("a", "*", "`", "|", "#", " ", "| ", "&a", "[", "\\", "-", "\n"):
        renderer = MarkdownRenderer("footnotes")
        for _ in range(500):
            renderer.feed([piece])
        assert len(renderer._flow._text) <= 128


def test_what_is_not_known_is_left_out() -> None:
    [cited] = (event for event in resolve(cite("t1"), {}) if isinstance(event, Cited))
    for style in STYLES:
        assert render_markdown(["One!", cited, cited, " Two"], style) == "One! Two"


def test_misuse() -> None:
    with pytest.raises(ValueError, match="style: must be one of 'links', 'footnotes', 'sources', not 'html'"):
        MarkdownRenderer("html")  # type: ignore[arg-type]
