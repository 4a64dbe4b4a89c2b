"""The command ``render``: an answer with its citations, as text, Markdown, HTML or in a terminal."""

from __future__ import annotations

import io
import select
import time

import click

from streamcite import CitationFormat, CitationParser, Resolver
from streamcite.render.markdown import MarkdownRenderer
from streamcite.render.plain import PlainRenderer
from streamcite.render.stage import Renderer

from . import texts
from .formats import format_option
from .input import Utf8, open_input
from .output import Output
from .sources import answer_argument, complete_option, read_sources_beside, sources_option
from .view import Plain, View, best_view


@click.command(help=texts.RENDER)
@answer_argument
@sources_option
@click.option(
    "--to",
    "form",
    type=click.Choice(["plain", "markdown", "footnotes", "html", "terminal"]),
    default="terminal",
    show_default=True,
    help="What comes out.",
)
@complete_option
@format_option()
def render(*, file: str, given: str, form: str, complete: bool, format: CitationFormat) -> None:
    """Print an answer, each piece as soon as it is certain."""
    sources = read_sources_beside(file, given, format)
    parser, resolver = CitationParser(format), Resolver(sources, format=format)
    with open_input(file) as opened:
        output = Output()
        view = best_view() if form == "terminal" else Plain(_renderer(form), output)
        text = Utf8(_Drawing(opened, view))
        with view:
            for delta in text:
                view.feed(resolver.feed(parser.feed(delta)))
            view.feed([*resolver.feed(parser.close(complete=complete)), *resolver.close()])
    text.report()


def _renderer(form: str) -> Renderer:
    if form == "html":
        from streamcite.render.html import HtmlRenderer  # what it takes is loaded where it is used

        return HtmlRenderer()
    if form == "plain":
        return PlainRenderer()
    return MarkdownRenderer("footnotes" if form == "footnotes" else "links")


class _Drawing(io.RawIOBase):
    """Read a file, and draw what was read while nothing comes, and now and then while much does."""

    def __init__(self, file: io.FileIO, view: View) -> None:
        self._file = file
        self._view = view
        self._due = 0.0  # when to draw

    def read(self, size: int = -1, /) -> bytes | None:
        """Read what is there; wait if nothing is."""
        left = self._due - time.monotonic()
        if left <= 0 or not select.select([self._file], [], [], left)[0]:
            self._view.draw()
            self._due = time.monotonic() + self._view.pause
        return self._file.read(size)
