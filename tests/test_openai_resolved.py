"""The event views and the fast lane with sources: what `iter_events` gives with them, however the text comes."""

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamcite import (
    CitationFormat,
    Cited,
    Event,
    Resolved,
    ResolvedEvent,
    Resolver,
    Source,
    Sources,
    parse,
)
from streamcite.openai import Part, responses_events, stream_chat, stream_responses
from streamcite.resolve import resolve
from tests import responses_streams as rs
from tests import strategies as sc
from tests.chats import choice, chunk
from tests.markers import cite
from tests.openai_lanes import (
    CUT,
    OPENED,
    POOL,
    PROSE,
    TEXT,
    A,
    B,
    C,
    Taken,
    aread,
    aread_raw,
    chunks_of,
    deltas_of,
    every_api,
    every_kind,
    every_lane,
    expected,
    read,
    read_raw,
    read_view,
)
from tests.openai_views import AsyncStream, LostError, Stream
from tests.raw_streams import APIS, OPENAI, Replay, body, client_of
from tests.reading import joined
from tests.responses_streams import Item, Json, message, stream_of


@every_api
@every_kind
@every_lane
def test_the_answer_is_what_iter_events_gives(api: str, kind: str, lane: Callable[..., None]) -> None:
    for size in CUT:
        deltas = deltas_of(TEXT, size)
        for known in ({}, {A.id: 0}, dict.fromkeys(POOL, 0)):
            taken = Taken(known)
            lane(api, kind, chunks_of(api, deltas), taken, sources=taken.sources)
            assert taken.events == expected(deltas, known)


@every_api
@every_lane
def test_sources_may_come_after_any_event(api: str, lane: Callable[..., None]) -> None:
    deltas = deltas_of(TEXT, 40)
    for point in range(25 if lane in (read_view, read_raw) else 9):
        arrivals = {A.id: point, B.id: (3 * point) % 13, C.id: point + 1}
        taken = Taken(arrivals)
        lane(api, "dict", chunks_of(api, deltas), taken, sources=taken.sources)
        assert taken.events == expected(deltas, arrivals)


@every_api
@every_lane
def test_scope_and_format_are_those_of_the_view(api: str, lane: Callable[..., None]) -> None:
    sources = Sources()
    sources.add(A)
    sources.mark_shown(A.id)
    sources.user_message()
    bars: Any = {"format": CitationFormat(start="[[", delimiter="|", stop="]]", families=("ref",))}
    options = {"parser": bars} if lane in (read_raw, aread_raw) else bars
    events: list[Any] = []
    deltas = ["[[ref|turn0", "file0]]", "[[ref|b2 c"]
    lane(api, "dict", chunks_of(api, deltas), events.append, sources=sources, scope="answer", **options)
    assert isinstance(events[0], Cited)
    assert events[0].links[0].problem == "stale-source"
    assert list(map(str, events)) == ["", "b2", " c"]


@every_api
@every_lane
def test_plain_text_is_handed_out_as_it_came_unless_a_citation_is_pending(
    api: str, lane: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[int] = []
    take = Resolver.take

    def counted(self: Resolver, waiting: list[Event], *, last: bool = False) -> ResolvedEvent | None:
        taken.append(len(waiting))
        return take(self, waiting, last=last)

    monkeypatch.setattr(Resolver, "take", counted)
    plain = ["It ", "lasts", " on. "] * 5
    for parts in (False, True):
        items: list[Any] = []
        lane(api, "dict", chunks_of(api, [*plain, cite(A.id), *plain]), items.append, sources=POOL, parts=parts)
        events = [item[1] if parts else item for item in items]
        assert taken.count(1) == 1  # the citation
        assert len(taken) <= 4  # and that nothing is after it, and at the end
        assert [str(event) for event in events] == [*plain, "", *plain]
        taken.clear()


# Several texts


def told(texts: Iterable[str], sources: Mapping[str, Source]) -> list[Any]:
    """Resolve texts one after the other."""
    resolver = Resolver(sources)
    events: list[Any] = []
    for text in texts:
        resolver.next_text()
        events += resolver.feed(parse(text))
    events += resolver.close()
    return joined(events)


FIRST, SECOND = f"It{PROSE}{cite(B.id)} so{cite(A.id)}", f"And{cite(A.id)}{PROSE} {cite(B.id)}."
SOURCES = {A.id: A, B.id: B}


@every_kind
@every_lane
def test_indexes_and_numbers_run_through_the_answer_and_positions_count_in_each_text(
    kind: str, lane: Callable[..., None]
) -> None:
    for size in CUT:
        messages = [message(*deltas_of(text, size)) for text in (FIRST, SECOND, FIRST)]
        commentary = message(cite(A.id), phase="commentary")
        for sources in (SOURCES, {A.id: A}, {}):
            events: list[Any] = []
            chunks = stream_of(messages[0], commentary, *messages[1:])
            lane("responses", kind, chunks, events.append, sources=sources)
            assert joined(events) == told([FIRST, SECOND, FIRST], sources)
    cited = [event for event in events if isinstance(event, Cited)]
    assert [event.index for event in cited] == [*range(9)]
    assert [event.position for event in cited] == [2, 8, 11, 3, 3, 10, 2, 8, 11]


@sc.examples(50)
@given(st.lists(rs.items(), max_size=3), rs.orders(), st.sets(st.sampled_from(sorted(rs.SOURCES))), st.booleans())
def test_any_response(items: list[Item], order: Any, known: set[str], typed: bool) -> None:
    sources = {name: rs.SOURCES[name] for name in known}
    chunks = stream_of(*items, order=order)
    kind = "typed" if typed else "dict"
    by_part: dict[Part, list[Any]] = {}
    read_view("responses", kind, chunks, lambda item: by_part.setdefault(item[0], []).append(item[1]), parts=True,
              sources=sources)  # fmt: skip
    view = responses_events(chunks)
    for _ in view:
        pass
    for part in view.result.parts:
        assert joined(by_part.pop(part.part, [])) == resolve(part.raw, sources)
    assert by_part == {}
    events: list[Any] = []
    read_view("responses", kind, chunks, events.append, sources=sources)
    answer = [part.raw for part in view.result.answer if part.raw]
    # Texts that interleave are handed out one after the other; which is first is not asked here.
    orders = [answer] if order is None else itertools.permutations(answer)
    assert any(joined(events) == told(texts, sources) for texts in orders)


def delta(index: int, text: str) -> Json:
    place = {"item_id": f"item_{index}", "output_index": index, "content_index": 0}
    return {"type": "response.output_text.delta", **place, "delta": text}


def done(index: int, text: str) -> Json:
    place = {"item_id": f"item_{index}", "output_index": index, "content_index": 0}
    return {"type": "response.output_text.done", **place, "text": text}


def test_a_text_that_goes_on_after_another_counts_on() -> None:
    chunks = [
        *(delta(0, f"It{PROSE} "), done(0, f"It{PROSE} "), delta(1, f"{PROSE} {PROSE} "), delta(0, cite(A.id))),
        *(delta(1, cite(A.id)), done(1, f"{PROSE} {PROSE} {cite(A.id)}"), delta(0, cite(B.id))),
    ]
    events: list[Any] = []
    read_view("responses", "dict", chunks, events.append, sources=SOURCES)
    cited = [(event.index, event.position) for event in events if isinstance(event, Cited)]
    assert cited == [(0, 2), (1, 0), (2, 7), (3, 14), (4, 9), (5, 9)]
    for stop in range(len(events)):
        seen: list[Any] = []
        stream = iter(chunks)
        with responses_events(stream, sources=SOURCES) as view:
            seen += [next(view) for _ in range(stop)]
            rest = list(stream)
            seen += responses_events(rest, snapshot=json.loads(json.dumps(view.snapshot())), sources=SOURCES)
        assert seen == events


# Part by part


@every_lane
def test_each_part_is_resolved_by_itself(lane: Callable[..., None]) -> None:
    """Of each part there is one citation more that is pending; the sources come one after the other."""
    deltas = [f"a{cite(A.id)}{PROSE}", f"{cite(B.id)}b", f"c{cite(A.id, B.id)}"]
    chunks = [
        chunk(choice(deltas[number], index, **({"refusal": deltas[number]} if index else {})))
        for number in range(3)
        for index in (1, 0)
    ]
    sources: dict[str, Source] = {}
    items: list[Any] = []

    def take(item: Any) -> None:
        items.append(item)
        if isinstance(item[1], Cited) and item[1].index == 3 and item[0].index == 0:
            sources[A.id] = A
        if item[1] == Resolved(0, item[1].links if isinstance(item[1], Resolved) else ()):
            sources[B.id] = B

    lane("chat", "dict", chunks, take, parts=True, sources=sources)
    by_part: dict[Part, list[Any]] = {}
    for part, event in items:
        by_part.setdefault(part, []).append(event)
    assert len(by_part) == 3
    shown = [[event for event in events if not isinstance(event, Resolved)] for events in by_part.values()]
    whole = resolve("".join(deltas), {})
    for each in shown:
        assert joined(each) == [event for event in whole if not isinstance(event, Resolved)]
    late = [(part.field, part.index, event.index) for part, event in items if isinstance(event, Resolved)]
    assert late[0] == ("content", 0, 0)
    # Those of A and, as B came while the first was told, of B: part after part, and in each in order.
    indexes = [0, 2, 3]
    order = [("content", 0), ("content", 1), ("refusal", 1)]
    assert late == [(*part, index) for part in order for index in indexes]
    assert not any(event.pending for _, event in items if isinstance(event, Resolved))
    numbers = {(part, link.number) for part, event in items if isinstance(event, Resolved) for link in event.links}
    assert len(numbers) == 6


class Growing(dict[str, Source]):
    """Have a source from the step on at which its length is asked for so often, as if another thread had put it in."""

    def __init__(self, asked: int) -> None:
        super().__init__()
        self.asked = asked

    def __len__(self) -> int:
        self.asked -= 1
        if self.asked == 0:
            self[A.id] = A
        return super().__len__()

    def __iter__(self) -> Iterator[str]:
        return iter([*super().__iter__()])  # as `tuple` asks for the length while it iterates


@every_api
@pytest.mark.parametrize("parts", [False, True])
def test_a_source_may_come_in_the_middle_of_a_step(api: str, parts: bool) -> None:
    deltas = [f"a{cite(A.id)}b{cite(B.id)}{cite(A.id)}", f"{cite(A.id)}c"]
    whole = [event for event in resolve("".join(deltas), {}) if not isinstance(event, Resolved)]
    for asked in range(30):
        items: list[Any] = []
        read_view(api, "dict", chunks_of(api, deltas), items.append, sources=Growing(asked), parts=parts)
        events = [item[1] if parts else item for item in items]
        shown = [event for event in events if not isinstance(event, Resolved)]
        assert [str(event) for event in shown] == [str(event) for event in whole]
        final = {event.index: event for event in events if isinstance(event, Cited | Resolved)}
        assert not any(event.pending for event in final.values())
        assert [index for index, event in final.items() if event.links[0].source] in ([0, 2, 3], [])


@every_api
def test_payloads_without_text_pass_after_what_became_known(api: str) -> None:
    chunks = chunks_of(api, [f"a{cite(A.id)}"])
    odd: Json = {"choices": [], "n": 1} if api == "chat" else {"type": "response.odd", "n": 1}
    place = next(number for number, each in enumerate(chunks) if "turn0file0" in json.dumps(each)) + 1
    chunks.insert(place, odd)
    sources: dict[str, Source] = {}
    items: list[Any] = []
    fast = APIS[api]
    with fast.raw(client_of(OPENAI, Replay([body(chunks)])), model="any", sources=sources, **fast.params) as view:
        for item in view.iter_parts(raw=True):
            items.append(item)
            if isinstance(item[1], Cited):
                sources[A.id] = A
    at = next(number for number, item in enumerate(items) if isinstance(item[1], Cited))
    assert isinstance(items[at + 1][1], Resolved)
    assert (items[at + 2][0], json.loads(items[at + 2][1])) == (None, odd)


# Ends


@every_api
@pytest.mark.parametrize("parts", [False, True])
def test_what_is_unknown_is_final_before_an_error_is_raised(api: str, parts: bool) -> None:
    lost = LostError()
    chunks = chunks_of(api, [f"a{cite(A.id)}", "\ue200cite"])
    begun = chunks[:2] if api == "chat" else chunks[: len(chunks) - 5]
    stream = Stream(begun, lost)
    view = OPENED[api](stream, sources={})
    events: list[Any] = []
    with pytest.raises(LostError) as caught:
        read(view, events.append, parts=parts)
    assert caught.value is lost
    assert stream.closings == 1
    last = [item[1] if parts else item for item in events][-2:]
    assert str(last[0]) == ""
    assert isinstance(last[1], Resolved)
    assert not last[1].pending
    assert view.result.citations == tuple(parse(cite(A.id), complete=True)) or view.result.text == "a"
    # Where it broke off another view can go on: indexes and numbers too.
    other = OPENED[api](
        chunks_of(api, [cite(A.id)]), snapshot=view.snapshot() | {"sequence_number": None}, sources=POOL
    )
    later = [item[1] if parts else item for item in (other.iter_parts() if parts else other)]
    assert [event.index for event in later if isinstance(event, Cited)][:1] == [1]


@every_api
def test_leaving_a_loop_closes_the_stream(api: str) -> None:
    stream = Stream(chunks_of(api, [TEXT]))
    for event in OPENED[api](stream, sources={}):
        if isinstance(event, Cited):
            break
    assert stream.closings == 1
    stream = Stream(chunks_of(api, [TEXT]))
    with OPENED[api](stream, sources={}) as view:
        assert [str(next(view)), type(next(view))] == ["It", Cited]
    assert list(view) == []
    assert view.held == TEXT[2 + len(cite(A.id)) :]
    assert stream.closings == 1


@every_api
@pytest.mark.anyio
async def test_a_cancelled_view_is_closed_and_says_nothing_more(api: str, anyio_backend: str) -> None:
    chunks = chunks_of(api, [f"a{cite(A.id)}b\ue200cite", "\ue202c"])
    stream = AsyncStream(chunks[:1] if api == "chat" else chunks[:4], waits=True)
    view = OPENED[api](stream, sources={})
    events: list[Any] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(aread, view, events.append)
        await stream.waiting.wait()
        tasks.cancel_scope.cancel()
    assert stream.closings == 1
    assert list(map(str, events)) == ["a", "", "b"]
    assert view.held == "\ue200cite"
    assert [index for index, *_ in view.snapshot()["resolved"]["answer"]["resolver"]["pending"]] == [0]


# Misuse


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [({"sources": [A]}, TypeError, "sources"), ({"sources": {}, "scope": "all"}, ValueError, "scope")],
)
def test_misuse_is_refused_at_once(options: dict[str, Any], error: type[Exception], message: str) -> None:
    for opened in OPENED.values():
        stream = Stream([])
        with pytest.raises(error, match=f"^{message}: "):
            opened(stream, **options)
        assert stream.closings == 0
    for fast, params in ((stream_chat, {"messages": []}), (stream_responses, {"input": "?"})):
        with pytest.raises(error, match=f"^{message}: "):
            fast(OPENAI, model="any", **params, **options)


@every_api
@every_lane
def test_a_mapping_of_something_else_is_named_as_such(api: str, lane: Callable[..., None]) -> None:
    for parts in (False, True):
        with pytest.raises(TypeError, match=r"^sources: must hold a Source for 'turn0file0', not str"):
            lane(api, "dict", chunks_of(api, [TEXT]), str, sources={A.id: "text"}, parts=parts)
