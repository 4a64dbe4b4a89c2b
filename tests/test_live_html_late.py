"""An answer as HTML while it streams, and sources that come late, or never."""

from typing import Any

import pytest

from streamcite import Resolved, Resolver, Source, parse
from streamcite.render.html import redraw_citations, render_html
from tests.live_reader import Reader, resolve_all
from tests.markers import cite
from tests.rendering import SOURCES


def test_a_source_that_comes_late_changes_the_block_that_cites_it() -> None:
    sources: dict[str, Source] = {}
    resolver, reader = Resolver(sources), Reader()
    before = reader.feed(resolver.feed(parse(f"First{cite('t1')}.\n\nSecond{cite('t1')}")))
    assert before.count('data-pending=""') == before.count("[?]") == 2
    sources["t1"] = SOURCES["t1"]
    patches = reader.live.feed(resolver.feed([" on"]))
    assert [patch.block for patch in patches] == [0, 1]
    assert [(patch.keep, patch.html[:16]) for patch in patches] == [
        (len(f'<p dir="auto">{word}<'), 'a class="cite" h') for word in ("First", "Second")
    ]
    for patch in patches:
        reader.blocks[patch.block] = html = patch.apply(reader.blocks[patch.block])
        assert "Office days" in html
        assert "data-pending" not in html
    end = reader.feed(resolver.close()) and reader.close()
    events = resolve_all(f"First{cite('t1')}.\n\nSecond{cite('t1')} on")
    assert end == render_html(events)


def test_of_a_citation_one_source_may_come_late_and_the_other_never() -> None:
    sources: dict[str, Source] = {}
    resolver, reader = Resolver(sources), Reader()
    # The second block begins with the citation that came before it was known to begin.
    assert reader.feed(resolver.feed(parse(f"One.\n\n{cite('t1', 't2')}"))).count("data-pending") == 2
    sources["t1"] = SOURCES["t1"]
    html = reader.feed(resolver.feed(["Two."]))
    assert html.count("data-pending") == html.count("Office days") == 1
    assert html.index("Two.") > html.index("Office days") > html.index("One.")
    html = reader.feed([*resolver.close(), Resolved(7, ())]) + reader.close()
    assert "data-pending" not in html
    assert html.count('data-problem="unknown-source"') == 2


def test_of_a_block_that_has_ended_one_source_comes_after_the_other() -> None:
    sources: dict[str, Source] = {}
    resolver, reader = Resolver(sources), Reader()
    reader.feed(resolver.feed(parse(f"A{cite('t1')} b{cite('t2')}.\n\nEnd")))
    for known, left in (("t1", 1), ("t2", 0)):
        sources[known] = SOURCES[known]
        assert reader.feed(resolver.feed([" on"])).count("data-pending") == left


def test_sources_that_come_late_are_drawn_together(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []

    def counted(html: str, citations: Any) -> str:
        drawn.append(len(citations))
        return redraw_citations(html, citations)

    monkeypatch.setattr("streamcite.render.live.redraw_citations", counted)
    resolver, reader = Resolver({}), Reader()
    reader.feed(resolver.feed(parse("".join(f"w{cite(f'x{number}')} " for number in range(50)) + "\n\nEnd.")))
    assert "data-pending" not in reader.feed(resolver.close())
    assert drawn == [50]


def test_a_source_that_never_comes_is_told_at_the_end() -> None:
    resolver, reader = Resolver({}), Reader()
    reader.feed(resolver.feed(parse(f"- First{cite('t1')}\n- Second{cite('t2')}\n\nThird{cite('t3')}.\n\nFourth")))
    end = reader.feed(resolver.close())
    assert end.count('data-problem="unknown-source"') == 3
    assert "data-pending" not in end


def test_the_sources_are_the_last_block() -> None:
    reader = Reader()
    reader.feed(resolve_all(f"A{cite('t1')}"))
    reader.close()
    assert list(reader.blocks) == [0, 1]
    assert reader.blocks[1].startswith('<section class="sources">')
    assert reader.live.close() == []
