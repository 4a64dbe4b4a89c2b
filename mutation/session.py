"""Run cosmic-ray on one module, in a copy of the checkout: it changes files in place."""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
COPIED = ("streamcite", "tests", "benchmarks", "mutation", "pyproject.toml")
# An operator is replaced by one or two others that mean something for what it works on; a shift in the place of a
# sum is noticed by whatever runs the line, and would only make the score look better.
LEFT_OUT = re.compile(
    r"core/ReplaceBinaryOperator_(?!Add_Sub|Add_Mul|Sub_Add|Sub_Mul|Mul_Add|Mul_Sub|Mod_Mul|BitOr_BitAnd|BitAnd_BitOr)"
)
# Seconds that the first run of tests may take, and each other one, many times what they do; more is an endless loop.
TIMEOUTS = (60, 300)


@dataclass(frozen=True)
class Mutant:
    """One change.

    Attributes:
        row: the number of the line that it begins in.
        operator: what was changed, in cosmic-ray's words.
        line: what it made of the line, without the spaces around.
        survived: whether all tests pass with it.
    """

    row: int
    operator: str
    line: str
    survived: bool


def run(module: str, tests: Sequence[str]) -> list[Mutant]:
    """Make each change to a module and run its tests on it.

    Args:
        module: the path of its file.
        tests: arguments of Python, for one run behind the other until one fails.
    """
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        copy = Path(folder)
        for name in COPIED:
            place = ROOT / name
            if place.is_dir():
                shutil.copytree(place, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(place, copy)
        _write_settings(copy, module, tests)
        _ray(copy, "baseline", "settings.toml")
        _ray(copy, "init", "settings.toml", "session.sqlite")
        database = import_module("cosmic_ray.work_db")
        with database.use_db(str(copy / "session.sqlite")) as session:
            _leave_out(session, copy / module)
        _ray(copy, "exec", "settings.toml", "session.sqlite")
        with database.use_db(str(copy / "session.sqlite")) as session:
            return sorted(_mutants(session), key=lambda mutant: mutant.row)


def _write_settings(copy: Path, module: str, tests: Sequence[str]) -> None:
    python = shlex.quote(sys.executable)
    runs = [f"timeout {TIMEOUTS[number > 0]} {python} {each}" for number, each in enumerate(tests)]
    settings = {
        "module-path": module,
        "timeout": float(len(tests) * TIMEOUTS[1]),
        "test-command": f"sh -c {shlex.quote(' && '.join(runs))}",
    }
    lines = [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
    text = "\n".join(["[cosmic-ray]", *lines, "excluded-modules = []", "[cosmic-ray.distributor]", 'name = "local"'])
    (copy / "settings.toml").write_text(text + "\n", encoding="utf-8")


def _ray(copy: Path, *arguments: str) -> None:
    # The copy stands in front of what is installed; a compiled file could outlive the change that it was made of.
    environment = {
        "HYPOTHESIS_PROFILE": "quick",
        **os.environ,
        "PYTHONPATH": str(copy),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, "-c", "from cosmic_ray.cli import main; main()", *arguments]
    subprocess.run(command, cwd=copy, env=environment, check=True)  # noqa: S603 - a command of our own


def _leave_out(session: Any, path: Path) -> None:
    """Mark what is not to be made: operators left out, and what nothing runs."""
    work = import_module("cosmic_ray.work_item")
    skipped = work.WorkResult(worker_outcome=work.WorkerOutcome.SKIPPED)
    unread = list(_unread(ast.parse(path.read_text(encoding="utf-8"))))
    for item in session.pending_work_items:
        (mutation,) = item.mutations
        if LEFT_OUT.match(mutation.operator_name) or any(
            begin <= mutation.start_pos and mutation.end_pos <= end for begin, end in unread
        ):
            session.set_result(item.job_id, skipped)


def _unread(tree: ast.AST) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Give where annotations stand, which nothing evaluates, and patterns, in which ``|`` is no operator."""
    for node in ast.walk(tree):
        for each in (getattr(node, "annotation", None), getattr(node, "returns", None), node):
            if isinstance(each, ast.expr | ast.pattern) and (each is not node or isinstance(each, ast.pattern)):
                yield (each.lineno, each.col_offset), (each.end_lineno or 0, each.end_col_offset or 0)


def _mutants(session: Any) -> Iterator[Mutant]:
    for item, result in session.completed_work_items:
        if result.worker_outcome == "skipped":
            continue
        (mutation,) = item.mutations
        changed = [line[1:].strip() for line in (result.diff or "").splitlines() if re.match(r"\+(?!\+\+ )", line)]
        yield Mutant(mutation.start_pos[0], mutation.operator_name, " ".join(changed), not result.is_killed)
