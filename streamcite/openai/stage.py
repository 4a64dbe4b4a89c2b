"""What stands after the parser of one text of an answer, if anything does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from streamcite.events import Event
from streamcite.options import ParserOptions
from streamcite.parser import parse


class Stage(Protocol):
    """What stands after the parser of one text, and changes how its events look."""

    @property
    def held(self) -> str:
        """Give the end of what was fed that is in no event handed out."""

    @property
    def holds(self) -> bool:
        """Say whether anything may still come of what was fed."""

    def feed(self, events: Sequence[Event]) -> list[Any]:
        """Give what comes of the next events."""

    def close(self) -> list[Any]:
        """Give what comes of the end."""


# Makes a stage: a new one, or with a snapshot one that goes on there.
NewStage: TypeAlias = Callable[[Mapping[str, Any] | None], Stage]


def read_whole(
    whole: str, options: ParserOptions, new_stage: NewStage | None, *, complete: bool = False
) -> list[Event]:
    """Give the events of a whole text, as they come out of a stage."""
    events = parse(whole, complete=complete, **options)
    if new_stage is None:
        return events
    stage = new_stage(None)
    return [*stage.feed(events), *stage.close()]
