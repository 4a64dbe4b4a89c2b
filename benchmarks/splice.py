"""What a splice costs of reading and writing every event: ``python -m benchmarks splice``.

The denominator decodes each event, reads its text with the parser, and encodes it, with ``json`` and with ``orjson``.
Both sides get the frames of one event each, as an answer comes that is generated.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

from streamcite import CitationParser
from streamcite.relay import Splice
from streamcite.sse import SSEDecoder, encode

from .openai import SOURCES, chat_chunk, text_delta
from .report import Figure
from .shapes import make
from .timing import fastest

EVENTS = 8_000
QUICK = {"events": 1_000, "passes": 3}
# The most that a splice may cost of what the json of the standard library costs, and orjson; None: it is only reported.
LIMITS = {"no citation": (0.04, 0.2), "1 per 200": (0.15, 0.5), "1 per 20, 20 distinct": (None, None)}


class Api(NamedTuple):
    """One API: what it is called, and how a stream of it is built, read and written."""

    name: str
    build: Callable[[str], dict[str, Any]]
    event: str | None
    text: Callable[[Any], str]
    put: Callable[[Any, str], None]


def _put_chat(chunk: Any, text: str) -> None:
    chunk["choices"][0]["delta"]["content"] = text


def _put_response(event: Any, text: str) -> None:
    event["delta"] = text


APIS = [
    Api("chat", chat_chunk, None, lambda chunk: chunk["choices"][0]["delta"]["content"], _put_chat),
    Api("responses", text_delta, "response.output_text.delta", lambda event: event["delta"], _put_response),
]


def frames_of(api: Api, deltas: Sequence[str]) -> list[bytes]:
    """Give a stream on the wire, as OpenAI writes it: compact, in UTF-8, each event with a number if the API has it."""
    events = [api.build(delta) for delta in deltas]
    for number, event in enumerate(events):
        if "sequence_number" in event:
            event["sequence_number"] = number
    return [encode(json.dumps(each, ensure_ascii=False, separators=(",", ":")), event=api.event) for each in events]


def read_all(api: Api, frames: Sequence[bytes], loads: Callable[[bytes], Any], dumps: Callable[[Any], Any]) -> bytes:
    """Decode each event, clean its text, and encode it."""
    decoder, parser, written = SSEDecoder(), CitationParser(), []
    head = f"event: {api.event}\n".encode() if api.event else b""
    for frame in frames:
        for event in decoder.feed(frame):
            value = loads(event.data)
            if text := "".join(map(str, parser.feed(api.text(value)))):
                api.put(value, text)
                encoded = dumps(value)
                encoded = encoded if isinstance(encoded, bytes) else encoded.encode()
                written.append(head + b"data: " + encoded + b"\n\n")
    return b"".join(written)


def splice_all(frames: Sequence[bytes], **options: Any) -> bytes:
    """Splice each event by itself."""
    splice = Splice(**options)
    feed = splice.feed
    return b"".join([*map(feed, frames), splice.close()])


def figures(*, events: int = EVENTS, passes: int = 9) -> Iterator[Figure]:
    """Measure all that has a limit, one figure after the other.

    Args:
        events: about how many events a stream has.
        passes: how often each is run; the fastest counts.
    """
    for api in APIS:
        for name, limits in LIMITS.items():
            yield from _compared(api, name, limits, events, passes)


def _compared(
    api: Api, name: str, limits: tuple[float | None, float | None], events: int, passes: int
) -> Iterator[Figure]:
    frames = frames_of(api, make(name, events).deltas)
    reads = [b"".join(frames[at : at + 16]) for at in range(0, len(frames), 16)]
    lanes: dict[str, Callable[[], object]] = {
        "splice": partial(splice_all, frames),
        "reads": partial(splice_all, reads),
        "sources": partial(splice_all, frames, sources=SOURCES),
        "json": partial(read_all, api, frames, json.loads, partial(json.dumps, separators=(",", ":"))),
    }
    if find_spec("orjson"):
        orjson = import_module("orjson")
        lanes["orjson"] = partial(read_all, api, frames, orjson.loads, orjson.dumps)
    times = fastest(lanes, passes=passes)
    for lane, limit in zip(("json", "orjson"), limits, strict=True):
        if lane in times:
            yield Figure(f"{api.name}: splice / {lane}: {name}", times["splice"] / times[lane], limit)
    yield Figure(f"{api.name}: splice of 16 events a read / json: {name}", times["reads"] / times["json"])
    yield Figure(f"{api.name}: splice with sources / json: {name}", times["sources"] / times["json"])
