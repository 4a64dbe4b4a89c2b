"""Answers behind a real server on the loopback: clients that are slow, leave, or say no more; and real readers."""

import asyncio
import socket
import struct
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from io import BytesIO
from typing import Any
from urllib.parse import urlsplit

import pytest

from streamcite.links import ResolvedEvent
from streamcite.resolve import resolve
from streamcite.ui.ai_sdk import AISDKEncoder, ui_message
from streamcite.ui.asgi import MESSAGES_PER_TURN
from streamcite.ui.openai_chat import chat_completion
from streamcite.ui.openai_responses import model_response
from streamcite.ui.response import sse_response
from tests.asgi import Message, run_app
from tests.clients import new_client
from tests.markers import cite
from tests.processes import PATIENCE
from tests.readers import Reader, Readers, message_of, run_readers, without_parsed
from tests.rendering import SOURCES

WORDS = "x" * 1000
MANY = 20_000  # of them: more than all buffers between a server and a client hold


class Site:
    """An answer for each request, and what became of those that were given.

    Attributes:
        given: how many events were.
        closed: released once for each answer that was closed.
        tasks: how many tasks the server runs, asked for when an answer begins.
    """

    def __init__(self) -> None:
        self.url = ""
        self.closed = threading.Semaphore(0)
        self.events: Callable[[], AsyncIterator[ResolvedEvent]] = self.many
        self.options: dict[str, Any] = {"protocol": "ai-sdk"}
        self.given = 0
        self.loop: asyncio.AbstractEventLoop | None = None

    async def many(self) -> AsyncIterator[ResolvedEvent]:
        for _ in range(MANY):
            self.given += 1
            yield WORDS

    async def stopping(self) -> AsyncIterator[ResolvedEvent]:
        yield WORDS
        await asyncio.sleep(PATIENCE)

    async def _watched(self) -> AsyncIterator[ResolvedEvent]:
        events = self.events()
        try:
            async for event in events:
                yield event
        finally:
            await events.aclose()  # type: ignore[attr-defined]
            self.closed.release()

    async def __call__(self, scope: Message, receive: Any, send: Any) -> None:
        self.loop = asyncio.get_running_loop()
        await sse_response(self._watched(), **self.options)(scope, receive, send)

    def tasks(self) -> int:
        """Count the tasks of the server."""
        loop = self.loop
        assert loop is not None

        async def count() -> int:
            return len(asyncio.all_tasks())

        return asyncio.run_coroutine_threadsafe(count(), loop).result(PATIENCE)

    def rests(self) -> int:
        """Wait until the server has had many turns in which it gave nothing more, and say how many events were given.

        Turns are counted and not time alone, in which a machine that does other things may give the server none.
        """

        async def rest() -> int:
            before = -1
            while self.given != before:
                before = self.given
                for _ in range(50):
                    await asyncio.sleep(0.002)
            return before

        assert self.loop is not None
        return asyncio.run_coroutine_threadsafe(rest(), self.loop).result(PATIENCE)


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    with run_app(site) as site.url:
        yield site


def connect(site: Site, *, buffer: int | None = None) -> socket.socket:
    """Ask for an answer, and read nothing of it."""
    connection = socket.socket()
    connection.settimeout(PATIENCE)
    if buffer is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    connection.connect(("127.0.0.1", urlsplit(site.url).port))
    connection.sendall(b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
    return connection


def body_of(received: bytes) -> bytes:
    """Undo HTTP's chunks; all that is there must be whole."""
    reader = BytesIO(received)
    assert reader.readline().startswith(b"HTTP/1.1 200")
    while reader.readline() != b"\r\n":
        pass
    body = bytearray()
    while size := int(reader.readline(), 16):
        body += reader.read(size)
        assert reader.read(2) == b"\r\n"
    assert reader.read() == b"\r\n"
    return bytes(body)


def test_a_client_that_reads_nothing_stops_the_answer_and_then_gets_all_of_it(site: Site) -> None:
    with connect(site) as connection:
        received = b"".join(connection.recv(1) for _ in range(500))  # a byte at a time
        assert site.rests() < MANY  # the buffers are full when nothing more is read
        pieces = [received, *iter(lambda: connection.recv(1 << 20), b"")]
    body = body_of(b"".join(pieces))
    assert body.count(WORDS.encode()) == MANY
    assert body.endswith(b"data: [DONE]\n\n")
    assert site.closed.acquire(timeout=PATIENCE)


@pytest.mark.parametrize("way", ["reset", "close", "half-close"])
def test_a_client_that_leaves_leaves_nothing_behind(site: Site, way: str) -> None:
    site.events = site.stopping
    connections = [connect(site) for _ in range(10)]
    try:
        for connection in connections:
            received = b""
            while WORDS.encode() not in received:
                received += connection.recv(1 << 16)
        running = site.tasks()
        for connection in connections:
            if way == "reset":
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            if way == "half-close":
                connection.shutdown(socket.SHUT_WR)
            else:
                connection.close()
        assert all(site.closed.acquire(timeout=PATIENCE) for _ in connections)
    finally:
        for connection in connections:
            connection.close()
    # Each had the task of its request, and two of the response.
    while site.tasks() > running - 3 * len(connections):
        threading.Event().wait(0.01)


def test_a_client_that_leaves_while_it_reads_nothing_leaves_nothing_behind(site: Site) -> None:
    with connect(site, buffer=4096) as connection:
        connection.recv(1)
        before = site.rests()
    assert site.closed.acquire(timeout=PATIENCE)
    assert site.given <= before + MESSAGES_PER_TURN


# Real readers

TEXT = f"Ask the lead{cite('t1', 'L2-L3')}. Take 🎉 leave{cite('none')}{cite('x')}."
EVENTS = resolve(TEXT, SOURCES, complete=True)


@pytest.fixture(scope="module")
def read() -> Iterator[Readers]:
    with run_readers() as readers:
        yield readers


async def given() -> AsyncIterator[ResolvedEvent]:
    for event in EVENTS:
        await asyncio.sleep(0.002)
        yield event


@pytest.mark.parametrize("reader", ["ai6", "ai7"])
def test_the_ai_sdk_reads_it(site: Site, read: Readers, reader: Reader) -> None:
    site.events, site.options = given, {"protocol": AISDKEncoder(message_id="m"), "ping": 0.001}
    outcome = read(reader, url=site.url)
    message = ui_message(EVENTS, message_id="m")
    if reader == "ai6":
        for part in message["parts"]:
            part.pop("citations", None)
    assert (outcome["message"], outcome["errors"]) == (message, [])


def test_the_client_of_node_reads_it(site: Site, read: Readers) -> None:
    site.events, site.options = given, {"protocol": "openai-chat", "ping": 0.001}
    chat = message_of(read("chat-stream", url=site.url))
    assert chat == chat_completion(EVENTS)["choices"][0]["message"]
    site.options["protocol"] = "openai-responses"
    output = without_parsed(read("responses-stream", url=site.url))["output"]
    assert output[0]["content"] == model_response(EVENTS)["output"][0]["content"]


def test_the_client_of_python_reads_it(site: Site) -> None:
    site.events, site.options = given, {"protocol": "openai-chat", "ping": 0.001}
    with new_client(site.url) as client:
        with client.chat.completions.stream(model="m", messages=[]) as stream:
            message = stream.get_final_completion().to_dict(mode="json")
        assert message_of(without_parsed(message)) == chat_completion(EVENTS)["choices"][0]["message"]
        site.options["protocol"] = "openai-responses"
        with client.responses.stream(model="m", input="?") as responses:
            output = responses.get_final_response().to_dict(mode="json")["output"]
        assert without_parsed(output)[0]["content"] == model_response(EVENTS)["output"][0]["content"]
