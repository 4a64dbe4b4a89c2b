"""What can be cited of a document: the whole of it, its blocks, its numbered lines. Pure; offsets are in code points.

Source: the guide, element 1 (citable units).
"""

from __future__ import annotations

import re
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

from .checks import missing

if TYPE_CHECKING:
    from markdown_it.tree import SyntaxTreeNode

DEFAULT_SIZE = 2000
# Lines are counted in pieces of this many code points, so that no list of all lines is ever in memory.
_PIECE = 2**20
_LOCATOR = re.compile(r"L([0-9]+)(?:[-‐-―]L?([0-9]+))?")

# A paragraph ends at blank lines, and at a line that is a heading.
_BREAK = re.compile(r"\n(?:\s*\n|(?= {0,3}#{1,6}[ \t]))")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t][^\n]*(?:\n(?:\s*\n)?)?")
# Where a line that is too large is cut: after the last sentence, else the last word that fits.
_PLACES = tuple(map(re.compile, (r"[.!?…][\"'”\u2019»)\]]*\s+|[。\uff01\uff1f]", r"\s+")))


@dataclass(frozen=True, slots=True)
class Passage:
    """Part of a text, and where in it: ``whole[passage.start : passage.end] == passage.text``.

    Attributes:
        text: the part, exactly.
        start: its offset, in code points; ``end`` is the offset after it.
        first_line, last_line: its lines, counted from 1, where it was asked for by lines; else None.
    """

    text: str
    start: int
    first_line: int | None = None
    last_line: int | None = None

    @property
    def end(self) -> int:
        """Give the offset just after the text, in code points."""
        return self.start + len(self.text)


class Lines:
    r"""Number the lines of a text, from 1; iterate over them, each without its end.

    Only ``\n`` and ``\r\n`` end a line, since line numbers are a contract between who shows a text and who reads a
    locator: a lone ``\r``, a form feed or U+2028 is part of its line. After the last end there is a line only if
    there is text, so that ``""`` has no line, ``"a"`` and ``"a\n"`` have one, ``"a\n\n"`` has two.

    Takes 4 bytes a line beside the text.

    Args:
        text: any text.
    """

    __slots__ = ("_bounds", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        # Where each line begins, and the end of the text.
        self._bounds = bounds = array("I" if len(text) < 2**32 else "Q", [0])
        for offset in range(0, len(text), _PIECE):
            *ended, _ = text[offset : offset + _PIECE].split("\n")
            behind = accumulate((len(line) + 1 for line in ended), initial=offset)
            next(behind)
            bounds.extend(behind)
        if bounds[-1] < len(text):
            bounds.append(len(text))

    def __len__(self) -> int:
        return len(self._bounds) - 1

    def __iter__(self) -> Iterator[str]:
        return (self._text[begin : self._end(begin, end)] for begin, end in pairwise(self._bounds))

    def has(self, first: int, last: int) -> bool:
        """Say whether all of these lines are there: not for line 0, one beyond the last, or ``first`` after ``last``.

        Args:
            first: the number of the first line, counted from 1.
            last: the number of the last line.
        """
        return 1 <= first <= last <= len(self)

    def passage(self, first: int, last: int) -> Passage | None:
        """Give lines, in the time that copying them takes.

        Args:
            first: the number of the first line, counted from 1.
            last: the number of the last line.

        Returns:
            The lines as they stand in the text, except for the end of the last one; None unless all of them are there,
            as `has` says.
        """
        if (span := self.span(first, last)) is None:
            return None
        start, end = span
        return Passage(self._text[start:end], start, first, last)

    def span(self, first: int, last: int) -> tuple[int, int] | None:
        """Give where lines stand that `passage` gives: their start and end, in code points, without copying them.

        Args:
            first: as for `passage`.
            last: as for `passage`.
        """
        if not self.has(first, last):
            return None
        return self._bounds[first - 1], self._end(self._bounds[last - 1], self._bounds[last])

    def start(self, number: int) -> int:
        """Give the offset at which a line begins, in code points.

        Args:
            number: the line's number, counted from 1.

        Raises:
            IndexError: there is no such line.
        """
        if not 1 <= number <= len(self):
            raise IndexError(f"number: there are lines 1 to {len(self)}, not {number}")
        return self._bounds[number - 1]

    def _end(self, begin: int, end: int) -> int:
        """Give where the text of the line ends that, with its end, stands at ``begin`` to ``end``."""
        for ending in ("\r\n", "\n"):
            if self._text.endswith(ending, begin, end):
                return end - len(ending)
        return end


def line_range(locator: str) -> tuple[int, int] | None:
    """Read a locator of lines: ``L8`` or ``L8-L13``, with any dash U+2010 to U+2015, the second L optional.

    Args:
        locator: any string, as a model wrote it.

    Returns:
        The first and the last line, as written: neither need be there, and they may be reversed. None for a locator of
        another form. A number of more than 18 digits, which no text has lines for, is given as `sys.maxsize`.

    Source: semantics, section 1 (``locator``).
    """
    if (found := _LOCATOR.fullmatch(locator)) is None:
        return None
    first = _number(found[1])
    return first, first if found[2] is None else _number(found[2])


def _number(digits: str) -> int:
    # Python refuses to read an integer of thousands of digits, in time that grows with their square.
    digits = digits.lstrip("0")
    return int(digits or "0") if len(digits) <= 18 else sys.maxsize


def split_blocks(text: str, *, size: int = DEFAULT_SIZE, markdown: bool = False) -> Iterator[Passage]:
    r"""Split a document into blocks that can be cited, in order: as few as fit, cut between paragraphs.

    A paragraph is cut only if it is larger than a block, counted with the headings before it and the blank lines
    round it: then after a line, else a sentence, else a word, if one ends in the second half of what fits; else
    anywhere but inside ``\r\n``. No block ends with a heading (a line that begins with one to six ``#``), unless
    nothing follows it, or the headings alone fill a block. Linear in the text.

    Args:
        text: any text.
        size: the most code points of a block; at least 2.
        markdown: read the structure of a CommonMark document with tables, by markdown-it-py. Underlined headings are
            headings then, and code blocks, tables, lists and quotes are paragraphs: they are cut only if they are
            larger than a block, a list between its items, a table between its rows.

    Returns:
        An iterator over the blocks, none empty. Joined they are the document exactly: blank lines belong to the block
        before them.

    Raises:
        ValueError: ``size`` is less than 2.
        TypeError: ``text`` is not a ``str``, or ``size`` is not an ``int``.
        ModuleNotFoundError: ``markdown`` is asked for and markdown-it-py is missing; it comes with the extra
            ``markdown``.

    Source: the guide, element 1 (blocks are the recommended default).
    """
    if not isinstance(text, str):
        raise TypeError(f"text: must be a str, not {type(text).__name__}")
    if not isinstance(size, int):
        raise TypeError(f"size: must be an int, not {size!r}")
    if size < 2:
        raise ValueError(f"size: must be at least 2, not {size}")
    parts = _markdown(text) if markdown else _paragraphs(text)
    return (Passage(text[begin:end], begin) for begin, end in pairwise(_cuts(text, _units(parts, size), size)))


class _Part(NamedTuple):
    """A part of a document that begins a line and is kept whole where it can be.

    Attributes:
        start, end: its offsets.
        heading: whether it belongs to what follows it.
        parts: gives what it is made of, without a gap; nothing if it is text.
    """

    start: int
    end: int
    heading: bool = False
    parts: Callable[[], Sequence[_Part]] = tuple


def _paragraphs(text: str) -> Iterator[_Part]:
    start = 0
    while start < len(text):
        if found := _HEADING.match(text, start):
            yield _Part(start, found.end(), heading=True)
        else:
            found = _BREAK.search(text, start)
            yield _Part(start, found.end() if found else len(text))
        start = found.end() if found else len(text)


def _markdown(text: str) -> Sequence[_Part]:
    try:
        from markdown_it import MarkdownIt
        from markdown_it.tree import SyntaxTreeNode
    except ModuleNotFoundError as error:
        raise missing(error, "markdown=True", "markdown") from None
    reader = MarkdownIt("commonmark").enable("table")
    reader.core.ruler.enableOnly(["normalize", "block"])  # what stands inside a paragraph does not matter
    # A lone \r ends a line of Markdown, but none of ours: a space in its place keeps the lines the same.
    tokens = reader.parse(re.sub(r"\r(?!\n)", " ", text))
    nodes = SyntaxTreeNode(tokens).children
    return _parts_of(nodes, Lines(text), 0, len(text)) or [_Part(0, len(text))]


def _parts_of(nodes: Sequence[SyntaxTreeNode], lines: Lines, start: int, end: int) -> Sequence[_Part]:
    """Give a part for each node, up to where the next one begins, so that they leave no gap from start to end."""
    placed = [(node, node.map[0] + 1) for node in nodes if node.map and node.type != "inline"]
    bounds = pairwise([start, *(lines.start(line) for _, line in placed[1:]), end])
    return [
        _Part(begin, stop, node.type == "heading", partial(_parts_of, node.children, lines, begin, stop))
        for (node, _), (begin, stop) in zip(placed, bounds, strict=False)
    ]


class _Unit(NamedTuple):
    """Headings and the part after them.

    Attributes:
        start, end: their offsets.
        body: where the headings end.
    """

    start: int
    body: int
    end: int


def _units(parts: Iterable[_Part], size: int) -> Iterator[_Unit]:
    """Join headings to what follows them, and take apart what is too large and has parts."""
    open_parts = [iter(parts)]
    headings: _Unit | None = None
    while open_parts:
        part = next(open_parts[-1], None)
        if part is None:
            open_parts.pop()
            continue
        start = headings.start if headings else part.start
        if part.heading:
            headings = _Unit(start, part.end, part.end)
        elif part.end - start > size and (inner := part.parts()):
            open_parts.append(iter(inner))
        else:
            yield _Unit(start, part.start, part.end)
            headings = None
    if headings:
        yield headings


def _cuts(text: str, units: Iterable[_Unit], size: int) -> Iterator[int]:
    """Give where the blocks begin, and the end of the last one; nothing but 0 for an empty text."""
    begin = 0
    yield begin
    for unit in units:
        if unit.end - begin > size and unit.start > begin:
            yield (begin := unit.start)
        while unit.end - begin > size:
            yield (begin := _cut(text, begin, begin + size, unit.body))
    if begin < len(text):
        yield len(text)


def _cut(text: str, begin: int, end: int, body: int) -> int:
    """Give the best place to cut after ``begin``, at ``end`` at the latest, after ``body`` where that can be."""
    # In the second half, so that looking for a place costs no more than what is put into the block.
    middle = (begin + end + 1) // 2
    middle = body if middle <= body < end else middle
    cut = text.rfind("\n", middle, end) + 1
    for place in _PLACES:
        if not cut:
            cut = max((found.end() for found in place.finditer(text, middle, end)), default=0)
    cut = cut or end
    return cut - 1 if text.startswith("\r\n", cut - 1) else cut
