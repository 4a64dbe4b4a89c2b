"""The Responses API without I/O: where an event, or a whole response, has text, and what that does to it.

A text comes in deltas, and whole in four more places. There it is only compared, except for what no delta has brought.

Source: the API reference, "Responses: streaming events" and "The response object".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from streamcite.events import Event
from streamcite.options import ParserOptions

from .objects import declared, fields, get, get_index, get_list, get_str
from .parts import Channel, Key, PartEvent
from .stage import NewStage
from .text import Text
from .texts import Change, Step, TextsCore, settled

# The events that bring text: the field of a part that it is, and what numbers the part.
_DELTAS = {
    "response.output_text.delta": ("output_text", "content_index"),
    "response.refusal.delta": ("refusal", "content_index"),
    "response.reasoning_text.delta": ("reasoning_text", "content_index"),
    "response.reasoning_summary_text.delta": ("summary_text", "summary_index"),
}
# Those that repeat it: also where it stands.
_DONE = {
    "response.output_text.done": ("output_text", "content_index", "text"),
    "response.refusal.done": ("refusal", "content_index", "refusal"),
    "response.reasoning_text.done": ("reasoning_text", "content_index", "text"),
    "response.reasoning_summary_text.done": ("summary_text", "summary_index", "text"),
}
_PARTS = {
    "response.content_part.added": "content_index",
    "response.content_part.done": "content_index",
    "response.reasoning_summary_part.added": "summary_index",
    "response.reasoning_summary_part.done": "summary_index",
}
_ITEMS = frozenset({"response.output_item.added", "response.output_item.done"})
ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})
_RESPONSES = frozenset({*ENDS, "response.created", "response.in_progress", "response.queued"})
# What says that the answer goes on, or how it ended; so does every event that brings more of anything.
_TELLING = frozenset({*ENDS, "error", "response.output_item.added"})
# What ends a text, but does not say whether it ended by itself.
_TEXT_ENDS = frozenset({*_DONE, *(kind for kind in _PARTS if kind.endswith(".done")), "response.output_item.done"})
# How many events wait at most: a text is ended and repeated by three, and of few texts is something held.
MAX_WAITING = 256
# Where a part has its text, by its type.
_HOLDS = {"output_text": "text", "refusal": "refusal", "reasoning_text": "text", "summary_text": "text"}


class Place(NamedTuple):
    """One place with a whole text.

    Attributes:
        key: which text.
        channel: which channel it is in, as far as is known.
        holder: the object that holds the place.
        name: in this field.
        whole: the text.
    """

    key: Key
    channel: Channel
    holder: Any
    name: str
    whole: str


class ResponsesCore(TextsCore):
    """Read the events of one response, objects or dicts, of ``create``, ``retrieve`` or the client's ``.stream()``."""

    def __init__(
        self,
        options: ParserOptions,
        snapshot: Mapping[str, Any] | None = None,
        *,
        new_tidy: NewStage | None = None,
    ) -> None:
        self._indexes: dict[str, int] = {}  # output index by item id
        self._ids: dict[int, str] = {}  # the other way round: the first one
        self._channels: dict[int, Channel] = {}  # of messages, by output index
        # Events that end a text of which something is held, and those after them that say nothing, with their places.
        self._waiting: list[tuple[Any, list[Place]]] = []
        self._last: Any = None  # the last event that waits for no other
        self._id: Any = None  # of the response
        self._resumed_at: Any = None  # the number of the last event before the snapshot
        self._finished = False
        super().__init__(options, snapshot, new_tidy)

    @property
    def waiting(self) -> bool:
        """Say whether events wait for one that says whether the answer ended by itself."""
        return bool(self._waiting)

    @property
    def settled(self) -> bool:
        """Say whether nothing is held of any text, and no event waits for another."""
        return not self._waiting and super().settled

    def text_of(self, event: Any) -> Text | None:
        """Give the output text of which an event brings more, if it has begun."""
        found = fields(event)
        if found.get("type") != "response.output_text.delta":
            return None
        return self._texts.get((get_index(event, "output_index"), get_index(event, "content_index"), "output_text"))

    def more(self, event: Any) -> tuple[Text, list[Event]] | None:
        """Read an event with more of an output text, while none waits."""
        found = declared(event)
        if found.get("type") != "response.output_text.delta" or self._waiting or self._resumed_at is not None:
            return None
        delta, index, number = found.get("delta"), found.get("output_index"), found.get("content_index")
        if self._restored or not delta or type(delta) is not str or type(index) is not int or type(number) is not int:
            return None
        text = self._texts.get((index, number, "output_text"))
        if text is None:
            return None
        self._last = event
        return text, text.feed(delta)

    def steps(self, event: Any) -> list[Step]:
        """Read the next event.

        Where a text ends and part of a marker is held, the event that ends it, and those after it, wait for the one
        that says whether the answer ended by itself.

        Raises:
            TypeError: it is not an event.
        """
        found = fields(event)
        kind = found.get("type")
        if not isinstance(kind, str):
            kind = _type_of(event, sure=self.sure)
        self.sure = True
        if self._resumed_at is not None:
            self._check_start(found.get("sequence_number"))
        delta = _DELTAS.get(kind)
        steps = self._take_restored() if self._restored else []
        if self._waiting and (kind in _TELLING or found.get("delta") or len(self._waiting) == MAX_WAITING):
            steps += self._settle_waiting(event, kind)
        if delta and not self._waiting:
            self._last = event
            steps.append((event, self._read_delta(event, found, *delta)))
            return steps
        ends = kind in _TEXT_ENDS
        places = list(self._places(event, kind))
        changes = [change for place in places for change in self._catch_up(place, kind)]
        if self._waiting or (ends and any(self._text(place).holds for place in places)):
            self._waiting.append((event, places))
            return [*steps, (None, changes)]
        self._last = event
        if kind in _RESPONSES:
            changes += self._read_response(event, kind)
        for text in map(self._text, places):
            text.done = text.done or ends
        return [*steps, self._step(event, places, changes)]

    def end(self, *, stopped: bool) -> list[Step]:
        """Settle what no event has settled, and give those that wait."""
        return [*super().end(stopped=stopped), *self._release()]

    def item_id(self, index: int) -> str:
        """Give the id of an output item; an empty string if no event has given it."""
        return self._ids.get(index, "")

    def snapshot(self, pending: Iterable[PartEvent], current: Text | None) -> dict[str, Any]:
        """Give the state as JSON values, with the events that were not handed out yet, and whose turn it is."""
        return super().snapshot(pending, current) | {
            "channels": [*self._channels.items()],
            "indexes": self._indexes,
            "response_id": self._id,
            "sequence_number": get(self._last, "sequence_number"),
            "finished": self._finished,
        }

    def _restore(self, snapshot: Mapping[str, Any]) -> None:
        super()._restore(snapshot)
        self._channels = dict(snapshot["channels"])
        for name, index in snapshot["indexes"].items():
            self._learn(name, index)
        self._id = snapshot["response_id"]
        self._resumed_at = snapshot["sequence_number"]
        self._last = {"sequence_number": self._resumed_at}
        self._finished = bool(snapshot["finished"])

    def _check_start(self, number: Any) -> None:
        resumed_at, self._resumed_at = self._resumed_at, None
        if type(number) is type(resumed_at) is int and number <= resumed_at:
            raise ValueError(
                f"stream: must begin behind event {resumed_at}, where the snapshot was taken, not at {number}; "
                f"retrieve(..., starting_after={resumed_at}) does"
            )

    def _is_finished(self) -> bool:
        return self._finished

    def _learn(self, name: str, index: int) -> None:
        """Learn the id of an output item."""
        if name:
            self._indexes[name] = index
            self._ids.setdefault(index, name)

    def _text(self, place: Place) -> Text:
        return self._begin(place.key, place.channel)

    def _read_delta(self, event: Any, found: dict[str, Any], field: str, numbered: str) -> list[Change]:
        delta = found.get("delta")
        if not delta or not isinstance(delta, str):
            return []
        index, number = found.get("output_index"), found.get(numbered)
        if type(index) is not int:
            index = 0
        key = (index, number if type(number) is int else 0, field)
        text = self._texts.get(key)
        if text is None:
            if (name := get_str(event, "item_id")) not in self._indexes:
                self._learn(name, index)
            text = self._begin(key, self._channel(field, index))
        text.template = event
        return [(text, text.feed(delta), event, "delta", None)]

    def _catch_up(self, place: Place, kind: str) -> Iterator[Change]:
        text = self._text(place)
        repeats = kind in _TEXT_ENDS or kind in ENDS or not text.begun
        if repeats and not self.partial and (new := text.catch_up(place.whole)):
            yield settled(text, new)

    def _read_response(self, event: Any, kind: str) -> list[Change]:
        response = get(event, "response")
        self._id = get(response, "id") or self._id
        usage = get(response, "usage")
        if usage is not None:
            self._usage = usage
        if kind not in ENDS:
            return []
        for text in self._texts.values():
            text.done = True
        status = _status(event, kind)
        self._finished = status in ("completed", "incomplete")
        reason = get_str(get(response, "incomplete_details"), "reason") or status
        completed = status == "completed"
        changes = []
        for text in [text for text in self._texts.values() if text.holds]:
            changes += self._settle([text], complete=self._ended_itself(text, response, completed=completed))
        return changes + self._settle(self._texts.values(), complete=completed, reason=reason)

    def _ended_itself(self, text: Text, response: Any, *, completed: bool) -> bool:
        """Say whether a text of a whole response ended by itself, as its stream would have said.

        Of the last item the response says so, of one before it its own status; of a text with others after it in its
        item nothing does.
        """
        index, place = text.part.index, text.part.content_index
        if any(other.part.index == index and other.part.content_index > place for other in self._texts.values()):
            return False
        output = get_list(response, "output")
        items = {self._indexes.get(get_str(item, "id"), position): item for position, item in enumerate(output)}
        is_last = index >= max(items, default=index)
        return completed if is_last else get(items.get(index), "status") == "completed"

    def _settle_waiting(self, event: Any, kind: str) -> list[Step]:
        """Settle the texts that wait, as an event of this kind says, or else their items."""
        if kind in ENDS or kind == "error":
            complete = _status(event, kind) == "completed"
        else:
            complete = any(get(get(each, "item"), "status") == "completed" for each, _ in self._waiting)
        texts = [self._text(place) for _, places in self._waiting for place in places]
        return [(None, self._settle(texts, complete=complete)), *self._release()]

    def _release(self) -> list[Step]:
        waiting, self._waiting = self._waiting, []
        for event, places in waiting:
            for text in map(self._text, places):
                text.done = text.done or get_str(event, "type") in _TEXT_ENDS
        return [self._step(event, places, []) for event, places in waiting]

    def _step(self, event: Any, places: list[Place], changes: list[Change]) -> Step:
        return event, changes + [(self._text(place), [], place.holder, place.name, place.whole) for place in places]

    def _places(self, event: Any, kind: str) -> Iterator[Place]:
        """Find the whole texts in an event that are not empty, and learn what it says of its items."""
        index = get_index(event, "output_index")
        if found := _DONE.get(kind):
            field, numbered, name = found
            yield from self._place((index, get_index(event, numbered), field), event, name)
        elif numbered := _PARTS.get(kind, ""):
            yield from self._part_places(index, get_index(event, numbered), get(event, "part"))
        elif kind in _ITEMS:
            yield from self._item_places(index, get(event, "item"))
        elif kind in _RESPONSES:
            for position, item in enumerate(get_list(get(event, "response"), "output")):
                index = self._indexes.get(get_str(item, "id"), position)
                yield from self._item_places(index, item)

    def _item_places(self, index: int, item: Any) -> Iterator[Place]:
        self._learn(get_str(item, "id"), index)
        if get(item, "type") == "message":
            self._channels[index] = "commentary" if get(item, "phase") == "commentary" else "answer"
        for name in ("summary", "content"):
            for number, part in enumerate(get_list(item, name)):
                yield from self._part_places(index, number, part)

    def _part_places(self, index: int, number: int, part: Any) -> Iterator[Place]:
        field = get_str(part, "type")
        if name := _HOLDS.get(field):
            yield from self._place((index, number, field), part, name)

    def _place(self, key: Key, holder: Any, name: str) -> Iterator[Place]:
        if whole := get_str(holder, name):
            yield Place(key, self._channel(key[2], key[0]), holder, name, whole)

    def _channel(self, field: str, index: int) -> Channel:
        if field == "output_text":
            return self._channels.get(index, "answer")
        return "refusal" if field == "refusal" else "reasoning"


def _status(event: Any, kind: str) -> str:
    """Say how a response ended: some servers end a cut one as completed too, and only its status says so."""
    return get_str(get(event, "response"), "status") or kind.removeprefix("response.")


def _type_of(event: Any, *, sure: bool) -> str:
    """Give the type of what has none that is declared.

    Raises:
        TypeError: it is not an event, and it is not ``sure`` that the stream gives these.
    """
    kind = get(event, "type")
    if isinstance(kind, str) or sure or event is None:
        return kind if isinstance(kind, str) else ""
    if "choices" in fields(event):
        raise TypeError(
            "stream: must give events of the Responses API, not chat completion chunks; these are for chat_events and "
            "clean_chat"
        )
    if not isinstance(event, dict) and not hasattr(event, "__dict__"):
        raise TypeError(
            f"stream: must give events, as create(stream=True) does, not {type(event).__name__}; "
            "for any other stream use iter_events or aiter_events, with a function as text"
        )
    return ""
