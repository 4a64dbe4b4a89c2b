"""What a value in a JSON form must be: each function gives it back, or raises TypeError."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def mapping(value: object) -> dict[str, Any]:
    """Require an object, whose keys are strings."""
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise TypeError(f"expected an object, not {type(value).__name__}")
    return value


def versioned(value: object, version: int) -> Mapping[str, Any]:
    """Require a mapping that says that it is of this version."""
    if not isinstance(value, Mapping):
        raise TypeError(f"expected an object, not {type(value).__name__}")
    if value.get("version") != version:
        raise TypeError(f"expected version {version}, not {value.get('version')!r}")
    return value


def items(value: object) -> list[Any]:
    """Require a list."""
    if not isinstance(value, list):
        raise TypeError(f"expected a list, not {type(value).__name__}")
    return value


def flag(value: object) -> bool:
    """Require true or false."""
    if not isinstance(value, bool):
        raise TypeError(f"expected true or false, not {value!r}")
    return value


def string(value: object) -> str:
    """Require a string."""
    if not isinstance(value, str):
        raise TypeError(f"expected a string, not {type(value).__name__}")
    return value


def offset(value: object) -> int:
    """Require a number that counts: whole, and not negative."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TypeError(f"expected an offset, not {value!r}")
    return value
