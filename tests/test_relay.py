"""The relay over real sockets, in front of servers that answer as a test says."""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from http.client import HTTPConnection, IncompleteRead
from typing import Any
from urllib.parse import urlsplit

import pytest
from openai import APIStatusError, InternalServerError, OpenAI

from streamcite import clean
from streamcite.sse import encode_json
from streamcite.testing import Server, recorded_answers, serve
from tests.chats import MARKER, choice, chunk, streamed
from tests.clients import new_client
from tests.http_peer import Exchange, Peer, request
from tests.processes import PATIENCE
from tests.raw_streams import body
from tests.relays import ANSWER, CLEAN, SHOWN, Served, relaying
from tests.responses_streams import message, stream_of
from tests.splices import cleaned, values

PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses"}
every_api = pytest.mark.parametrize("name", PATHS)
ASKED: Any = {"model": "answer", "messages": SHOWN, "input": SHOWN, "stream": True}


@pytest.fixture(scope="module")
def answering() -> Iterator[Server]:
    with serve(ANSWER) as server:
        yield server


@pytest.fixture(scope="module")
def relay(answering: Server) -> Iterator[Served]:
    with relaying(answering.base_url, remember=10) as served:
        yield served


@pytest.fixture(scope="module")
def asking(relay: Served) -> Iterator[OpenAI]:
    with new_client(relay.base_url) as client:
        yield client


@pytest.fixture
def before_peer(peer: Peer) -> Iterator[Served]:
    with relaying(peer.url, body_timeout=0.5, max_body=100_000) as served:
        yield served


def post(relay: Served, path: str, value: Any, **headers: str) -> tuple[Any, bytes]:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    headers = {name.replace("_", "-"): each for name, each in headers.items()}
    return request(f"{relay.url}{path}", "POST", data, **{"content-type": "application/json", **headers})


# Answers


def test_a_client_reads_a_clean_chat_with_annotations(asking: OpenAI) -> None:
    chunks = list(asking.chat.completions.create(model="answer", messages=SHOWN, stream=True))
    deltas = [each.choices[0].delta for each in chunks if each.choices]
    assert "".join(delta.content or "" for delta in deltas) == CLEAN
    streamed_annotations = [each for delta in deltas for each in getattr(delta, "annotations", [])]
    place = {"start_index": 27, "end_index": 27, "title": "Hours", "url": "https://example.org/hours"}
    assert streamed_annotations == [{"index": 0, "type": "url_citation", "url_citation": place}]
    whole = asking.chat.completions.create(model="answer", messages=SHOWN).choices[0].message
    assert whole.content == CLEAN
    assert whole.annotations is not None
    assert [each.url_citation.model_dump() for each in whole.annotations] == [place]


def test_a_client_reads_a_clean_response_with_annotations(asking: OpenAI) -> None:
    events = list(asking.responses.create(model="answer", input=SHOWN, stream=True))
    assert "".join(each.delta for each in events if each.type == "response.output_text.delta") == CLEAN
    whole: Any = asking.responses.create(model="answer", input=SHOWN)
    last: Any = events[-1]
    announced: list[Any] = [each for each in events if each.type == "response.output_text.annotation.added"]
    found = whole.output[0].content[0]
    assert found.text == whole.output_text == last.response.output_text == CLEAN
    annotations = [each.to_dict() for each in found.annotations]
    assert annotations == [each.to_dict() for each in last.response.output[0].content[0].annotations]
    assert annotations == [
        json.loads(json.dumps(each.annotation, default=lambda given: given.to_dict())) for each in announced
    ]
    lines = {"locator": None, "first_line": None, "last_line": None}
    assert [each["streamcite"] for each in annotations] == [{"number": at, "passages": [lines]} for at in (1, 2)]
    assert [each["type"] for each in annotations] == ["file_citation", "url_citation"]


@pytest.mark.parametrize("answer", recorded_answers())
def test_recorded_answers_come_clean_and_may_be_retrieved(recorded: Server, answer: str) -> None:
    text = clean(recorded_answers()[answer].text, complete=True)
    with relaying(recorded.base_url) as relay, new_client(relay.base_url) as client:
        stream = client.chat.completions.create(model=answer, messages=SHOWN, stream=True)
        assert "".join(each.choices[0].delta.content or "" for each in stream if each.choices) == text
        made = client.responses.create(model=answer, input="?")
        assert made.output_text == client.responses.retrieve(made.id).output_text == text
        again = client.responses.retrieve(made.id, stream=True)
        assert "".join(each.delta for each in again if each.type == "response.output_text.delta") == text


def test_a_response_may_be_resumed_anywhere_inside_a_marker_too(relay: Served, asking: OpenAI) -> None:
    made = asking.responses.create(model="answer", input="?")
    whole = [each.to_dict() for each in asking.responses.retrieve(made.id, stream=True)]
    last: Any = whole[-1]["sequence_number"]
    for number in range(last + 1):
        rest = [each.to_dict() for each in asking.responses.retrieve(made.id, stream=True, starting_after=number)]
        assert rest == [each for each in whole if each["sequence_number"] > number]  # type: ignore[operator]


@every_api
def test_text_passes_as_it_comes_and_the_same_bytes(before_peer: Served, peer: Peer, name: str) -> None:
    objects = streamed(["It ", "lasts."]) if name == "chat" else stream_of(message("It ", "lasts."))
    frames = [body([each], done=False) for each in objects]
    go = peer.gives_and_waits(frames[0], b"".join(frames[1:]))
    with closing(HTTPConnection(urlsplit(before_peer.url).netloc, timeout=PATIENCE)) as connection:
        connection.request("POST", PATHS[name], json.dumps(ASKED), {"content-type": "application/json"})
        response = connection.getresponse()
        assert response.read1() == frames[0]
        go.set()
        assert response.read() == b"".join(frames[1:])
    assert response.headers["cache-control"] == "no-cache"
    assert response.headers["x-accel-buffering"] == "no"


@pytest.mark.parametrize("render", ["links", "footnotes"])
def test_citations_may_be_written_into_the_text(answering: Server, render: Any) -> None:
    with relaying(answering.base_url, render=render) as relay, new_client(relay.base_url) as client:
        whole: Any = client.chat.completions.create(model="answer", messages=SHOWN).choices[0].message
        stream = client.chat.completions.create(model="answer", messages=SHOWN, stream=True)
        assert "".join(each.choices[0].delta.content or "" for each in stream if each.choices) == whole.content
    assert "https://example.org/hours" in whole.content
    assert not whole.annotations


@every_api
@pytest.mark.parametrize("more", [{}, {"render": "links"}])
def test_blanks_may_be_mended(name: str, more: Any) -> None:
    text = "It lasts \ue200cite\ue202turn9file9\ue201. Long."
    with (
        serve(text) as server,
        relaying(server.base_url, spacing="tidy", **more) as relay,
        new_client(relay.base_url) as client,
    ):
        if name == "chat":
            shown = client.chat.completions.create(model="answer", messages=SHOWN, stream=True)
            seen = "".join(each.choices[0].delta.content or "" for each in shown if each.choices)
            whole: Any = client.chat.completions.create(model="answer", messages=SHOWN).choices[0].message.content
        else:
            events = client.responses.create(model="answer", input=SHOWN, stream=True)
            seen = "".join(each.delta for each in events if each.type == "response.output_text.delta")
            whole = client.responses.create(model="answer", input=SHOWN).output_text
    assert seen == whole == "It lasts. Long."


def test_annotations_may_be_off(answering: Server) -> None:
    with relaying(answering.base_url, annotations="off") as relay, new_client(relay.base_url) as client:
        whole: Any = client.responses.create(model="answer", input=SHOWN)
        assert (whole.output_text, whole.output[0].content[0].annotations) == (CLEAN, [])


@every_api
def test_findings_are_sent_to_who_asks_for_them(relay: Served, name: str) -> None:
    expected = {"citations": 2, "malformed": 1, "unknown": []}
    response, _ = post(relay, PATHS[name], {**ASKED, "stream": False}, x_streamcite_findings="1")
    assert json.loads(response.headers["x-streamcite-findings"]) == expected
    response, data = post(relay, PATHS[name], ASKED, x_streamcite_findings="1")
    comment = data.rstrip().rpartition(b"\n\n")[2]
    assert comment.startswith(b": streamcite ")
    assert json.loads(comment.removeprefix(b": streamcite ")) == expected
    response, data = post(relay, PATHS[name], ASKED)
    assert b": streamcite" not in data
    assert "x-streamcite-findings" not in response.headers


def test_of_many_unknown_ids_some_are_named() -> None:
    text = "".join(f"\ue200cite\ue202turn0file{number}\ue201" for number in range(200))
    with serve(text) as server, relaying(server.base_url) as relay:
        response, _ = post(relay, PATHS["chat"], {**ASKED, "stream": False}, x_streamcite_findings="1")
    told = json.loads(response.headers["x-streamcite-findings"])
    assert (told["citations"], told["unknown"]) == (200, [f"turn0file{number}" for number in range(20)])


# History


@every_api
@pytest.mark.parametrize("streams", [False, True])
def test_the_model_sees_its_answers_with_their_markers(peer: Peer, name: str, streams: bool) -> None:
    if name == "chat":
        objects = streamed(["Yes.", MARKER[:5], MARKER[5:]])
        whole: Any = {"choices": [{"index": 0, "message": {"role": "assistant", "content": f"Yes.{MARKER}"}}]}
    else:
        objects = stream_of(message("Yes.", MARKER[:5], MARKER[5:]))
        whole = objects[-1]["response"]
    answer = body(objects, done=name == "chat")

    def give(exchange: Exchange) -> None:
        if streams:
            exchange.give(answer)
        else:
            exchange.send_response(200)
            exchange.send_header("content-type", "application/json")
            exchange.send_header("content-length", str(len(json.dumps(whole))))
            exchange.end_headers()
            exchange.wfile.write(json.dumps(whole).encode())

    peer.answer = give
    asked = {"model": "any", "stream": streams}
    field = "messages" if name == "chat" else "input"
    history = [{"role": "assistant", "content": "Yes."}, {"role": "user", "content": "Yes."}]
    with relaying(peer.url, remember=1) as relay:
        _, data = post(relay, PATHS[name], {**asked, field: []}, authorization="Bearer me")
        assert MARKER.encode() not in data
        post(relay, PATHS[name], {**asked, field: history}, authorization="Bearer me")
        post(relay, PATHS[name], {**asked, field: history}, authorization="Bearer you")
    sent = [each.body[field] for each in peer.asked]
    assert [each[0]["content"] for each in sent[1:]] == [f"Yes.{MARKER}", "Yes."]
    assert sent[1][1]["content"] == "Yes."


# What passes


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


# What goes wrong


def test_an_upstream_that_is_not_there(before_peer: Served) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    with relaying(url) as relay, new_client(relay.base_url) as client:
        with pytest.raises(InternalServerError) as caught:
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
    with relaying(peer.url, read_timeout=0.3) as relay:
        with closing(HTTPConnection(urlsplit(relay.url).netloc, timeout=PATIENCE)) as connection:
            connection.request("POST", PATHS[name], json.dumps(ASKED), {"content-type": "application/json"})
            with pytest.raises(IncompleteRead) as caught:
                connection.getresponse().read()
        assert values(caught.value.partial) == cleaned(name, values(data), stopped=True)
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
    frame = body([chunk(choice("x" * 60_000))], done=False)

    def give(exchange: Exchange) -> None:
        exchange.start()
        exchange.connection.settimeout(1.0)
        try:
            for _ in range(2_000):
                exchange.send(frame)
                sent.append(len(frame))
        except OSError:
            exchange.close_connection = True

    peer.answer = give
    with closing(socket.create_connection(("127.0.0.1", urlsplit(before_peer.url).port or 0))) as connection:
        data = json.dumps(ASKED).encode()
        head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-length: %d\r\n\r\n" % len(data)
        connection.sendall(head + data)
        deadline = time.monotonic() + PATIENCE
        last = -1
        while last != len(sent) or not sent:  # until nothing moves any more
            last = len(sent)
            time.sleep(0.5)
            assert time.monotonic() < deadline
    assert sum(sent) < 60_000_000


# What protects it


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


def test_a_head_without_end_and_a_slow_one_are_cut(peer: Peer) -> None:
    with relaying(peer.url, max_head=5_000, head_timeout=0.3) as relay:
        port = urlsplit(relay.url).port or 0
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\n")
            with pytest.raises(OSError, match=r"reset|[Bb]roken|Connection"):  # noqa: PT012
                for _ in range(10_000):
                    connection.sendall(b"x: " + b"y" * 999 + b"\r\n")
                    time.sleep(0.001)
        for begin in (b"", b"GET / HT", b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\nGET / HTTP/1.1\r\n"):
            assert b" 408 " in raw_request(relay, begin)


def test_a_body_that_is_too_large_or_slow(before_peer: Served, peer: Peer) -> None:
    response, data = post(before_peer, PATHS["chat"], b" " * 100_001)
    assert (response.status, json.loads(data)["error"]["code"]) == (413, "body_too_large")
    for path in (b"/v1/chat/completions", b"/v1/files"):
        head = b"POST %b HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: 9\r\n\r\nabc" % path
        answer = raw_request(before_peer, head)
        assert answer.startswith(b"HTTP/1.1 408 "), path
    assert peer.asked == []


def test_websockets_are_refused_in_words(before_peer: Served) -> None:
    head = b"GET /v1/realtime HTTP/1.1\r\nhost: a\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
    answer = raw_request(
        before_peer, head + b"sec-websocket-key: MDEyMzQ1Njc4OWFiY2RlZg==\r\nsec-websocket-version: 13\r\n\r\n"
    )
    assert answer.startswith(b"HTTP/1.1 501 ")
    assert b"WebSockets are not relayed" in answer


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


def test_a_stream_ends_at_its_done_though_the_upstream_does_not(before_peer: Served, peer: Peer) -> None:
    data = body(streamed(["It ", "lasts."]))
    peer.gives(data, ends=False)
    _, seen = post(before_peer, PATHS["chat"], ASKED)
    assert seen == data
    assert peer.left.acquire(timeout=PATIENCE)


def test_frames_of_any_kind_pass(before_peer: Served, peer: Peer) -> None:
    data = b": ping\n\n" + encode_json({"odd": 1}, event="odd") + body(streamed(["a", MARKER, "b"]))
    peer.gives(data[:50], data[50:])
    _, seen = post(before_peer, PATHS["chat"], ASKED)
    assert values(seen) == cleaned("chat", values(data))
    assert seen.startswith(b": ping\n\n")
