"""The client's objects, and dicts of the same shape, read and written alike.

The client builds its objects without validation: any field may be absent, None, or of another type than is declared,
and a field that its class does not declare stands in a dict of its own. So fields are read from where the object keeps
them, which also costs less than a failed look at an attribute.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Container, Hashable, Iterable
from types import MappingProxyType
from typing import Any

_NO_FIELDS: Any = MappingProxyType({})  # one for all that has none: nothing may be written to it
# As deep as annotations nest, and more: what differs deeper only is compared with each other.
_NESTING = 6


def fields(value: object) -> dict[str, Any]:
    """Give the fields that are declared, as they stand; those of a dict; none of what has no fields."""
    return value if isinstance(value, dict) else getattr(value, "__dict__", _NO_FIELDS)


def declared(value: Any) -> dict[str, Any]:
    """Give the same at a third of the cost, except for a class of dicts: of these, what they have besides items."""
    if type(value) is dict:
        return value
    try:
        found: dict[str, Any] = value.__dict__
    except AttributeError:
        found = _NO_FIELDS
    return found


def extras(value: object) -> dict[str, Any]:
    """Give the fields that are not declared; for what keeps no such difference, all."""
    if isinstance(value, dict):
        return value
    found = getattr(value, "__pydantic_extra__", None)
    return fields(value) if found is None else found


def get(value: object, name: str) -> Any:
    """Give a field, declared or not; None if it is absent."""
    found = fields(value).get(name)
    return extras(value).get(name) if found is None else found


def get_list(value: object, name: str) -> list[Any]:
    """Give a field that holds a list; an empty one if it holds anything else."""
    found = get(value, name)
    return found if isinstance(found, list) else []


def get_str(value: object, name: str) -> str:
    """Give a field that holds a string; an empty one if it holds anything else."""
    found = get(value, name)
    return found if isinstance(found, str) else ""


def get_index(value: object, name: str) -> int:
    """Give a field that holds an int; 0 if it holds anything else, as with a server that numbers nothing."""
    found = get(value, name)
    return found if type(found) is int else 0


def put(value: object, name: str, new: object) -> None:
    """Set a field."""
    if isinstance(value, dict):
        value[name] = new
    else:
        setattr(value, name, new)


def replace_field(value: object, name: str, new: object) -> None:
    """Set a field that is there: where it stands, as the setter of the client's classes costs ten times that."""
    found = fields(value)
    (found if name in found else extras(value))[name] = new


def drop(value: object, name: str) -> None:
    """Remove a field; where its class declares it, it becomes None and counts as never set."""
    if isinstance(value, dict):
        value.pop(name, None)
    elif name in fields(value):
        fields(value)[name] = None
        getattr(value, "__pydantic_fields_set__", set()).discard(name)
    else:
        extras(value).pop(name, None)


def put_list(value: object, name: str, items: list[Any]) -> None:
    """Set a field to a list of objects, of which those that are dicts become what the object's class declares."""
    if isinstance(value, dict) or name not in fields(value):
        extras(value)[name] = items
    else:
        construct = getattr(type(value), "construct", None)
        put(value, name, items if construct is None else getattr(construct(**{name: items}), name))


def as_dict(value: object) -> dict[str, Any]:
    """Give an object as a dict of its own."""
    convert = getattr(value, "to_dict", None)
    return dict(fields(value)) if convert is None else convert()


def not_among(values: Iterable[Any], known: Iterable[dict[str, Any]]) -> list[Any]:
    """Give the objects that are, as dicts, equal to none that is known. Linear, unless they differ very deep."""
    alike: defaultdict[Hashable, list[dict[str, Any]]] = defaultdict(list)
    for each in known:
        alike[_key(each)].append(each)
    return [value for value in values if (found := as_dict(value)) not in alike.get(_key(found), ())]


def _key(value: object, nesting: int = _NESTING) -> Hashable:
    """Give something that can be looked up, equal for values of JSON that are equal."""
    if isinstance(value, str | int | float):
        return value
    if isinstance(value, dict) and nesting:
        return frozenset((name, _key(each, nesting - 1)) for name, each in value.items())
    if isinstance(value, list) and nesting:
        return tuple(_key(each, nesting - 1) for each in value)
    return None


def bare(value: Any, keep: Container[str]) -> Any:
    """Copy an object without its fields, except for those to keep."""
    copied = copy.copy(value)
    for name in {**fields(value), **extras(value)}:
        if name not in keep:
            drop(copied, name)
    return copied
