"""What the removal of a marker leaves behind: two blanks, a blank before punctuation, empty brackets.

By default it stays: exact spacing is what the model wrote, less the markers. `Tidy` is a stage that mends it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from . import json_values
from .checks import check_choice
from .events import Citation, Malformed, OtherMarker, check_iterable, join_strings, new_other
from .links import AnyEvent, Cited, Resolved, check_any_event, from_dict, to_dict

Spacing: TypeAlias = Literal["exact", "tidy"]
"""What becomes of the blanks round a marker: nothing, or what `Tidy` does."""

SNAPSHOT_VERSION = 1

_BRACKETS = {"(": ")", "[": "]", "（": "）", "［": "］", "【": "】", "〔": "〕"}  # noqa: RUF001
# After [] these make a link of it, or the definition of one.
_OF_LINKS = ("(", "[", ":")
_BLANKS = (" ", "\t", "\xa0", "\u3000")
# A blank before these is dropped. Some languages set one before the last four, but then after the marker.
_POINTS = (".", ",")
_MARKS = (*_POINTS, ";", ":", "!", "?")
_CLOSING = (")", "]", *"。，、；：！？．）］】〕〉》」』")  # noqa: RUF001
# What an ASCII mark begins if one of these follows: .NET, .5, :smile:, ![an image], ./path
_GOES_ON = re.compile(r"[A-Za-z0-9_/\[=-]")
# A line that holds the mark of a list, quote or heading only: before it a blank has a meaning.
_STRUCTURE = re.compile(r"[ \t>]*(?:[-+*]|#{1,6}|[0-9]{1,9}[.)])?")
_LINE = 32
# What may stand at the end of the front: the first blank of it counts if it is single.
_FRONT = re.compile(r" ?[(\[（［【〔] ?| ")  # noqa: RUF001
_FRONT_ENDS = frozenset([" ", *_BRACKETS])
# After markers, with a front and without: what comes next matters.
_MAY_GO_ON = re.compile(r" ?[)\]）］】〕]? ?[.,;:!?]?")  # noqa: RUF001
_MAY_GO_ON_ALONE = re.compile(r"(?: [.,]?)?")
# More markers than one place has; what is held after a blank has an end.
_MOST = 64


class TidyClosed(RuntimeError):
    """Raised by `Tidy.feed` after `Tidy.close`: a mistake in the program, never of the input."""


class Tidy:
    """Mend the spacing where a marker was removed: events in, the same events out, except for blanks and brackets.

    Where markers stood, and nowhere else, it drops one of two blanks, a single blank before punctuation, and
    brackets that have become empty with one blank before them. Never dropped: a blank that begins a line or stands
    beside another on its side of the marker (indentation, Markdown's line break), and brackets of links.

    Each character that is dropped becomes an ``OtherMarker`` as an ignored character does, without family and text, so
    that no input is lost; every ``position`` after it is that in the new text. The events, adjacent strings joined, do
    not depend on how the text was cut. What is held is at most one blank, one bracket, markers right after these, and
    the few characters after them that decide.

    Feed it the events of a parser, or of a `Resolver`, in order.

    Args:
        words: what a reader will see of a citation, as a later stage shows it: `Resolver.words` of the one that is fed
            what this hands out. Left out, nothing.
    """

    __slots__ = (
        "_behind", "_between", "_closed", "_front", "_last", "_line", "_place", "_read", "_removed", "_shown", "_words",
    )  # fmt: skip

    def __init__(self, *, words: Callable[[Citation], str] | None = None) -> None:
        self._words = words
        self._closed = False
        self._front = ""  # the end of the text, as far as it may be dropped
        self._between: list[AnyEvent] = []  # the markers after it
        self._place = False  # whether markers were the last to come
        self._behind = ""  # the text after them, until it decides
        self._line = ""  # how the line begins, before what is held
        self._last = ""  # the character before what is held
        self._read = self._shown = 0  # the offsets of what is held: in the input, in the new text
        self._removed = 0

    @property
    def held(self) -> str:
        """Give the end of what was fed that is in no event handed out, as the model wrote it."""
        between = (event if isinstance(event, str) else event.raw for event in self._between)
        return self._front + "".join(between) + self._behind

    @property
    def holds(self) -> bool:
        """Say whether anything is held."""
        return bool(self._front or self._behind)  # without a front nothing is between

    def feed(self, events: Iterable[AnyEvent]) -> list[AnyEvent]:
        """Read the next events.

        Args:
            events: what a parser or a `Resolver` handed out; may be empty.

        Returns:
            The events that are certain now, in order; no empty strings.

        Raises:
            TidyClosed: `close` was called before.
            TypeError: they are not an iterable of events, or one text.
        """
        check_iterable(events)
        if self._closed:
            raise TidyClosed("feed() after close(): make a new stage for a new answer")
        out: list[AnyEvent] = []
        for event in events:
            if isinstance(event, str):
                self._read_text(event, out)
                continue
            check_any_event(event)
            if isinstance(event, Resolved):
                (self._between or out).append(event)
            elif shown := event.text or self._words_of(event):
                self._settle(shown, out)
                self._flush(out)
                self._pass(event, out)
                self._see(shown)
            else:
                self._read_marker(event, out)
        return out

    def close(self) -> list[AnyEvent]:
        """Say that the answer has ended.

        Returns:
            The last events, in order; from a second call on an empty list.
        """
        self._closed = True
        out: list[AnyEvent] = []
        self._settle("", out)
        self._flush(out)
        return out

    def snapshot(self) -> dict[str, Any]:
        """Give the state as JSON values: a version, what is held, and what counts of the text before it.

        Raises:
            ValueError: the stage is closed.
        """
        if self._closed:
            raise ValueError("a closed stage has no state to go on from")
        return {
            "version": SNAPSHOT_VERSION,
            "front": self._front,
            "between": [to_dict(event) for event in self._between],
            "behind": self._behind,
            "place": self._place,
            "line": self._line,
            "last": self._last,
            "read": self._read,
            "shown": self._shown,
            "removed": self._removed,
        }

    @classmethod
    def restore(cls, snapshot: Mapping[str, Any], *, words: Callable[[Citation], str] | None = None) -> Tidy:
        """Make a stage that goes on where `snapshot` was taken.

        Args:
            snapshot: what `snapshot` gave. Of a `Cited` that was held it has the JSON form, whose sources are without
                text.
            words: as for the stage that gave it.

        Raises:
            ValueError: it is not a snapshot, or one of another version.
        """
        stage = cls(words=words)
        try:
            json_values.versioned(snapshot, SNAPSHOT_VERSION)
            stage._front, stage._behind, stage._line, stage._last = (
                json_values.string(snapshot[name]) for name in ("front", "behind", "line", "last")
            )
            stage._read, stage._shown, stage._removed = (
                json_values.offset(snapshot[name]) for name in ("read", "shown", "removed")
            )
            stage._between += map(from_dict, json_values.items(snapshot["between"]))
            stage._place = json_values.flag(snapshot["place"])
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"not a snapshot of version {SNAPSHOT_VERSION}: {error}") from error
        return stage

    def _words_of(self, event: AnyEvent) -> str:
        return self._words(event) if self._words is not None and isinstance(event, Citation) else ""

    def _read_text(self, text: str, out: list[AnyEvent]) -> None:
        if self._place:
            self._behind += text
            decision = _decide(self._front, self._behind, self._last, self._line, final=False)
            if decision is not None:
                self._apply(decision, out)
        elif text:
            self._read_plain(text, out)

    def _read_plain(self, text: str, out: list[AnyEvent]) -> None:
        text = self._front + text
        self._front = _front(text, self._last)
        self._put(text[: len(text) - len(self._front)], out)

    def _read_marker(self, event: Citation | Cited | OtherMarker | Malformed, out: list[AnyEvent]) -> None:
        if self._behind == " " and _bracket(self._front) >= 0:
            self._between.append(self._behind)
            self._behind = ""
        elif self._behind:
            self._settle("", out)
        if not self._place:
            self._read = event.start - len(self._front)
            self._shown = event.position - self._removed - len(self._front)
            self._place = True
        if not self._front:
            self._pass(event, out)
            return
        self._between.append(event)
        if len(self._between) > _MOST:
            self._apply((len(self._front), 0), out)
            self._place = True

    def _settle(self, follows: str, out: list[AnyEvent]) -> None:
        """Decide with what has come, as no more text comes that could be dropped."""
        if self._place:
            front, behind = self._front, self._behind
            decision = _decide(front, behind + follows, self._last, self._line, final=True) or (len(front), 0)
            kept, dropped = decision
            self._apply((kept, dropped) if dropped <= len(behind) else (len(front), 0), out)

    def _apply(self, decision: tuple[int, int], out: list[AnyEvent]) -> None:
        """Hand out what is held: that much of the front is kept, and that much of what follows is dropped."""
        kept, dropped = decision
        emptied = 0 <= _bracket(self._front) >= kept
        self._put(self._front[:kept], out)
        self._drop(self._front[kept:], out)
        for event in self._between:
            if not isinstance(event, str):
                self._pass(event, out)
            elif emptied:
                self._drop(event, out)
            else:
                self._put(event, out)
        self._drop(self._behind[:dropped], out)
        rest = self._behind[dropped:]
        self._place, self._front, self._behind = False, "", ""
        self._between.clear()
        if rest:
            self._read_plain(rest, out)

    def _flush(self, out: list[AnyEvent]) -> None:
        self._put(self._front, out)
        self._front = ""

    def _put(self, text: str, out: list[AnyEvent]) -> None:
        if text:
            out.append(text)
            self._read += len(text)
            self._shown += len(text)
            self._see(text)

    def _see(self, text: str) -> None:
        """Take note of what a reader sees next."""
        self._last = text[-1]
        begin = text.rfind("\n") + 1
        if begin:
            self._line = text[begin : begin + _LINE + 1]
        elif len(self._line) <= _LINE:
            self._line = (self._line + text[:_LINE])[: _LINE + 1]

    def _drop(self, text: str, out: list[AnyEvent]) -> None:
        for character in text:
            out.append(new_other("", (), character, "", self._read, self._shown))
            self._read += 1
            self._removed += 1

    def _pass(self, event: Citation | Cited | Resolved | OtherMarker | Malformed, out: list[AnyEvent]) -> None:
        if not isinstance(event, Resolved):
            if self._removed:
                event = self._moved(event)
            self._read = event.end
        out.append(event)

    def _moved(self, event: Citation | Cited | OtherMarker | Malformed) -> Citation | Cited | OtherMarker | Malformed:
        moved = replace(event, position=event.position - self._removed)
        if isinstance(moved, Cited):
            citation = moved.citation
            return replace(moved, citation=replace(citation, position=citation.position - self._removed))
        return moved


def tidy(events: Iterable[AnyEvent]) -> list[AnyEvent]:
    """Mend the spacing of a whole answer: a `Tidy` fed once and closed.

    Args:
        events: those of an answer, in order.

    Returns:
        All events in order, adjacent strings joined.
    """
    stage = Tidy()
    return join_strings([*stage.feed(events), *stage.close()])


def tidier(
    spacing: Spacing, words: Callable[[Citation], str] | None = None
) -> Callable[[Mapping[str, Any] | None], Tidy] | None:
    """Give what makes the stage that an option asks for: one from the beginning, or one that goes on with a snapshot.

    Args:
        spacing: the option.
        words: as for `Tidy`.

    Returns:
        None for exact spacing, which needs no stage.

    Raises:
        ValueError: ``spacing`` is unknown.
    """
    check_choice("spacing", spacing, Spacing)
    if spacing == "exact":
        return None
    return lambda snapshot: Tidy(words=words) if snapshot is None else Tidy.restore(snapshot, words=words)


def _front(text: str, last: str) -> str:
    """Give the end of a text that may be dropped if a marker follows: a single blank, a bracket, or both.

    Args:
        text: the text.
        last: the character before it.
    """
    if text[-1] not in _FRONT_ENDS:
        return ""
    for length in (3, 2, 1):
        front = text[-length:]
        if len(front) == length and _FRONT.fullmatch(front):
            before = text[-length - 1 : -length] or last
            if front[0] == " ":
                fits = bool(before) and not before.isspace()
            else:
                fits = not (before in ("]", "\\") or (before == "!" and front[0] == "["))
            if fits:
                return front
    return ""


def _bracket(front: str) -> int:
    """Give where in a front its bracket is; -1 if it has none."""
    return next((index for index, character in enumerate(front) if character != " "), -1)


def _decide(front: str, behind: str, last: str, line: str, *, final: bool) -> tuple[int, int] | None:
    """Say how much of a front is kept, and how much of what is after the markers is dropped.

    Args:
        front: what stands before the markers, as `_front` gives it.
        behind: the text after them.
        last: the character before the front.
        line: how its line begins.
        final: whether no more text decides.

    Returns:
        Two numbers of characters; None if more text must come first.
    """
    if not final and (_MAY_GO_ON if front else _MAY_GO_ON_ALONE).fullmatch(behind):
        return None
    kept, dropped, bracket = len(front), 0, _bracket(front)
    if bracket >= 0:
        end = behind.startswith(" ") + 1
        if behind[end - 1 : end] == _BRACKETS[front[bracket]] and not (
            front[bracket] == "[" and behind.startswith(_OF_LINKS, end)
        ):
            kept, dropped = bracket, end
    may_point = not (len(line) <= _LINE and _STRUCTURE.fullmatch(line))
    if (
        kept
        and front[kept - 1] == " "
        and (behind.startswith(_BLANKS, dropped) or (may_point and _is_mark(behind, dropped, _MARKS)))
    ):
        kept -= 1
    before = front[kept - 1] if kept else last
    if (
        behind.startswith(" ", dropped)
        and may_point
        and before
        and not before.isspace()
        and _is_mark(behind, dropped + 1, _POINTS)
    ):
        dropped += 1
    return kept, dropped


def _is_mark(text: str, index: int, marks: tuple[str, ...]) -> bool:
    """Say whether punctuation stands there, of the given or of that which no blank ever stands before."""
    if text.startswith(marks, index):
        return not _GOES_ON.match(text, index + 1)
    return text.startswith(_CLOSING, index)
