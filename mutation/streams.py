"""A few streams spliced in several cuts, without the second that the client takes to import: most changes fall here."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from streamcite.relay import Splice, SpliceClosed
from streamcite.sse import LineTooLong
from tests.splices import cleaned, spliced, values

PLAIN = ["It ", "lasts ", "so "]
MARKED = ["It. \ue200ci", "te\ue202turn0file1", "\ue201 And", " on \\ \ue200cite\ue202a1", " x ", "on.", "\ue200url"]
DELTAS = [*PLAIN, *MARKED, *PLAIN, *MARKED[:3], *PLAIN]


def chat(delta: str) -> dict[str, Any]:
    """Give a chunk of a chat completion."""
    return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": delta}}]}


def response(delta: str) -> dict[str, Any]:
    """Give an event of a response."""
    return {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": delta}


def written(objects: list[Any]) -> Iterator[bytes]:
    """Write events in some ways: as most servers do, and as none should."""
    texts = [json.dumps(each, ensure_ascii=False) for each in objects]
    usual = "".join(f"data: {text}\n\n" for text in texts)
    yield usual.encode()
    yield "".join(f"data: {json.dumps(each)}\n\n" for each in objects).encode()
    yield usual.replace("\n", "\r\n").encode()
    yield "".join(f": ping\nid: 7\ndata: {text}\n\n:\n\n" for text in texts).encode()
    yield f"{usual}data: [DONE]\n\n".encode()
    yield usual.encode()[:-30]


def cuts(wire: bytes) -> Iterator[list[bytes]]:
    """Cut a stream whole, after every line, in the middle of frames, in two, and at every byte."""
    yield [wire]
    yield wire.splitlines(keepends=True)
    yield [part + b"\n\n" for part in wire.removesuffix(b"\n\n").split(b"\n\n")]
    for size in (1, 64, 150, 700):
        yield [wire[at : at + size] for at in range(0, len(wire), size)]


def fault(api: str, objects: list[Any], *, plain: bool) -> str | None:
    """Give what is wrong with what a splice makes of these events."""
    for wire in written(objects):
        expected = cleaned(api, values(wire))
        for pieces in cuts(wire):
            whole = b"".join(pieces)
            seen = spliced(pieces)
            if seen.count(b": ping") != wire.count(b": ping") or (
                plain and b"\r" not in wire and len(seen) != len(whole)
            ):
                return f"{api}: lines of {wire!r}"
            if values(seen) != (expected if whole == wire else cleaned(api, values(whole))):
                return f"{api}: {wire!r}"
    return None


def main() -> str | None:
    """Give the first stream of which something else comes than the object view gives, if any."""
    for api, build in (("chat", chat), ("responses", response)):
        for deltas in (DELTAS, PLAIN * 3):
            if wrong := fault(api, [build(delta) for delta in deltas], plain=deltas is not DELTAS):
                return wrong
        splice = Splice(max_line=500)
        plain = f"data: {json.dumps(build(PLAIN[0]))}\n\n".encode()
        if not all(splice.feed(plain) is plain for _ in range(3)):
            return f"{api}: not the same object"
        for data, error in ((b"data: \xee\x88\x80" + b"x" * 500, LineTooLong), (plain, LineTooLong), ("", TypeError)):
            try:
                splice.feed(data)  # type: ignore[arg-type]
            except error:
                continue
            return f"{api}: {error.__name__} is not raised"
        closed = Splice()
        if closed.feed(plain * 3) != plain * 3 or closed.close():
            return f"{api}: not the same bytes"
        try:
            closed.feed(plain)
        except SpliceClosed:
            continue
        return f"{api}: closed, and goes on"
    return None


if __name__ == "__main__":
    sys.exit(main())
