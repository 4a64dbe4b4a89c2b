"""The demo's answer where standard output is no terminal: text without control codes, each piece at once."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import Self

from .cited import CitedSource
from .output import Output


class Plain:
    """Write an answer as plain text: a `View` without control codes."""

    def __init__(self) -> None:
        self._output = Output()

    def ask(self, question: str, model: str, base_url: str) -> None:
        """Show nothing: the answer is the output."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None:
            self._output.finish()
            self._output.write("\n")

    def write(self, text: str) -> None:
        """Write a piece of the answer."""
        self._output.write(text)

    def cite(self, source: CitedSource) -> None:
        """Write the number of a source, where it is cited."""
        self._output.write(f"[{source.number}]")

    def draw(self) -> None:
        """Show nothing: all is written at once."""

    def sources(self, sources: Iterable[CitedSource]) -> None:
        """Write the list of sources."""
        self._output.write("\nSources\n")
        for source in sources:
            self._output.write(_entry(source))


def _entry(cited: CitedSource) -> str:
    source, lines = cited.source, cited.lines()
    head = f"\n[{cited.number}] {source.title or source.id}"
    if not source.text and cited.locators:
        head += f" ({', '.join(cited.locators)})"
    return "\n    ".join([head, *filter(None, [source.url]), *(" ".join(line) for line in lines)]) + "\n"
