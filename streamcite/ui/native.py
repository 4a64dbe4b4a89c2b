"""Our own protocol for front ends: the events of an answer, and patches of its HTML, as server-sent events.

`native.md` beside this file describes it, and `native.d.ts` in types. It needs the extra ``markdown``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from streamcite.links import ResolvedEvent, to_dict
from streamcite.render.live import BlockPatch, LiveHtml
from streamcite.sse import encode_json

__all__ = ["CONTENT_TYPE", "HEADERS", "VERSION", "EncoderClosed", "NativeEncoder"]

VERSION: Final = 1
CONTENT_TYPE: Final = "text/event-stream; charset=utf-8"
# Nothing on the way may keep an event back.
HEADERS: Final[Mapping[str, str]] = MappingProxyType(
    {"content-type": CONTENT_TYPE, "cache-control": "no-cache", "x-accel-buffering": "no"}
)


class EncoderClosed(RuntimeError):
    """Raised by `NativeEncoder.feed` after `NativeEncoder.close`: a mistake in the program, never of the input."""


class NativeEncoder:
    """Encode the events of one answer as server-sent events, each with the number that is its ``id``. Sans-I/O.

    The first one, ``start``, says the version, and the last one, ``end``, whether the answer is complete. Between them
    come the events of the resolver, each under its ``type`` with the JSON form of `streamcite.links.to_dict`, and
    behind those of one feed a ``patch`` for each block of HTML that they change (`BlockPatch.to_dict`).

    Args:
        events: whether the events of the resolver are sent.
        patches: whether patches of HTML are.
    """

    def __init__(self, *, events: bool = True, patches: bool = True) -> None:
        self._events = events
        self._live = LiveHtml() if patches else None
        self._number = 0
        self._closed = False

    def feed(self, events: Iterable[ResolvedEvent]) -> bytes:
        """Encode the next events.

        Args:
            events: what a `Resolver` handed out; may be empty.

        Returns:
            Whole frames, to be sent as they are; may be empty.

        Raises:
            EncoderClosed: `close` was called before.
            TypeError: one of them is no event of a resolver.
        """
        if self._closed:
            raise EncoderClosed("feed() after close(): make a new encoder for a new answer")
        events = list(events)
        frames = [self._start()]
        if self._events:
            frames += [self._frame(form["type"], form) for form in map(to_dict, events)]
        if self._live is not None:
            frames += self._patches(self._live.feed(events))
        return b"".join(frames)

    def close(self, *, complete: bool = True) -> bytes:
        """Encode the end of the answer.

        Args:
            complete: whether the answer has ended by itself.

        Returns:
            The last frames; from a second call on nothing.
        """
        if self._closed:
            return b""
        self._closed = True
        frames = [self._start()]
        if self._live is not None:
            frames += self._patches(self._live.close())
        return b"".join([*frames, self._frame("end", {"complete": complete})])

    def _start(self) -> bytes:
        return b"" if self._number else self._frame("start", {"version": VERSION})

    def _patches(self, patches: Iterable[BlockPatch]) -> list[bytes]:
        return [self._frame("patch", patch.to_dict()) for patch in patches]

    def _frame(self, event: str, data: Mapping[str, Any]) -> bytes:
        number, self._number = self._number, self._number + 1
        return encode_json(data, event=event, id=str(number))
