"""How many small changes to the core no test notices: what `mutation` finds, as the report shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module

from mutation.scores import MODULES, MOST, Score, score

from .report import Figure, Result, Table

QUICK = {"modules": ("streamcite/format.py",)}


def figures(*, modules: Sequence[str] = tuple(MODULES), scored: Callable[[str], Score] = score) -> Iterator[Result]:
    """Score each module, and print what no test notices.

    Args:
        modules: their files.
        scored: what makes the changes.

    Raises:
        ModuleNotFoundError: cosmic-ray is not installed.
    """
    import_module("cosmic_ray")
    rows = []
    for module in modules:
        found = scored(module)
        print(found)
        yield Figure(f"changes that no test notices, of all: {module}", found.unnoticed, MOST)
        yield Figure(f"of these, without a reason that none can: {module}", len(found.unexplained), 0)
        rows.append([module, str(len(found.mutants)), str(len(found.survivors)), str(len(found.unexplained))])
    note = "Each reason stands in `mutation/survivors.toml`; most are changes that make no difference."
    yield Table("Changes to the core, one at a time", ["", "changes", "unnoticed", "unexplained"], rows, note)
