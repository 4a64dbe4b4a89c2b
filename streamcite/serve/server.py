"""What runs the page: uvicorn, which says when it serves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

import uvicorn

if TYPE_CHECKING:
    import socket

    from starlette.types import ASGIApp

__all__ = ["Server"]

_GRACE = 5  # seconds that responses have to notice that nobody reads them


class Server(uvicorn.Server):
    """Serve an application until it is interrupted.

    Args:
        app: the application; it is served over HTTP, without WebSockets.
        ready: called when it serves; what it raises ends that, and is raised by `run`.
    """

    def __init__(self, app: ASGIApp, *, ready: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                app, loop="asyncio", http="h11", ws="none", log_level="error", timeout_graceful_shutdown=_GRACE
            )
        )
        self._ready = ready
        self._failure: Exception | None = None

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until it is interrupted."""
        super().run(sockets)
        if self._failure is not None:
            raise self._failure

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve."""
        await super().startup(sockets)
        if self.started:
            asyncio.get_running_loop().call_soon(self._begin)

    def _begin(self) -> None:
        try:
            self._ready()
        except Exception as error:  # noqa: BLE001  # raised when the application was told of the end
            self._failure = error
            self.should_exit: bool = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Cut what is open, and end: who reads an answer comes back, or does not."""
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        await super().shutdown(sockets)
