"""What comes out of the parser: text as bare ``str``, the rest as immutable values.

``str(event)`` is what the reader sees, for every event, so ``print(event, end="")`` and ``"".join(map(str, events))``
always give the clean text (semantics, section 2).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from itertools import groupby
from types import UnionType
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar, get_args

from . import json_values

Reason: TypeAlias = Literal[
    "stray_delimiter",
    "stray_stop",
    "no_delimiter",
    "bad_family",
    "empty",
    "no_source",
    "bad_source_id",
    "unclosed",
    "too_long",
    "truncated",
]


class Reference(NamedTuple):
    """Name one cited source, and where in it.

    Attributes:
        source_id: the id as the model wrote it, such as ``turn0file1``.
        locator: the passage as the model wrote it, such as ``L8-L13``, or None.
    """

    source_id: str
    locator: str | None = None


class _Marker:
    """Share what every event that is not a bare text can say of its place."""

    __slots__ = ()

    raw: str
    text: str
    start: int

    @property
    def end(self) -> int:
        """Give the offset in the input, in code points, just after ``raw``."""
        return self.start + len(self.raw)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation(_Marker):
    """Report that the model cites sources at this place.

    Attributes:
        family: the marker's family, such as ``cite``.
        references: the cited sources in the order written; at least one.
        repaired: whether the marker was not well formed, though its references were written whole.
        raw: the marker as the model wrote it.
        start: offset of ``raw`` in the input, in code points; ``end`` is the offset after it.
        position: offset of the citation in the clean text, in code points.
    """

    family: str
    references: tuple[Reference, ...]
    repaired: bool = False
    raw: str
    start: int
    position: int

    __match_args__ = ("family", "references")

    @property
    def text(self) -> str:  # type: ignore[override]  # always empty, so it needs no slot
        """Give what the reader sees: nothing."""
        return ""

    def __str__(self) -> str:
        return ""

    @property
    def source_ids(self) -> tuple[str, ...]:
        """Give the id of every reference, in order."""
        return tuple(reference.source_id for reference in self.references)

    @property
    def locator(self) -> str | None:
        """Give the last reference's locator, or None."""
        return self.references[-1].locator


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherMarker(_Marker):
    """Report a well-formed marker that is not a citation, an ignored character, or one that `Tidy` has dropped.

    Attributes:
        family: the marker's family; empty for a character.
        fields: its fields as written, not stripped; empty for a character.
        raw: the marker as the model wrote it, or the character.
        text: what the format's ``display`` shows for it, else empty.
        start: offset of ``raw`` in the input, in code points; ``end`` is the offset after it.
        position: offset of ``text`` in the clean text, in code points.
    """

    family: str
    fields: tuple[str, ...]
    raw: str
    text: str
    start: int
    position: int

    __match_args__ = ("family", "fields")


@dataclass(frozen=True, slots=True, kw_only=True)
class Malformed(_Marker):
    """Report markup that could not be read.

    Attributes:
        reason: what is wrong with it. A lone ``stray_delimiter`` or ``stray_stop``; a start after which no marker
            begins (``bad_family``, ``no_delimiter``); a marker that names nothing (``empty``, ``no_source``,
            ``bad_source_id``); or one that does not end (``unclosed``, ``too_long``, ``truncated`` by the end of the
            input). Semantics, section 3, says which is when.
        raw: the markup as the model wrote it.
        text: empty, or ``raw`` under the policy ``malformed="keep"``.
        start: offset of ``raw`` in the input, in code points; ``end`` is the offset after it.
        position: offset of ``text`` in the clean text, in code points.
    """

    reason: Reason
    raw: str
    text: str
    start: int
    position: int

    __match_args__ = ("reason",)


Event: TypeAlias = str | Citation | OtherMarker | Malformed
_T = TypeVar("_T")


# A frozen dataclass is built by one slow object.__setattr__ a field (1.4 us an event, and a marker every few deltas). A
# twin with the same slots, filled and then turned into the real class, is built in 0.2 us and is the same value after.
class _CitationDraft(_Marker):
    __slots__ = tuple(field.name for field in fields(Citation))


class _OtherMarkerDraft(_Marker):
    __slots__ = tuple(field.name for field in fields(OtherMarker))


class _MalformedDraft(_Marker):
    __slots__ = tuple(field.name for field in fields(Malformed))


def new_citation(
    family: str, references: tuple[Reference, ...], repaired: bool, raw: str, start: int, position: int
) -> Citation:
    """Build what ``Citation(...)`` builds, in a seventh of its time."""
    event: Any = _CitationDraft()
    event.family = family
    event.references = references
    event.repaired = repaired
    event.raw = raw
    event.start = start
    event.position = position
    event.__class__ = Citation
    return event  # type: ignore[no-any-return]


def new_other(family: str, fields: tuple[str, ...], raw: str, text: str, start: int, position: int) -> OtherMarker:
    """Build what ``OtherMarker(...)`` builds, in a seventh of its time."""
    event: Any = _OtherMarkerDraft()
    event.family = family
    event.fields = fields
    event.raw = raw
    event.text = text
    event.start = start
    event.position = position
    event.__class__ = OtherMarker
    return event  # type: ignore[no-any-return]


def new_malformed(reason: Reason, raw: str, text: str, start: int, position: int) -> Malformed:
    """Build what ``Malformed(...)`` builds, in a seventh of its time."""
    event: Any = _MalformedDraft()
    event.reason = reason
    event.raw = raw
    event.text = text
    event.start = start
    event.position = position
    event.__class__ = Malformed
    return event  # type: ignore[no-any-return]


def raw_of(event: Event) -> str:
    """Give what the model wrote for an event."""
    return event if isinstance(event, str) else event.raw


def join_strings(events: Iterable[_T]) -> list[_T | str]:
    """Give all events in order, adjacent strings joined."""
    joined: list[_T | str] = []
    for are_strings, group in groupby(events, _is_string):
        run = list(group)
        joined += ["".join(map(str, run))] if are_strings else run
    return joined


def check_event(value: object, kinds: UnionType, giver: str) -> None:
    """Make sure that a value is an event.

    Args:
        value: what was fed.
        kinds: what it may be.
        giver: what gives such events, for the message.

    Raises:
        TypeError: it is not one of these.
    """
    if not isinstance(value, kinds):
        raise TypeError(f"events: must be those of {giver}, not {type(value).__name__}")


def check_iterable(events: object) -> None:
    """Make sure that events come in an iterable, and not as one text, of which each character would be one.

    Raises:
        TypeError: they do not.
    """
    if isinstance(events, str) or not hasattr(events, "__iter__"):  # an isinstance of Iterable takes four times as long
        hint = "; parse(text) reads them from a text" if isinstance(events, str) else ", which is not iterable"
        raise TypeError(f"events: must be the events of an answer, not {type(events).__name__}{hint}")


def _is_string(event: object) -> bool:
    return isinstance(event, str)


def to_dict(event: Event) -> dict[str, Any]:
    """Give the JSON form of an event (semantics, section 5).

    Args:
        event: what a parser handed out; `streamcite.resolve.to_dict` takes what a resolver did, too.

    Returns:
        A new dict of JSON values whose ``type`` is ``text``, ``citation``, ``other`` or ``malformed``.

    Raises:
        TypeError: the value is not an event.
    """
    if isinstance(event, str):
        return {"type": "text", "text": event}
    own: dict[str, Any]
    if isinstance(event, Citation):
        references = [reference._asdict() for reference in event.references]
        own = {"type": "citation", "family": event.family, "references": references, "repaired": event.repaired}
    elif isinstance(event, OtherMarker):
        own = {"type": "other", "family": event.family, "fields": list(event.fields)}
    elif isinstance(event, Malformed):
        own = {"type": "malformed", "reason": event.reason}
    else:
        raise TypeError(f"not an event of a parser: {type(event).__name__}")
    place = {"raw": event.raw, "text": event.text, "start": event.start, "end": event.end, "position": event.position}
    return own | place


def from_dict(obj: Mapping[str, Any]) -> Event:
    """Build the event of which ``obj`` is the JSON form; the inverse of `to_dict`.

    Args:
        obj: a mapping as `to_dict` gives it. Keys that are not of the form are ignored.

    Returns:
        An event equal to the one `to_dict` was given.

    Raises:
        ValueError: a key is missing or holds what it cannot hold.
    """
    try:
        return _from_dict(obj)
    except (KeyError, TypeError) as error:
        raise ValueError(f"not the JSON form of an event: {error!r}") from error


def _from_dict(obj: Mapping[str, Any]) -> Event:
    kind = obj["type"]
    if kind == "text":
        return json_values.string(obj["text"])
    if kind not in ("citation", "other", "malformed"):
        raise ValueError(f"not the JSON form of an event of a parser: unknown type {kind!r}")
    raw, text, start = json_values.string(obj["raw"]), json_values.string(obj["text"]), json_values.offset(obj["start"])
    # It may be more where JSON text has joined two surrogates to one.
    if json_values.offset(obj["end"]) < start + len(raw):
        raise ValueError(f"not the JSON form of an event: end must be {start + len(raw)}, not {obj['end']}")
    place: dict[str, Any] = {"raw": raw, "start": start, "position": json_values.offset(obj["position"])}
    if kind == "citation":
        references = tuple(map(reference, json_values.items(obj["references"])))
        if not references:
            raise ValueError("not the JSON form of an event: a citation has at least one reference")
        if text:
            raise ValueError(f"not the JSON form of an event: a citation has no text, but {text!r}")
        family, repaired = json_values.string(obj["family"]), json_values.flag(obj["repaired"])
        return Citation(family=family, references=references, repaired=repaired, **place)
    place["text"] = text
    if kind == "other":
        return OtherMarker(
            family=json_values.string(obj["family"]),
            fields=tuple(map(json_values.string, json_values.items(obj["fields"]))),
            **place,
        )
    return Malformed(reason=_reason(obj["reason"]), **place)


def reference(value: Mapping[str, Any]) -> Reference:
    """Build the reference of which ``value`` is the JSON form; KeyError or TypeError if it is not one."""
    locator = value["locator"]
    return Reference(json_values.string(value["source_id"]), None if locator is None else json_values.string(locator))


def _reason(value: Any) -> Reason:
    if value not in get_args(Reason):
        raise TypeError(f"expected a reason, not {value!r}")
    return value  # type: ignore[no-any-return]
