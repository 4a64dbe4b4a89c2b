"""What one would write with FastAPI and the OpenAI client: ``python -m benchmarks.relay.handler PORT``."""

from __future__ import annotations

import socket
import sys
from collections.abc import AsyncIterator
from typing import Any

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse
from openai import AsyncOpenAI

app = FastAPI()
client = AsyncOpenAI(base_url=f"http://127.0.0.1:{sys.argv[1]}/v1", api_key="any")


@app.post("/v1/chat/completions")
async def answer(request: Request) -> StreamingResponse:
    """Ask the upstream what was asked, and hand on its chunks."""
    asked: Any = await request.json()
    stream: Any = await client.chat.completions.create(**asked)

    async def frames() -> AsyncIterator[str]:
        async for chunk in stream:
            yield f"data: {chunk.model_dump_json()}\n\n"
        yield "data: [DONE]\n\n"

    return StreamingResponse(frames(), media_type="text/event-stream")


if __name__ == "__main__":
    listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
    print(listener.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)).run(sockets=[listener])
