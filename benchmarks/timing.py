"""Time functions against each other on a noisy machine."""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable, Mapping


def fastest(functions: Mapping[str, Callable[[], object]], *, passes: int) -> dict[str, float]:
    """Run the functions in turn, pass after pass, and give the least CPU time of each.

    Interleaving spreads what else the machine does over all of them, and the minimum leaves most of it out. As with
    `timeit`, garbage is collected between the runs, not in them; what was there before is not looked through each time.

    Args:
        functions: what to time, by name.
        passes: how often each is run.

    Returns:
        The least time of the calling thread that each took, in seconds.
    """
    best = dict.fromkeys(functions, float("inf"))
    gc.freeze()
    try:
        for _ in range(passes):
            for name, function in functions.items():
                gc.collect()
                gc.disable()
                try:
                    begin = time.thread_time()
                    function()
                    best[name] = min(best[name], time.thread_time() - begin)
                finally:
                    gc.enable()
    finally:
        gc.unfreeze()
    return best


def ratio(function: Callable[[], object], other: Callable[[], object], times: float, passes: int) -> float:
    """Give what a function costs of what another one costs, done that many times."""
    spent = fastest({"function": function, "other": other}, passes=passes)
    return spent["function"] / spent["other"] / times


def peak(work: Callable[[], object]) -> int:
    """Give the most bytes that are taken at once while a function runs."""
    tracemalloc.start()
    work()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


def allocated(build: Callable[[], object]) -> int:
    """Give how many bytes are taken by what a function builds."""
    tracemalloc.start()
    built = build()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del built
    return size
