"""Server-sent events in, clean ones out, and the same bytes where nothing changes. Sans-I/O.

The state of the stream here is the frame that came in part. What a frame does is decided in three steps, each of which
costs many times the one before, and is taken for few of its frames: its bytes cannot hold markup; it must be read
(`cleaner`), and comes to what it was; it must be encoded anew.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, get_args

from streamcite.annotations import AnnotationOptions, Unit, When
from streamcite.format import OPENAI
from streamcite.openai.parts import StreamResult
from streamcite.sources import Source
from streamcite.sse import LineTooLong, ServerSentEvent, SSEDecoder
from streamcite.sse.decode import DEFAULT_MAX_LINE

from .apis import Api
from .cleaner import EventCleaner
from .found import Found
from .marks import BACKSLASH, LF, Finder, Marks
from .written import Render

if TYPE_CHECKING:
    from typing import Unpack

    from streamcite.options import ParserOptions
    from streamcite.spacing import Spacing

_CR, _COLON = b"\r:"
_BOM = b"\xef\xbb\xbf"
_LINE = re.compile(rb"[^\r\n]*+(?:\r\n?|\n)?+")
# Lines without meaning, as many as there are, since sending them costs nothing: comments, and outside of a frame empty
# ones too.
_COMMENTS = re.compile(rb"(?::[^\r\n]*+(?:\r\n?+|\n))++")
_NOTHING = re.compile(rb"(?:(?::[^\r\n]*+)?+(?:\r\n?+|\n))++")


class StreamTooLong(ValueError):
    """Raised by `Splice.feed` for a stream of more events than an answer has, so that no text grows without an end."""


class SpliceClosed(RuntimeError):
    """Raised by `Splice.feed` after `Splice.close`: a mistake in the program, never of the input."""


class Splice:
    """Clean the server-sent events of a model's answer: a chat completion, or a response of the Responses API.

    What comes out is what `clean_chat` or `clean_responses` gives of the same events, with two liberties: an event that
    they do not change has the same bytes, its comments and ids included; and without ``sources``, text that has come in
    no delta, but stands in the finished text of a response, gets none. Comments pass at once. An event that must be
    changed keeps its fields, its type, id and retry, and loses the comments in its frame.

    What is held when a choice or a text finishes, at ``[DONE]`` and at an error object comes in an event of the same
    kind before that. JSON that cannot be read passes, and counts as an error.

        splice = Splice()
        for data in upstream:
            send(splice.feed(data))
        send(splice.close())

    Args:
        api: ``chat`` or ``responses``; None: what the first event shows. Events of neither pass as they are.
        sources: what the citations point to, by source id, as for `clean_chat` and `clean_responses`. With these, all
            text before a citation must be decoded, since the offsets of annotations count it.
        annotations: see there.
        unit: see there.
        details: whether the annotations of a response also say, under ``streamcite``, what the API has no field for:
            the ``number`` of the source in the answer, the ``passages`` with ``locator``, ``first_line`` and
            ``last_line``, and the ``problem`` if there is one, as in `Link`.
        render: ``links`` or ``footnotes`` writes the citations of answers into their texts, as `MarkdownRenderer` does
            in this style, in the place of annotations. All text is decoded then; the end of a finished text waits for
            the next event that says whether the answer goes on.
        spacing: as for `clean_chat`; where it is ``tidy`` all text is decoded, too.
        max_line: the most bytes of one line, and of one frame, as of `SSEDecoder`.
        options: as for `CitationParser`.

    Raises:
        TypeError, ValueError: as `clean_chat`; ValueError: ``api`` is neither, ``render`` is unknown or
            without sources, or ``max_line`` is not a number from 1.

    Source: the HTML Living Standard, section 9.2; the API reference, "The chat completion chunk object" and "Responses:
    streaming events".
    """

    __slots__ = (
        "_append",
        "_begun",
        "_closed",
        "_decoder",
        "_events",
        "_failure",
        "_frame",
        "_late",
        "_lead",
        "_line",
        "_marks",
        "_open",
        "_plain",
        "_quiet",
    )

    def __init__(
        self,
        *,
        api: Api | None = None,
        sources: Mapping[str, Source] | None = None,
        annotations: When = "streamed",
        unit: Unit = "codepoint",
        details: bool = False,
        render: Render | None = None,
        spacing: Spacing = "exact",
        max_line: int = DEFAULT_MAX_LINE,
        **options: Unpack[ParserOptions],
    ) -> None:
        if render not in (None, *get_args(Render)):
            raise ValueError(f"render: must be 'links', 'footnotes' or None, not {render!r}")
        if api not in (None, "chat", "responses"):
            raise ValueError(f"api: must be 'chat', 'responses' or None, not {api!r}")
        wanted = AnnotationOptions(sources=sources, annotations=annotations, unit=unit, details=details)
        self._decoder = SSEDecoder(max_line=max_line)
        self._events = EventCleaner(api, wanted, options, render=render, spacing=spacing, max_waiting=max_line)
        self._append = self._events.skipped.append
        self._marks = Marks(options.get("format", OPENAI))
        self._lead = self._marks.lead
        self._frame = bytearray()  # the whole lines of the open frame, comments not counted, as they came,
        self._line = bytearray()  # and the line that has not ended
        self._open = False  # whether there is any of the two
        self._late = False  # whether an LF that comes next ends a comment in the open frame
        self._quiet = False  # whether whole frames without markup need not be read, except for what `skip` finds,
        self._plain = False  # and whether they pass as they came
        self._failure: LineTooLong | StreamTooLong | None = None
        self._begun = False  # whether anything was given, except for what `feed` passes by itself
        self._closed = False

    def feed(self, data: bytes) -> bytes:
        """Read the next bytes.

        Args:
            data: any bytes, cut anywhere; may be empty.

        Returns:
            What can be sent on now; where nothing changes, the same object.

        Raises:
            LineTooLong: a line, or a frame, is longer than ``max_line``. What came before has been given by then, and
                what was held: if this call has any, it is returned, and the error raised by the next.
            StreamTooLong: there were more than 256 MiB of events, or 4,096 texts, as above.
            SpliceClosed: `close` was called before.
            TypeError: the data is not ``bytes``.
        """
        # What `_passes_unread` asks, and what `keep` does: most calls come to this.
        try:
            if (
                self._plain
                and type(data) is bytes
                and data[-1] == LF == data[-2]  # half of what ``endswith`` costs
                and self._lead not in data
                and BACKSLASH not in data
            ):
                events = self._events
                if not events.watches or data.find(b"annotation") < 0:
                    self._append(data)
                    events.room = room = events.room - len(data)
                    if room < 0:
                        events.read_skipped()
                        self._set_quiet(not events.exceeded)
                    return data
        except IndexError:  # there are no two bytes
            pass
        if not isinstance(data, bytes):
            raise TypeError(f"data: must be bytes, not {type(data).__name__}")
        if self._closed:
            raise SpliceClosed("feed() after close(): make a new splice for a new stream")
        if self._failure is not None:
            raise self._failure
        if self._quiet and self._passes_unread(data) and (passed := self._events.skip(data)) is not None:
            return passed
        return self._feed_part(data)

    @property
    def held(self) -> int:
        """Give how many characters of texts are held."""
        return self._events.held

    @property
    def events(self) -> int:
        """Give how many events came; counted when it is asked, of what passed unread with frames of comments alone."""
        return self._events.came

    @property
    def changed(self) -> int:
        """Give how many events were left out, put in, or encoded anew."""
        return self._events.changed

    def found(self) -> Found:
        """Say what was found so far, from what was read in any case."""
        return self._events.found()

    def result(self) -> StreamResult:
        """Say what came so far, as an event view does. What has passed unread is read for it."""
        return self._events.result()

    def close(self, *, stopped: bool = False) -> bytes:
        """Say that the stream has ended.

        Args:
            stopped: whether an error was its end, as when the connection was lost.

        Returns:
            What was held, in an event of its own; no end is invented. Then a frame that was cut off, unless it may hold
            markup. From a second call on nothing.

        Raises:
            LineTooLong, StreamTooLong: it is still to be raised.
        """
        if self._closed:
            return b""
        self._closed = True
        self._set_quiet(False)
        if self._failure is not None:
            raise self._failure
        rest = bytes(self._frame + self._line)
        if self._marks.found(rest):
            rest = b""
        return self._events.end(stopped=stopped) + rest

    def _passes_unread(self, data: bytes) -> bool:
        """Say whether these are whole frames in which there is no markup."""
        return data.endswith(b"\n\n") and self._lead not in data and BACKSLASH not in data

    def _set_quiet(self, quiet: bool) -> None:
        """Say whether whole frames need not be read from now on, if they cannot hold markup."""
        self._quiet, self._plain = quiet, quiet and self._events.plain

    def _feed_part(self, data: bytes) -> bytes:
        events, open_before = self._events, self._open
        if events.exceeded:
            return self._fail(StreamTooLong("the stream has more events, or texts, than are read"), [])
        if not open_before and (passed := events.read_alike(data)) is not None:
            self._quiet, self._plain = events.quiet, events.plain
            return passed
        cleaned: list[bytes] = []
        try:
            if not open_before and _is_usual(data):
                self._read_frame(data, self._decoder.feed(data), cleaned)
            elif _CR in data or (open_before and b"\n\n" not in data):
                self._read_lines(data, cleaned)
            else:
                begin = data.index(b"\n\n") + 2 if open_before else 0  # an empty line ends what was open
                self._read_lines(data[:begin], cleaned)
                self._read_frames(data[begin:], cleaned)
        except LineTooLong as error:
            return self._fail(error, cleaned)
        self._open = bool(self._line) or self._decoder.in_frame
        self._set_quiet(events.quiet and not self._open)
        self._begun = self._begun or bool(cleaned)
        return b"".join(cleaned)

    def _fail(self, error: LineTooLong | StreamTooLong, cleaned: list[bytes]) -> bytes:
        """End the stream; raise the error, unless there is something to be given before."""
        self._failure = error
        self._set_quiet(False)
        cleaned.append(self._events.end(stopped=True))
        self._frame.clear()
        self._line.clear()
        given = b"".join(cleaned)
        if not given:
            raise error
        return given

    def _read_frames(self, data: bytes, cleaned: list[bytes]) -> None:
        """Read what begins with a frame and has no CR: what cannot hold markup at once, all else frame by frame."""
        events = self._events
        finder = Finder(data, self._lead)
        begin, end = 0, data.rfind(b"\n\n") + 2
        while begin + 1 < end:
            if events.plain:
                mark = finder.next(begin, annotations=events.watches)
                last = end if mark < 0 else data.rfind(b"\n\n", begin, mark) + 2
                if last > begin + 1 and (passed := events.skip(data[begin:last])) is not None:
                    cleaned.append(passed)
                    begin = last
                    continue
            if data[begin] <= _COLON and (nothing := self._nothing(data, begin)):
                cleaned.append(nothing)
                begin += len(nothing)
                continue
            last = _frame_end(data, begin)
            self._read_whole(data[begin:last], cleaned)
            begin = last
        if begin < len(data):
            self._read_lines(data[begin:], cleaned)

    def _read_whole(self, frame: bytes, cleaned: list[bytes]) -> None:
        """Read one frame."""
        events = self._events
        if events.quiet and not ((self._lead in frame or BACKSLASH in frame) and self._marks.found(frame)):
            passed = events.skip(frame)
        else:
            passed = events.read_alike(frame)
        if passed is not None:
            cleaned.append(passed)
        elif frame.startswith(b":") or b"\n:" in frame:
            self._read_lines(frame, cleaned)
        else:
            self._read_frame(frame, self._decoder.feed(frame), cleaned)

    def _read_lines(self, data: bytes, cleaned: list[bytes]) -> None:
        """Read each line by itself, so that no frame is gathered with a comment in it, nor beyond the limit."""
        begin, end = 0, len(data)
        if self._late and data.startswith(b"\n"):
            self._decoder.feed(b"\n")
            cleaned.append(b"\n")
            begin = 1
        self._late = self._late and not data
        while begin < end:
            if nothing := self._nothing(data, begin):
                self._give(nothing, cleaned)
                begin += len(nothing)
                self._late = self._is_late(nothing, at_end=begin == end)
                continue
            line = _LINE.match(data, begin)[0]  # type: ignore[index]
            begin += len(line)
            read = self._decoder.feed(line)
            self._line += line
            if not line.endswith((b"\r", b"\n")):
                return
            line = bytes(self._line)
            self._line.clear()
            if line.startswith(b":"):
                self._give(line, cleaned)
                self._late = self._is_late(line, at_end=begin == end)
                continue
            ended = bool(read) or not self._decoder.in_frame
            if ended and line == b"\n" and self._frame.endswith(b"\r"):
                line = b"\r"  # between the two stood a comment, without which they would be one line end
            self._frame += line
            if ended:
                frame = bytes(self._frame)
                self._frame.clear()
                passed = None
                if self._events.quiet and not self._marks.found(frame):
                    passed = self._events.skip(frame)
                if passed is None:
                    self._read_frame(frame, read, cleaned)
                else:
                    cleaned.append(passed)

    def _give(self, comment: bytes, cleaned: list[bytes]) -> None:
        """Give comments, which may stand in the open frame, and a byte order mark that the stream begins with first."""
        if self._frame.startswith(_BOM) and not (cleaned or self._begun or self._events.came):
            cleaned.append(_BOM)
            del self._frame[: len(_BOM)]
        cleaned.append(comment)

    def _is_late(self, comment: bytes, *, at_end: bool) -> bool:
        """Say whether the LF after a comment's CR may still come, while a frame is open that it is not to end."""
        return at_end and bool(self._frame) and comment.endswith(b"\r")

    def _nothing(self, data: bytes, begin: int) -> bytes:
        """Give the lines from there on that have no meaning; none where a line is open."""
        if self._line:
            return b""
        found = (_COMMENTS if self._frame else _NOTHING).match(data, begin)
        if found is None:
            return b""
        # One comment stands for all, also for which line end an LF after them would belong to.
        self._decoder.feed(b":\r" if found[0].endswith(b"\r") else b":\n")
        return found[0]

    def _read_frame(self, frame: bytes, read: list[ServerSentEvent], cleaned: list[bytes]) -> None:
        """Clean the event of a frame; one without any passes."""
        cleaned.append(self._events.read(read[0], frame) if read else frame)


def _frame_end(data: bytes, begin: int) -> int:
    """Give where a frame ends that does. Looking for one byte twice takes less time than for two at once."""
    while data[begin] != LF:
        begin = data.find(LF, begin) + 1
    return begin + 1


def _is_usual(data: bytes) -> bool:
    """Say whether bytes at the start of a frame are one of two or three lines, without comments, as most are."""
    if _CR in data or not data.endswith(b"\n\n"):
        return False
    lines = data.count(b"\n")
    return lines == 2 or (lines == 3 and data[0] != _COLON and data[data.index(b"\n") + 1] != _COLON)
