"""An application that serves answers which survive a reload, as one of several processes.

Its argument is the path of the socket of Redis; it prints its own URL. An answer is `tests.stores.TEXTS`, a word every
`PAUSE` seconds, and its producer counts as alive for as long as a test waits. The answer ``lasting`` is `LASTING`, and
its producer counts as dead as soon as a test says so, by what Redis has of when it was heard of.
"""

import socket
import sys
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from redis.asyncio import Redis
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from streamcite.ui.redis_store import RedisStore
from streamcite.ui.resumable import Resumable
from tests.processes import PATIENCE
from tests.stores import TEXTS, Answer

PAUSE = 0.01
LASTING = TEXTS * 100


def build(path: str) -> Starlette:
    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async def settled() -> bool:
            return True  # as if Redis ran for longer than a lease

        async with Redis(unix_socket_path=path) as client:
            store, watched = RedisStore(client, lease=PATIENCE), RedisStore(client, lease=PATIENCE)
            watched._is_settled = settled  # type: ignore[method-assign]
            watched._block = 100  # milliseconds until a reader looks again at what it waits for
            async with Resumable(store, ping=0.05) as patient, Resumable(watched, ping=0.05) as answers:
                app.state.answers = defaultdict(lambda: patient, lasting=answers)
                yield

    async def start(request: Request) -> Response:
        key = request.path_params["key"]
        answer = Answer(LASTING if key == "lasting" else TEXTS, pause=PAUSE)
        return JSONResponse({"begun": await request.app.state.answers[key].start(key, answer)})

    async def read(request: Request) -> Response:
        key = request.path_params["key"]
        answers: Resumable = request.app.state.answers[key]
        return await answers.response(key, last_event_id=request.headers.get("last-event-id"))

    return Starlette(
        routes=[Route("/{key}", start, methods=["POST"]), Route("/{key}", read, methods=["GET"])], lifespan=lifespan
    )


def main() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        sys.stdout.write(f"http://127.0.0.1:{listener.getsockname()[1]}/\n")
        sys.stdout.flush()
        # What sends no chunks to a client that asks in HTTP/1.0.
        config = uvicorn.Config(build(sys.argv[1]), http="h11", log_level="error")
        uvicorn.Server(config).run(sockets=[listener])
