"""The two helpers of OpenAI's citation-formatting guide, for a finished text: same results, linear time.

The guide's reader is laxer than the parser where a marker is broken (it runs to the next stop, across anything) and
stricter where one is unusual (one locator, at the end). Use `CitationParser` for streams and for anything shown to a
reader; use these where existing code expects the guide's own dictionaries.
"""

import re
from collections.abc import Iterable
from typing import TypedDict

# The guide's tokens, whatever the format of a parser.
_START, _DELIMITER, _STOP = "\ue200", "\ue202", "\ue201"
_SOURCE_ID = re.compile(r"[A-Za-z0-9_-]+")
_LOCATOR = re.compile(r"L\d+(?:-L\d+)?")


class CitationDict(TypedDict):
    """One citation as the guide's helper returns it.

    Attributes:
        raw: the marker.
        family: its family.
        source_ids: the ids it cites, at least one.
        locator: the line range that stood last, or None.
        start: offset of ``raw`` in the text, in code points.
        end: the offset after it.
    """

    raw: str
    family: str
    source_ids: list[str]
    locator: str | None
    start: int
    end: int


def extract_citations(text: str, *, families: Iterable[str] = ("cite",)) -> list[CitationDict]:
    """Find the citations of a finished text as the guide's helper does.

    A marker runs from start, family and delimiter to the next stop, whatever lies between. Its parts are stripped and
    empty ones dropped; the last may be a line range; all others must be source ids and there must be one, or the marker
    is skipped. Linear in the length of the text, whatever it holds.

    Args:
        text: the whole answer.
        families: the families to look for, the earlier first; with none the result is empty.

    Returns:
        The citations in the order of the text, with offsets in code points.

    Raises:
        TypeError: ``text`` is not a ``str``.
        ValueError: ``families`` is a ``str``, which would be read as families of one letter.

    Source: the guide, element 5 (citation parsing); semantics, section 4.
    """
    if not isinstance(text, str):
        raise TypeError(f"text: must be a str, not {type(text).__name__}")
    if isinstance(families, str):
        raise ValueError(f"families: must be an iterable of names, not the string {families!r}")
    alternatives = [re.escape(family) for family in families]
    if not alternatives:
        return []
    names = "|".join(alternatives)
    marker = re.compile(f"{_START}({names}){_DELIMITER}([^{_STOP}]*+){_STOP}")
    citations: list[CitationDict] = []
    # After the last stop no marker can end. Ending the search there keeps it linear: each start before it is
    # followed by a stop, so what the body runs across is never run across again.
    for match in marker.finditer(text, 0, text.rfind(_STOP) + 1):
        parts = [part for part in map(str.strip, match[2].split(_DELIMITER)) if part]
        locator = parts.pop() if parts and _LOCATOR.fullmatch(parts[-1]) else None
        if parts and all(map(_SOURCE_ID.fullmatch, parts)):
            citations.append(
                CitationDict(
                    raw=match[0],
                    family=match[1],
                    source_ids=parts,
                    locator=locator,
                    start=match.start(),
                    end=match.end(),
                )
            )
    return citations


def strip_citations(text: str, citations: Iterable[CitationDict]) -> str:
    """Cut citations out of the text they were found in, as the guide's helper does.

    The spans are cut from the last to the first, each from what the cuts before it left: a span that is given twice
    or overlaps another takes with it as many code points after it. Linear in the text and the number of citations,
    except for sorting.

    Args:
        text: the text that `extract_citations` was given.
        citations: what it returned, or some of it, in any order. Only ``start`` and ``end`` are read.

    Returns:
        The text without the spans ``start:end``.

    Source: the guide, element 5 (citation parsing); semantics, section 4.
    """
    kept = [(0, len(text))]  # spans of the text, the first one last
    for citation in sorted(citations, key=lambda citation: citation["start"], reverse=True):
        position, length = citation["start"], citation["end"] - citation["start"]
        _, edge = kept.pop()
        while length >= edge - position and kept:
            length -= edge - position
            position, edge = kept.pop()
        kept += [(position + length, edge), (0, citation["start"])]
    return "".join(text[start:end] for start, end in reversed(kept))
