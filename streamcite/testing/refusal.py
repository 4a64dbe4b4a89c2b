"""What is wrong with a request: the readers of its fields, and the refusal that they raise."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_MAX_DIGITS = 18  # what fits into 64 bits; Python has its own limit for the digits that it reads


class Refusal(Exception):
    """Raised for a request that is refused, as the API reference words and shapes it.

    Args:
        status: the HTTP status.
        message: for people.
        code: for programs, such as ``model_not_found``; None where OpenAI sends none.
        param: the parameter that is wrong; None where no parameter is.
    """

    def __init__(self, status: int, message: str, *, code: str | None = None, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
        self.body: dict[str, dict[str, str | None]] = {"error": error}


def read_json(body: bytes) -> dict[str, Any]:
    """Give the fields of a body, which must be one JSON object."""
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):  # no JSON, or nested too deeply
        fields = None
    if not isinstance(fields, dict):
        raise Refusal(400, "We could not parse the JSON body of your request: it must be one JSON object.")
    return fields


def required(fields: Mapping[str, Any], name: str, *kinds: type[Any]) -> Any:
    """Give a field that must be there and not null, of one of the kinds."""
    value = optional(fields, name, *kinds)
    if value is None:
        raise Refusal(400, f"Missing required parameter: '{name}'.", code="missing_required_parameter", param=name)
    return value


def optional(fields: Mapping[str, Any], name: str, *kinds: type[Any]) -> Any:
    """Give a field of one of the kinds; None where it is absent or null."""
    value = fields.get(name)
    # By type, since True is an int too.
    if value is not None and type(value) not in kinds:
        expected = " or ".join(kind.__name__ for kind in kinds)
        raise _invalid_type(name, f"{expected}, but got {type(value).__name__} instead")
    return value


def positive(fields: Mapping[str, Any], name: str, *, at_most: int | None = None) -> int | None:
    """Give a whole number from 1; None where it is absent or null."""
    value: int | None = optional(fields, name, int)
    if value is not None and (value < 1 or (at_most is not None and value > at_most)):
        limit = ">= 1" if at_most is None else f"from 1 to {at_most}"
        message = f"Invalid '{name}': expected a value {limit}, but got {value} instead."
        raise Refusal(400, message, code="integer_out_of_range", param=name)
    return value


def not_empty(items: list[Any], name: str) -> None:
    """Refuse a list that holds nothing."""
    if not items:
        message = f"Invalid '{name}': empty array. Expected an array with minimum length 1."
        raise Refusal(400, message, code="empty_array", param=name)


def an_object(value: object, name: str) -> dict[str, Any]:
    """Give the value itself, which must be a JSON object."""
    if not isinstance(value, dict):
        raise _invalid_type(name, "an object")
    return value


def query_flag(query: Mapping[str, str], name: str) -> bool:
    """Give a parameter of a URL that is ``true`` or ``false``; False where it is absent."""
    value = query.get(name, "false")
    if value not in {"true", "false"}:
        raise _invalid_type(name, "a boolean")
    return value == "true"


def query_number(query: Mapping[str, str], name: str) -> int | None:
    """Give a parameter of a URL that is a whole number from 0; None where it is absent."""
    value = query.get(name)
    if value is None:
        return None
    if not (value.isascii() and value.isdecimal() and len(value) <= _MAX_DIGITS):
        raise _invalid_type(name, "an integer from 0")
    return int(value)


def _invalid_type(name: str, expected: str) -> Refusal:
    return Refusal(400, f"Invalid type for '{name}': expected {expected}.", code="invalid_type", param=name)
