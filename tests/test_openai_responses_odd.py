"""`responses_events` over odd streams: events without text, fields of any type, and halves of characters."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamcite import parse
from streamcite.openai import responses_events
from tests import responses_streams as rs
from tests import strategies as sc
from tests.markers import MARKER, SENTENCE
from tests.reading import joined
from tests.responses_streams import (
    SILENT_EVENTS,
    TELLING,
    UNCLOSED,
    Json,
    both_shapes,
    everywhere,
    message,
    stream_of,
)


@both_shapes
@pytest.mark.parametrize("silent", [*SILENT_EVENTS, *TELLING], ids=str)
def test_an_event_without_text_changes_nothing_wherever_it_comes(shape: Any, silent: Json) -> None:
    events = everywhere(silent, stream_of(message(*SENTENCE)))
    assert joined(responses_events(shape(events))) == parse(SENTENCE)


@both_shapes
@pytest.mark.parametrize("silent", SILENT_EVENTS, ids=str)
def test_an_event_that_says_nothing_does_not_decide_how_a_text_ended(shape: Any, silent: Json) -> None:
    text = f"It lasts.{UNCLOSED}"
    events = everywhere(silent, stream_of(message(*text)))
    assert joined(responses_events(shape(events))) == parse(text, complete=True)
    assert joined(responses_events(shape(events[:-2]))) == parse(text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(), values, max_size=3),
    max_leaves=5,
)
NAMES = ["item", "part", "response", "output", "content", "summary", "text", "delta", "item_id", "id", "status",
         "output_index", "content_index", "phase", "incomplete_details", "annotation", "usage"]  # fmt: skip


@sc.examples(60)
@given(st.data())
def test_a_field_of_any_type_raises_nothing(data: st.DataObject) -> None:
    events = json.loads(json.dumps(stream_of(message(*SENTENCE[:12]))))

    def spoil(value: Any) -> None:
        for name, inner in value.items() if isinstance(value, dict) else enumerate(value):
            if name in NAMES and data.draw(st.integers(0, 9)) == 0:
                value[name] = data.draw(JSON)
            elif isinstance(inner, dict | list):
                spoil(inner)

    spoil(events)
    view = responses_events(events)
    shown = "".join(map(str, view))
    assert sorted(shown) == sorted(view.result.text)  # an index may be any number, and so the order
    assert "\ue200" not in shown


# Surrogates


@both_shapes
def test_a_character_may_be_cut_over_deltas(shape: Any) -> None:
    text = f"So \U0001f680\U0001f600.{MARKER}"
    items = message("So \ud83d", "\ude80\ud83d", "", "\ude00.", MARKER)
    events = [*stream_of(items)]
    whole = stream_of(message("So \U0001f680", "\U0001f600", "", ".", MARKER))
    mixed = [event if event["type"].endswith("delta") else other for event, other in zip(events, whole, strict=True)]
    for stream in (events, mixed):
        view = responses_events(shape(stream))
        assert joined(view) == parse(text)
        assert (view.result.parts[0].replaced, view.result.parts[0].snapshot_mismatch) == (0, False)


@both_shapes
def test_half_a_character_waits_for_what_is_repeated(shape: Any) -> None:
    events = stream_of(message("So \ud83d"))
    for event, other in zip(events, stream_of(message("So \U0001f680")), strict=True):
        if not event["type"].endswith("delta"):
            event.update(other)
    view = responses_events(shape(events))
    assert joined(view) == ["So \U0001f680"]
    assert (view.result.parts[0].replaced, view.result.parts[0].snapshot_mismatch) == (0, False)


@both_shapes
@pytest.mark.parametrize("end", [*rs.ENDS, None])
def test_a_lone_surrogate_is_replaced_and_reported(shape: Any, end: str | None) -> None:
    view = responses_events(shape(stream_of(message("a\ude00", "b\ud83d", "c\ud83d"), end=end)))
    assert joined(view) == ["a\ufffdb\ufffdc\ufffd"]
    (part,) = view.result.parts
    assert (part.raw, part.replaced, part.snapshot_mismatch) == ("a\ufffdb\ufffdc\ufffd", 3, False)
