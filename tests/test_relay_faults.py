"""What a relay makes of upstreams that go wrong, and of clients that leave or are slow."""

import json
import socket
import time
from contextlib import closing
from http.client import HTTPConnection, IncompleteRead
from threading import Event
from urllib.parse import urlsplit

import pytest
from openai import InternalServerError

from tests.chats import choice, chunk, streamed
from tests.clients import new_client
from tests.http_peer import Exchange, Peer
from tests.markers import MARKER
from tests.processes import PATIENCE
from tests.raw_streams import body
from tests.relays import ASKED, PATHS, SHOWN, Served, every_api, post, relaying
from tests.responses_streams import message, stream_of
from tests.splices import cleaned, values


def test_an_upstream_that_is_not_there(before_peer: Served) -> None:
    with socket.socket() as taken:  # and does not listen, so that nothing else can
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with (
            relaying(url) as relay,
            new_client(relay.base_url) as client,
            pytest.raises(InternalServerError) as caught,
        ):
            client.chat.completions.create(model="any", messages=SHOWN)
    assert (caught.value.status_code, caught.value.code) == (502, "upstream_unreachable")


def test_an_upstream_that_is_slow(peer: Peer) -> None:
    peer.answer = lambda exchange: exchange.wait_until_left()
    with relaying(peer.url, read_timeout=0.1) as relay:
        response, data = post(relay, PATHS["chat"], ASKED)
        assert (response.status, json.loads(data)["error"]["code"]) == (504, "upstream_timeout")
        assert peer.left.acquire(timeout=PATIENCE)


@every_api
@pytest.mark.parametrize("kind", ["cut", "stalled", "too long", "malformed"])
def test_a_stream_that_breaks_ends_as_a_cut(peer: Peer, name: str, kind: str) -> None:
    objects = streamed(["It ", MARKER[:9]], None) if name == "chat" else stream_of(message("It ", MARKER[:9]))[:-5]
    data = body(objects, done=False)
    if kind == "malformed":
        data += b"data: {bad\n\n"

    def give(exchange: Exchange) -> None:
        exchange.start()
        exchange.send(data)
        if kind == "stalled":
            exchange.wait_until_left()
        if kind == "too long":
            for _ in range(300):
                exchange.send(b"x" * 65536)
            exchange.end()
        exchange.close_connection = True

    peer.answer = give
    with relaying(peer.url, read_timeout=PATIENCE) as relay:
        with closing(HTTPConnection(urlsplit(relay.url).netloc, timeout=PATIENCE)) as connection:
            connection.request("POST", PATHS[name], json.dumps(ASKED), {"content-type": "application/json"})
            response = connection.getresponse()
            seen = response.read1()
            if kind == "stalled":
                relay.pass_time(2 * PATIENCE)
            with pytest.raises(IncompleteRead) as caught:
                response.read()
        assert values(seen + caught.value.partial) == cleaned(name, values(data), stopped=True)
        assert relay.tasks() < 8


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/other"])
@pytest.mark.parametrize("status", [101, 600, 999])
def test_a_status_that_cannot_be_sent_on(before_peer: Served, peer: Peer, path: str, status: int) -> None:
    peer.answer = lambda exchange: exchange.refuse(status)
    response, data = post(before_peer, path, ASKED)
    assert (response.status, json.loads(data)["error"]["code"]) == (502, "upstream_invalid")
    assert before_peer.tasks() < 8


def test_an_answer_that_is_not_a_stream_and_breaks(before_peer: Served, peer: Peer) -> None:
    def give(exchange: Exchange) -> None:
        exchange.send_response(200)
        exchange.send_header("content-type", "application/json")
        exchange.send_header("content-length", "999")
        exchange.end_headers()
        exchange.wfile.write(b"{")
        exchange.close_connection = True

    peer.answer = give
    response, data = post(before_peer, PATHS["chat"], ASKED)
    assert (response.status, json.loads(data)["error"]["code"]) == (502, "upstream_cut")


def test_an_answer_that_is_too_large(before_peer: Served, peer: Peer) -> None:
    def give(exchange: Exchange) -> None:
        exchange.send_response(200)
        exchange.send_header("content-type", "application/json")
        exchange.send_header("content-length", "200000")
        exchange.end_headers()
        exchange.wfile.write(b" " * 200_000)

    peer.answer = give
    response, data = post(before_peer, PATHS["chat"], ASKED)
    assert (response.status, json.loads(data)["error"]["code"]) == (502, "answer_too_large")


# Clients that leave, and clients that are slow


@every_api
def test_a_client_that_leaves_closes_the_upstream(before_peer: Served, peer: Peer, name: str) -> None:
    first = streamed(["It "], None) if name == "chat" else stream_of(message("It "))[:5]
    peer.gives(body(first, done=False), ends=False)
    with closing(HTTPConnection(urlsplit(before_peer.url).netloc, timeout=PATIENCE)) as connection:
        connection.request("POST", PATHS[name], json.dumps(ASKED), {"content-type": "application/json"})
        assert b"It " in connection.getresponse().read1()
    assert peer.left.acquire(timeout=PATIENCE)


def test_a_client_that_leaves_before_the_answer(before_peer: Served, peer: Peer) -> None:
    peer.answer = lambda exchange: exchange.wait_until_left()
    for path in (PATHS["chat"], "/v1/other"):
        with closing(HTTPConnection(urlsplit(before_peer.url).netloc, timeout=PATIENCE)) as connection:
            connection.request("POST", path, json.dumps(ASKED), {"content-type": "application/json"})
            while len(peer.asked) < 1:
                time.sleep(0.01)
        assert peer.left.acquire(timeout=PATIENCE)
        peer.asked.clear()


def test_a_client_that_is_slow_slows_the_upstream(before_peer: Served, peer: Peer) -> None:
    sent: list[int] = []
    done = Event()
    frame = body([chunk(choice("x" * 60_000))], done=False)

    def give(exchange: Exchange) -> None:
        exchange.start()
        exchange.connection.settimeout(1.0)
        try:
            for _ in range(2_000):
                exchange.send(frame)
                sent.append(len(frame))
        except OSError:  # nothing was taken for so long
            exchange.close_connection = True
        done.set()

    peer.answer = give
    with closing(socket.create_connection(("127.0.0.1", urlsplit(before_peer.url).port or 0))) as connection:
        data = json.dumps(ASKED).encode()
        head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-length: %d\r\n\r\n" % len(data)
        connection.sendall(head + data)
        assert done.wait(PATIENCE)
    assert sum(sent) < 60_000_000
