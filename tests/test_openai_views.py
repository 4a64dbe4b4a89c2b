"""The life cycle of every view of both APIs: what was given is closed once and at once, and nothing is read ahead."""

import gc
import itertools
import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamcite import Citation
from streamcite.openai import chat_events, responses_events
from tests import strategies as sc
from tests.markers import MARKER
from tests.openai_views import (
    DELTAS,
    AsyncStream,
    LostError,
    Stream,
    View,
    acloses_before_the_first_step,
    acloses_twice,
    afails_in_a_block,
    aleaves_a_block,
    areads_to_the_end,
    by_parts,
    chat_chunks,
    clean_chat_cited,
    closes_before_the_first_step,
    closes_twice,
    every_view,
    fails_in_a_block,
    leaves_a_block,
    no_tasks,
    reads_to_the_end,
    responses_chunks,
)
from tests.reading import source_text
from tests.responses_streams import texts

# Every way to the end


@every_view
@pytest.mark.parametrize(
    "way", [reads_to_the_end, leaves_a_block, fails_in_a_block, closes_twice, closes_before_the_first_step]
)
def test_every_way_closes_what_was_given_once(kind: View, way: Callable[[Any, View], None]) -> None:
    stream = Stream(kind.chunks(*DELTAS))
    view = kind.open(stream)
    way(view, kind)
    assert stream.closings == 1
    read = stream.read
    assert list(kind.steps(view)) == []
    view.close()
    assert (stream.closings, stream.read) == (1, read)


@every_view
def test_leaving_a_loop_closes_what_was_given(kind: View) -> None:
    stream = Stream(kind.chunks(*DELTAS))
    for _ in kind.steps(kind.open(stream)):
        assert stream.closings == 0
        break
    assert stream.closings == 1


@every_view
def test_an_error_comes_after_what_was_held_and_closes(kind: View) -> None:
    lost = LostError()
    stream = Stream(broken_off(kind), lost)
    view = kind.open(stream)
    seen = []
    with pytest.raises(LostError) as caught:
        seen.extend(kind.steps(view))  # what came before the error is lost here, so that it is read again below
    assert caught.value is lost
    assert stream.closings == 1
    if kind.is_of_events():
        check_settled(view)


def broken_off(kind: View) -> list[dict[str, Any]]:
    """Give chunks that break off in a marker."""
    return kind.chunks("It lasts.", MARKER[:5])[: 2 if kind.chunks is chat_chunks else 5]


def check_settled(view: Any) -> None:
    """See that a view of events has let go of what it held of `broken_off`."""
    assert view.held == ""
    assert [part.raw for part in view.result.parts] == ["It lasts.\ue200cite"]
    assert not view.result.complete


@every_view
@pytest.mark.anyio
@pytest.mark.parametrize(
    "way", [areads_to_the_end, aleaves_a_block, afails_in_a_block, acloses_twice, acloses_before_the_first_step]
)
async def test_every_async_way_closes_what_was_given_once(kind: View, way: Any, anyio_backend: str) -> None:
    stream = AsyncStream(kind.chunks(*DELTAS))
    view = kind.open(stream)
    with no_tasks(anyio_backend):
        await way(view, kind)
        assert stream.closings == 1
        read = stream.read
        assert [each async for each in kind.steps(view)] == []
        await view.aclose()
    assert (stream.closings, stream.read) == (1, read)


@every_view
@pytest.mark.anyio
async def test_leaving_an_async_loop_closes_when_the_event_loop_finds_time(kind: View, anyio_backend: str) -> None:
    stream = AsyncStream(kind.chunks(*DELTAS))
    with warnings.catch_warnings():
        # Trio, unlike asyncio, wants an asynchronous generator closed by hand, and says so.
        warnings.filterwarnings("ignore", "Async generator", ResourceWarning)
        async for _ in kind.steps(kind.open(stream)):
            break
        gc.collect()
        for _ in range(20):
            await anyio.lowlevel.checkpoint()
    assert stream.closings == 1


@every_view
@pytest.mark.anyio
async def test_an_async_error_comes_after_what_was_held_and_closes(kind: View, anyio_backend: str) -> None:
    lost = LostError()
    stream = AsyncStream(broken_off(kind), lost)
    view = kind.open(stream)
    with pytest.raises(LostError) as caught:
        async for _ in kind.steps(view):
            pass
    assert caught.value is lost
    assert stream.closings == 1
    if kind.is_of_events():
        check_settled(view)


@every_view
@pytest.mark.anyio
@pytest.mark.parametrize("in_a_block", [True, False])
async def test_cancelling_while_waiting_closes_to_the_end(kind: View, in_a_block: bool, anyio_backend: str) -> None:
    stream = AsyncStream(kind.chunks(*DELTAS)[: kind.gives[0] + 1], waits=True)
    view = kind.open(stream)
    seen = []

    async def consume() -> None:
        async with view if in_a_block else nullcontext():
            async for each in kind.steps(view):
                seen.append(each)  # noqa: PERF401 - what came before the cancellation is wanted

    with no_tasks(anyio_backend):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(consume)
            await stream.waiting.wait()
            tasks.cancel_scope.cancel()
        assert stream.closings == 1
    assert seen
    if kind.is_of_events():
        assert view.held == DELTAS[1][: len(view.held)]
        assert view.result.text == "It lasts. "
        assert not view.result.complete
    await view.aclose()
    assert stream.closings == 1


@every_view
@pytest.mark.anyio
async def test_a_step_leaves_no_scope_and_no_task(kind: View, anyio_backend: str) -> None:
    tasks = no_tasks(anyio_backend)
    stream = AsyncStream(kind.chunks("a", f"b{MARKER}c" * 100, *DELTAS))
    async with kind.open(stream) as view:
        steps = aiter(kind.steps(view))
        step: Any = ""
        while step is not None:
            # Were a scope open across a step, those here would be left out of order, which anyio refuses.
            with anyio.fail_after(60), anyio.CancelScope():
                step = await anext(steps, None)
            tasks.check()
    assert stream.closings == 1


# Nothing is read ahead


@every_view
def test_nothing_is_read_ahead(kind: View) -> None:
    stream = Stream(kind.chunks(*DELTAS))
    view = kind.open(stream)
    assert stream.read == 0
    reads = [stream.read for _ in kind.steps(view)]
    assert sorted(set(reads)) == [*kind.gives]


@every_view
@pytest.mark.anyio
async def test_nothing_is_read_ahead_async(kind: View, anyio_backend: str) -> None:
    stream = AsyncStream(kind.chunks(*DELTAS))
    view = kind.open(stream)
    assert stream.read == 0
    reads = [stream.read async for _ in kind.steps(view)]
    assert sorted(set(reads)) == [*kind.gives]


@every_view
@pytest.mark.anyio
@pytest.mark.parametrize("count", [1, 63, 64, 127, 128, 200])
async def test_others_get_their_turn_after_64_events_of_one_chunk_and_not_before(
    kind: View, count: int, monkeypatch: pytest.MonkeyPatch, anyio_backend: str
) -> None:
    turns: list[int] = []
    given: list[int] = []

    async def checkpoint() -> None:
        turns.append(len(given))

    class Quick(AsyncStream):
        def close(self) -> None:  # type: ignore[override]
            """Close without a checkpoint."""

    stream = Quick(kind.chunks(MARKER * count))
    monkeypatch.setattr("anyio.lowlevel.checkpoint", checkpoint)
    async for _ in kind.steps(kind.open(stream)):
        given.append(stream.read)  # noqa: PERF401 - it is counted where others have their turn
    most = max(given.count(read) for read in given)  # that came of one chunk
    before = next(number for number, read in enumerate(given) if given.count(read) == most)
    assert turns == [before + each for each in range(64, most + 1, 64)]
    assert most == (1 if kind.open is clean_chat_cited else count)


# Two iterations over one stream


@pytest.mark.parametrize("opened", [(chat_events, chat_chunks), (responses_events, responses_chunks)])
def test_plain_iteration_and_parts_do_not_mix(opened: Any) -> None:
    view = opened[0](Stream(opened[1](*DELTAS)))
    next(view)
    with pytest.raises(RuntimeError, match="being read already"):
        next(view.iter_parts())
    assert isinstance(next(view), Citation)  # and the first one goes on
    view = opened[0](Stream(opened[1](*DELTAS)))
    next(view.iter_parts())
    with pytest.raises(RuntimeError, match="being read already"):
        next(view)


@pytest.mark.anyio
@pytest.mark.parametrize("opened", [(chat_events, chat_chunks), (responses_events, responses_chunks)])
async def test_plain_iteration_and_parts_do_not_mix_async(opened: Any, anyio_backend: str) -> None:
    async with opened[0](AsyncStream(opened[1](*DELTAS))) as view:
        await anext(view)
        with pytest.raises(RuntimeError, match="being read already"):
            await anext(view.iter_parts())


@settings(max_examples=40)
@given(st.data(), st.sampled_from([chat_events, responses_events]), st.booleans())
def test_what_is_held_and_what_was_handed_out_is_what_was_read(data: st.DataObject, opened: Any, parts: bool) -> None:
    deltas = data.draw(sc.cuts(data.draw(texts(min_size=1))))
    read = ""

    def chunks() -> Iterator[Any]:
        nonlocal read
        made = chat_chunks(*deltas) if opened is chat_events else responses_chunks(*deltas)
        for chunk in made:
            read += chunk.get("delta") or "".join(
                choice["delta"].get("content", "") for choice in chunk.get("choices", [])
            )
            yield chunk

    view = opened(chunks())
    taken = ""
    assert view.held == ""
    stop = data.draw(st.integers(0, 12))
    for step in itertools.islice(by_parts(view) if parts else view, stop):
        taken += source_text([step[1] if parts else step])
        assert taken + view.held == read
    view.close()
    assert taken + view.held == read
