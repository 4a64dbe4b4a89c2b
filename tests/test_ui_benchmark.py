"""The benchmark of the front ends times responses that send the same bytes."""

import pytest

from benchmarks import ui as benchmark
from benchmarks.core import given
from streamcite.ui.openai_chat import OpenAIChatEncoder
from streamcite.ui.openai_responses import OpenAIResponsesEncoder
from streamcite.ui.protocol import Protocol
from streamcite.ui.response import sse_response


@pytest.mark.parametrize(
    "protocol",
    [
        benchmark.PROTOCOLS["native, events"],
        "ai-sdk",
        lambda: OpenAIChatEncoder(completion_id="c", created=1),
        lambda: OpenAIResponsesEncoder(response_id="r", created=1),
    ],
)
def test_both_sides_send_the_same(protocol: Protocol) -> None:
    deltas = benchmark.texts(300)
    assert len(deltas) == 300
    sent = benchmark.send(lambda: sse_response(given(deltas), protocol=protocol))
    assert sent == benchmark.ready(protocol, deltas)


def test_every_figure_is_measured() -> None:
    figures = list(benchmark.figures(count=50, passes=1, readers=5))
    number = len(benchmark.PROTOCOLS) + 1
    assert [figure.limit for figure in figures[:number]] == [benchmark.LIMIT] * number
    stores = [figure.name.rpartition(", ")[2] for figure in figures[number:]]
    assert stores in (["in memory"] * 2, ["in memory"] * 2 + ["in Redis"] * 2)
    assert all(figure.value > 0 for figure in figures)
