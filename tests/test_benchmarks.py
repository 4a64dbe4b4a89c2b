"""The shapes that the benchmarks time give the events they must, so that no benchmark times a wrong parser."""

import asyncio
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import core, material, openai, report, resolve, shapes, sources, timing
from streamcite import Citation, CitationParser, Cited, Event, Malformed, iter_events, read_material, split_blocks
from streamcite.units import Lines

DELTAS = 2_000


def outcome(event: Event) -> shapes.Outcome:
    """Give what a shape says of a piece of markup."""
    return event.references if isinstance(event, Citation) else event.reason if isinstance(event, Malformed) else None


def check(shape: shapes.Shape, events: Iterable[Event]) -> None:
    given = list(events)
    assert "".join(event for event in given if isinstance(event, str)) == shape.clean
    assert [(event.raw, outcome(event)) for event in given if not isinstance(event, str)] == shape.markup


@pytest.mark.parametrize("name", shapes.SHAPES)
def test_a_shape_gives_its_events(name: str) -> None:
    shape = shapes.make(name, DELTAS)
    parser = CitationParser()
    check(shape, [*(event for delta in shape.deltas for event in parser.feed(delta)), *parser.close()])
    check(shape, iter_events(shape.deltas))


def test_a_shape_has_the_size_and_the_density_it_is_named_for() -> None:
    for name in core.SHAPE_LIMITS:
        shape = shapes.make(name, DELTAS)
        length = sum(map(len, shape.deltas))
        assert 0.75 * DELTAS < len(shape.deltas) < 1.25 * DELTAS
        assert max(map(len, shape.deltas)) <= 20
        every = {"1 per 200": 200, "1 per 20": 20}.get(name.partition(",")[0])
        assert len(shape.markup) == (len(shape.clean) // every if every else 0)
        assert length == len(shape.clean) + sum(len(raw) for raw, _ in shape.markup)
    assert len({raw for raw, _ in shapes.make("1 per 20, 20 distinct", DELTAS).markup}) == 20
    distinct = [raw for raw, _ in shapes.make("1 per 20, all distinct", DELTAS).markup]
    assert len(distinct) == len(set(distinct))


def test_what_is_long_is_long() -> None:
    (delta,) = shapes.make("one 10 MB delta").deltas
    assert len(delta) >= 10_000_000
    assert {len(piece) for piece in shapes.make("1-character deltas", DELTAS).deltas} == {1}


def test_every_figure_is_measured() -> None:
    figures = list(core.figures(deltas=100, passes=1))
    assert len({figure.name for figure in figures}) == len(figures)
    assert all(figure.value > 0 for figure in figures)
    limits = [figure.limit for figure in figures]
    for wanted in (1.75, 2.1, 3.2, 4.0, 5.0, 2.3, 0.65, 0.8, 1.3, 1.2, 8.0, 160, 6):
        assert wanted in limits


@pytest.mark.parametrize("api", openai.APIS, ids=lambda api: api.name)
@pytest.mark.parametrize("name", openai.SHAPES)
def test_a_view_of_the_benchmark_gives_the_events_of_its_shape(api: openai.Api, name: str) -> None:
    shape = shapes.make(name, DELTAS)

    async def read() -> tuple[list[Event], list[Any]]:
        built = [[api.kind.construct(**api.build(delta)) for delta in shape.deltas] for _ in range(2)]
        events = [event async for event in api.events(core.given(built[0]))]
        return events, [cleaned async for cleaned in api.objects(core.given(built[1]))]

    events, objects = asyncio.run(read())
    check(shape, events)
    texts = [found.choices[0].delta.content if api.name == "chat" else getattr(found, "delta", "") for found in objects]
    assert "".join(filter(None, texts)) == shape.clean
    assert len({id(found) for found in objects}) == len(objects)


def test_every_figure_of_the_adapters_is_measured() -> None:
    figures = list(openai.figures(chunks=100, passes=1))
    assert len({figure.name for figure in figures}) == len(figures) == 20
    assert [figure.limit for figure in figures].count(openai.EVENT_LIMIT) == 4
    assert [figure.limit for figure in figures].count(openai.OBJECT_LIMIT) == 4


@pytest.mark.parametrize("shape", sources.SHAPES.values(), ids=sources.SHAPES)
def test_a_document_of_the_benchmark_has_its_lines_and_its_blocks(shape: sources.Shape) -> None:
    text = shape.make(100_000)
    assert abs(len(text) - 100_000) < len(shape.piece)
    assert len(Lines(text)) == (1 if shape.lines is None else shape.lines * len(text) // len(shape.piece))
    blocks = [block.text for block in split_blocks(text)]
    assert "".join(blocks) == text
    assert {len(block) for block in blocks[:-1]} == {shape.block}
    assert len(blocks[-1]) <= shape.block


def test_the_markdown_of_the_benchmark_is_split_between_its_parts() -> None:
    blocks = [block.text for block in split_blocks(sources.MARKDOWN * 100, markdown=True)]
    assert "".join(blocks) == sources.MARKDOWN * 100
    assert not any(block.count("```") % 2 for block in blocks)


def test_the_registry_of_the_benchmark_holds_what_it_says() -> None:
    assert list(sources.register(30)) == [f"turn{call}file{result}" for call in range(3) for result in range(10)]


def test_every_figure_of_the_sources_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    # Collecting garbage makes figures exact, which these need not be, and takes long among so many tests.
    monkeypatch.setattr(timing, "gc", SimpleNamespace(collect=int, disable=int, enable=int, freeze=int, unfreeze=int))
    size = {"characters": 200_000, "sources": 1_000, "passes": 1}
    for suite, count in ((sources, 20), (material, 8 + len(material.HOSTILE))):
        figures: list[report.Figure] = list(suite.figures(**size))
        assert len({figure.name for figure in figures}) == len(figures) == count
        assert all(figure.value > 0 and figure.limit for figure in figures)


def test_the_material_of_the_benchmark_is_read_back() -> None:
    text = sources.SHAPES["prose"].make(100_000)
    assert material.copy(text) == text
    assert read_material(material.show(text))["turn0file0"].text == text
    assert [name for name, piece in material.HOSTILE.items() if material.show_and_read(piece * 10)] == [
        *("lines of ids", "headers", "blocks"),
    ]


@pytest.mark.parametrize("name", ["line labels", "tags that do not end", "blocks"])
def test_a_hostile_text_takes_no_more_memory_than_some_copies_of_it(name: str) -> None:
    piece = material.HOSTILE[name]
    assert material.bytes_at_once(piece * (50_000 // len(piece))) < material.PEAK


@pytest.mark.parametrize("name", resolve.STREAM_LIMITS)
def test_what_the_benchmark_resolves_has_its_sources(name: str) -> None:
    shape = shapes.make(name, DELTAS)
    events = list(iter_events(shape.deltas, sources=resolve.sources_of(shape)))
    cited = [event for event in events if isinstance(event, Cited)]
    assert "".join(map(str, events)) == shape.clean
    assert [(event.raw, event.citation.references) for event in cited] == shape.markup
    assert all(link.passage and not link.problem for event in cited for link in event.links)


def test_every_figure_of_the_resolver_is_measured() -> None:
    figures = list(resolve.figures(deltas=100, ids=100, passes=1))
    assert len({figure.name for figure in figures}) == len(figures) == 14
    assert all(figure.value > 0 for figure in figures)
    assert [figure.limit for figure in figures].count(1.15) == 2


def test_a_figure_is_reported_beside_its_limit() -> None:
    assert str(report.Figure("speed", 1.234, 2)).split() == ["speed", "1.23", "of", "2.00", "ok"]
    assert str(report.Figure("speed", 2.345, 2)).split() == ["speed", "2.35", "of", "2.00", "OVER"]
    assert str(report.Figure("speed", 1.234)).split() == ["speed", "1.23"]
