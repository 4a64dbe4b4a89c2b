"""Where the command shows an answer while it streams: a renderer, and standard output."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Protocol, Self

from streamcite import ResolvedEvent
from streamcite.render.controls import without_controls
from streamcite.render.plain import PlainRenderer
from streamcite.render.stage import Renderer

from .output import Output

# Names of terminals of which nothing is known.
_INCAPABLE = {"", "dumb", "unknown"}

# Seconds between two drawings, at least: as often as makes it look smooth.
_PAUSE = 0.04


class View(Protocol):
    """Show an answer within a ``with`` block.

    Attributes:
        pause: the seconds that should pass before `draw` is called again.
    """

    pause: float

    def ask(self, question: str, whom: str) -> None:
        """Show what is asked, and whom."""

    def __enter__(self) -> Self:
        """Begin the answer."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End the answer, with its sources unless it has broken off."""

    def feed(self, events: Iterable[ResolvedEvent]) -> None:
        """Show events, at once or when `draw` is called."""

    def draw(self) -> None:
        """Show what is not shown yet; it is called several times a second."""


def best_view(plain: Renderer | None = None) -> View:
    """Give the view for standard output: drawn where it is a terminal that can do that, else plain text.

    Args:
        plain: what writes plain text; by default a `PlainRenderer`.
    """
    output = Output()
    if os.environ.get("TERM", "").lower() in _INCAPABLE or not output.isatty():
        # What is a pipe here may lead to a terminal, and who wants the answer byte for byte takes another command.
        return Plain(plain or PlainRenderer(), output, end="\n", controls=False)
    return Drawn(output)


class Plain:
    """Write what a renderer makes of an answer, each piece at once: a `View` that draws nothing.

    Args:
        renderer: what makes text of the events.
        output: where to.
        end: what is written at the end of an answer after which the renderer writes nothing.
        controls: whether control codes in the answer are written; else U+FFFD stands for each.
    """

    def __init__(self, renderer: Renderer, output: Output, *, end: str = "", controls: bool = True) -> None:
        self.pause: float = _PAUSE
        self._renderer = renderer
        self._output = output
        self._end = end
        self._made_safe: Callable[[str], str] = str if controls else without_controls

    def ask(self, question: str, whom: str) -> None:
        """Show nothing: the answer is the output."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None:
            self._output.write(self._made_safe(self._renderer.close() or self._end))
            self._output.finish()

    def feed(self, events: Iterable[ResolvedEvent]) -> None:
        """Write events."""
        self._output.write(self._made_safe(self._renderer.feed(events)))

    def draw(self) -> None:
        """Show nothing: all is written at once."""


class Hidden:
    """Show nothing of an answer that is printed later: a `View`."""

    pause: float = _PAUSE

    def ask(self, question: str, whom: str) -> None:
        """Show nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Show nothing."""

    def feed(self, events: Iterable[ResolvedEvent]) -> None:
        """Show nothing."""

    def draw(self) -> None:
        """Show nothing."""


class Drawn:
    """Draw an answer in the terminal that is standard output: a `View` in colour."""

    def __init__(self, output: Output) -> None:
        from streamcite.render.terminal import TerminalRenderer  # what it takes is loaded where it is used

        self.pause: float = _PAUSE
        self._output = output
        self._renderer = TerminalRenderer()

    def ask(self, question: str, whom: str) -> None:
        """Show what is asked, and whom."""
        self._output.write(self._renderer.ask(question, whom))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # Also of an answer that broke off: what has come is now printed.
        self._output.write(self._renderer.close() if error is None else self._renderer.interrupt())

    def feed(self, events: Iterable[ResolvedEvent]) -> None:
        """Take events."""
        self._renderer.feed(events)

    def draw(self) -> None:
        """Draw what has come since the last time."""
        began = time.monotonic()
        self._output.write(self._renderer.draw())
        # However much there is to draw, most of the time is left to read.
        self.pause = max(_PAUSE, 4 * (time.monotonic() - began))
