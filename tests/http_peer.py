"""A server of a test's own: it answers as the test says, and tells what it was asked and what became of it."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Semaphore, Thread
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tests.processes import PATIENCE


class Asked(NamedTuple):
    path: str
    headers: Mapping[str, str]
    body: Any


class Exchange(BaseHTTPRequestHandler):
    """One connection. `start`, `send` and `end` give an answer in HTTP's chunks."""

    protocol_version = "HTTP/1.1"
    timeout = PATIENCE
    server: "_Server"

    def setup(self) -> None:
        self.server.peer.accepted += 1
        super().setup()

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.peer.asked.append(Asked(self.path, dict(self.headers), asked))
        self.server.peer.answer(self)

    def start(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def send(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))

    def end(self) -> None:
        self.wfile.write(b"0\r\n\r\n")

    def give(self, *pieces: bytes, cut: bool = False) -> None:
        """Answer with these pieces, and then end, or else cut the connection."""
        self.start()
        for piece in pieces:
            self.send(piece)
        if cut:
            self.close_connection = True
        else:
            self.end()

    def refuse(self, status: int, **headers: str) -> None:
        data = b'{"error": {"message": "refused", "code": "no"}}'
        self.send_response(status)
        for name, value in {**headers, "content-type": "application/json", "content-length": str(len(data))}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def wait_until_left(self) -> None:
        """Say so when the client closes the connection."""
        with suppress(ConnectionError):
            if self.rfile.read(1):
                return
        self.close_connection = True
        self.server.peer.left.release()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Peer:
    """What a test sees of the server.

    Attributes:
        answer: how the next request is answered.
        accepted: how many connections there were.
        asked: the requests.
        left: how often a client closed a connection on which it was waited for.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.base_url = f"{url}/v1"
        self.reset()

    def reset(self) -> None:
        self.answer: Callable[[Exchange], None] = lambda exchange: exchange.refuse(500)
        self.accepted = 0
        self.asked: list[Asked] = []
        self.left = Semaphore(0)

    def gives(self, *pieces: bytes, ends: bool = True) -> None:
        """Answer each request with these pieces; without an end after them nothing comes until the client leaves."""

        def answer(exchange: Exchange) -> None:
            exchange.start()
            for piece in pieces:
                exchange.send(piece)
            exchange.wait_until_left()

        self.answer = (lambda exchange: exchange.give(*pieces)) if ends else answer

    def gives_by_model(self, pieces: Mapping[str, tuple[bytes, bool]]) -> None:
        """Answer each request by the name of its model: with which bytes, and whether the connection is cut then."""

        def answer(exchange: Exchange) -> None:
            piece, cut = pieces[self.asked[-1].body["model"]]
            exchange.give(piece, cut=cut)

        self.answer = answer

    def gives_and_waits(self, first: bytes, rest: bytes) -> Event:
        """Answer with the first piece, and with the rest when the event that this returns was set."""
        go = Event()

        def answer(exchange: Exchange) -> None:
            exchange.start()
            exchange.send(first)
            if go.wait(PATIENCE):
                exchange.send(rest)
                exchange.end()

        self.answer = answer
        return go


def request(url: str, method: str = "GET", body: bytes | None = None, **headers: str) -> tuple[HTTPResponse, bytes]:
    """Ask any server as no client would, and give the answer and its body."""
    parts = urlsplit(url)
    with closing(HTTPConnection(parts.netloc, timeout=PATIENCE)) as connection:
        connection.request(method, url.removeprefix(f"{parts.scheme}://{parts.netloc}"), body, headers)
        response = connection.getresponse()
        return response, response.read()


class _Server(ThreadingHTTPServer):
    peer: Peer

    def handle_error(self, *_: object) -> None:
        """Say nothing: a client may leave at any time, and what fails in an answer fails the test that waits for it."""


@contextmanager
def run_peer() -> Iterator[Peer]:
    """Run a server as long as a block runs."""
    with _Server(("127.0.0.1", 0), Exchange) as server:
        server.peer = Peer(f"http://127.0.0.1:{server.server_port}")
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.peer
        finally:
            server.shutdown()
            thread.join()
