"""One event in, its frame out: what is behind a splice for the events that do not pass by their bytes alone.

The cores of the object view clean what is decoded. They need not see an event that nothing in it or before it can
change, and mostly never do. Such events are kept as they came, and read when something turns up for which they count:

* With ``sources`` the offsets of annotations count all text, so that they are read before the next event that is.
* Without, the cores begin with what holds markup: it is a *part* of the stream. Should it matter then what else there
  was, all that came is read from the beginning by new cores: annotations of the server's own must be moved, or it must
  be told how a text ended.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import Any, Literal, TypeAlias

from streamcite.annotations import AnnotationOptions
from streamcite.events import Citation
from streamcite.format import OPENAI
from streamcite.openai.chat_core import ChatCore, choices_of
from streamcite.openai.chat_objects import ChatCleaner
from streamcite.openai.frames import DONE, json_reader, read_any_json
from streamcite.openai.objects import fields
from streamcite.openai.parts import StreamResult
from streamcite.openai.responses_core import ResponsesCore
from streamcite.openai.responses_objects import ResponsesCleaner
from streamcite.openai.stage import NewStage
from streamcite.openai.text import Text
from streamcite.options import ParserOptions
from streamcite.spacing import Spacing, tidier
from streamcite.sse import ServerSentEvent, SSEDecoder

from .alike import Alike
from .apis import Api, api_of
from .found import Found, find
from .marks import BACKSLASH
from .rewriting import encoded, hosts, renumbered
from .written import Render, Written

# So many bytes of events that were not read are kept: 16,000 chunks of chat, more than nearly every answer has.
MAX_KEPT = 4 * 2**20
# So many bytes of events one stream may have: an answer of a million tokens has fewer. What came is known to its end.
MAX_STREAM = 2**28
# So many texts (choices, parts of items) one stream may have; each keeps a parser.
MAX_TEXTS = 2**12
_BOM = b"\xef\xbb\xbf"
_ENDS = re.compile(rb"\n\n")  # found in less time than `bytes.count` takes
# Frames that end a stream, for one that ended otherwise.
_DONE, _STOPPED = b"data: [DONE]\n\n", b'data: {"error":"stopped"}\n\n'

End: TypeAlias = Literal["done", "stopped"]


class EventCleaner:
    """Clean the events of one stream.

    Args:
        api: which API it is of; None: what the first event of either shows.
        wanted: which annotations there are.
        options: as for `CitationParser`.
        render: how citations are written into the text, if they are.
        spacing: as for `clean_chat`.
        max_waiting: the most bytes of events that wait for a later one.

    Attributes:
        quiet: whether nothing is held nor waits, so that an event whose bytes hold no markup need not be read, except
            for what `skip` finds.
        plain: whether such an event passes as it came, too.
        watches: whether the server's own annotations must be read, as they would be moved or numbered.
        skipped: the frames that were not read; if the core is partial, all that came.
        room: for how many more bytes of these there is room.
        changed: how many events were left out, put in, or encoded anew.

    Raises:
        ValueError, TypeError: as `CitationParser`.
    """

    def __init__(
        self,
        api: Api | None,
        wanted: AnnotationOptions,
        options: ParserOptions,
        *,
        render: Render | None,
        spacing: Spacing,
        max_waiting: int,
    ) -> None:
        self._options = options
        self._new_tidy = tidier(spacing)
        self._new_stage: NewStage | None = self._new_tidy
        if render is not None:
            if wanted.sources is None:
                raise ValueError("render: needs sources, which are what it writes")
            written = partial(Written, render, wanted.sources, options.get("format", OPENAI), spacing)
            self._new_stage = lambda _: written()
        annotated = wanted.sources is not None and wanted.annotations != "off" and render is None
        self._sources = wanted.sources
        self._counts = annotated or self._new_stage is not None
        self._wanted = wanted if annotated else replace(wanted, sources=None)
        self._partial = not self._counts
        self._api: Api | None = api
        self._core: ChatCore | ResponsesCore | None = None
        self._cleaner: Any = None
        self._from_json = json_reader()
        self.skipped: list[bytes] = []
        self.room: int = MAX_KEPT
        self._left: int = MAX_STREAM
        self._sent: list[tuple[dict[str, Any], ServerSentEvent, bytes]] = []  # those that wait in the core
        self._max_waiting = max_waiting
        self._named = False  # whether the frames name the types of the events
        self._needs_deltas = False  # whether only events with a delta may pass unread, as others may add to a text
        self._shift = 0
        self._text: Text | None = None  # the one of the events that are as `_like`,
        self._alike: Alike | None = None
        self._like = ServerSentEvent(b"")
        self._like_value: dict[str, Any] = {}
        self._gone = 0  # how many events are in `skipped` no more
        self.changed: int = 0
        self._ended: End | None = None  # how the core was ended first
        self._settled = True  # whether nothing is held nor waits
        self.watches: bool = self._counts
        self.quiet: bool = False  # until the first event was read
        self.plain: bool = False
        ChatCore(options)  # a wrong option is misuse at once
        if api is not None:
            self._begin(api)

    def skip(self, frames: bytes) -> bytes | None:
        """Pass frames without markup while `quiet`, where they need not be read; several only while `plain`.

        Returns:
            The frames, or one with another number in it; None: it must be read.
        """
        if self._left < 0:
            return None
        if self._shift and (passed := renumbered(frames, self._shift)):
            if self._needs_deltas and b'.delta"' not in frames:
                return None
            self.keep(frames)  # it is flat, and so without annotations
            self.changed += 1
            return passed
        if (
            (self.watches and frames.find(b"annotation") >= 0)
            or (self._shift and b"sequence_number" in frames)
            or (self._needs_deltas and (b'.delta"' not in frames or frames.count(b"\n\n") != 1))
        ):
            return None
        self.keep(frames)
        return frames

    def read(self, event: ServerSentEvent, frame: bytes) -> bytes:
        """Clean an event, whose frame may pass as it is.

        Returns:
            Its frame, unless nothing is left of it, with others before and after it; none while it waits.
        """
        value, ends = self._decoded(event.data)
        cleaned = b""
        if ends is not None:
            cleaned = self.end(stopped=ends == "stopped")
        elif value is not None:
            return self._clean(value, event, frame)
        if self._partial and self._cleaner is not None:
            self.keep(frame.removeprefix(_BOM))
        else:
            self._gone += 1
        return cleaned + frame

    @property
    def exceeded(self) -> bool:
        """Say whether more bytes of events have come than one stream may have, or more texts."""
        return self._left < 0

    @property
    def came(self) -> int:
        """Give how many events came; of what was not read that is how many frames there are."""
        # A frame whose lines end with CR was skipped by itself, and an LF that came late after it, too.
        return self._gone + sum(len(_ENDS.findall(frames)) or b"data" in frames for frames in self.skipped)

    @property
    def held(self) -> int:
        """Give how many characters are held, of all texts."""
        return 0 if self._settled or self._core is None else self._core.held_size

    def found(self) -> Found:
        """Say what was found so far."""
        return Found() if self._core is None else find(self._core.events, self._sources)

    def result(self) -> StreamResult:
        """Say what came so far, with all text."""
        if self._core is None:
            return StreamResult(parts=(), usage=None, complete=False)
        self.read_skipped()
        if self._ended is not None:  # as readers stop there, the first counts
            self._cleaner.end(stopped=self._ended == "stopped")
        return self._core.result

    def read_alike(self, frame: bytes) -> bytes | None:
        """Clean an event that is as one of which nothing was left, except for its text; None: it must be read."""
        if self._text is None or self._alike is None or self._cleaner.needs_all:
            return None
        delta = self._alike.read(frame)
        if not delta or (self._partial and self.room < len(frame)):
            return None
        if self._partial:
            self.keep(frame)
        else:
            self._left -= len(frame)
            self._gone += 1
            if self.skipped:
                self.read_skipped()
        new = self._text.feed(delta)
        # It is held; or a citation ends, of which nothing is shown, and nobody counts where it stands.
        if not new or (self._partial and len(new) == 1 and type(new[0]) is Citation):
            self._text.template = self._like_value  # all that it has but its text
            self.changed += 1
            self.watches = True
            self._cleaner.leave_out()
            if new:
                self._see()
            else:
                self._shift = self._cleaner.shift
                self._settled = self.quiet = self.plain = False
            return b""
        payload = self._alike.payload(frame)
        value = self._text.template = self._from_json(payload)
        if self._partial and self._api == "responses":
            self._cleaner.skip_to(value)
        self._sent.append((value, self._like._replace(data=payload), frame))
        given = self._cleaner.read(value, (self._text, new))
        self.changed += not given
        return self._frames_of(given)

    def end(self, *, stopped: bool) -> bytes:
        """Settle what is held, and give what waits: the stream has ended, or ``stopped``."""
        if self._cleaner is None:
            return b""
        if self._settled:  # nothing comes of it, and it stands after what was not read
            self.keep(_STOPPED if stopped else _DONE)
            self._gone -= 1  # it did not come
            return b""
        self.read_skipped()
        return self._frames_of(self._end("stopped" if stopped else "done"))

    def _end(self, end: End) -> list[Any]:
        """Let the core settle what is held, and give what comes of that."""
        self._ended = self._ended or end
        given: list[Any] = self._cleaner.end(stopped=end == "stopped")
        return given

    def _clean(self, value: dict[str, Any], event: ServerSentEvent, frame: bytes) -> bytes:
        if self._api == "chat" and "choices" not in value:
            self._gone += 1
            return frame
        if not self._partial or self.room < len(frame) or self._counts_in(value, event.data):
            self.read_skipped()
        if self._partial:
            self.keep(frame.removeprefix(_BOM))
            if self._api == "responses":
                self._cleaner.skip_to(value)
        else:
            self._left -= len(frame)
            self._gone += 1
        self._named = event.event is not None and event.event == value.get("type")
        self._sent.append((value, event, frame))
        given = self._cleaner.read(value)
        if self._core is not None and self._core.text_count > MAX_TEXTS:
            self._left = -1
        cleaned = self._frames_of(given)
        if not (given or self._sent):
            self.changed += 1
            if text := self._cleaner.text_of(value):
                self._learn(text, value, event, frame)
        if self._sent and sum(len(waiting) for _, _, waiting in self._sent) > self._max_waiting:
            cleaned += self.end(stopped=False)
        return cleaned

    def _learn(self, text: Text, value: dict[str, Any], event: ServerSentEvent, frame: bytes) -> None:
        """Know events again that are as one of which nothing was left."""
        if self._alike is not None and self._alike.learn(frame, event.data, value.get("sequence_number")):
            self._text, self._like, self._like_value = text, event, value

    def _begin(self, api: Api) -> None:
        """Make the core, which has read nothing."""
        self._api = api
        new_core = ChatCore if api == "chat" else ResponsesCore
        core = new_core(self._options, new_tidy=self._new_tidy)
        self._core = core
        core.sure, core.partial = True, not self._counts  # it is the stream's, whatever it holds
        core.new_stage = self._new_stage
        self._needs_deltas = self._counts and api == "responses"
        self._cleaner = (
            ChatCleaner(core, self._wanted) if isinstance(core, ChatCore) else ResponsesCleaner(core, self._wanted)
        )
        self._alike, self._text, self._ended = Alike(api, self._from_json), None, None
        self.room = MAX_KEPT

    def _decoded(self, payload: bytes) -> tuple[dict[str, Any] | None, End | None]:
        """Decode a payload: give the object that the core reads, if it is one, and whether it ends the stream."""
        try:
            value = self._from_json(payload)
        except ValueError:
            if payload.startswith(DONE):
                return None, "done"
            try:
                value = read_any_json(payload)
            except (ValueError, RecursionError):  # readers stop here
                return None, "stopped"
        if not isinstance(value, dict):
            return None, None
        if value.get("error"):
            return None, "stopped"
        if self._cleaner is None and (api := api_of(value)):
            self._begin(api)
        return (value if self._cleaner is not None else None), None

    def _counts_in(self, value: dict[str, Any], payload: bytes) -> bool:
        """Say whether it matters for an event what came before of which the core has not read all."""
        if self._api == "responses":
            if not (self._settled or value.get("delta")):
                return True
        else:
            for choice in choices_of(value):
                if fields(choice).get("finish_reason"):
                    return True
        may_host = payload.find(b"annotation") >= 0 or (BACKSLASH in payload and payload.find(b"\\u00") >= 0)
        return may_host and hosts(value)

    def read_skipped(self) -> None:
        """Let the core read what was skipped; a partial one gives way to one that reads all from the beginning."""
        if self._partial and self._api is not None:
            self._partial = False
            self._begin(self._api)
        self._left -= MAX_KEPT - self.room
        self.room = MAX_KEPT
        if not self.skipped:
            return
        skipped = self.skipped.copy()
        self.skipped.clear()
        decoder = SSEDecoder(max_line=max(map(len, skipped)) + 1)
        decoder.feed(b"\n")  # after the start no byte order mark is one
        ended = False  # by what was read last: then there is nothing to settle, in however many texts
        for frames in (each for each in skipped if b"data" in each):  # else there is no event
            for event in decoder.feed(frames):
                self._gone += 1
                value, ends = self._decoded(event.data)
                if ends is not None:
                    if not ended:
                        self._end(ends)
                    ended = True
                elif value is not None and ("choices" in value or self._api == "responses"):
                    self._cleaner.read(value)
                    ended = False

    def keep(self, frames: bytes) -> None:
        """Keep frames that pass as they came, until it matters what they hold."""
        self.skipped.append(frames)
        self.room -= len(frames)
        if self.room < 0:
            self.read_skipped()

    def _frames_of(self, items: list[Any]) -> bytes:
        """Give the frames of what the core gave: those that came where it is what they hold, else new ones."""
        cleaned = b"".join([self._frame_of(item) for item in items]) if items else b""
        if self._sent and (self._api == "chat" or not self._cleaner.waiting):
            self.watches = True  # something was left out
            self._sent.clear()
        self._see()
        return cleaned

    def _see(self) -> None:
        """See what need not be read from now on."""
        self._shift = self._cleaner.shift
        self._settled = self._cleaner.settled
        self.quiet = self._settled and self._new_stage is None  # what is written depends on all text
        self.plain = self.quiet and not (self._shift or self._needs_deltas)

    def _frame_of(self, item: dict[str, Any]) -> bytes:
        number = next((number for number, sent in enumerate(self._sent) if sent[0] is item), None)
        if number is None:
            self.changed += 1
            self.watches = True
            return encoded(item, event=item.get("type") if self._named else None, escaped=True)
        _, event, frame = self._sent.pop(number)
        if self._is_of(event.data, item):
            return frame
        self.changed += 1
        self.watches = True
        retry = b"" if event.retry is None else b"retry: %d\n" % event.retry
        return retry + encoded(item, event=event.event, id=event.id, escaped=event.data.isascii())

    def _is_of(self, payload: bytes, item: dict[str, Any]) -> bool:
        """Say whether a payload is still what this holds."""
        try:
            return bool(self._from_json(payload) == item)
        except ValueError:
            return bool(read_any_json(payload) == item)
