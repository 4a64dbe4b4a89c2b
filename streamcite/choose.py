"""Which sources to show a model, where not all fit: by BM25, in an index of SQLite's in memory."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing

from .source import Source, each_source
from .surrogates import replace_surrogates

DEFAULT_BUDGET = 60_000
"""The most code points of text that are shown: about 15,000 tokens of English, which any model of today takes."""

# More words than a question has; each costs a search.
_MOST_WORDS = 200
_WORD = re.compile(r"\w+")
# Scripts that have no spaces between words: each character is taken for one.
_UNSPACED = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff])"
)


def choose(
    sources: Iterable[Source] | Mapping[str, Source], question: str, *, budget: int = DEFAULT_BUDGET
) -> list[Source]:
    """Choose the sources that are closest to a question, as many as fit.

    Args:
        sources: to choose from, such as a list, or a `Sources`.
        question: what is asked, in any words.
        budget: the most code points of text, in all.

    Returns:
        The chosen ones in the order in which they were given: all if they fit, else those that share words with the
        question, the best first for as long as there is room; if none does, those that come first. None if not even
        the smallest of these fits.

    Raises:
        TypeError: ``sources`` is neither an iterable nor a mapping of sources.
        ValueError: ``budget`` is less than 1.
    """
    if budget < 1:
        raise ValueError(f"budget: must be at least 1, not {budget}")
    given = list(each_source(sources))
    if sum(len(source.text) for source in given) <= budget:
        return given
    ranked = rank([f"{source.title or ''}\n{source.text}" for source in given], question)
    chosen = []
    for index in ranked or range(len(given)):
        size = len(given[index].text)
        if size <= budget:
            budget -= size
            chosen.append(index)
    return [given[index] for index in sorted(chosen)]


def rank(texts: Sequence[str], question: str, *, share: float = 0.0) -> list[int]:
    """Rank texts by the words that they share with a question.

    Words are compared in their English stems, without case and accents; rare ones count more, and in a short text more
    than in a long one (BM25, as SQLite's FTS5 computes it).

    Args:
        texts: what is ranked.
        question: words, in any order.
        share: how close a text must be, as a share of how close the best one is, from 0 to 1.

    Returns:
        The indexes of the texts that share a word with it and are as close, the best first.
    """
    words = list(dict.fromkeys(_WORD.findall(_searchable(question))))[:_MOST_WORDS]
    if not words:
        return []
    with closing(sqlite3.connect(":memory:")) as index:
        index.execute("""CREATE VIRTUAL TABLE texts USING fts5(text, content='', tokenize="porter unicode61")""")
        rows = ((number, _searchable(text)) for number, text in enumerate(texts))
        index.executemany("INSERT INTO texts (rowid, text) VALUES (?, ?)", rows)
        asked = " OR ".join(f'"{word}"' for word in words)
        found = index.execute("SELECT rowid, rank FROM texts WHERE texts MATCH ? ORDER BY rank, rowid", [asked])
        ranked = found.fetchall()
    # The better, the further below 0.
    return [number for number, score in ranked if score <= share * ranked[0][1]]


def _searchable(text: str) -> str:
    return _UNSPACED.sub(r" \1 ", replace_surrogates(text)[0])
