"""Chat completions and Responses, read by the clients of Python and of Node."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from openai import APIError, OpenAI
from openai.types.chat import ChatCompletion
from openai.types.responses import Response

from streamcite import Cited, Resolved, ResolvedEvent, Resolver, Source, parse
from streamcite.annotations import Unit
from streamcite.openai import chat_events, responses_events
from streamcite.resolve import resolve
from streamcite.sse import SSEDecoder
from streamcite.ui.openai_chat import OpenAIChatEncoder, chat_completion
from streamcite.ui.openai_responses import OpenAIResponsesEncoder, model_response
from streamcite.ui.protocol import HEADERS, Encoder, new_encoder
from streamcite.urls import is_safe_url
from tests.http_peer import Peer
from tests.markers import cite
from tests.node import ScriptError
from tests.readers import Reader, Readers, message_of, run_readers, without_parsed
from tests.rendering import SOURCES, answers, cuts, feeds

CHAT: Any = {"completion_id": "chatcmpl-1", "model": "m", "created": 7}
RESPONSES: Any = {"response_id": "resp_1", "model": "m", "created": 7}
TEXT = f"🎉 One{cite('t1', 'L2-L3')}. Two{cite('none')}{cite('x')}."
URL = {"url": "https://a.example/office?a=1&b=2", "title": "Office days"}


@pytest.fixture(scope="module")
def read() -> Iterator[Readers]:
    with run_readers() as readers:
        yield readers


def sent(encoder: Encoder, fed: Sequence[Sequence[ResolvedEvent]]) -> bytes:
    return b"".join([*(frame for events in fed for frame in encoder.feed(events)), *encoder.close()])


def flat(fed: Sequence[Sequence[ResolvedEvent]]) -> list[ResolvedEvent]:
    return [event for events in fed for event in events]


@given(answers, cuts)
@settings(max_examples=50)
def test_node_adds_chunks_up_to_the_completion(read: Readers, text: str, cuts: list[int]) -> None:
    fed = feeds(text, cuts)
    completion = chat_completion(flat(fed), **CHAT)
    got = without_parsed(read("chat-stream", body=sent(OpenAIChatEncoder(**CHAT), fed)))
    message = message_of(got)
    message.setdefault("content", "")  # Node gives null for a content that is empty
    assert message == completion["choices"][0]["message"]
    assert {**got, "object": "chat.completion", "choices": 0} == {**completion, "choices": 0}
    assert got["choices"][0]["finish_reason"] == "stop"


@given(answers, cuts)
@settings(max_examples=50)
def test_node_adds_events_up_to_the_response(read: Readers, text: str, cuts: list[int]) -> None:
    fed = feeds(text, cuts)
    response = model_response(flat(fed), **RESPONSES)
    body = sent(OpenAIResponsesEncoder(**RESPONSES), fed)
    assert without_parsed(read("responses-stream", body=body)) == response
    events = read("responses-create", body=body)
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    (part,) = response["output"][0]["content"]
    assert "".join(event["delta"] for event in events if event["type"].endswith("text.delta")) == part["text"]
    added = [event for event in events if event["type"].endswith("annotation.added")]
    assert [event["annotation"] for event in added] == part["annotations"]
    assert [event["annotation_index"] for event in added] == list(range(len(added)))


@given(answers, cuts)
def test_annotations_stand_where_the_citations_do(text: str, cuts: list[int]) -> None:
    events = flat(feeds(text, cuts))
    whole = "".join(map(str, events))
    places = [
        (event.position, link.source)
        for event in events
        if isinstance(event, Cited) and not event.text
        for link in {link.reference.source_id: link for link in event.links}.values()
        if link.source
    ]
    (part,) = model_response(events)["output"][0]["content"]
    assert part["text"] == whole
    assert [each.get("start_index", each.get("index")) for each in part["annotations"]] == [at for at, _ in places]
    message = chat_completion(events)["choices"][0]["message"]
    assert message["content"] == whole
    assert message.get("annotations", []) == [
        {
            "type": "url_citation",
            "url_citation": {"start_index": at, "end_index": at, "url": source.url, "title": title},
        }
        for at, source in places
        if source.url and is_safe_url(source.url)
        for title in [source.title or source.url]
    ]


def test_the_chunks_of_a_completion() -> None:
    fed = [*feeds(TEXT, [4])]
    *frames, done = sent(OpenAIChatEncoder(**CHAT), fed).split(b"\n\n")[:-1]
    assert done == b"data: [DONE]"
    chunks = [json.loads(frame.removeprefix(b"data: ")) for frame in frames]
    assert {json.dumps({**chunk, "choices": 0}) for chunk in chunks} == {
        '{"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 7, "model": "m", "choices": 0}'
    }
    choices = [choice for chunk in chunks for choice in chunk["choices"]]
    place = {"start_index": 5, "end_index": 5, **URL}
    assert [choice["delta"] for choice in choices] == [
        {"role": "assistant", "content": "", "refusal": None},
        *({"content": text} for text in ("🎉 On", "e", ". Two", ".")),
        {"annotations": [{"index": 0, "type": "url_citation", "url_citation": place}]},
        {},
    ]
    assert [choice["finish_reason"] for choice in choices] == [None] * 6 + ["stop"]


def test_the_events_of_a_response() -> None:
    received = SSEDecoder().feed(sent(OpenAIResponsesEncoder(**RESPONSES, unit="utf16"), feeds(TEXT, [4])))
    events = [json.loads(event.data) for event in received]
    assert [event["type"] for event in events] == [event.event for event in received]
    assert [str(event.event).removeprefix("response.") for event in received] == [
        *("created", "in_progress", "output_item.added", "content_part.added", "output_text.delta"),
        *("output_text.delta", "output_text.annotation.added", "output_text.delta", "output_text.annotation.added"),
        *("output_text.delta", "output_text.done", "content_part.done", "output_item.done", "completed"),
    ]
    assert [event["annotation"] for event in events if "annotation" in event] == [
        {"type": "url_citation", "start_index": 6, "end_index": 6, **URL},
        {"type": "file_citation", "file_id": "none", "filename": "none", "index": 11},
    ]
    ends = [event for event in events if event["type"].endswith(".done")]
    text, part = ends[0]["text"], ends[1]["part"]
    assert (part["text"], len(part["annotations"])) == (text, 2)
    assert ends[2]["item"]["content"] == [part]


def test_a_source_that_comes_late_is_announced_then() -> None:
    known: dict[str, Source] = {}
    resolver = Resolver(known)
    fed = [resolver.feed(parse(f"A{cite('t1')}"))]
    known |= SOURCES
    fed += [resolver.feed(parse(" b", complete=True)), resolver.close()]
    kinds = [event.event for event in SSEDecoder().feed(sent(OpenAIResponsesEncoder(), fed))]
    assert kinds[4:7] == [
        "response.output_text.delta",
        "response.output_text.annotation.added",
        "response.output_text.delta",
    ]
    assert chat_completion(flat(fed))["choices"][0]["message"]["annotations"][0]["url_citation"]["start_index"] == 1


def test_the_client_of_python_reads_a_completion(peer: Peer, peer_client: OpenAI) -> None:
    peer.gives(sent(OpenAIChatEncoder(**CHAT), feeds(TEXT, [4])))
    with peer_client.chat.completions.stream(model="m", messages=[]) as stream:
        completion = stream.get_final_completion()
    got = completion.to_dict(mode="json")
    assert message_of(without_parsed(got)) == chat_completion(flat(feeds(TEXT, [])))["choices"][0]["message"]
    chunks = list(peer_client.chat.completions.create(model="m", messages=[], stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == completion.choices[0].message.content


def test_the_client_of_python_reads_a_response(peer: Peer, peer_client: OpenAI) -> None:
    peer.gives(sent(OpenAIResponsesEncoder(**RESPONSES), feeds(TEXT, [4])))
    with peer_client.responses.stream(model="m", input="?") as stream:
        response = stream.get_final_response()
    assert without_parsed(response.to_dict(mode="json")) == model_response(flat(feeds(TEXT, [])), **RESPONSES)
    events = list(peer_client.responses.create(model="m", input="?", stream=True))
    assert [event.type for event in events][-1] == "response.completed"


def test_a_finished_message_is_of_the_client(peer: Peer, peer_client: OpenAI) -> None:
    events = flat(feeds(TEXT, []))
    completion, response = chat_completion(events, **CHAT), model_response(events, **RESPONSES)
    assert ChatCompletion.model_validate(completion, strict=True).to_dict() == completion
    assert Response.model_validate(response).to_dict(mode="json") == response


def test_the_provider_of_the_ai_sdk_reads_text_and_sources(read: Readers) -> None:
    fed, text = feeds(TEXT, [4]), "🎉 One. Two."
    chat = read("ai-chat", body=sent(OpenAIChatEncoder(), fed))
    assert chat == {"text": text, "sources": [URL["url"]], "finishReason": "stop"}
    response = read("ai-responses", body=sent(OpenAIResponsesEncoder(), fed))
    assert response == {"text": text, "sources": [URL["url"], "none"], "finishReason": "stop"}
    with pytest.raises(ScriptError, match=r"It broke\."):
        read("ai-chat", body=ended(OpenAIChatEncoder(), error="It broke."))
    with pytest.raises(ScriptError, match=r"It broke\."):
        read("ai-responses", body=ended(OpenAIResponsesEncoder(), error="It broke."))


@pytest.mark.parametrize("complete", [True, False])
def test_streamcite_knows_how_it_ended(complete: bool, peer: Peer, peer_client: OpenAI) -> None:
    def gives(encoder: Encoder) -> None:
        peer.gives(b"".join([*encoder.feed(["A"]), *encoder.close(complete=complete)]))

    gives(OpenAIChatEncoder())
    with chat_events(peer_client.chat.completions.create(model="m", messages=[], stream=True)) as chat:
        assert list(chat) == ["A"]
    assert chat.result.complete == complete
    gives(OpenAIResponsesEncoder())
    with responses_events(peer_client.responses.create(model="m", input="?", stream=True)) as response:
        assert list(response) == ["A"]
    assert response.result.parts[0].finish_reason == ("completed" if complete else "incomplete")


def ended(encoder: Encoder, *, error: str = "") -> bytes:
    feed = encoder.feed(["A"])
    return b"".join([*feed, *(encoder.fail(error) if error else encoder.close(complete=False))])


def test_a_completion_that_is_not_complete_is_not_one_to_node(read: Readers) -> None:
    with pytest.raises(ScriptError, match="missing finish_reason"):
        read("chat-stream", body=ended(OpenAIChatEncoder()))
    assert len(read("chat-create", body=ended(OpenAIChatEncoder()))) == 2


@pytest.mark.parametrize("reader", ["chat-create", "chat-stream"])
def test_an_error_ends_a_completion(read: Readers, reader: Reader, peer: Peer, peer_client: OpenAI) -> None:
    body = ended(OpenAIChatEncoder(), error="It broke.")
    with pytest.raises(ScriptError, match=r"APIError: It broke\."):
        read(reader, body=body)
    peer.gives(body)
    with pytest.raises(APIError, match=r"It broke\.") as caught:
        list(peer_client.chat.completions.create(model="m", messages=[], stream=True))
    assert caught.value.type == "server_error"


def test_a_response_may_be_incomplete_or_fail(read: Readers) -> None:
    incomplete = read("responses-stream", body=ended(OpenAIResponsesEncoder()))
    failed = read("responses-stream", body=ended(OpenAIResponsesEncoder(), error="It broke."))
    assert (incomplete["status"], incomplete["error"]) == ("incomplete", None)
    assert (failed["status"], failed["error"]) == ("failed", {"code": "server_error", "message": "It broke."})
    for response in (incomplete, failed):
        (item,) = response["output"]
        assert (item["status"], item["content"][0]["text"]) == ("incomplete", "A")


@pytest.mark.parametrize("unit", ["utf16", "codepoint"])
def test_new_ids_and_units(unit: Unit) -> None:
    assert OpenAIChatEncoder.headers == OpenAIResponsesEncoder.headers == HEADERS
    events = flat(feeds(TEXT, []))
    first, second = (chat_completion(events, unit=unit) for _ in range(2))
    assert first["id"] != second["id"]
    assert first["choices"][0]["message"]["annotations"][0]["url_citation"]["end_index"] == 5 + (unit == "utf16")
    assert model_response(events)["id"] != model_response(events)["id"]
    assert isinstance(new_encoder("openai-chat"), OpenAIChatEncoder)
    assert isinstance(new_encoder("openai-responses"), OpenAIResponsesEncoder)


def test_what_is_not_seen_is_not_sent() -> None:
    events = [*resolve("\ue201", {}), Resolved(7, ())]
    assert model_response(events)["output"][0]["content"][0]["text"] == ""
    assert chat_completion(events)["choices"][0]["message"]["content"] == ""


def test_only_events_are_encoded() -> None:
    wrong: Any
    for wrong in ([1], "text"):
        with pytest.raises(TypeError, match="events"):
            chat_completion(wrong)
        with pytest.raises(TypeError, match="events"):
            model_response(wrong)
