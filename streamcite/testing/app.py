"""The part of OpenAI's HTTP interface that serves recorded answers, as an ASGI application."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from streamcite.sse import encode

from .completion import chunks, completion
from .recorded import RecordedAnswer
from .refusal import Refusal
from .request import ChatRequest, ResponsesRequest, RetrieveRequest
from .response import ModelResponse
from .store import ResponseStore

_T = TypeVar("_T")

# Far above any prompt, images in it included: a runaway client meets an error, and not the machine's memory.
_MAX_BODY = 64 * 2**20  # bytes

# Enough for any test. A kept response is small: its events are made anew from the answer, which is there anyway.
_MAX_KEPT = 100  # responses

_STREAM_HEADERS = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
    "x-accel-buffering": "no",
}


def build_app(answers: Mapping[str, RecordedAnswer], pace: float) -> Starlette:
    """Serve recorded answers.

    Args:
        answers: by the name that a request gives as its model.
        pace: seconds between two chunks or events.
    """
    kept = ResponseStore(_MAX_KEPT)
    model = {"object": "model", "created": int(time.time()), "owned_by": "streamcite"}
    models = {name: {"id": name, **model} for name in answers}

    async def chat_completions(request: Request) -> Response:
        chat = ChatRequest.parse(await _body(request))
        answer = _lookup(answers, chat.model)
        if chat.stream:
            return _stream(chunks(answer, chat), pace, end=encode("[DONE]"))
        return _json(completion(answer, chat))

    async def create_response(request: Request) -> Response:
        wanted = ResponsesRequest.parse(await _body(request))
        response = ModelResponse.create(_lookup(answers, wanted.model), wanted)
        if wanted.store:
            kept.add(response)
        return _stream(response.events(), pace) if wanted.stream else _json(response.final())

    async def retrieve_response(request: Request) -> Response:
        wanted = RetrieveRequest.parse(request.query_params)
        response = kept.get(request.path_params["id"])
        return _stream(response.events(wanted.starting_after), pace) if wanted.stream else _json(response.final())

    async def list_models(_: Request) -> Response:
        return _json({"object": "list", "data": list(models.values())})

    async def retrieve_model(request: Request) -> Response:
        return _json(_lookup(models, request.path_params["model"]))

    # Starlette's type for a handler takes every Exception; it calls each with its own.
    handlers: dict[Any, Any] = {Refusal: _refuse, HTTPException: _refuse_route, ClientDisconnect: _drop}
    return Starlette(
        routes=[
            Route("/v1/chat/completions", chat_completions, methods=["POST"]),
            Route("/v1/responses", create_response, methods=["POST"]),
            Route("/v1/responses/{id}", retrieve_response, methods=["GET"]),
            Route("/v1/models", list_models, methods=["GET"]),
            Route("/v1/models/{model:path}", retrieve_model, methods=["GET"]),
        ],
        exception_handlers=handlers,
    )


def _stream(objects: Iterator[Mapping[str, Any]], pace: float, *, end: bytes = b"") -> StreamingResponse:
    """Send each object in a frame, which bears the object's type where it has one; then the end."""

    async def frames() -> AsyncIterator[bytes]:
        for index, value in enumerate(objects):
            if index:
                # Also without a pace: other streams have their turn, and a client that has left is noticed.
                await asyncio.sleep(pace)
            yield encode(_dump(value), event=value.get("type"))
        yield end

    return StreamingResponse(frames(), headers=_STREAM_HEADERS)


async def _body(request: Request) -> bytes:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > _MAX_BODY:
            raise Refusal(413, f"The body of your request is larger than {_MAX_BODY} bytes.")
    return bytes(body)


def _lookup(named: Mapping[str, _T], model: str) -> _T:
    try:
        return named[model]
    except KeyError:
        message = f"The model `{model}` does not exist or you do not have access to it."
        raise Refusal(404, message, code="model_not_found", param="model") from None


async def _refuse(_: Request, error: Refusal) -> Response:
    return _json(error.body, status=error.status)


async def _refuse_route(request: Request, error: HTTPException) -> Response:
    """Shape what the router refuses: a path or a method that is not served."""
    message = f"Invalid URL or method ({request.method} {request.url.path})."
    return _json(Refusal(error.status_code, message).body, status=error.status_code, headers=error.headers)


async def _drop(_: Request, __: ClientDisconnect) -> Response:
    """Answer nobody: the client left before it had sent all, which is its right and no error of the server."""
    return Response(status_code=400)


def _json(value: object, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(_dump(value), status, headers, media_type="application/json")


def _dump(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:
        # A lone surrogate has no UTF-8; it goes out as a JSON escape, as a JavaScript server sends it.
        return json.dumps(value, separators=(",", ":"))
    return text
