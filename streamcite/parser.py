"""The state machine: token deltas in, clean text and citation events out. This file owns the only state of the core.

The state is the text that was fed and not yet handed out (what the open marker was read to hold, and behind it what
could not be decided yet), how to read on in that marker's body, and two offsets. What each step does is said by
semantics, section 3; what one marker *is* stands in `grammar`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal, TypedDict, Unpack

from .events import Event, Reason, Reference, new_citation, new_malformed, new_other
from .format import DEFAULT_MAX_MARKER, OPENAI, CitationFormat
from .grammar import Body, Scanner, grammar

DEFAULT_MAX_PAYLOAD = 65536
SNAPSHOT_VERSION = 1
# A piece of an open marker is joined to the one before it until they are this long, in code points: short enough that
# the copying costs less than an object a piece, long enough that the objects cost little beside their characters.
PIECE = 512
# The markers of an answer repeat: those up to this length are read once, and this many are remembered for each set of
# options. That bounds the memory (0.3 MB), far over what one answer cites.
REMEMBERED_LENGTH = 256
REMEMBERED_MARKERS = 512

# Looked up on the class, these raise TypeError for what is no str, as no attribute of the value would.
_isascii = str.isascii
_isprintable = str.isprintable


class ParserOptions(TypedDict, total=False):
    """What `CitationParser`, and all that makes one, takes by keyword; see there."""

    format: CitationFormat
    malformed: Literal["drop", "keep"]
    repair: bool
    max_marker: int
    max_payload: int | None


class ParserClosed(RuntimeError):
    """Raised by `CitationParser.feed` after `CitationParser.close`: a mistake in the program, never of the input."""


class _Options:
    """Hold checked options and what is derived from them, once for all parsers that have the same."""

    __slots__ = ("grammar", "keep", "lane", "limits", "remembered", "repair")

    def __init__(
        self, fmt: CitationFormat, malformed: str, repair: bool, max_marker: int, max_payload: int | None
    ) -> None:
        if not isinstance(fmt, CitationFormat):
            raise TypeError(f"format: must be a CitationFormat, not {type(fmt).__name__}")
        if malformed not in ("drop", "keep"):
            raise ValueError(f"malformed: must be 'drop' or 'keep', not {malformed!r}")
        if max_marker < 8:
            raise ValueError(f"max_marker: must be at least 8 code points, not {max_marker!r}")
        if max_payload is None:
            max_payload = max(DEFAULT_MAX_PAYLOAD, max_marker)
        if max_payload < max_marker:
            raise ValueError(f"max_payload: must be at least max_marker, {max_marker}, not {max_payload!r}")
        self.grammar = grammar(fmt)
        self.keep = malformed == "keep"
        self.repair = repair
        self.limits = (max_marker, max_payload)
        self.remembered: dict[str, tuple[str, tuple[Reference, ...], bool]] = {}


_options = lru_cache(maxsize=64)(_Options)


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
        TypeError: ``format`` is no `CitationFormat`.
    """

    __slots__ = (
        "_body", "_closed", "_end", "_field", "_head", "_idle", "_limit", "_options", "_pieces", "_removed", "_start",
        "_tail", "_undecided",
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
        self._options = options = _options(format, malformed, repair, max_marker, max_payload)
        self._closed = False
        self._end = 0  # offset in the input, behind all that was fed
        self._removed = 0  # how much further the input is than the clean text
        self._body: Body | None = None  # how to read the open marker, if its first delimiter was read
        self._field = 0  # the body's field state
        self._start = 0  # offset of the open marker in the input
        self._head = 0  # length of its start, family and delimiter
        self._limit = 0  # the most code points it may have
        self._pieces: list[str] | None = None  # what was read of it, older parts
        self._tail = ""  # and the newest part
        self._undecided = ""  # what was fed behind that and will be read again with the next delta
        self._idle = options.grammar.in_plain  # whether plain text can be handed out without a look at the state

    @property
    def held(self) -> str:
        """Give the end of the input that was fed but is not handed out yet."""
        return self._read_part() + self._undecided

    def feed(self, delta: str) -> list[Event]:
        """Read the next part of the input.

        Args:
            delta: any string, cut anywhere; may be empty.

        Returns:
            The events that are certain now, in order; no empty strings. A delta without markup, while nothing is held,
            comes back as the same object.

        Raises:
            ParserClosed: `close` was called before.
            TypeError: the delta is no ``str``.
        """
        if self._idle and (_isascii(delta) or _isprintable(delta)):
            self._end += len(delta)
            return [delta] if delta else []
        return self._feed(delta)

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
        self._closed, self._idle = True, False
        events: list[Event] = []
        text, self._undecided = self._undecided, ""
        self._read(text, events, closing=True)
        while self._body is not None:
            self._read(self._cut_off(self._body, events, complete=complete), events, closing=True)
        return events

    def snapshot(self) -> dict[str, Any]:
        """Give the state as JSON values: a version, what is held, its offset in the input, its position in clean text.

        Raises:
            ValueError: the parser is closed.
        """
        if self._closed:
            raise ValueError("a closed parser has no state to go on from")
        held = self.held
        offset = self._end - len(held)
        return {"version": SNAPSHOT_VERSION, "held": held, "offset": offset, "position": offset - self._removed}

    @classmethod
    def restore(cls, snapshot: Mapping[str, Any], **options: Unpack[ParserOptions]) -> CitationParser:
        """Make a parser that goes on where `snapshot` was taken.

        Args:
            snapshot: what `snapshot` gave.
            options: those of the parser that gave it.

        Raises:
            ValueError: the snapshot is of another version, or none, or does not fit the options.
        """
        match snapshot:
            case {"version": 1, "held": str(held), "offset": int(offset), "position": int(position)}:
                pass
            case _:
                raise ValueError(f"not a snapshot of version {SNAPSHOT_VERSION}: {snapshot!r}")
        parser = cls(**options)
        parser._end = offset
        parser._removed = offset - position
        # What is held was read from the state that a new parser is in, and so it can be read again.
        if parser.feed(held):
            raise ValueError("the snapshot was taken with other options: what it holds is not held with these")
        return parser

    def _feed(self, delta: str) -> list[Event]:
        if self._closed:
            raise ParserClosed("feed() after close(): make a new parser for a new answer")
        if not isinstance(delta, str):
            raise TypeError(f"a delta must be a str, not {type(delta).__name__}")
        self._end += len(delta)
        text = delta
        if self._undecided:
            text, self._undecided = self._undecided + delta, ""
        events: list[Event] = []
        self._read(text, events)
        self._idle = self._body is None and not self._undecided and self._options.grammar.in_plain
        return events

    # Below, ``text`` ends where the input fed so far ends, so that ``self._end - len(text) + i`` is the offset of
    # ``text[i]``. Each reader goes on at an index and returns the next one; ``len(text)`` when it needs more input.

    def _read(self, text: str, events: list[Event], *, closing: bool = False) -> None:
        scanner = self._options.grammar.closed if closing else self._options.grammar.open
        i = 0
        while i < len(text):
            if self._body is None:
                i = self._read_text(text, i, events, scanner)
            else:
                text, i = self._read_body(self._body, text, i, events, scanner)
        if closing and self._undecided:  # a start, and letters that can be a family name
            raw, self._undecided = self._undecided, ""
            self._report("truncated", raw, self._end - len(raw), events)

    def _read_text(self, text: str, i: int, events: list[Event], scanner: Scanner) -> int:
        fmt = self._options.grammar.fmt
        while True:
            found = scanner.in_text(text, i)
            j = found.start() if found else len(text)
            if j > i:
                events.append(text[i:j])
            if found is None:
                return j
            i, token = found.end(), found[0]
            if token == fmt.start:
                return self._open(text, j, i, events, scanner)
            offset = self._end - len(text) + j
            if token == fmt.delimiter:
                self._report("stray_delimiter", token, offset, events)
            elif token == fmt.stop:
                self._report("stray_stop", token, offset, events)
            elif token in fmt.ignored:
                events.append(new_other("", (), token, "", offset, offset - self._removed))
                self._removed += 1
            else:
                self._undecided = text[j:]
                return i

    def _open(self, text: str, mark: int, i: int, events: list[Event], scanner: Scanner) -> int:
        """Read a family name behind the start that stands at ``mark`` and ends at ``i``."""
        fmt = self._options.grammar.fmt
        j = scanner.name(text, i)
        found = scanner.token(text, j)
        token = found[0] if found else ""
        offset = self._end - len(text) + mark
        if token == fmt.delimiter:
            j += len(token)
            body = self._options.grammar.body(text[i : j - len(token)])
            self._body, self._field, self._start, self._head = body, 0, offset, j - mark
            self._limit = self._options.limits[body.is_payload]
            if j == len(text):
                self._hold(text[mark:])
            return j
        if token == fmt.stop:
            self._report("no_delimiter", text[mark : j + len(token)], offset, events)
            return j + len(token)
        if j + len(token) == len(text) and token != fmt.start:
            self._undecided = text[mark:]
            return len(text)
        self._report("unclosed" if token else "bad_family", text[mark:i], offset, events)
        if j > i:
            events.append(text[i:j])
        return j

    def _read_body(self, body: Body, text: str, i: int, events: list[Event], scanner: Scanner) -> tuple[str, int]:
        fmt = self._options.grammar.fmt
        origin = self._end - len(text)
        mark = max(self._start - origin, 0)  # from where on the text is the open marker's
        bound = max(self._start + self._limit - origin, i)  # what ends behind this index is too long
        while True:
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
                self._hold(text[mark:])
                return text, j
            i, token = found.end(), found[0]
            if token == fmt.start:
                return self._violate(body, text, j, events, "unclosed", finished=True)
            if token not in (fmt.delimiter, fmt.stop):
                self._hold(text[mark:j])
                self._undecided = text[j:]
                return text, i
            if i > bound:
                return self._violate(body, text, j, events, "too_long", finished=False)
            if token == fmt.stop:
                self._finish(body, self._take_read_part() + text[mark:i], events)
                return text, i
            self._field = body.divide(self._field)

    def _hold(self, piece: str) -> None:
        tail = self._tail + piece
        if len(tail) > PIECE:
            if self._pieces is None:
                self._pieces = []
            self._pieces.append(tail)
            tail = ""
        self._tail = tail

    def _read_part(self) -> str:
        return "".join(self._pieces) + self._tail if self._pieces else self._tail

    def _take_read_part(self) -> str:
        part, self._pieces, self._tail = self._read_part(), None, ""
        return part

    def _finish(self, body: Body, raw: str, events: list[Event]) -> None:
        """Report the marker that its stop has closed."""
        self._body = None
        start = self._start
        remembered = self._options.remembered
        known = remembered.get(raw)
        if known is not None:
            events.append(new_citation(*known, raw, start, start - self._removed))
            self._removed += len(raw)
            return
        fmt, options = self._options.grammar.fmt, self._options
        family = raw[len(fmt.start) : self._head - len(fmt.delimiter)]
        fields = raw[self._head : -len(fmt.stop)].split(fmt.delimiter)
        if body.is_payload:
            shown = options.grammar.show(family, tuple(fields))
            events.append(new_other(family, tuple(fields), raw, shown, start, start - self._removed))
            self._removed += len(raw) - len(shown)
            return
        references, reason = options.grammar.read_fields(fields)
        if not family:
            self._report("bad_family", raw, start, events)
        elif reason is None or (references and options.repair):
            if len(raw) <= REMEMBERED_LENGTH:
                if len(remembered) >= REMEMBERED_MARKERS:
                    remembered.clear()
                remembered[raw] = family, references, reason is not None
            events.append(new_citation(family, references, reason is not None, raw, start, start - self._removed))
            self._removed += len(raw)
        else:
            self._report(reason, raw, start, events)

    def _violate(
        self, body: Body, text: str, k: int, events: list[Event], reason: Reason, *, finished: bool
    ) -> tuple[str, int]:
        """Give up the open marker at ``k``: what is certainly markup is an event, the rest will be read as text."""
        held = self._take_read_part()
        mark = max(self._start - self._end + len(text), 0)
        length = self._report_head(body, held + text[mark:k], events, reason, finished=finished)
        if length < len(held):
            return held + text, length
        return text, mark + length - len(held)

    def _cut_off(self, body: Body, events: list[Event], *, complete: bool) -> str:
        """Settle the marker that the input's end left open; give what is to be read again as text."""
        held = self._take_read_part()
        if complete and not body.is_payload:
            return held[self._report_head(body, held, events, "unclosed", finished=True) :]
        if body.may_be_prose(self._field):
            return held[self._report_head(body, held, events, "truncated", finished=False) :]
        self._body = None
        self._report("truncated", held, self._start, events)
        return ""

    def _report_head(self, body: Body, read: str, events: list[Event], reason: Reason, *, finished: bool) -> int:
        """Report an unclosed marker's head; give its length in code points."""
        self._body = None
        options, start = self._options, self._start
        length, references = body.head(read[self._head :].split(options.grammar.fmt.delimiter), finished)
        raw = read[: self._head + length]
        family = raw[len(options.grammar.fmt.start) : self._head - len(options.grammar.fmt.delimiter)]
        if references and family and options.repair and reason != "truncated":
            events.append(new_citation(family, references, True, raw, start, start - self._removed))
            self._removed += len(raw)
        else:
            self._report(reason, raw, start, events)
        return len(raw)

    def _report(self, reason: Reason, raw: str, offset: int, events: list[Event]) -> None:
        text = raw if self._options.keep else ""
        events.append(new_malformed(reason, raw, text, offset, offset - self._removed))
        self._removed += len(raw) - len(text)


def parse(text: str, *, complete: bool = False, **options: Unpack[ParserOptions]) -> list[Event]:
    """Read a whole text: a `CitationParser` fed once and closed.

    Args:
        text: the whole input.
        complete: as for `CitationParser.close`.
        options: as for `CitationParser`.

    Returns:
        All events in order, adjacent strings joined.

    Raises:
        ValueError, TypeError: as `CitationParser` does for a bad option or a text that is no ``str``.
    """
    parser = CitationParser(**options)
    joined: list[Event] = []
    strings: list[str] = []
    for event in [*parser.feed(text), *parser.close(complete=complete), None]:
        if isinstance(event, str):
            strings.append(event)
            continue
        if strings:
            joined.append("".join(strings))
            strings.clear()
        if event is not None:
            joined.append(event)
    return joined


def clean(text: str, *, complete: bool = False, **options: Unpack[ParserOptions]) -> str:
    """Give what the reader sees of a whole text: its events as `parse` reads them, each as a string.

    Args, Raises: as `parse`.
    """
    return "".join(map(str, parse(text, complete=complete, **options)))
