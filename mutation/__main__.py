"""Change the core a little, in hundreds of ways, and say which changes no test notices: ``python -m mutation``.

Each module stands beside its tests, the fast ones first, since most changes fall at once. A change that no test notices
must be explained in ``survivors.toml``.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from .session import Mutant, run

# The least part of the changes to a module that its tests must notice.
LEAST = 0.95
CASES = "-m mutation.cases"
PYTEST = "-m pytest -q -x -p no:cacheprovider"
PROPERTIES = f"{PYTEST} tests/test_parser_properties.py"
# What is fast of it, and all.
INTERFACE = f"{PYTEST} tests/test_parser.py -k 'not test_case and not each_character and not megabyte'"
PARSER = f"{PYTEST} tests/test_parser.py"
# What counts, and so sees a short cut that is not taken.
COUNTED = f"{PYTEST} tests/test_splice_lines.py tests/test_splice.py -k 'lines or little or same_object or nearly'"
FAULTS = f"{PYTEST} tests/test_splice_faults.py"
STREAMS = f"{PYTEST} tests/test_splice_render.py tests/test_clean_sse.py tests/test_splice.py"
# The tests of a module: arguments of Python, for one run behind the other.
MODULES: Mapping[str, Sequence[str]] = {
    "streamcite/parser.py": [CASES, INTERFACE, PROPERTIES, PARSER],
    "streamcite/format.py": [CASES, f"{PYTEST} tests/test_format.py tests/test_options.py", PROPERTIES, PARSER],
    "streamcite/relay/splice.py": ["-m mutation.streams", COUNTED, FAULTS, STREAMS],
}
EXPLAINED = Path(__file__).with_name("survivors.toml")


def main() -> int:
    """Print the score of each module, and its survivors.

    The exit status is 1 if a score is too low, a survivor unexplained, or what is explained none.
    """
    parser = argparse.ArgumentParser(prog="python -m mutation", description=main.__doc__)
    parser.add_argument("module", nargs="*", help="as in streamcite/parser.py; all of these by default")
    parser.add_argument("--json", type=Path, metavar="FILE", help="put each score in this file, beside those there")
    arguments = parser.parse_args()
    modules = arguments.module or list(MODULES)
    if unknown := [module for module in modules if module not in MODULES]:
        parser.error(f"no tests are named for {', '.join(unknown)}; there are {', '.join(MODULES)}")
    with EXPLAINED.open("rb") as file:
        explained = tomllib.load(file)
    # A list, so that each module has its turn.
    return max([_report(module, explained.get(module, {}), arguments.json) for module in modules])


def _report(module: str, explained: Mapping[str, str], file: Path | None) -> int:
    mutants = run(module, MODULES[module], explained)
    survivors = [mutant for mutant in mutants if mutant.survived]
    score = 1 - len(survivors) / len(mutants)
    print(f"{module}: {len(mutants) - len(survivors)} of {len(mutants)} changes noticed, {score:.1%}", flush=True)
    if file:
        keep(file, module, mutants, explained)
    for mutant in survivors:
        print(told(mutant, explained.get(mutant.line)))
    survived = {mutant.line for mutant in survivors}
    for line in explained.keys() - survived:
        print(f"  explained, but noticed: {line}")
    return int(score < LEAST or survived != explained.keys())


def keep(file: Path, module: str, mutants: Sequence[Mutant], explained: Mapping[str, str]) -> None:
    """Write a module's score into a JSON file, in which those of other modules stay.

    ``{module: {"changes": number, "noticed": number, "unexplained": number of survivors}}``
    """
    scores = json.loads(file.read_text("utf-8")) if file.exists() else {}
    survivors = [mutant for mutant in mutants if mutant.survived]
    scores[module] = {
        "changes": len(mutants),
        "noticed": len(mutants) - len(survivors),
        "unexplained": sum(mutant.line not in explained for mutant in survivors),
    }
    file.write_text(json.dumps(scores, indent=1) + "\n", "utf-8")


def told(mutant: Mutant, why: str | None) -> str:
    """Say what a survivor is, and why no test can notice it."""
    return f"  line {mutant.row}, {mutant.operator}: {mutant.line}\n    {why or 'NOT EXPLAINED'}"


if __name__ == "__main__":
    sys.exit(main())
