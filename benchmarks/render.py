"""What it costs to render an answer while it streams, beside rendering it once: ``python -m benchmarks render``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import accumulate

from streamcite import OPENAI, CitationParser, Reference, ResolvedEvent, Resolver, Source
from streamcite.render.html import render_html
from streamcite.render.live import LiveHtml
from streamcite.testing import token_deltas

from .report import Figure
from .timing import fastest

WORDS = 20_000
QUICK = {"words": 5_000, "characters": 10_000, "passes": 3}
# The most that all patches of an answer may cost of one final render of it.
LIVE_LIMIT = 3
# The most that a character may cost in a long block of what it costs in one a tenth as long.
LINEAR = 1.5
SOURCES = {f"turn0file{number}": Source(f"turn0file{number}", "A line.\n" * 20) for number in range(100)}

_SENTENCE = (
    "The **handoff** moves to the next rota on Monday; see the [page](https://example.org) for dates, and keep three "
    "days free in case the `on-call` engineer asks for a swap."
)
_PLAIN = (
    "The handoff moves to the next rota on Monday, which gives the team that hands over a day to write down what is "
    "still open and the team that takes over a day to read it and to ask about what is not clear."
)
# @ stands for a marker.
_SECTION = (
    f"## The *new* rota\n\n{_PLAIN}@ {_PLAIN} {_SENTENCE}\n\n{_PLAIN} {_PLAIN} {_PLAIN}@\n\n- **Who:** {_PLAIN}\n"
    f"- **When:** {_PLAIN}@\n- **Why:** {_PLAIN} {_PLAIN}\n\n{_PLAIN} {_PLAIN}@\n\n| Team | Lead |\n|------|------|\n"
    f'| Core | *Ada*@ |\n\n1. {_SENTENCE}\n2. {_PLAIN} {_PLAIN}\n\n```python\nswap("core")\n```\n\n{_PLAIN}@\n\n'
)
# Blocks that go on for long, by the piece that they are made of.
LONG = {
    "a list": f"- {_SENTENCE}\n",
    "a loose list": f"- {_SENTENCE}\n\n",
    "a table": "| Core | *Ada* |\n",
    "a paragraph": f"{_SENTENCE} ",
    "a block of code": 'swaps[0]: list = ["core"]\n',
}
_HEADS = {"a table": "| Team | Lead |\n|------|------|\n", "a block of code": "```python\n"}


def answer(words: int = WORDS) -> str:
    """Build an answer as models write, with about that many words."""
    parts = (_SECTION * max(words // len(_SECTION.split()), 1)).split("@")
    markers = [OPENAI.write([Reference(f"turn0file{number % 100}", "L8-L13")]) for number in range(len(parts) - 1)]
    return parts[0] + "".join(marker + part for marker, part in zip(markers, parts[1:], strict=True))


def long_block(name: str, characters: int) -> str:
    """Build one block of about that many characters."""
    return _HEADS.get(name, "") + LONG[name] * (characters // len(LONG[name]))


def events(text: str) -> list[list[ResolvedEvent]]:
    """Give what a text gives in the deltas of a model, delta by delta."""
    parser, resolver = CitationParser(), Resolver(SOURCES)
    fed = [resolver.feed(parser.feed(delta)) for delta in token_deltas(text)]
    return [*fed, [*resolver.feed(parser.close(complete=True)), *resolver.close()]]


def read_live(deltas: Sequence[Sequence[ResolvedEvent]]) -> None:
    """Ask for patches after each delta."""
    live = LiveHtml()
    for delta in deltas:
        live.feed(delta)
    live.close()


def read_once(deltas: Sequence[Sequence[ResolvedEvent]]) -> None:
    """Render all at the end."""
    render_html([event for delta in deltas for event in delta])


def figures(*, words: int = WORDS, characters: int = 30_000, passes: int = 15) -> Iterator[Figure]:
    """Measure all that has a limit, one figure after the other.

    Args:
        words: about how many words the answer has.
        characters: about how many characters a long block has.
        passes: how often each is run; the fastest counts.
    """
    deltas = events(answer(words))
    times = fastest({"live": partial(read_live, deltas), "once": partial(read_once, deltas)}, passes=passes)
    yield Figure("LiveHtml, asked after each delta / one final render", times["live"] / times["once"], LIVE_LIMIT)
    yield Figure("all rendered after each delta / LiveHtml", _all(deltas, times["once"]) / times["live"])
    for name in LONG:
        sizes = {"long": characters, "short": characters // 10}
        blocks = {size: partial(read_live, events(long_block(name, length))) for size, length in sizes.items()}
        spent = fastest(blocks, passes=max(passes // 5, 1))
        yield Figure(
            f"LiveHtml: a character of a long block / of a short one: {name}",
            spent["long"] / spent["short"] / 10,
            LINEAR,
        )


def _all(deltas: Sequence[Sequence[ResolvedEvent]], once: float) -> float:
    """Give what it would cost to render all that came after each delta: a final render is linear, so it is counted."""
    lengths = list(accumulate(sum(len(str(event)) for event in delta) for delta in deltas))
    return once * sum(lengths) / lengths[-1]
