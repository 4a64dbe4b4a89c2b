"""What a client reads through a relay over real sockets: answers, findings, and its own history."""

import json
from contextlib import closing
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest
from openai import OpenAI

from streamcite import clean
from streamcite.sse import encode_json
from streamcite.testing import Server, recorded_answers, serve
from tests.chats import streamed
from tests.clients import new_client
from tests.http_peer import Exchange, Peer
from tests.markers import MARKER
from tests.processes import PATIENCE
from tests.raw_streams import body
from tests.relays import ASKED, CLEAN, PATHS, SHOWN, Served, every_api, post, relaying
from tests.responses_streams import message, stream_of
from tests.splices import cleaned, values

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
