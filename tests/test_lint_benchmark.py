"""The answers that the benchmark of lint times are what it says of them."""

from types import SimpleNamespace

import pytest

from benchmarks import lint as benchmark
from benchmarks import timing
from streamcite import Citation, clean, parse
from streamcite.lint import lint


@pytest.mark.parametrize("name", benchmark.LIMITS)
def test_the_answer_that_the_benchmark_lints_is_long_and_right(name: str) -> None:
    answer = benchmark.answer(name)
    citations = [event for event in parse(answer) if isinstance(event, Citation)]
    words = len(clean(answer).split())
    assert abs(words - 20_000) < 2_000
    assert abs(len(citations) - 500) < 10
    assert lint(answer, benchmark.SOURCES) == []


def test_a_hostile_answer_has_its_size() -> None:
    for name in benchmark.HOSTILE:
        answer = benchmark.hostile(name, 1_000)
        assert 900 < len(clean(answer)) + answer.count("\ue200") <= 1_001
        assert answer.endswith("\ue201")


@pytest.mark.slow
@pytest.mark.parametrize("name", benchmark.HOSTILE)
def test_large_hostile_answers_come_to_an_end(name: str) -> None:
    # Whatever took a step for each pair of these characters would take hours.
    small = benchmark.hostile(name, 1_000)
    large = benchmark.hostile(name, 100_000_000 // len(small))
    assert 90_000 < len(large) < 110_000
    found, few = lint(large, benchmark.SOURCES), lint(small, benchmark.SOURCES)
    assert {finding.rule for finding in found} == {finding.rule for finding in few}


def test_every_figure_of_lint_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    # Collecting garbage makes figures exact, which these need not be, and takes long among so many tests.
    monkeypatch.setattr(timing, "gc", SimpleNamespace(collect=int, disable=int, enable=int, freeze=int, unfreeze=int))
    figures = list(benchmark.figures(words=400, characters=1_000, passes=1))
    assert len({figure.name for figure in figures}) == len(figures) == 2 + len(benchmark.HOSTILE)
    assert all(figure.value > 0 for figure in figures)
    assert 2 in [figure.limit for figure in figures]
