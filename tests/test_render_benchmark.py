"""The benchmark of the renderers measures what it says."""

from types import SimpleNamespace

import pytest

from benchmarks import render as benchmark
from benchmarks import timing
from streamcite import Cited


def test_every_figure_of_the_benchmark_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    # Collecting garbage makes figures exact, which these need not be, and takes long among so many tests.
    monkeypatch.setattr(timing, "gc", SimpleNamespace(collect=int, disable=int, enable=int, freeze=int, unfreeze=int))
    figures = list(benchmark.figures(words=400, characters=2_000, passes=1))
    assert len({figure.name for figure in figures}) == len(figures) == 2 + len(benchmark.LONG)
    assert all(figure.value > 0 for figure in figures)
    assert 3 in [figure.limit for figure in figures]


def test_the_answer_of_the_benchmark_is_as_long_as_it_says() -> None:
    deltas = benchmark.events(benchmark.answer())
    events = [event for delta in deltas for event in delta]
    assert abs(len("".join(map(str, events)).split()) - 20_000) < 1_500
    assert abs(len(deltas) - 27_000) < 3_500
    assert all(link.source for event in events if isinstance(event, Cited) for link in event.links)
