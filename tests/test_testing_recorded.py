"""`streamcite.testing`: a text is cut as tokens are, and the recorded answers are sound."""

import re
from importlib import resources
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamcite import Citation, Malformed, clean, parse
from streamcite.testing import RecordedAnswer, recorded_answers, token_deltas
from tests.markers import MARKER
from tests.recorded import ANSWERS, every_answer

PIECES = ["\ue200", "cite", "\ue202", "turn", "0", "file", "1", "\ue202", "L", "8", "-L", "13", "\ue201"]
any_text = st.text(st.characters() | st.sampled_from("\ue200\ue201\ue202 \r\n\tAbcé019-_.。、かな漢字한글🚀️‍"))


@given(any_text)
def test_deltas_joined_are_the_text(text: str) -> None:
    deltas = token_deltas(text)
    assert "".join(deltas) == text
    assert all(0 < len(delta) <= 32 for delta in deltas)


@given(any_text, any_text)
def test_a_line_citation_streams_in_thirteen_pieces_wherever_it_stands(before: str, after: str) -> None:
    deltas = token_deltas(before + MARKER + after)
    start = next(index for index in range(len(deltas)) if "".join(deltas[:index]) == before)
    assert deltas[start : start + 13] == PIECES


@pytest.mark.parametrize(
    "deltas",
    [
        ["Hello", ",", " world", "!"],
        ["In", " ", "202", "6", ",", " ", "12", " %"],
        ["see", " [", "1", "].", " Don", "'t", " (", "now", ")"],
        ["   ", " def", " f", "_name", "(x", "):\n", "       ", " return", " x"],
        ["|", " a", " |", " ---", " |"],
        ["梅干", "しを", "漬け", "る", "。\n\n", "次"],
        ["**", "Yes", "**", " 🚀", "👩", "\u200d", "💻", "."],
    ],
    ids="".join,
)
def test_cuts(deltas: list[str]) -> None:
    assert token_deltas("".join(deltas)) == deltas


# The recorded answers


def test_there_is_an_answer_of_each_kind() -> None:
    assert list(ANSWERS) == ["english", "japanese", "technical"]
    assert len(clean(ANSWERS["english"].text).split()) >= 300
    japanese = clean(ANSWERS["japanese"].text)
    assert len(re.findall(r"[\u3040-\u30ff\u4e00-\u9fff]", japanese)) >= 600
    technical = clean(ANSWERS["technical"].text)
    prose = re.sub(r"```python\n.*?\n```", "", technical, flags=re.DOTALL)
    assert len(prose.split()) >= 300
    assert len(prose) < len(technical)
    assert re.search(r"^\|[-:|]+\|$", technical, re.MULTILINE)
    assert len(re.findall("[\U0001f300-\U0001faff]", technical)) >= 5


@every_answer
def test_an_answer_cites_much_and_in_every_form(answer: RecordedAnswer) -> None:
    citations = [event for event in parse(answer.text, complete=True) if isinstance(event, Citation)]
    assert len(citations) >= 10
    assert sum(len(set(citation.source_ids)) > 1 for citation in citations) >= 2
    assert sum(bool(re.fullmatch(r"L\d+\D+\d+", citation.locator or "")) for citation in citations) >= 3
    assert any(citation.locator is None for citation in citations)
    assert {source_id for citation in citations for source_id in citation.source_ids} == set(answer.sources)


@pytest.mark.parametrize(
    ("model", "reasons", "repaired"),
    [
        ("english", ["bad_source_id", "no_source"], ["turn1file0\ue202L5"]),
        ("japanese", ["stray_stop", "bad_source_id"], ["turn1search0\ue202L2"]),
        ("technical", ["empty", "unclosed"], ["turn0file2\ue202L6-L7"]),
    ],
)
def test_two_markers_are_malformed_and_one_can_be_repaired(model: str, reasons: list[str], repaired: list[str]) -> None:
    events = parse(ANSWERS[model].text, complete=True)
    assert sorted(event.reason for event in events if isinstance(event, Malformed)) == sorted(reasons)
    raws = [event.raw for event in events if isinstance(event, Citation) and event.repaired]
    assert raws == ["\ue200cite\ue202" + references for references in repaired]


@every_answer
def test_what_is_cited_exists(answer: RecordedAnswer) -> None:
    for event in parse(answer.text, complete=True):
        for reference in event.references if isinstance(event, Citation) else ():
            lines = answer.sources[reference.source_id].text.split("\n")
            if reference.locator:
                first, *last = map(int, re.findall(r"\d+", reference.locator))
                cited = lines[first - 1 : last[0] if last else first]
                assert 1 <= first <= (last or [first])[0] <= len(lines), event
                assert all(cited), event


@every_answer
def test_sources_are_whole(answer: RecordedAnswer) -> None:
    assert answer.question
    for name, source in answer.sources.items():
        assert source.id == name
        assert re.fullmatch(r"turn[01](file|search)\d", name)
        assert source.title
        assert re.match(r"https://example\.(org|com)/", source.url or "")


@every_answer
def test_markers_stand_where_the_guide_wants_them(answer: RecordedAnswer) -> None:
    outside_code = re.sub(r"```python\n.*?\n```\n", "", answer.text, flags=re.DOTALL)
    assert outside_code.count("\ue200") == answer.text.count("\ue200")
    before = {answer.text[match.start() - 1] for match in re.finditer("\ue200", answer.text)}
    assert before <= set(".:。\ue201\ue202")  # after punctuation, another marker or, malformed by design, inside one


def test_the_files_can_be_read_in_an_editor() -> None:
    files = {
        file.name: file.read_text("utf-8") for file in (resources.files("streamcite.testing") / "answers").iterdir()
    }
    assert sorted(files) == [f"{name}.json" for name in ANSWERS]
    for text in files.values():
        assert re.search("[\ue000-\uf8ff]", text) is None
        assert r"\ue200cite\ue202" in text


def test_recorded_answers_are_read_only_and_values() -> None:
    answer = RecordedAnswer(id="mine", text="A b")
    assert answer == RecordedAnswer(id="mine", text="A b", deltas=("A", " b"))
    assert {answer, RecordedAnswer(id="mine", text="A b")} == {answer}
    with pytest.raises(TypeError):
        recorded_answers()["english"] = answer  # type: ignore[index]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"id": 5}, "id: must be a str, not 5"),
        ({"id": None}, "id: must be a str, not None"),
        ({"text": b"x"}, "text: must be a str, not b'x'"),
        ({"reasoning": None}, "reasoning: must be a str, not None"),
        ({"deltas": 5}, "deltas: must be strings, not 5"),
        ({"deltas": ("x", 5)}, "deltas: must be strings, not 5"),
    ],
    ids=str,
)
def test_a_recorded_answer_of_a_wrong_type_is_misuse(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        RecordedAnswer(**{"id": "x", "text": "x", **fields})


def test_a_wrong_recorded_answer_is_misuse() -> None:
    with pytest.raises(ValueError, match=r"^id: must be a non-empty string, not ''$"):
        RecordedAnswer(id="", text="x")
    with pytest.raises(ValueError, match=r"^deltas: must be the text when"):
        RecordedAnswer(id="x", text="ab", deltas=("a", "c"))
