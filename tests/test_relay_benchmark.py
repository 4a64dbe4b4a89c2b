"""The benchmark of the relay measures what it says, on loads that take no time."""

import json

import pytest

from benchmarks import relay as benchmark
from benchmarks.relay.load import MATERIAL, PATH, request
from streamcite import read_material


def test_every_figure_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "EVENTS_A_SECOND", 40)
    figures = list(benchmark.figures(passes=1, paced=3, burst=200, streams=4, soak=200, seconds=0.2))
    names = [figure.name for figure in figures]
    assert len({*names}) == len(names)
    for name in ("relay / pump: paced", "relay / pump: burst", "relay / relay without splice: paced"):
        assert next(figure.value for figure in figures if figure.name == name) > 0
    assert [figure.limit for figure in figures if figure.name.startswith("descriptors")] == [0]


def test_a_request_shows_its_sources() -> None:
    asked = request(PATH, MATERIAL, events=1, every=0.0, batch=1)
    assert len(read_material(json.loads(asked.partition(b"\r\n\r\n")[2])["messages"])) > 0
