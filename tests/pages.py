"""The page of ``streamcite serve``, served in a thread."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from streamcite.serve.app import build
from streamcite.serve.server import Server
from tests.processes import PATIENCE


@contextmanager
def run_page(**options: Any) -> Iterator[str]:
    """Serve the page as long as a block runs, and give its URL."""
    ready = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = Server(build(**options), ready=ready.set)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            assert ready.wait(PATIENCE)
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        finally:
            server.should_exit = True
            thread.join(PATIENCE)
    assert not thread.is_alive()
