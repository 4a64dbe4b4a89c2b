"""An answer as Markdown: its own, with citations as links, footnotes, or numbers of a list of sources."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

from streamcite.checks import check_choice
from streamcite.links import Cited, Link, Resolved, ResolvedEvent
from streamcite.urls import is_safe_url

from .cited import CitedSource
from .flow import Flow
from .hyperlinks import markdown_link, markdown_text
from .stage import Renderer, RendererClosed, Waiting

__all__ = ["MarkdownRenderer", "MarkdownStyle", "RendererClosed", "render_markdown"]

MarkdownStyle: TypeAlias = Literal["links", "footnotes", "sources"]


class MarkdownRenderer(Renderer):
    """Write an answer as Markdown that every reader of CommonMark reads, with its citations in one of three styles.

    ``links``: ``[1](<https://a.example/>)``, and at the end a list of the sources that there is no link to.
    ``footnotes``: ``[^1]``, and a definition of each at the end; it takes a reader that knows footnotes. What would be
    a footnote of the answer's own is made text.
    ``sources``: ``[1]`` as text, and a list of all sources at the end.

    The text stays as the model wrote it, its tables and lists too. A citation is given out with the character after
    it. Where no link can stand, as in code or in another link, it comes after that; in a block of code, in a paragraph
    after the block. It may get a blank beside it where it would be read as something else. What has no source is left
    out. Links are to http, https and mailto only; what else a source has for a URL is not a link.

    Args:
        style: which.

    Raises:
        ValueError: ``style`` is not one of the three.
    """

    def __init__(self, style: MarkdownStyle = "links") -> None:
        check_choice("style", style, MarkdownStyle)
        super().__init__()
        self._style = style
        self._waiting = Waiting()
        # A bare number would be read as a part of the word or number beside it.
        minds = _is_of_word if style == "links" else lambda _: False
        self._flow = Flow(self._draw, minds=minds, notes=style == "footnotes")

    def _write(self, text: str) -> None:
        self._out.append(self._flow.feed(text))

    def _cite(self, cited: Cited) -> None:
        self._waiting.add(cited)
        self._flow.wait()

    def _resolve(self, resolved: Resolved) -> None:
        self._waiting.update(resolved)

    def _draw(self, count: int) -> str:
        return (" " if self._style == "links" else "").join(map(self._mark, self._waiting.take(count)))

    def _mark(self, link: Link) -> str:
        if self._style == "footnotes":
            return f"[^{link.number}]"
        if self._style == "links" and link.source is not None and is_safe_url(link.source.url or ""):
            return markdown_link(str(link.number), link.source.url or "")
        return f"\\[{link.number}\\]"

    def _end(self) -> None:
        if self._style == "footnotes":
            listed = "".join(f"[^{cited.number}]: {_entry(cited)}\n" for cited in self._cited)
        else:
            sources = [cited for cited in self._cited if self._style == "sources" or not cited.url]
            entries = "".join(f"- \\[{cited.number}\\] {_entry(cited)}\n" for cited in sources)
            listed = f"**Sources**\n\n{entries}" if entries else ""
        self._out.append(self._flow.close(listed))


def render_markdown(events: Iterable[ResolvedEvent], style: MarkdownStyle = "links") -> str:
    """Give a whole answer as Markdown: a `MarkdownRenderer` fed once and closed."""
    renderer = MarkdownRenderer(style)
    return renderer.feed(events) + renderer.close()


def _is_of_word(character: str) -> bool:
    return character.isascii() and character.isalnum()


def _entry(cited: CitedSource) -> str:
    # In italics no title is a block, nor what a reader without footnotes would take for an address.
    title = markdown_link(cited.title, cited.url) if cited.url else f"*{markdown_text(cited.title)}*"
    return ", ".join(filter(None, [title, markdown_text(cited.where())]))
