"""An answer as HTML that is safe to show: its Markdown, with citations as links. It needs the extra ``markdown``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

from markdown_it import MarkdownIt
from markdown_it.common.normalize_url import normalizeLink
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from streamcite.links import Cited, Link, Resolved, ResolvedEvent
from streamcite.surrogates import replace_surrogates
from streamcite.units import line_range

from .cited import CitedSource, known_locator
from .normal import Normal
from .pieces import Pieces
from .stage import Renderer, RendererClosed
from .structure import Sign, read, read_inline

if TYPE_CHECKING:
    from markdown_it.utils import EnvType  # not in all versions

__all__ = [
    "HtmlRenderer",
    "PlacedCitation",
    "RendererClosed",
    "redraw_citations",
    "render_citation",
    "render_html",
    "render_inline",
    "render_piece",
    "render_sources",
]

# What stands round the number of a citation, in the text that markdown-it-py reads.
_MARK = "\N{ASTERISM}"
_CHIP = re.compile(r'<(a|span) class="cite"[^<>]* data-citation="([0-9]+)"[^<>]*>[^<>]*</\1>')
_DIGITS = re.compile(f"{_MARK}([0-9]+)")
# The text says itself in which direction it runs.
_DIRECTED = {"paragraph_open", "heading_open", "list_item_open", "th_open", "td_open"}


@dataclass(frozen=True, slots=True)
class PlacedCitation:
    """A citation in a piece of an answer.

    Attributes:
        offset: where it stands in the piece, in code points.
        index: which citation of the answer it is, from 0 (`Cited.index`).
        links: what it points to, as far as that is known.
        pending: whether more may become known; it is drawn with ``data-pending`` then.
    """

    offset: int
    index: int
    links: tuple[Link, ...]
    pending: bool = False


class HtmlRenderer(Renderer):
    """Write an answer as HTML, a piece as soon as it has ended: a paragraph or more.

    The Markdown is read by markdown-it-py: CommonMark, with tables and strikethrough, and without HTML, which is text.
    Links go to http, https and mailto only, what else looks like a link is text; an image is a link to it. The
    definition of a link reference holds after it.

    A citation is a link for each of its sources, ``<a class="cite" href="…" title="…">[1]</a>``, with ``data-citation``
    (`Cited.index`), ``data-number``, ``data-id`` and, where it names lines, ``data-lines``, except for lines that its
    source does not have. Where the source has no URL to go to, or is not known, it is a ``span``; where a reader should
    not rely on it, it has ``data-problem`` (`Link.problem`). It stands after a link or span of code that it was within.
    What becomes known after its piece has ended is not in its link, but in the list of sources at the end.

    Raises:
        ModuleNotFoundError: from the import of this module: markdown-it-py is missing.
    """

    def __init__(self) -> None:
        super().__init__()
        self._pieces = Pieces()
        self._normal = Normal()
        self._citations: dict[int, PlacedCitation] = {}  # of the open piece, by index
        self._env: EnvType = {}

    def _write(self, text: str) -> None:
        self._feed(self._normal.read(text))

    def _cite(self, cited: Cited) -> None:
        placed = PlacedCitation(self._pieces.length, cited.index, cited.links)
        self._citations[cited.index] = placed

    def _resolve(self, resolved: Resolved) -> None:
        if placed := self._citations.get(resolved.index):
            self._citations[resolved.index] = replace(placed, links=resolved.links)

    def _end(self) -> None:
        self._feed(self._normal.end())
        self._out += [self._rendered(self._pieces.open), render_sources(self._cited)]

    def _feed(self, text: str) -> None:
        for piece in self._pieces.feed(text):
            self._out.append(self._rendered(piece))

    def _rendered(self, piece: str) -> str:
        ended, rest = [], {}
        for index, placed in self._citations.items():
            if placed.offset < len(piece) or self._closed:
                ended.append(placed)
            else:
                rest[index] = replace(placed, offset=placed.offset - len(piece))
        self._citations = rest
        return render_piece(piece, ended, self._env)


def render_html(events: Iterable[ResolvedEvent]) -> str:
    """Give a whole answer as HTML: an `HtmlRenderer` fed once and closed."""
    renderer = HtmlRenderer()
    return renderer.feed(events) + renderer.close()


def render_piece(text: str, citations: Sequence[PlacedCitation] = (), env: EnvType | None = None) -> str:
    """Give one piece of an answer as HTML.

    Args:
        text: Markdown: whole blocks, or the beginning of them. Its lines end with a line feed.
        citations: those in it, by their offsets, in order.
        env: what the pieces before it defined (link references); what this one defines is added.
    """
    # The text has no sign with so many digits.
    zeros = "0" * max((len(digits) for digits in _DIGITS.findall(text)), default=0)
    signs = [Sign(placed.offset, f"{_MARK}{zeros}{number}{_MARK}") for number, placed in enumerate(citations)]
    pattern = re.compile(f"{_MARK}{zeros}([0-9]+){_MARK}")
    tokens = read(text, signs, pattern, {} if env is None else env)

    html = str(_reader().renderer.render(tokens, _reader().options, {}))
    return pattern.sub(lambda found: render_citation(citations[int(found[1])]), html) if citations else html


def render_inline(content: str, env: EnvType) -> str:
    """Give inline content without citations as HTML.

    Args:
        content: that of a block, or part of it.
        env: what is known of link references.
    """
    reader: RendererHTML = _reader().renderer  # type: ignore[assignment]  # its protocol has no inline content
    return reader.renderInline(read_inline(content, env), _reader().options, {})


def render_sources(sources: Iterable[CitedSource]) -> str:
    """Give the list of sources as HTML; nothing if there are none."""
    entries = "".join(map(_entry, sources))
    return f'<section class="sources">\n<h2>Sources</h2>\n<ol>\n{entries}</ol>\n</section>\n' if entries else ""


@cache
def _reader() -> MarkdownIt:
    return MarkdownIt("commonmark", renderer_cls=_Html)


class _Html(RendererHTML):
    def renderToken(self, tokens: Sequence[Token], idx: int, options: Any, env: EnvType) -> str:  # noqa: N802
        if tokens[idx].type in _DIRECTED:
            tokens[idx].attrSet("dir", "auto")
        return super().renderToken(tokens, idx, options, env)


def render_citation(placed: PlacedCitation) -> str:
    """Give a citation as HTML, which stands nowhere else in that of the answer."""
    links = {(link.number, link.reference): link for link in placed.links}
    return "".join(_chip(placed, link) for link in links.values())


def redraw_citations(html: str, citations: Mapping[int, PlacedCitation]) -> str:
    """Draw citations as they are now, in HTML that they are in, by `PlacedCitation.index`."""
    left = dict(citations)

    def redrawn(found: re.Match[str]) -> str:
        index = int(found[2])
        if index not in citations:
            return found[0]
        return render_citation(left.pop(index)) if index in left else ""  # one may have several links

    return _CHIP.sub(redrawn, html)


def _chip(placed: PlacedCitation, link: Link) -> str:
    lines = line_range(known_locator(link) or "")
    attributes = {"class": "cite"}
    if link.source is not None:
        named = CitedSource(0)
        named.add(link.source, link)
        if named.url:
            attributes |= {"href": normalizeLink(named.url), "rel": "nofollow noopener"}
        attributes["title"] = ", ".join(filter(None, [named.title, named.where()]))
    attributes["data-citation"] = str(placed.index)
    if link.number is not None:
        attributes["data-number"] = str(link.number)
    attributes["data-id"] = replace_surrogates(link.reference.source_id)[0]
    if lines:
        attributes["data-lines"] = f"{lines[0]}-{lines[1]}"
    if link.source is None and placed.pending:
        attributes["data-pending"] = ""
    elif link.problem:
        attributes["data-problem"] = link.problem
    return _element("a" if "href" in attributes else "span", attributes, f"[{link.number or '?'}]")


def _entry(cited: CitedSource) -> str:
    title = escape(cited.title)
    if cited.url:
        title = _element("a", {"href": normalizeLink(cited.url), "rel": "nofollow noopener"}, title)
    where = escape(cited.where())
    return f'<li value="{cited.number}"><bdi>{title}</bdi>{where and f", {where}"}</li>\n'


def _element(name: str, attributes: dict[str, str], content: str) -> str:
    written = "".join(f' {key}="{escape(value)}"' for key, value in attributes.items())
    return f"<{name}{written}>{content}</{name}>"
