"""What it costs to show sources to a model and to read them back: ``python -m benchmarks material``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial

from streamcite import Material, Source, Sources, read_material, render_blocks, render_messages, render_tool_result

from .report import Figure
from .sources import CHARACTERS, SHAPES, SOURCES, register
from .timing import peak, ratio

QUICK = {"characters": 5_000_000, "sources": 5_000, "passes": 2}
# How much longer the long text of a comparison is, and the most that a character of it may cost of one of the short,
# which stays in the processor's cache with all that is made of it.
TIMES = 100
LINEAR = 2
# The most that showing a text with its lines numbered, and reading it, may cost of copying it line by line.
COPY = 15
# The most bytes that showing a text and reading it may take at once for each byte of it.
PEAK = 8

# Of hostile texts, what is repeated in them: what must be made safe, what nearly must, and what opens a source.
HOSTILE = {
    "line labels": "[L1] \n",
    "tags that do not end": '</BLOCK>< / <BLOCK id="a1" ',
    "ids that do not end": "【turn1a",
    "lines of ids": "【turn0file0】\n",
    "headers": "Citation Marker: \ue200cite\ue202a1\ue201\n",
    "blocks": '<BLOCK id="a1">x</BLOCK>',
}


def figures(*, characters: int = CHARACTERS, sources: int = SOURCES, passes: int = 3) -> Iterator[Figure]:
    """Measure what has a limit, one figure after the other.

    Args:
        characters: how long the longest document is.
        sources: how many the largest registry holds.
        passes: how often each is run; the fastest counts. What is longest is run once less.
    """
    yield from _document(SHAPES["prose"].make, characters, max(1, passes - 1))
    for name, piece in HOSTILE.items():
        times = characters // 200 // len(piece)
        long, short = piece * times, piece * max(1, times // TIMES)
        cost = ratio(partial(show_and_read, long), partial(show_and_read, short), len(long) / len(short), passes)
        yield Figure(f"a character shown and read of {len(long):,} / of {len(short):,}: {name}", cost, LINEAR)
    length = characters // 100
    most = max(bytes_at_once(piece * (length // len(piece))) for piece in HOSTILE.values())
    yield Figure(f"bytes at once to show and read a byte of {length:,}: the worst of these", most, PEAK)
    yield from _sources(register(sources), max(1, passes - 1))


def show(text: str) -> str:
    """Show a document as a tool result with numbered lines."""
    return render_tool_result([Source("turn0file0", text)]).text


def show_and_read(text: str) -> Sources:
    """Show a text in a block, and read the text itself as if it were material."""
    read_material(render_blocks([Source("turn0file0", text)]).text)
    return read_material(text)


def bytes_at_once(text: str) -> float:
    """Show and read a text, and give how many times its own size that takes at most."""
    return peak(partial(show_and_read, text)) / sys.getsizeof(text)


def copy(text: str) -> str:
    """Take a text apart into its lines and put it together again."""
    return "".join(text.splitlines(keepends=True))


def _document(prose: Callable[[int], str], characters: int, passes: int) -> Iterator[Figure]:
    long, short = prose(characters), prose(characters // TIMES)
    cost = ratio(partial(show, long), partial(show, short), len(long) / len(short), passes)
    yield Figure(f"a character shown of {characters:,} / of {characters // TIMES:,}: numbered prose", cost, LINEAR)
    yield Figure(
        "render_tool_result / a copy line by line", ratio(partial(show, long), partial(copy, long), 1, 1), COPY
    )
    shown, few = show(long), show(short)
    cost = ratio(partial(read_material, shown), partial(read_material, few), len(long) / len(short), passes)
    yield Figure(f"a character read of {characters:,} / of {characters // TIMES:,}: numbered prose", cost, LINEAR)
    cost = ratio(partial(read_material, shown), partial(copy, shown), 1, 1)
    yield Figure("read_material / a copy line by line", cost, COPY)


def _sources(sources: Sources, passes: int) -> Iterator[Figure]:
    many = list(sources.values())
    few = many[: len(many) // TIMES]
    count = f"of {len(many):,} / of {len(few):,}"
    cost = ratio(partial(render_messages, many), partial(render_messages, few), TIMES, passes)
    yield Figure(f"a source shown {count}", cost, LINEAR)
    shown = render_messages(many)
    long, short = Material.join(shown).text, Material.join(shown[: len(few)]).text
    cost = ratio(partial(read_material, long), partial(read_material, short), TIMES, passes)
    yield Figure(f"a source read from one text {count}", cost, LINEAR)
    messages = [{"role": "tool", "content": str(each)} for each in shown[: len(many) // 5]]
    cost = ratio(partial(read_material, messages), partial(read_material, messages[: len(few)]), TIMES / 5, passes)
    yield Figure(f"a source read from messages of {len(messages):,} / of {len(few):,}", cost, LINEAR)
