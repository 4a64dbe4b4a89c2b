"""Events of a stream looked at and written anew, as bytes or as what JSON holds. Pure."""

from __future__ import annotations

import json
from typing import Any

from streamcite.sse import encode, encode_json

_NUMBER = b'"sequence_number":'
_LF = ord("\n")


def hosts(value: Any) -> bool:
    """Say whether there is an annotation of the server's in an event."""
    values = [value]
    while values:
        value = values.pop()
        if isinstance(value, dict):
            if value.get("annotations") or "annotation" in value:
                return True
            values += value.values()
        elif isinstance(value, list):
            values += value
    return False


def encoded(value: Any, *, event: str | None, id: str | None = None, escaped: bool) -> bytes:
    """Encode a frame; with escapes for all but ASCII where what came had them."""
    if not escaped:
        try:
            return encode_json(value, event=event, id=id)
        except ValueError:  # a number that JSON has not, but some servers write
            pass
    return encode(json.dumps(value, separators=(",", ":")), event=event, id=id)


def renumbered(frame: bytes, shift: int) -> bytes | None:
    """Move the number of an event that is one flat object in one line; None if it is not, or has no number."""
    begin = frame.find(b"{")
    at = frame.rfind(_NUMBER)  # of two the last counts
    if not (
        0 < begin < at
        and begin == frame.rfind(b"{")
        and frame.startswith(b"data: ", begin - 6)
        and (begin == 6 or frame[begin - 7] == _LF)
        and frame.find(b"\n", begin) == len(frame) - 2
        and frame.find(b"\r") < 0
    ):
        return None
    at += len(_NUMBER)
    end = frame.find(b",", at)
    if end < 0:
        end = frame.find(b"}", at)
    try:
        number = int(frame[at:end])
    except ValueError:  # it is not an integer, or one that is too long
        return None
    return b"%b%d%b" % (frame[:at], number + shift, frame[end:])
