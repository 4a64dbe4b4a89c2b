"""Many streams at once through a relay, of which many are left: nothing of them stays."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.chats import streamed
from tests.markers import MARKER
from tests.processes import PATIENCE
from tests.raw_streams import body
from tests.relays import Served, relaying

STREAMS = 300
DELTAS = ["It ", "lasts ", MARKER[:7], MARKER[7:], "for ", "long. "] * 5
FRAMES = [body([each], done=False) for each in streamed(DELTAS)]
LEFT = len(FRAMES) - 2 * 5  # a marker comes in two events, of which nothing is left


class Ends:
    """A server whose streams go on until somebody leaves, break, or end; all are open at once."""

    def __init__(self) -> None:
        self.open = 0
        self._crowd = asyncio.Event()

    async def _all(self) -> None:
        """Wait until all are open at once, however slowly they come."""
        if self.open == STREAMS:
            self._crowd.set()
        await self._crowd.wait()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n")
            writer.write(b"connection: close\r\n\r\n")
            await self._all()
            for frame in FRAMES:
                writer.write(b"%x\r\n%b\r\n" % (len(frame), frame))
                await writer.drain()
                await asyncio.sleep(0.01)
            if b"/endless" in head:
                await reader.read(100)
                await reader.read()
            elif b"/broken" not in head:
                writer.write(b"0\r\n\r\n")
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()
            self.open -= 1


async def client(relay: Served, path: str, *, leaves: bool) -> bytes:
    """Ask, and read to the end, or leave in the midst."""
    reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(relay.url).port)
    writer.write(b"POST /%b/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n" % path.encode())
    writer.write(b"connection: close\r\n\r\n{}")
    seen = b""
    while piece := await reader.read(65536):
        seen += piece
        if leaves and seen.count(b"data: ") > 5:
            break
    writer.close()
    return seen


async def settled(condition: Callable[[], Awaitable[bool]]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not await condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def load(relay: Served, ends: Ends) -> list[Any]:
    kinds = [("v1", False), ("endless", True), ("broken", False)]
    asked = [client(relay, *[path], leaves=leaves) for path, leaves in kinds * (STREAMS // 3)]
    return await asyncio.wait_for(asyncio.gather(*asked), PATIENCE)


async def run() -> None:
    ends = Ends()
    server = await asyncio.start_server(ends.answer, "127.0.0.1", 0, backlog=STREAMS)
    port = server.sockets[0].getsockname()[1]
    with relaying(f"http://127.0.0.1:{port}") as relay:
        await asyncio.to_thread(relay.tasks)  # what starts once has started

        async def tasks() -> int:
            return await asyncio.to_thread(relay.tasks)

        before = await tasks(), descriptors()
        outcomes = await load(relay, ends)
        whole, left, broken = (outcomes[at::3] for at in range(3))
        for seen in whole:
            assert seen.endswith(b"\r\n0\r\n\r\n")
            assert seen.count(b"data: ") == LEFT
        assert all(not seen.endswith(b"\r\n0\r\n\r\n") for seen in left + broken)
        assert not any(b"cite" in seen or b"\\ue20" in seen for seen in outcomes)

        async def is_settled() -> bool:
            # Fewer there may be: what tests before this one have closed, others may only now let go.
            return ends.open == 0 and await tasks() <= before[0] and descriptors() <= before[1]

        await settled(is_settled)
    server.close()


def test_of_many_streams_nothing_stays() -> None:
    asyncio.run(run())
