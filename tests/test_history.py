"""Events back to marked text: exact for what was well formed, and for the rest nothing a model should imitate."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from streamcite import (
    CHATGPT,
    Citation,
    CitationFormat,
    Malformed,
    Reference,
    Resolver,
    Source,
    clean,
    from_dict,
    options,
    parse,
    to_dict,
)
from streamcite.history import to_marked_text
from streamcite.spacing import Tidy
from tests.linting import MARKER, answers
from tests.strategies import KNOWN_FORMATS, FormatArgs, texts

BRACKETS = CitationFormat(start="[[", delimiter="|", stop="]]")


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "Yes.",
        f"Yes.{MARKER} No.",
        "Yes.\ue200filecite\ue202turn0file1\ue202turn0file2\ue202L8–L13\ue201",
        "Yes.\ue200cite\ue202 turn0file1 \ue202\n\ue202L1 \ue201",  # blanks and empty fields are well formed
        '\ue200entity\ue202["person","Ada"]\ue201 and \ue200url\ue202a\ue202https://a.example\ue201',
        "\ue200image\ue202{\n1}\ue201",
        "\ue200entity\ue202" + "x" * 5000 + "\ue201",
    ],
)
def test_what_is_well_formed_comes_back_exactly(answer: str) -> None:
    assert to_marked_text(parse(answer)) == answer
    assert to_marked_text(from_dict(to_dict(event)) for event in parse(answer)) == answer


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("Yes.\ue200cite\ue202turn0file1 and so on.", "Yes.\ue200cite\ue202turn0file1\ue201 and so on."),
        ("Yes.\ue200cite\ue202turn0file1\ue202L1\ue202#\ue201", "Yes.\ue200cite\ue202turn0file1\ue202L1\ue201"),
        ("Yes.\ue200cite\ue202\ue201 So.", "Yes. So."),
        ("Yes.\ue201", "Yes."),
        ("Yes.\ue200cite\ue202turn0", "Yes."),
    ],
)
def test_what_is_not_is_mended_or_left_out(answer: str, text: str) -> None:
    assert to_marked_text(parse(answer)) == text
    assert clean(text) == clean(answer)


def test_what_the_reader_saw_of_malformed_markup_stays() -> None:
    assert to_marked_text(parse("Yes.\ue201", malformed="keep")) == "Yes.\ue201"


def test_a_marker_of_any_length() -> None:
    long = "\ue200cite\ue202" + "turn0file1\ue202" * 1000 + "turn0file2"
    for answer in (long + "\ue201", long + " so"):
        events = parse(answer, max_marker=20_000)
        assert to_marked_text(events).startswith(long + "\ue201")


def test_markers_of_any_lengths_are_read_with_the_same_options() -> None:
    events = parse("".join(f"\ue200cite\ue202{'a' * length}\ue201" for length in range(1, 300)))
    to_marked_text(events[:1])
    misses = options._cached.cache_info().misses
    to_marked_text(events)
    assert options._cached.cache_info().misses == misses


def test_the_events_of_a_resolver() -> None:
    sources = {"turn0file1": Source("turn0file1", "one")}
    answer = f"Yes.{MARKER} See \ue200cite\ue202so2 on, says\ue200cite\ue202turn9file9\ue201."
    resolver = Resolver(sources)
    events = [*resolver.feed(parse(answer)), *resolver.close()]
    # What turned out to be prose is written as it was shown.
    assert to_marked_text(events) == f"Yes.{MARKER} See so2 on, says\ue200cite\ue202turn9file9\ue201."


def test_what_tidy_dropped_comes_back() -> None:
    answer = f"Yes {MARKER}. So ({MARKER}) {MARKER} no."
    stage = Tidy()
    events = [*stage.feed(parse(answer)), *stage.close()]
    assert "".join(map(str, events)) == "Yes. So no."
    assert to_marked_text(events) == answer


def test_ignored_characters_come_back() -> None:
    answer = f"\ue203Yes.\ue204{MARKER}\ue206"
    assert to_marked_text(parse(answer, format=CHATGPT), format=CHATGPT) == answer


def test_into_another_format() -> None:
    answer = '\ue200entity\ue202["person","Ada"]\ue201.\ue200cite\ue202 turn0file1\ue202L1-L2\ue201'
    assert to_marked_text(parse(answer), format=BRACKETS) == "Ada.[[cite|turn0file1|L1-L2]]"
    assert to_marked_text(parse("Ada.[[cite|turn0file1]]", format=BRACKETS)) == "Ada.\ue200cite\ue202turn0file1\ue201"


def test_misuse() -> None:
    with pytest.raises(TypeError, match=r"^format: must be a CitationFormat, not str"):
        to_marked_text([], format="openai")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^events: must be those of an answer, not dict"):
        to_marked_text([{"type": "text"}])  # type: ignore[list-item]
    with pytest.raises(TypeError, match=r"^events: must be the events of an answer, not str; parse\(text\) reads them"):
        to_marked_text("Ada.")
    with pytest.raises(TypeError, match=r"^events: must be the events of an answer, not NoneType"):
        to_marked_text(None)  # type: ignore[arg-type]
    citation = Citation(family="ref", references=(Reference("a b"),), raw="", start=0, position=0)
    with pytest.raises(ValueError, match=r"^source_id: 'a b' is not an id of this format, whose ids are "):
        to_marked_text([citation])
    other = Citation(family="ref", references=(Reference("a"),), raw="", start=0, position=0)
    with pytest.raises(ValueError, match=r"^no marker of this format reads back as family 'ref', \(Reference"):
        to_marked_text([other])


@given(st.data())
def test_round_trip(data: st.DataObject) -> None:
    args: FormatArgs = data.draw(st.sampled_from(list(KNOWN_FORMATS.values())))
    format = CitationFormat(**args)
    text = data.draw(texts(args, max_pieces=3))
    events = parse(text, format=format)
    assume(not any(isinstance(event, Malformed) or getattr(event, "repaired", False) for event in events))
    assert to_marked_text(events, format=format) == text


@given(answers)
def test_a_text_that_was_mended_is_well_formed_and_shows_the_same(answer: str) -> None:
    text = to_marked_text(parse(answer))
    events = parse(text)
    assert not any(isinstance(event, Malformed) for event in events)
    assert clean(text) == clean(answer)
    cited = [event.references for event in parse(answer) if isinstance(event, Citation)]
    assert [(event.references, event.repaired) for event in events if isinstance(event, Citation)] == [
        (references, False) for references in cited
    ]
    assert to_marked_text(events) == text
