"""ASGI applications, called as a server would call them, and behind a real one on the loopback."""

import socket
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

import anyio

from streamcite.testing import server
from tests.processes import PATIENCE

Message = MutableMapping[str, Any]
App = Callable[[Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]]


class Client:
    """One request in the process, by a client that takes what comes until it is told not to.

    Attributes:
        received: the messages that were taken.
        reads: cleared, it takes nothing.
        leave: set, it leaves.
        told: whether the server raises where the client has left, as the specification says, or not, as most do.
    """

    def __init__(self, method: str = "GET", *, told: bool = False) -> None:
        self.scope: Message = {"type": "http", "method": method, "path": "/", "headers": [], "query_string": b""}
        self.received: list[Message] = []
        self.leave = anyio.Event()
        self.told = told
        self.waits_for: Callable[[Client], bool] = lambda _: False
        self._go = anyio.Event()
        self._come = anyio.Event()

    def go_on(self) -> None:
        """Take again what comes."""
        self.waits_for = lambda _: False
        self._go.set()

    async def until(self, what: Callable[["Client"], bool]) -> None:
        """Wait until a message came after which something is so."""
        with anyio.fail_after(PATIENCE):
            while not what(self):
                self._come = anyio.Event()
                await self._come.wait()

    async def receive(self) -> Message:
        if not self.received:
            return {"type": "http.request", "body": b"", "more_body": False}
        await self.leave.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if self.waits_for(self):
            await self._go.wait()
        if self.leave.is_set():
            if self.told:
                raise OSError("left")
            return
        self.received.append(message)
        self._come.set()

    async def call(self, app: App) -> None:
        await app(self.scope, self.receive, self.send)

    @property
    def bodies(self) -> list[bytes]:
        return [message["body"] for message in self.received if message["type"] == "http.response.body"]

    @property
    def body(self) -> bytes:
        return b"".join(self.bodies)

    @property
    def ended(self) -> bool:
        return bool(self.received) and self.received[-1].get("more_body") is False


@contextmanager
def run_app(app: App) -> Iterator[str]:
    """Run a server as long as a block runs, and give its URL."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with server._running(server._Uvicorn(app), listener):
            yield f"http://127.0.0.1:{port}/"
