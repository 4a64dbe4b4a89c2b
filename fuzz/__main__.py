"""Fuzz one target: ``python -m fuzz parser --seconds 100``; or check files, as those of a fault that was found."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

TARGETS = ("parser", "sse", "splice")
HERE = Path(__file__).parent
# Longer inputs find nothing that shorter ones do not, and are read slowly.
LONGEST = 1_000  # bytes
# An input that takes longer, in seconds, or more memory, in MB, is a fault too.
SLOWEST = 20
MEMORY = 1_024


def main() -> None:
    """Fuzz for a time; a fault ends it with its traceback, and leaves its input in the folder."""
    sys.path.append(str(HERE.parent))
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=main.__doc__)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("file", nargs="*", type=Path, help="check these inputs, and do not fuzz")
    parser.add_argument("--seconds", type=int, default=100, help="how long (default: %(default)s)")
    parser.add_argument("--folder", type=Path, default=Path(".venv/fuzz"), help="where inputs are kept (%(default)s)")
    arguments = parser.parse_args()
    if arguments.file:
        check = load(arguments.target)
        for file in arguments.file:
            check(file.read_bytes())
    else:
        _fuzz(arguments.target, arguments.seconds, arguments.folder / arguments.target)


def load(target: str) -> Callable[[bytes], None]:
    """Give the check of a target."""
    check: Callable[[bytes], None] = import_module(f"fuzz.{target}").check
    return check


def _fuzz(target: str, seconds: int, folder: Path) -> None:
    atheris: Any = import_module("atheris")
    with atheris.instrument_imports(include=["streamcite"]):
        check = load(target)
    folder.mkdir(parents=True, exist_ok=True)
    options = {
        "max_total_time": seconds,
        "max_len": LONGEST,
        "len_control": 0,
        "timeout": SLOWEST,
        "rss_limit_mb": MEMORY,
        "dict": HERE / "words.dict",
        "artifact_prefix": f"{folder}/fault-",
        "print_final_stats": 1,
    }
    named = [f"-{name}={value}" for name, value in options.items()]
    atheris.Setup([sys.argv[0], *named, str(folder), str(HERE / "corpus" / target)], check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
