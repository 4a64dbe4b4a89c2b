"""`streamcite.sse.SSEDecoder` on what servers send, read from the socket as it comes and in other cuts."""

import json
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest

from streamcite.sse import ServerSentEvent, SSEDecoder
from streamcite.testing import recorded_answers, serve
from tests.processes import PATIENCE

ANSWERS = recorded_answers()


def receive(base_url: str, path: str, **body: Any) -> list[bytes]:
    """Ask for a stream; give the body as it came in."""
    url = urlsplit(base_url)
    connection = HTTPConnection(url.netloc, timeout=PATIENCE)
    try:
        connection.request("POST", f"{url.path}/{path}", json.dumps({**body, "stream": True}))
        response = connection.getresponse()
        assert response.getheader("content-type", "").startswith("text/event-stream")
        return list(iter(response.read1, b""))
    finally:
        connection.close()


def read(parts: list[bytes]) -> list[ServerSentEvent]:
    decoder = SSEDecoder()
    events = [event for part in parts for event in decoder.feed(part)]
    assert decoder.close() == b""
    return events


def in_other_cuts(events: list[ServerSentEvent], stream: bytes) -> None:
    for size in (1, 7, 100, len(stream)):
        assert read([stream[i : i + size] for i in range(0, len(stream), size)]) == events
    assert read([stream.replace(b"\n", b"\r\n")]) == events


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_the_streams_of_both_apis(answer: Any) -> None:
    with serve([answer]) as server:
        chat = receive(
            server.base_url, "chat/completions", model=answer.id, messages=[{"role": "user", "content": "?"}]
        )
        responses = receive(server.base_url, "responses", model=answer.id, input="?")

    *chunks, done = read(chat)
    assert done == ServerSentEvent(b"[DONE]")
    deltas = [json.loads(chunk.data)["choices"][0]["delta"].get("content", "") for chunk in chunks]
    assert "".join(deltas) == answer.text
    assert len(deltas) == len(answer.deltas) + 2
    in_other_cuts([*chunks, done], b"".join(chat))

    events = read(responses)
    values = [json.loads(event.data) for event in events]
    assert [value["type"] for value in values] == [event.event for event in events]
    assert [value["sequence_number"] for value in values] == list(range(len(values)))
    texts = [value["delta"] for value in values if value["type"] == "response.output_text.delta"]
    assert "".join(texts) == answer.text
    in_other_cuts(events, b"".join(responses))
