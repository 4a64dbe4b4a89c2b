"""What a relay does not wait for, nor take: an answer that does not come, and the body of a client that leaves."""

import json
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from queue import Queue
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.http_peer import Exchange, Peer, request
from tests.processes import PATIENCE
from tests.relays import SHOWN, Served, relaying

every_path = pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/other"])
ASKED = json.dumps({"model": "any", "messages": SHOWN, "stream": True}).encode()
OK = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"


@pytest.fixture
def relay(peer: Peer) -> Iterator[Served]:
    with relaying(peer.url, connect_timeout=PATIENCE, read_timeout=PATIENCE, max_head=20_000) as served:
        yield served


def endless(begin: bytes, piece: bytes, pause: float = 0.0) -> Any:
    """Answer with what has no end, until the relay leaves."""

    def give(exchange: Exchange) -> None:
        exchange.connection.settimeout(PATIENCE)
        with suppress(OSError):
            exchange.wfile.write(begin)
            while True:
                exchange.wfile.write(piece)
                time.sleep(pause)
        exchange.close_connection = True
        exchange.server.peer.left.release()

    return give


@contextmanager
def connected(relay: Served) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", urlsplit(relay.url).port or 0), timeout=PATIENCE) as connection:
        yield connection


def told(relay: Served) -> tuple[int, str]:
    response, data = request(f"{relay.url}/v1/chat/completions", "POST", ASKED)
    return response.status, json.loads(data)["error"]["code"]


@pytest.mark.parametrize(
    ("begin", "piece"),
    [
        (OK, b"x: y\r\n" * 1000),
        (OK, b"x: " + b"y" * 19_000 + b"\r\n"),
        (OK, b"x" * 10_000),
        (OK + b"x: ", b"y" * 10_000),
        (b"HTTP/1.1 200 ", b"O" * 10_000),
    ],
    ids=["lines", "long lines", "name", "value", "reason"],
)
def test_a_head_without_end_is_refused(relay: Served, peer: Peer, begin: bytes, piece: bytes) -> None:
    peer.answer = endless(begin, piece)
    assert told(relay) == (502, "upstream_invalid")
    assert peer.left.acquire(timeout=PATIENCE)


@pytest.mark.parametrize(
    ("begin", "piece", "pause"),
    [
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100, 0.0),
        (b"", b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n", 0.05),
        (OK + b"x: ", b"y", 0.05),
    ],
    ids=["1xx", "slow 1xx", "slow line"],
)
def test_a_head_that_does_not_end_in_time_is_refused(peer: Peer, begin: bytes, piece: bytes, pause: float) -> None:
    peer.answer = endless(begin, piece, pause)
    with relaying(peer.url, connect_timeout=0.5, read_timeout=0.2) as relay:
        assert told(relay) == (504, "upstream_timeout")
    assert peer.left.acquire(timeout=PATIENCE)


def test_headers_that_are_too_large_together_are_refused(relay: Served, peer: Peer) -> None:
    peer.answer = lambda exchange: exchange.refuse(200, **{f"x-{number}": "y" * 500 for number in range(40)})
    assert told(relay) == (502, "upstream_invalid")
    peer.answer = lambda exchange: exchange.refuse(418, **{f"x-{number}": "y" * 500 for number in range(30)})
    assert told(relay) == (418, "no")


def test_a_body_may_take_longer_than_an_answer() -> None:
    size, pieces = 30_000, 30
    taken = Queue[int]()  # how much of the body there is

    def serve_one(listener: socket.socket) -> None:
        upstream, _ = listener.accept()
        count = 0
        with upstream:
            while count < size * pieces and (data := upstream.recv(65536)):
                count += data.count(b"\xff")
                taken.put(count)
            taken.put(size * pieces)  # or no more comes
            upstream.sendall(b"HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n")

    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        ThreadPoolExecutor() as pool,
        relaying(
            f"http://127.0.0.1:{listener.getsockname()[1]}",
            connect_timeout=PATIENCE,
            read_timeout=PATIENCE,
            body_timeout=10 * PATIENCE,
        ) as relay,
        connected(relay) as connection,
    ):
        served = pool.submit(serve_one, listener)
        connection.sendall(b"POST /v1/files HTTP/1.1\r\nhost: a\r\nconnection: close\r\n")
        connection.sendall(b"content-length: %d\r\n\r\n" % (size * pieces))
        for number in range(1, pieces + 1):
            connection.sendall(b"\xff" * size)
            while number < pieces and taken.get(timeout=PATIENCE) < size * number:
                pass
            relay.pass_time(PATIENCE if number < pieces else 0)
        answer = b""
        while data := connection.recv(65536):
            answer += data
        served.result(PATIENCE)
    assert answer.startswith(b"HTTP/1.1 500 ")  # as the upstream gives


@every_path
@pytest.mark.parametrize("coding", ["gzip, chunked", "identity, chunked", "x-any,chunked", "chunked, gzip"])
def test_a_transfer_coding_that_is_not_understood_is_refused(relay: Served, peer: Peer, path: str, coding: str) -> None:
    with connected(relay) as connection:
        connection.sendall(f"POST {path} HTTP/1.1\r\nhost: a\r\ntransfer-encoding: {coding}\r\n\r\n".encode())
        connection.sendall(b"2\r\n{}\r\n0\r\n\r\n")
        answer = connection.recv(65536)
    # Where chunks do not come last, the end of the body cannot be found.
    assert answer.startswith(b"HTTP/1.1 501 " if coding.endswith("chunked") else b"HTTP/1.1 400 ")
    assert peer.accepted == 0


@pytest.mark.parametrize("begun", [False, True])
@every_path
def test_a_client_that_leaves_inside_its_body_is_not_a_fault_of_the_upstream(
    begun: bool, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    answer = OK + b"transfer-encoding: chunked\r\n\r\n5\r\n: hi\n\r\n" if begun else b""

    def serve_one(listener: socket.socket) -> None:
        upstream, _ = listener.accept()
        with upstream:
            upstream.sendall(answer)
            while upstream.recv(65536):
                pass

    with (
        caplog.at_level("INFO", logger="streamcite.relay"),
        socket.create_server(("127.0.0.1", 0)) as listener,
        ThreadPoolExecutor() as pool,
        relaying(f"http://127.0.0.1:{listener.getsockname()[1]}") as relay,
    ):
        served = pool.submit(serve_one, listener)
        with connected(relay) as connection:
            head = f"POST {path} HTTP/1.1\r\nhost: a\r\ncontent-encoding: br\r\ncontent-length: 1000000\r\n\r\n"
            connection.sendall(head.encode() + b"x" * 70_000)
            if begun:
                assert connection.recv(1)
        served.result(PATIENCE)
    lines = [record.getMessage() for record in caplog.records if record.name == "streamcite.relay"]
    assert lines[-1].startswith("POST ")
    assert not any(line.startswith("upstream") for line in lines)
