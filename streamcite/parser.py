"""The state machine: token deltas in, clean text and citation events out. This file owns the only state of the core.

The state is the text that was fed and not yet handed out (what the open marker was read to hold, and after it what
could not be decided yet), how to read on in that marker's body, and two offsets. What each step does is said by
semantics, section 3; what one marker *is* stands in `grammar`.

Most deltas are plain text, or just more of an open marker: `CitationParser.feed` recognizes these at once. The next
most common open or end a marker as one before did, and are looked up. All else is read by `CitationParser._read`, which
alone knows every rule, and of which the rest are short cuts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, Unpack

from . import json_values
from .body import Body, never
from .events import (
    Citation,
    Event,
    Malformed,
    OtherMarker,
    Reason,
    join_strings,
    new_citation,
    new_malformed,
    new_other,
)
from .format import DEFAULT_MAX_MARKER, OPENAI, CitationFormat
from .grammar import Scanner
from .options import MARKER_LENGTH, REMEMBERED, ParserOptions, options_for

SNAPSHOT_VERSION = 1
_BETWEEN_SURROGATES = re.compile("(?<=[\ud800-\udbff])(?=[\udc00-\udfff])")
# The pieces of an open marker are joined until they are this long, in code points, which is where copying what is there
# for each new piece begins to cost more than an object a piece does.
PIECE = 4096

# Looked up on the class, these raise TypeError for what is not a str.
_isascii = str.isascii
_isprintable = str.isprintable
_partition = str.partition


class ParserClosed(RuntimeError):
    """Raised by `CitationParser.feed` after `CitationParser.close`: a mistake in the program, never of the input."""


class CitationParser:
    """Turn the deltas of a model's answer into clean text and citation events, in order.

    Text is handed out at once; only a marker that is still open, or part of a token, is held back. The events do not
    depend on how the input was cut, and nothing in the input ever raises (semantics, section 2, the invariants).

    Args:
        format: what a marker looks like.
        malformed: whether the reader sees malformed markup: ``"drop"`` or ``"keep"``.
        repair: whether a marker that is not well formed, but whose references were written whole, is a citation.
        max_marker: the most code points of a citation marker, start to stop; at least 8.
        max_payload: the most code points of any other marker; at least ``max_marker``; by default the larger of 65536
            and ``max_marker``.

    Raises:
        ValueError: an option is out of its range; the message begins with its name.
        TypeError: ``format`` is not a `CitationFormat`.
    """

    __slots__ = (
        "_base", "_body", "_closed", "_end", "_field", "_head", "_idle", "_options", "_pieces", "_quiet", "_removed",
        "_room", "_start", "_tail", "_undecided",
    )  # fmt: skip

    def __init__(
        self,
        format: CitationFormat = OPENAI,
        *,
        malformed: Literal["drop", "keep"] = "drop",
        repair: bool = True,
        max_marker: int = DEFAULT_MAX_MARKER,
        max_payload: int | None = None,
    ) -> None:
        self._options = options = options_for(format, malformed, repair, max_marker, max_payload)
        self._closed = False
        self._end = 0  # offset in the input, after all that was fed
        self._removed = 0  # how much further the input is than the clean text
        self._idle = options.in_plain  # whether plain text can be handed out without a look at the state
        self._undecided = ""  # the end of what was fed, to be read again with the next delta
        # The open marker: one whose first delimiter was read.
        self._body: Body | None = None  # how to read it
        self._pieces: list[str] | None = None  # what was read of it, but for
        self._tail = ""  # the newest part
        # The body's field state, the offset of the marker in the input, the length of its start, family and delimiter,
        # and the offset of the newest part: all without meaning until there is a marker.
        self._field = self._start = self._head = self._base = 0
        # While the tail is no longer than there is room, a delta of which `_quiet` is true is added to it and nothing
        # else is done: `_end` and `_field` are then out of date. Without room the state must be looked at.
        self._quiet = never
        self._room = 0

    @property
    def held(self) -> str:
        """Give the end of the input that was fed but is not handed out yet."""
        return self._read_part() + self._undecided

    @property
    def holds(self) -> bool:
        """Say whether anything is held, at the same cost however much it is."""
        return self._body is not None or bool(self._undecided)

    def feed(self, delta: str) -> list[Event]:
        """Read the next part of the input.

        Args:
            delta: any string, cut anywhere; may be empty.

        Returns:
            The events that are certain now, in order; no empty strings. A delta without markup, while nothing is held,
            comes back as the same object.

        Raises:
            ParserClosed: `close` was called before.
            TypeError: the delta is not a ``str``.
        """
        try:
            if self._idle:
                if _isascii(delta) or _isprintable(delta):
                    self._end += len(delta)
                    return [delta] if delta else []
            elif room := self._room:
                if self._quiet(delta):
                    tail = self._tail + delta
                    if len(tail) <= room:
                        self._tail = tail
                        return []
                return self._feed_marker(delta)
            elif self._closed:
                raise ParserClosed("feed() after close(): make a new parser for a new answer")
            text = self._undecided + delta
        except TypeError:
            if isinstance(delta, str):
                raise
            raise TypeError(f"delta: must be a str, not {type(delta).__name__}") from None
        self._end += len(delta)
        # What opens a marker is looked up: what is held, as a whole, gives the state.
        opening = self._options.openings.get(text) if self._body is None else None
        if opening is None:
            return self._read(text)
        self._idle = False
        if opening:
            self._body, self._field, self._head, self._quiet, self._room = opening
            self._tail, self._undecided = text, ""
            self._start = self._base = self._end - len(text)
        else:
            self._undecided = text
        return []

    def close(self, *, complete: bool = False) -> list[Event]:
        """Say that the input has ended, and settle what is held.

        Args:
            complete: whether the answer ended by itself, as after finish_reason "stop": then a stop that was left out
                at the very end does not cost the citation.

        Returns:
            The last events; from a second call on an empty list.
        """
        if self._closed:
            return []
        self._closed = True
        if self._room:
            self._catch_up()
        events = self._read(self._undecided, closing=True)
        while self._body is not None:
            rest = self._cut_off(self._body, events, complete=complete)
            events += self._read(rest, closing=True)
        self._idle = False
        return events

    def snapshot(self) -> dict[str, Any]:
        """Give the state as JSON values: a version, what is held, its offset in the input, its position in clean text.

        What is held is a list of strings to be joined, since JSON text would make one code point of two surrogates that
        stand side by side in one string.

        Raises:
            ValueError: the parser is closed.
        """
        if self._closed:
            raise ValueError("a closed parser has no state to go on from")
        held = self.held
        offset = self._end - len(held) if self._body is None else self._start
        pieces = _BETWEEN_SURROGATES.split(held)
        return {"version": SNAPSHOT_VERSION, "held": pieces, "offset": offset, "position": offset - self._removed}

    @classmethod
    def restore(cls, snapshot: Mapping[str, Any], **options: Unpack[ParserOptions]) -> CitationParser:
        """Make a parser that goes on where `snapshot` was taken.

        Args:
            snapshot: what `snapshot` gave.
            options: those of the parser that gave it.

        Raises:
            ValueError: it is not a snapshot, or one of another version, or does not fit the options.
        """
        try:
            json_values.versioned(snapshot, SNAPSHOT_VERSION)
            held = "".join(map(json_values.string, json_values.items(snapshot["held"])))
            offset, position = json_values.offset(snapshot["offset"]), json_values.offset(snapshot["position"])
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a snapshot of version {SNAPSHOT_VERSION}: {error!r}") from error
        parser = cls(**options)
        parser._end = offset
        parser._removed = offset - position
        # What is held was read from the state that a new parser is in, and so it can be read again.
        if parser.feed(held):
            raise ValueError("the snapshot was taken with other options: what it holds is not held with these")
        return parser

    def _feed_marker(self, delta: str) -> list[Event]:
        """Read a delta that is not just more of the open marker: it ends it, most often.

        A delta without a stop is not quiet, or too long, and so is what stands "inside": all of it.
        """
        options, body = self._options, self._body
        inside, stop, behind = _partition(delta, options.stop)
        if (
            body is None  # never, while there is room
            or len(self._tail) + len(inside) + len(stop) > self._room
            or not self._quiet(inside)
        ):
            self._catch_up()
            return self.feed(delta)
        raw = (self._tail if self._pieces is None else self._read_part()) + inside + stop
        event = self._finish(raw, body)
        self._end = self._start + len(raw)
        self._pieces, self._tail, self._room, self._idle = None, "", 0, options.in_plain
        return [event, *self.feed(behind)] if behind else [event]

    def _catch_up(self) -> None:
        """Bring up to date what `feed` leaves alone while there is room."""
        if self._tail and self._body is not None:
            self._field = self._body.resume(self._field, self._tail[-1])
        self._end = self._base + len(self._tail)
        self._room = 0

    # Below, ``text`` ends where the input fed so far ends, so that ``self._end - len(text) + i`` is the offset of
    # ``text[i]``. The readers go on at an index and give the next one, which is ``len(text)`` when they need more.

    def _read(self, text: str, *, closing: bool = False) -> list[Event]:
        scanner = self._options.closed_scanner if closing else self._options.open_scanner
        events: list[Event] = []
        self._undecided = ""
        i = 0
        while i < len(text):
            if self._body is None:
                i = self._read_text(text, i, events, scanner)
            else:
                text, i = self._read_body(self._body, text, i, events, scanner)
        held = self._undecided
        if closing:
            if held:  # a start, and letters that can be a family name
                self._undecided = ""
                events.append(self._report("truncated", held, self._end - len(held)))
        elif self._body is not None:
            self._make_room(self._body)
        elif held:
            self._idle = False
            if not events:
                self._options.remember_opening(held, ())
        else:
            self._idle = self._options.in_plain
        return events

    def _make_room(self, body: Body) -> None:
        """Let `feed` read quiet deltas by itself, if it can; remember what is held, if it opens a marker."""
        self._idle = False
        if self._undecided:
            return
        options = self._options
        self._quiet = body.quiet(self._field)
        if self._quiet is not never:
            self._room = min(self._start + options.limits[body.is_payload] - self._base, PIECE)
        if self._pieces is None:
            options.remember_opening(self._tail, (body, self._field, self._head, self._quiet, self._room))

    def _read_text(self, text: str, i: int, events: list[Event], scanner: Scanner) -> int:
        origin = self._end - len(text)
        while i < len(text):
            found = scanner.in_text(text, i)
            if found is None:
                events.append(text[i:])
                break
            j, k = found.span()
            if j > i:
                events.append(text[i:j])
            i = k
            match found.lastgroup:
                case "stray_delimiter" | "stray_stop" | "no_delimiter" as reason:
                    events.append(self._report(reason, found[0], origin + j))
                case "unclosed" | "bad_family" as reason:
                    start = self._options.start
                    events.append(self._report(reason, start, origin + j))
                    if k > j + len(start):
                        events.append(text[j + len(start) : k])
                    if reason == "unclosed" and k + len(start) == len(text):
                        self._undecided = start
                        break
                case "body":
                    self._body = self._options.grammar.body(found["name"] or "")
                    self._start = self._base = origin + j
                    self._field, self._head = 0, k - j
                    if k == len(text):
                        self._hold(text[j:])
                    return k
                case "ignored":
                    events.append(new_other("", (), text[j], "", origin + j, origin + j - self._removed))
                    self._removed += 1
                case _:  # a start and part of what may follow, or part of a token
                    self._undecided = text[j:]
        return len(text)

    def _read_body(self, body: Body, text: str, i: int, events: list[Event], scanner: Scanner) -> tuple[str, int]:
        options = self._options
        mark = self._start - self._end + len(text)  # the index of the open marker, negative if it began before
        bound = max(mark + options.limits[body.is_payload], i)  # what ends after this index is too long
        mark = max(mark, 0)
        while i < len(text):
            found = scanner.in_marker(text, i)
            j = found.start() if found else len(text)
            end = min(j, bound + 1)
            if i < end:
                k, self._field = body.advance(text, i, end, self._field)
                if k < end:
                    return self._violate(body, text, k, events, "unclosed", finished=body.finishes(text[k]))
                if k > bound:
                    return self._violate(body, text, bound, events, "too_long", finished=False)
            if found is None:
                break
            i, token = found.end(), found[0]
            if token == options.start:
                return self._violate(body, text, j, events, "unclosed", finished=True)
            if token not in (options.delimiter, options.stop):
                self._undecided = text[j:]
                self._hold(text[mark:j])
                return text, i
            if i > bound:
                return self._violate(body, text, j, events, "too_long", finished=False)
            if token == options.stop:
                raw = self._take_read_part() + text[mark:i]
                events.append(self._finish(raw, body))
                return text, i
            self._field = body.divide(self._field)
        self._hold(text[mark:])
        return text, len(text)

    def _hold(self, piece: str) -> None:
        self._tail += piece
        if len(self._tail) > PIECE:
            if self._pieces is None:
                self._pieces = []
            self._pieces.append(self._tail)
            self._base += len(self._tail)
            self._tail = ""

    def _read_part(self) -> str:
        return self._tail if self._pieces is None else "".join(self._pieces) + self._tail

    def _take_read_part(self) -> str:
        part, self._pieces, self._tail = self._read_part(), None, ""
        return part

    def _finish(self, raw: str, body: Body) -> Event:
        """Give the event of the marker that its stop has closed."""
        options, start, family = self._options, self._start, body.family
        self._body = None
        if not family:
            return self._show(raw) if body.is_payload else self._report("bad_family", raw, start)
        markers = options.markers
        read = markers.get(raw)
        if read is None:
            read = options.read_fields(raw[self._head : options.before_stop].split(options.delimiter))
            if len(raw) <= MARKER_LENGTH:
                if len(markers) >= REMEMBERED:
                    markers.clear()
                markers[raw] = read
        references, reason = read
        if reason is not None and not (references and options.repair):
            return self._report(reason, raw, start)
        event = new_citation(family, references, reason is not None, raw, start, start - self._removed)
        self._removed += len(raw)
        return event

    def _violate(
        self, body: Body, text: str, k: int, events: list[Event], reason: Reason, *, finished: bool
    ) -> tuple[str, int]:
        """Give up the open marker at ``k``: what is certainly markup is an event, the rest will be read as text."""
        held = self._take_read_part()
        mark = max(self._start - self._end + len(text), 0)
        event = self._give_up(body, held + text[mark:k], reason, finished=finished)
        events.append(event)
        behind = len(event.raw) - len(held)
        return (text, mark + behind) if behind >= 0 else (held + text, len(event.raw))

    def _cut_off(self, body: Body, events: list[Event], *, complete: bool) -> str:
        """Settle the marker that the input's end left open; give what is to be read again as text."""
        held = self._take_read_part()
        if complete and not body.is_payload:
            event = self._give_up(body, held, "unclosed", finished=True)
        elif body.may_be_prose(self._field):
            event = self._give_up(body, held, "truncated", finished=False)
        else:
            self._body = None
            event = self._report("truncated", held, self._start)
        events.append(event)
        return held[len(event.raw) :]

    def _give_up(self, body: Body, read: str, reason: Reason, *, finished: bool) -> Citation | Malformed:
        """Give the event of an unclosed marker's head."""
        self._body = None
        length, references = body.head(read[self._head :].split(self._options.delimiter), finished)
        raw = read[: self._head + length]
        if references and body.family and self._options.repair and reason != "truncated":
            event = new_citation(body.family, references, True, raw, self._start, self._start - self._removed)
            self._removed += len(raw)
            return event
        return self._report(reason, raw, self._start)

    def _show(self, raw: str) -> OtherMarker:
        family, *fields = raw[len(self._options.start) : self._options.before_stop].split(self._options.delimiter)
        text = self._options.grammar.show(family, tuple(fields))
        event = new_other(family, tuple(fields), raw, text, self._start, self._start - self._removed)
        self._removed += len(raw) - len(text)
        return event

    def _report(self, reason: Reason, raw: str, offset: int) -> Malformed:
        text = raw if self._options.keep else ""
        event = new_malformed(reason, raw, text, offset, offset - self._removed)
        self._removed += len(raw) - len(text)
        return event


def parse(text: str, *, complete: bool = False, **options: Unpack[ParserOptions]) -> list[Event]:
    """Read a whole text: a `CitationParser` fed once and closed.

    Args:
        text: the whole input.
        complete: as for `CitationParser.close`.
        options: as for `CitationParser`.

    Returns:
        All events in order, adjacent strings joined.

    Raises:
        ValueError, TypeError: as `CitationParser` does for a bad option or a text that is not a ``str``.
    """
    if not isinstance(text, str):
        raise TypeError(f"text: must be a str, not {type(text).__name__}")
    parser = CitationParser(**options)
    return join_strings([*parser.feed(text), *parser.close(complete=complete)])


def clean(text: str, *, complete: bool = False, **options: Unpack[ParserOptions]) -> str:
    """Give what the reader sees of a whole text: its events as `parse` reads them, each as a string.

    Args, Raises: as `parse`.
    """
    return "".join(map(str, parse(text, complete=complete, **options)))
