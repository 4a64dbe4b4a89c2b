"""One server-sent event as the bytes of its frame."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from streamcite.surrogates import replace_surrogates

_LINE_END = re.compile(r"\r\n|\r|\n")  # the standard's three; ``splitlines`` knows others besides
_NOT_IN_EVENT = re.compile("[\r\n\ud800-\udfff]")
_NOT_IN_ID = re.compile("[\0\r\n\ud800-\udfff]")

quoted: Callable[[str], str] = json.encoder.encode_basestring
"""Write a string as JSON; what is not ASCII as it is."""
_json = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
# What JSON may hold as it is and a frame better does not: the line ends of `str.splitlines` that are not the
# standard's (JSON itself escapes all others), and surrogates, for which UTF-8 has no bytes.
_ESCAPED = re.compile("[\x85\u2028\u2029\ud800-\udfff]")


def encode(data: str, *, event: str | None = None, id: str | None = None) -> bytes:
    """Encode one server-sent event, its closing blank line included.

    Args:
        data: the payload. Every line end in it (CR, LF or CRLF) starts another ``data`` line, and a reader joins the
            lines with LF. UTF-8 has no surrogates, so a high and a low one in a row become the character they mean,
            and any other U+FFFD.
        event: the event's type; None leaves the field out (a reader takes ``message``).
        id: what a reader sends as ``Last-Event-ID``; None leaves the field out, ``""`` resets it.

    Returns:
        The frame in UTF-8: the ``event``, ``id`` and ``data`` lines, in this order, and an empty one.

    Raises:
        TypeError: ``data`` is not a ``str``; for other values there is `encode_json`.
        ValueError: ``event`` or ``id`` holds a line end or a surrogate, or ``id`` a NUL (a reader ignores such an id).
    """
    if not isinstance(data, str):
        raise TypeError(f"data: must be a str, not {type(data).__name__}; for other values there is encode_json")
    lines = [f"data: {line}" for line in _LINE_END.split(replace_surrogates(data)[0])]
    return "\n".join([*_fields(event, id), *lines, "\n"]).encode()


def _fields(event: str | None, id: str | None) -> list[str]:
    lines = []
    if event is not None:
        if _NOT_IN_EVENT.search(event):
            raise ValueError(f"event: must be a string without line ends and surrogates, not {event!r}")
        lines.append(f"event: {event}")
    if id is not None:
        if _NOT_IN_ID.search(id):
            raise ValueError(f"id: must be a string without line ends, surrogates and NUL, not {id!r}")
        lines.append(f"id: {id}")
    return lines


def encode_json(value: object, *, event: str | None = None, id: str | None = None) -> bytes:
    """Encode one server-sent event whose data is a value as JSON, in one line for every reader.

    Some readers split lines wherever `str.splitlines` does, and so break a frame at U+0085, U+2028 and U+2029. JSON has
    such characters in its strings only, where an escape means the same, and so they are escaped: `encode`, which takes
    any text, cannot do that. Surrogates are escaped too, and nothing is lost. All else is UTF-8, without spaces.

    Args:
        value: what `json.dumps` takes.
        event: as in `encode`.
        id: as in `encode`.

    Returns:
        The frame, as of `encode`.

    Raises:
        TypeError: the value holds what JSON has not.
        ValueError: it holds itself, or a number that is not finite; or as in `encode`.
    """
    return "\n".join([*_fields(event, id), f"data: {safe(_json(value))}", "\n"]).encode()


def safe(written: str) -> str:
    """Escape in JSON what a frame better does not hold as it is."""
    return written if written.isascii() else _ESCAPED.sub(_escape, written)


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
