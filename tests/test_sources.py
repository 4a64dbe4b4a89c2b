import copy
import dataclasses
import pickle

import pytest

from streamcite.sources import Source


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
    [("id", 1), ("id", None), ("text", b"x"), ("title", 1), ("url", 1), ("updated", 2026), ("metadata", [("a", 1)])],
)
def test_a_wrong_type_is_refused_by_name(name: str, value: object) -> None:
    arguments: dict[str, object] = {"id": "a"} | {name: value}
    with pytest.raises(TypeError, match=f"^{name}: must be "):
        Source(**arguments)  # type: ignore[arg-type]
