"""A recorded answer as OpenAI sends it: chat completion chunks, or one chat completion.

Shapes: the API reference, "The chat completion chunk object" and "The chat completion object".
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from typing import Any

from .recorded import RecordedAnswer
from .request import ChatRequest
from .tokens import token_deltas


def chunks(answer: RecordedAnswer, request: ChatRequest) -> Iterator[dict[str, Any]]:
    """Give the chunks of a streamed completion: the role, each delta, the finish, and the usage if asked for.

    The choices interleave, as OpenAI's do.
    """
    frame = _frame("chat.completion.chunk", answer)
    if request.include_usage:
        frame["usage"] = None  # on every chunk but the last

    def every_choice(delta: dict[str, Any], finish_reason: str | None = None) -> Iterator[dict[str, Any]]:
        for index in range(request.n):
            choice = {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
            yield {**frame, "choices": [choice]}

    deltas, finish_reason = _cut(answer, request)
    yield from every_choice({"role": "assistant", "content": "", "refusal": None})
    for delta in deltas:
        yield from every_choice({"content": delta})
    yield from every_choice({}, finish_reason)
    if request.include_usage:
        yield {**frame, "choices": [], "usage": _usage(request, len(deltas))}


def completion(answer: RecordedAnswer, request: ChatRequest) -> dict[str, Any]:
    """Give the whole completion at once."""
    deltas, finish_reason = _cut(answer, request)
    choice: dict[str, Any] = {
        "message": {"role": "assistant", "content": "".join(deltas), "refusal": None, "annotations": []},
        "logprobs": None,
        "finish_reason": finish_reason,
    }
    return {
        **_frame("chat.completion", answer),
        "choices": [{"index": index, **choice} for index in range(request.n)],
        "usage": _usage(request, len(deltas)),
    }


def _frame(kind: str, answer: RecordedAnswer) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{uuid.uuid4().hex}",
        "object": kind,
        "created": int(time.time()),
        "model": answer.id,
        "service_tier": "default",
        "system_fingerprint": None,
    }


def _cut(answer: RecordedAnswer, request: ChatRequest) -> tuple[tuple[str, ...], str]:
    deltas = answer.deltas[: request.max_tokens]
    return deltas, "stop" if len(deltas) == len(answer.deltas) else "length"


def _usage(request: ChatRequest, deltas: int) -> dict[str, int]:
    """Count each delta as a token; the prompt is cut as an answer would be."""
    prompt, answers = len(token_deltas(request.prompt)), deltas * request.n
    return {"prompt_tokens": prompt, "completion_tokens": answers, "total_tokens": prompt + answers}
