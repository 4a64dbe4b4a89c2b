"""Answers that survive a reload: ``python -m benchmarks.left_running.answers UPSTREAM SILENCE REDIS SEED LEASE``.

It prints its port. SILENCE is as for `relayed`, REDIS the path of the socket, LEASE that of the store, in seconds.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from openai import AsyncOpenAI
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from benchmarks.openai import HTTPX
from streamcite.openai import stream_chat, stream_responses
from streamcite.ui.redis_store import RedisStore
from streamcite.ui.resumable import Resumable
from streamcite.ui.store import StoreError

from . import plan as plans
from .at_rest import AtRest, serve

KEEP = 300.0  # seconds: longer than anybody takes to read an answer


def answers(upstream: str, silence: float, redis: str, seed: int, lease: float) -> AtRest:
    """Make an application whose answers survive a reload, in Redis."""
    # A call is made once: what has the patience to make it again is what is asked about.
    client = Redis(unix_socket_path=redis, retry=Retry(NoBackoff(), 0))
    # A connection is closed after its answer, so that none stays.
    http = HTTPX.AsyncClient(limits=HTTPX.Limits(max_keepalive_connections=0), timeout=HTTPX.Timeout(10, read=silence))
    model = AsyncOpenAI(base_url=upstream, api_key="any", max_retries=0, http_client=http)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with client, model, Resumable(RedisStore(client, lease=lease, keep=KEEP)) as found:
            app.state.answers = found
            yield

    async def start(request: Request) -> Response:
        number: int = request.path_params["number"]
        stream: Any
        if plans.make(seed, number).api == "chat":
            stream = stream_chat(model, model=str(number), messages=[{"role": "user", "content": "?"}])
        else:
            stream = stream_responses(model, model=str(number), input="?")
        try:
            begun = await request.app.state.answers.start(str(number), stream, sources=plans.SOURCES)
        except StoreError as error:
            return PlainTextResponse(str(error), 503)
        return JSONResponse({"begun": begun})

    async def read(request: Request) -> Response:
        found: Resumable = request.app.state.answers
        key = str(request.path_params["number"])
        return await found.response(key, last_event_id=request.headers.get("last-event-id"))

    routes = [Route("/{number:int}", start, methods=["POST"]), Route("/{number:int}", read, methods=["GET"])]
    return AtRest(Starlette(routes=routes, lifespan=lifespan), client.connection_pool.disconnect)


if __name__ == "__main__":
    upstream, silence, redis, seed, lease = sys.argv[1:]
    serve(answers(upstream, float(silence), redis, int(seed), float(lease)))
