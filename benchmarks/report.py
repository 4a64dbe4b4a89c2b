"""What a benchmark gives: figures, each beside its limit, points of plots, and tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Point:
    """Where a figure stands in a plot.

    Attributes:
        plot: the plot, one of `benchmarks.plots.PLOTS`.
        series: the line, or the colour of bars, that it is part of.
        x: where on the line; the name of what the bar is of.
    """

    plot: str
    series: str
    x: float | str


@dataclass(frozen=True)
class Figure:
    """One line of a report.

    Attributes:
        name: what was measured.
        value: a ratio, or a number of bytes; an ``int`` if it counts things, as a quick run does exactly, too.
        limit: the most it may be; None if it is only reported.
        point: its place in a plot, if it has one.
        listed: whether it has a line of its own; a plot, or a table, may be enough.
    """

    name: str
    value: float
    limit: float | None = None
    point: Point | None = None
    listed: bool = True

    @property
    def missed(self) -> bool:
        """Say whether it is over its limit."""
        return self.limit is not None and self.value > self.limit

    def __str__(self) -> str:
        verdict = "" if self.limit is None else f"of {self.limit:6.2f}  {'OVER' if self.missed else 'ok'}"
        return f"{self.name:72} {shown(self.value):>8}  {verdict}".rstrip()


@dataclass(frozen=True)
class Table:
    """What no single figure says.

    Attributes:
        title: what it shows.
        head: the names of its columns.
        rows: its cells.
        note: what a reader must know of it.
    """

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""

    def __str__(self) -> str:
        widths = [max(map(len, column)) for column in zip(self.head, *self.rows, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in (self.head, *self.rows)]
        return "\n".join([f"\n{self.title}", *lines, *filter(None, [self.note]), ""])


Result: TypeAlias = Figure | Table


def shown(value: float) -> str:
    """Write a figure with as many digits as mean something; a number of things has no others."""
    if isinstance(value, int):
        return str(value)
    return f"{value:.3f}" if value < 0.1 else f"{value:.2f}" if value < 100 else f"{value:.0f}"
