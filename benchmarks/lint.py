"""What lint costs beside one parse by markdown-it-py, and that hostile answers cost no more a character.

``python -m benchmarks lint``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import count, islice

from markdown_it import MarkdownIt

from streamcite import OPENAI, Reference, Source, clean
from streamcite.lint import lint

from .report import Figure
from .timing import fastest

WORDS = 20_000
QUICK = {"words": 5_000, "characters": 20_000, "passes": 3}
# How many words an answer has for each citation.
DENSITY = 40
# The most that lint may cost of a parse of the clean text as Markdown with tables, by answer; None: it is only told.
LIMITS: Mapping[str, float | None] = {"as models write": 2, "prose alone": None}
# The most that a character may cost in a long hostile answer of what it costs in one a tenth as long.
LINEAR = 1.5

_SENTENCE = (
    "The **handoff** moves to the next rota on Monday; see the [page](https://example.org) for dates, and keep three "
    "days free in case the `on-call` engineer asks for a swap."
)
_PLAIN = (
    "The handoff moves to the next rota on Monday; see the page for dates, and keep three days free in case the "
    "engineer on call asks for a swap."
)
# @ stands for a marker.
_SECTIONS = {
    "as models write": (
        f"## The *new* rota\n\n{_SENTENCE}@ {_SENTENCE}\n\n- **Who:** {_SENTENCE}@\n- **When:** {_SENTENCE}@\n\n"
        f"| Team | Lead |\n|------|------|\n| Core | *Ada*@ |\n\n1. {_SENTENCE}@\n2. {_SENTENCE} {_SENTENCE}\n\n"
        f'```python\nswap("core")\n```\n\n{_PLAIN}@\n\n'
    ),
    "prose alone": f"{_PLAIN} {_PLAIN}@ {_PLAIN}@\n\n",
}
# Pieces of which a hostile answer is made, each in one paragraph with a marker at its end.
HOSTILE = {
    "brackets": "[",
    "emphasis that never ends": "**a ",
    "code that never ends": "` `` ``` ",
    "tags that never end": "<b <i ",
    "nested quotes": "> ",
    "one word": "a1",
    "addresses": "://a1 ",
    "addresses with brackets": "://a(",
    "comments that never end": "<!-- a ",
    "footnotes that never end": "[^a",
    "ids": "block-1 ",
    "markers alone": "@\n",
    "markers in emphasis": "*a@* ",
    "rows of a table": "| *a*@ |\n|---|\n",
    "letters in front of a digit": "a",
    "markers in a cell": "a@ \\| ",
}
# What stands before the pieces of one, and after them.
AROUND = {"letters in front of a digit": ("", "1"), "markers in a cell": ("|a|\n|-|\n", "")}
SOURCES = {id: Source(id, "A line.\n" * 20) for id in [*(f"turn0file{number}" for number in range(100)), "block-1"]}


def answer(name: str, words: int = WORDS) -> str:
    """Build an answer with about that many words, a citation for each `DENSITY` of them, in which nothing is wrong."""
    section = _SECTIONS[name]
    return _cited(section * (words // (DENSITY * section.count("@"))))


def hostile(name: str, characters: int) -> str:
    """Build an answer of about that many characters, markers apart, from one piece."""
    piece, (front, behind) = HOSTILE[name], AROUND.get(name, ("", ""))
    return _cited(front + piece * ((characters - len(front + behind)) // len(piece)) + behind + "@")


def figures(*, words: int = WORDS, characters: int = 50_000, passes: int = 9) -> Iterator[Figure]:
    """Measure all that has a limit, one figure after the other.

    Args:
        words: about how many words an answer has.
        characters: about how many characters a hostile one has.
        passes: how often each is run; the fastest counts.
    """
    parse = MarkdownIt("commonmark").enable("table").parse
    for name, limit in LIMITS.items():
        text = answer(name, words)
        times = fastest({"lint": partial(lint, text, SOURCES), "parse": partial(parse, clean(text))}, passes=passes)
        yield Figure(f"lint / a parse by markdown-it-py: {name}", times["lint"] / times["parse"], limit)
    for name in HOSTILE:
        sizes = {"long": characters, "short": characters // 10}
        lints = {size: partial(lint, hostile(name, length), SOURCES) for size, length in sizes.items()}
        times = fastest(lints, passes=max(passes // 3, 1))
        yield Figure(
            f"lint: a character of a long answer / of a short one: {name}", times["long"] / times["short"] / 10, LINEAR
        )


def _cited(text: str) -> str:
    parts = text.split("@")
    markers = (OPENAI.write([Reference(f"turn0file{number % 100}", "L8-L13")]) for number in count())
    behind = zip(parts[1:], islice(markers, len(parts) - 1), strict=True)
    return parts[0] + "".join(marker + part for part, marker in behind)
