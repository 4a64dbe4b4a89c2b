"""The standard shapes of annotations, once for every adapter, protocol and relay; and where they stand.

A citation is a point in the clean text: its annotation begins and ends there.

Source: the API reference, "The chat completion object" (message annotations) and "The response object" (output text
annotations).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from .checks import check_choice
from .events import Citation, Event, raw_of
from .links import Cited, Link
from .resolve import Resolver
from .source import Source, check_sources, find_source
from .units import line_range
from .urls import is_safe_url
from .utf16 import utf16_length

Unit: TypeAlias = Literal["codepoint", "utf16"]
When: TypeAlias = Literal["streamed", "final", "off"]
Annotation: TypeAlias = dict[str, Any]
# The annotations of one citation, which stands at an offset.
Shape: TypeAlias = Callable[[Iterable[Source], int], list[Annotation]]

# What an annotation holds beside what the API knows, under a name that is nobody else's.
DETAILS = "streamcite"

# What counts in the text, by the type of an annotation. The index of a file_path is not an offset.
_OFFSETS = {
    "url_citation": ("start_index", "end_index"),
    "container_file_citation": ("start_index", "end_index"),
    "file_citation": ("index",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotationOptions:
    """Say which annotations there are.

    Attributes:
        sources: what citations point to, by source id; None: citations give no annotations.
        annotations: ``streamed``, each with the text before it; ``final``, all before the end; ``off``, none.
        unit: what offsets count: code points, or the UTF-16 units of JavaScript.
        details: whether the annotations of a response also say, under the name `DETAILS`, what the APIs do not know.

    Raises:
        TypeError: ``sources`` is not a mapping.
        ValueError: ``annotations`` or ``unit`` is not one of those named.
    """

    sources: Mapping[str, Source] | None = None
    annotations: When = "streamed"
    unit: Unit = "codepoint"
    details: bool = False

    def __post_init__(self) -> None:
        if self.sources is not None:
            check_sources(self.sources)
        check_choice("annotations", self.annotations, When)
        check_choice("unit", self.unit, Unit)

    def annotator(self, shape: Shape, resolver: Resolver | None = None) -> Annotator:
        """Make what annotates one text, with details if there is a resolver."""
        sources = self.sources if self.annotations != "off" else None
        return Annotator(sources or {}, self.unit, shape, resolver)

    def resolver(self) -> Resolver | None:
        """Make what tells the details of all texts of an answer, which number their sources together; or none."""
        return Resolver(self.sources) if self.details and self.sources is not None else None


class Annotator:
    """Give the annotations of one text, from its events in order."""

    def __init__(
        self, sources: Mapping[str, Source], unit: Unit, shape: Shape, resolver: Resolver | None = None
    ) -> None:
        self._sources = sources
        self._shape = shape
        self._resolver = resolver
        self._size = size_in(unit)
        self._read = self._offset = 0

    def catch_up(self, events: Sequence[Event]) -> list[Annotation]:
        """Give the annotations of the citations that are new among all events so far."""
        found: list[Annotation] = []
        for event in events[self._read :]:
            if isinstance(event, Citation):
                found += self._annotations_of(event)
            else:
                self._offset += self._size(str(event))
        self._read = len(events)
        return found

    def _annotations_of(self, citation: Citation) -> list[Annotation]:
        cited = self._cited(citation)
        if self._resolver is None or not cited:
            return self._shape(cited, self._offset)
        *_, resolved = self._resolver.feed([citation])
        links = resolved.links if isinstance(resolved, Cited) else ()
        return [
            annotation | {DETAILS: details_of([link for link in links if link.reference.source_id == source.id])}
            for source in cited
            for annotation in self._shape([source], self._offset)
        ]

    def _cited(self, citation: Citation) -> list[Source]:
        """Give the sources of a citation that are known, and may be cited, as a `Resolver` takes them.

        Raises:
            TypeError: one of them is not a `Source`.
        """
        found = (find_source(self._sources, source_id) for source_id in dict.fromkeys(citation.source_ids))
        return [source for source in found if source is not None and source.citable]


class CleanOffsets:
    """Move offsets in a text as the model wrote it to where they stand in the clean text."""

    def __init__(self, unit: Unit = "codepoint") -> None:
        self._size = size_in(unit)
        self._raw = self._clean = 0
        self._starts: list[int] = []  # of all that is not text
        self._places: list[tuple[int, int, int]] = []  # its end, and where that and its start are in the clean text
        self._read = self._held = 0

    def catch_up(self, events: Sequence[Event], held: str = "") -> None:
        """Learn what is new among all events so far, and what is held after them."""
        self._held = self._size(held)
        for event in events[self._read :]:
            start, at = self._raw, self._clean
            self._raw += self._size(raw_of(event))
            self._clean += self._size(str(event))
            if not isinstance(event, str):
                self._starts.append(start)
                self._places.append((self._raw, self._clean, at))
        self._read = len(events)

    def __call__(self, offset: int) -> int:
        """Give the offset in the clean text; of one inside a marker that of the marker, of held text its start."""
        if offset > self._raw:
            return self._clean + max(0, offset - self._raw - self._held)
        before = bisect_left(self._starts, offset) - 1
        if before < 0:
            return offset
        end, behind, at = self._places[before]
        return behind + offset - end if offset >= end else at

    def moved(self, annotation: Mapping[str, Any]) -> dict[str, int]:
        """Give the fields of an annotation that change, as they are in the clean text."""
        names = _OFFSETS.get(str(annotation.get("type")), ())
        offsets = {name: annotation.get(name) for name in names}
        moved = {name: self(offset) for name, offset in offsets.items() if type(offset) is int}
        return {name: offset for name, offset in moved.items() if offset != offsets[name]}


def size_in(unit: Unit) -> Callable[[str], int]:
    """Give the function that tells how long a text is in a unit."""
    return len if unit == "codepoint" else utf16_length


def chat_annotations(sources: Iterable[Source], offset: int) -> list[Annotation]:
    """Give the annotations of a chat completion's message; those of sources with a URL, as it has no others.

    A URL that may be no link (`is_safe_url`) counts as none: whoever reads an annotation makes a link of it.
    """
    cited = [_url_citation(source, source.url, offset) for source in sources if source.url and is_safe_url(source.url)]
    return [{"type": "url_citation", "url_citation": place} for place in cited]


def responses_annotations(sources: Iterable[Source], offset: int) -> list[Annotation]:
    """Give the annotations of a response's text: of a URL, or else of a file that has the source's title as name.

    A URL that may be no link counts as none, as in `chat_annotations`.
    """
    return [
        {"type": "url_citation", **_url_citation(source, source.url, offset)}
        if source.url and is_safe_url(source.url)
        else {
            "type": "file_citation",
            "file_id": source.id,
            "filename": source.title or source.id,
            "index": offset,
        }
        for source in sources
    ]


def details_of(links: Sequence[Link]) -> dict[str, Any]:
    """Say what annotations have no field for: what a citation's references to one source point to.

    Returns:
        ``number``: that of the source in the answer; ``passages``: of each reference the ``locator``, as the model
        wrote it, and ``first_line`` and ``last_line``, from 1, which are None where it names none; ``problem``: the
        first that a reference has, as in `Link`, if one has any.
    """
    passages = []
    for link in links:
        first, last = (link.reference.locator and line_range(link.reference.locator)) or (None, None)
        passages.append({"locator": link.reference.locator, "first_line": first, "last_line": last})
    details: dict[str, Any] = {"number": next((link.number for link in links), None), "passages": passages}
    problems = [link.problem for link in links if link.problem]
    return details | ({"problem": problems[0]} if problems else {})


def _url_citation(source: Source, url: str, offset: int) -> Annotation:
    return {"start_index": offset, "end_index": offset, "title": source.title or url, "url": url}
