"""Surrogates in text: joined where two make a character, else replaced."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamcite.surrogates import replace_surrogates


@pytest.mark.parametrize(
    ("text", "replaced", "count"),
    [
        ("", "", 0),
        ("é 😀 \ufffd", "é 😀 \ufffd", 0),
        ("\ud83d\ude00", "😀", 0),
        ("\ud83d", "\ufffd", 1),
        ("\ude00\ud83d", "\ufffd\ufffd", 2),
        ("\ud83d\ud83d\ude00\ude00", "\ufffd😀\ufffd", 2),
    ],
    ids=ascii,
)
def test_pairs_are_joined_and_the_rest_is_replaced(text: str, replaced: str, count: int) -> None:
    assert replace_surrogates(text) == (replaced, count)


@given(st.text(st.characters() | st.sampled_from("\ud800\udbff\udc00\udfff\ufffd😀")))
def test_the_codec_replaces_the_same(text: str) -> None:
    replaced, count = replace_surrogates(text)
    assert replaced == text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    assert count == replaced.count("\ufffd") - text.count("\ufffd")
