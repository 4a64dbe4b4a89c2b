"""The texts of one answer, each read by a parser of its own: the state that the cores of both APIs share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, islice
from typing import Any, TypeAlias

from streamcite import json_values
from streamcite.events import Citation, Event, Malformed, from_dict, raw_of, to_dict
from streamcite.format import OPENAI
from streamcite.links import Cited
from streamcite.options import ParserOptions
from streamcite.parser import SNAPSHOT_VERSION as PARSER_SNAPSHOT_VERSION
from streamcite.parser import CitationParser
from streamcite.spacing import Tidy
from streamcite.surrogates import REPLACEMENT, replace_surrogates, split_half

from .parts import Channel, Key, Part, PartEvent, PartResult, StreamResult
from .stage import NewStage, read_whole

SNAPSHOT_VERSION = 1


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
        self._counted = (0, 0, 0)  # so many events, and how long they are in both
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
        """Read what comes next, also behind the end."""
        if self.complete is not None:
            self._parser = CitationParser.restore(_state_at(self._end()), **self._options)
            self.complete, self.reopened = None, True
            self._stage = None if self._new_stage is None else self._new_stage(None)
        # A surrogate is neither ASCII nor printable.
        if self._half or not (delta.isascii() or delta.isprintable()):
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
            "part": [self.part.channel, self.part.index, self.part.content_index, self.part.field],
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
        """Count events that were read before the snapshot, and are handed out behind it, among those since."""
        offset, position = self._origin
        self._origin = (
            offset - sum(len(raw_of(each)) for each in events),
            position - sum(len(str(each)) for each in events),
        )
        self.events += events

    def result(self, cited: Mapping[int, Cited]) -> PartResult:
        """Tell what came of it so far.

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
    """Give events as they were handed out, or will be: behind a citation that was prose the positions are others."""
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


def _key(index: int, content_index: int, field: str) -> Key:
    return index, content_index, field


# What one place in a chunk, or the end of a text, did to a text: the text; the events that came of it; the object that
# holds the place, or None where what was held was settled; the field of the holder where the text stands; and where the
# place holds the whole text that, else None. A plain tuple, as nearly every chunk makes one, and so is a step.
Change: TypeAlias = tuple[Text, list[Event], Any, str, str | None]
# A chunk with the changes it makes, in the order of the places in it; without a chunk (None), what was settled between.
Step: TypeAlias = tuple[Any, list[Change]]


def settled(text: Text, new: list[Event]) -> Change:
    """Give the change of what no place in a chunk holds."""
    return text, new, None, "", None


class TextsCore(ABC):
    """The texts of one stream. A core of an API says which there are, and what each chunk does to them.

    Args:
        options: as for `CitationParser`.
        snapshot: what `snapshot` gave, to go on from there.
        new_tidy: makes what mends the spacing of each text, if it is to be mended.

    Attributes:
        current: the text of the answer whose turn it was when the snapshot was taken.
        sure: whether the stream has given what it must; until then, what is nothing of the API is misuse.
        new_stage: makes what stands behind the parser of each text of an answer or a commentary, if anything does.
        partial: whether chunks without markup were left out, so that what a text was read of is not all of it.

    Raises:
        ValueError, TypeError: as `CitationParser`; ValueError: ``snapshot`` is none.
    """

    def __init__(
        self, options: ParserOptions, snapshot: Mapping[str, Any] | None, new_tidy: NewStage | None = None
    ) -> None:
        for name in options:
            if name not in ParserOptions.__annotations__:
                raise TypeError(f"{name}: is no option here; there are {', '.join(ParserOptions.__annotations__)}")
        CitationParser(**options)  # a wrong option is misuse at once, not when the first text begins
        self._options = options
        self._texts: dict[Key, Text] = {}
        self._usage: Any = None
        self._ended = False  # whether the stream was read to its end, without an error
        self._restored: list[Change] = []  # what the snapshot had not handed out
        self.current: Text | None = None
        self.sure: bool = False
        self._new_tidy = new_tidy
        self.new_stage: NewStage | None = new_tidy
        self.partial: bool = False
        if snapshot is not None:
            try:
                self._restore(snapshot)
            except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
                raise ValueError(f"snapshot: must be what snapshot() gave, not {snapshot!r}: {error}") from error

    def result(self, cited: Mapping[Part, Mapping[int, Cited]]) -> StreamResult:
        """Tell what came so far.

        Args:
            cited: what was handed out in the place of citations, by part, and by where these stand in the input.
        """
        parts = tuple(text.result(cited.get(text.part, {})) for text in self._texts.values())
        return StreamResult(parts=parts, usage=self._usage, complete=self._ended and self._is_finished())

    @property
    def markup(self) -> tuple[str, str, str]:
        """Give the tokens of the format."""
        return self._options.get("format", OPENAI).tokens

    @property
    def settled(self) -> bool:
        """Say whether nothing is held of any text, and no chunk waits for another."""
        for text in self._texts.values():  # noqa: SIM110  # a generator costs more than most of these have texts
            if text.holds:
                return False
        return True

    @property
    def held_size(self) -> int:
        """Give how many characters are held, of all texts."""
        return sum(len(text.held) for text in self._texts.values())

    @property
    def events(self) -> Iterator[Event]:
        """Give the events of all texts so far."""
        return chain.from_iterable(text.events for text in self._texts.values())

    @abstractmethod
    def more(self, chunk: Any) -> tuple[Text, list[Event]] | None:
        """Read a chunk that brings more of one text that was begun, and nothing else, as most do.

        Returns:
            The text and what came of it, to which `steps` would come too. None, with nothing read, for any other chunk.
        """

    @abstractmethod
    def steps(self, chunk: Any) -> list[Step]:
        """Read the next chunk.

        Raises:
            TypeError: it is none.
        """

    def is_held(self, key: Key) -> bool:
        """Say whether anything of a text is held."""
        return key in self._texts and bool(self._texts[key].held)

    def reading_of(self, key: Key, whole: str) -> list[Event]:
        """Give the events of a whole text that is repeated."""
        text = self._texts.get(key)
        return read_whole(whole, self._options, self._new_tidy) if text is None else text.reading_of(whole)

    def end(self, *, stopped: bool) -> list[Step]:
        """Settle what no chunk has settled; ``stopped`` if an error ended the stream."""
        self._ended = not stopped
        return [*self._take_restored(), (None, self._settle(self._texts.values(), complete=False))]

    def held(self, pending: Iterable[PartEvent], current: Text | None) -> str:
        """Give what is held of the answer, and the events that were not handed out yet: text after text, in turn."""
        answers = [text for text in self._texts.values() if text.part.is_answer]
        held = {text.part: "" for text in answers}
        for part, event in self._with_restored(pending):
            if part in held:
                held[part] += raw_of(event)
        answers.sort(key=lambda text: (text is not current, text.part))
        return "".join(held[text.part] + text.held for text in answers)

    def snapshot(self, pending: Iterable[PartEvent], current: Text | None) -> dict[str, Any]:
        """Give the state as JSON values, with the events that were not handed out yet, and whose turn it is."""
        return {
            "version": SNAPSHOT_VERSION,
            "texts": [text.snapshot() for text in self._texts.values()],
            "pending": [[part.key, to_dict(event)] for part, event in self._with_restored(pending)],
            "current": current.part.key if current else None,
        }

    @abstractmethod
    def _is_finished(self) -> bool:
        """Say whether the API told that the answer is finished."""

    def _restore(self, snapshot: Mapping[str, Any]) -> None:
        if snapshot["version"] != SNAPSHOT_VERSION:
            raise ValueError(f"its version must be {SNAPSHOT_VERSION}")
        for each in snapshot["texts"]:
            text = Text.restore(each, self._options, self._new_tidy)
            self._texts[text.part.key] = text
        current = snapshot["current"]
        self.current = None if current is None else self._texts[_key(*current)]
        self._restored = [settled(self._texts[_key(*key)], [from_dict(event)]) for key, event in snapshot["pending"]]
        for text, new, *_ in self._restored:
            text.take_back(new)

    def _begin(self, key: Key, channel: Channel) -> Text:
        """Give a text, which begins when it is asked for."""
        text = self._texts.get(key)
        if text is None:
            new_stage = self.new_stage if channel in ("answer", "commentary") else self._new_tidy
            text = self._texts[key] = Text(Part(channel, *key), self._options, new_stage)
        return text

    def _settle(self, texts: Iterable[Text], *, complete: bool, reason: str | None = None) -> list[Change]:
        """Close texts, and give what was held in them."""
        changes = []
        for text in texts:
            if reason is not None:
                text.finish_reason = reason
            if new := text.close(complete=complete):
                changes.append(settled(text, new))
        return changes

    def _take_restored(self) -> list[Step]:
        """Give the events of the snapshot that were not handed out, once."""
        restored, self._restored = self._restored, []
        return [(None, restored)] if restored else []

    def _with_restored(self, pending: Iterable[PartEvent]) -> list[PartEvent]:
        return [*((text.part, event) for text, new, *_ in self._restored for event in new), *pending]
