"""The texts of chat messages and of Responses input items, as dicts or as the client's objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from .render import Material

# The roles whose messages are results of tools.
TOOLS = frozenset({"tool", "function"})
_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})
_TEXTS = frozenset({None, "text", "input_text", "output_text"})


class Message(NamedTuple):
    """What is read of a message.

    Attributes:
        role: whose it is; ``tool`` for the outputs of the Responses API, which have none.
        text: all of its text.
    """

    role: str
    text: str


def read_messages(messages: Iterable[object]) -> Iterator[Message]:
    """Give those of the messages that have a role, in order; anything else is passed over."""
    for message in messages:
        if text := _material(message):
            yield Message("tool", text)
            continue
        kind = _get(message, "type")
        if isinstance(kind, str) and kind in _OUTPUTS:
            yield Message("tool", _text(_get(message, "output")))
        elif kind in (None, "message") and isinstance(role := _get(message, "role"), str):
            yield Message(role, _text(_get(message, "content")))


def _text(content: object) -> str:
    if isinstance(content, list | tuple):
        # As between two sources of one text, so that each part may be one.
        return "\n\n".join(text for part in content if isinstance(text := _part(part), str) and text)
    return content if isinstance(content, str) else _material(content)


def _part(part: object) -> Any:
    if isinstance(part, str):
        return part
    if text := _material(part):
        return text
    kind = _get(part, "type")
    return _get(part, "text") if kind is None or (isinstance(kind, str) and kind in _TEXTS) else None


def _material(content: object) -> str:
    """Give the text of a `Material` that was put into a message as it is; empty for all else."""
    return content.text if isinstance(content, Material) else ""


def _get(value: object, name: str) -> Any:
    """Give a field, None if it is absent: of these messages any may be, and of any type."""
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
