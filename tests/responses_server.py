"""How to ask the server of recorded answers for responses."""

import json
from http.client import HTTPResponse
from typing import Any

from streamcite.testing import RecordedAnswer, Server
from tests.http_peer import request

QUESTION = "How long may I stay?"
EMPTY = RecordedAnswer(id="empty", text="")


def send(running: Server, method: str, path: str, body: bytes | None = None) -> tuple[HTTPResponse, bytes]:
    return request(f"{running.base_url}/responses{path}", method, body)


def post(running: Server, model: str, **fields: Any) -> bytes:
    response, body = send(running, "POST", "", json.dumps({"model": model, "input": QUESTION, **fields}).encode())
    assert response.status == 200
    return body
