"""A server of answers for the benchmark of relays: ``python -m benchmarks.relay.upstream``. It prints its port.

A request says in its messages, which pass every relay, how its answer comes: ``events=N every=SECONDS batch=N``, the
number of events, the seconds between two writes (0: as fast as the reader takes them), the events of one write.
"""

from __future__ import annotations

import asyncio
import re
import time
from functools import cache

import uvloop

from benchmarks.shapes import make
from benchmarks.splice import APIS, frames_of

_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)
_WANTED = re.compile(rb"events=(\d+) every=([\d.e-]+) batch=(\d+)")
_DONE = b"data: [DONE]\n\n"
# In the place of what is random each event says when it was sent, in nanoseconds of the machine's clock.
_RANDOM = b'"obfuscation":"Jq3"'


@cache
def answer(events: int) -> list[bytes]:
    """Give the frames of an answer with a citation in 200 characters."""
    return frames_of(APIS[0], make("1 per 200", events).deltas)[:events]


async def send(writer: asyncio.StreamWriter, events: int, every: float, batch: int) -> None:
    """Send one answer."""
    writer.write(_HEAD)
    frames = answer(events)
    due = time.perf_counter()
    for begin in range(0, events, batch):
        sent = b'"obfuscation":"%d"' % time.perf_counter_ns()
        data = b"".join(frame.replace(_RANDOM, sent) for frame in frames[begin : begin + batch])
        writer.write(b"%x\r\n%b\r\n" % (len(data), data))
        await writer.drain()
        if every:
            due += every
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
    writer.write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(_DONE), _DONE))
    await writer.drain()


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests of one connection."""
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = 0
            for line in head.lower().split(b"\r\n"):
                if line.startswith(b"content-length:"):
                    length = int(line.partition(b":")[2])
            wanted = _WANTED.search(await reader.readexactly(length))
            assert wanted is not None
            events, every, batch = wanted.groups()
            await send(writer, int(events), float(every), int(batch))
    except (ConnectionError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()


async def main() -> None:
    """Serve until the process is ended."""
    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(main())  # which takes the least of the machine that all share
