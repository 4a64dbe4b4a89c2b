"""uvicorn's HTTP protocol, with limits for what comes before a body: uvicorn has none for its fast parser."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
_TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class _AnyLength(int):
    """The length of a body that ends with its connection: any is as it was expected."""

    def __lt__(self, other: object) -> bool:
        return False

    def __ne__(self, other: object) -> bool:
        return False

    def __sub__(self, other: object) -> _AnyLength:
        return self


class LimitedProtocol(HttpToolsProtocol):
    """Refuse a request whose head, which is its first line and its headers, is too large or takes too long to come.

    A client of HTTP/1.0 gets a body without a known length up to the end of the connection.

    A head that comes whole in one read is not counted: it is there, and the application sees how large it is.

    Attributes:
        max_head: in bytes.
        head_timeout: in seconds.
    """

    max_head: ClassVar[int] = 64 * 2**10
    head_timeout: ClassVar[float] = 20.0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head = 0
        self._in_head = True
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Wait for the first request."""
        super().connection_made(transport)
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count what belongs to a head that has not ended."""
        super().data_received(data)
        if self._in_head and not self.transport.is_closing():
            self._head += len(data)
            if self._head > self.max_head:
                self._close(_TOO_LARGE)

    def on_message_begin(self) -> None:
        """Begin to count."""
        super().on_message_begin()
        self._in_head, self._head = True, 0
        if self._timer is None:
            self._expect()

    def on_headers_complete(self) -> None:
        """Take the head as one that is there."""
        self._in_head = False
        self._stop()
        super().on_headers_complete()
        if self.cycle is not None and self.parser.get_http_version() == "1.0":
            # Such a client knows no chunks, which uvicorn would send where no length is given.
            self.cycle.chunked_encoding, self.cycle.expected_content_length = False, _AnyLength()

    def _expect(self) -> None:
        self._timer = self.loop.call_later(self.head_timeout, self._close, _TOO_SLOW)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close(self, answer: bytes) -> None:
        self._timer = None
        if not self.transport.is_closing():
            self.transport.write(answer)
            self.transport.close()
