"""What other ways to read a stream cost, and what becomes of answers in them: ``python -m benchmarks peers``."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

from benchmarks.report import Result

from . import algorithms, correctness, speed
from .client import Client
from .melody import Melody, translate
from .reading import Ours, Peer

QUICK = {"deltas": 1_000, "passes": 1, "every": False}

OURS = Peer("streamcite", "this library", Ours)
ALGORITHMS = [
    Peer("whole text at the end", "algorithm", algorithms.AtTheEnd),
    Peer("rescan per delta", "algorithm", algorithms.Rescan, replaces=True),
    Peer("regex on a growing buffer", "algorithm", algorithms.GrowingBuffer),
    Peer("hold until stop", "algorithm", algorithms.HoldUntilStop),
]
MELODY = Peer("cohere-melody", "package", Melody, locators=False, translate=translate)
CLIENT = Peer("openai client's stream", "package", Client, fast=False)


def peers() -> list[Peer]:
    """Give the peers that are compared; of packages, those that are installed."""
    return [OURS, *ALGORITHMS, *([MELODY] if find_spec("cohere_melody") else []), CLIENT]


def figures(*, deltas: int = 8_000, passes: int = 5, every: bool = True) -> Iterator[Result]:
    """Measure what each peer costs, and what it does with the cases of the parser.

    Args:
        deltas: about how many deltas the longest answer has.
        passes: how often each is run; the fastest counts.
        every: whether each case is cut in two at every place.
    """
    yield from speed.figures(peers(), deltas, passes)
    yield from correctness.tables(peers(), every=every)
