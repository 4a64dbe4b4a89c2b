"""What sources cost to number, to split and to register, as ratios within one run.

``python -m benchmarks sources``. What must be linear is measured in a large document and in a small one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from markdown_it import MarkdownIt

from streamcite import Source, Sources, split_blocks
from streamcite.units import Lines

from .report import Figure
from .timing import allocated, ratio

CHARACTERS = 50_000_000
SOURCES = 100_000
QUICK = {"characters": 2_000_000, "sources": 5_000, "passes": 3}
# How much longer the long document of a comparison is.
TIMES = 100
# The most that something may cost in a large document or registry of what it costs in a small one. It is not 1: what is
# small stays in the processor's cache.
LINEAR = 1.5


@dataclass(frozen=True)
class Shape:
    """A document made of one piece, again and again.

    Attributes:
        piece: the piece.
        lines: how many lines a piece has; None: all of them together are one.
        block: how many code points each block has but the last.
    """

    piece: str
    lines: int | None
    block: int

    def make(self, characters: int) -> str:
        """Build the document with about that many characters: whole pieces."""
        return self.piece * (characters // len(self.piece))


PROSE = "The handoff moves to the next rota on Monday; see the page for dates, and keep three days free.\n" * 4 + "\n"
SHAPES = {
    "prose": Shape(PROSE, 5, 1925),
    "one word": Shape("x", None, 2000),
    "only line ends": Shape("\n", 1, 2000),
    "only headings": Shape("# a\n", 1, 2000),
    "only one-letter paragraphs": Shape("a\n\n", 2, 1998),
}
# Dense Markdown has more structure than text: each letter costs as much as a line of prose.
MARKDOWN = (
    "## Part\n\nText with `code`, a [link](https://example.org) and **stress**.\n\n- one\n- two\n\n```\na\n\nb\n```\n\n"
)


def figures(*, characters: int = CHARACTERS, sources: int = SOURCES, passes: int = 3) -> Iterator[Figure]:
    """Measure all that has a limit, one figure after the other.

    Args:
        characters: how long the longest document is.
        sources: how many the largest registry holds.
        passes: how often each is run; the fastest counts.
    """
    yield from _documents(characters, passes)
    yield from _markdown(characters // 100, passes)
    yield from _passages(characters, passes)
    yield from _registry(sources, passes)


def read_blocks(text: str, *, markdown: bool = False) -> None:
    """Split a document and take every block."""
    deque(split_blocks(text, markdown=markdown), maxlen=0)


def register(number: int) -> Sources:
    """Add that many results of tool calls, ten in a call."""
    sources = Sources()
    for call in (sources.tool_call() for _ in range(number // 10)):
        for _ in range(10):
            call.add("text", key=f"{call.number}#{len(call.results)}")
    return sources


def reload(sources: Sources) -> None:
    """Save a registry and load it again."""
    Sources.from_dict(sources.to_dict())


def _documents(characters: int, passes: int) -> Iterator[Figure]:
    readers: dict[str, Callable[[str], object]] = {"split_blocks": read_blocks, "Lines": Lines}
    for name, shape in SHAPES.items():
        length = characters if name == "prose" else characters // 50
        long, short = shape.make(length), shape.make(length // TIMES)
        for what, read in readers.items():
            cost = ratio(partial(read, long), partial(read, short), len(long) / len(short), passes)
            yield Figure(f"{what}: a character of {length:,} / of {length // TIMES:,}: {name}", cost, LINEAR)
    text = SHAPES["prose"].make(characters // 10)
    yield Figure("Lines / str.split: prose", ratio(partial(Lines, text), partial(text.split, "\n"), 1, passes), 5)
    yield Figure(
        "split_blocks / str.split: prose",
        ratio(partial(read_blocks, text), partial(text.split, "\n"), 1, passes),
        10,
    )
    text = SHAPES["only line ends"].make(characters // 100)
    yield Figure("bytes a line of Lines", allocated(partial(Lines, text)) / len(text), 5)


def _markdown(characters: int, passes: int) -> Iterator[Figure]:
    long, short = (MARKDOWN * (length // len(MARKDOWN)) for length in (characters, characters // 10))
    read = partial(read_blocks, markdown=True)
    cost = ratio(partial(read, long), partial(read, short), len(long) / len(short), passes)
    yield Figure(f"split_blocks(markdown): a character of {characters:,} / of {characters // 10:,}", cost, LINEAR)
    parse = MarkdownIt("commonmark").enable("table").parse
    cost = ratio(partial(read, short), partial(parse, short), 1, passes)
    yield Figure("split_blocks(markdown) / a whole parse by markdown-it-py", cost, 1)


def _passages(characters: int, passes: int) -> Iterator[Figure]:
    shape = SHAPES["prose"]
    long, short = (Source("a", shape.make(length)) for length in (characters, characters // TIMES))
    last = {source: len(source.lines) for source in (long, short)}

    def ask(source: Source, locator: str) -> None:
        for _ in range(1000):
            source.passage(locator)

    asked = {source: partial(ask, source, f"L{last[source] - 5}-L{last[source]}") for source in last}
    yield Figure(
        f"a passage of {characters:,} characters / of {characters // TIMES:,}",
        ratio(asked[long], asked[short], 1, passes),
        LINEAR,
    )
    yield Figure(
        "L1-L999999999 / the last lines", ratio(partial(ask, long, "L1-L999999999"), asked[long], 1, passes), 1
    )


def _registry(number: int, passes: int) -> Iterator[Figure]:
    few = number // TIMES
    cost = ratio(partial(register, number), partial(register, few), TIMES, passes)
    yield Figure(f"a source of {number:,} added / of {few:,}", cost, LINEAR)
    large, small = register(number // 5), register(few // 5)
    cost = ratio(partial(reload, large), partial(reload, small), TIMES, passes)
    yield Figure(f"a source of {number // 5:,} saved and loaded / of {few // 5:,}", cost, LINEAR)
    yield Figure("bytes of a source in a registry", allocated(partial(register, number // 10)) / (number // 10), 1024)
