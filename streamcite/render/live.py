"""An answer as HTML while it streams: patches of its blocks, and only what has changed is written again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from streamcite.links import Cited, Resolved, ResolvedEvent

from .html import PlacedCitation, redraw_citations, render_sources
from .normal import Normal
from .open_html import difference
from .open_piece import OpenPiece
from .pieces import Pieces
from .stage import Renderer, RendererClosed

if TYPE_CHECKING:
    from markdown_it.utils import EnvType  # not in all versions

__all__ = ["BlockPatch", "LiveHtml", "RendererClosed"]


class BlockPatch(NamedTuple):
    """What changes of the HTML of one block.

    Attributes:
        block: which block, from 0 in the order in which they are seen.
        html: what stands after the part that stays.
        keep: how much of the block's HTML stays, from its start, in UTF-16 code units (as JavaScript counts the length
            of a string).
    """

    block: int
    html: str
    keep: int = 0

    def apply(self, html: str) -> str:
        """Give the HTML of the block, by what it was; of a new block that is empty."""
        return html.encode("utf-16-le")[: self.keep * 2].decode("utf-16-le") + self.html

    def to_dict(self) -> dict[str, Any]:
        """Give the JSON form: ``{"block": …, "html": …}``, and ``keep`` if that is not 0."""
        form: dict[str, Any] = {"block": self.block, "html": self.html}
        return form | {"keep": self.keep} if self.keep else form


class LiveHtml:
    """Make patches of HTML of the events of one answer, as they come: a stage after a `Resolver`. Sans-I/O.

    A block is a paragraph or more, up to where no text that follows changes what it is; then only a citation in it can
    change, of which a source came late. The last block is open: marks that are not closed yet look as if they were, and
    of half a link its text is seen. What is seen depends on nothing but the text so far, however it was cut into
    deltas, and what is seen at the end is what `render_html` gives of the same events, if a source that came late had
    been there at once: the blocks, and as the last one the list of sources.

    The time for a delta is that for what is new, or else for the paragraph, the item of a list, the row of a table or
    the block of code that is open. All that is read is bounded by a multiple of the answer's length, whoever wrote it:
    where an open block has cost too much, what comes is read without what is before it, as inline content, until
    reading all of it is paid for again. Then a mark that was open there is closed, and a line is not an item or row,
    until the block ends. No text waits for that, except for that of definitions of links.

    Raises:
        ModuleNotFoundError: from the import of this module: markdown-it-py is missing.
    """

    def __init__(self) -> None:
        self._stage = _Stage()

    def feed(self, events: Iterable[ResolvedEvent]) -> list[BlockPatch]:
        """Read the next events.

        Args:
            events: what a `Resolver` handed out; may be empty.

        Returns:
            What changes; at most one patch for each block.

        Raises:
            RendererClosed: `close` was called before.
            TypeError: one of them is not an event of a resolver.
        """
        self._stage.read(events)
        return self._stage.patches()

    def close(self) -> list[BlockPatch]:
        """Say that the answer has ended, and give the last patches; from a second call on none."""
        self._stage.close()
        return self._stage.patches()


class _Stage(Renderer):
    def __init__(self) -> None:
        super().__init__()
        self._pieces = Pieces()
        self._normal = Normal()
        self._env: EnvType = {}
        self._number = 0
        self._has_begun = False  # whether anything of this block was seen
        self._open = OpenPiece(self._env)
        self._ended: dict[int, str] = {}  # the HTML of blocks that have ended with pending citations in them
        self._pending: dict[int, tuple[int, PlacedCitation]] = {}  # these, and their blocks, by index
        self._news: dict[int, Resolved] = {}  # what became known of them, and is not drawn yet
        self._waiting: Counter[int] = Counter()  # how many of them are in a block
        self._patches: dict[int, BlockPatch] = {}

    def patches(self) -> list[BlockPatch]:
        """Give what has changed since it was asked for last."""
        if not (self._patches or self._news):  # after most deltas
            piece = self._open
            found = piece.patch() if piece.is_stale else piece.html.patch()
            if found is None:
                return []
            self._has_begun = True
            return [BlockPatch(self._number, found[1], found[0])]
        self._update()
        self._patch_open()
        patches, self._patches = self._patches, {}
        return [patches[number] for number in sorted(patches)]

    def _given_out(self) -> str:
        return ""  # what is given out is patches

    def _write(self, text: str) -> None:
        if self._normal.held or not text.isprintable():
            text = self._normal.read(text)
        if ended := self._pieces.feed(text):
            self._end_pieces(ended)
            text = self._pieces.open
        self._open.write(text)

    def _cite(self, cited: Cited) -> None:
        placed = PlacedCitation(0, cited.index, cited.links, cited.pending)
        self._open.cite(placed)
        if cited.pending:
            self._pending[cited.index] = self._number, placed
            self._waiting[self._number] += 1

    def _resolve(self, resolved: Resolved) -> None:
        if resolved.index in self._pending:
            self._news[resolved.index] = resolved

    def _update(self) -> None:
        """Draw what became known, all of a block together."""
        by_block: dict[int, dict[int, PlacedCitation]] = {}
        for index, resolved in self._news.items():
            number, old = self._pending.pop(index)
            new = replace(old, links=resolved.links, pending=resolved.pending)
            if new.pending:
                self._pending[index] = number, new
            else:
                self._waiting[number] -= 1
            by_block.setdefault(number, {})[index] = new
        self._news.clear()
        for number, citations in by_block.items():
            if number == self._number:
                self._open.update(citations)
                continue
            had, html = self._ended[number], redraw_citations(self._ended[number], citations)
            # What the reader has of a block that has ended by the same events is not known.
            keep, behind = (0, html) if number in self._patches else difference(had, html)
            self._ended[number], self._patches[number] = html, BlockPatch(number, behind, keep)
            if not self._waiting[number]:
                del self._waiting[number], self._ended[number]

    def _end(self) -> None:
        self._write(self._normal.end())
        self._open.end(self._pieces.open, is_last=True)
        self._next()
        if sources := render_sources(self._cited):
            self._patches[self._number] = BlockPatch(self._number, sources)

    def _end_pieces(self, pieces: Sequence[str]) -> None:
        for piece in pieces:
            left = self._open.end(piece)
            self._next(left)
            for placed in left:
                if placed.index in self._pending:
                    number, _ = self._pending[placed.index]
                    self._waiting[number] -= 1
                    self._pending[placed.index] = self._number, placed
                    self._waiting[self._number] += 1

    def _next(self, citations: Sequence[PlacedCitation] = ()) -> None:
        """Begin another block."""
        self._patch_open()
        if self._waiting[self._number]:
            self._ended[self._number] = self._open.html.all
        self._number += self._has_begun  # of blank lines, and of definitions, nothing is seen
        self._has_begun = False
        self._open = OpenPiece(self._env, citations)

    def _patch_open(self) -> None:
        if found := self._open.patch():
            keep, html = found
            self._patches[self._number] = BlockPatch(self._number, html, keep)
            self._has_begun = True
