"""What is shown of one source: the lines that say something about it, and its text by its unit."""

from __future__ import annotations

import re
from typing import NamedTuple

from streamcite.source import Source, SourceUnit

_ABOUT = re.compile(r"(Title|URL|Updated): ?([^\n]*?)\r?(?:\n|\Z)")
_EMPTY_LINE = re.compile("\r?\n")
_BLOCK_LABEL = re.compile(r"\[Block[0-9]+\]\r?(?:\n|\Z)")
_KIND = re.compile("turn[0-9]+([A-Za-z]+)[0-9]+|(block)[0-9]+")


class About(NamedTuple):
    """What the first lines of a source say about it.

    Attributes:
        fields: title, URL and date, as far as they are known.
        end: where the text begins: behind them, and behind an empty line.
        parted: whether there is an empty line.
    """

    fields: dict[str, str]
    end: int
    parted: bool


def read_about(content: str) -> About:
    """Read the lines in front of a text."""
    fields: dict[str, str] = {}
    end = 0
    while (line := _ABOUT.match(content, end)) and line[1].lower() not in fields:
        fields[line[1].lower()] = line[2]
        end = line.end()
    parting = _EMPTY_LINE.match(content, end)
    return About(fields, parting.end() if parting else end, parting is not None)


def read_source(id: str, content: str, unlabelled: SourceUnit) -> Source:
    """Build a source from what is shown of it.

    Args:
        id: its id.
        content: all that stands behind it.
        unlabelled: what the text is if it has neither numbered lines nor a label.

    Raises:
        ValueError: nothing can have this id.
    """
    about = read_about(content)
    text, unit = _read_text(content[about.end :], unlabelled)
    if not text and not about.parted and unit == "document":
        unit = "lines"  # of which there is none
    named = _KIND.fullmatch(id)
    return Source(
        id,
        text,
        title=about.fields.get("title"),
        url=about.fields.get("url"),
        updated=about.fields.get("updated"),
        kind=(named[1] or named[2]) if named else "",
        unit=unit,
    )


def _read_text(body: str, unlabelled: SourceUnit) -> tuple[str, SourceUnit]:
    if (lines := _read_lines(body)) is not None:
        return lines, "lines"
    if label := _BLOCK_LABEL.match(body):
        return body[label.end() :], "block"
    return body, unlabelled


def _read_lines(body: str) -> str | None:
    """Take the numbers off lines, up to the first line that has not the next one; None if the first has none."""
    lines: list[str] = []
    end = 0
    while (begin := _behind_label(body, end, len(lines) + 1)) is not None:
        end = body.find("\n", begin) + 1 or len(body)
        lines.append(body[begin:end])
    if not lines:
        return None
    # Where more follows, the line break in front of it, or of the empty line in front of it, is none of the text.
    return "".join(lines).removesuffix("" if end == len(body) or body.startswith("\n\n", end) else "\n")


def _behind_label(body: str, start: int, number: int) -> int | None:
    label = f"[L{number}]"
    if not body.startswith(label, start):
        return None
    end = start + len(label)
    if body.startswith(" ", end):
        return end + 1
    # An empty line may have lost its space on the way.
    return end if end == len(body) or body.startswith(("\n", "\r\n"), end) else None
