"""The two APIs whose streams are cleaned, and how to tell from an event which it is."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

Api: TypeAlias = Literal["chat", "responses"]


def api_of(value: dict[str, Any]) -> Api | None:
    """Say of which API an event is; None if it shows neither."""
    if isinstance(value.get("choices"), list):
        return "chat"
    kind = value.get("type")
    return "responses" if isinstance(kind, str) and kind.startswith("response.") else None
