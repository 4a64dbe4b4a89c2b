"""What all renderers have in common: events in, text out, each in the order it came."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from itertools import islice

from streamcite.events import check_event, check_iterable
from streamcite.links import Cited, Link, Resolved, ResolvedEvent

from .cited import CitedSources


class RendererClosed(RuntimeError):
    """Raised by the ``feed`` of a renderer after its ``close``: a mistake in the program, never of the input."""


class Renderer(ABC):
    """Make text of the events of one answer, as they come: a stage after a `Resolver`. Sans-I/O.

    What is given out, joined, does not depend on how the events were cut into feeds, nor the text into deltas. A
    citation is given out in one piece. Nothing in the input raises. Linear in the answer.
    """

    def __init__(self) -> None:
        self._closed = False
        self._out: list[str] = []
        self._cited = CitedSources()

    def feed(self, events: Iterable[ResolvedEvent]) -> str:
        """Read the next events, and give what is certain of the output.

        Args:
            events: what a `Resolver` handed out; may be empty.

        Raises:
            RendererClosed: `close` was called before.
            TypeError: they are not an iterable of events of a resolver, or one text.
        """
        self.read(events)
        return self._given_out()

    def read(self, events: Iterable[ResolvedEvent]) -> None:
        """Read the next events as `feed` does, but give nothing out yet."""
        if type(events) is not list:  # as it is nearly always
            check_iterable(events)
        if self._closed:
            raise RendererClosed("feed() after close(): make a new renderer for a new answer")
        for event in events:
            if isinstance(event, str):
                text = event
            elif isinstance(event, Cited | Resolved):
                self._cited.add(event.links)
                text = event.text
                if isinstance(event, Resolved):
                    self._resolve(event)
                elif not text:
                    self._cite(event)
            else:
                check_event(event, ResolvedEvent, "a Resolver")
                text = event.text
            if text:
                self._write(text)

    def close(self) -> str:
        """Say that the answer has ended, and give the rest of the output; from a second call on nothing."""
        if not self._closed:
            self._closed = True
            self._end()
        return self._given_out()

    def _given_out(self) -> str:
        text = "".join(self._out)
        self._out.clear()
        return text

    @abstractmethod
    def _write(self, text: str) -> None:
        """Take text that the reader sees; not empty."""

    @abstractmethod
    def _cite(self, cited: Cited) -> None:
        """Take a citation."""

    @abstractmethod
    def _resolve(self, resolved: Resolved) -> None:
        """Take what became known of a citation that was pending."""

    @abstractmethod
    def _end(self) -> None:
        """Take the end of the answer."""


class Waiting:
    """Keep the citations that stand at one place until it is known where they are drawn.

    What becomes known of one until then is drawn; later it is not, since nothing is taken back.
    """

    def __init__(self) -> None:
        self._links: dict[int, tuple[Link, ...]] = {}

    def add(self, cited: Cited) -> None:
        """Take the next citation."""
        self._links[cited.index] = cited.links

    def update(self, resolved: Resolved) -> None:
        """Take what became known of one, if it is still here."""
        if resolved.index in self._links:
            self._links[resolved.index] = resolved.links

    def take(self, count: int | None = None) -> list[Link]:
        """Give the links of the next so many, or of all, each number once, and forget them; none without a source."""
        by_number: dict[int, Link] = {}
        for index in list(islice(self._links, count)):
            for link in self._links.pop(index):
                if link.number is not None:
                    by_number.setdefault(link.number, link)
        return list(by_number.values())


def blank_line(last: str) -> str:
    """Give what makes a blank line, or the beginning of the text, of the place after these last two characters."""
    return "" if not last or last.endswith("\n\n") else "\n" if last.endswith("\n") else "\n\n"
