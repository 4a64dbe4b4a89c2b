"""Where the citations of an answer stand in its text, and what is known of each by now: for every encoder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from streamcite.annotations import Unit, size_in
from streamcite.events import check_event
from streamcite.links import Cited, Resolved, ResolvedEvent
from streamcite.source import Source

from .writer import TextWriter


@dataclass(slots=True)
class Placed:
    """A citation in its place.

    Attributes:
        known: what is known of it by now; the last that a resolver said.
        offset: where it stands in the text of the answer, in the unit of `Places`.
    """

    known: Cited | Resolved
    offset: int

    @property
    def sources(self) -> dict[str, Source]:
        """Give the sources that are known, in the order of its links, by their ids."""
        return {link.source.id: link.source for link in self.known.links if link.source is not None}


class Places:
    """Tell the text of an answer from its citations, event by event.

    Args:
        unit: what offsets count.
    """

    def __init__(self, unit: Unit) -> None:
        self.unit: Unit = unit
        self._size = size_in(unit)
        self._pending: dict[int, Placed] = {}
        self._offset = 0
        self._writer: TextWriter | None = None
        self._counts = True  # whether text that is read is counted here

    @property
    def offset(self) -> int:
        """Give how long the text is so far."""
        if self._writer is not None:
            self._offset += self._writer.taken()
        return self._offset

    def writer(self, frame: bytes, numbers: Iterator[int], kept: list[str] | None = None) -> TextWriter:
        """Give what writes text that is learned so; the one before it is to write no more.

        Args:
            frame: as for `TextWriter`.
            numbers: as for `TextWriter`.
            kept: where all text is added, by the writer, and else by whoever has read it: then that is what counts.
        """
        self._offset = self.offset
        self._counts = kept is None
        self._writer = TextWriter(frame, numbers, unit=self.unit, kept=kept)
        return self._writer

    def read(self, event: ResolvedEvent) -> str | Placed:
        """Give what an event is to a reader.

        Returns:
            A citation, for a `Resolved` the one of its index; or text, which may be empty.

        Raises:
            TypeError: it is not an event of a resolver.
        """
        if isinstance(event, Cited) and not event.text:
            placed = Placed(event, self.offset)
        elif isinstance(event, Resolved):
            if event.index not in self._pending:
                return ""
            placed = self._pending.pop(event.index)
            placed.known = event
        else:
            check_event(event, ResolvedEvent, "a Resolver")
            text = str(event)
            if self._counts:
                self._offset += self._size(text)
            return text
        if event.pending:
            self._pending[event.index] = placed
        return placed
