"""The Markdown of the open piece of an answer: what of it is read again, in what context, and the citations in it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .context import Context
from .html import PlacedCitation, render_piece
from .structure import read_blocks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from markdown_it.token import Token
    from markdown_it.utils import EnvType  # not in all versions


_CITATION = 20  # code points


class OpenSource:
    """Keep Markdown that grows, from the last cut on.

    Args:
        env: what is defined before it (link references).
        citations: those that stand in it already, by their offsets.

    Attributes:
        parts: it, in parts; `text` joins them.
        length: its length, in code points.
        citations: those in it, where they stand there.
        context: what is read before it.
        cut_length: the length of what was cut off, in code points.
    """

    def __init__(self, env: EnvType, citations: Sequence[PlacedCitation]) -> None:
        self.env: EnvType = env
        self.parts: list[str] = []
        self.length: int = 0
        self.citations: list[PlacedCitation] = list(citations)
        self.context: Context = Context()
        self.cut_length: int = 0
        self._earlier: list[str] = []
        self._earlier_citations: list[PlacedCitation] = []  # where they stand in the piece

    @property
    def text(self) -> str:
        """Give it whole."""
        if len(self.parts) != 1:
            self.parts = ["".join(self.parts)]
        return self.parts[0]

    @property
    def read_length(self) -> int:
        """Give the length of what is read with it, in code points, of which a citation costs as much as some."""
        return len(self.context.source) + self.length + _CITATION * len(self.citations)

    def append(self, text: str) -> None:
        """Take more of it."""
        self.parts.append(text)
        self.length += len(text)

    def update(self, news: Mapping[int, PlacedCitation]) -> None:
        """Take what became known of citations, by `PlacedCitation.index`."""
        for citations in (self.citations, self._earlier_citations):
            citations[:] = [
                replace(news[placed.index], offset=placed.offset) if placed.index in news else placed
                for placed in citations
            ]

    def cut(self, at: int, context: Context, citations: int) -> None:
        """Cut off its beginning, in which there are that many citations."""
        text, own = self.text, self.citations
        self._earlier.append(text[:at])
        self._earlier_citations += [
            replace(placed, offset=placed.offset + self.cut_length) for placed in own[:citations]
        ]
        self.citations = [replace(placed, offset=placed.offset - at) for placed in own[citations:]]
        self.parts, self.length, self.context = [text[at:]], self.length - at, context
        self.cut_length += at

    def join(self) -> str:
        """Undo all cuts; return what was cut off."""
        earlier = "".join(self._earlier)
        own = [replace(placed, offset=placed.offset + len(earlier)) for placed in self.citations]
        self.citations = [*self._earlier_citations, *own]
        self.parts, self.length, self.context = [earlier, *self.parts], len(earlier) + self.length, Context()
        self.cut_length, self._earlier, self._earlier_citations = 0, [], []
        return earlier

    def tokens(self, text: str) -> Sequence[Token]:
        """Read the blocks of a text in its context."""
        return read_blocks(self.context.source + text, self._env_for(text))

    def render(self, text: str, citations: Sequence[PlacedCitation], *, is_last: bool = False) -> str:
        """Give a text in its context as HTML.

        Args:
            text: it, or what is seen of it.
            citations: those in it.
            is_last: whether what it defines holds after it.
        """
        before = len(self.context.source)
        placed = [replace(each, offset=each.offset + before) for each in citations]
        env = self.env if is_last else self._env_for(text)
        return self.context.behind(render_piece(self.context.source + text, placed, env))

    def _env_for(self, text: str) -> EnvType:
        """Give what is defined; a copy, if the text may define more, which is not certain yet."""
        if "]:" not in text:
            return self.env
        return {"references": dict(self.env.get("references", {}))}
