"""What the tests of the renderers share: sources with hostile names, and answers made of all that can go wrong."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from hypothesis import strategies as st

from streamcite import CitationParser, Resolver, Source
from streamcite.links import ResolvedEvent
from streamcite.render.stage import Renderer
from tests.linting import MARKDOWN
from tests.markers import cite

TEXT = "\n".join(f"line {number}" for number in range(1, 10))
SOURCES = {
    "t1": Source("t1", TEXT, title="Office days", url="https://a.example/office?a=1&b=2"),
    "t2": Source(
        "t2", TEXT, title='A | b] <script>alert("x")</script>\n`c` **d** \u202e', url="https://a.example/`|<>"
    ),
    "js": Source("js", TEXT, title="Script", url="\x01JaVaScript:alert(1)"),
    "data": Source("data", TEXT, url=" data:text/html,<script>alert(1)</script>"),
    "rtl": Source("rtl", TEXT, title="ימי משרד", url="https://a.example/ימים"),
    "none": Source("none", unit="block"),
}
# For the pictures: nothing hostile, and an answer in three parts, of which the second cites what comes with the third.
PLAIN = {
    "t1": Source(
        "t1", "On call\nThe handoff is on Monday,\nfor all teams.", title="Rota", url="https://a.example/rota"
    ),
    "t2": Source("t2", "Ask in the channel.", title="Handbook", url="https://a.example/handbook"),
    "none": Source("none", "Ada leads Core.", title="Teams"),
}
LATE = {"late": Source("late", "Three days.", title="Days", url="https://a.example/days")}
ANSWER = (
    "## The new rota\n\nThe **handoff** moves to Monday" + cite("t1", "L2-L3") + " for all teams.\n\n",
    "- Keep three days free" + cite("late") + ".\n- Ask for a `swap`" + cite("t1") + cite("t2", "L1") + "\n\n",
    "| Team | Lead |\n|---|---|\n| Core | *Ada*" + cite("none", "L1") + " |\n\n```python\nswap()\n```\n\nThat is all.",
)
LINKED = {"t1", "t2", "rtl"}
CITES = (cite("t1"), cite("t1", "L2-L3"), cite("t2"), cite("js"), cite("data", "L8"), cite("none", "t1"), cite("x"))
PIECES = (
    *(*CITES, *CITES, *MARKDOWN, *MARKDOWN),
    *(
        "https://a.example/",
        "<https://a.example/>",
        "](https://a.example/)",
        "**太字**",
        "です",
        "![a](https://a.example/b)",
    ),
    *(
        "\n\n",
        "\n- ",
        "\n1. ",
        "\n```py\n",
        "\n```\n",
        "\r",
        "\r\n",
        "`x`",
        "\n\nWord.",
        "<b>",
        "(",
        ")",
        "!",
        ":",
        "ימי",
    ),
)
answers = st.lists(st.sampled_from(PIECES), max_size=25).map("".join)
cuts = st.lists(st.integers(0, 200), max_size=12)


def feeds(text: str, cuts: Iterable[int]) -> list[list[ResolvedEvent]]:
    """Give the events of an answer as they come if it is cut into deltas so."""
    parser, resolver = CitationParser(), Resolver(SOURCES)
    bounds = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    deltas = [text[begin:end] for begin, end in pairwise(bounds)]
    return [
        *(resolver.feed(parser.feed(delta)) for delta in deltas),
        [*resolver.feed(parser.close()), *resolver.close()],
    ]


def rendered(renderer: Renderer, feeds: Sequence[Sequence[ResolvedEvent]]) -> str:
    """Feed a renderer, and close it."""
    return "".join([*map(renderer.feed, feeds), renderer.close()])
