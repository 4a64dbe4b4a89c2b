"""What the fuzzer checks: that it holds for the corpus and for any bytes, and that a fault is found."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzz import inputs, parser, splice, sse
from fuzz.__main__ import TARGETS, load
from streamcite import CitationParser, Event
from tests import splices, sse_streams

CORPUS = Path(__file__).parents[1] / "fuzz" / "corpus"
FILES = sorted(path for path in CORPUS.rglob("*") if path.is_file())


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_the_corpus_holds(path: Path) -> None:
    load(path.parent.name)(path.read_bytes())


def test_each_target_has_a_corpus() -> None:
    assert {path.parent.name for path in FILES} == {*TARGETS}


@settings(max_examples=60)
@given(st.binary(max_size=80))
@pytest.mark.parametrize("target", TARGETS)
def test_any_bytes_are_an_input(target: str, data: bytes) -> None:
    load(target)(data)


def found(target: str) -> bool:
    """Say whether a file of the corpus shows a fault."""

    def fails(check: Callable[[bytes], None], data: bytes) -> bool:
        try:
            check(data)
        except AssertionError:
            return True
        return False

    return any(fails(load(target), path.read_bytes()) for path in FILES if path.parent.name == target)


def test_a_fault_of_the_parser_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    class Losing(CitationParser):
        __slots__ = ()

        def feed(self, delta: str) -> list[Event]:
            return [event for event in super().feed(delta) if event != "x "]

    assert not found("parser")
    monkeypatch.setattr(parser, "CitationParser", Losing)
    assert found("parser")


def test_a_fault_of_the_decoder_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not found("sse")
    monkeypatch.setattr(
        sse, "outcome", lambda parts, **options: sse_streams.outcome([b"".join(parts) + b"\n"], **options)
    )
    assert found("sse")


@pytest.mark.parametrize("bare", [False, True])
def test_a_fault_of_the_splice_is_found(monkeypatch: pytest.MonkeyPatch, bare: bool) -> None:
    def cut(pieces: list[bytes], **options: Any) -> bytes:
        """Lose the last piece of more than one."""
        return splices.spliced(pieces[:-1] or pieces, **options)

    assert not found("splice")
    monkeypatch.setattr(splice, "spliced", cut)
    monkeypatch.setattr(splice, "_check_answer" if bare else "_check_bytes", lambda *_: None)
    assert found("splice")


def test_choices_come_from_the_front() -> None:
    given = inputs.Input(b"13\xffab\xed")
    assert [given.choice("abc"), given.choice("ab"), given.choice("abc")] == ["b", "b", "a"]
    assert given.rest() == b"ab\xed"
    assert given.text(3) == "ab\udced"
    assert inputs.Input(b"").choice("abc") == "a"


@given(st.text(max_size=20), st.randoms(use_true_random=False))
def test_a_cut_loses_nothing(text: str, order: Any) -> None:
    assert "".join(inputs.cut(text, order)) == text
    data = text.encode()
    assert b"".join(inputs.cut_bytes(data, order)) == data
