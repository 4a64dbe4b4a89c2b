"""Markdown in a terminal: drawn by rich, except for what rich draws poorly."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, cast

from markdown_it.token import Token
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.markdown import Heading, Markdown, MarkdownElement, TableDataElement, TableElement
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

# Colours of the terminal itself, which are made to be read on its background.
_CODE_THEME = "ansi_dark"


def markdown(tokens: Sequence[Token]) -> Markdown:
    """Give what draws a text, of which these are the tokens."""
    drawn = _Markdown("", code_theme=_CODE_THEME)
    drawn.parsed = list(tokens)
    return drawn


def columns(*rows: tuple[RenderableType, RenderableType]) -> Table:
    """Set a label beside each text, so that the lines of the text stand below each other."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for row in rows:
        grid.add_row(*row)
    return grid


class _Heading(Heading):
    """Draw every heading at the left, as not all versions of rich do."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        yield self.text


class _Table(TableElement):
    """Draw a table; where the terminal is too narrow for its words, each row as a list of its cells."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for table in cast("Iterable[Table]", super().__rich_console__(console, options)):
            wide = console.measure(table, options=options.update_width(10_000)).minimum > options.max_width
            yield from self._rows() if wide else [table]

    def _rows(self) -> Iterator[RenderableType]:
        header = self.header.row.cells if self.header and self.header.row else []
        for row in self.body.rows if self.body else []:
            yield columns(*zip(map(_unaligned, header), map(_unaligned, row.cells), strict=True))
            yield Rule(style="quiet")


def _unaligned(cell: TableDataElement) -> Text:
    text = cell.content.copy()
    text.justify = "left"
    return text


class _Markdown(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _Heading,
        "table_open": _Table,
    }
