"""The guide's rules on whole answers: for each rule what breaks it, and beside it a twin that does not."""

import re
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamcite import OPENAI, Citation, CitationFormat, Resolved, Source, Sources, clean, instructions, parse
from streamcite.lint import Finding, Rule, lint
from streamcite.resolve import resolve
from tests.linting import MARKER, PIECES, SOURCES, answers, rules
from tests.markers import cite
from tests.reading import source_text

# What a marker says


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Yes.@", []),
        ("Yes.\ue200cite\ue202\ue201@", ["malformed-marker"]),
        ("Yes.\ue201@", ["malformed-marker"]),
        ("Yes.\ue202@", ["malformed-marker"]),
        ("Yes.\ue200cite\ue201@", ["malformed-marker"]),
        ("Yes.\ue200 cite@", ["malformed-marker"]),
        (f"Yes.{cite('L1')}@", ["malformed-marker"]),
        (f"Yes.{cite('#')}@", ["malformed-marker"]),
        ("Yes.@\ue200cite\ue202turn0", ["malformed-marker"]),
        (f"Yes.{cite('turn0file1')}", []),
        ("Yes.\ue200cite\ue202turn0file1 and", ["repaired-marker"]),
        (f"Yes.{cite('turn0file1', '#')}", ["repaired-marker"]),
        (f"Yes.{cite('turn0file1', 'block-7')}", []),
        (f"Yes.{cite('turn0file1', 'turn0file7')}", ["unknown-source"]),
        (f"Yes.{cite('turn0file7', 'turn0file8', 'turn0file7')}", ["unknown-source", "unknown-source"]),
        (f"Yes.{cite('turn0file2')}", ["unknown-source"]),
        (f"Yes.{cite('handbook')}", []),
        (f"Yes.{cite('turn0file1', 'L3')}", []),
        (f"Yes.{cite('turn0file1', 'L1–3')}", []),
        (f"Yes.{cite('turn0file1', 'L0')}", ["unknown-lines"]),
        (f"Yes.{cite('turn0file1', 'L4')}", ["unknown-lines"]),
        (f"Yes.{cite('turn0file1', 'L1-L4')}", ["unknown-lines"]),
        (f"Yes.{cite('turn0file1', 'L2-L1')}", ["unknown-lines"]),
        (f"Yes.{cite('turn0file1', 'L1-L999999999')}", ["unknown-lines"]),
        (f"Yes.{cite('block-7', 'L1')}", ["unknown-lines"]),
        (f"Yes.{cite('block-7')}", []),
    ],
)
def test_what_a_marker_says(answer: str, expected: list[Rule]) -> None:
    assert rules(answer) == expected


def test_a_marker_that_was_prose() -> None:
    # What no source is called, and no tool's result, may have been words after a start that means nothing.
    answer = "See \ue200cite\ue202appendix2 and @"
    assert rules(answer) == ["repaired-marker", "unknown-source"]


def test_ids_that_mean_two_sources_or_an_old_one() -> None:
    sources = Sources()
    for number in (1, 2, 3):
        sources.add(Source(f"turn{number}file0", "one"))
    sources.mark_shown("turn1file0", "turn2file0")
    sources.mark_ambiguous("turn2file0")
    sources.user_message()
    sources.mark_shown("turn3file0")
    answer = "".join(f"Yes.{cite(f'turn{number}file0')} " for number in (1, 2, 3)) + "So."
    assert [finding.rule for finding in lint(answer, sources)] == ["ambiguous-source"]
    assert [finding.rule for finding in lint(answer, sources, scope="answer")] == ["stale-source", "ambiguous-source"]
    sources.mark_shown("turn1file0")
    assert [finding.rule for finding in lint(answer, sources, scope="answer")] == ["ambiguous-source"]


@pytest.mark.parametrize(
    ("fields", "count"),
    [
        (["turn0file1", "L1"], 0),
        (["turn0file1"], 1),
        (["turn0file1", "turn0file1", "L1"], 1),
        (["turn0file1", "handbook"], 2),
        (["block-7"], 0),
        (["handbook", "turn0file1", "L1", "nothing1"], 1),  # of which no line can be named
        (["nothing1"], 0),
    ],
    ids=str,
)
def test_lines_where_they_are_required(fields: list[str], count: int) -> None:
    answer = f"Yes.{cite(*fields)}"
    sources = SOURCES | {"nothing1": Source("nothing1")}
    found = lint(answer, sources, lines="required")
    assert [finding.rule for finding in found] == ["missing-lines"] * count
    assert lint(answer, sources) == []


def test_without_sources_no_id_is_looked_up() -> None:
    assert lint(f"Yes.{cite('turn9file9', 'L7')}") == []
    assert [finding.rule for finding in lint(f"Yes.{cite('a1')}", lines="required")] == ["missing-lines"]


# Ids in the text


@pytest.mark.parametrize(
    "text",
    [
        "As turn0file1 says.",
        "As turn12search34 says.",
        "As 【turn2file1】 says.",
        "As (turn0file1) says.",
        "As `turn0file1` says.",
        "As *turn0file1* says.",
        "As _turn0file1_ says.",
        "As __turn0file1__ says.",
        "As [turn0file1](https://example.org/) says.",
        "As turn0file1-based rules say.",
        "Das steht in turn0file1.",
        "これはturn0file1にある。",
        "turn0file1",
        "As block-7 says.",
        "As **block-7** says.",
        "As kb:12.a says.",
        "Siehe „block-7“.",
        "見るblock-7。",
        "As @turn0file1@ says.",
        "“turn0file1”",
        "«turn0file1»",
        "[turn0file1]",
        "[^turn0file1]",
        "[here](turn0file1)",
        "***turn0file1***",
        "turn0file1:L3",
        "【turn0file1†L3-L4】",
        "\u200fturn0file1\u200f",
        "انظر turn0file1، ثم",
        "에서turn0file1은",
        "ดูturn0file1ครับ",
        "🚀turn0file1🚀",
        "turn0file1\r\nSo.",
        "https://a.example, turn0file1",
        "https://a.example。turn0file1",
        "(https://a.example/b), block-7",
        "://(block-7 is open",
    ],
)
def test_an_id_in_the_text(text: str) -> None:
    assert rules(text + " Yes.@") == ["bare-id"]


@pytest.mark.parametrize(
    "text",
    [
        "As the handbook says.",  # a word, which the id of a source may be
        "In 1234 days.",
        "As block-78 says.",
        "As myblock-7 says.",
        "As block-7b says.",
        "As überblock-7 says.",
        "As block_7 says.",
        "As my_turn0file1 says.",
        "As turn0file1_x says.",
        "As return0file1 says.",
        "As turn0file1s says.",
        "As turnfile1 says.",
        "As turn0file says.",
        "As turn0file\N{SUPERSCRIPT ONE} says.",
        "As https://example.org/turn0file1/block-7 says.",
        "As [this](https://example.org/block-7) says.",
        "As kb:12.ab says.",
        "As https://en.wikipedia.org/wiki/A_(turn0file1) says.",
        "As https://a.example/b_(c)/block-7 says.",
        "As [this](https://a.example/(b)(block-7)/c) says.",
        "As https://a.example/?q=(turn0file1) says.",
        "As éturn0file1 and turn0file1ß say.",
        "As Block-7 and block--7 say.",
    ],
)
def test_what_is_not_an_id_in_the_text(text: str) -> None:
    assert rules(text + " Yes.@") == []


def test_an_id_is_reported_with_its_brackets() -> None:
    answer = f"A.{MARKER} 【turn2file1】, [turn2file1]"
    found = lint(answer)
    assert [answer[finding.start : finding.end] for finding in found] == ["【turn2file1】", "turn2file1"]
    assert [clean(answer)[finding.position :][:5] for finding in found] == ["【turn", "turn2"]


def test_the_longest_id_is_reported_once() -> None:
    sources = {id: Source(id) for id in ("a-1", "a-1.2", "b.a-1.2", "turn0file1", "turn0file1-a")}
    text = f"Yes.{cite('a-1')} https://a.example/a-1 b.a-1.2, https://a.example/2 a-1.2, turn0file1-a, a-1"
    found = [finding for finding in lint(text, sources) if finding.rule == "bare-id"]
    assert [text[finding.start : finding.end] for finding in found] == ["b.a-1.2", "a-1.2", "turn0file1", "a-1"]


# What a finding tells


def test_a_finding() -> None:
    answer = f"Naïve 🚀.{cite('nope')} So `x{MARKER}`."
    assert lint(answer, SOURCES) == [
        Finding(
            rule="unknown-source",
            severity="error",
            message="Cite a source that was given: none that may be cited has the id nope.",
            start=8,
            end=8 + len(cite("nope")),
            position=8,
        ),
        Finding(
            rule="in-code",
            severity="warning",
            message="Move the marker out of the code, after the text that it supports.",
            start=len(f"Naïve 🚀.{cite('nope')} So `x"),
            end=len(answer) - 2,
            position=len("Naïve 🚀. So `x"),
        ),
    ]
    assert lint(answer, SOURCES)[0].to_dict() == {
        "rule": "unknown-source",
        "severity": "error",
        "message": "Cite a source that was given: none that may be cited has the id nope.",
        "start": 8,
        "end": 19,
        "position": 8,
    }


def test_a_finding_of_several_markers_spans_them() -> None:
    answer = f"A.\n\nB.{MARKER} {MARKER} {MARKER}"
    assert [(finding.start, finding.end, finding.position) for finding in lint(answer)] == [(6, len(answer), 6)]
    answer = f"A.\n {MARKER} {MARKER}\n"
    assert [(finding.start, finding.end, finding.position) for finding in lint(answer)] == [(4, len(answer) - 1, 4)]


def test_messages_name_what_is_wrong() -> None:
    sources = {**SOURCES, "one1": Source("one1", "line"), "none1": Source("none1", "")}
    fields = [("turn0file1", "L9"), ("one1", "L2"), ("none1", "L1"), ("block-7", "L1")]
    answer = "".join(f"Yes.{cite(*pair)} " for pair in fields) + "Yes.\ue200cite\ue202turn0file1\ue202L1 so"
    assert [finding.message for finding in lint(answer, sources)] == [
        "Cite lines that turn0file1 has, from L1 to L3: it has no L9.",
        "Cite lines that one1 has, L1: it has no L2.",
        "Leave L1 out: none1 has no numbered lines.",
        "Leave L1 out: block-7 has no numbered lines.",
        "Write the marker in its exact form: of this one only turn0file1 L1 could be read.",
    ]
    sentences = [finding.message for finding in lint("\ue200cite\ue202\ue201 \ue201", sources)]
    assert all(message.endswith(".") and message[0].isupper() for message in sentences)


# The options


def test_another_format() -> None:
    brackets = CitationFormat(start="[[", delimiter="|", stop="]]", source_id="[a-z0-9]+")
    assert [finding.rule for finding in lint("**a[[cite|b1]]** b1", {"b1": Source("b1")}, format=brackets)] == [
        "in-emphasis",
        "bare-id",
    ]


def test_options_of_the_parser() -> None:
    answer = "Yes.\ue200cite\ue202turn0file1"
    assert rules(answer) == ["malformed-marker"]
    assert [finding.rule for finding in lint(answer, SOURCES, complete=True)] == ["repaired-marker"]
    found = lint(f"Yes.\ue201 A{MARKER}.", malformed="keep")
    assert [(finding.rule, finding.position) for finding in found] == [
        ("malformed-marker", 4),
        ("before-punctuation", 7),
    ]


def test_misuse() -> None:
    with pytest.raises(ValueError, match=r"^lines: must be one of 'optional', 'required', not 'none'"):
        lint("", lines="none")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^scope: must be one of"):
        lint("", scope="turn")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^sources: must be a mapping"):
        lint("", [])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^format: must be a CitationFormat"):
        lint("", format="openai")  # type: ignore[arg-type]


def test_without_markdown_it_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("streamcite.lint.markdown", "streamcite.lint.inline"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, "markdown_it", None)
    with pytest.raises(
        ModuleNotFoundError, match=r'^markdown_it is not .* pip install "streamcite\[markdown\]"'
    ) as raised:
        lint("")
    assert raised.value.name == "markdown_it"


# Examples


def examples(text: str, format: CitationFormat = OPENAI) -> list[str]:
    """Give the answers that instructions show: a sentence and the markers after it, at the end of a rule."""
    rules = [rule.rpartition(": ") for rule in text.split("\n") if format.start in rule]
    return [example for _, colon, example in rules if colon]


@pytest.mark.parametrize("material", ["tool", "tool_lines", "blocks"])
@pytest.mark.parametrize("several", ["one_marker", "separate_markers"])
def test_nothing_is_found_in_an_example_of_the_instructions(material: str, several: str) -> None:
    shown = examples(instructions(material=material, several=several))  # type: ignore[arg-type]
    assert len(shown) >= 2
    for answer in shown:
        cited = [id for event in parse(answer) if isinstance(event, Citation) for id in event.source_ids]
        assert cited
        assert lint(answer, {id: Source(id, "line\n" * 50) for id in cited}, scope="answer") == []


def test_nothing_is_found_in_the_examples_with_required_lines() -> None:
    for answer in examples(instructions(material="tool_lines", lines="required")):
        assert lint(answer, lines="required") == []


# Anything


@given(answers)
def test_no_answer_raises_and_findings_are_within_it(answer: str) -> None:
    events = parse(answer)
    assert source_text(events) == answer
    for finding in lint(answer, SOURCES):
        assert 0 <= finding.start <= finding.end <= len(answer)
        if finding.rule == "bare-id":
            assert re.fullmatch("(?:turn0file1+|block-7)", answer[finding.start : finding.end].strip("【】"))
        elif finding.rule not in ("alone", "all-at-end", "uncited"):
            assert answer[finding.start] in "\ue200\ue201\ue202"


@given(answers)
def test_a_position_is_what_the_reader_sees_before_it(answer: str) -> None:
    shown = ""  # of what stands before each character of the input
    places = []
    for event in resolve(answer, SOURCES):
        if not isinstance(event, Resolved):
            places += [len(shown)] * len(event.raw) if not isinstance(event, str) else []
            places += range(len(shown), len(shown) + len(event)) if isinstance(event, str) else []
            shown += str(event)
    for finding in lint(answer, SOURCES):
        assert finding.position == [*places, len(shown)][finding.start]


def calls(answer: str) -> int:
    """Count the calls of functions that linting takes, also of those written in C."""
    count = 0

    def note(_: object, event: str, __: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        lint(answer, SOURCES)
    finally:
        sys.setprofile(None)
    return count


@settings(max_examples=60)
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=4).map("".join))
def test_a_longer_answer_takes_as_many_more_calls(unit: str) -> None:
    lint(unit, SOURCES)  # what is made once
    assert calls(unit * 160) < 4.5 * calls(unit * 40) + 2_000
