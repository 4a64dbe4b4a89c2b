"""Answers that survive a reload as responses: in the process, and from two servers that share a Redis."""

import json
import logging
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, get_args
from urllib.parse import urlsplit

import anyio
import pytest

from streamcite import Source, parse
from streamcite.sse import SSEDecoder
from streamcite.ui.native import NativeEncoder
from streamcite.ui.protocol import ProtocolName, new_encoder
from streamcite.ui.resumable import Resumable
from streamcite.ui.store import MemoryStore, StoreFull, StoreUnavailable
from tests.asgi import Client
from tests.http_peer import request
from tests.markers import cite
from tests.processes import ENVIRONMENT, PATIENCE
from tests.redis_server import RedisServer, connected, run_redis
from tests.resumable_app import LASTING
from tests.stores import TEXTS, Answer, frames_of

CHECKOUT = Path(__file__).parents[1]
LAST = frames_of(TEXTS)[-1]


async def get(answers: Resumable, key: str, **options: str) -> tuple[int, bytes]:
    client = Client()
    with anyio.fail_after(PATIENCE):
        await client.call(await answers.response(key, **options))
    assert client.ended
    return client.received[0]["status"], client.body


def logged(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.name.startswith("streamcite")]


@pytest.mark.anyio
async def test_an_answer_as_a_response() -> None:
    texts = TEXTS[:5]
    async with Resumable() as answers:
        assert await answers.start("a", Answer(texts))
        assert not await answers.start("a", Answer(texts))
        assert await get(answers, "a") == (200, b"".join(frames_of(texts)))
        assert await get(answers, "a", last_event_id="") == (200, b"".join(frames_of(texts)))
        for number in range(len(frames_of(texts)) - 1):
            assert await get(answers, "a", last_event_id=str(number)) == (200, b"".join(frames_of(texts)[number + 1 :]))
        assert await get(answers, "a", last_event_id=str(len(frames_of(texts)) - 1)) == (204, b"")
        assert (await get(answers, "a", last_event_id="999"))[0] == 404
        assert (await get(answers, "b"))[0] == 404
        for bad in ("-1", "x", "1.0", "٣", "9" * 16):
            assert (await get(answers, "a", last_event_id=bad))[0] == 400


@pytest.mark.anyio
async def test_citations_are_resolved() -> None:
    sources = {"t1": Source("t1", "Some text.", title="A title")}
    async with Resumable(protocol=NativeEncoder) as answers:
        await answers.start("a", parse(f"Yes.{cite('t1')}"), sources=sources)
        _, body = await get(answers, "a")
    cited = [json.loads(event.data) for event in SSEDecoder().feed(body) if event.event == "cited"]
    assert [link["source"]["title"] for event in cited for link in event["links"]] == ["A title"]


@pytest.mark.anyio
@pytest.mark.parametrize("protocol", get_args(ProtocolName))
async def test_every_protocol_is_replayed_and_ended(protocol: ProtocolName) -> None:
    async with Resumable(protocol=protocol) as answers:
        await answers.start("a", Answer(TEXTS[:5]))
        first = await get(answers, "a")
        assert first == await get(answers, "a")
        assert "word 4, " in first[1].decode()
    store, encoder = MemoryStore(lease=0.1), new_encoder(protocol)
    async with Resumable(store, protocol=protocol) as answers:
        frames = [*encoder.feed([]), *encoder.feed(["And then "])]
        await store.begin("b", "dies")
        await store.append("b", "dies", 0, frames)
        status, body = await get(answers, "b")
    assert status == 200
    assert body.startswith(b"".join(frames))
    assert body != b"".join(frames)


@pytest.mark.anyio
async def test_the_end_of_the_block_ends_the_answers(caplog: pytest.LogCaptureFixture) -> None:
    store, answer = MemoryStore(), Answer(pause=0.01)
    with pytest.raises(ZeroDivisionError):  # noqa: PT012  # as it is, and in no group
        async with Resumable(store) as answers:
            await answers.start("a", answer)
            await anyio.sleep(0.05)
            raise ZeroDivisionError
    assert answer.closed
    with pytest.raises(RuntimeError, match="outside the block"):
        await answers.start("b", answer)
    with pytest.raises(RuntimeError, match="has not begun"):
        await answers.__aexit__(None, None, None)
    status, body = await get(answers, "a")
    assert status == 200
    assert body.endswith(b'data: {"complete":false,"error":"The answer broke off."}\n\n')
    assert not logged(caplog)


@pytest.mark.anyio
async def test_an_error_is_logged_and_reported(caplog: pytest.LogCaptureFixture) -> None:
    async with Resumable(on_error=lambda error: f"Sorry: {error}") as answers:
        await answers.start("a", Answer(["A"], error=OSError("reset")))
        assert b'"error":"Sorry: reset"' in (await get(answers, "a"))[1]
        with anyio.fail_after(PATIENCE):
            while not logged(caplog):  # noqa: ASYNC110  # a record sets no event
                await anyio.sleep(0.01)
    (record,) = logged(caplog)
    assert record.levelno == logging.ERROR
    assert record.getMessage() == "a: the answer broke off"
    assert record.exc_info


@pytest.mark.anyio
async def test_what_reports_an_error_may_fail_itself(caplog: pytest.LogCaptureFixture) -> None:
    def fail(_: Exception) -> str:
        raise KeyError

    async with Resumable(on_error=fail) as answers:
        await answers.start("a", Answer(["A"], error=OSError("reset")))
        assert (await get(answers, "a"))[1].endswith(b'{"complete":false,"error":"The answer broke off."}\n\n')
        with anyio.fail_after(PATIENCE):
            while not logged(caplog):  # noqa: ASYNC110  # a record sets no event
                await anyio.sleep(0.01)
    assert "OSError: reset\non_error failed: KeyError()" in caplog.text


@pytest.mark.anyio
async def test_who_starts_an_answer_hears_of_a_store_that_fails() -> None:
    answer = Answer()
    async with Resumable(MemoryStore(max_streams=1)) as answers:
        await answers.start("a", Answer(pause=1))
        with pytest.raises(StoreFull):
            await answers.start("b", answer)
        assert answer.closed


@pytest.mark.anyio
async def test_an_answer_that_is_expired_is_over(caplog: pytest.LogCaptureFixture) -> None:
    answer = Answer(pause=0.01)
    async with Resumable() as answers:
        await answers.start("a", answer)
        await answers.store.expire("a")
        with anyio.fail_after(PATIENCE):
            await answer.done.wait()
        assert (await get(answers, "a"))[0] == 404
    assert not [record for record in logged(caplog) if record.levelno > logging.INFO]


@pytest.mark.anyio
async def test_a_store_that_cannot_be_reached(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def look(key: str) -> None:
        raise StoreUnavailable("away")

    store = MemoryStore(lease=0.1)
    monkeypatch.setattr(store, "look", look)
    async with Resumable(store) as answers:
        assert (await get(answers, "a"))[0] == 503
    assert [record.getMessage() for record in logged(caplog)] == ["a: cannot be read"]


@pytest.mark.parametrize("store", ["redis://localhost", 5, object()], ids=str)
def test_what_is_not_a_store_is_refused(store: Any) -> None:
    with pytest.raises(TypeError, match=rf"^store: must be a Store, .* not {type(store).__name__}$"):
        Resumable(store)


def test_a_protocol_for_many_answers() -> None:
    with pytest.raises(TypeError, match="one is for one answer"):
        Resumable(protocol=NativeEncoder())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="protocol: must be one of"):
        Resumable(protocol="none")  # type: ignore[arg-type]


class Process:
    """One of the servers."""

    def __init__(self, redis: RedisServer) -> None:
        self.redis = redis
        # The checkout last, as for the tests: the package is the installed one.
        program = f"import sys; sys.path.append({str(CHECKOUT)!r}); from tests.resumable_app import main; main()"
        command = [sys.executable, "-P", "-c", program, str(redis.path)]
        self.process = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE)

    def wait(self) -> None:
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().decode().strip()

    def close(self) -> None:
        self.process.kill()
        self.process.wait(PATIENCE)
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[Process, Process]]:
    with run_redis() as redis, ExitStack() as stack:
        both = Process(redis), Process(redis)
        for server in both:
            stack.callback(server.close)
        for server in both:
            server.wait()
        yield both


@contextmanager
def reading(url: str, key: str, last: int = -1) -> Iterator[socket.socket]:
    """Ask as a browser does, and leave the rest to the block."""
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port), timeout=PATIENCE) as connection:
        head = f"last-event-id: {last}\r\n" if last >= 0 else ""
        connection.sendall(f"GET /{key} HTTP/1.0\r\nhost: x\r\n{head}\r\n".encode())
        yield connection


def frames_in(received: bytes) -> list[bytes]:
    """The whole frames of a response, without comments."""
    _, _, body = received.partition(b"\r\n\r\n")
    return [frame + b"\n\n" for frame in body.split(b"\n\n")[:-1] if not frame.startswith(b":")]


def read(url: str, key: str, last: int = -1, *, most: int = 10**6) -> list[bytes]:
    """Read to the end, or until there are that many frames."""
    received = b""
    with reading(url, key, last) as connection:
        while piece := connection.recv(500):
            received += piece
            if len(frames_in(received)) >= most:
                break
    return frames_in(received)


def test_readers_come_late_and_leave_and_come_back_elsewhere(servers: tuple[Process, Process]) -> None:
    urls = [server.url for server in servers]
    assert request(f"{urls[0]}a", "POST")[1] == b'{"begun":true}'
    assert request(f"{urls[1]}a", "POST")[1] == b'{"begun":false}'

    def wander(number: int) -> list[bytes]:
        got: list[bytes] = []
        for visit in range(1000):
            url, enough = urls[(number + visit) % 2], 30 + 10 * number
            got += read(url, "a", len(got) - 1, most=enough)
            if got and got[-1] == LAST:
                break
        return got

    with reading(urls[1], "a") as silent, reading(urls[0], "a"), ThreadPoolExecutor(10) as pool:
        silent.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        slow = pool.submit(read_slowly, silent)
        outcomes = list(pool.map(wander, range(8)))
        assert outcomes == [frames_of(TEXTS)] * 8
        assert frames_in(slow.result(PATIENCE)) == frames_of(TEXTS)


def read_slowly(connection: socket.socket) -> bytes:
    """Read a few bytes at a time."""
    received = b""
    while piece := connection.recv(7):
        received += piece
        if len(received) < 700:
            anyio.run(anyio.sleep, 0.005)
    return received


def test_a_process_that_is_killed(servers: tuple[Process, Process]) -> None:
    """The last test of this file: the first server is gone then."""
    first, second = servers
    assert request(f"{first.url}lasting", "POST")[1] == b'{"begun":true}'
    with ThreadPoolExecutor(4) as pool:
        early = [pool.submit(read, second.url, "lasting") for _ in range(3)]
        read(second.url, "lasting", most=21)
        first.close()
        with connected(first.redis) as client:
            client.hset("streamcite:{lasting}:producer", "beat", "0")  # not heard of since
        got = read(second.url, "lasting")
        outcomes = [each.result(PATIENCE) for each in early]
    assert outcomes == [got] * 3
    assert got[:-1] == frames_of(LASTING)[: len(got) - 1]
    assert len(got) > 20
    assert re.search(rb'id: %d\ndata: {"complete":false,' % (len(got) - 1), got[-1])
