"""The values that a parser hands out, and their JSON form (semantics, sections 2 and 5)."""

import copy
import dataclasses
import json
import pickle
from collections.abc import Mapping
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamcite.events import (
    Citation,
    Event,
    Malformed,
    OtherMarker,
    Reason,
    Reference,
    from_dict,
    new_citation,
    new_malformed,
    new_other,
    to_dict,
)

CITATION = Citation(
    family="cite",
    references=(Reference("turn0file1", "L8-L13"), Reference("turn0file2")),
    raw="\ue200cite\ue202turn0file1\ue202L8-L13\ue202turn0file2\ue201",
    start=7,
    position=5,
)
OTHER = OtherMarker(
    family="url", fields=("here", ""), raw="\ue200url\ue202here\ue202\ue201", text="here", start=0, position=0
)
MALFORMED = Malformed(reason="no_delimiter", raw="\ue200cite\ue201", text="", start=3, position=3)
MARKERS = [CITATION, OTHER, MALFORMED]
FORMS: list[tuple[Event, dict[str, Any]]] = [
    ("text", {"type": "text", "text": "text"}),
    (
        CITATION,
        {
            "type": "citation",
            "family": "cite",
            "references": [
                {"source_id": "turn0file1", "locator": "L8-L13"},
                {"source_id": "turn0file2", "locator": None},
            ],
            "repaired": False,
            "raw": CITATION.raw,
            "text": "",
            "start": 7,
            "end": 42,
            "position": 5,
        },
    ),
    (
        OTHER,
        {
            "type": "other",
            "family": "url",
            "fields": ["here", ""],
            "raw": OTHER.raw,
            "text": "here",
            "start": 0,
            "end": 11,
            "position": 0,
        },
    ),
    (
        MALFORMED,
        {
            "type": "malformed",
            "reason": "no_delimiter",
            "raw": "\ue200cite\ue201",
            "text": "",
            "start": 3,
            "end": 9,
            "position": 3,
        },
    ),
]
every_form = pytest.mark.parametrize(("event", "form"), FORMS, ids=["text", "citation", "other", "malformed"])
every_marker = pytest.mark.parametrize("event", MARKERS, ids=lambda event: type(event).__name__)


def test_a_reference_is_a_pair() -> None:
    source_id, locator = Reference(source_id="a", locator="L1")
    assert (source_id, locator) == ("a", "L1") == Reference("a", "L1")
    assert Reference("a") == Reference(source_id="a", locator=None)
    assert len({Reference("a"), Reference("a"), Reference("a", "L1")}) == 2


def test_what_a_citation_cites() -> None:
    assert CITATION.source_ids == ("turn0file1", "turn0file2")
    assert CITATION.locator is None
    assert dataclasses.replace(CITATION, references=CITATION.references[:1]).locator == "L8-L13"
    assert not CITATION.repaired


def test_a_citation_shows_nothing() -> None:
    assert CITATION.text == ""
    with pytest.raises(TypeError):
        Citation(family="c", references=(Reference("a"),), raw="", text="a", start=0, position=0)  # type: ignore[call-arg]


@every_marker
def test_str_is_what_the_reader_sees(event: Citation | OtherMarker | Malformed) -> None:
    assert str(event) == f"{event}" == event.text
    assert event.end == event.start + len(event.raw)


def test_events_join_to_the_clean_text() -> None:
    kept = dataclasses.replace(MALFORMED, text=MALFORMED.raw)
    assert "".join(map(str, ["See ", CITATION, OTHER, kept, "."])) == "See here\ue200cite\ue201."


@every_marker
def test_events_are_made_by_keyword_only(event: Any) -> None:
    values = {field.name: getattr(event, field.name) for field in dataclasses.fields(event)}
    assert type(event)(**values) == event
    with pytest.raises(TypeError, match="positional"):
        type(event)(*values.values())
    for name in values.keys() - {"repaired"}:
        with pytest.raises(TypeError, match=name):
            type(event)(**{key: value for key, value in values.items() if key != name})


@every_marker
def test_events_are_immutable_and_slotted(event: Any) -> None:
    for name in [*(field.name for field in dataclasses.fields(event)), "text", "end", "other"]:
        with pytest.raises((dataclasses.FrozenInstanceError, AttributeError, TypeError)):
            setattr(event, name, "other")
    with pytest.raises((dataclasses.FrozenInstanceError, AttributeError, TypeError)):
        del event.raw
    assert not hasattr(event, "__dict__")


@every_marker
def test_events_are_equal_by_value_and_hashable(event: Any) -> None:
    twin = pickle.loads(pickle.dumps(event))  # noqa: S301 - what was pickled in this line
    assert twin == event
    assert hash(twin) == hash(event)
    assert repr(twin) == repr(event)
    assert copy.copy(event) == copy.deepcopy(event) == event
    assert [event] == [other for other in MARKERS if other == event]
    for name in ("raw", "start", "position"):
        different = dataclasses.replace(event, **{name: "x" if name == "raw" else 99})
        assert different != event
        assert len({event, twin, different}) == 2
    assert event != event.raw


@every_marker
def test_what_the_parser_makes_is_the_same_value(event: Any) -> None:
    make: Mapping[type, Any] = {Citation: new_citation, OtherMarker: new_other, Malformed: new_malformed}
    made = make[type(event)](*(getattr(event, field.name) for field in dataclasses.fields(event)))
    assert type(made) is type(event)
    assert made == event
    assert hash(made) == hash(event)
    assert repr(made) == repr(event)
    assert pickle.loads(pickle.dumps(made)) == copy.deepcopy(made) == event  # noqa: S301
    assert str(made) == event.text
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.raw = ""
    assert not hasattr(made, "__dict__")


def kind(event: Event) -> tuple[Any, ...]:
    match event:
        case str(text):
            return ("text", text)
        case Citation("cite", (Reference(source_id, locator), *_), raw=raw):
            return ("citation", source_id, locator, raw)
        case OtherMarker("url", (label, *_), text=text):
            return ("url", label, text)
        case Malformed("no_delimiter", start=start):
            return ("malformed", start)
        case _:
            return ()


def test_events_can_be_matched() -> None:
    assert kind("text") == ("text", "text")
    assert kind(CITATION) == ("citation", "turn0file1", "L8-L13", CITATION.raw)
    assert kind(OTHER) == ("url", "here", "here")
    assert kind(MALFORMED) == ("malformed", 3)
    assert kind(dataclasses.replace(MALFORMED, reason="empty")) == ()


@every_form
def test_the_json_form(event: Event, form: dict[str, Any]) -> None:
    assert to_dict(event) == form
    assert list(to_dict(event)) == list(form)
    assert from_dict(form) == event
    assert from_dict(json.loads(json.dumps(form))) == event
    assert from_dict({**form, "other": 1}) == event


TEXTS = st.text(st.characters(codec=None), max_size=5)
PLACES = {"raw": TEXTS, "start": st.integers(0), "position": st.integers(0)}
EVENTS = st.one_of(
    TEXTS,
    st.builds(
        Citation,
        family=TEXTS,
        references=st.lists(st.builds(Reference, TEXTS, st.none() | TEXTS), min_size=1).map(tuple),
        repaired=st.booleans(),
        **PLACES,
    ),
    st.builds(OtherMarker, family=TEXTS, fields=st.lists(TEXTS).map(tuple), text=TEXTS, **PLACES),
    st.builds(Malformed, reason=st.sampled_from(get_args(Reason)), text=TEXTS, **PLACES),
)


@given(EVENTS)
def test_to_dict_and_from_dict_are_inverse(event: Event) -> None:
    form = to_dict(event)
    assert from_dict(form) == event
    assert type(from_dict(form)) is type(event)
    assert to_dict(from_dict(json.loads(json.dumps(form)))) == form


def test_a_form_is_new_and_may_be_changed() -> None:
    form = to_dict(CITATION)
    form["references"].clear()
    assert len(CITATION.references) == len(to_dict(CITATION)["references"]) == 2


@pytest.mark.parametrize("value", [None, 1, b"text", ["text"], {"type": "text", "text": "a"}, Reference("a")])
def test_what_is_not_an_event_has_no_form(value: Any) -> None:
    with pytest.raises(TypeError, match=f"not an event of a parser: {type(value).__name__}"):
        to_dict(value)


@every_form
def test_a_form_without_a_key_is_refused(event: Event, form: Mapping[str, Any]) -> None:
    for key in form:
        with pytest.raises(ValueError, match=f"not the JSON form of an event.*{key}"):
            from_dict({other: value for other, value in form.items() if other != key})


WRONG: dict[str, list[Any]] = {
    "type": [None, "", "Citation", 1, ["text"], {}],
    "text": [None, 1, b"a", ["a"]],
    "raw": [None, 1, b"a", ["a"]],
    "family": [None, 1, b"a", ["a"]],
    "start": [None, "1", -1, 1.0, True],
    "end": [None, "1", -1, 1.0, True, 0],
    "position": [None, "1", -1, 1.0, True],
    "repaired": [None, "no", 0, 1],
    "reason": [None, "other", 5, ["empty"], {}],
    "fields": [None, "here", 1, [1], [None], {"a": 1}],
    "references": [
        *(None, "ab", 1, [], {}, [None], ["a"], [("a", None)], [{}], [{"source_id": "a"}], [{"locator": None}]),
        *([{"source_id": None, "locator": None}], [{"source_id": "a", "locator": 1}]),
    ],
}


@every_form
def test_a_form_with_a_wrong_value_is_refused(event: Event, form: Mapping[str, Any]) -> None:
    for key in form:
        for wrong in WRONG[key]:
            with pytest.raises(ValueError, match="not the JSON form of an event"):
                from_dict({**form, key: wrong})


def test_a_citation_that_shows_text_is_refused() -> None:
    with pytest.raises(ValueError, match="a citation has no text"):
        from_dict({**to_dict(CITATION), "text": "a"})


@pytest.mark.parametrize("kind", ["cited", "resolved", "text_delta"])
def test_a_form_of_another_kind_is_named_as_such(kind: str) -> None:
    with pytest.raises(ValueError, match=f"of an event of a parser: unknown type '{kind}'$"):
        from_dict({"type": kind, "index": 0})


@pytest.mark.parametrize("value", [None, 1, "text", b"", [], [("type", "text")], {}])
def test_what_is_not_a_form_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="not the JSON form of an event"):
        from_dict(value)
