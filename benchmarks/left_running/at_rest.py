"""A server of an application that is loaded, which says what it holds when nothing is asked of it."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import logging
import socket
import sys
from collections.abc import Awaitable, Callable

import uvicorn
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from streamcite.relay.protocol import LimitedProtocol


class AtRest:
    """An application of which ``/at-rest`` says how many tasks and objects it has, and closes what waits for more.

    Args:
        app: what is loaded.
        close: closes that.
    """

    def __init__(self, app: ASGIApp, close: Callable[[], Awaitable[None]] | None = None) -> None:
        self._app = app
        self._close = close

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope.get("path") != "/at-rest":
            await self._app(scope, receive, send)
            return
        if self._close is not None:
            await self._close()
        gc.collect()
        _trim()
        counts = {"tasks": len(asyncio.all_tasks()), "objects": len(gc.get_objects())}
        await JSONResponse(counts)(scope, receive, send)


def serve(app: ASGIApp) -> None:
    """Serve on a free port, which is printed, until the process is ended."""
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as listener:
        print(listener.getsockname()[1], flush=True)
        config = uvicorn.Config(app, http=LimitedProtocol, ws="none", log_config=None, access_log=False)
        uvicorn.Server(config).run(sockets=[listener])


def _trim() -> None:
    """Give the memory back that is free, where the C library can."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
