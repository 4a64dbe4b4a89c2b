"""What a parser holds, and its snapshots."""

import json
from typing import Any

import pytest

from streamcite import Citation, CitationFormat
from streamcite.parser import CitationParser
from tests import strategies as sc
from tests.markers import MARKER, OPEN


@pytest.mark.parametrize(
    ("text", "held", "offset", "position"),
    [
        ("", "", 0, 0),
        ("text", "", 4, 4),
        ("te\ue200ci", "\ue200ci", 2, 2),
        (f"\U0001f600{MARKER}text{OPEN}turn0", f"{OPEN}turn0", 29, 5),
        (f"{OPEN}x y\ue202", "", 10, 3),
    ],
)
def test_snapshot(text: str, held: str, offset: int, position: int) -> None:
    parser = CitationParser()
    parser.feed(text)
    assert parser.held == held
    assert parser.snapshot() == {"version": 1, "held": [held], "offset": offset, "position": position}


SNAPSHOT = {"version": 1, "held": [OPEN], "offset": 3, "position": 2}


@pytest.mark.parametrize(
    "snapshot",
    [
        *({}, [], None, 1, "version"),
        *({key: value for key, value in SNAPSHOT.items() if key != missing} for missing in SNAPSHOT),
        *(SNAPSHOT | {"version": other} for other in (0, 2, "1", None)),
        *(SNAPSHOT | {"held": other} for other in (None, b"", 1, OPEN, [b""], [None])),
        *(SNAPSHOT | {"offset": other} for other in (None, "3", 3.5, -1, True)),
        *(SNAPSHOT | {"position": other} for other in (None, "2", 2.5, -1, True)),
    ],
    ids=repr,
)
def test_what_is_not_a_snapshot_of_this_version_is_refused(snapshot: Any) -> None:
    with pytest.raises(ValueError, match="not a snapshot of version 1"):
        CitationParser.restore(snapshot)


@pytest.mark.parametrize("held", ["a", "\ue200 ", MARKER, OPEN + "a b", "\ue200" * 2, "\ue200" + "a" * 33])
def test_a_snapshot_that_holds_what_is_not_held_is_refused(held: str) -> None:
    with pytest.raises(ValueError, match="other options"):
        CitationParser.restore(SNAPSHOT | {"held": [held]})


def test_a_snapshot_of_other_options_is_refused() -> None:
    parser = CitationParser(max_marker=100)
    parser.feed(OPEN + "a" * 50)
    snapshot = parser.snapshot()
    assert CitationParser.restore(snapshot, max_marker=100).held == parser.held
    for other in ({"max_marker": 20}, {"format": CitationFormat(**sc.BRACKETS)}):
        with pytest.raises(ValueError, match="other options"):
            CitationParser.restore(snapshot, **other)
    with pytest.raises(ValueError, match=r"^malformed: "):
        CitationParser.restore(snapshot, malformed="hide")  # type: ignore[arg-type]


def test_a_closed_parser_has_no_snapshot() -> None:
    parser = CitationParser()
    parser.close()
    with pytest.raises(ValueError, match="closed"):
        parser.snapshot()


def test_a_restored_parser_counts_on() -> None:
    parser = CitationParser.restore({"version": 1, "held": [OPEN], "offset": 1_000, "position": 1_200})
    (citation,) = parser.feed("a1\ue201")
    assert isinstance(citation, Citation)
    assert (citation.start, citation.position) == (1_000, 1_200)
    assert parser.snapshot() == {"version": 1, "held": [""], "offset": 1_009, "position": 1_200}


def test_a_snapshot_keeps_two_surrogates_apart_in_json() -> None:
    text = '\ue200entity\ue202["x","Paris \ud83d'
    parser = CitationParser()
    assert parser.feed(f"see {text}\ude00") == ["see "]
    snapshot = parser.snapshot()
    assert "".join(snapshot["held"]) == f"{text}\ude00"
    restored = CitationParser.restore(json.loads(json.dumps(snapshot)))
    assert restored.held == parser.held
    assert restored.feed('"]\ue201 b') == parser.feed('"]\ue201 b')
    assert restored.snapshot() == parser.snapshot()


def test_whether_anything_is_held() -> None:
    parser = CitationParser()
    assert not parser.holds
    for delta, holds in (("a", False), ("\ue200", True), ("cite\ue202", True), ("x", True), ("\ue201", False)):
        parser.feed(delta)
        assert parser.holds == holds == bool(parser.held)
