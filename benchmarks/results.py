"""What was measured, kept as JSON between a run and the report of it."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from .report import Figure, Point, Result, Table

# What figures depend on beside the machine and Python.
PACKAGES = ("openai", "markdown-it-py", "orjson", "cohere-melody", "starlette", "uvicorn", "aiohttp", "redis")


@dataclass
class Results:
    """What some suites gave on one machine.

    Attributes:
        machine: what it was measured on.
        quick: the suites of which the figures are rough.
        suites: what each suite gave.
        missing: for a suite that was not measured, the reason.
    """

    machine: Mapping[str, str]
    quick: set[str] = field(default_factory=set)
    suites: dict[str, list[Result]] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    @property
    def figures(self) -> Iterable[Figure]:
        """Give all figures."""
        return (each for results in self.suites.values() for each in results if isinstance(each, Figure))

    def save(self, path: Path) -> None:
        """Write all to a file; what the file has of other suites stays, if it is of the same machine."""
        held = {**asdict(self), "quick": self.quick}
        if path.exists() and (earlier := load(path)).machine == self.machine:
            held["quick"] = self.quick | earlier.quick - self.suites.keys()
            held["suites"] = asdict(earlier)["suites"] | held["suites"]
        text = json.dumps({**held, "quick": sorted(held["quick"])}, indent=1, ensure_ascii=False)
        new = path.with_name(f"{path.name}.new")  # else what was there is lost if this is stopped
        new.write_text(text + "\n", encoding="utf-8")
        new.replace(path)


def check(path: Path) -> None:
    """See to it that results can be kept in a file, before it takes minutes to have any.

    Raises:
        OSError: it cannot be written.
        ValueError: it holds something else, which would be lost.
    """
    if path.exists():
        load(path)
    if not os.access(path.parent, os.W_OK):
        raise OSError(f"{path}: cannot be written")


def load(path: Path) -> Results:
    """Read what `Results.save` wrote.

    Raises:
        ValueError: the file holds something else.
    """
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
        suites = {suite: [_result(each) for each in results] for suite, results in held["suites"].items()}
        return Results(held["machine"], set(held["quick"]), suites, held["missing"])
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"{path}: no results of a benchmark: {error!r}") from error


def _result(held: dict[str, Any]) -> Result:
    if "rows" in held:
        return Table(**held)
    point = held.pop("point")
    return Figure(**held, point=Point(**point) if point else None)


def machine() -> dict[str, str]:
    """Say what is measured on: the processor, Python, and what figures depend on."""
    found = {"processor": _processor(), platform.python_implementation(): platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _processor() -> str:
    """Name the model of the processor, where the system says."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()
