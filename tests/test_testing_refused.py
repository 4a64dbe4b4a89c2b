"""`streamcite.testing`: what its Responses API refuses, as OpenAI does."""

import json
from collections.abc import Iterator
from http.client import HTTPResponse
from typing import Any

import pytest
from openai import NotFoundError, OpenAI

from streamcite.testing import Server, serve
from tests.recorded import ANSWERS
from tests.responses_server import EMPTY, QUESTION, post, send


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with serve([ANSWERS["english"], EMPTY]) as running:
        yield running


@pytest.mark.parametrize("stream", [False, True])
def test_an_unknown_model(client: OpenAI, stream: bool) -> None:
    with pytest.raises(NotFoundError, match="The model `gpt-0` does not exist") as caught:
        client.responses.create(model="gpt-0", input=QUESTION, stream=stream)
    assert (caught.value.code, caught.value.param) == ("model_not_found", "model")


BAD: dict[str, tuple[bytes | dict[str, Any], str | None, str | None]] = {
    "no JSON": (b'{"model": ', None, None),
    "no object": (b"[]", None, None),
    "no model": ({"model": None}, "missing_required_parameter", "model"),
    "model": ({"model": 1}, "invalid_type", "model"),
    "no input": ({"input": None}, "missing_required_parameter", "input"),
    "input": ({"input": {"role": "user"}}, "invalid_type", "input"),
    "no item": ({"input": []}, "empty_array", "input"),
    "item": ({"input": ["Hi"]}, "invalid_type", "input[0]"),
    "type of an item": ({"input": [{"type": ["message"]}]}, "invalid_type", "input[0].type"),
    "no role": ({"input": [{"content": "Hi"}]}, "missing_required_parameter", "input[0].role"),
    "content": ({"input": [{"role": "user", "content": 1}]}, "invalid_type", "input[0].content"),
    "part": ({"input": [{"role": "user", "content": [1]}]}, "invalid_type", "input[0].content[0]"),
    "instructions": ({"instructions": ["Hi"]}, "invalid_type", "instructions"),
    "stream": ({"stream": "yes"}, "invalid_type", "stream"),
    "store": ({"store": 1}, "invalid_type", "store"),
    "max_output_tokens": ({"max_output_tokens": "9"}, "invalid_type", "max_output_tokens"),
    "small max_output_tokens": ({"max_output_tokens": 0}, "integer_out_of_range", "max_output_tokens"),
    "stream_options": ({"stream_options": {}}, None, "stream_options"),
    "include_obfuscation": (
        {"stream": True, "stream_options": {"include_obfuscation": 1}},
        "invalid_type",
        "include_obfuscation",
    ),
}


@pytest.mark.parametrize(("body", "code", "param"), BAD.values(), ids=BAD)
def test_a_bad_request(running: Server, body: bytes | dict[str, Any], code: str | None, param: str | None) -> None:
    fields = {"model": "english", "input": QUESTION}
    sent = body if isinstance(body, bytes) else json.dumps({**fields, **body}).encode()
    check_refusal(*send(running, "POST", "", sent), code=code, param=param)


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("stream=yes", "stream"),
        ("stream=1", "stream"),
        ("stream=true&starting_after=-1", "starting_after"),
        ("stream=true&starting_after=", "starting_after"),
        ("stream=true&starting_after=1.5", "starting_after"),
        ("stream=true&starting_after=%D9%A1", "starting_after"),  # an Arabic digit
        ("stream=true&starting_after=" + "9" * 5000, "starting_after"),
        ("starting_after=x", "starting_after"),
    ],
    ids=lambda value: value[:40],
)
def test_a_bad_query(running: Server, query: str, param: str) -> None:
    id = json.loads(post(running, "empty"))["id"]
    check_refusal(*send(running, "GET", f"/{id}?{query}"), code="invalid_type", param=param)


def check_refusal(response: HTTPResponse, body: bytes, *, code: str | None, param: str | None) -> None:
    error = json.loads(body)["error"]
    assert response.status == 400
    assert error.pop("message")
    assert error == {"type": "invalid_request_error", "param": param, "code": code}


def test_what_an_input_may_be_is_said(running: Server) -> None:
    _, body = send(running, "POST", "", json.dumps({"model": "english", "input": 1}).encode())
    message = json.loads(body)["error"]["message"]
    assert message == "Invalid type for 'input': expected str or list, but got int instead."


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "", 405), ("POST", "/resp_0", 405)])
def test_what_is_not_served(running: Server, method: str, path: str, status: int) -> None:
    response, body = send(running, method, path)
    assert response.status == status
    assert json.loads(body)["error"]["type"] == "invalid_request_error"
