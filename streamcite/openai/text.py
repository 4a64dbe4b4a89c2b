"""One text of an answer, read by a parser of its own, and by a stage after that if there is one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, replace
from itertools import islice
from typing import Any

from streamcite import json_values
from streamcite.events import Citation, Event, Malformed, raw_of
from streamcite.links import Cited
from streamcite.options import ParserOptions
from streamcite.parser import SNAPSHOT_VERSION as PARSER_SNAPSHOT_VERSION
from streamcite.parser import CitationParser
from streamcite.spacing import Tidy
from streamcite.surrogates import REPLACEMENT, has_surrogates, replace_surrogates, split_half

from .parts import Part, PartResult
from .stage import NewStage, read_whole


class Text:
    """One text of an answer, as far as it was read."""

    __slots__ = (
        "_counted", "_half", "_new_stage", "_options", "_origin", "_parser", "_stage", "complete", "done", "events",
        "finish_reason", "mismatch", "part", "reopened", "replaced", "template",
    )  # fmt: skip

    def __init__(
        self,
        part: Part,
        options: ParserOptions,
        new_stage: NewStage | None = None,
        stage_snapshot: Mapping[str, Any] | None = None,
    ) -> None:
        self.part: Part = part
        self._new_stage = new_stage
        self._stage = None if new_stage is None else new_stage(stage_snapshot)
        self._options = options
        self._parser = CitationParser(**options)
        self._origin = (0, 0)  # where its first event stands, in the input and in the clean text
        self._counted = (0, 0, 0)  # how many events, and how long they are in both
        self._half = ""  # a high surrogate, which may be the first half of a character
        self.events: list[Event] = []
        self.complete: bool | None = None  # once it is closed: whether it ended by itself
        self.reopened: bool = False  # whether it went on then
        self.done: bool = False  # whether the stream said that no more deltas of it come
        self.finish_reason: str | None = None
        self.replaced: int = 0
        self.mismatch: bool = False
        self.template: Any = None  # the event that brought its last delta (Responses)

    @property
    def begun(self) -> bool:
        """Say whether anything of it was read."""
        return bool(self.events or self.held or self._origin[0])

    @property
    def held(self) -> str:
        """Give the end of what was read that no event holds."""
        return self._held + self._half

    @property
    def holds(self) -> bool:
        """Say whether anything is held."""
        return self._parser.holds or bool(self._half) or (self._stage is not None and self._stage.holds)

    @property
    def _held(self) -> str:
        return self._parser.held if self._stage is None else self._stage.held + self._parser.held

    def feed(self, delta: str) -> list[Event]:
        """Read what comes next, also after the end."""
        if self.complete is not None:
            self._parser = CitationParser.restore(_state_at(self._end()), **self._options)
            self.complete, self.reopened = None, True
            self._stage = None if self._new_stage is None else self._new_stage(None)
        # A surrogate is neither ASCII nor printable, and nor are the tokens.
        if self._half or not (delta.isascii() or delta.isprintable() or not has_surrogates(delta)):
            delta = self._join(delta)
        events = self._parser.feed(delta)
        if self._stage is not None:
            events = self._stage.feed(events)
        self.events += events
        return events

    def _join(self, delta: str) -> str:
        delta, self._half = split_half(self._half + delta)
        delta, replaced = replace_surrogates(delta)
        self.replaced += replaced
        return delta

    def catch_up(self, whole: str) -> list[Event]:
        """Read what no delta has brought of the whole text: all of it, the rest, or nothing."""
        whole, replaced = replace_surrogates(whole)
        if len(whole) < self._end()[0] + len(self._held):
            self.mismatch = True
            return []
        known, rest = "".join(map(raw_of, self.events)) + self._held, whole[self._origin[0] :]
        if not rest.startswith(known):
            self.mismatch = True
            return []
        if len(rest) == len(known):
            return []
        self._half = ""  # it is in the rest
        events = self.feed(rest[len(known) :])
        self.replaced = max(self.replaced, replaced)
        return events

    def reading_of(self, whole: str) -> list[Event]:
        """Give the events of the whole text, as far as they are certain."""
        whole, _ = replace_surrogates(whole)
        is_all = not (self._origin[0] or self.held) and len(whole) == self._end()[0]
        if is_all and whole == "".join(map(raw_of, self.events)):
            return self.events
        return read_whole(whole, self._options, self._new_stage, complete=bool(self.complete))

    def close(self, *, complete: bool) -> list[Event]:
        """End the text, and settle what is held."""
        if self.complete is not None:
            return []
        self.complete = complete
        events: list[Event] = []
        if self._half:
            self._half = ""
            self.replaced += 1
            events += self._parser.feed(REPLACEMENT)
        events += self._parser.close(complete=complete)
        if self._stage is not None:
            events = [*self._stage.feed(events), *self._stage.close()]
        self.events += events
        return events

    def snapshot(self) -> dict[str, Any]:
        """Give the state as JSON values."""
        state = {
            "part": [*astuple(self.part)],
            "parser": _state_at(self._end()) if self.complete is not None else self._parser.snapshot(),
            "half": ord(self._half) if self._half else None,  # as a number, since it has no UTF-8
            "done": self.done,
            "reopened": self.reopened or self.complete is not None,
            "finish_reason": self.finish_reason,
        }
        if isinstance(self._stage, Tidy) and self.complete is None:
            state["tidy"] = {"stage": self._stage.snapshot(), "origin": [*self._end()]}
        return state

    @classmethod
    def restore(cls, snapshot: dict[str, Any], options: ParserOptions, new_stage: NewStage | None) -> Text:
        """Go on where a snapshot was taken."""
        state, half, tidy = snapshot["parser"], snapshot["half"], snapshot.get("tidy")
        if tidy is None:
            tidy = {"stage": None, "origin": [state["offset"], state["position"]]}
        elif new_stage is None:
            raise ValueError("it was taken with tidy spacing")
        text = cls(Part(*snapshot["part"]), options, new_stage, tidy["stage"])
        text._parser = CitationParser.restore(state, **options)
        text._origin = (json_values.offset(tidy["origin"][0]), json_values.offset(tidy["origin"][1]))
        text._half = "" if half is None else chr(half)
        text.done, text.reopened = bool(snapshot["done"]), bool(snapshot["reopened"])
        text.finish_reason = snapshot["finish_reason"]
        return text

    def take_back(self, events: list[Event]) -> None:
        """Count events that were read before the snapshot, and are handed out after it, among those since."""
        offset, position = self._origin
        self._origin = (
            offset - sum(len(raw_of(each)) for each in events),
            position - sum(len(str(each)) for each in events),
        )
        self.events += events

    def result(self, cited: Mapping[int, Cited]) -> PartResult:
        """Say what came of it so far.

        Args:
            cited: what was handed out in the place of citations, by where these stand in the input.
        """
        shown = list(_as_shown(self.events, cited)) if cited else self.events
        return PartResult(
            part=self.part,
            text="".join(map(str, shown)),
            raw="".join(map(raw_of, self.events)),
            citations=tuple(
                replace(event.citation, position=event.position) if isinstance(event, Cited) else event
                for event in shown
                if isinstance(event, Citation | Cited)
            ),
            cited=tuple(event for event in shown if isinstance(event, Cited)),
            malformed=tuple(event for event in shown if isinstance(event, Malformed)),
            finish_reason=self.finish_reason,
            replaced=self.replaced,
            snapshot_mismatch=self.mismatch,
        )

    def _end(self) -> tuple[int, int]:
        """Give where its last event ends, in the input and in the clean text; each event is counted once."""
        count, raw, clean = self._counted
        for event in islice(self.events, count, None):
            raw += len(raw_of(event))
            clean += len(str(event))
        self._counted = (len(self.events), raw, clean)
        offset, position = self._origin
        return offset + raw, position + clean


def _as_shown(events: Iterable[Event], cited: Mapping[int, Cited]) -> Iterator[Event | Cited]:
    """Give events as they were handed out, or will be: after a citation that was prose the positions are others."""
    moved = 0
    for event in events:
        if isinstance(event, Citation) and (known := cited.get(event.start)):
            moved = known.position - event.position + len(known.text)
            yield known
        elif moved and not isinstance(event, str):
            yield replace(event, position=event.position + moved)
        else:
            yield event


def _state_at(place: tuple[int, int]) -> dict[str, Any]:
    """Give the snapshot of a parser that holds nothing."""
    return {"version": PARSER_SNAPSHOT_VERSION, "held": [], "offset": place[0], "position": place[1]}
