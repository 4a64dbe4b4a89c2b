"""Run cosmic-ray on one module, in a copy of the checkout: it changes files in place."""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Container, Iterator, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, cast

SESSION = "session.sqlite"
ROOT = Path(__file__).parents[1]
COPIED = ("streamcite", "tests", "benchmarks", "mutation", "pyproject.toml")
# An operator is replaced by its opposite and by its neighbour. All others of the language are left out: a shift in the
# place of a sum is noticed by whatever runs the line, and would only make the score look better.
_BINARY = "Add_Sub|Add_Mul|Sub_Add|Sub_Mul|Mul_Add|Mul_Sub|Mod_Mul|BitOr_BitAnd|BitAnd_BitOr"
_COMPARED = (
    "Lt_LtE|Lt_GtE|LtE_Lt|LtE_Gt|Gt_GtE|Gt_LtE|GtE_Gt|GtE_Lt|Eq_NotEq|NotEq_Eq|Is_IsNot|IsNot_Is|In_NotIn|NotIn_In"
)
LEFT_OUT = re.compile(f"core/Replace(?:BinaryOperator_(?!(?:{_BINARY})$)|ComparisonOperator_(?!(?:{_COMPARED})$))")
# Seconds of the processor that the first run of tests may take, and any other, many times what they do; more is an
# endless loop. By the clock it may be far more, for the rest of the machine goes first.
LIMITS = (10, 300)
TIMEOUT = 900.0
# Such a loop may also gather more and more.
MEMORY = 4 * 2**20  # KiB


class TestsFail(AssertionError):
    """Raised by `run` where tests fail without any change: they would seem to notice each change."""


@dataclass(frozen=True)
class Mutant:
    """One change.

    Attributes:
        job: cosmic-ray's name for it.
        row: the number of the line that it begins in.
        operator: what was changed, in cosmic-ray's words.
        line: the function, if it stands in one, and what it made of the line, without the spaces around.
        survived: whether all tests pass with it.
    """

    job: str
    row: int
    operator: str
    line: str
    survived: bool


def run(module: str, tests: Sequence[str], explained: Container[str]) -> list[Mutant]:
    """Make each change to a module and run its tests on it.

    Args:
        module: the path of its file.
        tests: arguments of Python, for one run after the other, each on what the ones before did not notice.
        explained: the lines that no test can notice: the first run is asked all the same, the others are not.

    Raises:
        TestsFail: they do so without any change.
    """
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        copy = Path(folder)
        for name in COPIED:
            place = ROOT / name
            if place.is_dir():
                shutil.copytree(place, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(place, copy)
        for number, arguments in enumerate(tests):
            _write_settings(copy, module, LIMITS[number > 0], f"{shlex.quote(sys.executable)} {arguments}")
            try:
                _ray(copy, "baseline", "settings.toml")
            except subprocess.CalledProcessError as error:
                raise TestsFail(f"{module}: fails without any change: {arguments}") from error
            if number == 0:
                _ray(copy, "init", "settings.toml", SESSION)
                with _session(copy) as session:
                    _leave_out(session, copy / module)
            else:
                with _session(copy) as session:
                    again = [each.job for each in _mutants(session) if each.survived and each.line not in explained]
                print(f"{module}: {len(again)} changes go on to {arguments}", flush=True)
                _forget(copy, again)
            _ray(copy, "exec", "settings.toml", SESSION)
        with _session(copy) as session:
            return sorted(_mutants(session), key=lambda mutant: mutant.row)


def _session(copy: Path) -> AbstractContextManager[Any]:
    database: Any = import_module("cosmic_ray.work_db")
    return cast("AbstractContextManager[Any]", database.use_db(str(copy / SESSION)))


def _forget(copy: Path, jobs: Sequence[str]) -> None:
    """Let cosmic-ray do these jobs again; it has no command for that."""
    with closing(sqlite3.connect(copy / SESSION)) as connection, connection:
        connection.executemany("DELETE FROM work_results WHERE job_id = ?", [(job,) for job in jobs])


def _write_settings(copy: Path, module: str, limit: int, command: str) -> None:
    limited = shlex.join(["bash", "-c", f"ulimit -t {limit} -v {MEMORY}; exec {command}"])
    settings = {"module-path": module, "timeout": TIMEOUT, "test-command": limited}
    lines = [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
    text = "\n".join(["[cosmic-ray]", *lines, "excluded-modules = []", "[cosmic-ray.distributor]", 'name = "local"'])
    (copy / "settings.toml").write_text(text + "\n", encoding="utf-8")


def _ray(copy: Path, *arguments: str) -> None:
    # The copy stands before what is installed; a compiled file could outlive the change that it was made of.
    environment = {
        "HYPOTHESIS_PROFILE": "ci",
        **os.environ,
        "PYTHONPATH": str(copy),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, "-c", "import sys, cosmic_ray.cli; sys.exit(cosmic_ray.cli.main())", *arguments]
    subprocess.run(command, cwd=copy, env=environment, check=True)  # noqa: S603 - a command of our own


def _leave_out(session: Any, path: Path) -> None:
    """Mark what is not to be made: operators left out, and what nothing runs."""
    work = import_module("cosmic_ray.work_item")
    skipped = work.WorkResult(worker_outcome=work.WorkerOutcome.SKIPPED)
    spans = list(unread(ast.parse(path.read_text(encoding="utf-8"))))

    def is_left_out(mutation: Any) -> bool:
        is_read = not any(begin <= mutation.start_pos and mutation.end_pos <= end for begin, end in spans)
        return bool(LEFT_OUT.match(mutation.operator_name)) or not is_read

    jobs = [item.job_id for item in session.pending_work_items if any(map(is_left_out, item.mutations))]
    session.set_multiple_results(jobs, skipped)


def unread(tree: ast.AST) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Give where annotations stand, which nothing evaluates, and patterns, in which ``|`` is not an operator.

    Nor does the program run what only a type checker reads.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == "TYPE_CHECKING":
            yield (node.lineno, node.col_offset), (node.lineno, node.end_col_offset or 0)
        for each in (getattr(node, "annotation", None), getattr(node, "returns", None), node):
            if isinstance(each, ast.expr | ast.pattern) and (each is not node or isinstance(each, ast.pattern)):
                yield (each.lineno, each.col_offset), (each.end_lineno or 0, each.end_col_offset or 0)


def _mutants(session: Any) -> Iterator[Mutant]:
    for item, result in session.completed_work_items:
        if result.worker_outcome != "normal":  # left out, or one of those that cosmic-ray cannot make
            continue
        (mutation,) = item.mutations
        changed = [line[1:].strip() for line in (result.diff or "").splitlines() if re.match(r"\+(?!\+\+ )", line)]
        line = ": ".join(filter(None, [mutation.definition_name, " ".join(changed)]))
        yield Mutant(item.job_id, mutation.start_pos[0], mutation.operator_name, line, not result.is_killed)
