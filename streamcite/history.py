"""Back to markers: how an earlier answer is sent to the model again, just as it wrote it.

A model imitates what it finds in the conversation. An answer that comes back with links or numbers in the place of its
markers teaches it to write those.
"""

from __future__ import annotations

from collections.abc import Iterable

from .events import Citation, Malformed, OtherMarker
from .format import OPENAI, CitationFormat
from .links import Cited, Resolved
from .parser import parse


def to_marked_text(
    events: Iterable[str | Citation | Cited | Resolved | OtherMarker | Malformed], format: CitationFormat = OPENAI
) -> str:
    """Write the events of an answer as one text, with its citations as markers.

    Where every marker is well formed, that is the text that the events were read from, exactly. A citation that was
    repaired is written out whole. Markup that could not be read, and a citation that turned out to be prose, are
    written as the reader sees them, so that no model learns from them.

    Args:
        events: what a parser, a `Resolver` or `Tidy` handed out, in order; also read back from their JSON form.
        format: what a marker looks like. Markers that were read in another format are written in this one.

    Returns:
        The text, to be sent as an earlier message of the model.

    Raises:
        ValueError: a citation has no marker in this format, which is not the one that it was read in.
        TypeError: ``format`` is no `CitationFormat`, or something else than an event was given.

    Source: the guide, element 4 (familiar patterns are reproduced best).
    """
    if not isinstance(format, CitationFormat):
        raise TypeError(f"format: must be a CitationFormat, not {type(format).__name__}")
    return "".join(_marked(event, format) for event in events)


def _marked(event: str | Citation | Cited | Resolved | OtherMarker | Malformed, format: CitationFormat) -> str:
    if isinstance(event, str):
        return event
    if isinstance(event, Cited) and not event.text:
        event = event.citation
    if isinstance(event, Citation):
        return event.raw if _is_exact(event, event.raw, format) else _write(event, format)
    if isinstance(event, OtherMarker):
        # An ignored character is what it is, as is one that `Tidy` has dropped.
        return event.raw if not event.family or _is_exact(event, event.raw, format) else event.text
    if not isinstance(event, Cited | Resolved | Malformed):
        raise TypeError(f"events: must be those of an answer, not {type(event).__name__}")
    return event.text


def _write(citation: Citation, format: CitationFormat) -> str:
    """Write a marker as `CitationFormat.write` does, but one of any length, as the model has written it."""
    fields = [word for reference in citation.references for word in reference if word is not None]
    marker = format.start + format.delimiter.join([citation.family, *fields]) + format.stop
    if not _is_exact(citation, marker, format):
        raise ValueError(f"no marker of this format reads back as family {citation.family!r}, {citation.references!r}")
    return marker


def _is_exact(event: Citation | OtherMarker, marker: str, format: CitationFormat) -> bool:
    """Say whether a marker, well formed, is read as this event in a format."""
    match parse(marker, format=format, repair=False, max_marker=max(len(marker), 8)):
        case [Citation() as read]:
            return isinstance(event, Citation) and read.references == event.references and read.family == event.family
        case [OtherMarker() as read]:
            return isinstance(event, OtherMarker) and read.fields == event.fields and read.family == event.family
    return False
