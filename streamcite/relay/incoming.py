"""The body of a request as it comes, and whether the client is still there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from .headers import Header, value_of


class BodyTooLarge(Exception):
    """A body that must be read whole is larger than may be."""


class SlowBody(Exception):
    """Nothing of a body came in the time that it has."""


class ClientLeft(Exception):
    """The client has closed the connection."""


class Incoming:
    """Read one request.

    Args:
        receive: ASGI's.
        timeout: between two parts of the body, in seconds.

    Attributes:
        slow: whether one took longer.
        gone: whether the client has left.
    """

    def __init__(self, receive: Callable[[], Awaitable[MutableMapping[str, Any]]], timeout: float) -> None:
        self._receive = receive
        self._timeout = timeout
        self._read = asyncio.Event()  # set when the body has come, so that only one reads at a time
        self.gone: bool = False
        self.slow: bool = False

    def body(self, headers: Iterable[Header]) -> AsyncIterator[bytes] | None:
        """Give the body as it comes; None if these headers announce none."""
        if value_of(headers, b"content-length") in (b"", b"0") and not value_of(headers, b"transfer-encoding"):
            self._read.set()
            return None
        return self.parts()

    async def parts(self) -> AsyncIterator[bytes]:
        """Give the parts of the body.

        Raises:
            SlowBody, ClientLeft: it does not come to its end.
        """
        more = True
        while more:
            try:
                async with asyncio.timeout(self._timeout):
                    message = await self._receive()
            except TimeoutError:
                self.slow = True
                raise SlowBody from None
            if message["type"] == "http.disconnect":
                self.gone = True
                self._read.set()
                raise ClientLeft
            more = message.get("more_body", False)
            if part := message.get("body", b""):
                yield part
        self._read.set()

    async def whole(self, limit: int) -> bytes:
        """Give the whole body.

        Raises:
            BodyTooLarge: it has more than ``limit`` bytes.
            SlowBody, ClientLeft: as `parts`.
        """
        body = bytearray()
        async for part in self.parts():
            body += part
            if len(body) > limit:
                raise BodyTooLarge
        return bytes(body)

    async def left(self) -> None:
        """Wait until the client has left."""
        await self._read.wait()
        while not self.gone:
            message = await self._receive()
            self.gone = message["type"] == "http.disconnect"
