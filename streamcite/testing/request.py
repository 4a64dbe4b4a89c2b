"""What a client asks of the test server: the body or the query of a request, and what is wrong with it.

Names: the API reference, "Create chat completion", "Create a model response" and "Get a model response".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .refusal import Refusal, an_object, not_empty, optional, positive, query_flag, query_number, read_json, required

_MAX_CHOICES = 128  # OpenAI's own limit for ``n``


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
        fields = read_json(body)
        # The newer name wins, as with OpenAI's.
        name = "max_tokens" if fields.get("max_completion_tokens") is None else "max_completion_tokens"
        return cls(
            model=required(fields, "model", str),
            prompt=_messages(required(fields, "messages", list)),
            stream=_flag(fields, "stream"),
            include_usage=_flag(_stream_options(fields), "include_usage"),
            n=positive(fields, "n", at_most=_MAX_CHOICES) or 1,
            max_tokens=positive(fields, name),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponsesRequest:
    """The parameters of a new model response that the test server heeds; any other is let pass.

    Attributes:
        model: the id of the answer that is wanted.
        prompt: the input's text.
        instructions: which the response repeats; None without any.
        stream: whether to give events, instead of one response.
        include_obfuscation: whether to give every delta some padding; OpenAI pads unless it is told not to, the test
            server only where it is told to.
        max_output_tokens: how many deltas of the answer at most; None for all. OpenAI takes it from 16, the test
            server from 1.
        store: whether the response can be retrieved later.
    """

    model: str
    prompt: str
    instructions: str | None
    stream: bool
    include_obfuscation: bool
    max_output_tokens: int | None
    store: bool

    @classmethod
    def parse(cls, body: bytes) -> ResponsesRequest:
        """Read a request body.

        Raises:
            Refusal: status 400; the message says what is wrong.
        """
        fields = read_json(body)
        return cls(
            model=required(fields, "model", str),
            prompt=_input(required(fields, "input", str, list)),
            instructions=optional(fields, "instructions", str),
            stream=_flag(fields, "stream"),
            include_obfuscation=_flag(_stream_options(fields), "include_obfuscation"),
            max_output_tokens=positive(fields, "max_output_tokens"),
            store=optional(fields, "store", bool) is not False,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrieveRequest:
    """The parameters with which a model response is retrieved; any other is let pass.

    Attributes:
        stream: whether to give its events again, instead of the response.
        starting_after: the ``sequence_number`` of the last event that is not wanted; None where all are.
    """

    stream: bool
    starting_after: int | None

    @classmethod
    def parse(cls, query: Mapping[str, str]) -> RetrieveRequest:
        """Read the query of a URL.

        Raises:
            Refusal: status 400; the message says what is wrong.
        """
        return cls(stream=query_flag(query, "stream"), starting_after=query_number(query, "starting_after"))


def _flag(fields: dict[str, Any], name: str) -> bool:
    return optional(fields, name, bool) or False


def _stream_options(fields: dict[str, Any]) -> dict[str, Any]:
    options: dict[str, Any] | None = optional(fields, "stream_options", dict)
    if options is not None and not _flag(fields, "stream"):
        message = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
        raise Refusal(400, message, param="stream_options")
    return options or {}


def _messages(messages: list[Any]) -> str:
    not_empty(messages, "messages")
    return "\n".join(_message(message, f"messages[{index}]") for index, message in enumerate(messages))


def _input(given: str | list[Any]) -> str:
    """Give the text of an input, which is one string or stands in items."""
    if isinstance(given, str):
        return given
    not_empty(given, "input")
    return "\n".join(_item(item, f"input[{index}]") for index, item in enumerate(given))


def _item(item: object, name: str) -> str:
    """Give the text of an item; one that is not a message, such as a tool's output, has none."""
    kind = an_object(item, name).get("type")
    optional({f"{name}.type": kind}, f"{name}.type", str)
    return _message(item, name) if kind in {None, "message"} else ""


def _message(message: object, name: str) -> str:
    """Give the text of a message, which is one string or stands in parts, as an array of objects."""
    fields = an_object(message, name)
    required({f"{name}.role": fields.get("role")}, f"{name}.role", str)
    content = fields.get("content")
    name = f"{name}.content"
    if isinstance(content, list):
        return "".join(_part(part, f"{name}[{index}]") for index, part in enumerate(content))
    return optional({name: content}, name, str) or ""


def _part(part: object, name: str) -> str:
    """Give the text of a part; one that is an image or a sound has none."""
    text = an_object(part, name).get("text")
    return optional({f"{name}.text": text}, f"{name}.text", str) or ""
