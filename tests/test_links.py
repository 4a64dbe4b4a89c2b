"""The values that a resolver hands out, and their JSON form."""

import copy
import dataclasses
import json
import pickle
import tracemalloc
from collections.abc import Mapping
from typing import Any

import pytest

from streamcite import Citation, Passage, Reference, Source, parse
from streamcite.links import MAX_PASSAGE, Cited, Link, Resolved, from_dict, new_link, to_dict

BOOK = Source("turn0file1", "one\ntwo\nthree\n", title="Book", url="https://example.org", metadata={"page": 1})
BLOCK = Source("block1", "a block", unit="block")
LINES = Link(
    Reference("turn0file1", "L2-L3"), BOOK, Passage("two\nthree", 4, first_line=2, last_line=3), 1, problem=None
)
WHOLE_BLOCK = Link(Reference("block1"), BLOCK, Passage("a block", 0), 2, "stale-source")
NO_LINES = Link(Reference("turn0file1", "L9"), BOOK, None, 1, "unknown-lines")
UNKNOWN = Link(Reference("turn0file7"), problem="unknown-source")
LINKS = (LINES, WHOLE_BLOCK, NO_LINES, UNKNOWN)
CITATION = Citation(
    family="cite",
    references=tuple(link.reference for link in LINKS),
    raw="\ue200cite\ue202turn0file1\ue202L2-L3\ue202block1\ue202turn0file1\ue202L9\ue202turn0file7\ue201",
    start=7,
    position=5,
)
CITED = Cited(CITATION, 3, 6, LINKS, pending=True)
PROSE = dataclasses.replace(CITED, pending=False, text="as prose")
RESOLVED = Resolved(3, LINKS)
EVENTS = [CITED, PROSE, RESOLVED]
every_event = pytest.mark.parametrize("event", EVENTS, ids=["cited", "prose", "resolved"])
every_link = pytest.mark.parametrize("link", LINKS, ids=["lines", "block", "no lines", "unknown"])

LINK_FORMS: list[dict[str, Any]] = [
    {
        "reference": {"source_id": "turn0file1", "locator": "L2-L3"},
        "source": {"id": "turn0file1", "title": "Book", "url": "https://example.org", "unit": "lines"},
        "passage": {"text": "two\nthree", "start": 4, "first_line": 2, "last_line": 3},
        "number": 1,
        "problem": None,
    },
    {
        "reference": {"source_id": "block1", "locator": None},
        "source": {"id": "block1", "title": None, "url": None, "unit": "block"},
        "passage": {"text": "a block", "start": 0, "first_line": None, "last_line": None},
        "number": 2,
        "problem": "stale-source",
    },
    {
        "reference": {"source_id": "turn0file1", "locator": "L9"},
        "source": {"id": "turn0file1", "title": "Book", "url": "https://example.org", "unit": "lines"},
        "passage": None,
        "number": 1,
        "problem": "unknown-lines",
    },
    {
        "reference": {"source_id": "turn0file7", "locator": None},
        "source": None,
        "passage": None,
        "number": None,
        "problem": "unknown-source",
    },
]
CITED_FORM: dict[str, Any] = {
    "type": "cited",
    "citation": {
        "type": "citation",
        "family": "cite",
        "references": [form["reference"] for form in LINK_FORMS],
        "repaired": False,
        "raw": CITATION.raw,
        "text": "",
        "start": 7,
        "end": CITATION.end,
        "position": 5,
    },
    "index": 3,
    "position": 6,
    "links": LINK_FORMS,
    "pending": True,
    "text": "",
}
RESOLVED_FORM: dict[str, Any] = {"type": "resolved", "index": 3, "links": LINK_FORMS, "pending": False}


def test_a_cited_stands_where_its_citation_does() -> None:
    assert (CITED.raw, CITED.start, CITED.end) == (CITATION.raw, 7, CITATION.end)
    assert CITED.position == 6
    match CITED:
        case Cited(Citation(family), links):
            assert (family, links) == ("cite", LINKS)


def test_a_resolved_stands_for_nothing_in_the_text() -> None:
    assert RESOLVED.raw == RESOLVED.text == str(RESOLVED) == ""
    assert not RESOLVED.pending


def test_str_is_what_the_reader_sees() -> None:
    assert "".join(map(str, ["a", CITED, PROSE, RESOLVED])) == "aas prose"


@pytest.mark.parametrize("value", [*EVENTS, *LINKS])
def test_all_of_them_are_immutable_values(value: Any) -> None:
    twin = pickle.loads(pickle.dumps(value))  # noqa: S301 - what was pickled in this line
    assert twin == copy.copy(value) == copy.deepcopy(value) == value
    assert hash(twin) == hash(value)
    assert repr(twin) == repr(value)
    assert not hasattr(value, "__dict__")
    for name in [*(field.name for field in dataclasses.fields(value)), "other"]:
        with pytest.raises((dataclasses.FrozenInstanceError, AttributeError, TypeError)):
            setattr(value, name, None)
    with pytest.raises(AttributeError, match="no attribute 'other'"):
        value.other  # noqa: B018


@pytest.mark.parametrize("link", LINKS[:3], ids=["lines", "block", "no lines"])
@pytest.mark.parametrize("use", [copy.copy, copy.deepcopy, hash, repr, dataclasses.astuple, to_dict, pickle.dumps])
def test_a_link_that_reads_its_passage_late_is_the_same_value(link: Link, use: Any) -> None:
    assert link.source is not None
    assert link.number is not None
    made = new_link(link.reference, link.source, link.number, link.problem)
    if use is to_dict:
        assert to_dict(Resolved(0, (made,))) == to_dict(Resolved(0, (link,)))
    elif use is not pickle.dumps:
        assert use(made) == use(link)
    for twin in (made, pickle.loads(pickle.dumps(made)), copy.copy(made), copy.deepcopy(made)):  # noqa: S301
        assert (twin, twin.passage) == (link, link.passage)
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.passage = None  # type: ignore[misc]


@every_link
def test_a_passage_that_was_given_stays(link: Link) -> None:
    given = dataclasses.replace(link, passage=Passage("of a source without text", 7))
    for twin in (given, pickle.loads(pickle.dumps(given)), copy.copy(given), copy.deepcopy(given)):  # noqa: S301
        assert twin.passage == given.passage
        assert (twin, hash(twin), repr(twin)) == (link, hash(link), repr(link))


def test_a_passage_is_not_copied_until_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str | None] = []
    read = Source.passage

    def passage(self: Source, locator: str | None = None) -> Passage | None:
        asked.append(locator)
        return read(self, locator)

    monkeypatch.setattr(Source, "passage", passage)
    link = new_link(LINES.reference, BOOK, 1, None)
    assert link == LINES
    assert (hash(link), repr(link)) == (hash(LINES), repr(LINES))
    assert (copy.copy(link), copy.deepcopy(link), pickle.loads(pickle.dumps(link))) == (link,) * 3  # noqa: S301
    assert asked == []
    assert link.passage == LINES.passage
    assert asked == ["L2-L3"]


# A book that a model cites whole, again and again, by its lines: it is in memory once, and in no JSON at all.
WHOLE = Source("turn0file1", "A line of a book.\n" * 60_000)
EVERY = Reference(WHOLE.id, f"L1-L{len(WHOLE.lines)}")


def test_links_to_a_whole_book_hold_it_once() -> None:
    links = [new_link(Reference(EVERY.source_id, EVERY.locator), WHOLE, 1, None) for _ in range(100)]
    for link in links:
        assert link.passage is not None
        assert len(link.passage.text) == len(WHOLE.text) - 1
    assert len(pickle.dumps(links)) < 1.1 * len(WHOLE.text)
    tracemalloc.start()
    kept = [copy.copy(link) for link in links for _ in (hash(link), repr(link.reference), link.passage)]
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept == [link for link in links for _ in range(3)]
    assert held < len(WHOLE.text)


# The JSON form.


def test_the_json_form() -> None:
    assert to_dict(CITED) == CITED_FORM
    assert to_dict(PROSE) == {**CITED_FORM, "pending": False, "text": "as prose"}
    assert to_dict(RESOLVED) == RESOLVED_FORM
    assert list(to_dict(CITED)) == list(CITED_FORM)


@every_event
def test_what_is_read_has_the_same_form(event: Cited | Resolved) -> None:
    form = to_dict(event)
    read = from_dict(json.loads(json.dumps({**form, "other": 1})))
    assert type(read) is type(event)
    assert to_dict(read) == form
    assert isinstance(read, Cited | Resolved)
    assert [link.passage for link in read.links] == [link.passage for link in event.links]
    assert [link.source and link.source.title for link in read.links] == ["Book", None, "Book", None]


def test_events_of_the_parser_have_the_form_they_had() -> None:
    for event in parse(f"a{CITATION.raw}\ue200url\ue202b\ue201\ue201"):
        assert from_dict(to_dict(event)) == event


@pytest.mark.parametrize("unit", ["lines", "document"])
def test_a_form_holds_no_whole_book(unit: Any) -> None:
    book = dataclasses.replace(BOOK, unit=unit)
    link = new_link(Reference(book.id), book, 1, None)
    assert link.passage == Passage(book.text, 0)
    form = to_dict(Resolved(0, (link,)))
    assert form["links"][0]["passage"] is None
    assert to_dict(from_dict(form)) == form


def test_a_form_says_only_where_a_long_passage_is() -> None:
    link = new_link(EVERY, WHOLE, 1, None)
    (form,) = to_dict(Resolved(0, (link,)))["links"]
    assert form["passage"] == {"text": None, "start": 0, "first_line": 1, "last_line": 60_000}
    read = from_dict(to_dict(Resolved(0, (link,) * 500)))
    assert isinstance(read, Resolved)
    assert {each.passage for each in read.links} == {None}
    assert len(json.dumps(to_dict(Resolved(0, (link,) * 500)))) < 500 * 300


@pytest.mark.parametrize("unit", ["lines", "block"])
def test_the_longest_passage_that_a_form_holds(unit: Any) -> None:
    for length, held in ((MAX_PASSAGE, True), (MAX_PASSAGE + 1, False)):
        source = Source("a1", "x" * length, unit=unit)
        reference = Reference("a1", "L1" if unit == "lines" else None)
        form = to_dict(Resolved(0, (new_link(reference, source, 1, None),)))
        passage = form["links"][0]["passage"]
        line = 1 if unit == "lines" else None
        assert passage == {"text": source.text if held else None, "start": 0, "first_line": line, "last_line": line}
        read = from_dict(form)
        assert isinstance(read, Resolved)
        assert read.links[0].passage == (Passage(source.text, 0, line, line) if held else None)


@pytest.mark.parametrize("value", [None, 1, b"text", LINES, Reference("a")])
def test_what_is_not_an_event_has_no_form(value: Any) -> None:
    with pytest.raises(TypeError, match=f"not an event of a parser: {type(value).__name__}"):
        to_dict(value)


WRONG: dict[str, list[Any]] = {
    "type": [None, "", "Cited", 1, ["resolved"], {}],
    "citation": [None, "a", [], {}, {"type": "text", "text": "a"}],
    "index": [None, "1", -1, 1.0, True],
    "position": [None, "1", -1, 1.0, True],
    "links": [None, "a", {}, [None], ["a"], [{}]],
    "pending": [None, 0, 1, "no"],
    "text": [None, 1, ["a"]],
    "reference": [None, "a", {}, ("a", None), {"source_id": 1, "locator": None}, {"source_id": "a", "locator": 1}],
    "source": ["a", 1, {}, {"id": "a"}, {"id": "", "title": None, "url": None, "unit": "lines"}],
    "passage": ["a", 1, {}, {"text": "a"}, {"text": 1, "start": 0, "first_line": None, "last_line": None}],
    "number": ["1", -1, 1.0, True],
    "problem": ["", "unknown", 1, ["unknown-source"], {}],
}
forms = pytest.mark.parametrize("form", [CITED_FORM, RESOLVED_FORM], ids=["cited", "resolved"])


@forms
def test_a_form_with_a_wrong_or_missing_value_is_refused(form: Mapping[str, Any]) -> None:
    for key in form:
        for wrong in WRONG[key]:
            with pytest.raises(ValueError, match="not the JSON form of an event"):
                from_dict({**form, key: wrong})
        with pytest.raises(ValueError, match=f"not the JSON form of an event.*{key}"):
            from_dict({other: value for other, value in form.items() if other != key})


@pytest.mark.parametrize("key", LINK_FORMS[0])
def test_a_link_with_a_wrong_or_missing_value_is_refused(key: str) -> None:
    without = {other: value for other, value in LINK_FORMS[0].items() if other != key}
    for link in [without, *({**without, key: wrong} for wrong in WRONG[key])]:
        with pytest.raises(ValueError, match="not the JSON form of an event"):
            from_dict({**RESOLVED_FORM, "links": [link]})


@pytest.mark.parametrize("value", [None, 1, "text", [], {}])
def test_what_is_not_a_form_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="not the JSON form of an event"):
        from_dict(value)
