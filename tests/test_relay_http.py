"""What a relay passes of HTTP, and what it refuses."""

import json
import socket
import time
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import pytest
from openai import APIStatusError, OpenAI

from streamcite.testing import Server
from tests.chats import streamed
from tests.http_peer import Exchange, Peer, request
from tests.markers import MARKER
from tests.processes import PATIENCE
from tests.raw_streams import body
from tests.relays import ASKED, CLEAN, PATHS, SHOWN, Served, post, relaying
from tests.splices import cleaned, values


class Raw:
    """A server below HTTP: it reads a request and answers with these bytes."""

    def __init__(self, *answers: bytes) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._answers = answers

    def serve_one(self) -> bytes:
        connection, _ = self._listener.accept()
        with connection:
            connection.settimeout(PATIENCE)
            received = b""
            while b"\r\n\r\n" not in received:
                received += connection.recv(65536)
            for answer in self._answers:
                connection.sendall(answer)
        return received

    def close(self) -> None:
        self._listener.close()


def raw_request(relay: Served, data: bytes) -> bytes:
    """Send bytes, and give all that comes up to the end of the connection."""
    with socket.create_connection(("127.0.0.1", urlsplit(relay.url).port or 0), timeout=PATIENCE) as connection:
        connection.sendall(data)
        received = b""
        while piece := connection.recv(65536):
            received += piece
    return received


def test_other_paths_pass_with_their_query_headers_and_errors(asking: OpenAI, relay: Served) -> None:
    assert [model.id for model in asking.models.list()] == ["answer"]
    with pytest.raises(APIStatusError) as caught:
        asking.chat.completions.create(model="none", messages=SHOWN)
    assert caught.value.status_code == 404
    assert caught.value.code == "model_not_found"
    response, data = request(f"{relay.url}/v1/nothing?a=%2F&b=%20")
    assert response.status == 404
    assert b"Invalid URL" in data


def test_the_upstream_gets_what_the_client_sent(before_peer: Served, peer: Peer) -> None:
    peer.answer = lambda exchange: exchange.refuse(418, x_own="a", set_cookie="b=c", connection="x-hop", x_hop="1")
    sent = {
        "authorization": "Bearer key",
        "x-own": "1",
        "user-agent": "any",
        "cookie": "a=b",
        "accept-encoding": "gzip",
    }
    response, data = request(
        f"{before_peer.url}/v1/chat/completions?api-version=1%2F2", "POST", b'{"model":  "any"}', **sent
    )
    (asked,) = peer.asked
    assert asked.path == "/v1/chat/completions?api-version=1%2F2"
    got = {name.lower(): value for name, value in asked.headers.items()}
    assert got.items() >= (sent | {"accept-encoding": "identity", "content-length": "17"}).items()
    assert got["host"] == urlsplit(peer.url).netloc
    assert {*got} == {*sent, "host", "content-length"}
    assert (response.status, json.loads(data)) == (418, {"error": {"message": "refused", "code": "no"}})
    assert (response.headers["x-own"], response.headers["set-cookie"]) == ("a", "b=c")
    assert "x-hop" not in response.headers


def test_redirects_are_answers(before_peer: Served, peer: Peer) -> None:
    peer.answer = lambda exchange: exchange.refuse(307, location="http://elsewhere.example/")
    response, _ = post(before_peer, "/v1/chat/completions", ASKED)
    assert (response.status, response.headers["location"]) == (307, "http://elsewhere.example/")
    assert len(peer.asked) == 1


def test_an_answer_that_comes_encoded_all_the_same_is_cleaned(before_peer: Served, peer: Peer) -> None:
    import gzip

    data = gzip.compress(body(streamed(["It ", MARKER, "lasts."])))

    def give(exchange: Exchange) -> None:
        exchange.send_response(200)
        exchange.send_header("content-type", "text/event-stream")
        exchange.send_header("content-encoding", "gzip")
        exchange.send_header("content-length", str(len(data)))
        exchange.end_headers()
        exchange.wfile.write(data)

    peer.answer = give
    response, seen = post(before_peer, PATHS["chat"], ASKED, accept_encoding="gzip")
    assert "content-encoding" not in response.headers
    assert values(seen) == cleaned("chat", values(gzip.decompress(data)))
    response, seen = post(before_peer, "/v1/other", ASKED, accept_encoding="gzip")
    assert (response.headers["content-encoding"], seen) == ("gzip", data)


@pytest.mark.parametrize("path", PATHS.values())
@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff\xfe", b"null"])
def test_json_that_is_wrong_is_for_the_upstream_to_refuse(
    before_peer: Served, peer: Peer, path: str, data: bytes
) -> None:
    with closing(Raw(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\n\r\nno")) as raw, relaying(raw.url) as relay:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor() as pool:
            received = pool.submit(raw.serve_one)
            response, answer = post(relay, path, data)
            assert (response.status, answer) == (400, b"no")
            assert b"content-length: %d\r\n" % len(data) in received.result(PATIENCE).lower()


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GET /healthz HTTP/1.0\r\n\r\n", 200),
        (b"GET /v1/../x HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n", 400),
        (b"OPTIONS * HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n", 400),
        (b"POST /v1/responses HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nabcdef", 400),
        (b"POST /v1/x HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (b"POST /v1/responses HTTP/1.1\r\nhost: a\r\ncontent-length: -5\r\n\r\n", 400),
        (b"nonsense\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nhost: a\r\nx: " + b"y" * 70_000 + b"\r\nconnection: close\r\n\r\n", 431),
    ],
    ids=["HTTP/1.0", "dots", "star", "two lengths", "length and chunked", "negative", "nonsense", "large head"],
)
def test_malformed_requests(before_peer: Served, data: bytes, status: int) -> None:
    answer = raw_request(before_peer, data)
    assert answer.startswith(b"HTTP/1.1 %d " % status)


def test_a_head_without_end_is_cut(peer: Peer) -> None:
    with relaying(peer.url, max_head=5_000) as relay:
        port = urlsplit(relay.url).port or 0
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\n")
            with pytest.raises(OSError, match=r"reset|[Bb]roken|Connection"):  # noqa: PT012
                for _ in range(10_000):
                    connection.sendall(b"x: " + b"y" * 999 + b"\r\n")
                    time.sleep(0.001)


@pytest.mark.parametrize("begin", [b"", b"GET / HT", b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\nGET / HTTP/1.1\r\n"])
def test_a_slow_head_is_cut(peer: Peer, begin: bytes) -> None:
    with (
        relaying(peer.url, head_timeout=PATIENCE) as relay,
        socket.create_connection(("127.0.0.1", urlsplit(relay.url).port or 0), timeout=PATIENCE) as connection,
    ):
        connection.sendall(begin)
        received = b""
        while b"\r\n\r\n" in begin and b"ok" not in received:
            received += connection.recv(65536)
        deadline = time.monotonic() + PATIENCE
        while not relay.server_state.connections:
            assert time.monotonic() < deadline
            time.sleep(0.001)
        relay.pass_time(2 * PATIENCE)
        while piece := connection.recv(65536):
            received += piece
    assert received.partition(b"ok\n")[2 if begin.endswith(b"\r\n") else 0].startswith(b"HTTP/1.1 408 ")


def test_a_body_that_is_too_large_or_slow(before_peer: Served, peer: Peer) -> None:
    response, data = post(before_peer, PATHS["chat"], b" " * 100_001)
    assert (response.status, json.loads(data)["error"]["code"]) == (413, "body_too_large")
    with relaying(peer.url, body_timeout=0.3) as relay:
        for path in (b"/v1/chat/completions", b"/v1/files"):
            head = b"POST %b HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: 9\r\n\r\nabc" % path
            answer = raw_request(relay, head)
            assert answer.startswith(b"HTTP/1.1 408 "), path
    assert peer.asked == []


def test_websockets_are_refused_in_words(before_peer: Served) -> None:
    head = b"GET /v1/realtime HTTP/1.1\r\nhost: a\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
    answer = raw_request(
        before_peer, head + b"sec-websocket-key: MDEyMzQ1Njc4OWFiY2RlZg==\r\nsec-websocket-version: 13\r\n\r\n"
    )
    assert answer.startswith(b"HTTP/1.1 501 ")
    assert b"WebSockets are not relayed" in answer


def test_web_pages_may_ask_only_where_they_are_let(answering: Server) -> None:
    ask: Any = {"origin": "https://page.example", "access-control-request-method": "POST"}
    with relaying(answering.base_url, cors=("https://page.example",)) as relay:
        response, _ = request(f"{relay.url}/v1/chat/completions", "OPTIONS", **ask)
        assert (response.status, response.headers["access-control-allow-origin"]) == (200, "https://page.example")
        response, _ = request(f"{relay.url}/v1/models", origin="https://page.example")
        assert response.headers["access-control-allow-origin"] == "https://page.example"
        response, _ = request(f"{relay.url}/v1/models", origin="https://other.example")
        assert "access-control-allow-origin" not in response.headers


def test_head_and_http_1_0(before_peer: Served, peer: Peer, relay: Served) -> None:
    response, data = request(f"{relay.url}/v1/models", "HEAD")
    assert (response.status, data) == (200, b"")
    assert int(response.headers["content-length"]) > 10
    asked = json.dumps(ASKED).encode()
    head = b"POST /v1/chat/completions HTTP/1.0\r\ncontent-length: %d\r\n\r\n" % len(asked)
    answer = raw_request(relay, head + asked)
    head, _, rest = answer.partition(b"\r\n\r\n")
    assert b"chunked" not in head.lower()
    text = "".join(each["choices"][0]["delta"].get("content") or "" for each in values(rest) if isinstance(each, dict))
    assert text == CLEAN


@pytest.mark.parametrize("path", ["/v1/files", "/v1/chat/completions"])
def test_large_bodies_pass(peer: Peer, path: str) -> None:
    size = 100_000_000
    seen: list[int] = []

    def give(exchange: Exchange) -> None:
        exchange.send_response(200)
        exchange.send_header("content-type", "application/octet-stream")
        exchange.send_header("content-length", str(size))
        exchange.end_headers()
        for _ in range(100):
            exchange.wfile.write(b"x" * (size // 100))
        seen.append(len(json.dumps(peer.asked[-1].body)))

    peer.answer = give
    data = b'"' + b"y" * (size - 2) + b'"'
    with relaying(peer.url) as relay:
        response, answer = post(relay, path, data)
    assert (response.status, len(answer), seen) == (200, size, [size])
