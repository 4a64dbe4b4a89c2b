"""A server that plays what a test wrote, piece by piece."""

import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from streamcite.sse import encode
from tests.processes import PATIENCE


@contextmanager
def scripted(*parts: bytes) -> Iterator[tuple[str, Callable[[], None]]]:
    """Serve one request with these bytes: the first part at once, each other one when the function is called."""
    asked = threading.Semaphore(1)

    def answer() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.settimeout(PATIENCE)
            request = b""
            while b"\r\n\r\n" not in request:
                request += connection.recv(65536)
            head, _, body = request.partition(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
            assert length
            while len(body) < int(length[1]):
                body += connection.recv(65536)
            for part in parts:
                assert asked.acquire(timeout=PATIENCE)
                connection.sendall(part)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(PATIENCE)
        thread = threading.Thread(target=answer)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1", asked.release
        finally:
            thread.join(PATIENCE)


def head(status: str = "200 OK", kind: str = "text/event-stream") -> bytes:
    return f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n".encode()


def chunk(content: str) -> bytes:
    return encode(f'{{"choices": [{{"index": 0, "delta": {{"content": "{content}"}}}}]}}')
