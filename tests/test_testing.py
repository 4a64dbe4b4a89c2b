"""`streamcite.testing`: the server speaks chat completions as OpenAI does."""

import json
from http.client import HTTPResponse
from typing import Any

import pytest
from openai import NotFoundError, OpenAI

from streamcite.testing import RecordedAnswer, Server, app, serve, token_deltas
from tests.recorded import ANSWERS, ASK, every_answer, send


def post(running: Server, **fields: Any) -> tuple[HTTPResponse, bytes]:
    return send(running, "POST", "/v1/chat/completions", json.dumps({"messages": ASK, **fields}).encode())


def frames(body: bytes) -> list[Any]:
    """The data of every frame of a stream, which must end with [DONE] and nothing else."""
    *data, done, rest = body.decode().split("\n\n")
    assert (done, rest) == ("data: [DONE]", "")
    return [json.loads(frame.removeprefix("data: ")) for frame in data]


@every_answer
def test_a_stream_gives_the_deltas(client: OpenAI, answer: RecordedAnswer) -> None:
    chunks = list(client.chat.completions.create(model=answer.id, messages=ASK, stream=True))
    first, *middle, last = [chunk.choices[0] for chunk in chunks]
    assert (first.delta.role, first.delta.content) == ("assistant", "")
    assert tuple(choice.delta.content for choice in middle) == answer.deltas
    assert (last.delta.content, last.finish_reason) == (None, "stop")
    assert {chunk.model for chunk in chunks} == {answer.id}
    assert len({chunk.id for chunk in chunks}) == 1


@every_answer
def test_without_stream_the_same_answer_comes_whole(client: OpenAI, answer: RecordedAnswer) -> None:
    completion = client.chat.completions.create(model=answer.id, messages=ASK)
    assert completion.choices[0].message.content == answer.text
    assert completion.choices[0].finish_reason == "stop"
    assert completion.usage is not None
    assert completion.usage.completion_tokens == len(answer.deltas)
    assert completion.usage.prompt_tokens == len(token_deltas("How long may I stay?"))


def test_the_wire(recorded: Server) -> None:
    response, body = post(recorded, model="english", stream=True, stream_options={"include_usage": True})
    assert response.status == 200
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert response.headers["cache-control"] == "no-cache"
    assert response.headers["x-accel-buffering"] == "no"
    *chunks, last = frames(body)
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    assert [chunk for chunk in chunks if chunk["usage"] is not None] == []
    assert last["choices"] == []
    assert last["usage"]["completion_tokens"] == len(ANSWERS["english"].deltas)
    assert "\ue200".encode() in body  # as UTF-8


def test_no_usage_unless_asked_for(recorded: Server) -> None:
    _, body = post(recorded, model="english", stream=True, stream_options=None)
    assert [chunk for chunk in frames(body) if "usage" in chunk or not chunk["choices"]] == []


def test_choices_interleave(client: OpenAI) -> None:
    stream = client.chat.completions.create(model="english", messages=ASK, stream=True, n=2, max_tokens=3)
    seen = [(chunk.choices[0].index, chunk.choices[0].delta.content) for chunk in stream]
    contents = ["", *ANSWERS["english"].deltas[:3], None]
    assert seen == [(index, content) for content in contents for index in (0, 1)]
    whole = client.chat.completions.create(model="english", messages=ASK, n=3)
    assert [choice.index for choice in whole.choices] == [0, 1, 2]


@pytest.mark.parametrize("limit", [{"max_tokens": 18}, {"max_completion_tokens": 18, "max_tokens": 3}], ids=str)
def test_a_limit_cuts_the_answer(client: OpenAI, limit: dict[str, int]) -> None:
    # The 18th delta is the start of the first marker.
    cut = "".join(ANSWERS["english"].deltas[:18])
    chunks = list(client.chat.completions.create(model="english", messages=ASK, stream=True, extra_body=limit))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == cut
    assert cut.endswith("\ue200")
    assert chunks[-1].choices[0].finish_reason == "length"
    whole = client.chat.completions.create(model="english", messages=ASK, extra_body=limit)
    assert (whole.choices[0].message.content, whole.choices[0].finish_reason) == (cut, "length")


def test_models(client: OpenAI) -> None:
    assert [model.id for model in client.models.list()] == list(ANSWERS)
    assert client.models.retrieve("japanese").id == "japanese"


@pytest.mark.parametrize("stream", [False, True])
def test_an_unknown_model(client: OpenAI, stream: bool) -> None:
    with pytest.raises(NotFoundError, match="The model `gpt-0` does not exist") as caught:
        client.chat.completions.create(model="gpt-0", messages=ASK, stream=stream)
    assert (caught.value.code, caught.value.param) == ("model_not_found", "model")
    with pytest.raises(NotFoundError):
        client.models.retrieve("org/gpt-0")


CONTENT = "messages[0].content"


def with_parts(*parts: object) -> dict[str, Any]:
    return {"model": "english", "messages": [{"role": "user", "content": parts}]}


def nested(levels: int) -> object:
    """Parts in parts, which no interface knows."""
    value: object = "Hello"
    for _ in range(levels):
        value = [{"text": value}]
    return value


BAD: dict[str, tuple[bytes | dict[str, Any], str | None, str | None]] = {
    "no JSON": (b'{"model": ', None, None),
    "no UTF-8": (b"\xff\xfe\xfd", None, None),
    "too deep": (b"[" * 100_000, None, None),
    "no object": (b"[]", None, None),
    "no model": ({"messages": ASK}, "missing_required_parameter", "model"),
    "model": ({"messages": ASK, "model": 1}, "invalid_type", "model"),
    "no messages": ({"model": "english"}, "missing_required_parameter", "messages"),
    "messages": ({"model": "english", "messages": "Hi"}, "invalid_type", "messages"),
    "no message": ({"model": "english", "messages": []}, "empty_array", "messages"),
    "message": ({"model": "english", "messages": ["Hi"]}, "invalid_type", "messages[0]"),
    "content": ({"model": "english", "messages": [{"role": "user", "content": 1}]}, "invalid_type", CONTENT),
    "part": (with_parts("Hello"), "invalid_type", f"{CONTENT}[0]"),
    "list as part": (with_parts({"text": "Hello"}, [{"text": "Hello"}]), "invalid_type", f"{CONTENT}[1]"),
    "text of a part": (with_parts({"text": {"value": "Hello"}}), "invalid_type", f"{CONTENT}[0].text"),
    "parts in a part": (with_parts({"text": [{"text": "Hello"}]}), "invalid_type", f"{CONTENT}[0].text"),
    "parts in parts": (with_parts({"text": nested(400)}), "invalid_type", f"{CONTENT}[0].text"),
    "no role": ({"model": "english", "messages": [{}]}, "missing_required_parameter", "messages[0].role"),
    "stream": ({"model": "english", "messages": ASK, "stream": "yes"}, "invalid_type", "stream"),
    "n": ({"model": "english", "messages": ASK, "n": True}, "invalid_type", "n"),
    "no n": ({"model": "english", "messages": ASK, "n": 0}, "integer_out_of_range", "n"),
    "big n": ({"model": "english", "messages": ASK, "n": 129}, "integer_out_of_range", "n"),
    "max_tokens": ({"model": "english", "messages": ASK, "max_tokens": 0}, "integer_out_of_range", "max_tokens"),
    "stream_options": ({"model": "english", "messages": ASK, "stream_options": {}}, None, "stream_options"),
    "include_usage": (
        {"model": "english", "messages": ASK, "stream": True, "stream_options": {"include_usage": 1}},
        "invalid_type",
        "include_usage",
    ),
}


@pytest.mark.parametrize(("body", "code", "param"), BAD.values(), ids=BAD)
def test_a_bad_request(recorded: Server, body: bytes | dict[str, Any], code: str | None, param: str | None) -> None:
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    response, received = send(recorded, "POST", "/v1/chat/completions", sent)
    error = json.loads(received)["error"]
    assert response.status == 400
    assert error.pop("message")
    assert error == {"type": "invalid_request_error", "param": param, "code": code}


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/v1/chat/completions", 405), ("POST", "/v1/models", 405), ("POST", "/v1/embeddings", 404)],
)
def test_what_is_not_served(recorded: Server, method: str, path: str, status: int) -> None:
    response, body = send(recorded, method, path)
    assert response.status == status
    assert json.loads(body)["error"]["type"] == "invalid_request_error"


def test_a_body_has_a_limit(recorded: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "_MAX_BODY", 1000)
    response, body = post(recorded, model="english", padding="x" * 1000)
    assert response.status == 413
    assert json.loads(body)["error"]["message"] == "The body of your request is larger than 1000 bytes."


def test_content_may_stand_in_parts(client: OpenAI) -> None:
    messages: list[Any] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Hello"}, {"type": "image_url", "image_url": {}}]},
        {"role": "assistant", "content": None},
    ]
    completion = client.chat.completions.create(model="english", messages=messages)
    assert completion.usage is not None
    assert completion.usage.prompt_tokens == len(token_deltas("Be brief.\nHello\n"))


def test_a_surrogate_cut_off_by_a_delta_goes_out_as_an_escape() -> None:
    with serve([RecordedAnswer(id="torn", text="\ud83d\ude00", deltas=("\ud83d", "\ude00"))]) as running:
        _, body = post(running, model="torn", stream=True)
    assert rb'"content":"\ud83d"' in body
    assert [chunk["choices"][0]["delta"].get("content") for chunk in frames(body)] == ["", "\ud83d", "\ude00", None]
