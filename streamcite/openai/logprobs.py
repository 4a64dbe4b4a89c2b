"""The log probabilities of tokens: those of what the reader sees stay, those of markers go.

Source: the API reference, ``logprobs`` of chat completion chunks and of output texts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from streamcite.events import Event, raw_of

from .objects import get, get_str


class TokenFilter:
    """Keep the entries of one text that belong to what is shown of it.

    An entry belongs to the bytes it stands for: its ``bytes``, or else those of its ``token``. Those of held text wait
    until it is decided. Where a server's entries are not those of its text, what is left over when nothing is held any
    more passes, except for what may be of a marker.

    Args:
        markup: the tokens of the format; an entry that holds one never stays.
    """

    def __init__(self, markup: Iterable[str]) -> None:
        self._markup = tuple(markup)
        self._waiting: deque[Any] = deque()
        self._left = 0  # bytes of the first one that no event has covered
        self._shown = False  # whether those that were covered are shown

    def take(self, entries: Iterable[Any], events: Sequence[Event], *, held: bool = False) -> list[Any]:
        """Take the entries of the next chunk, and give those that its events show; ``held`` if text is still held."""
        self._waiting.extend((entry, _size(entry)) for entry in entries)
        kept: list[Any] = []
        for event in events:
            self._cover(len(raw_of(event).encode()), str(event) == raw_of(event), kept)
        if not held and self._waiting:
            if all(isinstance(event, str) for event in events):
                kept += [entry for entry, _ in self._waiting]
            self._waiting.clear()
            self._left, self._shown = 0, False
        return [entry for entry in kept if not any(token in get_str(entry, "token") for token in self._markup)]

    def _cover(self, size: int, shown: bool, kept: list[Any]) -> None:
        while self._waiting and size:
            entry, whole = self._waiting[0]
            left = self._left or whole
            covered = min(left, size)
            self._shown |= shown and covered > 0
            size -= covered
            self._left = left - covered
            if not self._left:
                self._waiting.popleft()
                if self._shown or not whole:
                    kept.append(entry)
                self._shown = False


def _size(entry: Any) -> int:
    found = get(entry, "bytes")
    return len(found) if isinstance(found, list) else len(get_str(entry, "token").encode("utf-8", "surrogatepass"))
