"""`streamcite.testing`: the life of its server, and mistakes in the program that starts it."""

import asyncio
import json
import logging
import re
import socket
import subprocess
import sys
import threading
import time
from contextlib import closing
from http.client import HTTPConnection, IncompleteRead
from typing import Any
from urllib.parse import urlsplit

import anyio
import pytest
import uvicorn

from streamcite.testing import RecordedAnswer, Server, serve, server
from tests.asgi import Message, run_app
from tests.clients import new_async_client, new_client
from tests.markers import MARKER
from tests.processes import PATIENCE
from tests.recorded import ANSWERS, ASK, send


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
        connection = HTTPConnection(urlsplit(running.base_url).netloc, timeout=PATIENCE)
        connection.request("POST", "/v1/chat/completions", body)
        response = connection.getresponse()
        assert b'"role":"assistant"' in response.readline()
    with closing(connection), pytest.raises((IncompleteRead, ConnectionError)):
        response.read()


@pytest.mark.parametrize("end", ["the client leaves", "the server stops"])
def test_half_a_request_is_not_an_error_of_the_server(caplog: pytest.LogCaptureFixture, end: str) -> None:
    request = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 99\r\nexpect: 100-continue\r\n\r\n"
    with serve("Never said.") as running:
        client = socket.create_connection(
            (urlsplit(running.base_url).hostname, urlsplit(running.base_url).port), PATIENCE
        )
        client.sendall(request)
        assert client.recv(100).startswith(b"HTTP/1.1 100 ")  # the server reads the body
        client.sendall(b'{"model": ')
        if end == "the client leaves":
            client.close()
    client.close()
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_a_client_may_pause_between_two_requests() -> None:
    async def app(scope: Message, receive: Any, send: Any) -> None:
        loop = asyncio.get_running_loop()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body"})
        time = loop.time
        # Some minutes later. What is due then has its turn before the server hears more.
        loop.call_soon(lambda: setattr(loop, "time", lambda: time() + 300))

    with run_app(app) as url, closing(HTTPConnection(urlsplit(url).netloc, timeout=PATIENCE)) as connection:
        connection.connect()
        connection.auto_open = 0  # but not by another connection
        for _ in range(3):
            connection.request("GET", "/")
            assert connection.getresponse().read() == b""
            time.sleep(0.05)


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
        thread.join(PATIENCE)
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
    done = subprocess.run([sys.executable, "-P", "-c", program, package], capture_output=True, text=True, check=False)
    last = done.stderr.splitlines()[-1]
    assert last.endswith(f'{package} is not installed; streamcite.testing needs it: pip install "streamcite[testing]"')


def test_one_answer_is_served_as_it_is() -> None:
    with serve(ANSWERS["english"]) as server:
        assert server.answers == {"english": ANSWERS["english"]}
