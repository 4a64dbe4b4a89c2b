"""Streams of server-sent events: what the standard makes of one, what a decoder does, and how to draw and cut them."""

import itertools
import re
from collections.abc import Iterable
from typing import Any

from hypothesis import strategies as st

from streamcite.sse import LineTooLong, ServerSentEvent, SSEDecoder

LINE_END = re.compile(r"\r\n|\r|\n")
BOM = b"\xef\xbb\xbf"


class Standard:
    """The HTML Living Standard, section 9.2.6, step by step: the stream decoded whole, then read line by line."""

    def __init__(self, stream: bytes) -> None:
        self.events: list[tuple[str, str]] = []  # type and data
        self.ids: list[str] = []  # the last event ID string at each event
        self.own: list[tuple[str | None, int | None]] = []  # the id and the retry of the event's own frame
        self.rest = ""  # the frame that has not ended, without comments
        self.last_event_id = ""
        self.retry: int | None = None
        self._data = self._type = self._id = ""
        self._own: tuple[str | None, int | None] = (None, None)
        *lines, last = LINE_END.split(stream.decode("utf-8", "replace").removeprefix("\ufeff"))
        for line in lines:
            if not line:
                self._dispatch()
            elif not line.startswith(":"):
                self.rest += f"{line}\n"
                self._process(*(line.split(":", 1) if ":" in line else (line, "")))
        self.rest += "" if last.startswith(":") else last

    def _process(self, field: str, value: str) -> None:
        value = value.removeprefix(" ")
        if field == "event":
            self._type = value
        elif field == "data":
            self._data += value + "\n"
        elif field == "id" and "\0" not in value:
            self._id = value
            self._own = (value, self._own[1])
        elif field == "retry" and re.fullmatch("[0-9]{1,18}", value):
            self.retry = int(value)
            self._own = (self._own[0], self.retry)

    def _dispatch(self) -> None:
        self.last_event_id = self._id
        if self._data:
            self.events.append((self._type or "message", self._data[:-1]))
            self.ids.append(self.last_event_id)
            self.own.append(self._own)
        self._data = self._type = self.rest = ""
        self._own = (None, None)


def over_limit(stream: bytes, limit: int) -> int | None:
    """How many events come before a line or a frame above the limit, if there is one."""
    if stream in (BOM[:1], BOM[:2]):
        return None  # part of what is not a line
    count, frame = 0, b""
    *lines, last = re.split(rb"\r\n|\r|\n", stream.removeprefix(BOM))
    for line, ended in [*((line, True) for line in lines), (last, False)]:
        if len(line) > limit:
            return count
        if not line and ended:
            count += len(Standard(frame + b"\n").events)
            frame = b""
        elif line and not line.startswith(b":"):
            frame += line + b"\n"
            if len(frame) - 1 > limit:
                return count
    return None


def read(decoder: SSEDecoder, parts: Iterable[bytes]) -> list[ServerSentEvent]:
    return [event for part in parts for event in decoder.feed(part)]


def single(stream: bytes) -> list[bytes]:
    return [stream[i : i + 1] for i in range(len(stream))]


def outcome(stream: Iterable[bytes], **options: int) -> Any:
    """All that can be seen of a stream that is read to its end."""
    decoder = SSEDecoder(**options)
    events: list[ServerSentEvent] = []
    error = None
    try:
        for part in stream:
            events += decoder.feed(part)
    except LineTooLong as too_long:
        events += too_long.events
        error = str(too_long)
    rest = decoder.close()
    return events, error, rest, decoder.last_event_id, decoder.retry


def as_standard(event: ServerSentEvent) -> tuple[str, str]:
    return event.event or "message", event.text


PIECES = [
    *(b"\n", b"\r", b"\r\n", b"\n\n", b"\r\n\r\n", b"\r\r", b"\n", b"\r", b"\n\n"),
    *(
        b"data: x",
        b"data:",
        b"data",
        b"data:  y",
        b"data: data: z",
        b"Data: x",
        b" data: x",
        b"data : x",
        b"dat",
        b"a: b",
    ),
    *(b"event: e", b"event:", b"event", b"event: caf\xc3\xa9", b"id: 1", b"id:2", b"id", b"id: 3\0", b":", b": ping"),
    *(b"retry: 10", b"retry:0020", b"retry", b"retry: ", b"retry: 1x", b"retry: -1", b"retry: \xd9\xa3"),
    *(b"retry: " + b"9" * 18, b"retry: " + b"9" * 19, b"retry: " + b"9" * 5000),
    *(b'data: {"a":1}\n\n', b'event: m\ndata: {"b":2}\n\n', b"event: \ndata: \n\n", b": ping\n\n", b"id: 4\n\n"),
    *(BOM, BOM[:2], BOM[2:], "\u2028".encode(), "\u2029".encode(), "\x85".encode(), b"\x0b", b"\x0c", b"\x1c", b"\0"),
    *("é😀".encode(), b"\xe2\x80", b"\xf0\x9f\x98", b"\xff", b"\xed\xa0\xbd", b" ", b"x"),
]
streams = st.lists(st.sampled_from(PIECES) | st.binary(max_size=3), max_size=24).map(b"".join)


@st.composite
def cut_streams(draw: st.DrawFn) -> tuple[bytes, list[bytes]]:
    stream = draw(streams)
    places = sorted(draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    return stream, [stream[i:j] for i, j in itertools.pairwise([0, *places, len(stream)])]
