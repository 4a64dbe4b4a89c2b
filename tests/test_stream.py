"""`iter_events` and `aiter_events`: what a parser gives, read as it is wanted, and everything closed once.

Nothing here imports anyio at the top: what is not asynchronous is tested where it is not installed, too.
"""

import asyncio
import gc
import itertools
import sys
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import nullcontext, suppress
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamcite import Citation, CitationFormat, Event, Malformed, ParserOptions, Reference, parse
from streamcite.parser import CitationParser
from streamcite.stream import AsyncEventStream, EventStream, aiter_events, iter_events
from tests import strategies as sc
from tests.reading import joined

OPEN = "\ue200cite\ue202turn0file1"
DELTAS = ["It lasts. ", "\ue200cite", "\ue202turn0", "file1\ue201", " And", "", " \U0001f600."]
CITATION = Citation(family="cite", references=(Reference("turn0file1"),), raw=f"{OPEN}\ue201", start=10, position=10)
EVENTS = ["It lasts. ", CITATION, " And", " \U0001f600."]

on_both_backends = pytest.mark.anyio


class LostError(Exception):
    """What a source raises when its connection is lost."""


class Source:
    """Hand out chunks, then raise `error` if there is one; note what was read and what was called to close it."""

    def __init__(self, chunks: Iterable[Any] = DELTAS, error: Exception | None = None) -> None:
        self.chunks = iter(chunks)
        self.error = error
        self.read = 0
        self.closings: list[str] = []

    def next(self, end: type[Exception]) -> Any:
        for chunk in self.chunks:
            self.read += 1
            return chunk
        raise self.error or end


class Chunks(Source):
    """Have no way to be closed."""

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return self.next(StopIteration)


class Closable(Chunks):
    def close(self) -> None:
        self.closings.append("close")


class Reiterable(Source):
    """Be iterable by another object, as a client's stream is by a generator."""

    def __init__(self, chunks: Iterable[Any] = DELTAS, error: Exception | None = None) -> None:
        super().__init__(chunks, error)
        self.iterator = Closable(chunks, error)

    def __iter__(self) -> Iterator[Any]:
        return self.iterator

    def close(self) -> None:
        assert self.iterator.closings == ["close"]
        self.closings.append("close")


class AsyncChunks(Source):
    """Have no way to be closed."""

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        return self.next(StopAsyncIteration)


async def pause() -> None:
    """Let every other task run, more than once."""
    from anyio.lowlevel import checkpoint

    for _ in range(5):
        await checkpoint()


class Aclosable(AsyncChunks):
    """Have both names, of which `aclose` is the one for asynchronous code; and take a while."""

    async def aclose(self) -> None:
        await pause()
        self.closings.append("aclose")

    def close(self) -> None:
        self.closings.append("close")


class CoroutineClosable(AsyncChunks):
    async def close(self) -> None:
        await pause()
        self.closings.append("close")


class PlainClosable(AsyncChunks):
    def close(self) -> None:
        self.closings.append("close")


class AsyncReiterable(Source):
    def __init__(self, chunks: Iterable[Any] = DELTAS, error: Exception | None = None) -> None:
        super().__init__(chunks, error)
        self.iterator = Aclosable(chunks, error)

    def __aiter__(self) -> AsyncIterator[Any]:
        return self.iterator

    async def close(self) -> None:
        assert self.iterator.closings == ["aclose"]
        self.closings.append("close")


SYNC_SOURCES: dict[type[Any], list[str]] = {Chunks: [], Closable: ["close"], Reiterable: ["close"]}
ASYNC_SOURCES: dict[type[Any], list[str]] = {
    AsyncChunks: [],
    Aclosable: ["aclose"],
    CoroutineClosable: ["close"],
    PlainClosable: ["close"],
    AsyncReiterable: ["close"],
}
sync_sources = pytest.mark.parametrize(("kind", "closings"), SYNC_SOURCES.items())
async_sources = pytest.mark.parametrize(("kind", "closings"), ASYNC_SOURCES.items())


def closings_of(source: Source) -> list[str]:
    """Return how a source was closed, and see that its iterator was closed as often where that is another object."""
    if isinstance(source, Reiterable | AsyncReiterable):
        assert len(source.iterator.closings) == len(source.closings)
    return source.closings


# The same events as from `feed`.


def fed(deltas: Iterable[str], options: ParserOptions, *, complete: bool = False) -> list[Event]:
    parser = CitationParser(**options)
    events = list(itertools.chain.from_iterable(map(parser.feed, deltas)))
    return events + parser.close(complete=complete)


@st.composite
def cut_inputs(draw: st.DrawFn) -> tuple[list[str], ParserOptions, bool]:
    args, options, text, complete = draw(sc.inputs())
    deltas = draw(sc.cuts(text))
    return deltas, cast("ParserOptions", {"format": CitationFormat(**args), **options}), complete


@given(cut_inputs())
def test_events_are_those_of_feed(drawn: tuple[list[str], ParserOptions, bool]) -> None:
    deltas, options, complete = drawn
    expected = fed(deltas, options, complete=complete)
    stream = iter_events(deltas, complete=complete, **options)
    assert list(stream) == expected
    assert stream.held == ""
    assert list(iter_events(deltas, text=lambda delta: delta or None, complete=lambda: complete, **options)) == expected


@pytest.mark.anyio
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@given(cut_inputs())
def test_async_events_are_those_of_feed(backend: str, drawn: tuple[list[str], ParserOptions, bool]) -> None:
    import anyio

    deltas, options, complete = drawn

    async def read() -> list[Event]:
        return [event async for event in aiter_events(AsyncChunks(deltas), complete=complete, **options)]

    assert anyio.run(read, backend=backend) == fed(deltas, options, complete=complete)


def test_a_stream_of_deltas() -> None:
    assert list(iter_events(DELTAS)) == EVENTS
    assert list(iter_events(iter(DELTAS))) == EVENTS
    assert list(iter_events(delta for delta in DELTAS)) == EVENTS
    assert list(iter_events([])) == []


@on_both_backends
async def test_an_async_stream_of_deltas() -> None:
    async def generate() -> AsyncIterator[str]:
        for delta in DELTAS:
            yield delta

    assert [event async for event in aiter_events(AsyncChunks())] == EVENTS
    assert [event async for event in aiter_events(generate())] == EVENTS
    assert [event async for event in aiter_events(AsyncChunks([]))] == []


CHUNKS: list[dict[str, Any]] = [
    {"n": 1},
    {"delta": "a"},
    {"delta": None},
    {"delta": ""},
    *({"delta": delta} for delta in DELTAS),
]


def test_text_picks_the_delta_out_of_a_chunk() -> None:
    assert list(iter_events(CHUNKS, text=lambda chunk: chunk.get("delta"))) == list(iter_events(["a", *DELTAS]))
    assert list(iter_events(DELTAS, text=None)) == EVENTS


@on_both_backends
async def test_text_picks_the_delta_out_of_an_async_chunk() -> None:
    stream = aiter_events(AsyncChunks(CHUNKS), text=lambda chunk: chunk.get("delta"))
    assert [event async for event in stream] == list(iter_events(["a", *DELTAS]))


PLAIN = ["It ", "lasts", " and\n", "中文", "\U0001f600"] * 100


@pytest.fixture
def reached(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collect the deltas that reach the parser, but for empty ones."""
    deltas: list[str] = []
    feed = CitationParser.feed

    def counted(self: CitationParser, delta: str) -> list[Event]:
        if delta:
            deltas.append(delta)
        return feed(self, delta)

    monkeypatch.setattr(CitationParser, "feed", counted)
    return deltas


def test_plain_deltas_do_not_reach_the_parser(reached: list[str]) -> None:
    for event, delta in zip(iter_events(PLAIN), PLAIN, strict=True):
        assert event is delta
    assert reached == []
    events = list(iter_events([*PLAIN, *DELTAS]))
    assert reached == DELTAS[1:4]
    assert joined(events) == parse("".join([*PLAIN, *DELTAS]))


@on_both_backends
async def test_plain_async_deltas_do_not_reach_the_parser(reached: list[str]) -> None:
    events = [event async for event in aiter_events(AsyncChunks(PLAIN))]
    assert all(event is delta for event, delta in zip(events, PLAIN, strict=True))
    assert reached == []
    events = [event async for event in aiter_events(AsyncChunks([*PLAIN, *DELTAS]))]
    assert reached == DELTAS[1:4]
    assert joined(events) == parse("".join([*PLAIN, *DELTAS]))


def test_without_something_to_close_no_anyio_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anyio", None)

    async def read() -> list[Event]:
        return [event async for event in aiter_events(AsyncChunks())]

    assert asyncio.run(read()) == EVENTS


# Misuse.


@pytest.mark.parametrize("given", [None, 1, object(), AsyncChunks()])
def test_what_is_no_iterable_is_refused_at_once(given: Any) -> None:
    with pytest.raises(TypeError, match=r"^chunks: must be an iterable, not .*aiter_events"):
        iter_events(given)


@pytest.mark.parametrize("given", [None, 1, object(), DELTAS, "text"])
def test_what_is_no_async_iterable_is_refused_at_once(given: Any) -> None:
    with pytest.raises(TypeError):
        aiter_events(given)


def test_a_bad_option_is_refused_at_once_and_the_source_is_left_alone() -> None:
    source, async_source = Closable(), Aclosable()
    for options in ({"malformed": "hide"}, {"max_marker": 7}):
        (name,) = options
        with pytest.raises(ValueError, match=f"^{name}: "):
            iter_events(source, **cast("Any", options))
        with pytest.raises(ValueError, match=f"^{name}: "):
            aiter_events(async_source, **cast("Any", options))
    with pytest.raises(TypeError, match="other"):
        iter_events(source, other=1)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="other"):
        aiter_events(async_source, other=1)  # type: ignore[call-overload]
    assert source.read + async_source.read == 0
    assert source.closings + async_source.closings == []


@pytest.mark.parametrize(
    ("name", "value"), [("text", "delta"), ("text", 1), ("complete", None), ("complete", 1), ("complete", "yes")]
)
def test_what_is_no_function_is_refused_at_once_and_by_name(name: str, value: Any) -> None:
    source, async_source = Closable(), Aclosable()
    with pytest.raises(TypeError, match=rf"^{name}: "):
        iter_events(source, **{name: value})
    with pytest.raises(TypeError, match=rf"^{name}: "):
        aiter_events(async_source, **{name: value})
    assert source.read + async_source.read == 0
    assert source.closings + async_source.closings == []


WRONG = [None, 1, b"bytes", ["a"]]


@pytest.mark.parametrize("before", [[], ["text"], ["\ue200ci"], [OPEN], ["[["]])
@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("text", [None, lambda chunk: chunk])
def test_a_delta_that_is_no_str_is_an_error(wrong: Any, before: list[str], text: Any) -> None:
    source = Closable([*before, wrong, "more"])
    stream: EventStream = iter_events(source, text=text)
    if text and wrong is None:
        assert joined(stream) == parse("".join(before) + "more")
        return
    with pytest.raises(TypeError):
        list(stream)
    assert source.closings == ["close"]
    assert stream.held == ("" if before in ([], ["text"], ["[["]) else before[0])


@on_both_backends
@pytest.mark.parametrize("before", [[], ["text"], [OPEN]])
@pytest.mark.parametrize("wrong", WRONG)
async def test_an_async_delta_that_is_no_str_is_an_error(wrong: Any, before: list[str]) -> None:
    source = Aclosable([*before, wrong, "more"])
    stream = aiter_events(source)
    with pytest.raises(TypeError):
        async for _ in stream:
            pass
    assert source.closings == ["aclose"]
    assert stream.held == ("" if before != [OPEN] else OPEN)


# Nothing is read before it is wanted.


def test_nothing_is_read_ahead() -> None:
    source = Chunks()
    stream = iter_events(source)
    assert source.read == 0
    assert [(next(stream), source.read) for _ in EVENTS] == list(zip(EVENTS, [1, 4, 5, 7], strict=True))
    assert stream.held == ""
    assert next(stream, None) is None
    assert next(stream, None) is None


@on_both_backends
async def test_nothing_is_read_ahead_async() -> None:
    source = AsyncChunks()
    stream = aiter_events(source)
    assert source.read == 0
    assert [(await anext(stream), source.read) for _ in EVENTS] == list(zip(EVENTS, [1, 4, 5, 7], strict=True))
    assert [await anext(stream, None) for _ in range(2)] == [None, None]


def test_all_events_of_a_chunk_come_before_the_next_is_read() -> None:
    source = Chunks(["a\ue202b\ue201c", "d"])
    stream = iter_events(source)
    assert [(str(next(stream)), source.read) for _ in range(6)] == [
        *((text, 1) for text in ("a", "", "b", "", "c")),
        ("d", 2),
    ]


def test_iteration_can_be_taken_up_again() -> None:
    stream = iter_events(Chunks())
    assert isinstance(stream, Iterator)
    assert next(stream) == EVENTS[0]
    assert list(itertools.islice(stream, 1)) == [EVENTS[1]]
    for event in stream:
        assert event == EVENTS[2]
        break
    assert list(stream) == EVENTS[3:]


@on_both_backends
async def test_async_iteration_can_be_taken_up_again() -> None:
    async with aiter_events(AsyncChunks()) as stream:
        assert isinstance(stream, AsyncIterator)
        assert await anext(stream) == EVENTS[0]
        async for event in stream:
            assert event == EVENTS[1]
            break
        assert [event async for event in stream] == EVENTS[2:]


def test_what_is_held_can_be_read_at_any_time() -> None:
    text = "a\ue200cite"
    stream = iter_events(Chunks([*text, "\ue202b", "\ue201"]))
    assert next(stream) == "a"
    assert stream.held == ""
    (citation,) = stream
    assert isinstance(citation, Citation)
    stream = iter_events(Chunks(["\ue202\ue200ci", "te"]))
    assert isinstance(next(stream), Malformed)
    assert stream.held == "\ue200ci"


# The end: every way to it closes what was given once.


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


def test_what_is_held_can_be_read_behind_close() -> None:
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


# How the answer ended.


@pytest.mark.parametrize("complete", [True, False])
def test_complete_goes_to_close(complete: bool) -> None:
    expected = parse(OPEN, complete=complete)
    assert list(iter_events([OPEN], complete=complete)) == expected
    assert list(iter_events([OPEN], complete=lambda: complete)) == expected
    assert [type(event) for event in expected] == [Citation if complete else Malformed]
    assert list(iter_events([OPEN])) == parse(OPEN)


@on_both_backends
@pytest.mark.parametrize("complete", [True, False])
async def test_complete_goes_to_close_async(complete: bool) -> None:
    expected = parse(OPEN, complete=complete)
    assert [event async for event in aiter_events(AsyncChunks([OPEN]), complete=complete)] == expected
    assert [event async for event in aiter_events(AsyncChunks([OPEN]), complete=lambda: complete)] == expected


class Asked:
    """Count how often it is asked, and say how much of the source was read then."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.answers: list[int] = []

    def __call__(self) -> bool:
        self.answers.append(self.source.read)
        return True


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


# The end, where it is waited for.


async def areads_to_the_end(stream: AsyncEventStream) -> None:
    assert [event async for event in stream] == EVENTS


async def acloses(stream: AsyncEventStream) -> None:
    assert await anext(stream) == EVENTS[0]
    await stream.aclose()


async def acloses_before_the_first_event(stream: AsyncEventStream) -> None:
    await stream.aclose()


async def acloses_twice(stream: AsyncEventStream) -> None:
    await acloses(stream)
    await stream.aclose()


async def acloses_behind_the_end(stream: AsyncEventStream) -> None:
    await areads_to_the_end(stream)
    await stream.aclose()


async def breaks_in_an_async_with_block(stream: AsyncEventStream) -> None:
    async with stream as entered:
        assert entered is stream
        async for event in entered:
            assert event == EVENTS[0]
            break


async def fails_in_an_async_with_block(stream: AsyncEventStream) -> None:
    with suppress(LostError):
        async with stream:
            async for _ in stream:
                raise LostError


async def areads_to_the_end_in_an_async_with_block(stream: AsyncEventStream) -> None:
    async with stream:
        await areads_to_the_end(stream)


ASYNC_WAYS: list[Callable[[AsyncEventStream], Awaitable[None]]] = [
    areads_to_the_end,
    acloses,
    acloses_before_the_first_event,
    acloses_twice,
    acloses_behind_the_end,
    breaks_in_an_async_with_block,
    fails_in_an_async_with_block,
    areads_to_the_end_in_an_async_with_block,
]


@on_both_backends
@pytest.mark.parametrize("text", [None, str])
@pytest.mark.parametrize("way", ASYNC_WAYS)
@async_sources
async def test_every_async_way_closes_what_was_given_once(
    kind: type[Any],
    closings: list[str],
    way: Callable[[AsyncEventStream], Awaitable[None]],
    text: Callable[[Any], str] | None,
) -> None:
    source = kind()
    asked = Asked(source.iterator if kind is AsyncReiterable else source)
    stream = aiter_events(source, text=text, complete=asked)
    await way(stream)
    assert closings_of(source) == closings
    assert [event async for event in stream] == []
    await stream.aclose()
    assert closings_of(source) == closings
    assert asked.answers == ([len(DELTAS)] if "end" in way.__name__ else [])


@on_both_backends
@async_sources
async def test_an_error_in_an_async_source_closes_it_and_keeps_what_is_held(
    kind: type[Any], closings: list[str]
) -> None:
    source = kind(DELTAS[:3], LostError())
    stream = aiter_events(source, complete=True)
    assert await anext(stream) == EVENTS[0]
    with pytest.raises(LostError):
        await anext(stream)
    assert closings_of(source) == closings
    assert stream.held == "\ue200cite\ue202turn0"
    assert [event async for event in stream] == []


@on_both_backends
@async_sources
@pytest.mark.parametrize("text", [None, str])
async def test_leaving_an_async_loop_closes_what_was_given_when_the_event_loop_finds_time(
    kind: type[Any], closings: list[str], text: Callable[[Any], str] | None
) -> None:
    source = kind()
    with warnings.catch_warnings():
        # Trio, unlike asyncio, wants an asynchronous generator closed by hand, and says so.
        warnings.filterwarnings("ignore", "Async generator", ResourceWarning)
        async for event in aiter_events(source, text=text):
            assert event == EVENTS[0]
            break
        gc.collect()
        for _ in range(5):
            await pause()
    assert closings_of(source) == closings


@on_both_backends
async def test_an_async_generator_is_closed() -> None:
    closed = []

    async def generate() -> AsyncIterator[str]:
        try:
            for delta in DELTAS:
                yield delta
        finally:
            await pause()
            closed.append(True)

    async with aiter_events(generate()) as stream:
        assert await anext(stream) == EVENTS[0]
    assert closed == [True]


class AsyncStuck(AsyncChunks):
    """Fail to be closed."""

    async def aclose(self) -> None:
        await pause()
        self.closings.append("aclose")
        raise LostError


class AsyncStuckOutside(AsyncStuck):
    """Fail to be closed, over another one that does so too."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = AsyncStuck()

    def __aiter__(self) -> AsyncIterator[Any]:
        return self.inner


@on_both_backends
@pytest.mark.parametrize("way", [acloses, acloses_before_the_first_event, areads_to_the_end])
async def test_an_error_in_async_closing_is_seen_and_all_are_closed(
    way: Callable[[AsyncEventStream], Awaitable[None]],
) -> None:
    source = AsyncStuckOutside()
    with pytest.raises(LostError):
        await way(aiter_events(source))
    assert source.inner.closings == source.closings == ["aclose"]


def waiting(kind: type[Any]) -> type[Any]:
    """Return a kind of source that waits for ever behind its last chunk, and says when."""

    class Waiting(kind):  # type: ignore[misc]
        def __init__(self, chunks: Iterable[Any]) -> None:
            import anyio

            super().__init__(chunks)
            self.waits = anyio.Event()

        async def __anext__(self) -> Any:
            from anyio import sleep_forever

            try:
                return await super().__anext__()
            except StopAsyncIteration:
                self.waits.set()
                return await sleep_forever()

    return Waiting


@on_both_backends
@pytest.mark.parametrize(
    ("kind", "closings"), [(kind, closings) for kind, closings in ASYNC_SOURCES.items() if kind is not AsyncReiterable]
)
@pytest.mark.parametrize("in_a_block", [True, False])
@pytest.mark.parametrize("text", [None, str])
async def test_cancelling_while_waiting_loses_nothing_and_closes_to_the_end(
    kind: type[Any], closings: list[str], in_a_block: bool, text: Callable[[Any], str] | None
) -> None:
    import anyio

    source = waiting(kind)(DELTAS[:3])
    asked = Asked(source)
    stream = aiter_events(source, text=text, complete=asked)
    events: list[Event] = []

    async def consume() -> None:
        async with stream if in_a_block else nullcontext():
            async for event in stream:
                events.append(event)  # noqa: PERF401 - what came before the cancellation is wanted

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(consume)
        await source.waits.wait()
        tasks.cancel_scope.cancel()

    assert closings_of(source) == closings
    assert events == EVENTS[:1]
    assert stream.held == "\ue200cite\ue202turn0"
    assert asked.answers == []
    await stream.aclose()
    assert closings_of(source) == closings


@on_both_backends
async def test_cancelling_a_generator_that_waits_closes_it_to_the_end() -> None:
    import anyio

    waits = anyio.Event()
    closed = []

    async def generate() -> AsyncIterator[str]:
        try:
            yield OPEN
            waits.set()
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await pause()
            closed.append(True)

    stream = aiter_events(generate())

    async def consume() -> None:
        async for _ in stream:
            raise AssertionError("no event can be certain")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(consume)
        await waits.wait()
        tasks.cancel_scope.cancel()
    assert closed == [True]
    assert stream.held == OPEN


@on_both_backends
async def test_closing_in_a_cancelled_scope_runs_to_its_end() -> None:
    import anyio

    source = Aclosable()
    with anyio.CancelScope() as scope:
        async with aiter_events(source) as stream:
            assert await anext(stream) == EVENTS[0]
            scope.cancel()
    assert source.closings == ["aclose"]


# What is left of a delta that gives several events.

WHOLE = "".join(DELTAS)


def read_of(events: Iterable[Event]) -> str:
    return "".join(event if isinstance(event, str) else event.raw for event in events)


@pytest.mark.parametrize("count", range(1, 4))
def test_what_was_read_and_not_handed_out_is_held(count: int) -> None:
    stream = iter_events([WHOLE + OPEN])
    taken = list(itertools.islice(stream, count))
    assert read_of(taken) + stream.held == WHOLE + OPEN
    stream.close()
    assert read_of(taken) + stream.held == WHOLE + OPEN
    assert list(stream) == []


@on_both_backends
@pytest.mark.parametrize("count", range(1, 4))
async def test_a_cancelled_consumer_loses_nothing_of_a_delta(count: int) -> None:
    import anyio

    stream = aiter_events(Aclosable([WHOLE + OPEN]))
    taken: list[Event] = []
    with anyio.CancelScope() as scope:
        async with stream:
            async for event in stream:
                taken.append(event)
                if len(taken) == count:
                    scope.cancel()
                    await anyio.sleep_forever()
    assert read_of(taken) + stream.held == WHOLE + OPEN


# Closing from elsewhere, for ever, and with errors.


@on_both_backends
async def test_closing_a_stream_that_another_task_reads_is_refused_and_leaves_it_to_be_closed() -> None:
    import anyio

    source = waiting(Aclosable)(DELTAS[:1])
    stream = aiter_events(source)

    async def consume() -> None:
        async with stream:
            async for _ in stream:
                pass

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(consume)
        await source.waits.wait()
        with pytest.raises(RuntimeError, match="running"):
            await stream.aclose()
        assert source.closings == []
        tasks.cancel_scope.cancel()
    assert source.closings == ["aclose"]


@on_both_backends
async def test_a_closing_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    import anyio

    monkeypatch.setattr("streamcite.driver.CLOSING_TIME", 0.01)

    class Endless(Aclosable):
        async def aclose(self) -> None:
            self.closings.append("aclose")
            await anyio.sleep_forever()

    source = Endless()
    async with aiter_events(source) as stream:
        assert await anext(stream) == EVENTS[0]
    assert source.closings == ["aclose"]


def test_an_error_in_closing_does_not_hide_the_one_before() -> None:
    class Broken(Chunks):
        def close(self) -> None:
            raise OSError("close")

    with pytest.raises(OSError, match="close") as caught:
        list(iter_events(Broken(DELTAS[:2], LostError("lost"))))
    assert isinstance(caught.value.__context__, LostError)


@on_both_backends
async def test_an_error_in_async_closing_does_not_hide_the_one_before() -> None:
    class Broken(Aclosable):
        async def aclose(self) -> None:
            raise OSError("close")

    with pytest.raises(OSError, match="close") as caught:
        async for _ in aiter_events(Broken(DELTAS[:2], LostError("lost"))):
            pass
    assert isinstance(caught.value.__context__, LostError)


@pytest.mark.parametrize("before", [[], ["\ue200ci"]])
@pytest.mark.parametrize("chunk", [None, 5, b"a", ["a"]], ids=repr)
def test_a_chunk_that_is_no_delta_is_refused_with_advice(before: list[str], chunk: Any) -> None:
    with pytest.raises(TypeError, match=f"^delta: must be a str, not {type(chunk).__name__}; .*text="):
        list(iter_events([*before, chunk]))
    with pytest.raises(TypeError, match=f"^delta: must be a str, not {type(chunk or 1).__name__}; .*text="):
        list(iter_events([*before, 1], text=cast("Any", lambda _: chunk or 1)))


@on_both_backends
async def test_an_async_chunk_that_is_no_delta_is_refused_with_advice() -> None:
    with pytest.raises(TypeError, match=r"^chunks: must be an asynchronous iterable, not list; .*iter_events"):
        aiter_events(cast("Any", []))
    with pytest.raises(TypeError, match=r"^delta: must be a str, not bytes; .*text="):
        async for _ in aiter_events(AsyncChunks([b"a"])):
            pass


def broken(chunk: int) -> str:
    if chunk:
        raise TypeError("text of its own")
    return "a delta"


def test_a_type_error_of_the_chunks_keeps_its_words() -> None:
    events = iter_events([0, 1], text=broken)
    assert next(events) == "a delta"
    with pytest.raises(TypeError, match=r"^text of its own$"):
        next(events)


@on_both_backends
async def test_a_type_error_of_asynchronous_chunks_keeps_its_words() -> None:
    async def chunks() -> AsyncIterator[int]:
        for chunk in (0, 1):
            yield chunk

    async with aiter_events(chunks(), text=broken) as events:
        assert await anext(events) == "a delta"
        with pytest.raises(TypeError, match=r"^text of its own$"):
            await anext(events)
