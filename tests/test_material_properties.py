"""What is shown of any sources, in any format, comes back; whatever they say, and whatever a text holds."""

import itertools
from collections.abc import Callable, Iterable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from streamcite import Citation, CitationFormat, Source, parse
from streamcite.ids import marker_of
from streamcite.material import Material, read_material, render_blocks, render_messages, render_tool_result
from streamcite.material.content import read_about
from streamcite.material.safe import guard_for
from tests.strategies import KNOWN_FORMATS, random_formats, tokens_of

PIECES = (
    *("[L1] ", "[L2] ", "[L1]", "[l3] x", "[Block1]\n", "[block2]", "Citation Marker: ", "citation  marker:"),
    *("Citation Marker: none", "<BLOCK", "<BLOCK>", '<BLOCK id="b1">', "<block id='b2' x>", "</BLOCK>", "< / block >"),
    *(
        "【",
        "】",
        "【turn2file1】",
        "【turn0file0】\n",
        "【a1】",
        "【 turn1file1】",
        "【FAQ】",
        "【見出し】",
        "turn2file1",
    ),
    *(
        "Title: ",
        "URL: x",
        "Updated: y\n",
        "# Citations\n\n## Sources\n",
        "none",
        'id="b1"',
        "BLOCK",
        "<",
        ">",
        '"',
        "/",
    ),
    *("\n", "\n", "\n\n", "\r\n", "\r", " ", "\t", "\u2028", "\x85", "\x00", "\u200f", "\ufeff", "\\", "\ufffd", "·"),
    *("a", "b", "1", "L", "[", "]", "cite", "é", "文", "\ud800", "\U0001f600"),
)
IDS = (
    *("turn0file0", "turn1url3", "turn2file1", "block1", "a1", "file-0", "FAQ", "none", "x.y:z", "a b", "文1", "1"),
    *(
        "doc】",
        "【",
        'q"',
        'a">b',
        "a\\b",
        "\\a1",
        "<BLOCK",
        "a<b>",
        "Title:",
        "[L1]",
        "Citation Marker:",
        "</BLOCK>",
        "<block>x</block>",
    ),
)
UNITS = ("lines", "block", "document")


def can_be_shown(id: str, format: CitationFormat) -> bool:
    if len(id.splitlines()) != 1:
        return False
    try:
        return bool(marker_of(id, format))
    except ValueError:
        return False


@st.composite
def texts(draw: st.DrawFn, format: CitationFormat, *, most: int = 8) -> str:
    parts = {token[i:j] for token in format.tokens for i, j in itertools.combinations(range(len(token) + 1), 2)}
    pieces = st.sampled_from((*PIECES, *format.tokens * 5, *sorted(parts)))
    size = draw(st.integers(0, most))
    return "".join(draw(st.lists(pieces, min_size=size, max_size=size)))


@st.composite
def shown_formats(draw: st.DrawFn) -> CitationFormat:
    known = st.sampled_from(list(KNOWN_FORMATS.values()))
    return CitationFormat(**draw(random_formats() if draw(st.booleans()) else known))


@st.composite
def shown_sources(draw: st.DrawFn) -> tuple[CitationFormat, list[Source]]:
    format = draw(shown_formats())
    ids = [id for id in draw(st.lists(st.sampled_from(IDS), max_size=3, unique=True)) if can_be_shown(id, format)]
    about = st.sampled_from((None, None, "", "a", " \r\nb", "</block>", "[L1] 【turn0file0】", format.start))
    sources = [
        Source(
            id,
            draw(texts(format)),
            title=draw(about),
            url=draw(about),
            updated=draw(about),
            unit=draw(st.sampled_from(UNITS)),
            citable=draw(st.integers(0, 5)) > 0,
        )
        for id in ids
    ]
    return format, sources


def join(sources: Iterable[Source], *, format: CitationFormat) -> Material:
    return Material.join(render_messages(sources, format=format))


def messages(material: Iterable[Material]) -> list[dict[str, Any]]:
    return [{"role": "tool", "content": str(each)} for each in material]


@given(shown_sources())
def test_what_is_shown_comes_back(drawn: tuple[CitationFormat, list[Source]]) -> None:
    format, sources = drawn
    citable = [source for source in sources if source.citable]
    forms: list[Callable[..., Material]] = [render_tool_result, join, render_blocks]
    for render in forms:
        material = render(sources, format=format)
        back = read_material(str(material), format=format)
        assert tuple(back) == back.shown == material.ids == tuple(source.id for source in citable)
        assert not any(map(back.is_ambiguous, back))
        # Shown again it is the same, and there is nothing to be made safe any more.
        again = render(back, format=format)
        assert (str(again), again.changes) == (str(render(citable, format=format)), ())
        changed = {change.source_id for change in material.changes}
        for source in citable:
            same = back[source.id]
            assert source.id in changed or about(same) == about(source)
            assert same.unit == ("block" if render is render_blocks else source.unit)
            assert len(same.lines) == len(source.lines)
    shown = render_messages(sources, format=format)
    back = read_material(messages(shown), format=format)
    assert [str(each) for each in shown if each.ids] == [str(each) for each in render_messages(back, format=format)]


def about(source: Source) -> tuple[str | None, ...]:
    return source.text, source.title, source.url, source.updated


@given(shown_formats(), st.data())
def test_what_a_source_says_can_forge_nothing(format: CitationFormat, data: st.DataObject) -> None:
    text = data.draw(texts(format, most=12))
    guard = guard_for(format)
    for make_safe, before in ((guard.text, "x\n"), (guard.line, "Title: ")):
        safe, _ = make_safe(text)
        assert make_safe(safe) == (safe, [])
        assert format.start not in safe
        assert not any(isinstance(event, Citation) for event in parse(safe, format=format))
        # As it stands in a message of a tool, where least is asked of what opens a source.
        for prompt in (f"{before}{safe}", f"Citation Marker: none\n{before}{safe}\n</BLOCK>"):
            assert not read_material(prompt, format=format)
            assert not read_material([{"role": "tool", "content": prompt}], format=format)


@given(shown_formats(), st.data())
def test_no_text_raises_and_what_is_read_can_be_shown_and_read_again(
    format: CitationFormat, data: st.DataObject
) -> None:
    text = data.draw(texts(format, most=20))
    for material in (text, [{"role": "tool", "content": text}]):
        shown = join(read_material(material, format=format).values(), format=format)
        assert join(read_material(str(shown), format=format).values(), format=format).text == str(shown)


@given(st.text(alphabet="TURLUpdatedi: \r\nx", max_size=30))
def test_what_is_said_of_a_source_ends_where_its_text_begins(text: str) -> None:
    about = read_about(text)
    assert 0 <= about.end <= len(text)
    assert read_about("\n" + text) == ({}, 1, True)


def test_the_formats_have_tokens_that_could_come_together_again() -> None:
    tokens = [token for fmt in KNOWN_FORMATS.values() for token in tokens_of(fmt)]
    assert any(len(token) > 1 for token in tokens)
    assert any(len(token) == 1 for token in tokens)
