"""The page of ``streamcite serve``, served in a thread."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from streamcite.serve.app import build
from streamcite.serve.server import Server
from tests.processes import PATIENCE


class Served(str):
    """The URL of a page."""

    server: Server
    loop: asyncio.AbstractEventLoop

    def cut(self) -> None:
        """Cut all connections, as a network does."""
        for connection in list(self.server.server_state.connections):
            self.loop.call_soon_threadsafe(connection.transport.abort)


@contextmanager
def run_page(**options: Any) -> Iterator[Served]:
    """Serve the page as long as a block runs, and give its URL."""
    ready: Future[asyncio.AbstractEventLoop] = Future()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = Server(build(**options), ready=lambda: ready.set_result(asyncio.get_running_loop()))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            served = Served(f"http://127.0.0.1:{listener.getsockname()[1]}/")
            served.server, served.loop = server, ready.result(PATIENCE)
            yield served
        finally:
            server.should_exit = True
            thread.join(PATIENCE)
    assert not thread.is_alive()
