"""Tidy spacing: what is mended where a marker was, and that nothing else ever is."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamcite import CitationParser, Cited, Event, Resolver, Source, clean, parse
from streamcite.spacing import Tidy, TidyClosed, tidy
from tests.linting import MARKER
from tests.reading import joined, source_text
from tests.strategies import cuts, partitions


def tidied(events: Iterable[Any]) -> list[Any]:
    """Return what the stage makes of events, each fed alone, joined."""
    stage = Tidy()
    found = [mended for event in events for mended in stage.feed([event])]
    return joined(cast("list[Event]", found + stage.close()))


def shown(answer: str) -> str:
    """Give what a reader sees of an answer in which @ stands for a marker."""
    events = tidy(parse(answer.replace("@", MARKER)))
    assert events == tidied(parse(answer.replace("@", MARKER)))
    return "".join(map(str, events))


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        # Two blanks, one on either side.
        ("word @ next", "word next"),
        ("word @\tnext", "word\tnext"),
        ("word @ @ @ next", "word next"),
        ("word @@ next", "word next"),
        ("- @ next", "- next"),
        ("word @  \nnext", "word  \nnext"),
        ("word @ \nnext", "word \nnext"),
        ("| a @ | b |", "| a | b |"),
        ("語 @\u3000次", "語\u3000次"),
        # A blank before punctuation.
        ("word @.", "word."),
        ("word @, so", "word, so"),
        ("word @; so", "word; so"),
        ("word @: so", "word: so"),
        ("word @! So", "word! So"),
        ("word @?", "word?"),
        ("word @... So", "word... So"),
        ("**word** @.", "**word**."),
        ("(word @)", "(word)"),
        ("語 @。次", "語。次"),
        ("語 @、次", "語、次"),
        ("word @ .", "word."),
        ("word@ .", "word."),
        ("word@ , so", "word, so"),
        ("word@ 。", "word。"),
        ("word @@ @.", "word."),
        ("Wort @. Nächstes", "Wort. Nächstes"),
        # Empty brackets.
        ("word (@) next", "word next"),
        ("word (@).", "word."),
        ("word (@@) next", "word next"),
        ("word (@ @) next", "word next"),
        ("word ( @ ) next", "word next"),
        ("word [@] next", "word next"),
        ("word [@].", "word."),
        ("word[@]", "word"),
        ("語（@）次", "語次"),
        ("語【@】。", "語。"),
        ("語〔@〕次", "語次"),
        ("語［@］次", "語次"),
        ("word (@)", "word "),
        ("(@)", ""),
        ("word (@) .", "word."),
        ("> word (@).", "> word."),
        ("word (@) @ next", "word next"),
    ],
)
def test_what_is_mended(answer: str, text: str) -> None:
    assert shown(answer) == text


@pytest.mark.parametrize(
    "answer",
    [
        "word.@ Next",
        "word.@",
        "@ next",
        "@word",
        "word @next",
        "word@ next",
        # What the model wrote itself: indentation, line breaks, spacing of languages and of its own.
        "    @code",
        "   @ code",
        "\n @ word",
        "\n    @    code",
        "word  @\nnext",
        "word  @ next",
        "word@  \nnext",
        "word@  .",
        "word \n@.",
        "word\n @.",
        "mot@ : mot",
        "mot@ ; mot",
        "mot@ ! Mot",
        "mot@\xa0: mot",
        "word  next. a ( ) b @",
        # What only looks like punctuation.
        "uses @.NET",
        "costs @.5",
        "uses@ .NET",
        "a @:smile:",
        "a @![image](b)",
        "see @./path",
        "a @:-)",
        # The marks of lists, quotes and headings.
        "- @.",
        "1. @.",
        "2) @, so",
        "> @.",
        "# @.",
        "  * @.",
        "- @. a",
        # Links and images.
        "[@](https://example.org)",
        "a [@](https://example.org)",
        "a [@][b]",
        "[@]: b",
        "[a](@)",
        "[a][@]",
        "![@](b)",
        "\\(@\\)",
        "\\[@]",
        # Brackets that are not empty, or no pair.
        "a (@,@) b",
        "a (see@ b)",
        "a (@] b",
        "a (@",
        "a @) b",
        "(@ a)",
        "a (@ ",
        "a ((@) b",
    ],
)
def test_what_is_left_alone(answer: str) -> None:
    expected = {"a @) b": "a) b", "a ((@) b": "a ( b", "2) @, so": "2) , so"}
    assert shown(answer) == expected.get(answer, answer.replace("@", ""))


def test_what_is_dropped_is_reported_as_an_ignored_character_is() -> None:
    answer = f"See {MARKER}. So (){MARKER} ({MARKER})!"
    events = tidied(parse(answer))
    assert source_text(events) == answer
    assert [(event.raw, event.start, event.position) for event in events if not isinstance(event, str)] == [
        (" ", 3, 3),
        (MARKER, 4, 3),
        (MARKER, 4 + len(MARKER) + 7, 3 + 7),
        (" ", 4 + len(MARKER) * 2 + 7, 3 + 7),
        ("(", 4 + len(MARKER) * 2 + 8, 3 + 7),
        (MARKER, 4 + len(MARKER) * 2 + 9, 3 + 7),
        (")", 4 + len(MARKER) * 3 + 9, 3 + 7),
    ]
    assert "".join(map(str, events)) == "See. So ()!"


def test_other_markers() -> None:
    assert "".join(map(str, tidied(parse("a \ue200x\ue202y\ue201 b \ue201. \ue200cite\ue202\ue201.")))) == "a b.."
    named = '\ue200entity\ue202["x",".NET"]\ue201'
    assert shown(f"a @{named}") == "a .NET"
    assert shown(f"a @{named.replace('.NET', '.')} b @ c") == "a. b c"
    assert shown(f"a @{named.replace('.NET', ' ')}b") == "a b"
    assert shown(f"{named} @ b{named}@.") == ".NET b.NET."
    assert shown(f"a (@{named.replace('.NET', ')')}") == "a ()"


def test_markers_are_not_held_after_anything_but_a_blank_or_bracket() -> None:
    stage, parser = Tidy(), CitationParser()
    assert stage.feed(parser.feed(f"word.{MARKER}"))[-1:] == parse(f"word.{MARKER}")[-1:]
    assert (stage.feed([""]), stage.held) == ([], "")
    assert stage.feed(parser.feed(" so ")) == [" so"]
    assert stage.held == " "
    assert stage.feed(parser.feed(MARKER)) == []
    assert stage.held == f" {MARKER}"
    assert stage.feed(parser.feed(",")) == []
    assert stage.held == f" {MARKER},"
    assert "".join(map(str, stage.close())) == ","
    assert (stage.held, stage.close()) == ("", [])


def test_what_is_held_has_an_end() -> None:
    stage, most = Tidy(), 0
    for event in [*parse("word (" + MARKER * 1000), " " * 1000, *parse("[" + f"{MARKER} " * 1000)]:
        stage.feed([event])
        most = max(most, len(stage.held))
    assert most < 100 * len(MARKER)
    assert shown("word " + "@" * 1000 + ".") == "word ."


def test_misuse() -> None:
    stage = Tidy()
    assert stage.feed([""]) + stage.close() == []
    with pytest.raises(TidyClosed, match=r"^feed\(\) after close\(\): make a new stage"):
        stage.feed([])
    [event] = parse("\ue200cite\ue202turn0file1\ue201")
    for one in (event, "Ada."):
        with pytest.raises(TypeError, match=r"^events: must be the events of an answer, not (Citation|str)"):
            Tidy().feed(one)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^events: must be those of an answer, not int$"):
        Tidy().feed(["a", 1])  # type: ignore[list-item]


def test_after_a_resolver() -> None:
    sources: dict[str, Source] = {}
    resolver = Resolver(sources)
    answer = f"a {MARKER} b \ue200cite\ue202so2 on {MARKER}."
    first, *rest = [resolver.feed([event]) for event in parse(answer)]
    sources["turn0file1"] = Source("turn0file1", "one\ntwo")
    events = tidied([*first, *(event for events in rest for event in events), *resolver.close()])
    assert "".join(map(str, events)) == "a b so2 on."
    assert [event.position for event in events if isinstance(event, Cited)] == [1, 4, len("a b so2 on")]


def test_resolved_stays_after_the_citation_it_is_of() -> None:
    sources: dict[str, Source] = {}
    resolver, stage = Resolver(sources), Tidy()
    held = stage.feed(resolver.feed(parse(f"a {MARKER}")))
    sources["turn0file1"] = Source("turn0file1", "one\ntwo")
    events = [*held, *stage.feed(resolver.feed([" ", "b"])), *stage.close()]
    assert [type(event).__name__ for event in events] == ["str", "OtherMarker", "Cited", "Resolved", "str"]
    assert "".join(map(str, events)) == "a b"


# Anything


TEXTS = (*[MARKER] * 4, *"ab .,:!()[] ", "  ", "\n", "- ", "（", "）", "。", "\xa0", "](", "\ue201")
texts = st.lists(st.sampled_from(TEXTS), max_size=14).map("".join)
DROPPED = set(" ()[]（）")


@given(texts, st.data())
def test_only_blanks_and_brackets_beside_markers_change(text: str, data: st.DataObject) -> None:
    events = tidied(parse(text))
    assert source_text(events) == text
    start = position = 0
    for event in events:
        if isinstance(event, str):
            start, position = start + len(event), position + len(event)
            continue
        assert (event.start, event.position) == (start, position)
        start, position = event.end, position + len(event.text)
        if event.raw in DROPPED:
            # Up to the next marker, on one side or the other, there are only such characters, dropped or not.
            before, behind = text[:start].rstrip(" ()[]（）"), text[start:].lstrip(" ()[]（）")
            assert before[-1:] == "\ue201" or behind[:1] in ("\ue200", "\ue201")
    assert [event for event in events if not isinstance(event, str) and event.raw not in DROPPED] == [
        _moved(event, events) for event in parse(text) if not isinstance(event, str)
    ]
    parser = CitationParser()
    fed = [event for delta in data.draw(cuts(text)) for event in parser.feed(delta)]
    assert tidied(fed + parser.close()) == events


def _moved(event: Any, events: list[Any]) -> Any:
    """Give an event of the parser with the position of the one that the stage handed out in its place."""
    position = next(each.position for each in events if not isinstance(each, str) and each.start == event.start)
    return replace(event, position=position)


@pytest.mark.parametrize("text", ["a (@) .", " @ @.b", "a@ , b", "[@](b", "a ( @ ) b", "\n @ x", "a (@ @)."])
def test_every_partition_gives_the_same(text: str) -> None:
    text = text.replace("@", "\ue201")  # the shortest markup that is removed
    expected = tidied(parse(text))
    for deltas in partitions(text):
        parser = CitationParser()
        assert tidied([*(event for delta in deltas for event in parser.feed(delta)), *parser.close()]) == expected


@given(texts)
def test_without_markers_nothing_changes(text: str) -> None:
    text = clean(text)
    assert tidied([text] if text else []) == ([text] if text else [])
