"""The recorded answers, and how to ask the server that serves them."""

from http.client import HTTPResponse

import pytest
from openai.types.chat import ChatCompletionUserMessageParam

from streamcite.testing import Server, recorded_answers
from tests.http_peer import request

ASK: list[ChatCompletionUserMessageParam] = [{"role": "user", "content": "How long may I stay?"}]
ANSWERS = recorded_answers()
every_answer = pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)


def send(running: Server, method: str, path: str, body: bytes | None = None) -> tuple[HTTPResponse, bytes]:
    return request(running.base_url.removesuffix("/v1") + path, method, body)
