"""The named inputs of the benchmarks, each with what the parser must make of it.

A test asserts those events, so that no benchmark times a wrong parser.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import count, cycle, islice

from streamcite import OPENAI, Reference

DELTAS = 100_000
ENGLISH = "The handoff moves to the next rota on Monday; see the page for dates 🎉 and keep three days a week free 🗓️. "
JAPANESE = "当番は毎週月曜日に交代します。日程表は共有ページを確認し、週に三日は予定を空けておいてください。\n"
START, DELIMITER, STOP = OPENAI.tokens

# A run of prose (None), or one piece of markup with what must come of it: its references, or why it is malformed.
Outcome = tuple[Reference, ...] | str | None
Part = tuple[str, Outcome]
Cut = Callable[[list[str]], list[str]]


@dataclass(frozen=True)
class Shape:
    """An input, cut into deltas, and what must come out of it.

    Attributes:
        name: what the report calls it.
        deltas: the input.
        clean: the clean text.
        markup: for each event that is not text, its raw markup and its outcome.
    """

    name: str
    deltas: list[str]
    clean: str
    markup: list[tuple[str, Outcome]]


def make(name: str, deltas: int = DELTAS) -> Shape:
    """Build the shape of that name with about that many deltas."""
    parts_of, cut, length = SHAPES[name]
    parts = parts_of(deltas * length)
    clean = "".join(raw for raw, outcome in parts if outcome is None)
    return Shape(name, cut([raw for raw, _ in parts]), clean, [part for part in parts if part[1] is not None])


def prose(text: str, characters: int) -> list[Part]:
    """Give that many characters of prose, four in a part."""
    source = cycle(text)
    return [("".join(islice(source, 4)), None) for _ in range(0, characters, 4)]


def cited(every: int, distinct: int | None, characters: int) -> list[Part]:
    """Give prose with a marker after each ``every`` characters, one of that many, or (None) never the same.

    Every other marker names lines, as the guide's two most usual forms do.
    """
    source = cycle(ENGLISH)
    parts: list[Part] = []
    for number in count() if distinct is None else cycle(range(distinct)):
        lines = f"L{number % 9 + 1}-L{number % 9 + 10}" if number % 2 else None
        reference = Reference(f"turn{number // 10}file{number % 10}", lines)
        marker = OPENAI.write([reference])
        parts += [("".join(islice(source, every)), None), (marker, (reference,))]
        characters -= every + len(marker)
        if characters <= 0:
            break
    return parts


def one_start(characters: int) -> list[Part]:
    """Give a start that no marker follows, then prose."""
    return [(START, "bad_family"), *prose(ENGLISH, characters)]


def only_starts(characters: int) -> list[Part]:
    """Give nothing but starts."""
    return [*[(START, "unclosed")] * (characters - 1), (START, "truncated")]


def only_delimiters(characters: int) -> list[Part]:
    """Give nothing but delimiters."""
    return [(DELIMITER, "stray_delimiter")] * characters


def open_payload(characters: int) -> list[Part]:
    """Give markers of indented JSON that never end, each cut off by the limit on payloads."""
    head = START + "genui" + DELIMITER
    body = "{\n" + '  "query": "shot put",\n' * 3_600
    return [(head, "too_long"), (body, None)] * (characters // len(body) + 1)


def apart(length: int) -> Cut:
    """Cut each run of prose and each marker by itself, as a tokenizer does, into pieces of that many characters."""
    return lambda parts: [part[i : i + length] for part in parts for i in range(0, len(part), length)]


def across(shortest: int, longest: int) -> Cut:
    """Cut the whole text into pieces of that many characters, wherever that falls."""

    def cut(parts: list[str]) -> list[str]:
        text, lengths = "".join(parts), random.Random(7)
        pieces, i = [], 0
        while i < len(text):
            j = i + lengths.randint(shortest, longest)
            pieces.append(text[i:j])
            i = j
        return pieces

    return cut


def as_tokens(parts: list[str]) -> list[str]:
    """Cut as a tokenizer does: a line citation streams as 13 pieces."""
    return [
        piece for part in parts for piece in re.findall(r"[\ue200-\ue202]|-L| ?[A-Za-z]+|\d{1,3}|.", part, re.DOTALL)
    ]


def whole(parts: list[str]) -> list[str]:
    """Leave the text whole: one delta."""
    return ["".join(parts)]


# name: the parts for a number of characters, how they are cut, the mean length of a delta.
SHAPES: dict[str, tuple[Callable[[int], list[Part]], Cut, int]] = {
    "no citation": (partial(prose, ENGLISH), apart(4), 4),
    "1 per 200": (partial(cited, 200, 20), apart(4), 4),
    "1 per 20, 20 distinct": (partial(cited, 20, 20), apart(4), 4),
    "1 per 20, all distinct": (partial(cited, 20, None), apart(4), 4),
    "1 per 20, cut at random": (partial(cited, 20, 20), across(1, 7), 4),
    "CJK, none": (partial(prose, JAPANESE), apart(4), 4),
    "1 per 200, as tokens": (partial(cited, 200, 20), as_tokens, 4),
    "1 per 20, as tokens": (partial(cited, 20, 20), as_tokens, 3),
    "one start, then prose": (one_start, apart(4), 4),
    "only starts": (only_starts, across(1, 1), 1),
    "only delimiters": (only_delimiters, across(1, 1), 1),
    "an open payload": (open_payload, across(4, 4), 4),
    "1-character deltas": (partial(cited, 200, 20), apart(1), 1),
    "one 10 MB delta": (partial(cited, 200, 20), whole, 100),
}
