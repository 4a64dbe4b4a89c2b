"""What ``import streamcite`` costs beside a bare Python: ``python -m benchmarks imports``."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Iterator, Mapping

from .report import Figure

QUICK = {"passes": 2}
PROGRAMS: Mapping[str, str] = {
    "bare": "pass",
    "streamcite": "import streamcite",
    "its standard library": "import dataclasses, inspect, json, re, typing, unicodedata, warnings",
    "asyncio": "import asyncio",
    "openai": "import openai",
}


def figures(*, passes: int = 9) -> Iterator[Figure]:
    """Measure what a process costs that imports, and does no more.

    Args:
        passes: how many processes are started for each; the fastest counts.
    """
    spent = dict.fromkeys(PROGRAMS, float("inf"))
    for _ in range(passes):
        for name, program in PROGRAMS.items():
            spent[name] = min(spent[name], cost(program))
    yield Figure("python -c 'import streamcite' / python -c pass", spent["streamcite"] / spent["bare"])
    for name in ("its standard library", "asyncio", "openai"):
        added = (spent["streamcite"] - spent["bare"]) / (spent[name] - spent["bare"])
        yield Figure(f"import streamcite / import of {name}, a bare Python taken off", added)
    yield Figure("modules that it loads, its own and the standard library's", loaded())


def cost(program: str) -> float:
    """Give the CPU seconds of a Python that runs a program."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-P", "-c", program], check=True)  # noqa: S603 - a program of our own
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def loaded() -> int:
    """Count the modules that are loaded by ``import streamcite``, and not by a bare Python."""
    program = "import sys; bare = {*sys.modules}; import streamcite; print(len(sys.modules.keys() - bare))"
    done = subprocess.run([sys.executable, "-P", "-c", program], check=True, capture_output=True)  # noqa: S603
    return int(done.stdout)
