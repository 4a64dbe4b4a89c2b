"""Answers without a model: real sentences, real citations, nothing that lint finds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamcite import Citation, Source, parse
from streamcite.lint import lint
from streamcite.source import SourceUnit
from streamcite.testing.quotes import compose

WORDS = [
    "We",
    "meet",
    "days.",
    "Why?",
    "**bold**",
    "`x`",
    "turn0file1",
    "会turn0file1",
    "\n",
    "\n\n",
    "- item",
    "# Head",
    "|",
    "1.",
    "会う。",
    "z. B.",
    "Dr. x",
    "x" * 200,
    "    code",
    '{"a": 1}',
    "\t",
    "- - - - - - - .",
    "\x1b[1m",
    "\ue200cite\ue202block1\ue201",
    "</BLOCK>",
]
texts = st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join)
units: st.SearchStrategy[SourceUnit] = st.sampled_from(["block", "document", "lines"])
sources = st.lists(st.tuples(texts, units), max_size=4).map(
    lambda items: [Source(f"turn0file{number}", text, unit=unit) for number, (text, unit) in enumerate(items)]
)


def quotes(answer: str) -> list[tuple[str, Citation]]:
    found: list[tuple[str, Citation]] = []
    before = ""
    for event in parse(answer, complete=True):
        if isinstance(event, Citation):
            found.append((before.rpartition("\n- ")[2][1:-1], event))
        before = str(event)
    return found


@given(sources, st.sampled_from(["When do we meet?", "Why", "x", ""]))
def test_every_quote_is_real_and_nothing_is_wrong_with_it(given: list[Source], question: str) -> None:
    answer = compose(question, given)
    by_id = {source.id: source for source in given}
    for quote, citation in quotes(answer):
        source = by_id[citation.source_ids[0]]
        passage = source.passage(citation.locator)
        assert passage is not None
        assert quote in passage.text or quote in " ".join(passage.text.split())
        assert citation.locator is None or all(line.strip() for line in passage.text.split("\n"))
    if quotes(answer):
        assert lint(answer, by_id, complete=True) == []


@pytest.mark.parametrize(("unit", "locator"), [("block", None), ("document", None), ("lines", "L3-L4")])
def test_the_sentence_that_answers_is_quoted(unit: SourceUnit, locator: str | None) -> None:
    source = Source("turn0file0", "# Days\n\nIt is late. We meet three\ndays a week! Lunch is free.", unit=unit)
    [(quote, citation)] = quotes(compose("How often do we meet?", [source]))
    assert (quote, citation.locator) == ("We meet three days a week!", locator)


def test_the_first_are_quoted_where_none_answers() -> None:
    answer = compose("Zebra?", [Source("a1", "We meet three days. Lunch is free.", unit="block")])
    assert answer.startswith("No model was asked. The sources share no word with the question; they begin:\n")
    assert [quote for quote, _ in quotes(answer)] == ["We meet three days.", "Lunch is free."]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("It opens at 9 a.m. on weekdays. It closes late.", ["It opens at 9 a.m. on weekdays.", "It closes late."]),
        ("Man schreibt, z. B. per Brief. Dann gut.", ["Man schreibt, z. B. per Brief."]),
        ("Ask Dr. Smith first! Prof. Lee knows (too.) And more.", ["Ask Dr. Smith first!", "Prof. Lee knows (too.)"]),
        (
            "- Guests sign in\n- They leave by six\n2) Nobody stays.",
            ["Guests sign in", "They leave by six", "Nobody stays."],
        ),
        ("図書館は九時に開きます。日曜日は休みです。今日も。", ["図書館は九時に開きます。"]),
        ("Disk 1 is full in 5 s.\nDisk 2 is full in 9 s.", ["Disk 1 is full in 5 s.", "Disk 2 is full in 9 s."]),
        ("Fruit,price\nPlum,2.50", ["Fruit,price Plum,2.50"]),
        (f"One line is here\n{'x ' * 220}\nAnother line", ["One line is here", "Another line"]),
    ],
)
def test_a_sentence_is_whole(text: str, sentences: list[str]) -> None:
    source = Source("a1", text, unit="block")
    found = [quote for quote, _ in quotes(compose("zebra", [source]))]
    assert [quote for quote in found if len(quote) > 11][: len(sentences)] == sentences


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{"cells": ["Plums cost one euro."]}', '{"cells": ["Plums cost one euro."]}'),
        ("def price():\n    # Plums cost one euro.\n    return 1", "# Plums cost one euro."),
        ("It is late today.\n\n| fruit | plums |\n|---|---|", "| fruit | plums |"),
    ],
)
def test_where_no_sentence_answers_a_line_is_quoted_as_code(text: str, line: str) -> None:
    source = Source("turn0file1", text)
    answer = compose("What do plums cost?", [source])
    [(quote, citation)] = quotes(answer)
    assert (quote, f"- `{line}`" in answer) == (line, True)
    assert line in text.split("\n")[int((citation.locator or "")[1:]) - 1]


@pytest.mark.parametrize("text", ["", " \n\t", "`", "block1", "\ue200", "|", "x" * 500])
def test_where_there_is_nothing_to_quote_it_says_so(text: str) -> None:
    answer = compose("Why?", [Source("a1", text, unit="block")])
    assert answer == "No model was asked, and the sources hold nothing that could be quoted."


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", [".", " ", "x ", "a.", ". ", "- ", "\t", ".)", "aa. b", "x\n", '?"', "。", "Dr. ", "1) "]
)
def test_a_text_of_any_form_takes_no_time(piece: str) -> None:
    source = Source("a1", piece * 200_000, unit="document")  # what takes its square of time takes hours
    assert len(quotes(compose("Why?", [source]))) < 5


def test_what_is_not_citable_is_not_quoted() -> None:
    assert quotes(compose("meet", [Source("a1", "We meet three days.", citable=False)])) == []
