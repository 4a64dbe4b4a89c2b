"""The three ways to read a marker's body: how far each goes, and what it makes of what it stops at."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamcite import OPENAI, CitationFormat, Reference
from streamcite.body import BEFORE, INSIDE, JSON, PLAIN, UNDECIDED, Body, never
from streamcite.grammar import Grammar, grammar_for
from tests import strategies as sc

BRACKETS = CitationFormat(**sc.BRACKETS)
SPACED = CitationFormat(**sc.SPACED)
STRICT_BODY, SPACED_BODY, OPAQUE_BODY = (
    grammar_for(OPENAI).body("cite"),
    grammar_for(SPACED).body("c"),
    grammar_for(OPENAI).body("g"),
)


# A body, as much of it as holds no token.


@pytest.mark.parametrize(
    ("body", "text", "length"),
    [
        (STRICT_BODY, "", 0),
        (STRICT_BODY, "turn0file1", 10),
        (STRICT_BODY, " \n a1 \t\u3000", 8),
        (STRICT_BODY, "a1 b", 3),
        (STRICT_BODY, "a1.b", 4),
        (STRICT_BODY, "a1é", 2),
        (STRICT_BODY, "L1–L2", 5),
        (STRICT_BODY, "  é", 2),
        (STRICT_BODY, "a1 é", 3),
        (STRICT_BODY, "a1\u200b", 2),
        (SPACED_BODY, "P 21, é", 7),
        (SPACED_BODY, "P\r\n", 2),
        (SPACED_BODY, "\n", 0),
        (SPACED_BODY, "a" * 64, 64),
        (SPACED_BODY, "a" * 65, 64),
        (SPACED_BODY, " " * 64 + "\n", 64),
        (OPAQUE_BODY, "a b. é {", 8),
        (OPAQUE_BODY, "a\r\n", 2),
        (OPAQUE_BODY, "\n", 0),
        (OPAQUE_BODY, "\n[", 0),
        (OPAQUE_BODY, "{\n1\n}", 5),
        (OPAQUE_BODY, "[\n\n", 2),
        (OPAQUE_BODY, "[\n\r\n", 3),
        (OPAQUE_BODY, "[\n\r\r\n\r", 6),
        (OPAQUE_BODY, "[\r\n\r\n", 4),
        (OPAQUE_BODY, "{\n \n", 4),
    ],
)
def test_how_far_a_body_goes(body: Body, text: str, length: int) -> None:
    # In one piece, in two, in single characters, and out of a longer text.
    for cuts in ([], *([cut] for cut in range(1, len(text))), [*range(1, len(text))]):
        state, end = 0, 0
        for i, j in zip([0, *cuts], [*cuts, len(text)], strict=True):
            if i == end < j:
                end, state = body.advance(text, i, j, state)
        assert end == length
        state, end = 0, 1
        for i, j in zip([0, *cuts], [*cuts, len(text)], strict=True):
            if i == end - 1 < j:
                end, state = body.advance(f"\n{text}é\n", i + 1, j + 1, state)
        assert end == length + 1


def test_what_a_body_does_with_a_field_that_went_before() -> None:
    for body in (STRICT_BODY, SPACED_BODY):
        assert body.divide(body.advance("a1 ", 0, 3, 0)[1]) == 0
    assert SPACED_BODY.advance("a" * 65, 0, 65, SPACED_BODY.divide(64)) == (64, 64)
    assert [OPAQUE_BODY.divide(OPAQUE_BODY.advance(text, 0, len(text), 0)[1]) for text in ("a", "[", "[\n")] == [
        PLAIN,
        JSON,
        JSON,
    ]
    assert OPAQUE_BODY.divide(UNDECIDED) == PLAIN
    assert OPAQUE_BODY.advance("[\n\n", 0, 3, PLAIN) == (1, PLAIN)


def test_what_finishes_a_field() -> None:
    assert [STRICT_BODY.finishes(character) for character in "aé."] == [True] * 3
    assert [SPACED_BODY.finishes(character) for character in "\na"] == [True, False]
    assert [OPAQUE_BODY.finishes(character) for character in "\na"] == [False, False]


def test_what_may_be_prose() -> None:
    assert not STRICT_BODY.may_be_prose(INSIDE)
    assert SPACED_BODY.may_be_prose(5)
    for text, may_be in (("", True), ("a", True), ("{", False), ("[\n", False), ("[\n\r", False)):
        state = OPAQUE_BODY.advance(text, 0, len(text), UNDECIDED)[1] if text else UNDECIDED
        assert OPAQUE_BODY.may_be_prose(state) == may_be


@st.composite
def bodies(draw: st.DrawFn) -> tuple[Grammar, Body, str]:
    args = draw(sc.formats())
    family = draw(st.sampled_from((*args.get("families", ("cite",)), "", "g")))
    tokens = sc.tokens_of(args)
    pieces = (*[tokens[1]] * 3, *"".join(tokens), "a1", "L2", "b", "-", "{", "[", " ", "\n", "\r", ".", "é", "1" * 30)
    text = "".join(draw(st.lists(st.sampled_from(pieces), min_size=1, max_size=10)))
    compiled = grammar_for(CitationFormat(**args))
    return compiled, compiled.body(family), text


def read(compiled: Grammar, body: Body, text: str, state: int) -> int | None:
    """Return the field state after a text in a body, None if it ends there or is not decided at the end."""
    i = 0
    while i < len(text):
        found = compiled.open_scanner.in_marker(text, i)
        j = found.start() if found else len(text)
        if i < j:
            i, state = body.advance(text, i, j, state)
            if i < j:
                return None
        if found:
            if found[0] != compiled.fields.delimiter:
                return None
            i, state = found.end(), body.divide(state)
    return state


@given(bodies())
def test_a_quiet_delta_is_just_more_of_a_body(drawn: tuple[Grammar, Body, str]) -> None:
    compiled, body, text = drawn
    for cut in range(len(text)):
        state = read(compiled, body, text[:cut], 0)
        if state is None:
            continue
        quiet = body.quiet(state)
        for end in range(cut + 1, len(text) + 1):
            if quiet(text[cut:end]):
                assert read(compiled, body, text[:end], 0) == body.resume(state, text[end - 1])


def test_a_quiet_delta_parts_two_newlines() -> None:
    for text in ("[\n", "[\n\r"):
        _, state = OPAQUE_BODY.advance(text, 0, len(text), UNDECIDED)
        assert OPAQUE_BODY.quiet(state)("a")
        assert OPAQUE_BODY.resume(state, text[-1]) == state
        assert OPAQUE_BODY.resume(state, "a") == JSON


def test_what_is_quiet() -> None:
    assert STRICT_BODY.quiet(INSIDE)("turn0file1\ue202L8–13.")
    assert not any(STRICT_BODY.quiet(INSIDE)(text) for text in ("a ", "é", "\ue201", "\ue200", "\n"))
    assert STRICT_BODY.quiet(2) is never
    assert OPAQUE_BODY.quiet(PLAIN)("any, é\ue202 [")
    assert not any(OPAQUE_BODY.quiet(JSON)(text) for text in ("\n", "\r", "a\ue201", "\ue200"))
    assert OPAQUE_BODY.quiet(UNDECIDED) is never
    assert SPACED_BODY.quiet(3) is never
    assert SPACED_BODY.resume(3, "a") == 3
    assert grammar_for(CitationFormat(delimiter="||")).body("cite").quiet(BEFORE) is never
    assert not never("a")


@pytest.mark.parametrize(
    ("body", "fields", "finished", "length", "references"),
    [
        (STRICT_BODY, ["a1", "L2"], True, 5, (Reference("a1", "L2"),)),
        (STRICT_BODY, ["a1", "L2"], False, 2, (Reference("a1"),)),
        (STRICT_BODY, ["a1", "L2 "], False, 5, (Reference("a1", "L2"),)),
        (STRICT_BODY, ["a1", " "], False, 2, (Reference("a1"),)),
        (STRICT_BODY, ["a1", ""], False, 2, (Reference("a1"),)),
        (STRICT_BODY, ["a1."], True, 2, (Reference("a1"),)),
        (SPACED_BODY, ["a1", "P 2"], True, 6, (Reference("a1", "P 2"),)),
        (SPACED_BODY, ["a1", "P 2 "], False, 2, (Reference("a1"),)),
        (SPACED_BODY, ["a1,"], True, 0, ()),
    ],
)
def test_the_head_of_an_unclosed_marker(
    body: Body, fields: list[str], finished: bool, length: int, references: tuple[Reference, ...]
) -> None:
    assert body.head(fields, finished) == (length, references)


def test_an_opaque_marker_has_no_more_head_than_its_opening() -> None:
    assert OPAQUE_BODY.head(["a1", "L2"], finished=True) == (0, ())
