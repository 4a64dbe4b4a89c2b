"""The server that all streams come from, and their faults: ``python -m benchmarks.left_running.upstream SEED``.

It prints its port. A request names the number of its stream as its model; one to ``/at-rest`` closes the connections
that nobody uses, and is answered with how many streams are open.
"""

from __future__ import annotations

import asyncio
import fcntl
import gc
import json
import socket
import struct
import sys
import termios
from itertools import cycle

from . import plan as plans
from .plan import Plan

_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
_REFUSAL = b'{"error":{"message":"overloaded","type":"server_error","param":null,"code":null}}'
_REFUSED = b"HTTP/1.1 503 Overloaded\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (
    len(_REFUSAL),
    _REFUSAL,
)
_LINGER = struct.pack("ii", 1, 0)  # a connection that is closed is reset


class Server:
    """Answers requests, and knows which connections do nothing."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._open = 0
        self._idle: set[asyncio.StreamWriter] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        writer.transport.set_write_buffer_limits(0)
        try:
            while True:
                self._idle.add(writer)
                head = await reader.readuntil(b"\r\n\r\n")
                self._idle.discard(writer)
                if b"/at-rest" in head:
                    await self._rest(writer)
                    break
                lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
                asked = json.loads(await reader.readexactly(int(lengths[0].partition(b":")[2])))
                if not await self._answer(plans.make(self._seed, int(asked["model"])), reader, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self._idle.discard(writer)
            writer.close()

    async def _answer(self, plan: Plan, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Send an answer, and its fault; say whether the connection may be used again."""
        self._open += 1
        try:
            if plan.fault == "5xx":
                writer.write(_REFUSED)
                await writer.drain()
                return True
            if plan.fault == "no answer":
                return False
            writer.write(_HEAD)
            await _send(plan, writer)
            if plan.fault in plans.ENDED:
                writer.write(b"0\r\n\r\n")
                await writer.drain()
            elif plan.fault == "stall":
                await reader.read()
            elif plan.fault == "reset":
                await _reset(reader, writer)
            return plan.fault in plans.ENDED
        finally:
            self._open -= 1

    async def _rest(self, writer: asyncio.StreamWriter) -> None:
        for each in [*self._idle]:
            each.close()
        gc.collect()
        body = json.dumps({"tasks": self._open, "objects": len(gc.get_objects())}).encode()
        writer.write(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))
        await writer.drain()


async def _send(plan: Plan, writer: asyncio.StreamWriter) -> None:
    body, at = plan.body, 0
    for size in cycle(plan.pieces):
        if at >= len(body):
            break
        data = body[at : at + size]
        at += size
        writer.write(b"%x\r\n%b\r\n" % (len(data), data))
        await writer.drain()
        await asyncio.sleep(plan.pause)


async def _reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Reset the connection, when all that was written has come to whoever asked, or they have left."""
    connection: socket.socket = writer.get_extra_info("socket")
    while _waiting(connection) and not (reader.at_eof() or writer.is_closing()):  # noqa: ASYNC110  # the system sets no event
        await asyncio.sleep(0.001)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER)
    writer.transport.abort()


def _waiting(connection: socket.socket) -> int:
    """Give how many bytes are not acknowledged yet."""
    (count,) = struct.unpack("i", fcntl.ioctl(connection, termios.TIOCOUTQ, bytes(4)))
    return int(count)


async def main() -> None:
    """Serve until the process is ended."""
    server = await asyncio.start_server(Server(int(sys.argv[1])).serve, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
