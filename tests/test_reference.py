"""The oracle itself: it gives what the tables of cases say, and it is of one mind about every prefix of a text."""

import json
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import strategies as sc
from tests.reference import OPENAI, Fmt, ReadEvent, fed, held_after, named, read, shown, source_text

CASES = [
    json.loads(line)
    for name in ("parser.jsonl", "parser_more.jsonl")
    for line in (Path(__file__).parent / "cases" / name).read_text(encoding="utf-8").splitlines()
]

BRACKETS = Fmt(**sc.BRACKETS)
NASTY = Fmt(**sc.NASTY)
MARKER = "\ue200cite\ue202"


def is_beginning(early: Sequence[ReadEvent], late: Sequence[ReadEvent]) -> bool:
    """Whether `late` only adds to `early`: nothing that was handed out is taken back."""
    if not early or list(late[: len(early)]) == list(early):
        return True
    last, same = early[-1], len(early) - 1
    if list(late[:same]) != list(early[:same]) or len(late) <= same:
        return False
    grown = late[same]
    return isinstance(last, str) and isinstance(grown, str) and grown.startswith(last)


def most_held(fmt: Fmt, options: sc.Options) -> int:
    """Return how many characters may be held: the limit, or start and 32 letters, plus one incomplete token."""
    marker: int = options.get("max_marker", 4096)
    limit: int = max(marker, options.get("max_payload", max(65536, marker)))
    # The delimiter after a long family may pass a low limit too; only what follows it decides the reason.
    return max(limit, len(fmt.start) + 32 + len(fmt.delimiter)) + max(map(len, fmt.tokens)) - 1


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_case(case: dict[str, Any]) -> None:
    options = dict(case["options"])
    fmt = named(options.pop("format", "openai"))
    events = read("".join(case["deltas"]), fmt, **options)
    assert events == case["events"]
    assert shown(events) == case["clean"]


def test_ids_of_cases_are_unique() -> None:
    ids = [case["id"] for case in CASES]
    assert len(set(ids)) == len(ids)


@given(sc.inputs())
def test_every_prefix_agrees_with_the_whole(drawn: tuple[sc.FormatArgs, sc.Options, str, bool]) -> None:
    args, options, text, complete = drawn
    fmt = Fmt(**args)
    whole = read(text, fmt, complete=complete, **options)
    assert source_text(whole) == text
    bound = most_held(fmt, options)
    for i in range(len(text) + 1):
        events, held = fed(text[:i], fmt, **options)
        assert source_text(events) + held == text[:i]
        assert is_beginning(events, whole)
        assert len(held) <= bound


@given(sc.inputs())
def test_places_and_shapes(drawn: tuple[sc.FormatArgs, sc.Options, str, bool]) -> None:
    args, options, text, complete = drawn
    position, start = 0, 0
    before: ReadEvent = {}
    for event in read(text, Fmt(**args), complete=complete, **options):
        if isinstance(event, str):
            assert event
            assert not isinstance(before, str)
            position, start = position + len(event), start + len(event)
        else:
            assert (event["start"], event["end"], event["position"]) == (start, start + len(event["raw"]), position)
            position, start = position + len(event["text"]), event["end"]
        before = event


@given(sc.inputs())
def test_single_private_tokens_never_reach_the_reader(drawn: tuple[sc.FormatArgs, sc.Options, str, bool]) -> None:
    args, options, text, complete = drawn
    fmt = Fmt(**{**args, **dict(zip(("start", "delimiter", "stop"), OPENAI.tokens, strict=True))})
    text = "".join(text.replace(a, b) for a, b in zip(sc.tokens_of(args), OPENAI.tokens, strict=True))
    clean = shown(read(text, fmt, complete=complete, **{**options, "malformed": "drop"}))
    assert not set(clean) & {*OPENAI.tokens, *fmt.ignored}


@pytest.mark.parametrize(
    ("prefix", "fmt", "held"),
    [
        ("text", OPENAI, ""),
        ("text \ue200", OPENAI, "\ue200"),
        ("text \ue200cit", OPENAI, "\ue200cit"),
        ("text \ue200cite ", OPENAI, ""),
        ("text \ue200\ue200c", OPENAI, "\ue200c"),
        (MARKER, OPENAI, MARKER),
        (MARKER + "turn0file0", OPENAI, MARKER + "turn0file0"),
        (MARKER + "turn0file0 ", OPENAI, MARKER + "turn0file0 "),
        (MARKER + "turn0file0 a", OPENAI, ""),
        (MARKER + "turn0file0文", OPENAI, ""),
        (MARKER + "a\ue200c", OPENAI, "\ue200c"),
        (MARKER + "a\ue201", OPENAI, ""),
        ("\ue200g\ue202a b. c", OPENAI, "\ue200g\ue202a b. c"),
        ("\ue200g\ue202a\n", OPENAI, ""),
        ("\ue200g\ue202[a\n", OPENAI, "\ue200g\ue202[a\n"),
        ("\ue200g\ue202[a\n\r", OPENAI, "\ue200g\ue202[a\n\r"),
        ("\ue200g\ue202[a\n\r\n", OPENAI, ""),
        ("a[", BRACKETS, "["),
        ("a]", BRACKETS, ""),
        ("a[b", BRACKETS, ""),
        ("[[c|a1]", BRACKETS, "[[c|a1]"),
        # The bracket may begin a token, and the one before it is a character of the field.
        ("[[c|a1 ]", BRACKETS, "[[c|a1 ]"),
        ("[[c|a1 ][", BRACKETS, "["),
        ("[[c|a1 b [", BRACKETS, "["),
        ("[[c[", BRACKETS, "[[c["),
        ("a<", NASTY, "<"),
        ("a<|", NASTY, ""),
        ("a<<", NASTY, "<<"),
        ("a<<|", NASTY, "<<|"),
        ("a<<<", NASTY, "<<"),
        ("a<<|y<", NASTY, "<"),
        ("<<|xc|a<<|", NASTY, "<<|xc|a<<|"),
        ("<<|xc|a<<|y", NASTY, ""),
    ],
)
def test_held(prefix: str, fmt: Fmt, held: str) -> None:
    assert held_after(prefix, fmt) == held


@pytest.mark.parametrize(
    ("show", "text"),
    [
        (sc.show_all, "x/y"),
        (sc.show_raising, ""),
        (sc.show_no_text, ""),
        (sc.show_markup, "a[[b]][[c<<<|x|x<|*x"),
    ],
)
def test_display(show: Any, text: str) -> None:
    fmt = Fmt(display={"g": show}, ignored=("\ue203",))
    (event,) = read("\ue200g\ue202x\ue202y\ue201", fmt)
    assert isinstance(event, dict)
    assert event["text"] == text


@pytest.mark.parametrize(
    ("fmt", "text"),
    [
        # Two brackets meet when the surrogate between them is gone, and go then.
        (Fmt(**sc.BRACKETS, display={"g": sc.show_markup}), "ab\ue200\ue203c<<<xx<\ue201*x"),
        (Fmt(**sc.NASTY, display={"g": sc.show_markup}), "a[[b]][[\ue200\ue203c<x\ue201*x"),
    ],
)
def test_display_with_tokens_of_several_characters(fmt: Fmt, text: str) -> None:
    (event,) = read(f"{fmt.start}g{fmt.delimiter}x{fmt.stop}", fmt)
    assert isinstance(event, dict)
    assert event["text"] == text


@given(st.data())
def test_cuts_and_partitions_lose_nothing(data: st.DataObject) -> None:
    fmt = data.draw(sc.formats())
    text = data.draw(sc.texts(fmt, max_pieces=3))
    assert "".join(data.draw(sc.cuts(text))) == text
    short = text[:6]
    every = list(sc.partitions(short))
    assert len({tuple(p) for p in every}) == len(every) == 2 ** max(len(short) - 1, 0)
    assert all("".join(p) == short for p in every)


@given(sc.formats())
def test_formats_keep_the_rules_of_section_1(args: sc.FormatArgs) -> None:
    fmt = Fmt(**args)
    tokens = "".join(fmt.tokens)
    assert all(fmt.tokens)
    assert not any(c.isspace() for c in tokens)
    assert not any(a is not b and a.startswith(b) for a in fmt.tokens for b in fmt.tokens)
    for char in fmt.ignored:
        assert len(char) == 1
        assert unicodedata.category(char)[0] != "L"
        assert char not in "0123456789-_" + tokens
