"""What a client asks of the test server: the body of a chat completion request, and what is wrong with it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

_MAX_CHOICES = 128  # OpenAI's own limit for ``n``


class Refusal(Exception):
    """Raised for a request that is refused, as the API reference words and shapes it.

    Args:
        status: the HTTP status.
        message: for people.
        code: for programs, such as ``model_not_found``; None where OpenAI sends none.
        param: the parameter that is wrong; None where it is none of them.
    """

    def __init__(self, status: int, message: str, *, code: str | None = None, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
        self.body: dict[str, dict[str, str | None]] = {"error": error}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """The parameters of a chat completion that the test server heeds; any other is let pass.

    Attributes:
        model: the id of the answer that is wanted.
        prompt: the messages' text.
        stream: whether to give chunks, instead of one completion.
        include_usage: whether to give a last chunk with the usage and no choices.
        n: how many choices; each is the same answer.
        max_tokens: how many deltas at most; None for all. An answer that is cut by it finishes with ``length``.
    """

    model: str
    prompt: str
    stream: bool
    include_usage: bool
    n: int
    max_tokens: int | None

    @classmethod
    def parse(cls, body: bytes) -> ChatRequest:
        """Read a request body.

        Raises:
            Refusal: status 400; the message says what is wrong.
        """
        try:
            fields = json.loads(body)
        except (ValueError, RecursionError):  # no JSON, or nested too deeply
            fields = None
        if not isinstance(fields, dict):
            raise Refusal(400, "We could not parse the JSON body of your request: it must be one JSON object.")
        stream = _optional(fields, "stream", bool) or False
        options = _optional(fields, "stream_options", dict)
        if options is not None and not stream:
            message = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
            raise Refusal(400, message, param="stream_options")
        # The newer name wins, as with OpenAI's.
        name = "max_tokens" if fields.get("max_completion_tokens") is None else "max_completion_tokens"
        return cls(
            model=_required(fields, "model", str),
            prompt=_prompt(_required(fields, "messages", list)),
            stream=stream,
            include_usage=_optional(options or {}, "include_usage", bool) or False,
            n=_positive(fields, "n", at_most=_MAX_CHOICES) or 1,
            max_tokens=_positive(fields, name),
        )


def _required(fields: dict[str, Any], name: str, kind: type[Any]) -> Any:
    value = _optional(fields, name, kind)
    if value is None:
        raise Refusal(400, f"Missing required parameter: '{name}'.", code="missing_required_parameter", param=name)
    return value


def _optional(fields: dict[str, Any], name: str, kind: type[Any]) -> Any:
    value = fields.get(name)
    # By type, since True is an int too.
    if value is not None and type(value) is not kind:
        message = f"Invalid type for '{name}': expected {kind.__name__}, but got {type(value).__name__} instead."
        raise Refusal(400, message, code="invalid_type", param=name)
    return value


def _positive(fields: dict[str, Any], name: str, *, at_most: int | None = None) -> int | None:
    value: int | None = _optional(fields, name, int)
    if value is not None and (value < 1 or (at_most is not None and value > at_most)):
        limit = ">= 1" if at_most is None else f"from 1 to {at_most}"
        message = f"Invalid '{name}': expected a value {limit}, but got {value} instead."
        raise Refusal(400, message, code="integer_out_of_range", param=name)
    return value


def _prompt(messages: list[Any]) -> str:
    if not messages:
        message = "Invalid 'messages': empty array. Expected an array with minimum length 1."
        raise Refusal(400, message, code="empty_array", param="messages")
    return "\n".join(_message(message, f"messages[{index}]") for index, message in enumerate(messages))


def _message(message: object, name: str) -> str:
    """Give the text of a message, which is one string or stands in parts, as an array of objects."""
    fields = _object(message, name)
    _required({f"{name}.role": fields.get("role")}, f"{name}.role", str)
    content = fields.get("content")
    name = f"{name}.content"
    if isinstance(content, list):
        return "".join(_part(part, f"{name}[{index}]") for index, part in enumerate(content))
    return _optional({name: content}, name, str) or ""


def _part(part: object, name: str) -> str:
    """Give the text of a part; one that is an image or a sound has none."""
    text = _object(part, name).get("text")
    return _optional({f"{name}.text": text}, f"{name}.text", str) or ""


def _object(value: object, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Refusal(400, f"Invalid type for '{name}': expected an object.", code="invalid_type", param=name)
    return value
