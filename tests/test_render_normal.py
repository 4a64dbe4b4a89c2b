"""Text as readers of Markdown take it, however it is cut."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamcite.render.normal import Normal

texts = st.text(st.sampled_from("ab\r\n\0\ufdd0\ud83d\ude00🎉\ufeff"), max_size=12)


def read(parts: list[str]) -> str:
    normal = Normal()
    return "".join([*map(normal.read, parts), normal.end()])


@given(texts, st.lists(st.integers(0, 12)))
def test_it_does_not_depend_on_the_cuts(text: str, cuts: list[int]) -> None:
    bounds = sorted({0, len(text), *(min(cut, len(text)) for cut in cuts)})
    assert read([text[begin:end] for begin, end in pairwise(bounds)]) == read([text])


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("a\r\nb\rc\n\r", "a\nb\nc\n\n"),
        ("\ud83d\ude00\ude00\ud83d", "😀\ufffd\ufffd"),
        ("\0\ufdd0", "\ufffd\ufffd"),
        ("\ud83d\r\n", "\ufffd\n"),
        ("", ""),
    ],
)
def test_what_is_read(text: str, normal: str) -> None:
    assert read([text]) == read(list(text)) == normal
