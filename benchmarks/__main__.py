"""Run the benchmarks: ``python -m benchmarks``, or only some: ``python -m benchmarks core peers --quick``."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from . import readme, suites, written
from .report import Figure, Result
from .results import Results, check, load, machine

REPORT = "report"
SOAK = "soak"


def main() -> int:
    """Print each figure as it is measured, beside its limit; the exit status is 1 if one is over it, or missing.

    Those of a quick run are rough: one over its limit is no failure, unless it counts things that must not be.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=main.__doc__)
    parser.add_argument(
        "suite",
        nargs="*",
        help=f"what to measure: {', '.join(suites.SUITES)}; by default all but {', '.join(suites.LONG)}; "
        f"or `{REPORT}`: write REPORT.md, its plots, and its figures in the README from what --json FILE holds",
    )
    parser.add_argument("--quick", action="store_true", help="less of all: rough figures in seconds")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep what was measured, beside what is there")
    parser.add_argument("--seconds", type=float, metavar="N", help=f"how long `{SOAK}` lasts (600 by default)")
    parser.add_argument("--seed", type=int, metavar="N", help=f"what all streams of `{SOAK}` follow from")
    arguments = parser.parse_args()
    chosen = arguments.suite or [name for name in suites.SUITES if name not in suites.LONG]
    if unknown := [name for name in chosen if name not in (REPORT, *suites.SUITES)]:
        parser.error(f"there is no suite {', '.join(unknown)}; there are {', '.join(suites.SUITES)}")
    if chosen == [REPORT]:
        if arguments.json is None:
            parser.error(f"{REPORT} needs --json FILE")
        return _report(arguments.json)
    more = {name: value for name in ("seconds", "seed") if (value := getattr(arguments, name)) is not None}
    if more and SOAK not in chosen:
        parser.error(f"--{next(iter(more))} is for {SOAK}")
    if not 0 < more.get("seconds", 1) < float("inf"):
        parser.error("--seconds: must be above 0")
    if arguments.json is not None:
        try:
            check(arguments.json)
        except (OSError, ValueError) as error:
            parser.error(f"--json: {error}")
    measured = [name for name in chosen if name != REPORT]
    found = measure(measured, quick=arguments.quick, kept=arguments.json, more={SOAK: more})
    over = [figure.value for figure in found.figures if figure.missed]
    roughly = ", as far as a quick run can tell" if arguments.quick else ""
    print(f"\n{len(over)} over their limit{roughly}" if over else f"\nall within their limits{roughly}")
    failed = any(isinstance(value, int) for value in over) if arguments.quick else bool(over)
    return 1 if failed or found.missing else 0


def measure(
    names: Sequence[str],
    *,
    quick: bool,
    kept: Path | None = None,
    more: Mapping[str, Mapping[str, float]] = MappingProxyType({}),
) -> Results:
    """Measure suites, and print what they give as it comes.

    Args:
        names: the suites.
        quick: whether rough figures will do.
        kept: a file to keep what was measured in, after each suite.
        more: for a suite, arguments of its own.
    """
    found = Results(machine())
    print(", ".join(f"{name} {version}" for name, version in found.machine.items()))
    print("Each figure is a ratio within this run (or a number of bytes), beside the most that it may be.")
    for name in names:
        print(f"\n{suites.SUITES[name]}: {name}")
        try:
            found.suites[name] = _results(name, quick=quick, **more.get(name, {}))
            found.quick |= {name} if quick else set()
        except ModuleNotFoundError as error:
            found.missing[name] = f"{error.name} is not installed"
        except AssertionError:  # a wrong answer is not timed, but the others are measured
            print(traceback.format_exc())
            found.missing[name] = "what was to be measured is not right"
        if name in found.missing:
            print(f"not measured: {found.missing[name]}")
        if kept is not None:
            found.save(kept)
    return found


def _results(name: str, *, quick: bool, **more: float) -> list[Result]:
    results = []
    for result in suites.results(name, quick=quick, **more):
        results.append(result)
        if not isinstance(result, Figure) or result.listed:
            print(result, flush=True)
    return results


def _report(path: Path) -> int:
    try:
        found = load(path)
        written.write(found)
        if "relay" in found.suites:
            readme.write(written.FOLDER)
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def run() -> int:
    """Run as a command: that its reader closes the pipe, or presses Ctrl-C, is not a failure."""
    try:
        return main()
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:
        try:
            os.write(sys.stdout.fileno(), b"\n")
        except BrokenPipeError:
            # Python would report it at its end, too.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
        raise  # it was the pipe of something else


if __name__ == "__main__":
    sys.exit(run())
