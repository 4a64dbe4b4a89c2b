"""The UI message stream of Vercel's AI SDK, as `useChat` and `readUIMessageStream` of npm `ai` 6 and 7 read it.

Source: the AI SDK documentation, "Stream Protocols", and the schema of a ``UIMessageChunk`` in `ai` 6.0 and 7.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, TypeAlias

from streamcite.events import check_iterable
from streamcite.links import Cited, ResolvedEvent, to_dict
from streamcite.source import Source
from streamcite.sse import encode, encode_json
from streamcite.urls import is_safe_url

from .places import Placed, Places
from .protocol import HEADERS, Encoder
from .writer import NUMBER, TEXT

__all__ = ["ENCODER", "AISDKEncoder", "ui_message"]

_Json: TypeAlias = dict[str, Any]


class AISDKEncoder(Encoder):
    """Encode the events of one answer as the chunks of a UI message stream; see `Encoder`.

    A message keeps its parts in the order in which they begin. So a text part is left where a citation stands, and
    what follows begins another one. A citation is a part ``data-citation``: its ``data`` holds ``index`` and
    ``pending``, as `streamcite.links.to_dict` gives them; ``position`` in the text of all parts, joined, in UTF-16 code
    units (as JavaScript counts the length of a string); and ``links``, each with the ``sourceId`` of its source part,
    or None. When a pending citation is resolved, its ``data`` is replaced.

    Before the first citation of each number stands its source: a ``source-url``, or a ``source-document`` where
    there is no URL that a browser may open. Version 7 also has the citations after a text as the ``citations`` of that
    part, which stand at its end; version 6 passes over them. A source that comes later than the next text is in
    ``data-citation`` alone.

    Args:
        message_id: the id of the message; None leaves it to the reader.
    """

    headers: ClassVar[Mapping[str, str]] = {**HEADERS, "x-vercel-ai-ui-message-stream": "v1"}

    def __init__(self, *, message_id: str | None = None) -> None:
        super().__init__()
        self._message = _Message(message_id)

    def _start(self) -> list[bytes]:
        return self._frames(self._message.start())

    def _encode(self, events: Iterable[ResolvedEvent]) -> list[bytes]:
        frames = self._frames(chunk for event in events for chunk in self._message.read(event))
        self._writer = None
        if text_id := self._message.goes_on:
            frame = encode_json(_delta(text_id, TEXT), id=str(NUMBER))
            self._writer = self._message.places.writer(frame, self._numbers)
        return frames

    def _end(self, *, complete: bool) -> list[bytes]:
        return [*self._frames(self._message.end(complete=complete)), self._done()]

    def _fail(self, message: str) -> list[bytes]:
        return [*self._frames(self._message.fail(message)), self._done()]

    def _done(self) -> bytes:
        return encode("[DONE]", id=str(next(self._numbers)))

    def _frames(self, chunks: Iterable[_Json]) -> list[bytes]:
        return [self._frame(chunk) for chunk in chunks]


def ui_message(events: Iterable[ResolvedEvent], *, message_id: str = "") -> _Json:
    """Give the ``UIMessage`` of a whole answer: what the chunks of `AISDKEncoder` add up to in a reader.

    Args:
        events: all that a `Resolver` handed out.
        message_id: the id of the message.

    Raises:
        TypeError: they are not an iterable of events of a resolver, or one text.
    """
    check_iterable(events)
    message, parts = _Message(message_id), _Parts()
    for event in events:
        parts.read(message.read(event))
    parts.read(message.end(complete=True))
    return {"id": message_id, "role": "assistant", "parts": parts.parts}


class _Message:
    """Make the chunks of one message."""

    def __init__(self, message_id: str | None) -> None:
        self._id = message_id
        self._texts = 0  # how many text parts there were
        self._text: str | None = None  # the id of the one that has not ended
        self._begin = 0  # where that one begins
        self.places = Places("utf16")
        self._behind: list[Placed] = []  # what stands after it
        self._forms: dict[int, list[_Json]] = {}  # of the links of these, by index
        self._sources: dict[int, _Json] = {}  # those that were sent, by number

    @property
    def goes_on(self) -> str | None:
        """Give the id of the text that the next one is put after, if one is."""
        return None if self._behind else self._text

    def start(self) -> Iterator[_Json]:
        yield {"type": "start"} if self._id is None else {"type": "start", "messageId": self._id}

    def read(self, event: ResolvedEvent) -> Iterator[_Json]:
        begin = self.places.offset
        found = self.places.read(event)
        if not isinstance(found, str):
            if isinstance(event, Cited):
                self._behind.append(found)
            yield from self._tell(found)
        elif found:
            yield from self._write(found, begin)

    def end(self, *, complete: bool) -> Iterator[_Json]:
        yield from self._end_text()
        yield {"type": "finish", "finishReason": "stop" if complete else "other"}

    def fail(self, message: str) -> Iterator[_Json]:
        yield from self._end_text()
        yield {"type": "error", "errorText": message}

    def _write(self, text: str, begin: int) -> Iterator[_Json]:
        if self._behind:
            yield from self._end_text()
        if self._text is None:
            self._text, self._begin = f"text-{self._texts}", begin
            self._texts += 1
            yield {"type": "text-start", "id": self._text}
        yield _delta(self._text, text)

    def _end_text(self) -> Iterator[_Json]:
        """End the text, now that it is known what stands after it."""
        if self._text is not None:
            citations = [citation for placed in self._behind for citation in self._citations(placed)]
            yield {"type": "text-end", "id": self._text} | ({"citations": citations} if citations else {})
        self._text = None
        self._behind.clear()
        self._forms.clear()

    def _tell(self, placed: Placed) -> Iterator[_Json]:
        """Give a citation, after its sources."""
        known = placed.known
        for link in known.links:
            if link.number is not None and link.source is not None and link.number not in self._sources:
                self._sources[link.number] = source = _source(link.source)
                yield source
        forms = to_dict(known)["links"]
        for link, form in zip(known.links, forms, strict=True):
            form["sourceId"] = None if link.number is None else self._sources[link.number]["sourceId"]
        self._forms[known.index] = forms
        data = {"index": known.index, "position": placed.offset, "links": forms, "pending": known.pending}
        yield {"type": "data-citation", "id": f"citation-{known.index}", "data": data}

    def _citations(self, placed: Placed) -> Iterator[_Json]:
        """Give the citations of version 7, one a link with a source; they stand at the end of their part."""
        at = placed.offset - self._begin
        for link, form in zip(placed.known.links, self._forms[placed.known.index], strict=True):
            if link.number is not None:
                told = dict(self._sources[link.number])
                kind, source_id = told.pop("type").removeprefix("source-"), told.pop("sourceId")
                source = {"type": "source", "sourceType": kind, "id": source_id, **told}
                citation: _Json = {"source": source, "startIndex": at, "endIndex": at}
                passage = form["passage"] and form["passage"]["text"]
                yield {**citation, "citedText": passage} if passage else citation


def _delta(text_id: str, text: str) -> _Json:
    return {"type": "text-delta", "id": text_id, "delta": text}


def _source(source: Source) -> _Json:
    title = {} if source.title is None else {"title": source.title}
    if source.url and is_safe_url(source.url):
        return {"type": "source-url", "sourceId": source.id, "url": source.url, **title}
    return {"type": "source-document", "sourceId": source.id, "mediaType": "text/plain", "title": source.id, **title}


class _Parts:
    """What chunks add up to."""

    def __init__(self) -> None:
        self.parts: list[_Json] = []
        self._by_id: dict[str, _Json] = {}

    def read(self, chunks: Iterable[_Json]) -> None:
        for chunk in chunks:
            match chunk:
                case {"type": "text-start", "id": str(text_id)}:
                    self._add({"type": "text", "text": "", "state": "streaming"}, text_id)
                case {"type": "text-delta", "id": str(text_id), "delta": str(delta)}:
                    self._by_id[text_id]["text"] += delta
                case {"type": "text-end", "id": str(text_id), **rest}:
                    self._by_id[text_id].update(rest, state="done")
                case {"type": "data-citation", "id": str(citation_id), "data": data}:
                    if citation_id in self._by_id:
                        self._by_id[citation_id]["data"] = data
                    else:
                        self._add(chunk, citation_id)
                case {"type": "source-url" | "source-document"}:
                    self.parts.append(chunk)

    def _add(self, part: _Json, part_id: str) -> None:
        self._by_id[part_id] = part
        self.parts.append(part)


ENCODER = AISDKEncoder
