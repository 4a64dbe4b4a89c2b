"""What a relay has of an answer that is cut before all that came of it was read."""

import asyncio

import pytest

from streamcite.relay.config import RelayConfig
from streamcite.relay.upstream import CutError, Upstream
from tests.processes import PATIENCE

HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"transfer-encoding: chunked\r\n\r\n"
# What is sent, and the body that there is of it.
SENT = {
    CHUNKED + b"3\r\nOne\r\n5\r\n, two\r\n": b"One, two",
    CHUNKED + b"99\r\nOne, tw": b"One, tw",
    CHUNKED: b"",
    HEAD + b"content-length: 99\r\n\r\nOne": b"One",
}


def pass_time(seconds: float) -> None:
    loop = asyncio.get_running_loop()
    time = loop.time
    loop.time = lambda: time() + seconds  # type: ignore[method-assign]


async def read_late(end: str, sent: bytes, asked: asyncio.Barrier) -> bytes:
    """Give what is read of an answer when it has been cut, as for a client that is slow."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(sent)
        await writer.drain()
        if end == "reset":
            await asyncio.sleep(0.05)
            writer.transport.abort()
        elif end == "stalled":
            await reader.read()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    got = b""
    config = RelayConfig(upstream=url, read_timeout=PATIENCE)
    async with Upstream(config) as upstream:
        found = await upstream.ask("POST", "/", b"", [], b"", decoded=True)
        await asked.wait()
        await asyncio.sleep(0.5)
        if end == "stalled":
            pass_time(2 * PATIENCE)
        with pytest.raises(CutError):  # noqa: PT012  # after all that came
            while data := await found.next():
                got += data
        found.close()
    server.close()
    return got


@pytest.mark.asyncio
@pytest.mark.parametrize("end", ["closed", "reset", "stalled"])
async def test_what_came_before_a_cut_is_given(end: str) -> None:
    asked = asyncio.Barrier(len(SENT))
    assert await asyncio.gather(*(read_late(end, sent, asked) for sent in SENT)) == [*SENT.values()]
