"""`iter_events` and `aiter_events` with tidy spacing: what `tidy` makes of exact events, however they come."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamcite import CitationParser, Cited, Event, Resolved, Resolver, Source, aiter_events, iter_events, parse
from streamcite.resolve import resolve
from streamcite.spacing import Tidy, tidier, tidy
from tests.reading import joined, source_text
from tests.strategies import cuts, partitions

A, B = Source("turn0file0", "one\n"), Source("turn0file1", "two\n")
FIRST, SECOND = "\ue200cite\ue202turn0file0\ue201", "\ue200cite\ue202turn0file1\ue202L1\ue201"
PROSE = "\ue200cite\ue202so2"  # read as prose where no source has that id
SOURCES = {A.id: A}
ANSWER = f"It lasts {FIRST}, and ({SECOND}) goes {PROSE} on {FIRST} ."
TEXTS = (FIRST, FIRST, SECOND, PROSE, *"ab .,:!()[] ", "  ", "\n", "- ", "（", "）", "。", "](", "\ue201", "\ue202")
texts = st.lists(st.sampled_from(TEXTS), max_size=14).map("".join)


class AsyncChunks:
    """Have nothing to close, so that anyio is not needed."""

    def __init__(self, chunks: Iterable[str]) -> None:
        self.chunks = iter(chunks)

    def __aiter__(self) -> AsyncIterator[str]:
        return self

    async def __anext__(self) -> str:
        for chunk in self.chunks:
            return chunk
        raise StopAsyncIteration


def read_sync(chunks: Iterable[str], **options: Any) -> list[Any]:
    return list(iter_events(chunks, **options))


def read_async(chunks: Iterable[str], **options: Any) -> list[Any]:
    async def read() -> list[Any]:
        return [event async for event in aiter_events(AsyncChunks(chunks), **options)]

    return asyncio.run(read())


both = pytest.mark.parametrize("read", [read_sync, read_async], ids=["sync", "async"])


def split(events: Iterable[Any]) -> tuple[list[Any], list[Any]]:
    """Give what stands in the text, joined, and what is told of it: between which characters is not asked."""
    events = list(events)
    told = [event for event in events if isinstance(event, Resolved)]
    return joined(event for event in events if not isinstance(event, Resolved)), told


@both
@settings(max_examples=80)
@given(text=texts, data=st.data())
def test_it_is_what_tidy_makes_of_the_exact_events(
    read: Callable[..., list[Any]], text: str, data: st.DataObject
) -> None:
    chunks = data.draw(cuts(text))
    assert joined(read(chunks, spacing="tidy")) == tidy(parse(text))
    assert joined(read(chunks, spacing="tidy", complete=True)) == tidy(parse(text, complete=True))
    for sources in (SOURCES, {"so2": Source("so2")}):
        assert split(read(chunks, spacing="tidy", sources=sources)) == split(tidy(resolve(text, sources)))


@both
@pytest.mark.parametrize("text", ["a (@) .", " @ @.b", "a@ , b", "[@](b", "a ( @ ) b", "\n @ x"])
def test_every_partition_gives_the_same(read: Callable[..., list[Any]], text: str) -> None:
    text = text.replace("@", "\ue201")  # the shortest markup that is removed
    expected = tidy(parse(text))
    for deltas in partitions(text):
        assert joined(read(deltas, spacing="tidy")) == expected


@both
def test_what_was_not_asked_for_is_exact(read: Callable[..., list[Any]]) -> None:
    assert joined(read([*ANSWER])) == joined(read([*ANSWER], spacing="exact")) == parse(ANSWER)
    assert "".join(map(str, read([ANSWER], spacing="tidy", sources=SOURCES))) == "It lasts, and goes so2 on."


@both
@pytest.mark.parametrize("spacing", ["Tidy", None, True, ["tidy"]])
def test_another_spacing_is_refused_at_once(read: Callable[..., list[Any]], spacing: Any) -> None:
    with pytest.raises(ValueError, match=r"^spacing: must be one of 'exact', 'tidy', not "):
        read([ANSWER], spacing=spacing)


@pytest.mark.parametrize("cut", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("sources", [None, {}, SOURCES])
def test_what_is_handed_out_and_held_is_what_was_read(cut: int, sources: dict[str, Source] | None) -> None:
    read: list[str] = []
    chunks = (read.append(chunk) or chunk for chunk in (ANSWER[i : i + cut] for i in range(0, len(ANSWER), cut)))  # type: ignore[func-returns-value]
    handed_out: list[Any] = []
    stream: Any = iter_events(chunks, sources=sources, spacing="tidy")
    for event in stream:
        handed_out.append(event)
        assert source_text(handed_out) + stream.held == "".join(read)
    assert source_text(handed_out) == ANSWER


def test_a_source_that_comes_late_is_reported_before_the_next_event() -> None:
    sources: dict[str, Source] = {}
    events: list[Any] = []
    for event in iter_events([*ANSWER], sources=sources, spacing="tidy"):
        events.append(event)
        if isinstance(event, Cited):
            sources[A.id] = A
            if event.index == 1:
                sources[B.id] = B
    kinds = [type(event) for event in events]
    assert [kinds[at + 1] for at, kind in enumerate(kinds) if kind is Cited][:2] == [Resolved, Resolved]
    told = [event for event in events if not isinstance(event, Resolved)]
    at_once = tidy(resolve(ANSWER, {}))
    assert [(event.index, event.position) for event in told if isinstance(event, Cited)] == [
        (event.index, event.position) for event in at_once if isinstance(event, Cited)
    ]
    assert "".join(map(str, told)) == "It lasts, and goes so2 on."


def test_an_id_that_comes_between_the_parser_and_the_resolver_costs_no_blank() -> None:
    """What was taken for prose, and then is a citation, stands in exact spacing."""
    sources: dict[str, Source] = {}
    read = []
    for event in iter_events([f"a {PROSE} b "], sources=sources, spacing="tidy"):
        read.append(str(event))
        sources["so2"] = Source("so2")
    assert "".join(read) == "a  b "


# The stage by itself


@settings(max_examples=80)
@given(texts, st.data())
def test_it_goes_on_from_a_snapshot_at_any_moment(text: str, data: st.DataObject) -> None:
    for events in (parse(text), resolve(text, SOURCES)):
        fed: list[Any] = []
        for event in events:  # in pieces, so that a stage is left anywhere
            fed += data.draw(cuts(event)) if isinstance(event, str) else [event]
        stage = Tidy()
        given_out: list[Any] = []
        for event in fed:
            given_out += stage.feed([event])
            held = stage.held
            stage = Tidy.restore(json.loads(json.dumps(stage.snapshot())))
            assert stage.held == held
            assert stage.holds == bool(held)
        given_out += stage.close()
        assert [_told(event) for event in joined(given_out)] == [_told(event) for event in tidy(events)]


def _told(event: Any) -> Any:
    """Give what the JSON form of an event says, except for the texts of sources."""
    return (event.index, event.position) if isinstance(event, Cited) else event


def test_a_snapshot_is_checked() -> None:
    stage = Tidy()
    good = stage.snapshot()
    bad: Any
    for bad in ({}, good | {"version": 2}, good | {"front": 1}, good | {"between": [1]}, good | {"read": -1}, []):
        with pytest.raises(ValueError, match=r"^not a snapshot of version 1: "):
            Tidy.restore(bad)
    stage.close()
    with pytest.raises(ValueError, match=r"^a closed stage has no state to go on from$"):
        stage.snapshot()


def test_what_makes_a_stage() -> None:
    assert tidier("exact") is None
    new = tidier("tidy")
    assert new is not None
    stage = new(None)
    stage.feed(parse(f"word {FIRST}"))
    assert new(stage.snapshot()).held == stage.held == f" {FIRST}"


def test_words_that_a_later_stage_shows_are_not_a_removed_marker() -> None:
    resolver = Resolver(SOURCES)
    answer = (
        f"is {PROSE}, {FIRST}. (\ue200cite\ue202turn0file0,) \ue200cite\ue202a1\ue202turn9x9, \ue200cite\ue202x1\ue201."
    )
    parser = CitationParser()
    stage = Tidy(words=resolver.words)
    events: list[Event] = []
    for character in answer:
        events += stage.feed(parser.feed(character))  # type: ignore[arg-type]
    events += [*stage.feed(parser.close()), *stage.close()]  # type: ignore[list-item]
    assert joined(resolver.feed(events)) == joined(tidy(Resolver(SOURCES).feed(parse(answer))))  # type: ignore[arg-type]
