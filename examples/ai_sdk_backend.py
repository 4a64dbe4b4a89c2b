"""The back end of `useChat`, the hook of Vercel's AI SDK (npm `ai` 6 or 7): answers with sources and citations.

    pip install ".[testing]"
    python examples/ai_sdk_backend.py [PORT]

In the front end: `useChat({id, resume: true, transport: new DefaultChatTransport({api: "http://127.0.0.1:8000/api/chat"})})`.
A message has `text` parts with a `data-citation` part where a citation stands, and a `source-url` or `source-document`
part for each source. An answer goes on though the page is reloaded, which with `resume` finds it again.

It streams a recorded answer from a server of its own; with a key in OPENAI_API_KEY a model's.
"""

import os
import secrets
import sys
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from openai import AsyncOpenAI
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from streamcite import OPENAI, Reference
from streamcite.openai import stream_chat
from streamcite.testing import recorded_answers, serve
from streamcite.ui.resumable import Resumable
from streamcite.ui.store import StreamNotFound

RECORDED = recorded_answers()["english"]
PAGES = ["http://localhost:3000", "http://localhost:5173"]  # where front ends are served, if not from here

answers = Resumable(protocol="ai-sdk")  # many processes share a store: Resumable(RedisStore(...), protocol="ai-sdk")
latest: dict[str, str] = {}  # the key of the last answer in a chat: to be kept where the messages of chats are


def as_written(message: Mapping[str, Any]) -> dict[str, Any]:
    """Give a message of the front end as the model knows it: an answer of its own with the markers that it wrote."""
    return {"role": message["role"], "content": "".join(_texts(message["parts"]))}


def _texts(parts: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    for part in parts:
        if part["type"] == "text":
            yield part["text"]
        elif part["type"] == "data-citation":
            yield OPENAI.write([Reference(**link["reference"]) for link in part["data"]["links"]])


async def chat(request: Request) -> Response:
    """Answer the last message of a conversation."""
    client: AsyncOpenAI = request.app.state.client
    asked = await request.json()
    messages: list[Any] = [as_written(message) for message in asked["messages"]]
    events = stream_chat(client, model=request.app.state.model, messages=messages)
    key = latest[asked["id"]] = secrets.token_urlsafe(12)
    await answers.start(key, events, sources=RECORDED.sources)
    return await answers.response(key)


async def resume(request: Request) -> Response:
    """Send an answer that is being written once more, from its start; 204 says that none is."""
    try:
        key = latest[request.path_params["chat"]]
        ended = (await answers.store.look(key)).ended
    except (KeyError, StreamNotFound):
        ended = True
    return Response(status_code=204) if ended else await answers.response(key)


@asynccontextmanager
async def lifespan(_: Starlette) -> AsyncIterator[None]:
    """Write answers as long as the application runs."""
    async with answers:
        yield


app = Starlette(
    routes=[Route("/api/chat", chat, methods=["POST"]), Route("/api/chat/{chat}/stream", resume)],
    middleware=[Middleware(CORSMiddleware, allow_origins=PAGES, allow_methods=["POST"], allow_headers=["*"])],
    lifespan=lifespan,
)


def main(port: int = 8000) -> None:
    """Serve the endpoint."""
    with serve(pace=0.005) as server:
        if os.environ.get("OPENAI_API_KEY"):
            app.state.client, app.state.model = AsyncOpenAI(), "gpt-5"
        else:
            app.state.client, app.state.model = AsyncOpenAI(base_url=server.base_url, api_key="any"), RECORDED.id
        uvicorn.run(app, port=port)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
