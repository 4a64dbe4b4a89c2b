"""The benchmark of the splice times a splice that gives what the other side gives."""

import json
from functools import partial
from importlib.util import find_spec
from typing import Any

import pytest

from benchmarks import shapes
from benchmarks import splice as benchmark
from tests.splices import values

EVENTS = 300


@pytest.mark.parametrize("api", benchmark.APIS, ids=lambda api: api.name)
@pytest.mark.parametrize("name", benchmark.LIMITS)
def test_both_sides_give_the_same_text(api: benchmark.Api, name: str) -> None:
    shape = shapes.make(name, EVENTS)
    frames = benchmark.frames_of(api, shape.deltas)
    read = benchmark.read_all(api, frames, json.loads, partial(json.dumps, separators=(",", ":")))
    spliced = benchmark.splice_all(frames)
    for seen in (read, spliced, benchmark.splice_all([b"".join(frames)])):
        assert "".join(map(api.text, values(seen))) == shape.clean
    assert len(values(read)) == len(values(spliced)) < len(frames) + (not shape.markup)
    numbers = [value.get("sequence_number", number) for number, value in enumerate(values(spliced))]
    assert numbers == sorted({*numbers})


def test_every_figure_is_measured() -> None:
    figures: list[Any] = list(benchmark.figures(events=EVENTS, passes=1))
    readers = 1 + bool(find_spec("orjson"))
    assert len({figure.name for figure in figures}) == len(figures) == 6 * (readers + 2)
    assert all(figure.value > 0 for figure in figures)
    assert [figure.limit for figure in figures].count(0.04) == [figure.limit for figure in figures].count(0.15) == 2
