"""A format in compiled form, against the oracle's plain reading of the same rules."""

import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamcite import OPENAI, CitationFormat, Reference
from streamcite.body import Body, Opaque, Spaced, Strict
from streamcite.grammar import Grammar, grammar_for
from tests import strategies as sc
from tests.reference import Fmt, _Reader

BRACKETS = CitationFormat(**sc.BRACKETS)
SPACED = CitationFormat(**sc.SPACED)


def oracle(args: sc.FormatArgs, text: str = "") -> _Reader:
    return _Reader(text, Fmt(**args), "drop", True, 4096, None)


def test_equal_formats_share_one_grammar() -> None:
    assert grammar_for(CitationFormat(families=("a",))) is grammar_for(CitationFormat(families=["a"]))  # type: ignore[arg-type]
    assert grammar_for(OPENAI) is not grammar_for(CitationFormat(display={}))
    assert isinstance(grammar_for(OPENAI), Grammar)


@pytest.mark.parametrize(
    ("format", "family", "kind"),
    [
        (OPENAI, "cite", Strict),
        (OPENAI, "filecite", Strict),
        (OPENAI, "", Strict),
        (OPENAI, "Cite", Opaque),
        (OPENAI, "url", Opaque),
        (SPACED, "c", Spaced),
        (SPACED, "", Spaced),
        (SPACED, "cite", Opaque),
    ],
)
def test_a_body_is_read_as_its_family_says(format: CitationFormat, family: str, kind: type[Body]) -> None:
    body = grammar_for(format).body(family)
    assert isinstance(body, kind)
    assert body.is_payload == (kind is Opaque)


# Tokens.


@st.composite
def formats_and_texts(draw: st.DrawFn) -> tuple[sc.FormatArgs, str]:
    args = draw(sc.formats())
    return args, draw(sc.texts(args))


@given(formats_and_texts(), st.booleans())
def test_tokens_are_found_where_they_stand(drawn: tuple[sc.FormatArgs, str], closed: bool) -> None:
    args, text = drawn
    compiled, reader = grammar_for(CitationFormat(**args)), oracle(args, text)
    scanner, reader.closed = compiled.closed_scanner if closed else compiled.open_scanner, closed
    for start in range(len(text)):
        expected = None
        for i in range(start, len(text)):
            if reader.waits_at(i, reader.fmt.tokens):
                expected = (i, text[i:])
            elif token := reader.token_at(i, reader.fmt.tokens):
                expected = (i, token)
            if expected:
                break
        found = scanner.in_marker(text, start)
        assert (found and (found.start(), found[0])) == expected


@pytest.mark.parametrize(
    ("args", "text", "kind", "place", "closed_kind"),
    [
        ({}, "a\ue203", None, (0, 0), None),
        (sc.CHATGPT, "a\ue203b", "ignored", (1, 2), "ignored"),
        ({}, "a\ue202", "stray_delimiter", (1, 2), "stray_delimiter"),
        ({}, "a\ue201", "stray_stop", (1, 2), "stray_stop"),
        ({}, "a\ue200cite\ue202b", "body", (1, 7), "body"),
        ({}, "\ue200\ue202", "body", (0, 2), "body"),
        ({}, "\ue200cite\ue201", "no_delimiter", (0, 6), "no_delimiter"),
        ({}, "\ue200cite\ue200", "unclosed", (0, 5), "unclosed"),
        ({}, "\ue200cite b", "bad_family", (0, 5), "bad_family"),
        ({}, "\ue200 b", "bad_family", (0, 1), "bad_family"),
        ({}, "\ue200" + "a" * 33, "bad_family", (0, 33), "bad_family"),
        ({}, "a\ue200cite", "undecided", (1, 6), "undecided"),
        (sc.BRACKETS, "a|b]]", None, (0, 0), None),
        (sc.BRACKETS, "a[", None, (1, 2), None),
        (sc.BRACKETS, "[[c|", "body", (0, 4), "body"),
        (sc.BRACKETS, "[[c]", "undecided", (0, 4), "bad_family"),
        (sc.BRACKETS, "[[c[", "undecided", (0, 4), "bad_family"),
    ],
)
def test_what_is_found_in_text(
    args: sc.FormatArgs, text: str, kind: str | None, place: tuple[int, int], closed_kind: str | None
) -> None:
    compiled = grammar_for(CitationFormat(**args))
    found = compiled.open_scanner.in_text(text, 0)
    assert (found.lastgroup, found.span()) == (kind, place) if found else place == (0, 0)
    found = compiled.closed_scanner.in_text(text, 0)
    assert (found and found.lastgroup) == closed_kind


@given(formats_and_texts(), st.booleans())
def test_markup_is_found_in_text(drawn: tuple[sc.FormatArgs, str], closed: bool) -> None:
    args, text = drawn
    compiled, reader = grammar_for(CitationFormat(**args)), oracle(args, text)
    scanner, reader.closed = compiled.closed_scanner if closed else compiled.open_scanner, closed
    found = scanner.in_text(text, 0)
    standing = (
        i
        for i in range(len(text))
        if reader.waits_at(i, reader.text_tokens)
        or reader.token_at(i, reader.text_tokens)
        or text[i] in tuple(reader.fmt.ignored)
    )
    assert (found and found.start()) == next(standing, None)
    if not found:
        return
    # What the oracle makes of the same place, in its events or in what it holds.
    start = found.start()
    held_from = reader.run()
    event: Any = next((event for event in reader.events if not isinstance(event, str)), None)
    match found.lastgroup:
        case "body":
            family = found["name"] or ""
            assert found[0] == reader.fmt.start + family + reader.fmt.delimiter
        case "ignored":
            assert (event["family"], event["raw"]) == ("", found[0])
        case "unclosed" | "bad_family" as reason:
            assert (event["reason"], event["raw"]) == (reason, reader.fmt.start)
            assert text[start:].startswith(reader.fmt.start + (found["name"] or ""))
        case "no_delimiter" | "stray_delimiter" | "stray_stop" as reason:
            assert (event["reason"], event["raw"]) == (reason, found[0])
        case _ if closed:
            assert (event["reason"], event["raw"]) == ("truncated", text[start:])
            assert found.end() == len(text)
        case _:
            assert held_from == start
            assert found.end() == len(text)


@given(formats_and_texts())
def test_plain_text_holds_no_markup(drawn: tuple[sc.FormatArgs, str]) -> None:
    args, text = drawn
    compiled = grammar_for(CitationFormat(**args))
    if compiled.in_plain and (text.isascii() or text.isprintable()):
        assert not set(text) & {*"".join(sc.tokens_of(args)), *args.get("ignored", ())}
        assert compiled.open_scanner.in_text(text, 0) is None


def test_where_plain_text_is_certain_at_once() -> None:
    plain = {name for name, args in sc.KNOWN_FORMATS.items() if grammar_for(CitationFormat(**args)).in_plain}
    assert plain == {"openai", "chatgpt", "short", "spaced", "private", "whitespace chars"}
    assert not any(character.isascii() or character.isprintable() for character in map(chr, range(0xE000, 0xF900)))


@pytest.mark.parametrize(
    ("words", "references"),
    [
        (["cite", "a"], [Reference("a")]),
        (["filecite", "a", "L1", "L2"], [Reference("a", "L1"), Reference("a", "L2")]),
    ],
)
def test_what_reads_back(words: list[str], references: list[Reference]) -> None:
    marker = "\ue200" + "\ue202".join(words) + "\ue201"
    assert grammar_for(OPENAI).reads(marker, words, tuple(references))
    for other in (["url", *words[1:]], [*words, "b c"], [*words, "é"], [words[0], "\ue202".join(words)]):
        marker = "\ue200" + "\ue202".join(other) + "\ue201"
        assert not grammar_for(OPENAI).reads(marker, other, tuple(references))
    assert not grammar_for(OPENAI).reads(marker, words, tuple(references))


# What is shown of a marker that is not a citation.


@given(formats_and_texts())
def test_no_markup_is_shown(drawn: tuple[sc.FormatArgs, str]) -> None:
    args, text = drawn
    args = {**args, "display": {"g": sc.show_all}}
    shown = grammar_for(CitationFormat(**args)).show("g", (text, "\ud800"))
    assert shown == oracle(args).display("g", [text, "\ud800"])
    assert not any(token in shown for token in sc.tokens_of(args))
    assert not set(shown) & {*args.get("ignored", ())}
    assert all(unicodedata.category(character) != "Cs" for character in shown)


@pytest.mark.parametrize(
    ("format", "given", "shown"),
    [
        (OPENAI, "plain – text\n", "plain – text\n"),
        (OPENAI, "a\ue200b\ue201\ue203", "ab\ue203"),
        (BRACKETS, "[[a]] [b] | c", "a [b]  c"),
        (BRACKETS, "[|[a]|]", "a"),
        (CitationFormat(**sc.TAGS), "<|cite|>a|b<|/cite|>", "ab"),
        (CitationFormat(start="<<", delimiter="#", stop=">>"), "<<<<##>>>>", ""),
        (CitationFormat(start="ab", delimiter="cd", stop="xaby"), "a" * 50 + "ab" + "b" * 50, ""),
        (CitationFormat(start="ab", delimiter="cd", stop="xaby"), "xacdby", "xy"),
    ],
)
def test_what_is_shown(format: CitationFormat, given: str, shown: str) -> None:
    families = {"g": lambda _: given, "raising": sc.show_raising, "number": sc.show_no_text}
    compiled = grammar_for(CitationFormat(**{**format.to_dict(), "display": families}))
    assert compiled.show("g", ("",)) == shown
    assert [compiled.show(family, ("",)) for family in ("raising", "number", "other")] == ["", "", ""]


def test_what_is_shown_is_read_in_linear_time() -> None:
    # No clock: to look for a token again from the start, each time one was removed, takes 10**11 steps.
    format = CitationFormat(start="<(", delimiter="|", stop=")>", display={"g": lambda fields: fields[0]})
    text = "<" * 300_000 + "(" * 300_000
    assert grammar_for(format).show("g", (text,)) == ""
