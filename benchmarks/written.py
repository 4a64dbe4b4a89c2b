"""REPORT.md, written from what was measured."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from . import plots, targets
from .asserted import ASSERTED
from .report import Figure, Table, shown
from .results import Results
from .suites import SUITES

FOLDER = Path(__file__).parent
HEAD = """\
# What it costs, and what others do

`make report` measures all of this and writes it. Each figure is a ratio within one run, in CPU time, the least of
several passes, or a number of bytes. What a shape is, and what it must give, stands in `shapes.py`; tests assert it.
"""


def write(results: Results, folder: Path = FOLDER) -> None:
    """Write the report and its plots.

    Args:
        results: what was measured.
        folder: where they go.

    Raises:
        ValueError: nothing was measured.
    """
    if not results.suites:
        raise ValueError("nothing was measured: there is no report")
    drawn = plots.draw([*results.figures], folder)
    (folder / "REPORT.md").write_text("\n".join(lines(results, drawn)) + "\n", encoding="utf-8")


def lines(results: Results, drawn: dict[str, str]) -> Iterator[str]:
    """Give the lines of the report.

    Args:
        results: what was measured.
        drawn: the file of each plot.
    """
    yield HEAD
    yield f"Measured on: {', '.join(f'{name} {version}' for name, version in results.machine.items())}."
    if results.quick:
        yield f"\n**A quick run**: rough figures of {', '.join(sorted(results.quick))}."
    yield from _targets(results)
    for name, file in drawn.items():
        yield f"\n![{plots.PLOTS[name].title}]({file})"
    for suite, title in SUITES.items():
        yield f"\n## {title}\n"
        yield from _suite(results, suite)
    yield "\n## What tests assert\n"
    yield from _table(["", "test"], [[what, f"`{test}`"] for what, test in ASSERTED.items()])


def _targets(results: Results) -> Iterator[str]:
    decided = [*targets.rows(results.suites)]
    met = sum(figure is not None and figure.value <= target.limit for target, figure in decided)
    yield f"\n## Targets\n\n{met} of {len(decided)} are met. Where there are several figures, the worst counts.\n"
    yield from _table(
        ["", "measured", "at most", ""], [[target.what, *_decided(target, figure)] for target, figure in decided]
    )


def _decided(target: targets.Target, figure: Figure | None) -> Sequence[str]:
    limit = f"{target.limit:g}"
    if figure is None:
        return ["", limit, "**not measured**"]
    return [shown(figure.value), limit, targets.verdict(target.limit, figure.value)]


def _suite(results: Results, suite: str) -> Iterator[str]:
    if suite not in results.suites:
        reason = results.missing.get(suite)
        yield f"Not measured: {reason}." if reason else "Not measured."
        return
    found = results.suites[suite]
    figures = [each for each in found if isinstance(each, Figure) and each.listed]
    if figures:
        rows = [[_escaped(each.name), shown(each.value), _limit(each), _verdict(each)] for each in figures]
        yield from _table(["", "measured", "at most", ""], rows)
    for table in (each for each in found if isinstance(each, Table)):
        yield f"\n### {table.title}\n"
        # The documentation includes tables by these names.
        name = re.sub(r"\W+", "-", table.title.partition(",")[0].lower())
        yield f"<!-- --8<-- [start:{name}] -->"
        yield from _table(table.head, [[*map(_escaped, row)] for row in table.rows])
        yield f"<!-- --8<-- [end:{name}] -->"
        if table.note:
            yield f"\n{table.note}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _limit(figure: Figure) -> str:
    return "" if figure.limit is None else f"{figure.limit:g}"


def _verdict(figure: Figure) -> str:
    return "" if figure.limit is None else targets.verdict(figure.limit, figure.value)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")
