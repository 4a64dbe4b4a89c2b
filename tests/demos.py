"""What ``streamcite demo`` is to show of an answer, and what a terminal of this process gets to show."""

import os
import pty
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout, suppress
from typing import Any

import pytest

from streamcite import Citation, parse
from streamcite.testing import RecordedAnswer
from tests.processes import ENVIRONMENT
from tests.screen import Screen

KEY = {"OPENAI_API_KEY": "any"}


def numbered(answer: RecordedAnswer) -> tuple[str, list[str]]:
    """What a reader is to see of an answer, and its sources in the order of their numbers."""
    text, order = "", []
    for event in parse(answer.text, complete=True):
        text += str(event)
        for source_id in dict.fromkeys(event.source_ids) if isinstance(event, Citation) else ():
            if source_id not in order:
                order.append(source_id)
            text += f"[{order.index(source_id) + 1}]"
    return text, order


def cited_lines(answer: RecordedAnswer, source_id: str) -> list[str]:
    """The lines of a source that an answer cites, found without its parser."""
    lines: set[int] = set()
    for first, last in re.findall(rf"{source_id}\ue202L(\d+)(?:[-–]L?(\d+))?", answer.text):
        lines.update(range(int(first), int(last or first) + 1))
    texts = answer.sources[source_id].text.split("\n")
    return [f"L{line} {texts[line - 1]}" for line in sorted(lines)]


# In a pipe


def plain_text(answer: RecordedAnswer) -> str:
    text, order = numbered(answer)
    entries = []
    for number, source_id in enumerate(order, 1):
        source, lines = answer.sources[source_id], [int(line.split()[0][1:]) for line in cited_lines(answer, source_id)]
        entries.append(f"{number}. {source.title}{ranges(lines)}: {source.url}\n")
    aloud = re.sub(r"(?:\[\d\])+", in_words, text)
    return f"{aloud.rstrip()}\n\nSources:\n{''.join(entries)}"


def in_words(found: re.Match[str]) -> str:
    *first, last = dict.fromkeys(re.findall(r"\d", found[0]))
    words = f"(sources {', '.join(first)} and {last})" if first else f"(source {last})"
    before, behind = found.string[: found.start()], found.string[found.end() :]
    return " " * (not before[-1:].isspace()) + words + " " * behind[:1].isalnum()


def ranges(lines: list[int]) -> str:
    firsts = [line for line in lines if line - 1 not in lines]
    lasts = [line for line in lines if line + 1 not in lines]
    spans = [f"{first} to {last}" if last > first else f"{first}" for first, last in zip(firsts, lasts, strict=True)]
    return f", line{'s' * (len(lines) > 1)} {', '.join(spans)}" if lines else ""


def seen(output: bytes, *, columns: int = 80, rows: int = 24) -> Screen:
    screen = Screen(output, columns=columns, rows=rows)
    assert screen.cursor_shown
    assert screen.wrapped == []
    assert [line for line in screen.lines if line != line.rstrip()] == []
    return screen


def in_terminal(show: Callable[[], None], **env: str) -> bytes:
    """Give what a terminal of this process gets to show, since the client takes a second to load in another."""
    master, slave = pty.openpty()
    with ThreadPoolExecutor(1) as pool, pytest.MonkeyPatch.context() as patch:
        for name in os.environ.keys() - ENVIRONMENT:
            patch.delenv(name)
        for name, value in {"TERM": "xterm-256color", **KEY, **env}.items():
            patch.setenv(name, value)
        output = pool.submit(read_to_end, master)
        with os.fdopen(slave, "w") as file, redirect_stdout(file):
            show()
    return output.result()


def drawn(show: Callable[[], None], *, columns: int = 80, rows: int = 24, **env: Any) -> Screen:
    output = in_terminal(show, COLUMNS=str(columns), LINES=str(rows), **env)
    return seen(output, columns=columns, rows=rows)


def read_to_end(terminal: int) -> bytes:
    output = b""
    with (
        os.fdopen(terminal, "rb", buffering=0) as file,
        suppress(OSError),
    ):  # so Linux says that the other end is closed
        while piece := file.read(65536):
            output += piece
    return output
