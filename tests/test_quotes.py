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
    "\n",
    "\n\n",
    "- item",
    "# Head",
    "|",
    "1.",
    "会う。",
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
            found.append((before.rpartition("“")[2].removesuffix("”"), event))
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
        assert quote in " ".join(passage.text.split())
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
    "text", ["", "no end", "# Heading here.", "| a table. |", "```\ncode is here.\n```", "**Bold** text."]
)
def test_where_there_is_no_sentence_it_says_so(text: str) -> None:
    answer = compose("Why?", [Source("a1", text, unit="block")])
    assert answer == "No model was asked, and the sources hold no sentence that could be quoted."


def test_what_is_not_citable_is_not_quoted() -> None:
    assert quotes(compose("meet", [Source("a1", "We meet three days.", citable=False)])) == []
