"""Relays for tests: the application in a server of this process, or the command as a process of its own."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Thread
from typing import Any

import pytest
import uvicorn
from starlette.types import ASGIApp

from streamcite import Sources, render_blocks
from streamcite.relay.app import create_app
from streamcite.relay.config import RelayConfig
from streamcite.relay.protocol import LimitedProtocol
from streamcite.testing.server import _running, _Uvicorn
from tests.http_peer import request
from tests.processes import ENVIRONMENT, PATIENCE

# How a process of this package is started: where the package is found by a path, that counts too.
PROGRAM = [sys.executable, "-P", "-m", "streamcite", "relay"]
ENV = {**ENVIRONMENT, **{name: value for name, value in os.environ.items() if name == "PYTHONPATH"}}
LISTENS = re.compile(r"relay listening on (http://\S+:[1-9]\d*),")

SOURCES = Sources()
SOURCES.add_block("Open from nine to five.", title="Hours", url="https://example.org/hours")
SOURCES.add_block("Each member may bring one guest.", title="Rules")
SHOWN: Any = [
    {"role": "system", "content": f"Cite.\n\n{render_blocks(SOURCES)}"},
    {"role": "user", "content": "May I bring a friend?"},
]
ANSWER = "Yes, one.\ue200cite\ue202block2\ue201 Come before five.\ue200cite\ue202block1\ue201 \ue202 \U0001f680"
CLEAN = "Yes, one. Come before five.  \U0001f680"
PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses"}
every_api = pytest.mark.parametrize("name", PATHS)
ASKED: Any = {"model": "answer", "messages": SHOWN, "input": SHOWN, "stream": True}


class Served(_Uvicorn):
    """A relay in a thread of this process.

    Attributes:
        url: where it is.
    """

    loop: asyncio.AbstractEventLoop

    def __init__(self, app: ASGIApp, url: str, protocol: type[LimitedProtocol]) -> None:
        config = uvicorn.Config(
            app,
            http=protocol,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            timeout_graceful_shutdown=5,
            timeout_keep_alive=int(PATIENCE),
        )
        uvicorn.Server.__init__(self, config)
        self.settled = threading.Event()
        self.url = url
        self.base_url = f"{url}/v1"

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self.loop = asyncio.get_running_loop()
        await super().startup(sockets)

    def tasks(self) -> int:
        """Give how many tasks there are, that of the question not counted."""

        async def count() -> int:
            return len(asyncio.all_tasks()) - 1

        return asyncio.run_coroutine_threadsafe(count(), self.loop).result(PATIENCE)

    def pass_time(self, seconds: float) -> None:
        """Let its clock be so much later at once, so that a test waits for no limit of its."""

        async def pass_time() -> None:
            time = self.loop.time
            self.loop.time = lambda: time() + seconds  # type: ignore[method-assign]

        asyncio.run_coroutine_threadsafe(pass_time(), self.loop).result(PATIENCE)


@contextmanager
def relaying(
    upstream: str, *, max_head: int = 64 * 2**10, head_timeout: float = 20.0, **settings: Any
) -> Iterator[Served]:
    """Run a relay as long as a block runs."""
    limits: Any = {"max_head": max_head, "head_timeout": head_timeout}
    protocol = type("Limited", (LimitedProtocol,), dict(limits))
    app = create_app(RelayConfig(upstream=upstream, **limits, **settings))
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as listener:
        server = Served(app, f"http://127.0.0.1:{listener.getsockname()[1]}", protocol)
        with _running(server, listener):
            yield server


class Command:
    """The command, which runs. What it logs is gathered."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self.lines: list[str] = []
        self._url: Future[str] = Future()
        self._reader = Thread(target=self._read)
        self._reader.start()

    @property
    def url(self) -> str:
        return self._url.result(PATIENCE)

    def end(self, number: int = signal.SIGTERM) -> int:
        """Tell it to end, and give its status."""
        self.process.send_signal(number)
        return self.wait()

    def wait(self) -> int:
        status = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        return status

    def close(self) -> None:
        self.process.kill()
        self.wait()

    def _read(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as output:
            for line in output:
                self.lines.append(line)
                if (found := LISTENS.search(line)) and not self._url.done():
                    self._url.set_result(found[1])
        if not self._url.done():
            self._url.set_exception(ChildProcessError("".join(self.lines)))


@contextmanager
def command(*arguments: str) -> Iterator[Command]:
    """Run the command as long as a block runs."""
    # A test run in the background ignores the interrupt key, and what it starts would do so too.
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(
            [*PROGRAM, "--port", "0", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            env=ENV,
        )
    finally:
        signal.signal(signal.SIGINT, previous)
    running = Command(process)
    try:
        yield running
    finally:
        running.close()


def post(relay: Served, path: str, value: Any, **headers: str) -> tuple[Any, bytes]:
    """Post JSON, or bytes as they are, and give the response and its body."""
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    headers = {name.replace("_", "-"): each for name, each in headers.items()}
    return request(f"{relay.url}{path}", "POST", data, **{"content-type": "application/json", **headers})
