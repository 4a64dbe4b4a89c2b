"""The benchmark of the relay measures what it says, on loads that take no time."""

import json

import pytest

from benchmarks import relay as benchmark
from benchmarks.relay.load import SHOWN
from streamcite import read_material


def test_every_figure_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "EVENTS_A_SECOND", 40)
    figures = list(benchmark.figures(passes=1, paced=3, burst=200, streams=4, soak=200, seconds=0.2))
    names = [figure.name for figure in figures]
    assert len({*names}) == len(names)
    for name in ("relay / pump: paced", "relay / pump: burst", "relay / relay without splice: paced"):
        assert next(figure.value for figure in figures if figure.name == name) > 0
    for what in ("descriptors", "tasks"):
        assert [(figure.missed, figure.limit) for figure in figures if figure.name.startswith(what)] == [(False, 0)]


def test_a_request_shows_its_sources() -> None:
    assert len(read_material(json.loads(SHOWN)["messages"])) > 0
