"""How `iter_events` closes what it was given: once, whatever ends the reading."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, cast

import pytest

from streamcite.stream import AsyncEventStream, EventStream, aiter_events, iter_events
from tests.chunks import (
    DELTAS,
    EVENTS,
    OPEN,
    Asked,
    Chunks,
    Closable,
    LostError,
    async_sources,
    closings_of,
    on_both_backends,
    sync_sources,
)


def reads_to_the_end(stream: EventStream) -> None:
    assert list(stream) == EVENTS


def closes(stream: EventStream) -> None:
    assert next(stream) == EVENTS[0]
    stream.close()


def closes_before_the_first_event(stream: EventStream) -> None:
    stream.close()


def closes_twice(stream: EventStream) -> None:
    closes(stream)
    stream.close()


def closes_behind_the_end(stream: EventStream) -> None:
    reads_to_the_end(stream)
    stream.close()


def breaks_in_a_with_block(stream: EventStream) -> None:
    with stream as entered:
        assert entered is stream
        for event in entered:
            assert event == EVENTS[0]
            break


def fails_in_a_with_block(stream: EventStream) -> None:
    with suppress(LostError), stream:
        for _ in stream:
            raise LostError


def reads_to_the_end_in_a_with_block(stream: EventStream) -> None:
    with stream:
        reads_to_the_end(stream)


WAYS: list[Callable[[EventStream], None]] = [
    reads_to_the_end,
    closes,
    closes_before_the_first_event,
    closes_twice,
    closes_behind_the_end,
    breaks_in_a_with_block,
    fails_in_a_with_block,
    reads_to_the_end_in_a_with_block,
]


@pytest.mark.parametrize("text", [None, str])
@pytest.mark.parametrize("way", WAYS)
@sync_sources
def test_every_way_closes_what_was_given_once(
    kind: type[Any], closings: list[str], way: Callable[[EventStream], None], text: Callable[[Any], str] | None
) -> None:
    source = kind()
    stream = iter_events(source, text=text)
    way(stream)
    assert closings_of(source) == closings
    assert list(stream) == []
    stream.close()
    assert closings_of(source) == closings


@pytest.mark.parametrize("text", [None, str])
@sync_sources
def test_leaving_the_loop_closes_what_was_given(
    kind: type[Any], closings: list[str], text: Callable[[Any], str] | None
) -> None:
    source = kind()
    for event in iter_events(source, text=text):
        assert event == EVENTS[0]
        break
    assert closings_of(source) == closings


@sync_sources
def test_an_error_in_the_loop_closes_what_was_given(kind: type[Any], closings: list[str]) -> None:
    source = kind()
    with suppress(LostError):
        for _ in iter_events(source):
            raise LostError
    assert closings_of(source) == closings


@sync_sources
def test_an_error_in_the_source_closes_it_and_keeps_what_is_held(kind: type[Any], closings: list[str]) -> None:
    source = kind(DELTAS[:3], LostError())
    stream = iter_events(source, complete=True)
    assert next(stream) == EVENTS[0]
    with pytest.raises(LostError):
        next(stream)
    assert closings_of(source) == closings
    assert stream.held == "\ue200cite\ue202turn0"
    assert list(stream) == []


@on_both_backends
@async_sources
async def test_an_error_in_text_closes_what_was_given_async(kind: type[Any], closings: list[str]) -> None:
    source = kind([{"delta": OPEN}, {}])
    stream: AsyncEventStream = aiter_events(source, text=lambda chunk: chunk["delta"])
    with pytest.raises(KeyError):
        async for _ in stream:
            pass
    assert closings_of(source) == closings
    assert stream.held == OPEN


@sync_sources
def test_an_error_in_text_closes_what_was_given(kind: type[Any], closings: list[str]) -> None:
    source = kind([{"delta": OPEN}, {}])
    stream: EventStream = iter_events(source, text=lambda chunk: chunk["delta"])
    with pytest.raises(KeyError):
        list(stream)
    assert closings_of(source) == closings
    assert stream.held == OPEN


def test_an_error_in_complete_closes_what_was_given() -> None:
    source = Closable([OPEN])

    def complete() -> bool:
        raise LostError

    stream = iter_events(source, complete=complete)
    with pytest.raises(LostError):
        list(stream)
    assert source.closings == ["close"]
    assert stream.held == OPEN


def test_a_generator_is_closed() -> None:
    closed = []

    def generate() -> Iterator[str]:
        try:
            yield from DELTAS
        finally:
            closed.append(True)

    stream = iter_events(generate())
    assert next(stream) == EVENTS[0]
    stream.close()
    assert closed == [True]


def test_what_is_held_can_be_read_after_close() -> None:
    stream = iter_events(Closable(["\ue202", OPEN, "\ue202", "more"]))
    next(stream)
    stream.close()
    assert stream.held == ""
    stream = iter_events(Closable(["\ue202" + OPEN, "\ue202", "more"]))
    next(stream)
    stream.close()
    assert stream.held == OPEN


class Stuck(Chunks):
    """Fail to be closed."""

    def close(self) -> None:
        self.closings.append("close")
        raise LostError


class StuckOutside(Stuck):
    """Fail to be closed, over another one that does so too."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = Stuck()

    def __iter__(self) -> Iterator[Any]:
        return self.inner


def test_an_error_in_closing_is_seen_and_all_are_closed() -> None:
    for way in (closes, closes_before_the_first_event, list):
        source = StuckOutside()
        with pytest.raises(LostError):
            way(iter_events(source))
        assert source.inner.closings == source.closings == ["close"]


def test_an_error_in_closing_does_not_hide_the_one_before() -> None:
    class Broken(Chunks):
        def close(self) -> None:
            raise OSError("close")

    with pytest.raises(OSError, match="close") as caught:
        list(iter_events(Broken(DELTAS[:2], LostError("lost"))))
    assert isinstance(caught.value.__context__, LostError)


@pytest.mark.parametrize("way", WAYS)
def test_complete_is_asked_once_at_a_normal_end_only(way: Callable[[EventStream], None]) -> None:
    source = Closable()
    asked = Asked(source)
    way(iter_events(source, complete=asked))
    assert asked.answers == ([len(DELTAS)] if "end" in way.__name__ else [])


def test_complete_is_not_asked_after_an_error() -> None:
    source = Closable([OPEN], LostError())
    asked = Asked(source)
    with pytest.raises(LostError):
        list(iter_events(source, complete=asked))
    with pytest.raises(TypeError):
        list(iter_events(cast("Any", [OPEN, 1]), complete=asked))
    assert asked.answers == []
