"""The benchmark of the relay measures what it says, on loads that take no time."""

import json

import pytest

from benchmarks import relay as benchmark
from benchmarks.relay.load import PATH, SHOWN, read
from benchmarks.relay.processes import module, running
from benchmarks.relay.processes import relay as relay_command
from streamcite import read_material


def test_every_figure_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "PACED", {"streams": 3, "events": 30, "every": 0.01})
    monkeypatch.setattr(benchmark, "EVENTS_A_SECOND", 40)
    monkeypatch.setattr(benchmark, "BURST", {"streams": 2, "events": 300, "batch": 16})
    figures = list(benchmark.figures(passes=1, streams=4, soak=200))
    names = [figure.name for figure in figures]
    assert len({*names}) == len(names)
    for name in ("relay / pump: paced", "relay / pump: burst", "relay / relay without splice: paced"):
        assert next(figure.value for figure in figures if figure.name == name) > 0
    assert [figure.limit for figure in figures if figure.name.startswith("descriptors")] == [0]


def test_an_answer_comes_through_the_relay_and_the_pump_alike() -> None:
    with running(*module("upstream")) as upstream:
        sizes = {}
        for name, command in (("pump", module("pump", upstream.port)), ("relay", relay_command(upstream.port))):
            late: list[int] = []
            with running(*command) as program:
                sizes[name] = read(program.port, path=PATH, streams=3, events=200, every=0.001, late=late)
                assert program.cpu() > 0
                assert program.memory() > 0
            assert len(late) > 3 * 150
            assert min(late) > 0
    assert 0.7 < sizes["relay"] / sizes["pump"] < 1  # the markers are gone
    assert len(read_material(json.loads(SHOWN)["messages"])) > 0
