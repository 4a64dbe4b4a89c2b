"""Requests of the soak's clients. They tell a body that was cut from one that has ended, and give all before that.

A client of HTTP that is made for use raises at a cut, and may throw away what it has not handed out.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress

_NARROW = 2_048  # bytes


class CutError(Exception):
    """Raised where an answer does not come to its end, or there is none."""


class Response:
    """An answer.

    Attributes:
        status: of HTTP.
    """

    def __init__(self, reader: asyncio.StreamReader, head: bytes) -> None:
        self._reader = reader
        first, *lines = head.decode("latin-1").lower().split("\r\n")
        self._headers = {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
        self.status: int = int(first.split()[1])

    async def pieces(self, most: int = 2**16) -> AsyncIterator[bytes]:
        """Give the body as it comes, that many bytes at the most.

        Raises:
            CutError: as its class says.
        """
        try:
            if "transfer-encoding" not in self._headers:
                yield await self._reader.readexactly(int(self._headers.get("content-length", 0)))
                return
            while size := int(await self._reader.readuntil(b"\r\n"), 16):
                while size:
                    data = await self._reader.read(min(size, most))
                    if not data:
                        raise CutError
                    size -= len(data)
                    yield data
                await self._reader.readexactly(2)
            await self._reader.readexactly(2)
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            raise CutError from error

    async def until_closed(self) -> None:
        """Wait until the server has closed the connection: it no longer has its descriptor then."""
        await self._reader.read()


@asynccontextmanager
async def request(
    method: str,
    port: int,
    path: str,
    *,
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
    slow: bool = False,
) -> AsyncIterator[Response]:
    """Make a request, on a connection of its own, which is closed after the block, read or not.

    Args:
        method: in capitals.
        port: of this machine.
        path: with the query.
        headers: beside those that each request has.
        body: of the request.
        slow: whether the connection is to take little before it is read.

    Raises:
        CutError: as its class says.
    """
    lines = [f"{method} {path} HTTP/1.1", "host: soak", "connection: close", f"content-length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    connection = socket.socket()
    writer = None
    try:
        if slow:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _NARROW)
        connection.setblocking(False)
        await asyncio.get_running_loop().sock_connect(connection, ("127.0.0.1", port))
        reader, writer = await asyncio.open_connection(sock=connection, limit=_NARROW if slow else 2**16)
        writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        response = Response(reader, await reader.readuntil(b"\r\n\r\n"))
    except (asyncio.IncompleteReadError, ConnectionError) as error:
        (writer or connection).close()
        raise CutError from error
    except BaseException:
        (writer or connection).close()
        raise
    try:
        yield response
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
