"""What the demo asks of the places where it can show an answer."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import Protocol, Self

from .cited import CitedSource


class View(Protocol):
    """Show an answer as it comes: between the question and the list of sources, within a ``with`` block."""

    def ask(self, question: str, model: str, base_url: str) -> None:
        """Show what is asked, and whom."""

    def __enter__(self) -> Self:
        """Begin the answer."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End the answer, which may have broken off."""

    def write(self, text: str) -> None:
        """Show a piece of the answer, at once or when `draw` is called."""

    def cite(self, source: CitedSource) -> None:
        """Show the number of a source, where it is cited."""

    def draw(self) -> None:
        """Show what is not shown yet; it is called several times a second."""

    def sources(self, sources: Iterable[CitedSource]) -> None:
        """Show the list of sources."""
