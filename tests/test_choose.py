"""Which sources are shown where not all fit."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamcite import Source
from streamcite.choose import choose, rank

SOURCES = [
    Source("block1", "The kitchen closes at nine."),
    Source("block2", "We meet three days a week."),
    Source("block3", "Meetings begin at ten.", title="Meetings"),
    Source("block4", "Lunch is free."),
]
sources = st.lists(st.builds(lambda text: Source("id", text), st.text("ab \n", max_size=12)), max_size=8)


def ids(chosen: list[Source]) -> list[str]:
    return [source.id for source in chosen]


def test_all_are_chosen_where_all_fit() -> None:
    size = sum(len(source.text) for source in SOURCES)
    assert choose(SOURCES, "anything", budget=size) == SOURCES
    assert choose(iter(SOURCES), "anything") == SOURCES
    assert choose([], "anything") == []


def test_a_mapping_is_taken_by_its_sources() -> None:
    assert choose({source.id: source for source in SOURCES}, "anything") == SOURCES


@pytest.mark.parametrize("given", [None, 5, "block1", SOURCES[0], ["block1"], [None]], ids=repr)
def test_what_holds_no_sources_is_refused(given: Any) -> None:
    with pytest.raises(TypeError, match=r"^sources: must be .*Sources, not "):
        choose(given, "anything")


def test_the_closest_are_chosen_in_the_order_in_which_they_stand() -> None:
    assert ids(choose(SOURCES, "When do we meet?", budget=60)) == ["block2", "block3"]
    assert ids(choose(SOURCES, "Is lunch free while the kitchen is closed?", budget=60)) == ["block1", "block4"]


def test_what_does_not_fit_leaves_room_for_what_does() -> None:
    given = [Source("long", "meet " * 100), Source("short", "we meet")]
    assert ids(choose(given, "meet", budget=20)) == ["short"]
    assert choose(given, "meet", budget=2) == []


def test_the_first_are_chosen_where_none_is_close() -> None:
    assert ids(choose(SOURCES, "zebra?", budget=60)) == ["block1", "block2"]
    assert ids(choose(SOURCES, "", budget=60)) == ["block1", "block2"]


def test_a_title_counts() -> None:
    given = [Source("a", "text of one"), Source("b", "text of two", title="Zebra")]
    assert ids(choose(given, "zebra", budget=12)) == ["b"]


@given(sources, st.text("ab ?", max_size=8), st.integers(1, 40))
def test_what_is_chosen_fits_and_keeps_its_order(given: list[Source], question: str, budget: int) -> None:
    chosen = choose(given, question, budget=budget)
    assert sum(len(source.text) for source in chosen) <= budget
    rest = iter(given)
    assert all(any(source is other for other in rest) for source in chosen)
    if sum(len(source.text) for source in given) <= budget:
        assert chosen == given


@pytest.mark.parametrize("budget", [0, -1])
def test_no_budget(budget: int) -> None:
    with pytest.raises(ValueError, match="budget: must be at least 1"):
        choose(SOURCES, "?", budget=budget)


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Three meetings", "meeting"),  # stems
        ("CAFÉ", "cafe"),
        ("Straße", "straße"),
        ("東京は日本の首都です。", "日本の首都"),
        ("서울은 한국의 수도이다", "수도"),
        ("a\0b lone \ud800 words", "words"),
    ],
)
def test_words_that_are_the_same(text: str, question: str) -> None:
    assert rank(["nothing", text], question) == [1]


def test_rare_words_count_more() -> None:
    texts = ["the the the office", "the office zebra", "the office", "the"]
    assert rank(texts, "the zebra")[0] == 1


def test_those_that_are_not_close_enough_are_left_out() -> None:
    texts = ["the office", "the zebra", "the zebra of the office", *["the desk"] * 5]
    every = rank(texts, "the zebra")
    assert set(every) == set(range(8))
    assert every[:2] == [1, 2]
    assert rank(texts, "the zebra", share=0.5) == [1, 2]
    assert rank(texts, "the zebra", share=1) == [1]


@pytest.mark.parametrize("question", ['"', 'a" OR "b', "NEAR(a b)", "a* -b", "text:a", "? !", "\ud800", "\0"])
def test_a_question_is_words_and_no_query(question: str) -> None:
    assert set(rank(["a b", "c"], question)) <= {0}


def test_a_question_of_any_length() -> None:
    assert rank(["w1", "other"], " ".join(f"w{number}" for number in range(100_000))) == [0]


@given(st.text(max_size=20), st.lists(st.text(max_size=20), max_size=5))
def test_any_text_can_be_ranked(question: str, texts: list[str]) -> None:
    ranked = rank(texts, question)
    assert len(set(ranked)) == len(ranked)
    assert set(ranked) <= set(range(len(texts)))
