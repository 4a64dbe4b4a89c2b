"""The payloads that the fast lane hands out beside the answer: as they are, and in their place."""

import json
from typing import Any

import anyio
from hypothesis import given
from hypothesis import strategies as st

from streamcite import Citation
from tests import responses_streams as rs
from tests import strategies as sc
from tests.chats import TOOL_CALL, choice, chunk
from tests.odd_chats import conversations
from tests.raw_streams import (
    CHAT,
    PLACES,
    RESPONSES,
    async_raw_of,
    body,
    in_pieces,
    outcome,
    raw_of,
    short,
    view_of,
)
from tests.responses_streams import UNCLOSED, message, stream_of


def has_text(value: Any) -> bool:
    kind = value.get("type", "")
    if "choices" in value:
        deltas = [each["delta"] for each in value["choices"]]
        return any(
            delta.get(name) for delta in deltas for name in ("content", "refusal", "reasoning_content", "reasoning")
        )
    if kind.endswith(".delta"):
        return bool(value["delta"]) and kind != "response.odd.delta"

    def found(inner: Any) -> bool:
        if isinstance(inner, dict):
            return any(inner.get(name) for name in ("text", "refusal")) or any(map(found, inner.values()))
        return isinstance(inner, list) and any(map(found, inner))

    return kind != "response.output_text.annotation.added" and found(value)


ODD_EVENTS: list[Any] = [{"type": "response.odd", "n": 1}, {"type": "response.odd.delta", "delta": "no"}, {"n": 2}]


@sc.examples(40)
@given(st.data(), PLACES)
def test_payloads_without_text_come_as_they_are_in_their_place(data: st.DataObject, places: list[int]) -> None:
    if data.draw(st.booleans()):
        api, objects = CHAT, data.draw(conversations())
        objects.append(chunk(choice(tool_calls=[TOOL_CALL])))
    else:
        items = data.draw(st.lists(rs.items(), min_size=1, max_size=3))
        end = data.draw(st.sampled_from([*rs.ENDS, None]))
        api, objects = RESPONSES, [*stream_of(*items, order=data.draw(rs.orders()), end=end)]
        for odd in data.draw(st.lists(st.sampled_from(ODD_EVENTS), max_size=4)):
            objects.insert(data.draw(st.integers(0, len(objects))), odd)
    payloads = [json.dumps(each, indent=data.draw(st.sampled_from([None, 1]))).encode() for each in objects]
    wire = body([payload.decode() for payload in payloads])
    pieces = in_pieces(wire, [place % len(wire) for place in places])
    with raw_of(api, pieces) as view:
        pairs = list(view.iter_parts(raw=True))
    assert [pair for pair in pairs if pair[0] is not None] == outcome(view_of(api, [wire]), parts=True).items
    expected = [payload for payload, each in zip(payloads, objects, strict=True) if not has_text(each)]
    assert [payload for part, payload in pairs if part is None] == expected

    async def read() -> list[Any]:
        async with async_raw_of(api, pieces) as events:
            return [pair async for pair in events.iter_parts(raw=True)]

    assert anyio.run(read) == pairs


def test_a_payload_stands_where_its_frame_stood() -> None:
    other, empty = b'{"choices":[], "filter": 1}', b'{ "choices": [{"delta": {"content": ""}}] }'
    frames = [other, body(short(CHAT, "a"), done=False)[6:].split(b"\n")[0], empty, b"5"]
    data = b"".join(b"data: %b\n\n" % each for each in frames)
    with raw_of(CHAT, [data]) as view:
        pairs = [(part and part.field, item) for part, item in view.iter_parts(raw=True)]
    assert pairs == [(None, other), ("content", "a"), (None, empty), (None, b"5")]


def test_an_event_after_a_text_that_waits_for_its_end_is_given_too() -> None:
    events = stream_of(message("a", UNCLOSED))
    odd = {"type": "response.odd"}
    at = next(number for number, each in enumerate(events) if each["type"] == "response.output_text.done") + 1
    for end in (len(events), len(events) - 1):
        with raw_of(RESPONSES, [body([*events[:at], odd, *events[at:end]])]) as view:
            pairs = list(view.iter_parts(raw=True))
        citation = next(number for number, (_, item) in enumerate(pairs) if not isinstance(item, str | bytes))
        assert pairs.index((None, json.dumps(odd).encode())) > citation
        assert isinstance(pairs[citation][1], Citation) == (end == len(events))
