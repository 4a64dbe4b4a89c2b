"""`streamcite.sse.encode` and `encode_json`: the frame that is written is the event that is read."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamcite.sse import encode, encode_json

LINE_END = re.compile(rb"\r\n|\r|\n")
text = st.text(
    st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from("\r\n: \ufeff\u2028\u2029\x85\ue200"))
)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(
        st.characters(exclude_categories=[]) | st.sampled_from("\r\n\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029\ud83d\ude00\\")
    ),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(), values, max_size=3),
    max_leaves=8,
)
field = st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"]))


def read(frame: bytes) -> dict[str, list[str]]:
    """The fields of one frame, read as the standard's section 9.2.6 says, line by line."""
    assert frame.endswith(b"\n\n")
    fields: dict[str, list[str]] = {}
    for line in LINE_END.split(frame[:-2]):
        assert line, "an empty line would end the event early"
        name, _, value = line.decode().partition(":")
        fields.setdefault(name, []).append(value.removeprefix(" "))
    return fields


def test_frames_byte_for_byte() -> None:
    assert encode("") == b"data: \n\n"
    assert encode("[DONE]") == b"data: [DONE]\n\n"
    assert encode("a\nb\r\nc\rd\n") == b"data: a\ndata: b\ndata: c\ndata: d\ndata: \n\n"
    assert encode(" \ue200") == b"data:  \xee\x88\x80\n\n"
    assert encode("x", event="end", id="7") == b"event: end\nid: 7\ndata: x\n\n"
    assert encode("x", event="", id="") == b"event: \nid: \ndata: x\n\n"


@given(text, st.none() | field, st.none() | field)
def test_a_reader_gets_back_what_was_written(data: str, event: str | None, id: str | None) -> None:
    fields = read(encode(data, event=event, id=id))
    assert "\n".join(fields.pop("data")) == data.replace("\r\n", "\n").replace("\r", "\n")
    assert fields.pop("event", [None]) == [event]
    assert fields.pop("id", [None]) == [id]
    assert not fields


def test_line_breaks_that_are_not_line_ends_stay_in_their_line() -> None:
    assert encode("a\u2028b\u2029c\x85d\x0be").count(b"data:") == 1


def test_surrogates_are_joined_or_replaced() -> None:
    assert encode("\ud83d\ude00 \ud83d") == "data: \U0001f600 \ufffd\n\n".encode()


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n"])
def test_a_line_end_in_event_or_id_is_misuse(end: str) -> None:
    with pytest.raises(ValueError, match=r"^event: must be a string without line ends"):
        encode("x", event=f"a{end}data: forged")
    with pytest.raises(ValueError, match=r"^id: must be a string without line ends"):
        encode("x", id=f"1{end}")


@pytest.mark.parametrize("data", [None, b"x", 5, {"a": 1}], ids=repr)
def test_data_that_is_not_text_is_misuse(data: Any) -> None:
    with pytest.raises(TypeError, match=f"^data: must be a str, not {type(data).__name__}; .* encode_json$"):
        encode(data)


def test_nul_and_surrogates_in_fields_are_misuse() -> None:
    with pytest.raises(ValueError, match=r"^id: must be .* and NUL, not '1\\x00'$"):
        encode("x", id="1\0")
    with pytest.raises(ValueError, match=r"^event: must be .* surrogates, not '\\ud83d'$"):
        encode("x", event="\ud83d")
    with pytest.raises(ValueError, match=r"^id: must be "):
        encode("x", id="\ud83d\ude00")


# JSON


def test_json_frames_byte_for_byte() -> None:
    assert encode_json({"a": [1, None, "é\n"]}) == 'data: {"a":[1,null,"é\\n"]}\n\n'.encode()
    assert encode_json("a\u2028b\u2029c\x85") == b'data: "a\\u2028b\\u2029c\\u0085"\n\n'
    assert encode_json("\\\u2028") == b'data: "\\\\\\u2028"\n\n'
    assert encode_json("\ud83d", event="e", id="1") == b'event: e\nid: 1\ndata: "\\ud83d"\n\n'


@given(values)
def test_a_json_frame_is_one_line_for_every_reader_and_loses_nothing(value: Any) -> None:
    line, empty = encode_json(value).decode().splitlines()
    assert empty == ""
    assert json.loads(line.removeprefix("data: ")) == json.loads(json.dumps(value))


def test_what_json_has_not_is_misuse() -> None:
    for number in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="not JSON compliant"):
            encode_json([number])
    with pytest.raises(TypeError, match="not JSON serializable"):
        encode_json({1, 2})
    with pytest.raises(ValueError, match=r"^event: must be "):
        encode_json({}, event="a\nb")
