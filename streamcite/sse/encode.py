"""One server-sent event as the bytes of its frame."""

from __future__ import annotations

import re

_LINE_END = re.compile(r"\r\n|\r|\n")  # the standard's three; `splitlines` knows others besides


def encode(data: str, *, event: str | None = None, id: str | None = None) -> bytes:
    """Encode one server-sent event, its closing blank line included.

    Args:
        data: The payload. Every line end in it (CR, LF or CRLF) starts another `data:` line,
            and a reader joins the lines with LF. UTF-8 has no lone surrogates, so a high and a
            low one in a row become the character they mean, and any other U+FFFD.
        event: The event's type; None leaves the field out (a reader takes `message`).
        id: What a reader sends as `Last-Event-ID`; None leaves the field out, `""` resets it.

    Returns:
        The frame in UTF-8: the `event`, `id` and `data` lines, in this order, and an empty one.

    Raises:
        ValueError: `event` or `id` holds a line end or a lone surrogate, or `id` a NUL
            (a reader ignores such an id).
    """
    lines = []
    if event is not None:
        lines.append(b"event: " + _field("event", event))
    if id is not None:
        if "\0" in id:
            raise ValueError("id must not hold NUL")
        lines.append(b"id: " + _field("id", id))
    lines += [b"data: " + _utf8(line) for line in _LINE_END.split(data)]
    return b"\n".join(lines) + b"\n\n"


def _field(name: str, value: str) -> bytes:
    if _LINE_END.search(value):
        raise ValueError(f"{name} must not hold a line end: {value!r}")
    return value.encode()


def _utf8(line: str) -> bytes:
    try:
        return line.encode()
    except UnicodeEncodeError:
        return line.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
