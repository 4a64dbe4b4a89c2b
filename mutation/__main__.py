"""Change the core a little, in hundreds of ways, and say which changes no test notices: ``python -m mutation``.

A change that no test notices must be explained in ``survivors.toml``. `benchmarks.mutants` puts the scores in the
report.
"""

from __future__ import annotations

import argparse
import sys

from .scores import MODULES, score
from .session import TestsFail


def main() -> int:
    """Print the score of each module, and its survivors.

    The exit status is 1 if a score is too low, a survivor unexplained, or an explained change noticed.
    """
    parser = argparse.ArgumentParser(prog="python -m mutation", description=main.__doc__)
    parser.add_argument("module", nargs="*", help="as in streamcite/parser.py; all of these by default")
    modules = parser.parse_args().module or list(MODULES)
    if unknown := [module for module in modules if module not in MODULES]:
        parser.error(f"no tests are named for {', '.join(unknown)}; there are {', '.join(MODULES)}")
    status = 0
    for module in modules:
        try:
            found = score(module)
        except TestsFail as error:
            parser.error(str(error))
        print(found, flush=True)
        status |= not found.is_good
    return status


if __name__ == "__main__":
    sys.exit(main())
