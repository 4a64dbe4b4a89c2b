"""Run the benchmarks: ``python -m benchmarks core``, ``openai``, ``sources``, ``resolve``, ``render`` or ``splice``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from itertools import chain

from . import core, lint, openai, render, resolve, sources, splice
from .report import Figure, machine


def main() -> int:
    """Print each figure as it is measured, beside its limit; the exit status is 1 if one is over it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=main.__doc__)
    suites = ["core", "openai", "sources", "resolve", "render", "splice"]
    parser.add_argument("suite", choices=suites, help="what to measure")
    parser.add_argument(
        "--quick", action="store_true", help="shorter streams and fewer passes: rough figures in seconds"
    )
    arguments = parser.parse_args()
    figures: Iterator[Figure]
    if arguments.suite == "core":
        figures = core.figures(deltas=10_000, passes=3) if arguments.quick else core.figures()
    elif arguments.suite == "sources":
        quick = {"characters": 5_000_000, "sources": 10_000, "passes": 3}
        figures = sources.figures(**quick) if arguments.quick else sources.figures()
    elif arguments.suite == "resolve":
        quick = {"deltas": 10_000, "ids": 10_000, "passes": 3}
        figures = resolve.figures(**quick) if arguments.quick else resolve.figures()
        figures = chain(figures, lint.figures(passes=3) if arguments.quick else lint.figures())
    elif arguments.suite == "render":
        quick = {"words": 5_000, "characters": 10_000, "passes": 3}
        figures = render.figures(**quick) if arguments.quick else render.figures()
    elif arguments.suite == "splice":
        figures = splice.figures(events=2_000, passes=3) if arguments.quick else splice.figures()
    else:
        figures = openai.figures(chunks=500, passes=3) if arguments.quick else openai.figures()
    print(machine())
    print("Each figure is a ratio within this run (or a number of bytes), beside the most that it may be.\n")
    over = 0
    for figure in figures:
        print(figure, flush=True)
        over += figure.limit is not None and figure.value > figure.limit
    print(f"{over} over their limit" if over else "all within their limits")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
