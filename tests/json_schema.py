"""As much of JSON Schema as says what a document of this package holds, and no more."""

from collections.abc import Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]

_TYPES = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool, "null": type(None)}


def fields(**properties: Schema) -> Schema:
    """Give the schema of an object that has these fields and no other."""
    return {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }


def wrong(value: Any, schema: Schema) -> list[str]:
    """Say what a value has that its schema does not allow."""
    return list(_wrong(value, schema, "$"))


def _wrong(value: Any, schema: Schema, where: str) -> Iterator[str]:
    if any_of := schema.get("anyOf"):
        every = [list(_wrong(value, one, where)) for one in any_of]
        yield from min(every, key=len)
    elif "enum" in schema:
        if value not in schema["enum"]:
            yield f"{where}: {value!r} is none of {schema['enum']}"
    elif type(value) is not _TYPES[schema["type"]]:
        yield f"{where}: {value!r} is no {schema['type']}"
    elif isinstance(value, dict):
        if value.keys() != schema["properties"].keys():
            yield f"{where}: has {[*value]}, not {[*schema['properties']]}"
        for key in value.keys() & schema["properties"].keys():
            yield from _wrong(value[key], schema["properties"][key], f"{where}.{key}")
    elif isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            yield f"{where}: has {len(value)} items"
        for number, item in enumerate(value):
            yield from _wrong(item, schema["items"], f"{where}[{number}]")
    elif isinstance(value, int) and value < schema.get("minimum", value):
        yield f"{where}: {value} is too small"
