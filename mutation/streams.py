"""A few streams spliced in several cuts, without the second that the client takes to import: most changes fall here."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from streamcite import clean
from streamcite.relay import Splice
from tests.splices import cleaned, spliced, values

DELTAS = [
    "It ",
    "lasts. \ue200ci",
    "te\ue202turn0file1",
    "\ue201 And",
    " so on \\ \ue200cite\ue202a1",
    " x ",
    "on.",
    "\ue200url",
]


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


def main() -> str | None:
    """Give the first stream of which something else comes than the object view gives, if any."""
    for api, build in (("chat", chat), ("responses", response)):
        objects = [build(delta) for delta in DELTAS]
        for wire in written(objects):
            expected = cleaned(api, values(wire))
            frames = [part + b"\n\n" for part in wire.split(b"\n\n")]
            frames[-1] = frames[-1][:-2]
            for pieces in ([wire], frames, [wire[at : at + 1] for at in range(len(wire))], [wire[:250], wire[250:]]):
                if values(spliced(pieces)) != expected:
                    return f"{api}: {wire!r}"
        splice = Splice()
        plain = f"data: {json.dumps(build(clean(DELTAS[0])))}\n\n".encode()
        if not all(splice.feed(plain) is plain for _ in range(3)) or splice.close():
            return api
    return None


if __name__ == "__main__":
    sys.exit(main())
