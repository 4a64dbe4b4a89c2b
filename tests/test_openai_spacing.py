"""Tidy spacing in the views of both APIs: in each text, and wherever it stands, what `tidy` makes of it."""

import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamcite import Citation, Resolved, Source, parse
from streamcite.openai import (
    chat_events,
    clean_chat,
    clean_completion,
    clean_response,
    clean_responses,
    responses_events,
    stream_chat,
    stream_responses,
)
from streamcite.resolve import resolve
from streamcite.spacing import tidy
from tests import responses_streams as rs
from tests import strategies as sc
from tests.chats import KINDS, added_up, choice, chunk, completion, given_as, plain, streamed, without_index
from tests.openai_lanes import (
    OPENED,
    Flow,
    as_kind,
    chunks_of,
    deltas_of,
    every_api,
    every_lane,
    of_parts,
)
from tests.openai_views import Stream
from tests.raw_streams import APIS, OPENAI
from tests.reading import joined, source_text
from tests.responses_streams import Item, Json, Part, message, stream_of

SOURCES = {"turn0file1": Source("turn0file1", title="One", url="https://example.org/1")}
MARKER = "\ue200cite\ue202turn0file1\ue201"
OTHER = "\ue200cite\ue202turn9file9\ue202L2\ue201"
PROSE = "\ue200cite\ue202so2"
ANSWER = f"It lasts {MARKER}, and ({OTHER}) goes {PROSE} on {MARKER} ."
SHOWN = "It lasts, and goes so2 on."
PIECES = (MARKER, MARKER, OTHER, PROSE, " ", " ", "a", "It", ".", ",", "(", ")", "\n", "- ", "\ue201", "\U0001f680")
texts = st.lists(st.sampled_from(PIECES), max_size=10).map("".join).filter(rs.is_settled)


def split(events: Iterable[Any]) -> tuple[list[Any], list[Any]]:
    """Give what stands in the text, joined, and what is told of it: between which characters is not asked."""
    events = list(events)
    return joined(each for each in events if not isinstance(each, Resolved)), [
        each for each in events if isinstance(each, Resolved)
    ]


@every_api
@every_lane
@pytest.mark.parametrize("sources", [None, SOURCES], ids=["exact", "resolved"])
def test_the_answer_is_what_tidy_makes_of_the_exact_one(
    api: str, lane: Callable[..., None], sources: dict[str, Source] | None
) -> None:
    exact = parse(ANSWER, complete=True) if sources is None else resolve(ANSWER, sources, complete=True)
    for size in (1, 4, 17, 1000):
        for parts in (False, True):
            events: list[Any] = []
            chunks = chunks_of(api, deltas_of(ANSWER, size))
            lane(api, "dict", chunks, events.append, parts=parts, sources=sources, spacing="tidy")
            assert split(event[1] if parts else event for event in events) == split(tidy(exact))


@sc.examples(60)
@given(st.data(), KINDS, st.lists(texts, min_size=1, max_size=3))
def test_a_result_has_the_tidy_texts(data: st.DataObject, kind: str, written: list[str]) -> None:
    api = data.draw(st.sampled_from(sorted(OPENED)))
    cut = [data.draw(sc.cuts(text)) for text in written]
    if api == "chat":
        chunks = [chunk(choice(delta, index)) for index, deltas in enumerate(cut) for delta in deltas]
        chunks += [chunk(choice(None, index, "stop")) for index in range(len(cut))]
    else:
        items = [message(*deltas, phase="commentary" if index == 1 else None) for index, deltas in enumerate(cut)]
        chunks = stream_of(*items, Item([Part([*written[0]], "summary_text")]), order=data.draw(rs.orders()))
    view = OPENED[api](Stream(as_kind(api, kind, chunks)), spacing="tidy")
    by_part = dict(of_parts(view.iter_parts()))
    for part in view.result.parts:
        events = tidy(parse(part.raw))
        assert part.raw in written
        assert by_part.get(part.part, []) == events
        assert part.text == "".join(map(str, events))
        assert list(part.citations) == [event for event in events if isinstance(event, Citation)]
        assert not part.snapshot_mismatch


@sc.examples(50)
@given(st.data(), st.lists(texts, min_size=1, max_size=2), st.booleans(), st.sampled_from([None, SOURCES]))
def test_going_on_from_a_snapshot_at_any_moment_loses_and_repeats_nothing(
    data: st.DataObject, written: list[str], parts: bool, sources: dict[str, Source] | None
) -> None:
    cut = [data.draw(sc.cuts(text)) for text in written]
    api = data.draw(st.sampled_from(sorted(OPENED)))
    if api == "chat":
        chunks = [chunk(choice(delta, index)) for index, deltas in enumerate(cut) for delta in deltas]
        chunks += [chunk(choice(None, index, "stop")) for index in range(len(cut))]
    else:
        chunks = stream_of(*[message(*deltas) for deltas in cut], order=data.draw(rs.orders()))

    def opened(stream: Any, **options: Any) -> tuple[Any, Any]:
        view = OPENED[api](stream, sources=sources, spacing="tidy", **options)
        return view, iter(view.iter_parts() if parts else view)

    whole = list(opened(chunks)[1])
    for stop in range(len(whole) + 1):
        flow = Flow(chunks, {})
        view, items = opened(flow.chunks)
        read = [next(items) for _ in range(stop)]
        snapshot = json.loads(json.dumps(view.snapshot()))
        number = snapshot.get("sequence_number")
        rest = list(flow.chunks) if api == "chat" else chunks[0 if number is None else number + 1 :]
        resumed, later = opened(rest, snapshot=snapshot)
        assert resumed.held == view.held
        assert of_parts([*read, *later]) == of_parts(whole)
        assert not any(part.snapshot_mismatch for part in resumed.result.parts)


@every_api
def test_a_tidy_snapshot_is_for_a_tidy_view(api: str) -> None:
    stream = iter(chunks_of(api, ["a ", MARKER, "."]))
    view = OPENED[api](stream, spacing="tidy")
    assert next(iter(view)) == "a"
    with pytest.raises(ValueError, match=r"^snapshot: must be what snapshot\(\) gave, not .*: it was taken with tidy"):
        OPENED[api]([], snapshot=view.snapshot())
    broken = view.snapshot()
    broken["texts"][0]["tidy"]["origin"] = None
    with pytest.raises(ValueError, match=r"^snapshot: must be what snapshot\(\) gave"):
        OPENED[api]([], snapshot=broken, spacing="tidy")
    exact = OPENED[api](chunks_of(api, ["a"]))
    next(iter(exact))
    rest = chunks_of(api, ["a", f" {MARKER}."])[-2 if api == "chat" else 4 :]
    assert list(map(str, OPENED[api](rest, snapshot=exact.snapshot(), spacing="tidy")))[-1] == "."


@every_api
@pytest.mark.parametrize("size", [1, 4, 17, 1000])
@pytest.mark.parametrize("parts", [False, True])
def test_what_is_handed_out_and_held_is_what_was_read(api: str, size: int, parts: bool) -> None:
    chunks = chunks_of(api, deltas_of(ANSWER, size))
    stream = Stream(chunks)
    view = OPENED[api](stream, sources=SOURCES, spacing="tidy")
    handed_out: list[Any] = []
    for item in view.iter_parts() if parts else view:
        handed_out.append(item[1] if parts else item)
        known = [each.get("delta", "") or content_of(each) for each in chunks[: stream.read]]
        assert source_text(handed_out) + view.held == "".join(known)
    assert source_text(handed_out) == ANSWER


def content_of(each: Json) -> str:
    return "".join(one["delta"]["content"] or "" for one in each.get("choices", ()))


def test_a_choice_that_goes_on_after_its_finish() -> None:
    chunks = [*streamed(["a ", MARKER, " "]), *streamed(["b ", MARKER, ","])]
    view = chat_events(chunks, spacing="tidy")
    events = joined(view)
    assert "".join(map(str, events)) == view.result.text == "a b,"
    assert [event.position for event in events if isinstance(event, Citation)] == [1, 3]


# The client's own objects


@sc.examples(60)
@given(st.data(), KINDS, texts, st.sampled_from(["streamed", "final"]))
def test_chunks_are_those_of_the_tidy_text(data: st.DataObject, kind: str, text: str, when: Any) -> None:
    events = tidy(parse(text, complete=True))
    shown = "".join(map(str, events))
    stream = given_as(kind, streamed(data.draw(sc.cuts(text))))
    read = list(clean_chat(Stream(stream), sources=SOURCES, annotations=when, spacing="tidy"))
    assert (added_up(read, "content") or "") == shown
    found = without_index(added_up(read, "annotations"))
    assert [each["url_citation"]["start_index"] for each in found] == places(events)
    whole: Any = clean_completion(completion(kind, {"content": text}), sources=SOURCES, spacing="tidy")
    assert added_up([whole], "content") == shown
    assert without_index(added_up([whole], "annotations")) == found


@sc.examples(60)
@given(st.data(), st.booleans(), texts)
def test_responses_have_the_tidy_text_wherever_it_stands(data: st.DataObject, typed: bool, text: str) -> None:
    events = tidy(parse(text, complete=True))
    shown = "".join(map(str, events))
    chunks = stream_of(message(*data.draw(sc.cuts(text))))
    read = list(clean_responses(Stream(rs.typed(chunks) if typed else chunks), sources=SOURCES, spacing="tidy"))
    read = list(map(rs.plain, read))
    assert "".join(each["delta"] for each in read if each["type"].endswith("text.delta")) == shown
    assert [each["text"] for each in read if each["type"].endswith("text.done")] == [shown]
    kinds = [each["type"] for each in read]
    assert kinds.index("response.output_text.done") > max(
        (at for at, kind in enumerate(kinds) if "delta" in kind), default=0
    )
    parts = [each["part"] for each in read if each["type"] == "response.content_part.done"]
    parts += [each["item"]["content"][0] for each in read if each["type"] == "response.output_item.done"]
    parts += [read[-1]["response"]["output"][0]["content"][0]]
    response = rs.response_of([message(text)])
    whole: Any = clean_response(rs.typed_response(response) if typed else response, sources=SOURCES, spacing="tidy")
    parts += [rs.plain(whole)["output"][0]["content"][0]]
    for part in parts:
        assert part["text"] == shown
        assert [each["start_index"] for each in part["annotations"]] == places(events)
    assert len(parts) == 4
    numbers = [each["sequence_number"] for each in read]
    assert numbers == sorted(set(numbers))


def places(events: Iterable[Any]) -> list[int]:
    """Give where the citations of a source with a URL stand in the tidy text."""
    return [event.position for event in events if isinstance(event, Citation) and "turn0file1" in event.source_ids]


def test_a_message_that_repeats_all_so_far_is_tidy_too() -> None:
    text = f"a ({MARKER}) b {MARKER}."
    one = choice("", finish_reason=None) | {"message": {"content": text}}
    (read,) = clean_chat([chunk(choice("a")), chunk(one, usage={"total_tokens": 1})][1:], spacing="tidy")
    assert plain(read)["choices"][0]["message"]["content"] == "a b."


MAKERS: list[Callable[..., Any]] = [
    lambda **options: chat_events([], **options),
    lambda **options: responses_events([], **options),
    lambda **options: clean_chat([], **options),
    lambda **options: clean_responses([], **options),
    lambda **options: clean_completion(completion("dict"), **options),
    lambda **options: clean_response(rs.response_of([]), **options),
    lambda **options: stream_chat(OPENAI, **APIS["chat"].params, **options),
    lambda **options: stream_responses(OPENAI, **APIS["responses"].params, **options),
]


@pytest.mark.parametrize("make", MAKERS)
def test_another_spacing_is_refused_at_once(make: Callable[..., Any]) -> None:
    make(spacing="tidy")
    with pytest.raises(ValueError, match=r"^spacing: must be one of 'exact', 'tidy', not 'Tidy'$"):
        make(spacing="Tidy")
