"""How `aiter_events` closes what it was given: once, whatever ends the reading, a cancellation too.

Nothing here imports anyio at the top, as in `tests.chunks`.
"""

import gc
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import nullcontext, suppress
from typing import Any

import pytest

from streamcite import Event
from streamcite.stream import AsyncEventStream, aiter_events
from tests.chunks import (
    ASYNC_SOURCES,
    DELTAS,
    EVENTS,
    OPEN,
    Aclosable,
    Asked,
    AsyncChunks,
    AsyncReiterable,
    LostError,
    async_sources,
    closings_of,
    on_both_backends,
    pause,
)


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
    """Return a kind of source that waits for ever after its last chunk, and says when."""

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


@on_both_backends
async def test_an_error_in_async_closing_does_not_hide_the_one_before() -> None:
    class Broken(Aclosable):
        async def aclose(self) -> None:
            raise OSError("close")

    with pytest.raises(OSError, match="close") as caught:
        async for _ in aiter_events(Broken(DELTAS[:2], LostError("lost"))):
            pass
    assert isinstance(caught.value.__context__, LostError)
