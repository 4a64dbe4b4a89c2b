"""Clients of a relay: many streams at once, read to their ends, and how long each event was on its way."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Iterator
from typing import cast

import uvloop

from benchmarks.openai import SOURCES
from streamcite import render_messages

_SENT = re.compile(rb'"obfuscation":"(\d+)"')
PATH = "/v1/chat/completions"
OTHER = "/v1/other"  # whose answers a relay does not look into
MATERIAL = "\n\n".join(each.text for each in render_messages(SOURCES))


def body_of(question: str, shown: str = "") -> bytes:
    """Give the body of a request, whose messages show sources or not."""
    messages = [{"role": "system", "content": shown}] if shown else []
    messages.append({"role": "user", "content": question})
    return json.dumps({"model": "any", "stream": True, "messages": messages}).encode()


ASKED = body_of("?")
SHOWN = body_of("?", MATERIAL)


class Client(asyncio.Protocol):
    """One stream."""

    def __init__(self, request: bytes, late: list[int] | None) -> None:
        self._request = request
        self._late = late
        self._tail = b""
        self.done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._size = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's own is not of this class
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        """Read what came, and leave at the end."""
        self._size += len(data)
        if self._late is not None:
            now = time.perf_counter_ns()
            self._late.extend(now - int(sent) for sent in _SENT.findall(data))
        self._tail = (self._tail + data)[-40:]
        if b"[DONE]" in self._tail:
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Say how much came."""
        if b"[DONE]" not in self._tail:
            self.done.set_exception(exc or RuntimeError(f"a stream has not come to its end: {self._tail!r}"))
        elif not self.done.done():
            self.done.set_result(self._size)


def _request(path: str, body: bytes) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nhost: relay\r\ncontent-type: application/json\r\n"
    return f"{head}authorization: Bearer any\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body


async def _read(port: int, requests: Iterator[bytes], streams: int, apart: float, late: list[int] | None) -> int:
    loop = asyncio.get_running_loop()

    async def one(number: int) -> int:
        await asyncio.sleep(number * apart)
        size = 0
        for request in requests:
            _, client = await loop.create_connection(lambda: Client(request, late), "127.0.0.1", port)  # noqa: B023
            size += await client.done
        return size

    return sum(await asyncio.gather(*[one(number) for number in range(streams)]))


def read(
    port: int,
    *,
    path: str = PATH,
    shown: str = "",
    streams: int,
    each: int = 1,
    events: int,
    every: float = 0.0,
    within: float = 0.0,
    batch: int = 1,
    late: list[int] | None = None,
) -> int:
    """Read streams, and give how many bytes came.

    Args:
        port: of the relay.
        path: that is asked for.
        shown: what a message before the question holds, if there is one.
        streams: how many at once.
        each: how many one after the other.
        events: of one stream.
        every: seconds between two writes of the upstream.
        within: seconds in which all streams have begun; 0: between two writes.
        batch: events in a write.
        late: takes how long each event was on its way, in nanoseconds.
    """
    sent = _request(path, body_of(f"events={events} every={every} batch={batch}", shown))
    requests = (sent for _ in range(streams * each))
    return uvloop.run(_read(port, requests, streams, (within or every) / streams, late))
