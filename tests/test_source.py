"""One source: what is known of it, its passages, and its JSON form."""

import copy
import dataclasses
import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamcite import Passage, Source

TEXT = "one\r\ntwo\nthree\n"


def test_only_the_id_is_needed() -> None:
    source = Source("turn0file0")
    assert (source.id, source.text, source.title, source.url, source.updated) == ("turn0file0", "", None, None, None)
    assert source.metadata == {}


def test_sources_are_equal_by_value_and_hashable() -> None:
    metadata = {"tags": ["a"]}
    one = Source("a", "text", title="A", url="https://example.org", updated="2026-11-29", metadata=metadata)
    other = Source("a", "text", title="A", url="https://example.org", updated="2026-11-29", metadata={"tags": ["a"]})
    assert one == other
    assert hash(one) == hash(other)
    assert len({one, other, Source("b")}) == 2
    assert one != dataclasses.replace(one, metadata={"tags": []})


def test_a_source_cannot_be_changed() -> None:
    given = {"page": 1}
    source = Source("a", metadata=given)
    given["page"] = 2
    assert source.metadata == {"page": 1}
    assert (repr(source.metadata), len(source.metadata)) == ("{'page': 1}", 1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        source.text = "other"  # type: ignore[misc]
    with pytest.raises(TypeError, match="item assignment"):
        source.metadata["page"] = 3  # type: ignore[index]


def test_a_source_can_be_copied_pickled_and_taken_apart() -> None:
    source = Source("a", "text", metadata={"page": 1, "tags": ["b"]})
    assert list(source.lines) == ["text"]
    assert copy.deepcopy(source) == source
    assert pickle.loads(pickle.dumps(source)) == source  # noqa: S301 - what was pickled one call ago
    assert Source(**dataclasses.asdict(source)) == source
    assert dataclasses.replace(source, id="b").metadata == source.metadata


@pytest.mark.parametrize("id", ["", " ", " a", "a\n", "a\u3000"])
def test_an_id_that_no_marker_can_hold_is_refused(id: str) -> None:
    with pytest.raises(ValueError, match=r"^id: must be "):
        Source(id)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(
            ("id", 1),
            ("id", None),
            ("text", b"x"),
            ("title", 1),
            ("url", 1),
            ("updated", 2026),
            ("metadata", [("a", 1)]),
        ),
        *(("kind", None), ("document", 1), ("citable", 1)),
    ],
)
def test_a_wrong_type_is_refused_by_name(name: str, value: object) -> None:
    arguments: dict[str, object] = {"id": "a"} | {name: value}
    with pytest.raises(TypeError, match=f"^{name}: must be "):
        Source(**arguments)  # type: ignore[arg-type]


def test_a_wrong_unit_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^unit: must be one of 'document', 'block', 'lines', not 'page'"):
        Source("a", unit="page")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("locator", "expected"),
    [
        (None, Passage(TEXT, 0)),
        ("L1", Passage("one", 0, 1, 1)),
        ("L1-L2", Passage("one\r\ntwo", 0, 1, 2)),
        ("L2–3", Passage("two\nthree", 5, 2, 3)),
        *((other, None) for other in ("L0", "L0-L1", "L4", "L3-L2", "L1-L4", "L1-L999999999", "P 1", "", "L")),
    ],
)
def test_a_locator_points_to_its_passage(locator: str | None, expected: Passage | None) -> None:
    source = Source("a", TEXT)
    assert source.has_passage(locator) is (expected is not None)
    assert source.passage(locator) == expected


@pytest.mark.parametrize("unit", ["document", "block"])
def test_what_is_not_cited_by_lines_has_none(unit: Any) -> None:
    source = Source("a", TEXT, unit=unit)
    assert source.passage("L1") is None
    assert not source.has_passage("L1")
    assert source.has_passage()
    assert source.passage() == Passage(TEXT, 0)
    assert list(source.lines) == ["one", "two", "three"]


def test_lines_are_counted_once() -> None:
    source = Source("a", TEXT)
    assert source.lines is source.lines
    assert source == Source("a", TEXT)


def test_a_source_is_known_by_its_document_or_its_url_or_its_id() -> None:
    assert Source("a").identity == "a"
    assert Source("a", url="u").identity == "u"
    assert Source("a", url="u", document="d").identity == "d"


words = st.text(max_size=3)
sources_values = st.builds(
    Source,
    st.sampled_from(["a1", "turn0file0", "block7"]),
    words,
    title=st.none() | words,
    url=st.none() | words,
    updated=st.none() | words,
    metadata=st.dictionaries(words, st.integers() | words, max_size=2),
    kind=words,
    unit=st.sampled_from(["document", "block", "lines"]),
    citable=st.booleans(),
    document=st.none() | words,
)


@given(sources_values)
def test_a_source_comes_back_from_json(source: Source) -> None:
    assert Source.from_dict(json.loads(json.dumps(source.to_dict()))) == source


def test_the_json_form_leaves_out_what_was_not_said() -> None:
    assert Source("a").to_dict() == {"id": "a"}
    assert Source("a", "b", citable=False, metadata={"c": 1}).to_dict() == {
        "id": "a",
        "text": "b",
        "metadata": {"c": 1},
        "citable": False,
    }


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        ([], "^a source must be a mapping of its fields, not list"),
        (
            {"id": "a", "name": "b"},
            "^name: is not a field of a source; its fields are id, text, title, url, updated, metadata, kind,",
        ),
        ({"text": "a"}, "^id: is missing"),
        ({"id": "a", "text": None}, "^text: must be a str, not None"),
        ({"id": "a", "unit": ["lines"]}, "^unit: must be one of "),
        ({"id": " "}, "^id: must be "),
    ],
)
def test_what_is_not_the_json_form_of_a_source_is_refused(obj: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Source.from_dict(obj)
