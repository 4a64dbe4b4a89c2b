"""What a relay counts and logs, and what it keeps to itself."""

import json
import time
from contextlib import closing, suppress
from http.client import HTTPConnection, IncompleteRead
from urllib.parse import urlsplit

import pytest

from tests.chats import streamed
from tests.http_peer import Exchange, Peer, request
from tests.markers import MARKER
from tests.processes import PATIENCE
from tests.raw_streams import body
from tests.relays import ASKED, PATHS, Served, post

STREAMS_DONE = 'streamcite_relay_streams_total{api="chat",end="done"}'


def test_it_says_that_it_runs_and_what_it_counted(relay: Served) -> None:
    response, data = request(f"{relay.url}/healthz")
    assert (response.status, data) == (200, b"ok\n")
    post(relay, PATHS["chat"], ASKED)
    deadline = time.monotonic() + PATIENCE  # what is counted is counted when the answer is on its way
    counted: dict[str, float] = {}
    while counted.get("streamcite_relay_open_streams") != 0 or not counted.get(STREAMS_DONE):
        assert time.monotonic() < deadline
        response, data = request(f"{relay.url}/metrics")
        lines = [line.rsplit(" ", 1) for line in data.decode().splitlines() if not line.startswith("#")]
        counted = {name: float(value) for name, value in lines}
    assert response.headers["content-type"].startswith("text/plain")
    assert counted['streamcite_relay_citations_total{api="chat"}'] >= 2
    assert counted['streamcite_relay_malformed_total{api="chat"}'] >= 1
    events = counted['streamcite_relay_events_total{api="chat"}']
    assert 0 < counted['streamcite_relay_events_changed_total{api="chat"}'] < events
    assert counted["streamcite_relay_open_streams"] == counted["streamcite_relay_held_characters"] == 0


def test_what_is_held_shows_in_the_metrics(before_peer: Served, peer: Peer) -> None:
    peer.gives(body(streamed(["It ", MARKER[:9]], None), done=False), ends=False)
    with closing(HTTPConnection(urlsplit(before_peer.url).netloc, timeout=PATIENCE)) as connection:
        connection.request("POST", PATHS["chat"], json.dumps(ASKED), {"content-type": "application/json"})
        assert b"It " in connection.getresponse().read1()
        _, data = request(f"{before_peer.url}/metrics")
    assert b"streamcite_relay_open_streams 1.0\n" in data
    assert b"streamcite_relay_held_characters 9.0\n" in data


def test_logs_hold_neither_keys_nor_content(relay: Served, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", logger="streamcite.relay"):
        post(relay, "/v1/chat/completions?secret=query", ASKED, authorization="Bearer secret")
        deadline = time.monotonic() + PATIENCE  # a line is written when the answer is on its way
        while "POST chat: 200" not in caplog.text:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    assert "2 citations, 1 malformed" in caplog.text
    assert not any(word in caplog.text for word in ("secret", "query", "guest", "Yes", "block1"))


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nguest secret\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: secret\r\n\r\n",
        b"secret guest\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\nguest\r\nsecret",
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n3\r\n{{{secret\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\nsecret",
        b"",
    ],
    ids=["header", "length", "no HTTP", "chunk", "end of chunk", "short", "nothing"],
)
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/other"])
def test_what_is_wrong_with_an_upstream_is_reported_without_what_came(
    before_peer: Served, peer: Peer, caplog: pytest.LogCaptureFixture, path: str, answer: bytes
) -> None:
    def give(exchange: Exchange) -> None:
        exchange.wfile.write(answer)
        exchange.close_connection = True

    peer.answer = give
    with caplog.at_level("INFO", logger="streamcite.relay"):
        with suppress(IncompleteRead):
            post(before_peer, f"{path}?secret=query", ASKED, authorization="Bearer secret")
        deadline = time.monotonic() + PATIENCE  # the last line is written when the answer is on its way
        while not any(line.startswith("POST ") for line in told(caplog)):
            assert time.monotonic() < deadline
            time.sleep(0.01)
    lines = told(caplog)
    assert any(line.startswith("upstream: ") for line in lines)
    assert not any(word in line for word in ("secret", "query", "guest", "other") for line in lines)


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "streamcite.relay"]
