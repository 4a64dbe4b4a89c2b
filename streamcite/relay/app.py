"""The relay as an ASGI application: a request in, sent on; the answer back, cleaned where it is one of a model.

A body passes as it comes, in both directions, and each side waits for the other: nothing is gathered but requests that
may hold sources, and answers that are not a stream.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any, TypeAlias

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from .after import from_the_beginning
from .answers import Answers, Wanted
from .asked import Asked, read_request
from .config import RelayConfig
from .headers import FINDINGS, Header, length_conflict, to_upstream, value_of
from .incoming import BodyTooLarge, ClientLeft, Incoming, SlowBody
from .memory import Memory
from .metrics import CONTENT_TYPE, Metrics
from .outgoing import Outgoing, RelayCut
from .quiet import NoCuts, leave_out
from .target import Target, target_of
from .upstream import CutError, Fault, NoAnswerError, Upstream

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]

log: logging.Logger = logging.getLogger("streamcite.relay")

# A body of more bytes is read in a thread, so that no other stream waits for that.
_MUCH = 2**18
# What a client is told that gets no answer.
_FAULTS: dict[Fault, tuple[int, str, str]] = {
    "unreachable": (502, "The upstream cannot be reached.", "upstream_unreachable"),
    "timeout": (504, "The upstream took too long to answer.", "upstream_timeout"),
    "invalid": (502, "The upstream's answer cannot be sent on.", "upstream_invalid"),
}
_NO_WEBSOCKETS = "WebSockets are not relayed; use HTTP, and stream the answer."


class Relay:
    """Relay the requests of OpenAI's clients, and clean the answers.

    It is an ASGI application. ``/healthz`` says that it runs, ``/metrics`` what it counted; every other path goes to
    the upstream.

    Args:
        config: what it does.
    """

    def __init__(self, config: RelayConfig) -> None:
        self.metrics: Metrics = Metrics()
        self._config = config
        self._memory = Memory(config.remember)
        self._answers = Answers(config, self._memory, self.metrics)
        self._upstream: Upstream | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or the application's life."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "websocket":
            await _refuse_websocket(receive, send)
        else:
            await self._serve(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        async with Upstream(self._config) as upstream:
            self._upstream = upstream
            await send({"type": "lifespan.startup.complete"})
            await receive()
            self._upstream = None
        await send({"type": "lifespan.shutdown.complete"})

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        outgoing = Outgoing(send, head_only=scope["method"] == "HEAD")
        path = scope.get("raw_path", scope["path"].encode()).decode("ascii", "replace")
        if path == "/healthz":
            await outgoing.give(200, b"ok\n", "text/plain")
            return
        if path == "/metrics":
            await outgoing.give(200, self.metrics.text(), CONTENT_TYPE)
            return
        if self._upstream is None:
            raise RuntimeError("the relay was not started: its server must support ASGI's lifespan")
        begin = time.perf_counter()
        target = target_of(scope["method"], path, self._upstream.prefix)
        api = (target and target.api) or "none"
        try:
            if target is None:
                await outgoing.refuse(400, "This path cannot be relayed.", "invalid_path")
            elif b"websocket" in value_of(scope["headers"], b"upgrade").lower():
                await outgoing.refuse(501, _NO_WEBSOCKETS, "no_websockets")
            elif length_conflict(scope["headers"]):
                await outgoing.refuse(400, "The request gives its length in more than one way.", "invalid_length")
            elif value_of(scope["headers"], b"transfer-encoding").strip().lower() not in (b"", b"chunked"):
                await outgoing.refuse(501, "Of transfer codings only chunked is read here.", "transfer_coding")
            elif sum(len(name) + len(value) for name, value in scope["headers"]) > self._config.max_head:
                await outgoing.refuse(431, "The headers are too large.", "headers_too_large")
            else:
                incoming = Incoming(receive, self._config.body_timeout)
                await _while_there(incoming, self._relay(scope, target, incoming, outgoing, self._upstream))
        finally:  # also where an answer is cut
            self.metrics.request(api, outgoing.status)
            seconds = time.perf_counter() - begin
            note = outgoing.note and f", {outgoing.note}"
            log.info("%s %s: %d, %.3f s%s", scope["method"], api, outgoing.status, seconds, note)

    async def _relay(
        self, scope: Scope, target: Target, incoming: Incoming, outgoing: Outgoing, upstream: Upstream
    ) -> None:
        headers: list[Header] = list(scope["headers"])
        owner = value_of(headers, b"authorization") or value_of(headers, b"api-key")
        try:
            asked = await self._read(target, incoming, headers, owner)
            body = incoming.body(headers) if asked is None else asked.body
            query, after = scope["query_string"], None
            if target.api == "responses" and not target.asks:
                query, after = from_the_beginning(query)
            answer = await upstream.ask(
                scope["method"],
                target.path,
                query,
                to_upstream(headers, cleaned=target.api is not None, length=None if asked is None else len(asked.body)),
                body,
                decoded=target.api is not None,
            )
        except BodyTooLarge:
            message = f"The body is larger than the {self._config.max_body} bytes that are read here."
            await outgoing.refuse(413, message, "body_too_large")
            return
        except SlowBody:
            await outgoing.refuse(408, "The body took too long to come.", "body_timeout")
            return
        except NoAnswerError as error:
            if incoming.slow:
                await outgoing.refuse(408, "The body took too long to come.", "body_timeout")
            elif not incoming.gone:
                log.warning("upstream: %s", error)
                await outgoing.refuse(*_FAULTS[error.fault])
            return
        wanted = Wanted(target.api, asked and asked.sources, owner, bool(value_of(headers, FINDINGS)), after)
        try:
            await self._answers.send(wanted, answer, outgoing)
        except CutError as error:
            if incoming.gone:
                return
            log.warning("upstream: %s", error)
            if outgoing.started:
                raise RelayCut("the upstream has cut its answer") from error
            await outgoing.refuse(502, "The upstream has cut its answer.", "upstream_cut")
        finally:
            answer.close()

    async def _read(self, target: Target, incoming: Incoming, headers: list[Header], owner: bytes) -> Asked | None:
        """Read a request that asks for an answer; None if it is not one, or is encoded: then it passes as it comes."""
        encoding = value_of(headers, b"content-encoding").strip().lower()
        if not target.asks or target.api is None or encoding not in (b"", b"identity"):
            return None
        body = await incoming.whole(self._config.max_body)

        def restore(shown: str) -> str:
            return self._memory.restore(owner, shown)

        wanted = restore if self._config.remember else None
        if len(body) > _MUCH:
            asked = await asyncio.to_thread(read_request, target.api, body, wanted)
        else:
            asked = read_request(target.api, body, wanted)
        self.metrics.restored(target.api, asked.restored)
        return asked


async def _while_there(incoming: Incoming, work: Any) -> None:
    """Do what is to be done, as long as the client is there."""
    task = asyncio.ensure_future(work)
    watcher = asyncio.ensure_future(incoming.left())
    try:
        await asyncio.wait({task, watcher}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        watcher.cancel()
        if not task.done():
            task.cancel()
        with suppress(asyncio.CancelledError, ClientLeft):
            await task


async def _refuse_websocket(receive: Receive, send: Send) -> None:
    """Refuse one that the server has taken."""
    await receive()
    await send({"type": "websocket.close", "code": 1008, "reason": _NO_WEBSOCKETS})


def create_app(config: RelayConfig) -> ASGIApp:
    """Make the application, with the CORS headers that are wanted.

    Where the upstream cuts an answer, so does the application: it raises `RelayCut`, on which a server cuts the
    connection. The logger ``streamcite.relay`` tells of it in a line, and uvicorn's is kept from printing the trace.

    Raises:
        TypeError: ``config`` is not a `RelayConfig`.
    """
    if not isinstance(config, RelayConfig):
        raise TypeError(f"config: must be a RelayConfig, as RelayConfig(upstream=...), not {type(config).__name__}")
    leave_out(NoCuts)
    relay = Relay(config)
    if not config.cors:
        return relay
    return CORSMiddleware(
        relay, allow_origins=config.cors, allow_methods=["*"], allow_headers=["*"], expose_headers=["*"]
    )
