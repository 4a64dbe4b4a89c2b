"""`streamcite.testing`: the recorded answers are sound, and the server streams them as OpenAI would."""

import asyncio
import json
import logging
import re
import socket
import subprocess
import sys
import threading
from contextlib import closing
from http.client import HTTPConnection, HTTPResponse, IncompleteRead
from importlib import resources
from typing import Any
from urllib.parse import urlsplit

import anyio
import pytest
import uvicorn
from hypothesis import given
from hypothesis import strategies as st
from openai import NotFoundError, OpenAI
from openai.types.chat import ChatCompletionUserMessageParam

from streamcite import Citation, Malformed, clean, parse
from streamcite.testing import RecordedAnswer, Server, app, recorded_answers, serve, server, token_deltas
from tests.clients import new_async_client, new_client
from tests.http_peer import request
from tests.markers import MARKER

PIECES = ["\ue200", "cite", "\ue202", "turn", "0", "file", "1", "\ue202", "L", "8", "-L", "13", "\ue201"]
ASK: list[ChatCompletionUserMessageParam] = [{"role": "user", "content": "How long may I stay?"}]
ANSWERS = recorded_answers()

every_answer = pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
any_text = st.text(st.characters() | st.sampled_from("\ue200\ue201\ue202 \r\n\tAbcé019-_.。、かな漢字한글🚀️‍"))


def send(running: Server, method: str, path: str, body: bytes | None = None) -> tuple[HTTPResponse, bytes]:
    return request(running.base_url.removesuffix("/v1") + path, method, body)


def post(running: Server, **fields: Any) -> tuple[HTTPResponse, bytes]:
    return send(running, "POST", "/v1/chat/completions", json.dumps({"messages": ASK, **fields}).encode())


def frames(body: bytes) -> list[Any]:
    """The data of every frame of a stream, which must end with [DONE] and nothing else."""
    *data, done, rest = body.decode().split("\n\n")
    assert (done, rest) == ("data: [DONE]", "")
    return [json.loads(frame.removeprefix("data: ")) for frame in data]


# The cutting of a text


@given(any_text)
def test_deltas_joined_are_the_text(text: str) -> None:
    deltas = token_deltas(text)
    assert "".join(deltas) == text
    assert all(0 < len(delta) <= 32 for delta in deltas)


@given(any_text, any_text)
def test_a_line_citation_streams_in_thirteen_pieces_wherever_it_stands(before: str, after: str) -> None:
    deltas = token_deltas(before + MARKER + after)
    start = next(index for index in range(len(deltas)) if "".join(deltas[:index]) == before)
    assert deltas[start : start + 13] == PIECES


@pytest.mark.parametrize(
    "deltas",
    [
        ["Hello", ",", " world", "!"],
        ["In", " ", "202", "6", ",", " ", "12", " %"],
        ["see", " [", "1", "].", " Don", "'t", " (", "now", ")"],
        ["   ", " def", " f", "_name", "(x", "):\n", "       ", " return", " x"],
        ["|", " a", " |", " ---", " |"],
        ["梅干", "しを", "漬け", "る", "。\n\n", "次"],
        ["**", "Yes", "**", " 🚀", "👩", "\u200d", "💻", "."],
    ],
    ids="".join,
)
def test_cuts(deltas: list[str]) -> None:
    assert token_deltas("".join(deltas)) == deltas


# The recorded answers


def test_there_is_an_answer_of_each_kind() -> None:
    assert list(ANSWERS) == ["english", "japanese", "technical"]
    assert len(clean(ANSWERS["english"].text).split()) >= 300
    japanese = clean(ANSWERS["japanese"].text)
    assert len(re.findall(r"[\u3040-\u30ff\u4e00-\u9fff]", japanese)) >= 600
    technical = clean(ANSWERS["technical"].text)
    prose = re.sub(r"```python\n.*?\n```", "", technical, flags=re.DOTALL)
    assert len(prose.split()) >= 300
    assert len(prose) < len(technical)
    assert re.search(r"^\|[-:|]+\|$", technical, re.MULTILINE)
    assert len(re.findall("[\U0001f300-\U0001faff]", technical)) >= 5


@every_answer
def test_an_answer_cites_much_and_in_every_form(answer: RecordedAnswer) -> None:
    citations = [event for event in parse(answer.text, complete=True) if isinstance(event, Citation)]
    assert len(citations) >= 10
    assert sum(len(set(citation.source_ids)) > 1 for citation in citations) >= 2
    assert sum(bool(re.fullmatch(r"L\d+\D+\d+", citation.locator or "")) for citation in citations) >= 3
    assert any(citation.locator is None for citation in citations)
    assert {source_id for citation in citations for source_id in citation.source_ids} == set(answer.sources)


@pytest.mark.parametrize(
    ("model", "reasons", "repaired"),
    [
        ("english", ["bad_source_id", "no_source"], ["turn1file0\ue202L5"]),
        ("japanese", ["stray_stop", "bad_source_id"], ["turn1search0\ue202L2"]),
        ("technical", ["empty", "unclosed"], ["turn0file2\ue202L6-L7"]),
    ],
)
def test_two_markers_are_malformed_and_one_can_be_repaired(model: str, reasons: list[str], repaired: list[str]) -> None:
    events = parse(ANSWERS[model].text, complete=True)
    assert sorted(event.reason for event in events if isinstance(event, Malformed)) == sorted(reasons)
    raws = [event.raw for event in events if isinstance(event, Citation) and event.repaired]
    assert raws == ["\ue200cite\ue202" + references for references in repaired]


@every_answer
def test_what_is_cited_exists(answer: RecordedAnswer) -> None:
    for event in parse(answer.text, complete=True):
        for reference in event.references if isinstance(event, Citation) else ():
            lines = answer.sources[reference.source_id].text.split("\n")
            if reference.locator:
                first, *last = map(int, re.findall(r"\d+", reference.locator))
                cited = lines[first - 1 : last[0] if last else first]
                assert 1 <= first <= (last or [first])[0] <= len(lines), event
                assert all(cited), event


@every_answer
def test_sources_are_whole(answer: RecordedAnswer) -> None:
    assert answer.question
    for name, source in answer.sources.items():
        assert source.id == name
        assert re.fullmatch(r"turn[01](file|search)\d", name)
        assert source.title
        assert re.match(r"https://example\.(org|com)/", source.url or "")


@every_answer
def test_markers_stand_where_the_guide_wants_them(answer: RecordedAnswer) -> None:
    outside_code = re.sub(r"```python\n.*?\n```\n", "", answer.text, flags=re.DOTALL)
    assert outside_code.count("\ue200") == answer.text.count("\ue200")
    before = {answer.text[match.start() - 1] for match in re.finditer("\ue200", answer.text)}
    assert before <= set(".:。\ue201\ue202")  # after punctuation, another marker or, malformed by design, inside one


def test_the_files_can_be_read_in_an_editor() -> None:
    files = {
        file.name: file.read_text("utf-8") for file in (resources.files("streamcite.testing") / "answers").iterdir()
    }
    assert sorted(files) == [f"{name}.json" for name in ANSWERS]
    for text in files.values():
        assert re.search("[\ue000-\uf8ff]", text) is None
        assert r"\ue200cite\ue202" in text


def test_recorded_answers_are_read_only_and_values() -> None:
    answer = RecordedAnswer(id="mine", text="A b")
    assert answer == RecordedAnswer(id="mine", text="A b", deltas=("A", " b"))
    assert {answer, RecordedAnswer(id="mine", text="A b")} == {answer}
    with pytest.raises(TypeError):
        recorded_answers()["english"] = answer  # type: ignore[index]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"id": 5}, "id: must be a str, not 5"),
        ({"id": None}, "id: must be a str, not None"),
        ({"text": b"x"}, "text: must be a str, not b'x'"),
        ({"reasoning": None}, "reasoning: must be a str, not None"),
        ({"deltas": 5}, "deltas: must be strings, not 5"),
        ({"deltas": ("x", 5)}, "deltas: must be strings, not 5"),
    ],
    ids=str,
)
def test_a_recorded_answer_of_a_wrong_type_is_misuse(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        RecordedAnswer(**{"id": "x", "text": "x", **fields})


def test_a_wrong_recorded_answer_is_misuse() -> None:
    with pytest.raises(ValueError, match=r"^id: must be a non-empty string, not ''$"):
        RecordedAnswer(id="", text="x")
    with pytest.raises(ValueError, match=r"^deltas: must be the text when"):
        RecordedAnswer(id="x", text="ab", deltas=("a", "c"))


# What it serves


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


# Its life


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "streamcite.testing"]


def test_two_servers_at_once_and_nothing_left_of_them(recorded: Server) -> None:
    running_before = threads()
    text = f"Own words.{MARKER} And more."
    with serve(text) as one, serve([RecordedAnswer(id="mine", text="Yes.")]) as two:
        assert one.base_url != two.base_url
        assert (list(one.answers), list(two.answers)) == (["answer"], ["mine"])
        for running, model, whole in ((one, "answer", text), (two, "mine", "Yes.")):
            with new_client(running.base_url) as client:
                completion = client.chat.completions.create(model=model, messages=ASK)
                assert completion.choices[0].message.content == whole
        assert len(threads()) == len(running_before) + 2
    assert threads() == running_before
    for running in (one, two):
        with pytest.raises(ConnectionRefusedError):
            send(running, "GET", "/v1/models")
    assert send(recorded, "GET", "/v1/models")[0].status == 200


def test_a_stream_that_is_open_at_the_end_is_cut() -> None:
    body = json.dumps({"model": "answer", "messages": ASK, "stream": True}).encode()
    with serve("Never said.", pace=3600) as running:
        connection = HTTPConnection(urlsplit(running.base_url).netloc, timeout=10)
        connection.request("POST", "/v1/chat/completions", body)
        response = connection.getresponse()
        assert b'"role":"assistant"' in response.readline()
    with closing(connection), pytest.raises((IncompleteRead, ConnectionError)):
        response.read()


@pytest.mark.parametrize("end", ["the client leaves", "the server stops"])
def test_half_a_request_is_not_an_error_of_the_server(caplog: pytest.LogCaptureFixture, end: str) -> None:
    request = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 99\r\nexpect: 100-continue\r\n\r\n"
    with serve("Never said.") as running:
        client = socket.create_connection((urlsplit(running.base_url).hostname, urlsplit(running.base_url).port), 10)
        client.sendall(request)
        assert client.recv(100).startswith(b"HTTP/1.1 100 ")  # the server reads the body
        client.sendall(b'{"model": ')
        if end == "the client leaves":
            client.close()
    client.close()
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_a_block_that_raises_stops_the_server() -> None:
    running_before = threads()
    with pytest.raises(KeyError, match="mine"), serve():
        raise KeyError("mine")
    assert threads() == running_before


@pytest.mark.anyio
async def test_streams_at_once(anyio_backend: str) -> None:
    texts: dict[int, str] = {}
    with serve(pace=0.0001) as running:
        async with new_async_client(running.base_url) as client, anyio.create_task_group() as group:

            async def read(number: int) -> None:
                stream = await client.chat.completions.create(
                    model="japanese", messages=ASK, stream=True, max_tokens=99
                )
                texts[number] = "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

            for number in range(5):
                group.start_soon(read, number)
    assert texts == dict.fromkeys(range(5), "".join(ANSWERS["japanese"].deltas[:99]))


@pytest.mark.parametrize("pace", [-0.1, float("nan"), float("inf")])
def test_a_wrong_pace_is_misuse(pace: float) -> None:
    with pytest.raises(ValueError, match=r"^pace: must be a finite number of seconds from 0, not "), serve(pace=pace):
        pass


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"answers": 5}, "answers: must be a text or an iterable of RecordedAnswer, not int"),
        ({"answers": ["x"]}, "answers: must be a text or an iterable of RecordedAnswer, not of str"),
        ({"answers": {"x": "y"}}, "answers: must be a text or an iterable of RecordedAnswer, not of str"),
        ({"answers": b"x"}, "answers: must be a text or an iterable of RecordedAnswer, not of int"),
        ({"pace": "1"}, "pace: must be a number of seconds, not '1'"),
        ({"pace": None}, "pace: must be a number of seconds, not None"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_arguments_of_a_wrong_type_are_misuse(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=f"^{re.escape(message)}"), serve(**arguments):
        pass


def test_wrong_answers_are_misuse() -> None:
    one, other = RecordedAnswer(id="same", text="one"), RecordedAnswer(id="same", text="other")
    with (
        pytest.raises(ValueError, match=r"^answers: must have different ids, not two times 'same'$"),
        serve([one, other]),
    ):
        pass
    with pytest.raises(ValueError, match=r"^answers: must be one or more, not none$"), serve([]):
        pass


@pytest.mark.parametrize("error", [OSError("no sockets today"), SystemExit(3)], ids=repr)
def test_a_start_that_fails_is_reported(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    async def startup(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(uvicorn.Server, "startup", startup)
    running_before = threads()
    with pytest.raises(RuntimeError, match="the test server failed") as caught, serve():
        pass
    assert caught.value.__cause__ is error
    assert threads() == running_before


@pytest.mark.parametrize(("phase", "limits"), [("startup", ["_START", "_STOP"]), ("shutdown", ["_STOP"])])
def test_a_start_or_stop_that_hangs_is_reported(monkeypatch: pytest.MonkeyPatch, phase: str, limits: list[str]) -> None:
    running_before = set(threads())
    released = threading.Event()
    original = getattr(uvicorn.Server, phase)

    async def hang(*arguments: Any, **options: Any) -> None:
        await asyncio.to_thread(released.wait)
        await original(*arguments, **options)

    monkeypatch.setattr(uvicorn.Server, phase, hang)
    for limit in limits:
        monkeypatch.setattr(server, limit, 0)  # what hangs until it is released is too late after any time
    what = "start" if phase == "startup" else "stop"
    with pytest.raises(RuntimeError, match=f"the test server did not {what} within 0 seconds"), serve():
        pass
    left = set(threads()) - running_before
    assert len(left) == 1
    released.set()
    for thread in left:
        thread.join(10)
        assert not thread.is_alive()


@pytest.mark.parametrize("package", ["starlette", "uvicorn"])
def test_without_the_extra_the_error_names_it(package: str) -> None:
    program = """
import sys

class Missing:
    def find_spec(self, name, *_):
        if name == sys.argv[1]:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
import streamcite.testing
"""
    done = subprocess.run([sys.executable, "-c", program, package], capture_output=True, text=True, check=False)
    last = done.stderr.splitlines()[-1]
    assert last.endswith(f'{package} is not installed; streamcite.testing needs it: pip install "streamcite[testing]"')


def test_one_answer_is_served_as_it_is() -> None:
    with serve(ANSWERS["english"]) as server:
        assert server.answers == {"english": ANSWERS["english"]}
