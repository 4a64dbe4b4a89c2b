"""Citations as links or footnotes in the text itself, for readers that know no annotations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from streamcite.events import Event, OtherMarker, raw_of
from streamcite.format import CitationFormat
from streamcite.render.markdown import MarkdownRenderer
from streamcite.resolve import Resolver
from streamcite.sources import Source
from streamcite.spacing import Spacing, Tidy

Render: TypeAlias = Literal["links", "footnotes"]


class Written:
    """Write the citations of one text into it, as `MarkdownRenderer` does: a stage after its parser.

    Args:
        render: the renderer's style.
        sources: what citations point to.
        format: that of the parser.
        spacing: as for `iter_events`.
    """

    def __init__(
        self, render: Render, sources: Mapping[str, Source], format: CitationFormat, spacing: Spacing = "exact"
    ) -> None:
        self._resolver = Resolver(sources, format=format)
        self._tidy = Tidy() if spacing == "tidy" else None
        self._renderer = MarkdownRenderer(render)
        self._closed = False

    @property
    def held(self) -> str:
        """Give nothing: what is not shown yet stands in no later event's raw text."""
        return ""

    @property
    def holds(self) -> bool:
        """Say that something may still come, until the end."""
        return not self._closed

    def feed(self, events: Sequence[Event]) -> list[Event]:
        """Read the next events, and give one that shows what came of them; or these, if that is the same."""
        resolved: list[Any] = self._resolver.feed(events)
        if self._tidy is not None:
            resolved = [*self._tidy.feed(resolved)]
        return _shown(events, self._renderer.feed(resolved))

    def close(self) -> list[Event]:
        """Give an event that shows the rest."""
        self._closed = True
        resolved: list[Any] = self._resolver.close()
        if self._tidy is not None:
            resolved = [*self._tidy.feed(resolved), *self._tidy.close()]
        return _shown([], self._renderer.feed(resolved) + self._renderer.close())


def _shown(events: Sequence[Event], text: str) -> list[Event]:
    if all(isinstance(event, str) for event in events) and text == "".join(map(str, events)):
        return [*events]
    raw = "".join(map(raw_of, events))
    return [OtherMarker(family="", fields=(), raw=raw, text=text, start=0, position=0)]
