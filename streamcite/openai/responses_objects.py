"""The events of a response, and whole responses, with their texts cleaned wherever they stand."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from streamcite.annotations import Annotation, AnnotationOptions, CleanOffsets, responses_annotations
from streamcite.events import Citation, Event
from streamcite.resolve import Resolver

from .logprobs import TokenFilter
from .objects import as_dict, drop, fields, get, get_index, get_list, get_str, not_among, put, put_list, replace_field
from .parts import Key, Part
from .responses_core import ENDS, ResponsesCore
from .text import Text
from .texts import Change

_ANNOTATION_ADDED = "response.output_text.annotation.added"
_PADDING = "obfuscation"


class _Place:
    """What one text needs besides its events."""

    def __init__(
        self, part: Part, options: AnnotationOptions, markup: Iterable[str], resolver: Resolver | None
    ) -> None:
        self.part: Part = part
        self._markup = markup
        self._options = options if part.field == "output_text" else replace(options, annotations="off")
        self._resolver = resolver
        self._annotator = self._options.annotator(responses_annotations, resolver)
        self._text: Text | None = None
        self._offsets = CleanOffsets(options.unit)
        self._announced: list[Annotation] = []  # ours, and the API's that had an event of their own, in order
        self._unsent: list[tuple[int, Annotation]] = []  # those of ours that have had none yet, by their index
        self._tokens = TokenFilter(markup)

    @property
    def waits(self) -> bool:
        """Say whether annotations have had no event yet."""
        return bool(self._unsent)

    def read(self, text: Text, new: list[Event]) -> str:
        """Learn the next events of the text, and give what the reader sees of them."""
        self._text = text
        if any(isinstance(event, Citation) for event in new):
            for annotation in self._annotator.catch_up(text.events):
                self._unsent.append((len(self._announced), annotation))
                self._announced.append(annotation)
        return "".join(map(str, new))

    def announcements(self, core: ResponsesCore) -> list[dict[str, Any]]:
        """Give the events of the annotations that have had none yet."""
        if not self._unsent:
            return []
        unsent, self._unsent = self._unsent, []
        item_id = core.item_id(self.part.index)
        place = {"item_id": item_id, "output_index": self.part.index, "content_index": self.part.content_index}
        return [
            {"type": _ANNOTATION_ADDED, **place, "annotation_index": index, "annotation": annotation}
            for index, annotation in unsent
        ]

    def announce(self, event: Any) -> None:
        """Move the annotation of an event to where it stands in the clean text, and number it among the others."""
        annotation = get(event, "annotation")
        if self._text is not None:
            self._offsets.catch_up(self._text.events, self._text.held)
            _move(annotation, self._offsets)
        if fields(annotation):
            put(event, "annotation_index", len(self._announced))
            self._announced.append(as_dict(annotation))

    def inserted(self, text: Text, new: list[Event]) -> Any:
        """Give an event like that of the last delta, with what the reader sees of events that no other holds, or None.

        A text that came in no delta stands in its end only.
        """
        shown, logprobs = self.read(text, new), self._tokens.take((), new, held=bool(text.held))
        return _delta_like(text.template, shown, logprobs) if shown and text.template is not None else None

    def write(self, event: Any, text: Text, new: list[Event]) -> bool:
        """Write what is shown into the event of a delta, and say whether anything is left of it."""
        shown = self.read(text, new)
        if entries := get_list(event, "logprobs"):
            put(event, "logprobs", self._tokens.take(entries, new, held=bool(text.held)))
        if shown != fields(event)["delta"]:
            replace_field(event, "delta", shown)
            if shown:
                drop(event, _PADDING)
        return bool(shown)

    def finish(self, holder: Any, name: str, events: list[Event], *, current: bool) -> None:
        """Clean a whole text where it stands; ``current`` if its events are those that were read."""
        shown = "".join(map(str, events))
        if shown == get_str(holder, name):
            return
        put(holder, name, shown)
        if entries := get_list(holder, "logprobs"):
            put(holder, "logprobs", TokenFilter(self._markup).take(entries, events))
        offsets = CleanOffsets(self._options.unit)
        offsets.catch_up(events)
        hosted = get_list(holder, "annotations")
        for annotation in hosted:
            _move(annotation, offsets)
        known = self._announced
        if not current:
            known = self._options.annotator(responses_annotations, self._resolver).catch_up(events)
        if known and get(holder, "type") == "output_text":
            put_list(holder, "annotations", known + not_among(hosted, known))


class ResponsesCleaner:
    """Clean the events of one response, or a whole one."""

    def __init__(self, core: ResponsesCore, options: AnnotationOptions) -> None:
        self._core = core
        self._options = options
        self._final = options.annotations == "final"
        self._places: dict[Key, _Place] = {}
        self._announcements = _Announcements()
        self._resolver = options.resolver()
        # A number changes only where events were put in, and the numbers of those left out before do not suffice.
        self._shift = 0  # how much further the sequence numbers are than those that came
        self._free = 0  # how many of events that were left out lie between the last one and the next
        self._number: int | None = None  # the last one; some servers number nothing
        self._last: Any = None  # the last event, whose kind a new one is of

    @property
    def settled(self) -> bool:
        """Say whether nothing is held, nor waits: a delta without markup would pass, except for its number."""
        return self._core.settled and not any(place.waits for place in self._places.values())

    @property
    def waiting(self) -> bool:
        """Say whether events wait for a later one."""
        return self._core.waiting

    @property
    def shift(self) -> int:
        """Give by how much the sequence numbers are further than those that came."""
        return self._shift

    def skip_to(self, event: Any) -> None:
        """Go on with an event after others that were left out, and passed except for their numbers."""
        if type(number := fields(event).get("sequence_number")) is int:
            if number - 1 + self._shift - self._free != self._number:
                self._free = 0
            self._number = number - 1 + self._shift - self._free

    @property
    def needs_all(self) -> bool:
        """Say whether every event must be read, as what comes of it does not depend on its text alone."""
        return self._core.waiting

    def text_of(self, event: Any) -> Text | None:
        """Give the output text of which an event brought more."""
        return self._core.text_of(event)

    def leave_out(self) -> None:
        """Learn that an event of which nothing is left does not come."""
        if self._shift:
            self._shift -= 1
        else:
            self._free += 1

    def read(self, event: Any, more: tuple[Text, list[Event]] | None = None) -> list[Any]:
        """Clean the next event.

        Args:
            event: the object of the client, or the dict of the API's JSON; it is changed in place.
            more: the text of which it brings more, and what came of that, if it was read and there is nothing else.

        Returns:
            It, unless nothing is left of it, and new ones before and after it; nothing while it waits for a later one.
        """
        self._last = event
        if self._number is None and type(number := fields(event).get("sequence_number")) is int:
            self._number = number - 1
        steps = self._core.steps(event) if more is None else [(event, [(*more, event, "delta", None)])]
        if len(steps) == 1 and len(steps[0][1]) == 1:
            _, new, holder, name, whole = steps[0][1][0]
            found = fields(event)
            # Most events: what comes below comes to the same.
            if holder is event and whole is None and not found.get("logprobs"):
                if not new:
                    self.leave_out()
                    return []
                if len(new) == 1 and new[0] is found[name]:
                    return [self._passed(event)]
        return [cleaned for step in steps for cleaned in self._clean(*step)]

    def read_whole(self, response: Any) -> None:
        """Clean a whole response in place, as its last event."""
        kind = "completed" if get(response, "status") in ("completed", None) else "incomplete"
        self.read({"type": f"response.{kind}", "response": response})

    def end(self, *, stopped: bool) -> list[Any]:
        """Give what no event has settled."""
        cleaned = [event for step in self._core.end(stopped=stopped) for event in self._clean(*step)]
        return [*cleaned, *self._announce(*self._places.values())]

    def _clean(self, chunk: Any, changes: list[Change]) -> Iterator[Any]:
        event = chunk
        behind: list[_Place] = []
        for text, new, holder, name, whole in changes:
            place = self._places.get(text.part.key) or self._begin(text.part)
            if whole is not None:
                yield from self._announce(place)
                events = text.reading_of(whole)
                place.finish(holder, name, events, current=events is text.events)
            elif holder is not None:
                behind.append(place)
                event = event if place.write(event, text, new) else None
            else:
                yield from self._settled(place, text, new)
        kind = get_str(event, "type")
        if kind == _ANNOTATION_ADDED and not changes:
            part = Part("answer", get_index(event, "output_index"), get_index(event, "content_index"), "output_text")
            (self._places.get(part.key) or self._begin(part)).announce(event)
        if kind in ENDS:
            yield from self._announce(*self._places.values())
        if event is not None:
            yield self._passed(event)
        elif chunk is not None:
            self.leave_out()
        if not self._final:
            yield from self._announce(*behind)

    def _settled(self, place: _Place, text: Text, new: list[Event]) -> Iterator[Any]:
        """Give new events of what no event of the stream holds."""
        if (event := place.inserted(text, new)) is not None:
            yield self._inserted(event)
        if not self._final:
            yield from self._announce(place)

    def _begin(self, part: Part) -> _Place:
        self._places[part.key] = _Place(part, self._options, self._core.markup, self._resolver)
        return self._places[part.key]

    def _announce(self, *places: _Place) -> Iterator[Any]:
        for announcement in (each for place in places for each in place.announcements(self._core)):
            yield self._inserted(self._announcements.make(self._last, announcement))

    def _inserted(self, event: Any) -> Any:
        if self._number is not None:
            if self._free:
                self._free -= 1
            else:
                self._shift += 1
            self._number += 1
            put(event, "sequence_number", self._number)
        return event

    def _passed(self, event: Any) -> Any:
        number = fields(event).get("sequence_number")
        self._free = 0
        if type(number) is int:
            self._number = number + self._shift
            if self._shift:
                replace_field(event, "sequence_number", self._number)
        return event


def _delta_like(template: Any, delta: str, logprobs: list[Any]) -> Any:
    event = copy.copy(template)
    put(event, "delta", delta)
    if logprobs or get_list(event, "logprobs"):
        put(event, "logprobs", logprobs)
    drop(event, _PADDING)
    return event


class _Announcements:
    """Make the events that announce annotations, as objects of the client or as dicts.

    The client builds an object in 60 us, most of them for finding the class of what is in it; copying one that it built
    costs a tenth.
    """

    def __init__(self) -> None:
        self._built: dict[str, Any] = {}  # by the type of the annotation

    def make(self, like: Any, event: dict[str, Any]) -> Any:
        """Make an event with these fields, of the kind that ``like`` is."""
        if isinstance(like, dict):
            return event
        annotation = event["annotation"]
        kind = annotation["type"]
        if kind not in self._built:
            from openai.types.responses import ResponseOutputTextAnnotationAddedEvent  # loaded, as it made ``like``

            self._built[kind] = ResponseOutputTextAnnotationAddedEvent.construct(**event)
        made = copy.copy(self._built[kind])
        fields(made).update(event, annotation=copy.copy(made.annotation))
        fields(made.annotation).update(annotation)
        return made


def _move(annotation: Any, offsets: CleanOffsets) -> None:
    for name, offset in offsets.moved(fields(annotation)).items():
        put(annotation, name, offset)
