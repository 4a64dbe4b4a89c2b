"""The figures of the relay in the README: taken from the report, so that both say the same."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
BEGIN, END = "<!-- relay figures, written by make report -->", "<!-- end of the relay figures -->"
# What stands in a row, and under which name the report has it.
ROWS: Mapping[str, str] = {
    "nginx, which looks into nothing": "nginx / pump",
    "streamcite": "relay / pump",
    "streamcite, where messages show sources": "relay with sources / pump",
    "a FastAPI handler on the openai client": "FastAPI handler / pump",
    "litellm": "litellm / pump",
}
KINDS: Mapping[str, str] = {"an event a read": "paced", "in bursts": "burst"}
AT_ONCE = "streams at once with 2 events a second, at which a pump adds 20 ms at most"
ADDED = "p99.9 of what the relay adds to that, in ms"


def write(folder: Path, readme: Path = README) -> None:
    """Write the figures of the report in a folder into the README.

    Raises:
        ValueError: as `written`.
    """
    report = (folder / "REPORT.md").read_text("utf-8")
    readme.write_text(written(readme.read_text("utf-8"), report), encoding="utf-8")


def written(readme: str, report: str) -> str:
    """Give the README with the figures of a report.

    Args:
        readme: the README, with the comments between which they stand.
        report: the text of the report.

    Raises:
        ValueError: the README has no such comments.
    """
    found = re.search(rf"^( *){re.escape(BEGIN)}\n(?:.*\n)*?( *){re.escape(END)}$", readme, re.MULTILINE)
    if found is None:
        raise ValueError(f"README.md: there is no {BEGIN}")
    lines = [BEGIN, *_lines(_figures(report)), END]
    return readme[: found.start()] + "\n".join(f"{found[1]}{line}".rstrip() for line in lines) + readme[found.end() :]


def _figures(report: str) -> dict[str, str]:
    """Give what a report says of the relay, by name."""
    section = report.partition("\n## The relay\n")[2].partition("\n## ")[0]
    rows = (line.strip("|").split("|") for line in section.splitlines() if line.startswith("| "))
    return {name.strip(): value.strip() for name, value, *_ in rows}


def _lines(figures: Mapping[str, str]) -> Iterator[str]:
    yield ""
    yield f"| CPU time for each event, beside a bare pump of bytes | {' | '.join(KINDS)} |"
    yield f"|---|{'---|' * len(KINDS)}"
    for shown, name in ROWS.items():
        cells = [figures.get(f"{name}: {kind}", "") for kind in KINDS.values()]
        if any(cells):
            yield f"| {shown} | {' | '.join(cells)} |"
    yield ""
    if ADDED in figures:
        streams, added = figures[AT_ONCE], figures[ADDED]
        yield f"With {streams} streams at once, 99.9 % of events come at most {added} ms later than those of the pump."
        yield ""
