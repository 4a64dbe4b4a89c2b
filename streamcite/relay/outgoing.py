"""The answer of a relay to its client, in ASGI's messages."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from .headers import Header


class RelayCut(ConnectionError):
    """Raised so that the server cuts a connection, as the upstream did: no end of the answer is invented."""


class Outgoing:
    """Send one answer.

    Args:
        send: ASGI's.
        head_only: whether it is to have no body.

    Attributes:
        status: what was sent; 499 if nothing was, as the client had left.
        started: whether anything was sent.
        note: what the log says of the answer, besides its status.
    """

    def __init__(self, send: Callable[[MutableMapping[str, Any]], Awaitable[None]], *, head_only: bool) -> None:
        self._send = send
        self._head_only = head_only
        self.status: int = 499
        self.started: bool = False
        self.note: str = ""

    async def start(self, status: int, headers: list[Header]) -> None:
        """Send what stands before the body."""
        self.status, self.started = status, True
        await self._send({"type": "http.response.start", "status": status, "headers": headers})

    async def write(self, data: bytes) -> None:
        """Send a part of the body."""
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def end(self, data: bytes = b"") -> None:
        """Send the last part of the body."""
        await self._send({"type": "http.response.body", "body": data})

    async def give(self, status: int, body: bytes, media_type: str, *more: Header) -> None:
        """Send an answer of the relay's own, with ``more`` headers than those of its type and length."""
        headers = [(b"content-type", media_type.encode()), (b"content-length", b"%d" % len(body)), *more]
        await self.start(status, headers)
        await self.end(b"" if self._head_only else body)

    async def refuse(self, status: int, message: str, code: str) -> None:
        """Send an error as the API shapes its own, and end the connection: the rest of a body may be on its way."""
        error = {"message": f"streamcite relay: {message}", "type": "relay_error", "param": None, "code": code}
        await self.give(status, json.dumps({"error": error}).encode(), "application/json", (b"connection", b"close"))
