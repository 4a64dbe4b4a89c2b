"""Our own protocol for front ends: the events of an answer, and patches of its HTML, as server-sent events.

`native.md` beside this file describes it, and `native.d.ts` in types. It needs the extra ``markdown``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final

from streamcite.events import check_event
from streamcite.links import ResolvedEvent, to_dict
from streamcite.render.live import BlockPatch, LiveHtml
from streamcite.sse import encode_json

from .protocol import Encoder
from .writer import NUMBER, TEXT, TextWriter

__all__ = ["ENCODER", "VERSION", "NativeEncoder"]

VERSION: Final = 1


class NativeEncoder(Encoder):
    """Encode the events of one answer, and its HTML, as server-sent events; see `Encoder`.

    The first one, ``start``, says the version, and the last one, ``end``, whether the answer is complete. Between them
    come the events of the resolver, each under its ``type`` with the JSON form of `streamcite.links.to_dict`, and
    after those of one feed a ``patch`` for each block of HTML that they change (`BlockPatch.to_dict`).

    Args:
        events: whether the events of the resolver are sent.
        patches: whether patches of HTML are.
    """

    def __init__(self, *, events: bool = True, patches: bool = True) -> None:
        super().__init__()
        self._events = events
        self._live = LiveHtml() if patches else None

    def _start(self) -> list[bytes]:
        if self._events and self._live is None:
            frame = encode_json(to_dict(TEXT), event="text", id=str(NUMBER))
            self._writer = TextWriter(frame, self._numbers, kept=deque(maxlen=0))  # nobody asks how long the text is
        return [self._frame({"version": VERSION}, "start")]

    def _encode(self, events: Iterable[ResolvedEvent]) -> list[bytes]:
        events = list(events)
        for event in events:
            check_event(event, ResolvedEvent, "a Resolver")
        frames = [self._frame(form, form["type"]) for form in map(to_dict, events)] if self._events else []
        return frames if self._live is None else frames + self._patches(self._live.feed(events))

    def _end(self, *, complete: bool) -> list[bytes]:
        return [*self._last_patches(), self._frame({"complete": complete}, "end")]

    def _fail(self, message: str) -> list[bytes]:
        return [*self._last_patches(), self._frame({"complete": False, "error": message}, "end")]

    def _last_patches(self) -> list[bytes]:
        return [] if self._live is None else self._patches(self._live.close())

    def _patches(self, patches: Iterable[BlockPatch]) -> list[bytes]:
        return [self._frame(patch.to_dict(), "patch") for patch in patches]


ENCODER = NativeEncoder
