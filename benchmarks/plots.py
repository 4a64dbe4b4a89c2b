"""The plots of the report, drawn from the figures that have a place in one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from itertools import chain, cycle
from pathlib import Path
from typing import Any, TypeAlias

from .report import Figure

OURS = "streamcite"

# The points of each line, or the one of each bar.
Lines: TypeAlias = dict[str, list[tuple[Any, float]]]


@dataclass(frozen=True)
class Plot:
    """One plot.

    Attributes:
        title: what it shows.
        below: what its x is.
        beside: what its figures are.
        straight: whether a step along an axis adds, and does not multiply.
    """

    title: str
    below: str
    beside: str
    straight: bool = False


PLOTS = {
    "length": Plot("An answer that grows", "deltas of the answer", "cost of a delta / of one handed on as it is"),
    "density": Plot(
        "Citations in an answer",
        "citations in 1,000 characters",
        "cost of a delta / of one handed on as it is",
        straight=True,
    ),
    "relay": Plot("A relay, per event", "", "cost / of a pump of bytes"),
}


def draw(figures: Iterable[Figure], folder: Path) -> dict[str, str]:
    """Draw each plot that has figures.

    Args:
        figures: all that were measured.
        folder: where the plots go, as SVG.

    Returns:
        The file's name of each plot that was drawn.
    """
    found = {name: lines for name in PLOTS if (lines := points(figures, name))}
    if not found:
        return {}
    matplotlib: Any = import_module("matplotlib")
    matplotlib.use("agg")
    pyplot: Any = import_module("matplotlib.pyplot")
    # Text stays text, and the same figures give the same file.
    settings = {"svg.fonttype": "none", "svg.hashsalt": "streamcite", "axes.spines.top": False}
    files: dict[str, str] = {}
    series = dict.fromkeys(each for lines in found.values() for each in lines)
    colours = dict(zip(series, cycle(pyplot.get_cmap("tab10").colors)))
    with matplotlib.rc_context({**settings, "axes.spines.right": False, "font.size": 9}):
        for name, lines in found.items():
            plot = PLOTS[name]
            canvas, axes = pyplot.subplots(figsize=(7, 4), layout="constrained")
            (_bars if isinstance(next(iter(lines.values()))[0][0], str) else _lines)(axes, lines, plot, colours)
            axes.set_title(plot.title, loc="left")
            files[name] = f"{name}.svg"
            canvas.savefig(folder / files[name], metadata={"Date": None})
            pyplot.close(canvas)
    return files


def points(figures: Iterable[Figure], plot: str) -> Lines:
    """Give the lines of a plot: for each series, its points."""
    found: Lines = {}
    for figure in figures:
        if figure.point and figure.point.plot == plot:
            found.setdefault(figure.point.series, []).append((figure.point.x, figure.value))
    return found


def _lines(axes: Any, drawn: Lines, plot: Plot, colours: Mapping[str, Any]) -> None:
    for series, line in drawn.items():
        width = 2.5 if series == OURS else 1
        axes.plot(
            *zip(*sorted(line), strict=True),
            color=colours[series],
            marker="o",
            markersize=3,
            linewidth=width,
            label=series,
        )
    if plot.straight:
        axes.set_ylim(bottom=0)
    else:
        axes.set_xscale("log")
        axes.set_yscale("log")
        places = sorted({x for line in drawn.values() for x, _ in line})
        axes.set_xticks(places, [f"{place:,}" for place in places])
        axes.minorticks_off()
        axes.yaxis.set_major_formatter("{x:g}")
    axes.set_xlabel(plot.below)
    axes.set_ylabel(plot.beside)
    axes.legend(frameon=False, fontsize=8)


def _bars(axes: Any, drawn: Lines, plot: Plot, colours: Mapping[str, Any]) -> None:
    """Draw a group of bars for each name, the cheapest on top."""
    cost: dict[str, float] = {}
    for x, value in chain.from_iterable(drawn.values()):
        cost[x] = max(value, cost.get(x, 0))
    names = sorted(cost, key=lambda name: cost[name], reverse=True)
    height = 0.8 / len(drawn)
    for number, (series, bars) in enumerate(drawn.items()):
        places = [names.index(x) - number * height for x, _ in bars]
        values = [value for _, value in bars]
        axes.bar_label(axes.barh(places, values, height, color=colours[series], label=series), fmt="%.2f", padding=3)
    axes.set_yticks([place - height * (len(drawn) - 1) / 2 for place in range(len(names))], names)
    axes.set_xlabel(plot.beside)
    if len(drawn) > 1:
        axes.legend(frameon=False, fontsize=8, loc="upper right")
