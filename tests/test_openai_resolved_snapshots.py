"""Event views with sources at every moment: what they hold, a snapshot to go on from, and what has come so far."""

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamcite import (
    Cited,
    Malformed,
    Resolved,
    Source,
    parse,
)
from streamcite.openai import chat_events
from tests import responses_streams as rs
from tests import strategies as sc
from tests.chats import choice, chunk, streamed
from tests.markers import cite
from tests.openai_lanes import (
    ARRIVALS,
    CUT,
    OPENED,
    POOL,
    PROSE,
    TEXT,
    TEXTS,
    A,
    B,
    C,
    Flow,
    as_kind,
    chunks_of,
    deltas_of,
    every_api,
    of_parts,
)
from tests.openai_views import Stream
from tests.responses_streams import Json, message, stream_of


@sc.examples(50)
@given(st.data(), st.sampled_from(["typed", "dict"]), st.lists(TEXTS, min_size=1, max_size=2), ARRIVALS, st.booleans())
def test_going_on_from_a_snapshot_at_any_moment_loses_and_repeats_nothing(
    data: st.DataObject, kind: str, texts: list[str], arrivals: dict[str, int], parts: bool
) -> None:
    cut = [data.draw(sc.cuts(text)) for text in texts]
    api = data.draw(st.sampled_from(sorted(OPENED)))
    if api == "chat":
        chunks = [chunk(choice(delta, index)) for index, deltas in enumerate(cut) for delta in deltas]
        chunks += [chunk(choice(None, index, "stop")) for index in range(len(cut))]
    else:
        chunks = stream_of(*[message(*deltas) for deltas in cut], order=data.draw(rs.orders()))

    def opened(stream: Any, flow: Flow, **options: Any) -> tuple[Any, Any]:
        view = OPENED[api](stream, sources=flow.sources, **options)
        return view, iter(view.iter_parts() if parts else view)

    whole = Flow(as_kind(api, kind, chunks), arrivals)
    for event in opened(whole.chunks, whole)[1]:
        whole(event)
    for stop in range(len(whole.events) + 1):
        flow = Flow(as_kind(api, kind, chunks), arrivals)
        view, items = opened(flow.chunks, flow)
        for _ in range(stop):
            flow(next(items))
        snapshot = json.loads(json.dumps(view.snapshot()))
        number = snapshot.get("sequence_number")
        rest = list(flow.chunks) if api == "chat" else as_kind(api, kind, chunks[0 if number is None else number + 1 :])
        resumed, later = opened(rest, flow, snapshot=snapshot)
        assert resumed.held == view.held
        assert resumed.snapshot()["resolved"] == snapshot["resolved"]
        for event in later:
            flow(event)
        assert of_parts(flow.events) == of_parts(whole.events)


@every_api
@pytest.mark.parametrize("size", CUT)
@pytest.mark.parametrize("parts", [False, True])
def test_what_is_handed_out_and_held_is_what_was_read(api: str, size: int, parts: bool) -> None:
    deltas = deltas_of(TEXT, size)
    chunks = chunks_of(api, deltas)
    for arrivals in ({}, {A.id: 3, B.id: 4, C.id: 9}, dict.fromkeys(POOL, 0)):
        flow = Flow(chunks, arrivals)
        stream = Stream(list(flow.chunks))
        view = OPENED[api](stream, sources=flow.sources)
        handed_out = ""
        for item in view.iter_parts() if parts else view:
            event = item[1] if parts else item
            flow(event)
            handed_out += event if isinstance(event, str) else event.raw
            known = "".join(each.get("delta", "") or _content(each) for each in chunks[: stream.read])
            assert handed_out + view.held == known
        assert handed_out == TEXT
        assert [event for event in flow.events if isinstance(event, Resolved)] or arrivals.get(C.id) == 0


def _content(each: Json) -> str:
    return "".join(one["delta"]["content"] or "" for one in each.get("choices", ()))


@every_api
@pytest.mark.parametrize("parts", [False, True])
def test_a_snapshot_with_and_one_without_sources_take_each_others_place(api: str, parts: bool) -> None:
    chunks = chunks_of(api, [f"a{cite(A.id)}{cite(B.id)}b", f"{cite(C.id)}c"])
    without, known = {"sources": None}, {"sources": POOL}
    for first, second in ((without, known), (known, without)):
        stream = iter(chunks)
        view = OPENED[api](stream, **first)
        items = iter(view.iter_parts() if parts else view)
        seen = [next(items) for _ in range(2)]
        snapshot = view.snapshot()
        assert ("resolved" in snapshot) == (first is known)
        other = OPENED[api](list(stream), snapshot=snapshot, **second)
        later = [item[1] if parts else item for item in (other.iter_parts() if parts else other)]
        assert len(seen) == 2
        assert list(map(str, later)) == ["", "b", "", "c"]
        if second is known:
            assert [event.index for event in later if isinstance(event, Cited)] == [0, 1]
            assert [event.citation for event in later if isinstance(event, Cited)] == parse(TEXT_OF_TWO)[2:5:2]
        else:
            assert later == parse(TEXT_OF_TWO)[2:]


TEXT_OF_TWO = f"a{cite(A.id)}{cite(B.id)}b{cite(C.id)}c"


def test_the_other_way_of_iteration_begins_anew() -> None:
    chunks = streamed([cite(A.id), cite(B.id)])
    view = chat_events(iter(chunks[:1]), sources=POOL)
    assert isinstance(next(view), Cited)
    ((_, cited),) = chat_events(chunks[1:], snapshot=view.snapshot(), sources=POOL).iter_parts()
    assert isinstance(cited, Cited)
    assert (cited.index, cited.links[0].number) == (0, 1)
    (cited,) = chat_events(chunks[1:], snapshot=view.snapshot(), sources=POOL)
    assert isinstance(cited, Cited)
    assert (cited.index, cited.links[0].number) == (1, 2)


# What came of it


def folded(events: Iterable[Any]) -> list[Cited]:
    """Put what became known of a citation in the place of what was known when it was handed out."""
    cited: dict[int, Cited] = {}
    for event in events:
        if isinstance(event, Cited):
            cited[event.index] = event
        elif isinstance(event, Resolved) and event.index in cited:
            cited[event.index] = replace(cited[event.index], links=event.links, pending=event.pending)
    return list(cited.values())


@sc.examples(100)
@given(st.data(), st.lists(TEXTS, min_size=1, max_size=2), ARRIVALS, st.booleans(), st.sampled_from(["exact", "tidy"]))
def test_a_result_says_what_was_handed_out(
    data: st.DataObject, texts: list[str], arrivals: dict[str, int], parts: bool, spacing: str
) -> None:
    cut = [data.draw(sc.cuts(text)) for text in texts]
    api = data.draw(st.sampled_from(sorted(OPENED)))
    if api == "chat":
        chunks = [chunk(choice(delta, index)) for index, deltas in enumerate(cut) for delta in deltas]
        chunks += [chunk(choice(None, index, "stop")) for index in range(len(cut))]
    else:
        # Iterated over as one, the answer is in the order in which its texts began.
        order = data.draw(rs.orders()) if parts else None
        chunks = stream_of(*[message(*deltas) for deltas in cut], order=order)
    flow = Flow(chunks, arrivals)
    view = OPENED[api](flow.chunks, sources=flow.sources, spacing=spacing)
    assert view.result.cited == ()
    by_part: dict[Any, list[Any]] = {}
    handed_out: list[Any] = []
    for item in view.iter_parts() if parts else view:
        flow(item)
        part, event = item if parts else (None, item)
        by_part.setdefault(part, []).append(event)
        handed_out.append(event)
        if not parts:
            assert sorted(view.result.cited, key=lambda cited: cited.index) == folded(handed_out)
    if parts:
        for result in view.result.parts:
            events = by_part.get(result.part, [])
            assert list(result.cited) == folded(events)
            assert result.text == "".join(map(str, events))
            assert result.malformed == tuple(event for event in events if isinstance(event, Malformed))
    else:
        assert view.result.text == "".join(map(str, handed_out))
    assert not any(cited.pending for cited in view.result.cited)
    for result in view.result.answer if not parts else view.result.parts:
        assert [cited.position for cited in result.cited] == [citation.position for citation in result.citations]
        assert [cited.start for cited in result.cited] == [citation.start for citation in result.citations]


@every_api
@pytest.mark.parametrize("parts", [False, True])
def test_a_result_after_a_snapshot_has_what_came_since(api: str, parts: bool) -> None:
    chunks = chunks_of(api, [f"a{PROSE}{cite(B.id)}b", f"{cite(C.id)}\ue201c"])
    sources: dict[str, Source] = {}
    stream = iter(chunks)
    view = OPENED[api](stream, sources=sources)
    items = iter(view.iter_parts() if parts else view)
    while len(view.result.cited) < 2:
        next(items)
    assert [cited.pending for cited in view.result.cited] == [False, True]
    sources |= POOL
    later = OPENED[api](list(stream), snapshot=view.snapshot(), sources=sources)
    for _ in later.iter_parts() if parts else later:
        pass
    assert later.result.text == "bc"
    (cited,) = later.result.cited
    assert (cited.index, cited.position, cited.links[0].number) == (2, len("aa1 wasb"), 2)
    (malformed,) = later.result.parts[0].malformed
    assert malformed.position == len("aa1 wasb")


@every_api
def test_a_result_without_sources_has_no_links(api: str) -> None:
    view = OPENED[api](chunks_of(api, [TEXT]))
    list(view)
    assert (len(view.result.citations), view.result.cited) == (6, ())


GOOD: Any = chat_events([], sources={}).snapshot()
ANSWER: Any = GOOD["resolved"]["answer"]
NO_PARTS: list[Any] = [None, {}, [1], [[["answer", 0], {}]]]
NO_FIELD: list[Any] = [1, [1], {"version": 0}]
WRONG: list[Any] = [
    *(1, [], {}, {"answer": None, "parts": []}),
    *({"answer": ANSWER, "parts": wrong} for wrong in NO_PARTS),
    *({"answer": ANSWER | {name: wrong}, "parts": []} for name in ANSWER for wrong in NO_FIELD),
]


@pytest.mark.parametrize("state", WRONG, ids=str)
def test_what_is_not_a_state_of_resolvers_is_misuse_at_once(state: Any) -> None:
    with pytest.raises(ValueError, match=r"^snapshot: must be what snapshot\(\) gave, not "):
        chat_events([], snapshot=GOOD | {"resolved": state}, sources={})
    assert list(chat_events([], snapshot=GOOD | {"resolved": state})) == []  # which nothing asks for without sources
