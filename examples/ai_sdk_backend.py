"""The back end of `useChat`, the hook of Vercel's AI SDK (npm `ai` 6 or 7): answers with sources and citations.

    pip install "streamcite[testing]"
    python examples/ai_sdk_backend.py [PORT]

In the front end: `useChat({transport: new DefaultChatTransport({api: "http://127.0.0.1:8000/api/chat"})})`. A message
has `text` parts with a `data-citation` part where a citation stands, and a `source-url` or `source-document` part for
each source.

It streams a recorded answer from a server of its own; with a key in OPENAI_API_KEY a model's.
"""

import os
import sys
from collections.abc import Iterable, Mapping
from typing import Any

import uvicorn
from openai import AsyncOpenAI
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from streamcite import OPENAI, Reference
from streamcite.openai import stream_chat
from streamcite.testing import recorded_answers, serve
from streamcite.ui.response import sse_response

RECORDED = recorded_answers()["english"]


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
    messages: list[Any] = [as_written(message) for message in (await request.json())["messages"]]
    events = stream_chat(client, model=request.app.state.model, messages=messages)
    return sse_response(events, protocol="ai-sdk", sources=RECORDED.sources)


app = Starlette(routes=[Route("/api/chat", chat, methods=["POST"])])


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
