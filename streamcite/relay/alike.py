"""An event that is as one before except for its text, its number and its padding: known by its bytes.

What such an event comes to depends on its text alone, so that it need not be decoded.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from .apis import Api
from .marks import BACKSLASH

# What may differ, as JSON writes it, without its quotes. That of a name which stands somewhere else is found out by
# trying.
_HOLES = re.compile(
    rb'"(?:content|delta)": ?"(?P<text>[^"\\\r\n]*(?:\\[^\r\n][^"\\\r\n]*)*)"'
    rb'|"sequence_number": ?(?P<number>0|[1-9][0-9]{0,14})(?=[,}])'
    rb'|"obfuscation": ?"(?P<padding>[^"\\\r\n]*)"'
)
_LEAD = re.compile(rb"(?:event:[^\r\n]*\n)?data: ?")
_PROBES = {"text": b"\xe2\x98\x83", "number": b"271828", "padding": b"abc"}
# So many events are learned: of a stream in which each differs in something else, or of many texts at once, not all.
_MAX_LEARNED = 8
_ZERO = ord("0")
_FIRST_PRINTABLE = ord(" ")  # JSON has nothing below this in its strings


class Alike:
    """Know again the events that are as one of the stream.

    Args:
        api: which API they are of.
        from_json: the reader of JSON.
    """

    __slots__ = ("_api", "_first", "_from_json", "_lead", "_left", "_rest")

    def __init__(self, api: Api, from_json: Callable[[bytes], Any]) -> None:
        self._api = api
        self._from_json = from_json
        self._first = b"\0"  # what stands before the first of what may differ; of no event as long as none is learned
        self._rest: list[tuple[str, bytes, bytes]] = []  # each of these, where it ends, and what stands after it
        self._lead = 0  # how long what stands before the data is
        self._left = _MAX_LEARNED

    def learn(self, frame: bytes, payload: bytes, number: object) -> bool:
        """Take an event as the one, unless its bytes do not show where these stand; say whether they do.

        Args:
            frame: it, as it came.
            payload: its data.
            number: its number, if it has one.
        """
        if not self._left:
            return False
        self._left -= 1
        lead = len(frame) - len(payload) - 2
        if not frame.endswith(payload + b"\n\n") or not _LEAD.fullmatch(frame, 0, lead):
            return False
        pieces, probe, kinds, begin = [], [], [], 0
        for hole in _HOLES.finditer(frame, lead):
            kind = hole.lastgroup or ""
            pieces.append(frame[begin : hole.start(kind)])
            probe += [pieces[-1], _PROBES[kind]]
            kinds.append(kind)
            begin = hole.end(kind)
        pieces.append(frame[begin:])
        if kinds.count("text") != 1 or len({*kinds}) != len(kinds) or ("number" in kinds) != (number is not None):
            return False
        if not self._is_right(payload, b"".join([*probe, frame[begin:]])[lead:], kinds):
            return False
        self._lead = lead
        # A text and padding end with a quote, a number with what may follow one.
        self._first = pieces[0]
        self._rest = [(kind, piece[:1], piece) for kind, piece in zip(kinds, pieces[1:], strict=True)]
        return True

    def read(self, frame: bytes) -> str | None:
        """Give the text of an event; None if it is of another kind, or written in a way that nobody writes."""
        if not frame.startswith(self._first):
            return None
        begin, text = len(self._first), b""
        for kind, stop, literal in self._rest:
            end = frame.find(stop, begin)
            value = frame[begin:end]
            if kind == "text":
                text = value
            elif kind == "padding":
                if value and not value.isalnum():
                    return None
            elif not value.isdigit() or (value[0] == _ZERO and value != b"0"):
                return None
            if not frame.startswith(literal, end):
                return None
            begin = end + len(literal)
        if begin != len(frame):
            return None
        try:
            read: str = self._from_json(b'"%b"' % text) if BACKSLASH in text else text.decode()
        except ValueError:
            return None
        return read if text.isalnum() or (text and min(text) >= _FIRST_PRINTABLE) else None

    def payload(self, frame: bytes) -> bytes:
        """Give the data of an event that was read."""
        return frame[self._lead : -2]

    def _is_right(self, payload: bytes, probe: bytes, kinds: list[str]) -> bool:
        """Say whether what may differ was found: other values there come to nothing else."""
        try:
            expected, seen = self._from_json(payload), self._from_json(probe)
        except ValueError:
            return False
        if self._api == "chat":
            expected["choices"][0]["delta"]["content"] = "\u2603"
        elif expected.get("logprobs"):  # what comes of it depends on these too
            return False
        else:
            expected["delta"] = "\u2603"
        if "number" in kinds:
            expected["sequence_number"] = 271828
        if "padding" in kinds:
            expected["obfuscation"] = "abc"
        return bool(seen == expected)
