"""What each peer costs, for some shapes, for answers that grow, and for more and more citations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from io import StringIO

from benchmarks.core import NullParser, read_fed
from benchmarks.report import Figure, Point, Result, Table, shown
from benchmarks.shapes import ENGLISH, apart, cited, make, prose
from benchmarks.timing import fastest
from streamcite import CitationParser

from .reading import Peer

SHAPES = ["no citation", "1 per 200", "1 per 20, 20 distinct", "1 per 20, all distinct", "one start, then prose"]
# Citations in 1,000 characters.
DENSITIES = [0, 1, 2, 5, 10, 20, 40]
SHORTEST = 125
# Rescanning is slow: only the answer that grows is as long as can be.
SHORTER = 4
OURS = "streamcite"
_NOTE = (
    "A text that is only read at its end is not shown before. What rescans is shown anew after each delta: that is not "
    "counted. The client's own stream is its typed one, without any parser."
)


def read(peer: Peer, deltas: Sequence[str]) -> None:
    """Read deltas, and write what is to be seen of each piece, as the readers of the core's benchmark do."""
    reader = peer.start()
    feed, write = reader.feed, StringIO().write
    for delta in deltas:
        if peer.replaces:
            feed(delta)
            continue
        for piece in feed(delta):
            write(str(piece))
    reader.close()


def figures(peers: Sequence[Peer], deltas: int, passes: int) -> Iterator[Result]:
    """Measure all, one figure after the other.

    Args:
        peers: who reads.
        deltas: about how many deltas the longest answer has; of those that only one shape has, a quarter.
        passes: how often each is run; the fastest counts.
    """
    names = [peer.name for peer in peers if peer.name != OURS]
    rows: list[list[str]] = []
    for name in SHAPES:
        times = _times(peers, make(name, deltas // SHORTER).deltas, passes)
        found = [
            Figure(f"{peer} / {OURS}: {name}", spent / times[OURS], listed=False)
            for peer, spent in times.items()
            if peer not in (OURS, "null")
        ]
        yield from found
        ratios = {figure.name.partition(" / ")[0]: shown(figure.value) for figure in found}
        rows.append([name, *(ratios.get(each, "") for each in names)])
    yield Table("Cost, as parts of what streamcite's parser costs", ["", *names], rows, _NOTE)
    yield from _growing([peer for peer in peers if peer.fast], deltas, passes)
    yield from _denser([peer for peer in peers if peer.fast and not peer.replaces], deltas, passes)


def _growing(peers: Sequence[Peer], longest: int, passes: int) -> Iterator[Figure]:
    length = SHORTEST
    while length <= longest:
        for peer, ratio in _beside_null(peers, make("1 per 200", length).deltas, passes):
            yield Figure(f"{peer} / null: {length} deltas", ratio, point=Point("length", peer, length), listed=False)
        length *= 2


def _denser(peers: Sequence[Peer], deltas: int, passes: int) -> Iterator[Figure]:
    for density in DENSITIES:
        parts = cited(1_000 // density, 20, 4 * deltas) if density else prose(ENGLISH, 4 * deltas)
        for peer, ratio in _beside_null(peers, apart(4)([raw for raw, _ in parts]), passes):
            point = Point("density", peer, density)
            yield Figure(f"{peer} / null: {density} in 1,000", ratio, point=point, listed=False)


def _beside_null(peers: Sequence[Peer], deltas: Sequence[str], passes: int) -> Iterator[tuple[str, float]]:
    times = _times(peers, deltas, passes)
    yield from ((peer, spent / times["null"]) for peer, spent in times.items() if peer != "null")


def _times(peers: Sequence[Peer], deltas: Sequence[str], passes: int) -> dict[str, float]:
    """Time a pass of each, and of the null parser; ours without the pieces that stand for events here."""
    readers: dict[str, Callable[[], object]] = {"null": partial(read_fed, NullParser, deltas)}
    for peer in peers:
        translation = peer.translate("".join(deltas))
        if peer.name == OURS:
            readers[OURS] = partial(read_fed, CitationParser, deltas)
        elif translation is not None:
            own = deltas if translation.text == "".join(deltas) else [*_cut(translation.text)]
            readers[peer.name] = partial(read, peer, own)
    return fastest(readers, passes=passes)


def _cut(text: str) -> Iterator[str]:
    return (text[at : at + 4] for at in range(0, len(text), 4))
