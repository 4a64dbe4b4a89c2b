"""`iter_events` and `aiter_events`: what a parser gives, read as it is wanted, and everything closed once.

Nothing here imports anyio at the top: what is not asynchronous is tested where it is not installed, too.
"""

import asyncio
import itertools
import sys
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamcite import Citation, CitationFormat, Event, Malformed, ParserOptions, parse
from streamcite.parser import CitationParser
from streamcite.stream import EventStream, aiter_events, iter_events
from tests import strategies as sc
from tests.chunks import DELTAS, EVENTS, OPEN, Aclosable, AsyncChunks, Chunks, Closable, on_both_backends
from tests.reading import joined

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
    """Collect the deltas that reach the parser, except for empty ones."""
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
def test_what_is_not_an_iterable_is_refused_at_once(given: Any) -> None:
    with pytest.raises(TypeError, match=r"^chunks: must be an iterable, not .*aiter_events"):
        iter_events(given)


@pytest.mark.parametrize("given", [None, 1, object(), DELTAS, "text"])
def test_what_is_not_an_async_iterable_is_refused_at_once(given: Any) -> None:
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
def test_what_is_not_a_function_is_refused_at_once_and_by_name(name: str, value: Any) -> None:
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
def test_a_delta_that_is_not_a_str_is_an_error(wrong: Any, before: list[str], text: Any) -> None:
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
async def test_an_async_delta_that_is_not_a_str_is_an_error(wrong: Any, before: list[str]) -> None:
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


@pytest.mark.parametrize("before", [[], ["\ue200ci"]])
@pytest.mark.parametrize("chunk", [None, 5, b"a", ["a"]], ids=repr)
def test_a_chunk_that_is_not_a_delta_is_refused_with_advice(before: list[str], chunk: Any) -> None:
    with pytest.raises(TypeError, match=f"^delta: must be a str, not {type(chunk).__name__}; .*text="):
        list(iter_events([*before, chunk]))
    with pytest.raises(TypeError, match=f"^delta: must be a str, not {type(chunk or 1).__name__}; .*text="):
        list(iter_events([*before, 1], text=cast("Any", lambda _: chunk or 1)))


@on_both_backends
async def test_an_async_chunk_that_is_not_a_delta_is_refused_with_advice() -> None:
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
