"""What holds of `CitationParser` for every input, option and cut (semantics, section 2); the oracle gives the same."""

import json
from typing import Any, cast
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from streamcite import (
    Citation,
    CitationFormat,
    CitationParser,
    Event,
    Malformed,
    OtherMarker,
    ParserOptions,
    clean,
    from_dict,
    parse,
    to_dict,
)
from streamcite import parser as parser_module
from tests import strategies as sc
from tests.reading import as_read, joined, read_through, source_text
from tests.reference import Fmt, fed, read

Drawn = tuple[sc.FormatArgs, sc.Options, str, bool]


def built(args: sc.FormatArgs, options: sc.Options) -> ParserOptions:
    """Return the options of a parser as drawn."""
    return cast("ParserOptions", {"format": CitationFormat(**args), **options})


@st.composite
def cut_inputs(draw: st.DrawFn) -> tuple[Drawn, list[str]]:
    drawn = draw(sc.inputs())
    return drawn, draw(sc.cuts(drawn[2]))


@given(sc.inputs())
def test_events_and_what_is_held_are_the_oracles_after_each_character(drawn: Drawn) -> None:
    args, options, text, complete = drawn
    parser, fmt = CitationParser(**built(args, options)), Fmt(**args)
    events: list[Event] = []
    for end, character in enumerate(text, 1):
        events += parser.feed(character)
        assert (as_read(events), parser.held) == fed(text[:end], fmt, **options)
    events += parser.close(complete=complete)
    assert as_read(events) == read(text, fmt, complete=complete, **options)
    assert parser.held == ""


@given(cut_inputs())
def test_a_parser_restored_at_every_cut_is_the_same(drawn: tuple[Drawn, list[str]]) -> None:
    (args, options, text, complete), deltas = drawn
    given = built(args, options)
    parser = CitationParser(**given)
    events: list[Event] = []
    for delta in deltas:
        snapshot = parser.snapshot()
        parser = CitationParser.restore(json.loads(json.dumps(snapshot)), **given)
        assert parser.snapshot() == snapshot
        events += parser.feed(delta)
    assert joined(events + parser.close(complete=complete)) == parse(text, complete=complete, **given)


@given(cut_inputs())
def test_the_cut_is_not_to_be_seen_and_nothing_is_lost(drawn: tuple[Drawn, list[str]]) -> None:
    (args, options, text, complete), deltas = drawn
    given = built(args, options)
    parser = CitationParser(**given)
    events: list[Event] = []
    behind = 0
    for delta in deltas:
        behind += len(delta)
        events += parser.feed(delta)
        assert source_text(events) + parser.held == text[:behind]
    events += parser.close(complete=complete)
    assert parser.close(complete=not complete) == []
    assert source_text(events) == text
    assert joined(events) == parse(text, complete=complete, **given)
    assert "".join(map(str, events)) == clean(text, complete=complete, **given)


@given(cut_inputs(), st.integers(1, 8))
def test_pieces_of_a_marker_may_have_any_length(drawn: tuple[Drawn, list[str]], piece: int) -> None:
    (args, options, text, complete), deltas = drawn
    parser = CitationParser(**built(args, options))
    with patch.object(parser_module, "PIECE", piece):
        events = read_through(parser, deltas, complete=complete)
    assert as_read(events) == read(text, Fmt(**args), complete=complete, **options)


@given(sc.inputs())
def test_every_event_knows_its_place(drawn: Drawn) -> None:
    args, options, text, complete = drawn
    shown, start = "", 0
    for event in parse(text, complete=complete, **built(args, options)):
        if not isinstance(event, str):
            assert (event.start, event.end, event.position) == (start, start + len(event.raw), len(shown))
            assert text[event.start : event.end] == event.raw
            assert event.text == str(event)
        shown += str(event)
        start += len(event if isinstance(event, str) else event.raw)


@given(sc.inputs())
def test_events_are_values(drawn: Drawn) -> None:
    args, options, text, complete = drawn
    given = built(args, options)
    events = parse(text, complete=complete, **given)
    again = parse(text, complete=complete, **given)
    assert events == again
    assert list(map(hash, events)) == list(map(hash, again))
    assert [from_dict(json.loads(json.dumps(to_dict(event)))) for event in events] == events
    for event in events:
        match event:
            case str():
                assert event
            case Citation(family, references):
                assert family in given["format"].families
                assert event.text == ""
                assert event.source_ids == tuple(source_id for source_id, _ in references)
                assert event.locator == references[-1].locator
                assert given.get("repair", True) or not event.repaired
            case OtherMarker(family, fields):
                assert family not in given["format"].families
                assert family or not fields
            case Malformed():
                assert event.text == (event.raw if given.get("malformed") == "keep" else "")


@given(cut_inputs())
def test_single_private_tokens_never_reach_the_reader(drawn: tuple[Drawn, list[str]]) -> None:
    (args, options, _, complete), deltas = drawn
    tokens = {"start": "\ue200", "delimiter": "\ue202", "stop": "\ue201"}
    given = built({**args, **tokens}, {**options, "malformed": "drop"})
    parser = CitationParser(**given)
    shown = "".join(str(event) for delta in deltas for event in parser.feed(translated(args, delta)))
    shown += "".join(map(str, parser.close(complete=complete)))
    assert not set(shown) & {*tokens.values(), *given["format"].ignored}


def translated(args: sc.FormatArgs, text: str) -> str:
    """Return a text for a format with its tokens replaced by private ones of one character."""
    for token, other in zip(sc.tokens_of(args), ("\ue200", "\ue202", "\ue201"), strict=True):
        text = text.replace(token, other)
    return text


# Of tokens of one character only: a longer one that the end of the input cuts is read as characters there (semantics,
# section 3, Tokens), which can end a marker that goes on when the input does.
@st.composite
def private_inputs(draw: st.DrawFn) -> tuple[sc.FormatArgs, sc.Options, str]:
    args = {**draw(sc.formats()), "start": "\ue200", "delimiter": "\ue202", "stop": "\ue201"}
    return args, draw(sc.options()), draw(sc.texts(args))


@given(private_inputs())
def test_a_source_that_was_cut_off_is_never_invented(drawn: tuple[sc.FormatArgs, sc.Options, str]) -> None:
    # What is cited when the input breaks off anywhere is cited at that place when it goes on, too.
    args, options, text = drawn
    given = built(args, options)
    whole = [event for event in parse(text, **given) if isinstance(event, Citation)]
    for end in range(len(text)):
        cited = [event for event in parse(text[:end], **given) if isinstance(event, Citation)]
        assert cited == whole[: len(cited)]


@given(sc.inputs())
def test_every_cited_word_was_written(drawn: Drawn) -> None:
    args, options, text, complete = drawn
    for event in parse(text, complete=complete, **built(args, options)):
        if isinstance(event, Citation):
            assert event.references
            written = [part.strip() for part in event.raw.split(sc.tokens_of(args)[1])]
            for reference in event.references:
                for word in filter(None, reference):
                    assert any(part.startswith(word) for part in written)


@given(st.data())
def test_a_delta_without_markup_comes_back_as_the_same_object(data: st.DataObject) -> None:
    args = data.draw(sc.formats())
    special = {*"".join(sc.tokens_of(args)), *args.get("ignored", ())}
    deltas = data.draw(st.lists(st.text(st.characters(exclude_characters=special), min_size=1), max_size=8))
    parser = CitationParser(**built(args, data.draw(sc.options())))
    for delta in deltas:
        (event,) = parser.feed(delta)
        assert event is delta
    assert parser.held == ""


@given(cut_inputs())
def test_a_delta_that_is_not_a_str_changes_nothing(drawn: tuple[Drawn, list[str]]) -> None:
    (args, options, text, _), deltas = drawn
    given = built(args, options)
    parser = CitationParser(**given)
    wrong: Any
    for delta in deltas:
        before = parser.snapshot()
        for wrong in (None, delta.encode("utf-8", "surrogatepass"), list(delta)):
            try:
                parser.feed(wrong)
            except TypeError:
                continue
            raise AssertionError(wrong)
        assert parser.snapshot() == before
        parser.feed(delta)
    assert parser.snapshot()["offset"] + len(parser.held) == len(text)


@st.composite
def texts_alike(draw: st.DrawFn) -> tuple[sc.FormatArgs, sc.Options, list[tuple[list[str], bool]]]:
    """Draw several texts of the same few pieces, in which one marker comes again and again, cut and followed anyhow."""
    args = draw(sc.formats())
    pieces = st.sampled_from(
        [*draw(st.lists(sc.texts(args, max_pieces=1), min_size=1, max_size=3)), *sc.tokens_of(args)]
    )
    text = st.lists(pieces, min_size=1, max_size=4).map("".join)
    deltas = text.flatmap(sc.cuts)
    return args, draw(sc.options()), draw(st.lists(st.tuples(deltas, st.booleans()), min_size=2, max_size=6))


@given(texts_alike())
def test_what_other_parsers_have_read_changes_nothing(
    drawn: tuple[sc.FormatArgs, sc.Options, list[tuple[list[str], bool]]],
) -> None:
    args, options, inputs = drawn
    given, fmt = built(args, options), Fmt(**args)
    for deltas, complete in inputs:
        events = read_through(CitationParser(**given), deltas, complete=complete)
        assert as_read(events) == read("".join(deltas), fmt, complete=complete, **options)
