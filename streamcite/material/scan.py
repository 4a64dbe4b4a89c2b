"""Where sources stand in a text that shows them. Linear in the text; whatever it is, no error."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import merge
from itertools import chain, islice
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from streamcite.events import Citation
from streamcite.format import DEFAULT_MAX_MARKER, CitationFormat
from streamcite.ids import RESULT_ID, is_result_id
from streamcite.parser import parse
from streamcite.prompt import EXAMPLE_FOLLOWS
from streamcite.source import Source

from .content import read_source
from .safe import BRACKETED, LINE_ENDS, guard_for

# What opens a source in a line of its own; each line has a newline before it.
_LINE = re.compile(
    rf"\n[ \t]*+(?:Citation[ \t]*+Marker[ \t]*+:(?P<marker>[^\n]*)|{BRACKETED}[ \t\r]*+(?=\n|\Z))", re.IGNORECASE
)
_MENTION = re.compile(f"【({RESULT_ID})】")
# A tag of a block: in the form of `render_blocks`, whatever the id, or as others write it.
_TAG = re.compile(r"<\s*+(?P<close>/\s*+)?+BLOCK(?![\w-])", re.IGNORECASE)
_OWN_TAG = re.compile(rf'(?<=\n)<BLOCK id="(?P<id>[^{LINE_ENDS}]{{1,4096}})">(?=\r?(?:\n|\Z))')
_TAG_END = re.compile("[^<>\n]*>")
_TAG_ID = re.compile(r"""\sid\s*+=\s*+(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)
# Of a line after "Citation Marker:", what is parsed: what may stand before a marker, and the longest one.
_MARKER_LINE = 2 * DEFAULT_MAX_MARKER

_IsId: TypeAlias = Callable[[str], bool]


class _Opening(NamedTuple):
    """Where a source begins, or what else ends the one before it.

    Attributes:
        start: the newline before the line that opens it, or for a block inside a line its tag.
        end: where its content begins.
        id: its id; None if what follows cannot be cited.
        bracketed: whether it is opened by ``【id】``.
        close: for a block, where its content ends and where its closing tag does.
    """

    start: int
    end: int
    id: str | None
    bracketed: bool = False
    close: tuple[int, int] | None = None


def read_text(text: str, format: CitationFormat, *, whole: bool = False) -> Iterator[Source]:
    """Give the sources in a text, in order, each as often as it is shown.

    Args:
        text: any text.
        format: what a marker looks like.
        whole: whether a text in none of the forms is one source if it holds an id in brackets.
    """
    text = "\n" + text  # so that every line has one before it
    openings = _openings(text, format)
    first = list(islice(openings, 2))
    if whole and _is_whole(text, first):
        mention = _MENTION.search(text)
        # What `instructions` writes names ids, but shows no source.
        if mention and not text.endswith(EXAMPLE_FOLLOWS, 0, mention.start()):
            yield _read_whole(text, mention)
        return
    for opening, end in _ended(chain(first, openings)):
        if opening.id is None:
            continue
        if opening.close:
            yield _read_block(opening.id, text[opening.end : opening.close[0]])
        else:
            content = text[opening.end : end]
            # Between two sources stands an empty line; its end is before the second.
            content = content.removesuffix("\n") if end else content
            yield read_source(opening.id, _behind_line_end(content), "document")


def _openings(text: str, format: CitationFormat) -> Iterator[_Opening]:
    is_id = guard_for(format).is_id
    closed = 0
    for opening in merge(_blocks(text, is_id), _lines(text, format, is_id), key=attrgetter("start")):
        if opening.start >= closed:
            yield opening
            # An id may hold anything, also what looks like another opening.
            closed = opening.close[1] if opening.close else opening.end


def _ended(openings: Iterable[_Opening]) -> Iterator[tuple[_Opening, int | None]]:
    """Give each with the start of the one after it; None for the last."""
    before: _Opening | None = None
    for opening in openings:
        if before:
            yield before, opening.start
        before = opening
    if before:
        yield before, None


def _lines(text: str, format: CitationFormat, is_id: _IsId) -> Iterator[_Opening]:
    first, any_id = True, False
    for line in _LINE.finditer(text):
        bracketed = line["marker"] is None
        id = line["id"] if bracketed else _marked(line["marker"], format)
        general = is_id(line["id"]) if bracketed else id is None
        if first:
            # Such headings are usual in some languages: not each is an id, unless the text begins with one.
            any_id = general and not text[: line.start()].strip()
        first = False
        if not bracketed or (general and (any_id or is_result_id(line["id"]))):
            yield _Opening(line.start(), line.end(), id, bracketed)


def _marked(line: str, format: CitationFormat) -> str | None:
    """Give the id in the first marker after ``Citation Marker:``."""
    if format.start in line:
        for event in parse(line.lstrip()[:_MARKER_LINE], format=format, complete=True):
            if isinstance(event, Citation):
                id = event.references[0].source_id
                return id if guard_for(format).is_id(id) else None
    return None


def _blocks(text: str, is_id: _IsId) -> Iterator[_Opening]:
    opened: _Opening | None = None
    end = 0
    while tag := _TAG.search(text, end):
        start = tag.start() - (text[tag.start() - 1] == "\n")
        own = _OWN_TAG.match(text, tag.start())
        if own and is_id(own["id"]):
            end = own.end()
            opened = _Opening(start, end, own["id"])
        elif rest := _TAG_END.match(text, tag.end()):
            end = rest.end()
            if not tag["close"]:
                # One that was open is not a tag: what a source says holds no tag of a block.
                opened = _Opening(start, end, _id_in(rest[0], is_id))
            elif opened:
                yield opened._replace(close=(tag.start(), end))
                opened = None
        else:
            end = tag.end()


def _id_in(attributes: str, is_id: _IsId) -> str | None:
    if found := _TAG_ID.search(attributes):
        id = found[1] or found[2] or found[3] or ""
        return id if is_id(id) else None
    return None


def _read_block(id: str, content: str) -> Source:
    return read_source(id, _behind_line_end(content).removesuffix("\n"), "block")


def _behind_line_end(content: str) -> str:
    return content[2:] if content.startswith("\r\n") else content.removeprefix("\n")


def _is_whole(text: str, openings: Sequence[_Opening]) -> bool:
    """Say whether nothing opens a source, or just one id in a line that is not the first.

    Args:
        text: with a newline before it.
        openings: the first two, if there are as many.
    """
    if not openings:
        return True
    only = openings[0]
    return len(openings) == 1 and only.bracketed and text[: only.start].strip() != ""


def _read_whole(text: str, mention: re.Match[str]) -> Source:
    """Read a message that is one source, of which its id is no part."""
    before, behind = text[1 : mention.start()], text[mention.end() :]
    if not before.strip():
        content = _behind_line_end(behind.lstrip(" \t"))
    elif before.endswith("\n"):
        content = before + _behind_line_end(behind)
    else:
        content = before + behind
    return read_source(mention[1], content, "document")
