"""The annotations that `clean_chat` and `clean_completion` add, and those of the server that they move."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat.chat_completion_message import Annotation

from streamcite import CitationParser, clean, parse
from streamcite.annotations import Unit, When
from streamcite.openai import clean_chat, clean_completion
from tests import strategies as sc
from tests.chats import (
    KINDS,
    SOURCES,
    Shape,
    added_up,
    as_utf16,
    both,
    choice,
    chunk,
    clean_places,
    completion,
    expected_annotations,
    given_as,
    hosted,
    length,
    plain,
    streamed,
    without_index,
)
from tests.reading import source_text

UNITS: st.SearchStrategy[Unit] = st.sampled_from(["codepoint", "utf16"])
WHENS: st.SearchStrategy[When] = st.sampled_from(["streamed", "final", "off"])
CITED = "One.\ue200cite\ue202a1\ue201 Two \U0001f680.\ue200cite\ue202a1\ue202b2\ue201 Three."


def is_hosted(annotation: Shape) -> bool:
    return bool(annotation["url_citation"]["title"] == "Hosted")


def moved(annotation: Shape, places: list[int]) -> Shape:
    place = annotation["url_citation"]
    start, end = places[place["start_index"]], places[place["end_index"]]
    return {**annotation, "url_citation": {**place, "start_index": start, "end_index": end}}


@st.composite
def with_hosted(draw: st.DrawFn, unit: Unit) -> tuple[list[list[Any]], str]:
    """Draw deltas, each with annotations of the text up to there, and the finish reason."""
    text = as_utf16(draw(sc.texts(sc.OPENAI)))
    parser, seen, pieces = CitationParser(), "", []
    for delta in draw(sc.cuts(text)):
        seen += source_text(parser.feed(delta))  # where what is held will stand nobody knows
        at = st.integers(0, length(seen, unit))
        spans = draw(st.lists(st.tuples(at, at), max_size=2))
        pieces.append([delta, [hosted(*sorted(span)) for span in spans]])
    return pieces, draw(st.sampled_from(["stop", "length"]))


@given(KINDS, st.data())
def test_the_servers_own_annotations_keep_their_places(kind: str, data: st.DataObject) -> None:
    unit: Unit = data.draw(UNITS)
    when: When = data.draw(WHENS)
    pieces, reason = data.draw(with_hosted(unit))
    text, complete = "".join(delta for delta, _ in pieces), reason == "stop"
    shapes = [chunk(choice(delta, annotations=annotations)) for delta, annotations in pieces]
    at_the_end = hosted(0, length(text, unit))
    shapes += [chunk(choice(None, finish_reason=reason, annotations=[at_the_end]))]
    given_all = [each for _, annotations in pieces for each in annotations] + [at_the_end]
    places = clean_places(parse(text, complete=complete), unit)
    cleaned = list(clean_chat(given_as(kind, shapes), sources=SOURCES, unit=unit, annotations=when))
    seen = added_up(cleaned, "annotations")
    expected = [moved(each, places) for each in given_all]
    assert without_index([each for each in seen if is_hosted(each)]) == expected
    ours = [] if when == "off" else expected_annotations(text, complete=complete, unit=unit)
    assert without_index([each for each in seen if not is_hosted(each)]) == ours
    whole = clean_completion(
        completion(kind, {"content": text, "annotations": given_all}, finish_reason=reason),
        sources=SOURCES,
        unit=unit,
        annotations=when,
    )
    assert (added_up([whole], "annotations") or []) == expected + ours


@pytest.mark.parametrize("when", ["streamed", "final"])
@given(
    KINDS, st.lists(st.sampled_from(("text", "cite", "hosted", "hosted without a number", "two hosted")), max_size=9)
)
def test_numbers_are_unique_and_increase_over_the_servers_and_ours(when: When, kind: str, steps: list[str]) -> None:
    numbered, shapes = 0, [chunk(choice("Begin.", role="assistant"))]
    for step in steps:
        match step:
            case "text":
                shapes.append(chunk(choice("word ")))
            case "cite":
                shapes.append(chunk(choice("\ue200cite\ue202a1\ue201")))
            case "hosted without a number":
                shapes.append(chunk(choice(None, annotations=[hosted(0, 1)])))
            case _:
                count = 2 if step == "two hosted" else 1
                found = [hosted(0, 1, index=index) for index in range(numbered, numbered + count)]
                shapes.append(chunk(choice(None, annotations=found)))
                numbered += count
    shapes.append(chunk(choice(None, finish_reason="stop")))
    cleaned = list(clean_chat(given_as(kind, shapes), sources=SOURCES, annotations=when))
    annotations = added_up(cleaned, "annotations") or []
    assert [each["index"] for each in annotations] == [*range(len(annotations))]
    assert len(annotations) == sum({"text": 0, "two hosted": 2}.get(step, 1) for step in steps)


@both
def test_without_sources_the_servers_numbers_stay(kind: str) -> None:
    found = [hosted(0, 1, index=3), hosted(0, 1), hosted(0, 1, index=0)]
    [cleaned] = clean_chat(given_as(kind, [chunk(choice("One.", annotations=found))]))
    assert added_up([cleaned], "annotations") == found


@given(KINDS, st.data())
def test_a_streamed_annotation_comes_with_the_text_before_it(kind: str, data: st.DataObject) -> None:
    text = as_utf16(data.draw(sc.texts(sc.OPENAI)))
    unit: Unit = data.draw(UNITS)
    shapes = streamed(data.draw(sc.cuts(text)))
    seen, before = "", 0
    for one in clean_chat(given_as(kind, shapes), sources=SOURCES, unit=unit):
        seen += added_up([one], "content") or ""
        for each in added_up([one], "annotations") or []:
            assert before <= each["url_citation"]["start_index"] <= length(seen, unit)
        before = length(seen, unit)


@given(KINDS, st.data())
def test_final_annotations_come_in_one_chunk_before_the_finish(kind: str, data: st.DataObject) -> None:
    text = as_utf16(data.draw(sc.texts(sc.OPENAI)))
    *shapes, finish = streamed(data.draw(sc.cuts(text)))
    together = data.draw(st.booleans())
    if shapes and together:  # the finish comes with the last text
        shapes[-1]["choices"][0]["finish_reason"] = "stop"
    else:
        shapes.append(finish)
    cleaned = list(clean_chat(given_as(kind, shapes), sources=SOURCES, annotations="final"))
    having = [at for at, one in enumerate(cleaned) if added_up([one], "annotations")]
    if expected_annotations(text, complete=True):
        assert having == [len(cleaned) - 2]
        assert plain(cleaned[-1])["choices"][0]["finish_reason"] == "stop"
        assert list(plain(cleaned[-2])["choices"][0]["delta"]) == ["annotations"]
    else:
        assert having == []


@both
@pytest.mark.parametrize("options", [{}, {"sources": {}}, {"sources": SOURCES, "annotations": "off"}], ids=str)
def test_there_are_none_without_sources_or_when_they_are_off(kind: str, options: Shape) -> None:
    cleaned = list(clean_chat(given_as(kind, streamed(CITED)), **options))
    assert added_up(cleaned, "content") == clean(CITED)
    assert added_up(cleaned, "annotations") is None
    assert added_up([clean_completion(completion(kind, {"content": CITED}), **options)], "annotations") is None


def test_those_of_a_whole_message_are_what_its_class_declares() -> None:
    given_whole = completion("typed", {"content": CITED, "annotations": [hosted(0, 4)]})
    whole = clean_completion(given_whole, sources=SOURCES, unit="utf16")
    annotations = whole.choices[0].message.annotations
    assert [type(each) for each in annotations] == [Annotation] * 4
    assert [each.url_citation.start_index for each in annotations] == [0, 4, 12, 12]
    assert [each.url_citation.title for each in annotations] == ["Hosted", "One", "One", "Two \U0001f680"]


@both
def test_each_choice_has_numbers_and_places_of_its_own(kind: str) -> None:
    shapes = [chunk(choice(piece, 1), choice(None, 0)) for piece in CITED]
    shapes += [chunk(choice(CITED, 0)), chunk(choice(None, 0, "stop"), choice(None, 1, "stop"))]
    cleaned = list(clean_chat(given_as(kind, shapes), sources=SOURCES))
    expected = expected_annotations(CITED, complete=True)
    for index in (0, 1):
        annotations = added_up(cleaned, "annotations", index)
        assert without_index(annotations) == expected
        assert [each["index"] for each in annotations] == [0, 1, 2]


ODD: list[Any] = [
    None,
    "text",
    {},
    {"type": "url_citation"},
    {"type": "url_citation", "url_citation": None},
    {"type": "url_citation", "url_citation": {"start_index": None, "end_index": "9"}},
    {"type": "url_citation", "url_citation": {"start_index": True, "end_index": 9.5}},
    {"type": "file_path", "file_path": {"index": 30}},
    {"type": "unknown", "unknown": {"start_index": 30}},
    {"type": None, "url_citation": {"start_index": 30}},
]


@both
@pytest.mark.parametrize("odd", ODD, ids=str)
def test_an_annotation_of_another_shape_passes_as_it_is(kind: str, odd: Any) -> None:
    shapes = [chunk(choice(CITED, annotations=[odd, hosted(0, len(CITED))]))]
    [cleaned] = clean_chat(given_as(kind, copy.deepcopy(shapes)))
    assert added_up([cleaned], "annotations") == [plain(odd), hosted(0, len(clean(CITED)))]
