"""The body of a request that asks for an answer: the sources in it, and what it sends back of earlier answers. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from streamcite.annotations import DETAILS
from streamcite.material import read_material
from streamcite.sources import Sources

from .apis import Api

_CONTENTS = ("text", "output_text")


class Asked(NamedTuple):
    """What a relay reads of a request.

    Attributes:
        body: what is sent on: the same bytes, where nothing is changed.
        sources: what its messages show; None if they show nothing, or it cannot be read.
        restored: how many texts got back their markers.
    """

    body: bytes
    sources: Sources | None = None
    restored: int = 0


def read_request(api: Api, body: bytes, restore: Callable[[str], str] | None = None) -> Asked:
    """Read the sources of a request, and give its earlier answers back their markers.

    Of the annotations in earlier answers those are left out that only a relay makes, as the API would refuse them.

    Args:
        api: for which it is.
        body: JSON; anything else passes as it is.
        restore: gives an answer as the model wrote it.
    """
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return Asked(body)
    messages = value.get("messages" if api == "chat" else "input") if isinstance(value, dict) else None
    shown = [*_instructions(api, value), *messages] if isinstance(messages, list) else messages
    if not isinstance(shown, list):
        return Asked(body)
    restored, changed = 0, False
    for holder, name in _answers(shown):
        changed |= _drop_details(holder)
        if restore is not None and (raw := restore(holder[name])) != holder[name]:
            holder[name] = raw
            restored += 1
    if restored or changed:
        body = json.dumps(value, separators=(",", ":")).encode()
    sources = read_material(shown)
    return Asked(body, sources or None, restored)


def _instructions(api: Api, value: dict[str, Any]) -> list[Any]:
    """Give the instructions of a response, which stand beside its input, as the message that they are."""
    instructions = value.get("instructions") if api == "responses" else None
    return [{"role": "system", "content": instructions}] if isinstance(instructions, str) else []


def _answers(messages: list[Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Find the texts of earlier answers: what holds each, and in which field."""
    for message in messages:
        if not isinstance(message, dict) or message.get("role") != "assistant":
            continue
        content = message.get("content")
        if isinstance(content, str):
            yield message, "content"
        for part in content if isinstance(content, list) else ():
            if isinstance(part, dict) and part.get("type") in _CONTENTS and isinstance(part.get("text"), str):
                yield part, "text"


def _drop_details(holder: dict[str, Any]) -> bool:
    annotations = holder.get("annotations")
    if not isinstance(annotations, list):
        return False
    kept = [each for each in annotations if not (isinstance(each, dict) and DETAILS in each)]
    holder["annotations"] = kept
    return len(kept) < len(annotations)
