"""A format in compiled form, against the oracle's plain reading of the same rules."""

import unicodedata
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streamcite import OPENAI, CitationFormat, Reference
from streamcite.body import Body, Opaque, Spaced, Strict
from streamcite.grammar import Grammar, grammar
from tests import strategies as sc
from tests.reference import Fmt, _Reader

BRACKETS = CitationFormat(**sc.BRACKETS)
SPACED = CitationFormat(**sc.SPACED)
STRICT_BODY, SPACED_BODY, OPAQUE_BODY = (
    grammar(OPENAI).body("cite"),
    grammar(SPACED).body("c"),
    grammar(OPENAI).body("g"),
)


def oracle(args: sc.FormatArgs, text: str = "") -> _Reader:
    return _Reader(text, Fmt(**args), "drop", True, 4096, None)


def test_equal_formats_share_one_grammar() -> None:
    assert grammar(CitationFormat(families=("a",))) is grammar(CitationFormat(families=["a"]))  # type: ignore[arg-type]
    assert grammar(OPENAI) is not grammar(CitationFormat(display={}))
    assert isinstance(grammar(OPENAI), Grammar)


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
    body = grammar(format).body(family)
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
    compiled, reader = grammar(CitationFormat(**args)), oracle(args, text)
    scanner, reader.closed = compiled.closed if closed else compiled.open, closed
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


@given(formats_and_texts(), st.booleans())
def test_markup_is_found_in_text(drawn: tuple[sc.FormatArgs, str], closed: bool) -> None:
    args, text = drawn
    compiled, reader = grammar(CitationFormat(**args)), oracle(args, text)
    scanner, reader.closed = compiled.closed if closed else compiled.open, closed
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
    compiled = grammar(CitationFormat(**args))
    if compiled.in_plain and (text.isascii() or text.isprintable()):
        assert not set(text) & {*"".join(sc.tokens_of(args)), *args.get("ignored", ())}
        assert compiled.open.in_text(text, 0) is None


def test_where_plain_text_can_be_told_at_once() -> None:
    plain = {name for name, args in sc.KNOWN_FORMATS.items() if grammar(CitationFormat(**args)).in_plain}
    assert plain == {"openai", "chatgpt", "short", "spaced", "private", "whitespace chars"}
    assert not any(character.isascii() or character.isprintable() for character in map(chr, range(0xE000, 0xF900)))


# Fields.

FIELDS = st.lists(
    st.one_of(
        st.sampled_from(
            ("a1", "b", "L2", "L8-L13", "P 2", "12", "", " ", "#", "a1.", "L2,", " a1 ", "文1", "a1(.", "٣")
        ),
        st.text("aL12 .-#é\n", max_size=4),
    ),
    min_size=1,
    max_size=6,
)


@given(sc.formats(), FIELDS)
@example({}, ["a1", "L1", "L2"])
@example({}, ["L1"])
@example({}, [" ", ""])
def test_fields_are_read_in_order(args: sc.FormatArgs, fields: list[str]) -> None:
    found, reason = oracle(args).references([field.strip() for field in fields if field.strip()])
    references, given = grammar(CitationFormat(**args)).read_fields(fields)
    assert [reference._asdict() for reference in references] == found
    assert all(type(reference) is Reference for reference in references)
    assert given == (reason or ("" if references else "empty") or None)


@given(sc.formats(), FIELDS, st.booleans())
@example({}, ["a1", "L2.", "b2"], True)
@example({}, ["a1", " L2"], True)
@example({}, ["a1 "], False)
@example(sc.SPACED, ["a1", "P 2"], False)
def test_the_head_of_an_unclosed_marker(args: sc.FormatArgs, fields: list[str], finished: bool) -> None:
    body = grammar(CitationFormat(**args)).body("")
    spaced = args.get("spaces_in_fields", False)
    last = fields[-1]
    # In strict reading whitespace behind a token finishes its field; a field of whitespace alone makes no difference.
    is_finished = finished or (not spaced and last[-1:].isspace())
    end, tokens = oracle(args).head("spaced" if spaced else "strict", 0, fields, is_finished)
    found, _ = oracle(args).references(tokens)
    length, references = body.head(fields, finished)
    assert length == end
    assert [reference._asdict() for reference in references] == found


@pytest.mark.parametrize("character", [*"aZ09!~-_–―.", "]"])
def test_what_a_field_holds(character: str) -> None:
    assert grammar(OPENAI).field_holds(character)
    assert character in grammar(OPENAI).common


@pytest.mark.parametrize("character", [*" \n\té文−\x00\x7f\u3000\u200b"])
def test_what_a_field_does_not_hold(character: str) -> None:
    assert not grammar(OPENAI).field_holds(character)
    assert character not in grammar(OPENAI).common


def test_whitespace_is_held_by_no_field() -> None:
    assert not grammar(CitationFormat(**sc.WHITESPACE_CHARS)).field_holds(" ")
    assert grammar(CitationFormat(**sc.WIDE)).field_holds("文")


def test_what_is_part_of_a_token_is_not_common() -> None:
    assert not grammar(BRACKETS).common & {*"[|]"}
    assert grammar(BRACKETS).field_holds("]")


@pytest.mark.parametrize(
    ("words", "references"),
    [
        (["cite", "a"], [Reference("a")]),
        (["filecite", "a", "L1", "L2"], [Reference("a", "L1"), Reference("a", "L2")]),
    ],
)
def test_what_reads_back(words: list[str], references: list[Reference]) -> None:
    marker = "\ue200" + "\ue202".join(words) + "\ue201"
    assert grammar(OPENAI).reads(marker, words, tuple(references))
    for other in (["url", *words[1:]], [*words, "b c"], [*words, "é"], [words[0], "\ue202".join(words)]):
        marker = "\ue200" + "\ue202".join(other) + "\ue201"
        assert not grammar(OPENAI).reads(marker, other, tuple(references))
    assert not grammar(OPENAI).reads(marker, words, tuple(references))


# What is shown of a marker that is no citation.


@given(formats_and_texts())
def test_no_markup_is_shown(drawn: tuple[sc.FormatArgs, str]) -> None:
    args, text = drawn
    args = {**args, "display": {"g": sc.show_all}}
    shown = grammar(CitationFormat(**args)).show("g", (text, "\ud800"))
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
    compiled = grammar(CitationFormat(**{**format.to_dict(), "display": families}))
    assert compiled.show("g", ("",)) == shown
    assert [compiled.show(family, ("",)) for family in ("raising", "number", "other")] == ["", "", ""]


def test_what_is_shown_is_read_in_linear_time() -> None:
    # No clock: to look for a token again from the start, each time one was removed, takes 10**11 steps.
    format = CitationFormat(start="<(", delimiter="|", stop=")>", display={"g": lambda fields: fields[0]})
    text = "<" * 300_000 + "(" * 300_000
    assert grammar(format).show("g", (text,)) == ""
