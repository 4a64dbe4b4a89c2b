"""The options of a parser, its limits by default, and what mistakes in the program raise."""

from collections.abc import Callable
from typing import Any

import pytest

from streamcite import Citation, CitationFormat, Malformed, OtherMarker
from streamcite.parser import CitationParser, ParserClosed, clean, parse
from tests import strategies as sc
from tests.markers import OPEN
from tests.reading import joined, read_through


@pytest.mark.parametrize(
    ("options", "error", "name"),
    [
        ({"malformed": "hide"}, ValueError, "malformed"),
        ({"malformed": None}, ValueError, "malformed"),
        ({"max_marker": 7}, ValueError, "max_marker"),
        ({"max_marker": -1}, ValueError, "max_marker"),
        ({"max_payload": 4095}, ValueError, "max_payload"),
        ({"max_marker": 100, "max_payload": 99}, ValueError, "max_payload"),
        ({"format": None}, TypeError, "format"),
        ({"format": "openai"}, TypeError, "format"),
    ],
)
def test_a_bad_option_is_refused_by_name(options: dict[str, Any], error: type[Exception], name: str) -> None:
    for use in (lambda: CitationParser(**options), lambda: parse("", **options), lambda: clean("", **options)):
        with pytest.raises(error, match=f"^{name}: "):
            use()


@pytest.mark.parametrize(
    "options",
    [
        *({"max_marker": "9"}, {"max_marker": None}, {"max_marker": 4096.0}, {"max_marker": [9]}, {"max_payload": "9"}),
        *({"malformed": ["drop"]}, {"format": {"start": "["}}, {"other": 1}),
    ],
)
def test_an_option_of_a_wrong_type_is_refused_whatever_was_made_before(options: dict[str, Any]) -> None:
    for _ in range(2):
        with pytest.raises((TypeError, ValueError), match=f"{next(iter(options))}"):
            CitationParser(**options)
        CitationParser()


def test_the_limits_by_default() -> None:
    marker = OPEN + "a" * (4096 - len(OPEN) - 1)
    payload = "\ue200g\ue202" + "a" * (65536 - 4)
    assert [len(event.raw) for event in parse(f"{marker}\ue201") if isinstance(event, Citation)] == [4096]
    assert isinstance(parse(f"{marker}a\ue201")[0], Malformed)
    assert [len(event.raw) for event in parse(f"{payload}\ue201") if isinstance(event, OtherMarker)] == [65536]
    assert isinstance(parse(f"{payload}a\ue201")[0], Malformed)
    # A higher limit of markers is one of payloads too.
    (event,) = parse(f"{payload}aaaa\ue201", max_marker=70_000)
    assert isinstance(event, OtherMarker)


@pytest.mark.parametrize("state", ["", "text", "\ue200", "\ue200ci", OPEN, OPEN + "a", OPEN + "a ", "\ue200g\ue202{"])
@pytest.mark.parametrize("delta", [None, 1, b"", b"bytes", ["a", "b"], ("a",), bytearray(b"x"), {"a": "b"}])
def test_a_delta_that_is_not_a_str_is_refused_and_changes_nothing(state: str, delta: Any) -> None:
    parser = CitationParser()
    before = parser.feed(state)
    snapshot = parser.snapshot()
    with pytest.raises(TypeError):
        parser.feed(delta)
    assert parser.snapshot() == snapshot
    rest = "turn0file1\ue202L8-L13\ue201 text"
    assert joined(before + read_through(parser, [rest])) == parse(state + rest)


@pytest.mark.parametrize("text", [None, 1, b"", b"bytes", ["a"]])
def test_a_text_that_is_not_a_str_is_refused(text: Any) -> None:
    with pytest.raises(TypeError):
        parse(text)
    with pytest.raises(TypeError):
        clean(text)


@pytest.mark.parametrize("state", ["", "text", "\ue200ci", OPEN, OPEN + "turn0file1", "[["])
@pytest.mark.parametrize("delta", ["", "text", "\ue200", "turn0file1", None])
def test_feed_after_close_is_refused(state: str, delta: Any) -> None:
    parser = CitationParser()
    parser.feed(state)
    parser.close()
    assert parser.held == ""
    with pytest.raises(ParserClosed, match="close"):
        parser.feed(delta)
    assert parser.close() == []
    assert parser.close(complete=True) == []


def test_feed_after_close_is_refused_where_nothing_is_plain() -> None:
    parser = CitationParser(CitationFormat(**sc.BRACKETS))
    assert parser.feed("a") == ["a"]
    assert parser.close() == []
    with pytest.raises(ParserClosed):
        parser.feed("a")


@pytest.mark.parametrize("fed", [[], ["\ue200ci"], [OPEN], [OPEN + " "], ["\ue200g\ue202{"]], ids=repr)
@pytest.mark.parametrize("delta", [None, 5, b"a", b" ", [], ["a"], [" "], ("a",)], ids=repr)
def test_what_is_not_a_delta_is_refused_by_name_and_changes_nothing(fed: list[str], delta: Any) -> None:
    parser = CitationParser()
    for before in fed:
        parser.feed(before)
    snapshot = parser.snapshot()
    with pytest.raises(TypeError, match=f"^delta: must be a str, not {type(delta).__name__}$"):
        parser.feed(delta)
    assert parser.snapshot() == snapshot


@pytest.mark.parametrize("text", [None, 5, b"a", ["a"]], ids=repr)
@pytest.mark.parametrize("read", [parse, clean], ids=["parse", "clean"])
def test_what_is_not_text_is_refused_by_name(read: Callable[[Any], object], text: Any) -> None:
    with pytest.raises(TypeError, match=f"^text: must be a str, not {type(text).__name__}$"):
        read(text)


class Odd(str):
    """A string that fails in a way of its own."""

    __slots__ = ()

    def __len__(self) -> int:
        raise TypeError("odd")


def test_an_error_of_the_delta_itself_is_not_renamed() -> None:
    with pytest.raises(TypeError, match=r"^odd$"):
        CitationParser().feed(Odd("a"))
