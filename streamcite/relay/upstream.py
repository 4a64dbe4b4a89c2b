"""The connections of a relay to the API it stands before: one pool for all requests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from types import TracebackType
from typing import Literal, Self, TypeAlias

import aiohttp
from yarl import URL

from .config import RelayConfig
from .headers import Header

# A connection that the upstream may be about to close is not used again: APIs keep them for a minute or more.
_KEEP_ALIVE = 15.0
_READ_SIZE = 2**16
# What the client has sent is what is sent on, and nothing else.
_ADDED = ("accept", "accept-encoding", "content-type", "user-agent")
# Another connection's protocol was not asked for, and what HTTP has no class for cannot be sent on.
_STATUSES = range(200, 600)

Body: TypeAlias = bytes | AsyncIterator[bytes] | None
Fault: TypeAlias = Literal["unreachable", "timeout", "invalid"]


class NoAnswerError(Exception):
    """The upstream gave no answer.

    Attributes:
        fault: what was wrong; ``invalid``: what came is not an answer of HTTP, or its head is too large.
    """

    def __init__(self, reason: str, fault: Fault) -> None:
        super().__init__(reason)
        self.fault: Fault = fault


class CutError(Exception):
    """The upstream did not give its answer to the end."""


class Upstream:
    """Send requests on. Redirects are answers; cookies are the client's; certificates are verified.

    Args:
        config: of the relay.
    """

    def __init__(self, config: RelayConfig) -> None:
        url = URL(config.upstream)
        self._max_head = config.max_head
        self._patience = config.connect_timeout + config.read_timeout
        self._origin = str(url.origin())
        self.prefix: str = url.raw_path
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEP_ALIVE),
            timeout=aiohttp.ClientTimeout(
                total=None, sock_connect=config.connect_timeout, sock_read=config.read_timeout
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=_ADDED,
            read_bufsize=_READ_SIZE,
            max_line_size=config.max_head,
            max_field_size=config.max_head,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._session.close()

    async def ask(
        self,
        method: str,
        path: str,
        query: bytes,
        headers: list[Header],
        body: Body,
        *,
        decoded: bool,
    ) -> Answer:
        """Send a request.

        Args:
            method: as the client sent it.
            path: where it goes, below the upstream's origin.
            query: as the client sent it.
            headers: as the upstream is to get them.
            body: None if there is none.
            decoded: whether the answer's body comes without its content encoding.

        Raises:
            NoAnswerError: there is none; or its head did not end in the time that a connection and one read have, since
                the upstream took the last part of the body, whatever came meanwhile.
        """
        target = URL(f"{self._origin}{path}{'?' + query.decode('ascii', 'replace') if query else ''}", encoded=True)
        limit = asyncio.timeout(None)
        try:
            async with limit:
                response = await self._session.request(
                    method,
                    target,
                    headers=[(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers],
                    data=self._sent(body, limit),
                    allow_redirects=False,
                    auto_decompress=decoded,
                )
        except TimeoutError as error:
            raise NoAnswerError(type(error).__name__, "timeout") from error
        except aiohttp.ClientResponseError as error:
            raise NoAnswerError("its head is not HTTP, or too large", "invalid") from error
        except (aiohttp.ClientError, ValueError, OSError) as error:
            raise NoAnswerError(_told(error), "unreachable") from error
        answer = Answer(response)
        wrong = f"status {answer.status}" if answer.status not in _STATUSES else ""
        if sum(len(name) + len(value) for name, value in answer.headers) > self._max_head:
            wrong = "its headers are too large"
        if wrong:
            answer.close()
            raise NoAnswerError(wrong, "invalid")
        return answer

    def _sent(self, body: Body, limit: asyncio.Timeout) -> Body:
        """Give a body as it is sent: the upstream has so long to take each part, and to answer."""
        if isinstance(body, bytes) and len(body) > _READ_SIZE:
            body = _pieces(body)
        if body is None or isinstance(body, bytes):
            self._wait(limit)
            return body
        return self._parts(body, limit)

    async def _parts(self, body: AsyncIterator[bytes], limit: asyncio.Timeout) -> AsyncIterator[bytes]:
        async for part in body:
            self._wait(limit)
            yield part
            self._wait(limit, for_upstream=False)
        self._wait(limit)

    def _wait(self, limit: asyncio.Timeout, *, for_upstream: bool = True) -> None:
        with suppress(RuntimeError):  # there is an answer, or it is too late
            limit.reschedule(asyncio.get_running_loop().time() + self._patience if for_upstream else None)


def _told(error: Exception) -> str:
    """Give what of an error may be logged: its messages may quote the URL, with its query, and what came."""
    said = error.strerror if isinstance(error, OSError) else None
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


async def _pieces(body: bytes) -> AsyncIterator[bytes]:
    """Give a large body in pieces, so that others have their turn between them."""
    for begin in range(0, len(body), _READ_SIZE):
        yield body[begin : begin + _READ_SIZE]


class Answer:
    """An answer whose body is read as it comes.

    Attributes:
        status: of HTTP.
        headers: as the upstream sent them.
        media_type: of the body, in small letters, without parameters; empty if it is not given.
    """

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self.status: int = response.status
        self.headers: list[Header] = list(response.raw_headers)
        self.media_type: str = response.headers.get("content-type", "").partition(";")[0].strip().lower()

    async def next(self) -> bytes:
        """Give the bytes of the body that came, at least one; none at its end.

        Raises:
            CutError: the body did not come to its end; all that did was given.
        """
        content = self._response.content
        try:
            return await content.readany()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            # It is raised before what has come is read, which a client that is slow has still to get.
            if rest := content._read_nowait(-1):  # noqa: SLF001  # there is no other way to that
                return rest
            raise CutError(_told(error)) from error

    def close(self) -> None:
        """Close the connection, unless the body was read to its end."""
        self._response.close()
