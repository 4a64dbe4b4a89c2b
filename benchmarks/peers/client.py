"""The ``openai`` client itself: its typed stream hands on the text of a model as it came."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from openai import OpenAI

from benchmarks.openai import HTTPX, chat_chunk
from streamcite.sse import encode

from .reading import Piece


class Client:
    """Its stream of one answer, whose bytes come from memory."""

    def __init__(self) -> None:
        self._frames: deque[bytes] = deque()
        client, bodies = _client()
        bodies.append(self._body())
        self._chunks: Any = iter(client.chat.completions.create(model="any", messages=[], stream=True))

    def feed(self, delta: str) -> Sequence[Piece]:
        """Let the next chunk come, and read it."""
        self._frames.append(encode(json.dumps(chat_chunk(delta))))
        return [next(self._chunks).choices[0].delta.content]

    def close(self) -> Sequence[Piece]:
        """Let the stream end."""
        self._frames.append(encode("[DONE]"))
        return [chunk.choices[0].delta.content for chunk in self._chunks]

    def _body(self) -> Iterator[bytes]:
        while self._frames:
            yield self._frames.popleft()


@cache
def _client() -> tuple[OpenAI, deque[Iterator[bytes]]]:
    """Make the one client, and the bodies that it gets next: it takes longer to make than to read with."""
    bodies: deque[Iterator[bytes]] = deque()

    def answer(_: Any) -> Any:
        return HTTPX.Response(200, headers={"content-type": "text/event-stream"}, content=bodies.popleft())

    return OpenAI(api_key="any", http_client=HTTPX.Client(transport=HTTPX.MockTransport(answer))), bodies
