"""An answer without a model: sentences of sources, or lines of them, quoted and cited."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from streamcite.choose import rank
from streamcite.events import Reference
from streamcite.format import OPENAI, CitationFormat
from streamcite.ids import RESULT_ID, family_of
from streamcite.source import Source

_MOST_QUOTES = 4
# Sentences that are not half as close to the question as the best one share no more than small words with it.
_SHARE = 0.5
# More than these are not compared.
_MOST_QUOTES_READ = 5000
# A line with something in it, and a paragraph of these, or an item of a list. Nothing is looked at twice.
_LINE = r"[^\S\n]*+\S[^\n]*+(?:\n|\Z)"
_ITEM = r"[ \t]*+(?:[-*+•‣]|[0-9]{1,3}[.)])[ \t]"
_PIECE = re.compile(rf"^{_LINE}(?:(?!{_ITEM}){_LINE})*+", re.MULTILINE)
_SIGN, _LINES = re.compile(_ITEM), re.compile(rf"^{_LINE}", re.MULTILINE)
# What begins a heading, a table, a quote, a fence, and code.
_NO_PROSE = re.compile(r"[ \t]*[#>|`~]|    |\t")
# Where a sentence may end: not after one letter within a line, as in "9 a.m." and "z. B.", nor after a title.
_END = re.compile(
    r"(?:[。！？]++|(?<![.!?…])(?:(?<!\b[^\W\d_])|(?=\.\n))(?<!\b(?:Dr|Mr|Ms|St|No|Nr|vs))(?<!\b(?:Mrs|bzw|vgl|Abb|Fig))"  # noqa: RUF001
    r"(?<!\bProf)[.!?…]++(?=[\"')\]]*+(?:\s|\Z)))[\"')\]」』）]*+"  # noqa: RUF001
)
_SIZES = range(12, 400)  # code points
_ID = rf"{RESULT_ID}|block[0-9]+"
# What Markdown or the format could take for its own, ids, and what is data.
_NOT_QUOTED = re.compile(rf"[][*_`<>|\\#~$&{{}}“”\ue000-\uf8ff\ud800-\udfff]|{_ID}|://|={{3}}|-{{3}}|\"{{3}}")


# What no line of data or code may hold to be shown as such, in one line and between backticks.
_NOT_SHOWN = re.compile(rf"[`\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\ue000-\uf8ff\ud800-\udfff]|{_ID}")


class _Quote(NamedTuple):
    text: str
    shown: str
    reference: Reference


def compose(question: str, sources: Iterable[Source], *, format: CitationFormat = OPENAI) -> str:
    """Answer a question by quoting the sentences that share the most words with it, each with a marker.

    Args:
        question: what is asked.
        sources: what may be cited; those that are not citable are passed over.
        format: what a marker looks like.

    Returns:
        Markdown that says that no model wrote it, a paragraph, and a list of at most four quotes: sentences exactly as
        they stand in a source except for their line breaks, or lines, as code, where no sentence shares a word. Each
        marker names its source, and where that is cited by lines the lines of the quote. Where there is nothing to
        quote, it says so.

    Raises:
        ValueError: the format cannot write the id of one that is cited.
    """
    sources = [source for source in sources if source.citable]
    sentences, lines = _gather(sources, _quoted_sentences), _gather(sources, _quoted_lines)
    if not (sentences or lines):
        return "No model was asked, and the sources hold nothing that could be quoted."
    said = "The sources say:"
    for quotes in (sentences, lines):
        if best := rank([quote.text for quote in quotes], question, share=_SHARE):
            break
    else:
        said = "The sources share no word with the question; they begin:"
        quotes = sentences or lines
        best = [*range(len(quotes))]
    items = (_item(quotes[index], format) for index in best[:_MOST_QUOTES])
    return f"No model was asked. {said}\n\n" + "".join(items)


def _item(quote: _Quote, format: CitationFormat) -> str:
    return f"- {quote.shown}{format.write([quote.reference], family_of(format))}\n"


def _gather(sources: Iterable[Source], find: Callable[[Source], Iterator[_Quote]]) -> list[_Quote]:
    """Find quotes in sources; of those that are the same, the first."""
    quotes: dict[str, _Quote] = {}
    for quote in chain.from_iterable(map(find, sources)):
        quotes.setdefault(quote.text, quote)
        if len(quotes) == _MOST_QUOTES_READ:
            break
    return list(quotes.values())


def _quoted_sentences(source: Source) -> Iterator[_Quote]:
    for piece in _PIECE.finditer(source.text):
        if not _NO_PROSE.match(piece[0]):
            for start, end in _sentences(source.text, *piece.span()):
                text = " ".join(source.text[start:end].split())
                if len(text) in _SIZES and any(map(str.isalnum, text)) and not _NOT_QUOTED.search(text):
                    yield _Quote(text, f"“{text}”", Reference(source.id, _locator(source, start, end)))


def _quoted_lines(source: Source) -> Iterator[_Quote]:
    for line in _LINES.finditer(source.text):
        text = line[0].strip()
        if len(text) < _SIZES.stop and any(map(str.isalnum, text)) and not _NOT_SHOWN.search(text):
            yield _Quote(text, f"`{text}`", Reference(source.id, _locator(source, *line.span())))


def _sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Give where the sentences of a piece of text begin and end; of what is too long for one, its lines."""
    if sign := _SIGN.match(text, start, end):
        start = sign.end()
    for stop in [*_stops(text, start, end), end]:
        begin = _skip_blanks(text, start, stop)
        if stop - begin < _SIZES.stop:
            yield begin, stop
        else:
            yield from (line.span() for line in _LINES.finditer(text, begin, stop))
        start = stop


def _stops(text: str, start: int, end: int) -> Iterator[int]:
    for found in _END.finditer(text, start, end):
        behind = _skip_blanks(text, found.end(), end)
        if not text[behind : behind + 1].islower():
            yield found.end()


def _skip_blanks(text: str, start: int, end: int) -> int:
    while start < end and text[start].isspace():
        start += 1
    return start


def _locator(source: Source, start: int, end: int) -> str | None:
    if source.unit != "lines":
        return None
    text = source.text[start:end].rstrip()
    first = source.text.count("\n", 0, start) + 1
    last = first + text.count("\n")
    return f"L{first}-L{last}" if last > first else f"L{first}"
