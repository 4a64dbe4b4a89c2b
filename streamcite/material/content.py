"""What is shown of one source, written and read: the lines that say something about it, and its text by its unit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

from streamcite.ids import kind_of
from streamcite.source import Source, SourceUnit

from .joining import join

# What a line says of a source, by the field that holds it.
_LABELS = {"title": "Title", "url": "URL", "updated": "Updated"}
_FIELDS = {label: name for name, label in _LABELS.items()}
_ABOUT = re.compile(rf"({'|'.join(_FIELDS)}): ?([^\n]*?)\r?(?:\n|\Z)")
_EMPTY_LINE = re.compile("\r?\n")
_BLOCK_LABEL = "[Block1]"
_ANY_BLOCK_LABEL = re.compile(r"\[Block[0-9]+\]\r?(?:\n|\Z)")
_LINE_LABEL = "[L%d]"
# Lines are numbered in pieces of at least this many code points, so that no list of all lines is ever in memory.
_PIECE = 2**16


class About(NamedTuple):
    """What the first lines of a source say about it.

    Attributes:
        fields: title, URL and date, as far as they are known.
        end: where the text begins: after them, and after an empty line.
        parted: whether there is an empty line.
    """

    fields: dict[str, str]
    end: int
    parted: bool


def write_about(source: Source) -> str:
    """Write the lines before a text: those of what is known."""
    known = ((label, getattr(source, name)) for name, label in _LABELS.items())
    return "".join(f"{label}: {value}\n" for label, value in known if value is not None)


def read_about(content: str) -> About:
    """Read what `write_about` writes."""
    fields: dict[str, str] = {}
    end = 0
    while (line := _ABOUT.match(content, end)) and (name := _FIELDS[line[1]]) not in fields:
        fields[name] = line[2]
        end = line.end()
    parting = _EMPTY_LINE.match(content, end)
    return About(fields, parting.end() if parting else end, parting is not None)


def write_text(source: Source) -> str:
    """Write a text by its unit, after an empty line, which is left out where there is no line to show."""
    match source.unit:
        case "lines":
            return f"\n{_write_lines(source.text)}" if source.text else ""
        case "block":
            return f"\n{_BLOCK_LABEL}\n{source.text}"
        case _:
            return f"\n{source.text}"


def read_source(id: str, content: str, unlabelled: SourceUnit) -> Source:
    """Build a source from what `write_about` and `write_text` show of it.

    Args:
        id: its id.
        content: all that stands after it.
        unlabelled: what the text is if it has neither numbered lines nor a label.

    Raises:
        ValueError: nothing can have this id.
    """
    about = read_about(content)
    text, unit = _read_text(content[about.end :], unlabelled)
    if not text and not about.parted and unit == "document":
        unit = "lines"  # of which there is none
    return Source(
        id,
        text,
        title=about.fields.get("title"),
        url=about.fields.get("url"),
        updated=about.fields.get("updated"),
        kind=kind_of(id),
        unit=unit,
    )


def _read_text(body: str, unlabelled: SourceUnit) -> tuple[str, SourceUnit]:
    if (lines := _read_lines(body)) is not None:
        return lines, "lines"
    if label := _ANY_BLOCK_LABEL.match(body):
        return body[label.end() :], "block"
    return body, unlabelled


def _write_lines(text: str) -> str:
    pieces: list[str] = []
    begin, number = 0, 1
    while begin < len(text):
        end = text.find("\n", begin + _PIECE) + 1 or len(text)
        lines = text[begin:end].removesuffix("\n").split("\n")
        pieces.append("\n".join(map(f"{_LINE_LABEL} %s".__mod__, enumerate(lines, number))))
        if text.endswith("\n", begin, end):
            pieces.append("\n")
        begin, number = end, number + len(lines)
    return "".join(pieces)


def _read_lines(body: str) -> str | None:
    """Take the numbers off lines, up to the first line that has not the next one; None if the first has none."""
    end = 0

    def lines() -> Iterator[str]:
        nonlocal end
        numbers = count(1)
        while (begin := _behind_label(body, end, next(numbers))) is not None:
            end = body.find("\n", begin) + 1 or len(body)
            yield body[begin:end]

    text = join(lines())
    if not end:
        return None
    # Where more follows, the line break before it, or of the empty line before it, is not part of the text.
    return text.removesuffix("" if end == len(body) or body.startswith("\n\n", end) else "\n")


def _behind_label(body: str, start: int, number: int) -> int | None:
    label = _LINE_LABEL % number
    if not body.startswith(label, start):
        return None
    end = start + len(label)
    if body.startswith(" ", end):
        return end + 1
    # An empty line may have lost its space on the way.
    return end if end == len(body) or body.startswith(("\n", "\r\n"), end) else None
