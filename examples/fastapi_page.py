"""Show an answer in a browser while it streams: an endpoint of FastAPI, and the page that asks it.

    pip install fastapi uvicorn ".[markdown,testing]"
    python examples/fastapi_page.py [PORT]

It streams a recorded answer from a server of its own; with a key in OPENAI_API_KEY a model's.
"""

import os
import sys
from typing import Literal

import uvicorn
from fastapi import FastAPI
from fastapi.responses import FileResponse, HTMLResponse
from openai import AsyncOpenAI

from streamcite import instructions, render_blocks
from streamcite.openai import stream_chat
from streamcite.testing import recorded_answers, serve
from streamcite.ui.asgi import FrameResponse
from streamcite.ui.assets import asset
from streamcite.ui.response import sse_response

PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Ask</title><link rel="stylesheet" href="streamcite.css">
<form><input name="question" aria-label="Question" size="40" value="May I work abroad?"><button>Ask</button></form>
<div id="answer"></div>
<script type="module">
  import {show} from "./streamcite.js";
  const form = document.querySelector("form"), answer = document.querySelector("#answer");
  form.onsubmit = async (event) => {
    event.preventDefault();
    answer.replaceChildren();
    await show(answer, await fetch("answer?" + new URLSearchParams(new FormData(form))));
  };
</script>
"""
RECORDED = recorded_answers()["english"]
SYSTEM = f"{instructions(material='blocks')}\n\n{render_blocks(RECORDED.sources.values())}"

app = FastAPI()


@app.get("/answer")
async def answer(question: str) -> FrameResponse:
    """Answer a question. What the model gives is sent on at once; when the browser leaves, the model is stopped."""
    client: AsyncOpenAI = app.state.client
    events = stream_chat(
        client,
        model=app.state.model,
        messages=[{"role": "system", "content": SYSTEM}, {"role": "user", "content": question}],
    )
    return sse_response(events, sources=RECORDED.sources)


@app.get("/", response_class=HTMLResponse)
async def page() -> str:
    """Give the page."""
    return PAGE


@app.get("/{name}")
async def file(name: Literal["streamcite.js", "streamcite.css"]) -> FileResponse:
    """Give what the page loads."""
    return FileResponse(asset(name))


def main(port: int = 8000) -> None:
    """Serve the page."""
    with serve(pace=0.005) as server:
        if os.environ.get("OPENAI_API_KEY"):
            app.state.client, app.state.model = AsyncOpenAI(), "gpt-5"
        else:
            app.state.client, app.state.model = AsyncOpenAI(base_url=server.base_url, api_key="any"), RECORDED.id
        uvicorn.run(app, port=port)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
