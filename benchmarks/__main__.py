"""Run the benchmarks: ``python -m benchmarks``, or only some: ``python -m benchmarks core peers --quick``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from . import suites, written
from .report import Figure
from .results import Results, load, machine

REPORT = "report"


def main() -> int:
    """Print each figure as it is measured, beside its limit; the exit status is 1 if one is over it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=main.__doc__)
    parser.add_argument(
        "suite",
        nargs="*",
        help=f"what to measure, all by default: {', '.join(suites.SUITES)}; "
        f"or `{REPORT}`: write REPORT.md and its plots from what --json FILE holds",
    )
    parser.add_argument("--quick", action="store_true", help="less of all: rough figures in seconds")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep what was measured, beside what is there")
    arguments = parser.parse_args()
    chosen = arguments.suite or [*suites.SUITES]
    if unknown := [name for name in chosen if name not in (REPORT, *suites.SUITES)]:
        parser.error(f"there is no suite {', '.join(unknown)}; there are {', '.join(suites.SUITES)}")
    if chosen == [REPORT]:
        if arguments.json is None:
            parser.error(f"{REPORT} needs --json FILE")
        return _report(arguments.json)
    found = measure([name for name in chosen if name != REPORT], quick=arguments.quick)
    if arguments.json is not None:
        found.save(arguments.json)
    over = sum(figure.missed for figure in found.figures)
    print(f"\n{over} over their limit" if over else "\nall within their limits")
    return 1 if over else 0


def measure(names: list[str], *, quick: bool) -> Results:
    """Measure suites, and print what they give as it comes."""
    found = Results(machine())
    print(", ".join(f"{name} {version}" for name, version in found.machine.items()))
    print("Each figure is a ratio within this run (or a number of bytes), beside the most that it may be.")
    for name in names:
        print(f"\n{suites.SUITES[name]}: {name}")
        try:
            results = suites.results(name, quick=quick)
        except ModuleNotFoundError as error:
            found.missing[name] = error.name or str(error)
            print(f"not measured, since {found.missing[name]} is not installed")
            continue
        found.suites[name] = []
        for result in results:
            found.suites[name].append(result)
            if not isinstance(result, Figure) or result.told:
                print(result, flush=True)
    found.quick = set(found.suites) if quick else set()
    return found


def _report(path: Path) -> int:
    try:
        written.write(load(path))
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
