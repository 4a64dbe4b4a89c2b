"""An answer without a model: sentences of sources, quoted and cited."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from streamcite.choose import rank
from streamcite.events import Reference
from streamcite.format import OPENAI, CitationFormat
from streamcite.ids import RESULT_ID, family_of
from streamcite.source import Source

_MOST_QUOTES = 4
# Sentences that are not half as close to the question as the best one share no more than small words with it.
_SHARE = 0.5
# More sentences than these of the best sources are not looked at.
_MOST_SENTENCES = 5000
_PARAGRAPH = re.compile(r"(?:[^\n]*\S[^\n]*(?:\n|\Z))+")
# What begins a heading, a table, a quote, a fence, and code.
_NO_PROSE = re.compile(r"[ \t]*[#>|`~]|    |\t")
# It begins behind the sign of a list, and ends with a sign that a blank, or nothing, follows.
_SENTENCE = re.compile(r"[^\s.!?…。！？*+•-][^.!?…。！？]*(?:[.!?…](?!\s|\Z)[^.!?…。！？]*)*[.!?…。！？]+")  # noqa: RUF001
_SIZES = range(12, 400)  # code points
# What Markdown or the format could take for its own, and ids.
_NOT_QUOTED = re.compile(rf"[][*_`<>|\\#~$&“”\ue000-\uf8ff\ud800-\udfff]|\b(?:{RESULT_ID}|block[0-9]+)\b|://")


class _Quote(NamedTuple):
    text: str
    reference: Reference


def compose(question: str, sources: Iterable[Source], *, format: CitationFormat = OPENAI) -> str:
    """Answer a question by quoting the sentences that share the most words with it, each with a marker.

    Args:
        question: what is asked.
        sources: what may be cited; those that are not citable are passed over.
        format: what a marker looks like.

    Returns:
        Markdown that says that no model wrote it, a paragraph, and a list of at most four quotes: sentences exactly as
        they stand in a source but for their line breaks. Each marker names its source, and where that is cited by lines
        the lines of the sentence. Where there is no sentence to quote, it says so.

    Raises:
        ValueError: the format cannot write the id of one that is cited.
    """
    quotes: list[_Quote] = []
    for source in sources:
        if source.citable and len(quotes) < _MOST_SENTENCES:
            quotes += _quotes(source)
    if not quotes:
        return "No model was asked, and the sources hold no sentence that could be quoted."
    best = rank([quote.text for quote in quotes], question, share=_SHARE)[:_MOST_QUOTES]
    said = "The sources say:" if best else "The sources share no word with the question; they begin:"
    best = best or [*range(min(len(quotes), _MOST_QUOTES))]
    lines = (f"- “{quotes[index].text}”{format.write([quotes[index].reference], family_of(format))}" for index in best)
    return f"No model was asked. {said}\n\n" + "\n".join(lines) + "\n"


def _quotes(source: Source) -> Iterator[_Quote]:
    seen = set()
    for paragraph in _PARAGRAPH.finditer(source.text):
        if _NO_PROSE.match(paragraph[0]):
            continue
        for sentence in _SENTENCE.finditer(source.text, *paragraph.span()):
            text = " ".join(sentence[0].split())
            if len(text) in _SIZES and text not in seen and not _NOT_QUOTED.search(text):
                seen.add(text)
                yield _Quote(text, Reference(source.id, _locator(source, *sentence.span())))


def _locator(source: Source, start: int, end: int) -> str | None:
    if source.unit != "lines":
        return None
    first = source.text.count("\n", 0, start) + 1
    last = first + source.text.count("\n", start, end)
    return f"L{first}-L{last}" if last > first else f"L{first}"
