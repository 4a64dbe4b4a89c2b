"""What was found in an answer: how much of it was markup, and what is wrong with that."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import NamedTuple

from streamcite.events import Citation, Event, Malformed, OtherMarker
from streamcite.parser import parse


class Found(NamedTuple):
    """Say what was found in the texts of an answer.

    Attributes:
        citations: how many citations there were.
        malformed: how many pieces of markup could not be read.
        unknown: the cited ids of which there is no source, each once; none where no sources were given.
    """

    citations: int = 0
    malformed: int = 0
    unknown: tuple[str, ...] = ()


def find(events: Iterable[Event], sources: Container[str] | None) -> Found:
    """Count what is in the events of an answer, which stages may have changed."""
    citations = malformed = 0
    unknown: dict[str, None] = {}
    for event in events:
        # What citations were written into stands in one event, whose raw text has them.
        inside = parse(event.raw) if isinstance(event, OtherMarker) and not event.family else [event]
        for each in inside:
            if isinstance(each, Citation):
                citations += 1
                unknown |= {id: None for id in each.source_ids if sources is not None and id not in sources}
            malformed += isinstance(each, Malformed)
    return Found(citations, malformed, tuple(unknown))
