"""Where in a Markdown text a citation stands: in code, in emphasis, on a fence, alone in its line.

The text is what the reader sees, without markers, since one that is left in changes the blocks: after a closing fence
it opens it again. Inside a line a marker that was cut out may have changed what is left, too: see `_places`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt

from streamcite.markdown.leaves import Leaf, Leaves, block_reader

from .inline import UNMARKED, read_html, read_inline

if TYPE_CHECKING:
    from markdown_it.utils import EnvType  # not in all versions

_WORD = re.compile(r"\w")
# A line without words: blanks, marks of Markdown, punctuation of any script.
_NO_WORDS = re.compile(
    r"[\s!-/:-@\[-`{-~\u00a1\u00a7\u00ab\u00ad\u00b6\u00b7\u00bb\u00bf\u061c\u200b-\u205e\u2060-\u2069\u3000-\u3003"
    r"\u3008-\u301f\u3030\ufeff\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]*"
)
# Marks that have letters: of a footnote, a task that is done, a paragraph in HTML, a blank.
_MARKS = re.compile(
    r"\[\^[^\[\]\s]+\]:|(?<!\S)\[[xX]\](?!\S)|(?<![`\\])(?:</?(?:p|br|div|li)(?:\s[^<>]*)?/?>|&nbsp;)", re.IGNORECASE
)
# What a reader does not see of HTML.
_UNSEEN = re.compile(r"<!--.*?(?:-->|\Z)|<[A-Za-z/!?][^<>]*>?", re.DOTALL)
# What stands beside a marker that may make a difference; and one mark on either side of it.
_BESIDE = re.compile("[*_`~]")
_BETWEEN = re.compile(r"([*_`~])\1")
_SIGN = "\N{DAGGER}"


@dataclass(frozen=True, slots=True)
class Place:
    """Say what a point in the text is within."""

    in_code: bool = False
    in_emphasis: bool = False
    on_fence_line: bool = False


_PLAIN = Place()


class Structure:
    """Read a text as Markdown, and say where points in it stand. Linear in the text.

    Args:
        text: the clean text.
        points: the offsets where markers were: only what these need is read.

    Attributes:
        places: what each point is within.
        several: whether it has several paragraphs.
        last_word: the offset of the last letter or digit in any block but code; -1 if there is none.
    """

    def __init__(self, text: str, points: Iterable[int]) -> None:
        env: EnvType = {}
        self.places: dict[int, Place] = dict.fromkeys(points, _PLAIN)
        # A line more, so that an empty last line is part of what is still open there.
        self._leaves = Leaves(f"{text}\n", self.places, _reader(), env)
        paragraphs, last = 0, None
        for leaf in self._leaves.all:
            if leaf.kind not in ("code", "fence") and _WORD.search(_shown(leaf)):
                last = leaf
                paragraphs += leaf.is_paragraph
        self.several: bool = paragraphs > 1
        self.last_word: int = -1 if last is None else self._last_word(text, last)
        self._find(env)

    def line(self, point: int) -> int:
        """Give the number of the line that a point stands in, from 0."""
        return self._leaves.line(point)

    def is_alone(self, line: int) -> bool:
        """Say whether a line is without words, so that what was cut out of it stood alone; not in code and tables."""
        leaves = self._leaves.on(line)
        if leaves and leaves[0].kind not in ("text", "heading", "html"):
            return False
        written = self._leaves.lines[line]
        rest = _MARKS.sub("", written)
        if leaves and leaves[0].kind == "html" and rest == written:
            return False
        return bool(_NO_WORDS.fullmatch(rest)) or (not leaves and line in self._leaves.items)

    def _find(self, env: EnvType) -> None:
        """Find the places of all points."""
        offsets: dict[Leaf, dict[int, int]] = {}  # by point
        for point in self.places:
            leaf, offset = self._leaves.find(point)
            if leaf is None:
                continue
            if leaf.kind in ("code", "fence"):
                self.places[point] = Place(in_code=offset >= 0, on_fence_line=offset < 0)
            else:
                offsets.setdefault(leaf, {})[point] = offset
        for leaf, found in offsets.items():
            if leaf.kind == "html":
                marked = read_html("\n".join(self._leaves.lines[leaf.begin : leaf.end]))
                self.places |= {
                    point: Place(offset in marked.code, offset in marked.emphasis) for point, offset in found.items()
                }
            else:
                self.places |= _places(leaf.token.content, found, env)

    def _last_word(self, text: str, leaf: Leaf) -> int:
        begin, point = self._leaves.starts[leaf.begin], self._leaves.starts[leaf.end] - 1
        if leaf.kind == "html":
            text = text[:begin] + _UNSEEN.sub(lambda tag: " " * len(tag[0]), text[begin:point])
            point = len(text) - 1
        while point > begin and not _WORD.match(text, point):  # in HTML, marks of a quote may close a tag
            point -= 1
        return point


def _shown(leaf: Leaf) -> str:
    return _UNSEEN.sub("", leaf.token.content) if leaf.kind == "html" else leaf.token.content


@cache
def _reader() -> MarkdownIt:
    return block_reader()


def _places(content: str, points: Mapping[int, int], env: EnvType) -> dict[int, Place]:
    """Give what the points in a content are within: for the reader, or as the model wrote it.

    Beside a mark of emphasis or code the two differ. ``**Bold @**`` and ``**@**``, with a marker for the @, are no
    emphasis any more when it is cut out; ``**Bold@**Text`` is none before. Where it stands between two such marks, they
    are one for the reader, which says nothing of the marker. A sign of punctuation does for it: a letter or a symbol
    would be part of a word.
    """
    cut = read_inline(content, env)
    if cut is UNMARKED:
        return {}
    offsets = sorted(set(points.values()))
    signed = cut
    if any(_BESIDE.search(content, max(offset - 1, 0), offset + 1) for offset in offsets):
        pieces = [content[begin:end] for begin, end in pairwise([0, *offsets, len(content)])]
        signed = read_inline(_SIGN.join(pieces), env)
    places = {}
    for number, offset in enumerate(offsets):
        apart = not _BETWEEN.match(content, max(offset - 1, 0))
        sign = offset + number
        places[offset] = Place(
            (signed is not cut and signed.code.hold(sign)) or (apart and offset in cut.code),
            (signed is not cut and signed.emphasis.hold(sign)) or (apart and offset in cut.emphasis),
        )
    return {point: places[offset] for point, offset in points.items()}
