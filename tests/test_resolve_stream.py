"""`iter_events` and `aiter_events` with sources: events are resolved as they are asked for, plain text at no cost."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any

import pytest

from streamcite import (
    AsyncResolvedStream,
    CitationFormat,
    CitationParser,
    Cited,
    Event,
    EventStream,
    Resolved,
    ResolvedEvent,
    ResolvedStream,
    Resolver,
    Source,
    Sources,
    aiter_events,
    iter_events,
)
from streamcite.resolve import resolve

A, B = Source("turn0file0", "one\n"), Source("turn0file1", "two\n")
FIRST, SECOND = "\ue200cite\ue202turn0file0\ue201", "\ue200cite\ue202turn0file1\ue202L1\ue201"
TEXT = f"a{FIRST}b{SECOND}c\ue201d"
PLAIN = ["It ", "lasts", " and\n", "中文", "\U0001f600"] * 10


class Chunks:
    """Hand out chunks, then raise `error` if there is one; note what was read, and closings."""

    def __init__(self, chunks: Iterable[Any], error: Exception | None = None) -> None:
        self.chunks = iter(chunks)
        self.error = error
        self.read: list[Any] = []
        self.closed = 0

    def next(self, end: type[Exception]) -> Any:
        for chunk in self.chunks:
            self.read.append(chunk)
            return chunk
        raise self.error or end

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return self.next(StopIteration)

    def close(self) -> None:
        self.closed += 1


class AsyncChunks(Chunks):
    """Have nothing to close, so that anyio is not needed."""

    close = None  # type: ignore[assignment]

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        return self.next(StopAsyncIteration)


Take = Callable[[ResolvedEvent], None]


def read_sync(chunks: Iterable[str], take: Take, **options: Any) -> None:
    for event in iter_events(chunks, **options):
        take(event)


def read_async(chunks: Iterable[str], take: Take, **options: Any) -> None:
    async def read() -> None:
        async for event in aiter_events(AsyncChunks(chunks), **options):
            take(event)

    asyncio.run(read())


both = pytest.mark.parametrize("read", [read_sync, read_async], ids=["sync", "async"])


def test_what_comes_is_told_by_the_kind_of_stream() -> None:
    assert type(iter_events([TEXT], sources={})) is ResolvedStream
    assert type(iter_events([TEXT], sources=None)) is type(iter_events([TEXT], scope="answer")) is EventStream
    assert type(aiter_events(AsyncChunks([TEXT]), sources=Sources(), scope="answer")) is AsyncResolvedStream


@pytest.mark.parametrize(
    "read",
    [read_sync, pytest.param(read_async, marks=pytest.mark.anyio)],  # what picks a text out is closed with anyio
    ids=["sync", "async"],
)
def test_scope_format_and_text_are_those_of_the_stream(read: Callable[..., None]) -> None:
    sources = Sources()
    sources.add(A)
    sources.mark_shown(A.id)
    sources.user_message()
    bars = CitationFormat(start="[[", delimiter="|", stop="]]", families=("ref",))
    events: list[ResolvedEvent] = []
    chunks = [{"delta": delta} for delta in ("[[ref|turn0", "file0]]", "[[ref|b2 c")]
    read(chunks, events.append, sources=sources, scope="answer", format=bars, text=lambda chunk: chunk["delta"])
    first, prose, rest = events
    assert isinstance(first, Cited)
    assert first.links[0].problem == "stale-source"
    assert (str(prose), rest) == ("b2", " c")


@both
def test_a_source_may_come_between_any_two_events_of_a_chunk(read: Callable[..., None]) -> None:
    sources: dict[str, Source] = {}
    events: list[ResolvedEvent] = []

    def take(event: ResolvedEvent) -> None:
        events.append(event)
        if isinstance(event, Cited):
            sources[A.id] = A
        if isinstance(event, Resolved):
            sources[B.id] = B

    read([TEXT], take, sources=sources)
    kinds = [event if isinstance(event, str) else type(event) for event in events]
    assert kinds[:5] == ["a", Cited, Resolved, "b", Cited]
    assert [event.pending for event in events if isinstance(event, Cited)] == [True, False]


@both
@pytest.mark.parametrize("deltas", [[TEXT], [*TEXT]], ids=["whole", "in pieces"])
def test_a_source_that_comes_while_another_is_reported_is_reported_next(
    read: Callable[..., None], deltas: list[str]
) -> None:
    sources: dict[str, Source] = {}
    events: list[ResolvedEvent] = []

    def take(event: ResolvedEvent) -> None:
        events.append(event)
        if isinstance(event, Cited) and event.index == 1:
            sources[A.id] = A
        if isinstance(event, Resolved):
            sources[B.id] = B

    read(deltas, take, sources=sources)
    kinds = [event if isinstance(event, str) else type(event) for event in events]
    assert kinds[:7] == ["a", Cited, "b", Cited, Resolved, Resolved, "c"]
    assert [event.index for event in events if isinstance(event, Resolved)] == [0, 1]


@both
def test_what_is_unknown_is_reported_at_the_end(read: Callable[..., None]) -> None:
    events: list[ResolvedEvent] = []
    read(TEXT, events.append, sources={A.id: A})
    assert events == resolve(TEXT, {A.id: A})
    assert isinstance(events[-1], Resolved)


@both
def test_plain_deltas_are_not_looked_at_unless_a_source_is_awaited(
    read: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    reached: list[Any] = []
    feed, resolver_take = CitationParser.feed, Resolver.take

    def counted(self: CitationParser, delta: str) -> list[Event]:
        reached.append(delta)
        return feed(self, delta)

    def counted_take(self: Resolver, waiting: list[Event], *, last: bool = False) -> ResolvedEvent | None:
        reached.append(len(sources))
        return resolver_take(self, waiting, last=last)

    monkeypatch.setattr(CitationParser, "feed", counted)
    monkeypatch.setattr(Resolver, "take", counted_take)
    events: list[ResolvedEvent] = []
    sources = {A.id: A}
    read([*PLAIN, FIRST, *PLAIN], events.append, sources=sources)
    assert [each for each in reached if isinstance(each, str)] == [FIRST]
    assert all(event is delta for event, delta in zip(events, [*PLAIN, events[len(PLAIN)], *PLAIN], strict=True))
    reached.clear()

    def take(event: ResolvedEvent) -> None:
        if event == "come":
            sources[B.id] = B

    read([*PLAIN, SECOND, *PLAIN, "come", "now", *PLAIN], take, sources=sources)
    assert [each for each in reached if isinstance(each, str)] == [SECOND, *PLAIN, "come"]
    assert len(reached) < 3 * len([SECOND, *PLAIN, "come"]) + 5


@pytest.mark.parametrize("cut", [1, 3, 7, 100])
@pytest.mark.parametrize("known", [{}, {A.id: A}, {A.id: A, B.id: B}])
def test_what_is_handed_out_and_held_is_what_was_read(cut: int, known: dict[str, Source]) -> None:
    chunks = Chunks(TEXT[i : i + cut] for i in range(0, len(TEXT), cut))
    sources = dict(known)
    stream = iter_events(chunks, sources=sources)
    handed_out = ""
    for event in stream:
        handed_out += event if isinstance(event, str) else event.raw
        assert handed_out + stream.held == "".join(chunks.read)
        sources[A.id] = A
    assert handed_out == TEXT


def test_a_stream_that_is_closed_before_its_end_says_nothing_more() -> None:
    chunks = Chunks([TEXT])
    with iter_events(chunks, sources={}) as stream:
        assert [next(stream), type(next(stream))] == ["a", Cited]
    assert list(stream) == []
    assert stream.held == TEXT[1 + len(FIRST) :]
    assert chunks.closed == 1


def test_a_loop_that_is_left_lets_go_of_the_stream() -> None:
    chunks = Chunks([TEXT])
    for event in iter_events(chunks, sources={}):
        if isinstance(event, Cited):
            break
    assert chunks.closed == 1


def test_an_error_of_the_stream_is_raised_as_it_is() -> None:
    chunks = Chunks([TEXT, SECOND[:5]], ConnectionError("lost"))
    stream = iter_events(chunks, sources={})
    events: list[ResolvedEvent] = []
    with pytest.raises(ConnectionError, match="lost"):
        events += stream
    assert stream.held == SECOND[:5]
    assert chunks.closed == 1


@both
def test_a_mapping_of_something_else_is_named_as_such(read: Callable[..., None]) -> None:
    with pytest.raises(TypeError, match=r"^sources: must hold a Source for 'turn0file0', not str"):
        read([TEXT], print, sources={A.id: "text"})
    with pytest.raises(TypeError, match=r"^delta: must be a str"):
        read([SECOND, 1], print, sources={})


@both
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [({"sources": [A]}, TypeError, "sources"), ({"sources": {}, "scope": "all"}, ValueError, "scope")],
)
def test_misuse_is_refused_at_once(
    read: Callable[..., None], options: dict[str, Any], error: type[Exception], message: str
) -> None:
    chunks = Chunks([TEXT])
    with pytest.raises(error, match=f"^{message}: "):
        read(chunks, print, **options)
    assert chunks.read == []
