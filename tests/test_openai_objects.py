"""`streamcite.openai.objects`: the client's objects and dicts are read and written alike."""

import copy
from types import SimpleNamespace
from typing import Any

import pytest
from openai.types.chat import ChatCompletionMessage
from openai.types.chat.chat_completion_chunk import ChoiceDelta
from openai.types.chat.chat_completion_message import Annotation

from streamcite.openai.objects import (
    as_dict,
    bare,
    drop,
    extras,
    fields,
    get,
    get_index,
    get_list,
    get_str,
    put,
    put_list,
)
from tests.chats import plain

SHAPE: dict[str, Any] = {"content": "a", "refusal": None, "tool_calls": [], "x_text": "b", "x_list": [1]}


def makes() -> list[Any]:
    """Give the same fields as an object of the client, a dict, and an object of any other class."""
    shape = copy.deepcopy(SHAPE)
    return [ChoiceDelta.construct(**shape), copy.deepcopy(SHAPE), SimpleNamespace(**copy.deepcopy(SHAPE))]


alike = pytest.mark.parametrize("which", range(3), ids=["typed", "dict", "other"])


@alike
def test_a_field_is_read_declared_or_not(which: int) -> None:
    value = makes()[which]
    assert [get(value, name) for name in (*SHAPE, "absent")] == [*SHAPE.values(), None]
    assert [get_str(value, name) for name in ("content", "x_text", "x_list", "absent")] == ["a", "b", "", ""]
    assert [get_list(value, name) for name in ("tool_calls", "x_list", "content", "absent")] == [[], [1], [], []]
    assert {**fields(value), **extras(value)}.items() >= SHAPE.items()


@pytest.mark.parametrize("value", [None, "text", 5, [], (), b"", True, 1.5], ids=repr)
def test_what_has_no_fields_has_none(value: Any) -> None:
    assert (fields(value), extras(value), get(value, "content")) == ({}, {}, None)
    assert (get_str(value, "real"), get_list(value, "real"), get_index(value, "real")) == ("", [], 0)


@pytest.mark.parametrize(("found", "index"), [(3, 3), (0, 0), (-1, -1), ("3", 0), (True, 0), (3.0, 0), (None, 0)])
def test_an_index_is_an_int_or_0(found: Any, index: int) -> None:
    assert get_index({"index": found}, "index") == index
    assert get_index(ChoiceDelta.construct(index=found), "index") == index


@alike
@pytest.mark.parametrize("name", ["content", "refusal", "x_text", "x_new"])
def test_a_field_is_set_and_removed(which: int, name: str) -> None:
    value = makes()[which]
    put(value, name, "new")
    assert get(value, name) == "new"
    drop(value, name)
    assert get(value, name) is None
    drop(value, name)
    assert {key: field for key, field in SHAPE.items() if key != name}.items() <= {
        **fields(value),
        **extras(value),
    }.items()


def test_what_the_client_writes_of_a_removed_field_is_nothing_or_null() -> None:
    value, _, _ = makes()
    for name in ("content", "x_text"):
        drop(value, name)
    written = value.to_dict()
    assert written.get("content") is None
    assert "x_text" not in written
    assert ChoiceDelta.model_validate(written) == value


@alike
def test_a_bare_copy_has_the_fields_to_keep_and_leaves_the_object(which: int) -> None:
    value = makes()[which]
    copied = bare(value, ("content", "x_list"))
    assert type(copied) is type(value)
    assert {name: get(copied, name) for name in SHAPE} == {**dict.fromkeys(SHAPE), "content": "a", "x_list": [1]}
    put(copied, "content", "other")
    put(copied, "x_text", "other")
    assert {name: get(value, name) for name in SHAPE} == SHAPE


def test_a_list_becomes_what_the_class_declares() -> None:
    annotation: dict[str, Any] = {
        "type": "url_citation",
        "url_citation": {"start_index": 0, "end_index": 1, "title": "t", "url": "u"},
    }
    message = ChatCompletionMessage.construct(content="a")
    put_list(message, "annotations", [copy.deepcopy(annotation), Annotation.construct(**copy.deepcopy(annotation))])
    assert [type(each) for each in message.annotations or []] == [Annotation, Annotation]
    assert plain(message)["annotations"] == [annotation, annotation]
    for undeclared in makes():
        put_list(undeclared, "annotations", [annotation])
        assert get(undeclared, "annotations") == [annotation]
    put_list(message, "annotations", [])
    assert message.annotations == []


@alike
def test_a_dict_of_an_object_is_its_own(which: int) -> None:
    value = makes()[which]
    found = as_dict(value)
    assert found == SHAPE
    found["content"] = "other"
    assert get(value, "content") == "a"
