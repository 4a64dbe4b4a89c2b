"""`streamcite.annotations`: the shapes of annotations, and where they stand in the clean text."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamcite import Citation, Cited, Event, OtherMarker, Resolver, Source, parse
from streamcite.annotations import (
    DETAILS,
    AnnotationOptions,
    CleanOffsets,
    Unit,
    chat_annotations,
    responses_annotations,
    size_in,
)
from tests import strategies as sc
from tests.chats import SOURCES, as_utf16, clean_places, expected_annotations, length

UNITS: st.SearchStrategy[Unit] = st.sampled_from(["codepoint", "utf16"])
DOUBLE = "\U0001f680\ue200cite\ue202turn0file1\ue202turn0file0\ue202turn0file1\ue202L2\ue202unknown\ue201"


@st.composite
def read(draw: st.DrawFn) -> list[Event]:
    """Draw the events of a text, with its strings cut anywhere."""
    text = as_utf16(draw(sc.texts(sc.OPENAI)))
    events = parse(text, complete=draw(st.booleans()), malformed=draw(st.sampled_from(["keep", "drop"])))
    pieces = [draw(sc.cuts(event)) if isinstance(event, str) else [event] for event in events]
    return [piece for of_event in pieces for piece in of_event if piece]


@st.composite
def stages(draw: st.DrawFn, events: list[Event]) -> list[list[Event]]:
    """Draw how much of the events is known, time after time; in the end all."""
    known = sorted(draw(st.lists(st.integers(0, len(events)), max_size=5)))
    return [events[:end] for end in [*known, len(events)]]


@given(st.data(), UNITS)
def test_offsets_are_moved_to_where_the_slow_way_has_them(data: st.DataObject, unit: Unit) -> None:
    events = data.draw(read())
    offsets = CleanOffsets(unit)
    for known in data.draw(stages(events)):
        offsets.catch_up(known)
        places = clean_places(known, unit)
        assert [*map(offsets, range(len(places)))] == places
        assert [offsets(len(places) + more) for more in (0, 7)] == [places[-1] + 1, places[-1] + 8]
        assert offsets(-1) == -1


MOVED: dict[str, dict[str, int]] = {
    "url_citation": {"start_index": 1, "end_index": 2},
    "container_file_citation": {"start_index": 1, "end_index": 2},
    "file_citation": {"index": 5},
    "file_path": {},
    "unknown": {},
}


@pytest.mark.parametrize("kind", MOVED)
def test_the_fields_that_count_in_the_text_move_and_no_others(kind: str) -> None:
    offsets = CleanOffsets()
    offsets.catch_up(parse("a\ue200cite\ue202a1\ue201bcdefg"))
    assert offsets.moved({"type": kind, "start_index": 4, "end_index": 11, "index": 14, "title": "t"}) == MOVED[kind]


@pytest.mark.parametrize(
    "annotation",
    [
        {},
        {"type": None, "start_index": 9},
        {"type": ["url_citation"], "start_index": 9},
        {"type": "url_citation", "start_index": True, "end_index": None},
        {"type": "url_citation", "start_index": 1, "end_index": "9"},
        {"type": "url_citation", "start_index": 9.0, "end_index": 0},
    ],
)
def test_what_is_not_an_offset_or_need_not_move_stays(annotation: dict[str, Any]) -> None:
    offsets = CleanOffsets()
    offsets.catch_up(parse("a\ue200cite\ue202a1\ue201bcdefg"))
    assert offsets.moved(annotation) == {}


@given(st.data(), UNITS, st.booleans())
def test_each_citation_is_annotated_once_as_it_is_read(data: st.DataObject, unit: Unit, complete: bool) -> None:
    text = as_utf16(data.draw(sc.texts(sc.OPENAI)))
    events = parse(text, complete=complete)
    annotator = AnnotationOptions(sources=SOURCES, unit=unit).annotator(chat_annotations)
    found = [each for known in data.draw(stages(events)) for each in annotator.catch_up(known)]
    assert found == expected_annotations(text, complete=complete, unit=unit)
    assert annotator.catch_up(events) == []


@pytest.mark.parametrize("malformed", ["keep", "drop"])
def test_all_that_the_reader_sees_counts(malformed: Any) -> None:
    # The name of an entity is seen, and a malformed marker if it is kept.
    text = '\ue200entity\ue202["person","Ada",0]\ue201\ue201\U0001f680\ue200cite\ue202a1\ue201'
    events = parse(text, malformed=malformed)
    assert [type(event) for event in events[:1] + events[-1:]] == [OtherMarker, Citation]
    for unit, emoji in (("codepoint", 1), ("utf16", 2)):
        annotator = AnnotationOptions(sources=SOURCES, unit=unit).annotator(chat_annotations)  # type: ignore[arg-type]
        [annotation] = annotator.catch_up(events)
        expected = len("Ada") + (malformed == "keep") + emoji
        assert annotation["url_citation"]["start_index"] == annotation["url_citation"]["end_index"] == expected


def test_off_and_no_sources_give_none() -> None:
    events = parse(DOUBLE)
    for options in (AnnotationOptions(), AnnotationOptions(sources=SOURCES, annotations="off")):
        assert options.annotator(responses_annotations).catch_up(events) == []


def test_a_source_is_annotated_once_a_marker_and_in_the_shape_of_its_kind() -> None:
    url = {
        "type": "url_citation",
        "start_index": 1,
        "end_index": 1,
        "title": "Warranty",
        "url": SOURCES["turn0file1"].url,
    }
    file = {"type": "file_citation", "file_id": "turn0file0", "filename": "A file that has no URL", "index": 1}
    annotator = AnnotationOptions(sources=SOURCES).annotator(responses_annotations)
    assert annotator.catch_up(parse(DOUBLE)) == [url, file]
    chat = AnnotationOptions(sources=SOURCES).annotator(chat_annotations).catch_up(parse(DOUBLE))
    assert chat == [{"type": "url_citation", "url_citation": {k: v for k, v in url.items() if k != "type"}}]


@pytest.mark.parametrize(
    ("source", "title", "filename"),
    [
        (Source("s", title="T", url="https://u/"), "T", None),
        (Source("s", url="https://u/"), "https://u/", None),
        (Source("s", title="", url="https://u/"), "https://u/", None),
        (Source("s", title="T"), None, "T"),
        (Source("s"), None, "s"),
        (Source("s", url=""), None, "s"),
        # What a browser would run, or cannot open, is not a link.
        (Source("s", title="T", url="javascript:alert(1)"), None, "T"),
        (Source("s", url=" JaVa\tScRiPt:alert(1)"), None, "s"),
        (Source("s", url="data:text/html,<script>"), None, "s"),
        (Source("s", url="/docs/page"), None, "s"),
    ],
)
def test_a_source_without_a_title_or_a_url_is_named_by_what_it_has(
    source: Source, title: str | None, filename: str | None
) -> None:
    [annotation] = responses_annotations([source], 3)
    assert (annotation.get("title"), annotation.get("filename")) == (title, filename)
    assert len(chat_annotations([source], 3)) == (title is not None)


def test_what_may_not_be_cited_is_not_annotated() -> None:
    cited = {**SOURCES, "a1": Source("a1", title="One", url="https://a.example/1", citable=False)}
    events = parse("a\ue200cite\ue202a1\ue202b2\ue201")
    for shape in (chat_annotations, responses_annotations):
        annotator, resolver = (AnnotationOptions(sources=cited).annotator(shape), Resolver(cited))
        annotations = annotator.catch_up(events)
        known = [link.source for event in resolver.feed(events) if isinstance(event, Cited) for link in event.links]
        assert annotations == shape([source for source in known if source], 1)
        assert len(annotations) == 1


@given(st.text(), UNITS)
def test_sizes_are_what_the_unit_says(text: str, unit: Unit) -> None:
    assert size_in(unit)(text) == length(text, unit)


def test_a_lone_surrogate_is_one_unit() -> None:
    assert size_in("utf16")("\ud800a\U0001f680") == 4


@pytest.mark.parametrize("name", ["annotations", "unit"])
@pytest.mark.parametrize("value", ["", "Streamed", None, 1, []], ids=repr)
def test_a_choice_of_another_name_is_misuse(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"^{name}: must be one of '.+', not "):
        AnnotationOptions(**{name: value})


@pytest.mark.parametrize("value", [[], "sources", 1, {Source("a")}], ids=type)
def test_sources_that_are_not_a_mapping_are_misuse(value: Any) -> None:
    with pytest.raises(
        TypeError, match=f"^sources: must be a mapping from id to Source, such as .*, not {type(value).__name__}$"
    ):
        AnnotationOptions(sources=value)


def test_details_say_what_a_citation_points_to() -> None:
    lines = Source("turn0file1", "\n" * 20, title="Handbook")
    sources = {"turn0file1": lines, "turn0file2": Source("turn0file2", url="https://example.org/", document="one")}
    options = AnnotationOptions(sources=sources, details=True)
    resolver = options.resolver()
    text = "a\ue200cite\ue202turn0file2\ue202turn0file1\ue202L2\ue202L8-L99\ue202none\ue201b"
    text += "\ue200cite\ue202turn0file1\ue201"
    found = options.annotator(responses_annotations, resolver).catch_up(parse(text))
    whole = {"locator": None, "first_line": None, "last_line": None}
    passages = [
        {"locator": "L2", "first_line": 2, "last_line": 2},
        {"locator": "L8-L99", "first_line": 8, "last_line": 99},
    ]
    assert [each.pop(DETAILS) for each in found] == [
        {"number": 1, "passages": [whole]},
        {"number": 2, "passages": passages, "problem": "unknown-lines"},
        {"number": 2, "passages": [whole]},
    ]
    plain = AnnotationOptions(sources=sources)
    assert plain.resolver() is None
    assert plain.annotator(responses_annotations).catch_up(parse(text)) == found
    # Another text of the answer goes on with the numbers.
    (again,) = options.annotator(responses_annotations, resolver).catch_up(parse("\ue200cite\ue202turn0file1\ue201"))
    assert again[DETAILS]["number"] == 2
    nothing = options.annotator(responses_annotations, resolver)
    assert nothing.catch_up(parse("\ue200cite\ue202none\ue201")) == []
