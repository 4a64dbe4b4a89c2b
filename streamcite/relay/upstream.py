"""The connections of a relay to the API it stands before: one pool for all requests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import TracebackType
from typing import Self

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


class UnreachableError(Exception):
    """The upstream gave no answer: ``slow`` if it took too long."""

    def __init__(self, reason: str, *, slow: bool) -> None:
        super().__init__(reason)
        self.slow: bool = slow


class CutError(Exception):
    """The upstream did not give its answer to the end."""


class Upstream:
    """Send requests on. Redirects are answers; cookies are the client's; certificates are verified.

    Args:
        config: of the relay.
    """

    def __init__(self, config: RelayConfig) -> None:
        url = URL(config.upstream)
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
        body: bytes | AsyncIterator[bytes] | None,
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
            UnreachableError: there is no answer.
        """
        target = URL(f"{self._origin}{path}{'?' + query.decode('ascii', 'replace') if query else ''}", encoded=True)
        try:
            response = await self._session.request(
                method,
                target,
                headers=[(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers],
                data=_pieces(body) if isinstance(body, bytes) and len(body) > _READ_SIZE else body,
                allow_redirects=False,
                auto_decompress=decoded,
            )
        except TimeoutError as error:
            raise UnreachableError(type(error).__name__, slow=True) from error
        except (aiohttp.ClientError, ValueError, OSError) as error:
            raise UnreachableError(_told(error), slow=False) from error
        if response.status not in _STATUSES:
            response.close()
            raise UnreachableError(f"status {response.status}", slow=False)
        return Answer(response)


def _told(error: Exception) -> str:
    """Tell of an error what is of no request: its messages may quote the URL, with its query, and what came."""
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
        media_type: of the body, in small letters, without parameters; empty if it is not told.
    """

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self.status: int = response.status
        self.headers: list[Header] = list(response.raw_headers)
        self.media_type: str = response.headers.get("content-type", "").partition(";")[0].strip().lower()

    async def next(self) -> bytes:
        """Give the bytes of the body that came, at least one; none at its end.

        Raises:
            CutError: the body did not come to its end.
        """
        try:
            return await self._response.content.readany()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise CutError(_told(error)) from error

    def close(self) -> None:
        """Close the connection, unless the body was read to its end."""
        self._response.close()
