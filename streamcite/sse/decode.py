"""Server-sent events out of bytes, cut anywhere. `SSEDecoder` owns the state.

The state is the frame that was fed in part: its whole lines, and the line that has not ended. A frame is read when the
empty line after it is there. Every line end is made an LF first, and every byte is copied and searched a fixed number
of times, however small the cuts. Most reads bring just one frame of a usual form, and find no part of one before it:
`SSEDecoder.feed` recognizes these at once.
"""

from __future__ import annotations

from typing import NamedTuple

# A `response.completed` is one line, and so is an image in base64: they have room, the machine's memory is safe.
DEFAULT_MAX_LINE = 16 * 2**20  # bytes
# More digits are not a time: 18 of them are 30 million years, and `int` refuses thousands.
_MAX_RETRY_DIGITS = 18
_BOM = b"\xef\xbb\xbf"
# As ints: `in` and `find` look for one byte in a fraction of the time that they take for a ``bytes`` object.
_LF, _CR = b"\n\r"

_endswith = bytes.endswith  # looked up on the class, it raises TypeError for what is not bytes
_new = tuple.__new__  # builds an event in half the time of its class


class DecoderClosed(RuntimeError):
    """Raised by `SSEDecoder.feed` after the decoder was closed: a mistake in the program, never of the input."""


class LineTooLong(ValueError):
    """Raised by `SSEDecoder.feed` for a line, or a frame of many lines, above the decoder's limit.

    Attributes:
        max_line: the limit, in bytes.
        events: the events that the same call of `SSEDecoder.feed` had read before; no call has returned them.
    """

    def __init__(self, max_line: int, events: list[ServerSentEvent]) -> None:
        super().__init__(f"a line of the stream, or the lines of one event, are longer than {max_line} bytes")
        self.max_line = max_line
        self.events = events


class ServerSentEvent(NamedTuple):
    """Hold one event of the stream, as its frame gives it.

    Attributes:
        data: the bytes after ``data:``, in UTF-8 as a rule, but nothing has checked it; several lines are joined with
            LF.
        event: the event's type; None when the frame names none or an empty one: the standard's ``message``.
        id: the id that the frame itself gives, ``""`` to reset it; None when it gives none.
            `SSEDecoder.last_event_id` is the one that holds on.
        retry: the reconnection time that the frame itself gives, in milliseconds; None when it gives none.
    """

    data: bytes
    event: str | None = None
    id: str | None = None
    retry: int | None = None

    @property
    def text(self) -> str:
        """Give the data as text; what is not UTF-8 becomes U+FFFD, as the standard decodes it."""
        return self.data.decode("utf-8", "replace")


class SSEDecoder:
    """Turn the bytes of a ``text/event-stream`` into its events, without I/O.

    It reads as the HTML Living Standard says in section 9.2.6, "Interpreting an event stream": a line ends at CR, LF or
    CRLF and nowhere else, a byte order mark at the start is not part of the stream, a frame without ``data`` is not an
    event, though its ``id`` and ``retry`` count. How the bytes are cut cannot be told from the events, and nothing in
    them raises but their length.

        decoder = SSEDecoder()
        for data in response.iter_bytes():
            for event in decoder.feed(data):
                print(event.event, event.text)
        if rest := decoder.close():
            print("the stream broke off in", rest)

    Args:
        max_line: the most bytes of one line, its end not counted, and of the lines of one frame, joined with LF,
            comments not counted. What the decoder holds between two calls is bounded by it.

    Raises:
        ValueError: ``max_line`` is not a number from 1.
    """

    __slots__ = (
        "_after_cr", "_at_start", "_closed", "_idle", "_last_event_id", "_line", "_lines", "_max_line", "_retry",
    )  # fmt: skip

    def __init__(self, *, max_line: int = DEFAULT_MAX_LINE) -> None:
        if not isinstance(max_line, int) or max_line < 1:
            raise ValueError(f"max_line: must be a number of at least 1 byte, not {max_line!r}")
        self._max_line = max_line
        self._closed = False
        self._last_event_id = ""
        self._retry: int | None = None
        self._at_start = True  # whether a byte order mark may come, part of which may be in `_line`
        self._after_cr = False  # whether an LF belongs to the line end that was read
        # The open frame. Byte arrays, since bytes and lists of them would be copied, or large, for small cuts.
        self._lines = bytearray()  # its whole lines that are not comments, an LF after each
        self._line = bytearray()  # the line that has not ended
        self._idle = False  # whether a frame can be read at once: it is open, and the four above say nothing

    @property
    def last_event_id(self) -> str:
        """Give the id of the newest frame that had one, an event or not; ``""`` if none had or it was reset.

        A client sends it as ``Last-Event-ID`` when it connects again.
        """
        return self._last_event_id

    @property
    def in_frame(self) -> bool:
        """Say whether part of a frame was fed, comments not counted, of which the rest is still to come."""
        return bool(self._lines or self._line)

    @property
    def retry(self) -> int | None:
        """Give the newest reconnection time that the stream gave, in milliseconds, or None.

        It counts when its frame or the stream has ended. What is not a number, or has more than 18 digits, is ignored.
        """
        return self._retry

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        """Read the next part of the stream.

        Args:
            data: any bytes, cut anywhere; may be empty.

        Returns:
            The events whose frames have ended, in order.

        Raises:
            LineTooLong: the limit is exceeded; it bears the events before it, and the decoder is closed.
            DecoderClosed: the decoder is closed.
            TypeError: the data is not ``bytes``; nothing has changed.
        """
        try:
            whole = _endswith(data, b"\n\n")
        except TypeError:
            raise TypeError(f"data: must be bytes, not {type(data).__name__}") from None
        if whole and self._idle and _CR not in data and len(data) <= self._max_line:
            event = _usual(data, -2)
            if event is not None:
                return [event]
        return self._feed_part(data)

    def close(self) -> bytes:
        """Say that the stream has ended. A frame without an empty line after it is not an event, says the standard.

        Returns:
            What was fed of such a frame: its lines without comments, LF for every line end, the last line as far as it
            came. Empty if the stream ended between two frames, and from a second call on.
        """
        *_, retry = _fields(bytes(self._lines))
        if retry is not None:  # it counts from its own line on
            self._retry = retry
        rest = bytes(self._lines if self._line.startswith(b":") else self._lines + self._line)
        self._shut()
        return rest

    def _feed_part(self, data: bytes) -> list[ServerSentEvent]:
        if self._closed:
            raise DecoderClosed("feed() to a closed decoder: make a new one for a new stream")
        events: list[ServerSentEvent] = []
        data = self._plain(data)
        if b"\n" in data:
            *frames, rest = self._join(data).split(b"\n\n")
            for frame in frames:
                if len(frame) > self._max_line and len(self._kept(frame, events)) > self._max_line:
                    raise self._too_long(events)
                if (event := self._read(frame)) is not None:
                    events.append(event)
            if rest:
                self._hold(rest, events)
        else:
            self._line += data
        if len(self._lines) + len(self._line) > self._max_line and not self._at_start:
            self._check_held(events)
        self._idle = not (self._lines or self._line or self._after_cr or self._at_start)
        return events

    def _plain(self, data: bytes) -> bytes:
        """Take off a byte order mark at the start, and make every line end an LF."""
        if self._at_start:
            data = bytes(self._line) + data
            self._line.clear()
            self._at_start = len(data) < len(_BOM) and _BOM.startswith(data)
            if self._at_start:
                return data
            data = data.removeprefix(_BOM)
        if data and self._after_cr:
            self._after_cr = False
            data = data.removeprefix(b"\n")
        if b"\r" in data:
            self._after_cr = data.endswith(b"\r")
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return data

    def _join(self, data: bytes) -> bytes:
        """Put before a line end what it ends: the line, and the frame if it is its last one."""
        text = bytes(self._line) + data
        self._line.clear()
        if self._lines and (text.startswith(b"\n") or b"\n\n" in text):
            text = bytes(self._lines) + text
            self._lines.clear()
        return text

    def _hold(self, rest: bytes, events: list[ServerSentEvent]) -> None:
        """Keep what stands after the last empty line, or goes on in the open frame."""
        lines, _, line = rest.rpartition(b"\n")
        if lines and (kept := self._kept(lines, events)):
            self._lines += kept + b"\n"
        self._line += line

    def _kept(self, lines: bytes, events: list[ServerSentEvent]) -> bytes:
        """Leave out comments, and an empty first line, if there is one; a comment must not be too long either."""
        kept = []
        for line in lines.split(b"\n"):
            if not line.startswith(b":"):
                kept.append(line)
            elif len(line) > self._max_line:
                raise self._too_long(events)
        return b"\n".join(kept).removeprefix(b"\n")

    def _check_held(self, events: list[ServerSentEvent]) -> None:
        line = len(self._line)
        if not line or self._line.startswith(b":"):
            longest = max(len(self._lines) - 1, line)
        else:
            longest = len(self._lines) + line
        if longest > self._max_line:
            raise self._too_long(events)

    def _read(self, frame: bytes) -> ServerSentEvent | None:
        usual = _usual(frame)
        if usual is not None:
            return usual
        data, event, id, retry = _fields(frame)
        if id is not None:
            self._last_event_id = id
        if retry is not None:
            self._retry = retry
        return _new(ServerSentEvent, (b"\n".join(data), event, id, retry)) if data else None

    def _too_long(self, events: list[ServerSentEvent]) -> LineTooLong:
        self._shut()
        return LineTooLong(self._max_line, events)

    def _shut(self) -> None:
        self._closed = True
        self._idle = self._at_start = self._after_cr = False
        self._lines.clear()
        self._line.clear()


def _usual(frame: bytes, end: int | None = None) -> ServerSentEvent | None:
    """Read the two frames that nearly all of a model's answer comes in, one line of data with or without its event."""
    if frame[:6] == b"data: ":
        line = frame[6:end]
        if _LF not in line:
            return _new(ServerSentEvent, (line, None, None, None))
    elif frame[:7] == b"event: ":
        head, _, line = frame[7:end].partition(b"\n")
        if line[:6] == b"data: " and _LF not in line:
            return _new(ServerSentEvent, (line[6:], head.decode("utf-8", "replace") or None, None, None))
    return None


def _fields(frame: bytes) -> tuple[list[bytes], str | None, str | None, int | None]:
    """Read the lines of a frame, an LF between them: its data, event, id and retry."""
    data: list[bytes] = []
    event = id = retry = None
    for line in frame.split(b"\n"):
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            data.append(value)
        elif name == b"event":
            event = value.decode("utf-8", "replace") or None
        elif name == b"id":
            if b"\0" not in value:
                id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit() and len(value) <= _MAX_RETRY_DIGITS:
            retry = int(value)
    return data, event, id, retry
