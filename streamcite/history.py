"""Back to markers: how an earlier answer is sent to the model again, just as it wrote it.

A model imitates what it finds in the conversation. An answer that comes back with links or numbers in the place of its
markers teaches it to write those.
"""

from __future__ import annotations

from collections.abc import Iterable

from .events import Citation, OtherMarker, check_iterable
from .format import DEFAULT_MAX_MARKER, OPENAI, CitationFormat, check_format, write_marker
from .links import AnyEvent, Cited, check_any_event
from .parser import parse


def to_marked_text(events: Iterable[AnyEvent], *, format: CitationFormat = OPENAI) -> str:
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
        TypeError: ``format`` is not a `CitationFormat`, ``events`` are not an iterable of events, or are one text,
            whose citations `parse` reads first.

    Source: the guide, element 4 (familiar patterns are reproduced best).
    """
    check_format(format)
    check_iterable(events)
    return "".join(_marked(event, format) for event in events)


def _marked(event: AnyEvent, format: CitationFormat) -> str:
    if isinstance(event, str):
        return event
    if isinstance(event, Cited) and not event.text:
        event = event.citation
    if isinstance(event, Citation):
        exact = _is_exact(event, format)
        # A marker may be of any length, as the model has written it.
        return event.raw if exact else write_marker(format, event.references, event.family, limit=None)
    if isinstance(event, OtherMarker):
        # An ignored character is what it is, as is one that `Tidy` has dropped.
        return event.raw if not event.family or _is_exact(event, format) else event.text
    check_any_event(event)
    return event.text


def _is_exact(event: Citation | OtherMarker, format: CitationFormat) -> bool:
    """Say whether what the model wrote is a well-formed marker in a format, and is read as this event."""
    # The default limit wherever it is enough: what is derived from options is kept for each set of them.
    match parse(event.raw, format=format, repair=False, max_marker=max(len(event.raw), DEFAULT_MAX_MARKER)):
        case [Citation() as read]:
            return isinstance(event, Citation) and read.references == event.references and read.family == event.family
        case [OtherMarker() as read]:
            return isinstance(event, OtherMarker) and read.fields == event.fields and read.family == event.family
    return False
