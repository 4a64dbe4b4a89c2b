"""What an answer cites, gathered while it streams: the list of sources at its end."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain

from streamcite.links import Link
from streamcite.source import Source
from streamcite.units import line_range
from streamcite.urls import is_safe_url

from .hyperlinks import one_line

# As much of a block as tells a reader which it is, in code points.
_EXCERPT = 240
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t].*$", re.MULTILINE)


@dataclass(slots=True)
class CitedSource:
    """One document, as a reader takes it (`Source.identity`), and where in it an answer cites it.

    Attributes:
        number: that of its citations.
        sources: what of it is cited, by source id: itself, or its parts.
        locators: where in each of these, as the model wrote it, except for lines that are not there: the keys, in
            order.
    """

    number: int
    sources: dict[str, Source] = field(default_factory=dict)
    locators: dict[str, dict[str, None]] = field(default_factory=dict)

    def add(self, source: Source, link: Link) -> None:
        """Take a link to it or its part, and where in that, except for lines that are not there."""
        self.sources.setdefault(source.id, source)
        locators = self.locators.setdefault(source.id, {})
        if (locator := known_locator(link)) is not None:
            locators[locator] = None

    @property
    def title(self) -> str:
        """Give what it is called, as one line: by its title, else its URL if that is safe, else its id."""
        names = chain((source.title for source in self.sources.values()), [self.url], self.sources)
        return next(filter(None, (one_line(name or "") for name in names)), "?")

    @property
    def url(self) -> str | None:
        """Give where it is, if that is known, and is a link that is safe."""
        return next((source.url for source in self.sources.values() if source.url and is_safe_url(source.url)), None)

    def where(self, dash: str = "\N{EN DASH}") -> str:
        """Say where in it, such as ``lines 8-13, 20``; nothing where it is cited as a whole.

        Args:
            dash: what stands between the first and the last line of a range.
        """
        locators = list(dict.fromkeys(chain(*self.locators.values())))
        ranges = _merged(filter(None, map(line_range, locators)))
        lines = ", ".join(f"{first}{dash}{last}" if last > first else f"{first}" for first, last in ranges)
        several = len(ranges) > 1 or any(last > first for first, last in ranges)
        others = [one_line(locator) for locator in locators if line_range(locator) is None]
        return ", ".join(filter(None, [lines and f"line{'s' if several else ''} {lines}", *others]))

    def lines(self) -> Iterator[tuple[str, str]]:
        """Give the cited lines that are there, in the order of the source: a label such as ``L8``, and the text.

        Of a block or a document that is cited as a whole it is how its text begins, after headings, without a label.
        """
        for source_id, source in self.sources.items():
            if source.unit != "lines" and not self.locators[source_id] and source.text.strip():
                yield "", _excerpt(source.text)
            cited = filter(None, map(line_range, self.locators[source_id]))
            texts = source.text.split("\n") if source.text else []
            for first, last in _merged(cited):
                for number in range(max(first, 1), min(last, len(texts)) + 1):
                    yield f"L{number}", texts[number - 1]


class CitedSources:
    """Gather what is cited, in the order of the numbers."""

    def __init__(self) -> None:
        self._by_number: dict[int, CitedSource] = {}

    def add(self, links: Iterable[Link]) -> None:
        """Take the links of a citation; those without a source are passed over."""
        for link in links:
            if link.source is None or link.number is None:
                continue
            self._by_number.setdefault(link.number, CitedSource(link.number)).add(link.source, link)

    def __iter__(self) -> Iterator[CitedSource]:
        return iter(sorted(self._by_number.values(), key=lambda cited: cited.number))


def known_locator(link: Link) -> str | None:
    """Give the locator of a link as the model wrote it, except for lines of which not all are there.

    Of a source by lines without text, as where only its title is kept, nobody knows that they are not.
    """
    source, locator = link.source, link.reference.locator
    if locator and link.problem == "unknown-lines" and line_range(locator):
        return locator if source and source.unit == "lines" and not source.text else None
    return locator or None


def _merged(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join ranges of lines that overlap or touch; a reversed one is that of its first line."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, max(first, last)))
    return merged


def _excerpt(text: str) -> str:
    shown = one_line(_HEADING.sub("", text)) or one_line(text)
    return shown if len(shown) <= _EXCERPT else f"{shown[:_EXCERPT].rsplit(' ', 1)[0]} …"
