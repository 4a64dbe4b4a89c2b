"""The demo's answer in a terminal: Markdown that is drawn while it streams."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import IO, Self, cast

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.rule import Rule
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from rich.theme import Theme

from streamcite.surrogates import replace_surrogates

from .cited import CitedSource
from .markdown import columns, markdown
from .output import Output

_CITE = Style(bold=True, color="cyan")
_THEME = Theme(
    {
        "cite": _CITE,
        "quiet": "dim",
        "markdown.code": "magenta",
        "markdown.h2": "bold underline",
    }
)

# A citation stands in the Markdown as its number in brackets of another kind, which mean nothing there, wherever it
# stands, and are as wide as the brackets that take their place when all is laid out.
_MARK = re.compile("⁅([0-9]+)⁆")
_BRACKETS = str.maketrans("⁅⁆", "[]")

# An answer is data: no control code in it may reach the terminal. A carriage return is part of a line end, or a trick.
_CONTROLS = {code: "\ufffd" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"} | {0x0D: None}

_BLANK_LINE_OR_FENCE = re.compile(r"(?P<blank>\n[ \t]*\n)|^[ \t]*(?:```|~~~)", re.MULTILINE)

_SIZE = re.compile("[1-9][0-9]{0,3}")  # columns or lines


class Terminal:
    """Draw an answer in the terminal that is standard output: a `View` in colour.

    A block (a paragraph, a list, a table, a piece of code) that has ended is printed once and never touched again;
    only the last one is drawn anew, with all that has come since it was last drawn.
    """

    def __init__(self) -> None:
        for name in ("COLUMNS", "LINES"):
            # Rich takes them at their word, and draws nothing in 0 columns. Without them it asks the terminal.
            if not _SIZE.fullmatch(os.environ.get(name, "")):
                os.environ.pop(name, None)
        self._console = Console(file=cast("IO[str]", Output()), theme=_THEME, highlight=False, force_terminal=True)
        self._live = Live(console=self._console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False)
        self._block = ""  # the Markdown of the last block, as it is drawn
        self._pieces: list[str] = []  # what has come since
        self._urls: dict[int, str | None] = {}

    def ask(self, question: str, model: str, base_url: str) -> None:
        """Show what is asked, and whom."""
        asked = (Text(">", "cite"), Text(question, "bold")), (Text(), Text(f"{model} at {base_url}", "quiet"))
        self._console.print(_Lines(columns(*asked)), "")

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # Also of an answer that broke off: what has come is now printed.
        self.draw()
        self._live.update(Text())
        if self._block.strip():
            self._console.print(self._lines(self._block))
        self._live.stop()

    def write(self, text: str) -> None:
        """Take a piece of the answer."""
        self._pieces.append(text.translate(_BRACKETS).translate(_CONTROLS))

    def cite(self, source: CitedSource) -> None:
        """Take the number of a source, where it is cited, to be a link to it."""
        self._urls[source.number] = source.source.url
        self._pieces.append(f"⁅{source.number}⁆")

    def draw(self) -> None:
        """Draw what has come since the last time."""
        if not self._pieces:
            return
        *ended, self._block = _blocks("".join([self._block, *self._pieces]))
        self._pieces.clear()
        with self._console:  # which gathers all that is written in this block, so that nothing flickers
            for block in filter(str.strip, ended):
                self._live.update(Text(), refresh=True)
                self._console.print(Group(self._lines(block), ""))
            self._live.update(self._lines(self._block, of_screen=True), refresh=True)

    def sources(self, sources: Iterable[CitedSource]) -> None:
        """Draw the list of sources."""
        self._console.print(Rule("Sources", align="left", style="quiet"))
        for source in sources:
            self._console.print()
            self._console.print(_Lines(columns((Text(f"[{source.number}]", "cite"), _entry(source)))))

    def _lines(self, block: str, *, of_screen: bool = False) -> _Lines:
        return _Lines(markdown(replace_surrogates(block)[0]), self._urls, of_screen=of_screen)


class _Lines:
    """Draw lines with their citations, and without what fills them up, which would wrap in a narrower window.

    Args:
        renderable: what is drawn.
        urls: where the source of each number is.
        of_screen: whether to draw only the last lines, those that are on the screen, as only they can be redrawn.
    """

    def __init__(
        self, renderable: RenderableType, urls: Mapping[int, str | None] | None = None, *, of_screen: bool = False
    ) -> None:
        self._renderable = renderable
        self._urls = urls or {}
        self._of_screen = of_screen

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = console.render_lines(self._renderable, options, pad=False)
        trimmed = _without_ends([_without_filling(line) for line in lines])
        for line in trimmed[-max(console.height - 1, 1) :] if self._of_screen else trimmed:
            for segment in line:
                yield from self._with_citations(segment)
            yield Segment.line()

    def _with_citations(self, segment: Segment) -> Iterator[Segment]:
        text, style, control = segment
        for index, part in enumerate(_MARK.split(text)):
            if index % 2:
                yield Segment(f"[{part}]", (style or Style()) + _CITE + Style(link=self._urls.get(int(part))))
            else:
                # A mark may have been cut in two, where a line of a script without spaces ends.
                yield Segment(part.translate(_BRACKETS), style, control)


def _without_filling(line: list[Segment]) -> list[Segment]:
    kept = line[:]
    while kept and not _has_background(kept[-1]):
        text, style, control = kept.pop()
        if text.rstrip():
            return [*kept, Segment(text.rstrip(), style, control)]
    return kept


def _has_background(segment: Segment) -> bool:
    return segment.style is not None and segment.style.bgcolor is not None and not segment.style.bgcolor.is_default


def _without_ends(lines: list[list[Segment]]) -> list[list[Segment]]:
    """Leave out empty lines above and below: rich sets some round lists and tables, and others not."""
    filled = [number for number, line in enumerate(lines) if line]
    return lines[filled[0] : filled[-1] + 1] if filled else []


def _blocks(text: str) -> list[str]:
    """Cut behind each blank line that is not within fenced code: what stands before it changes no more."""
    blocks, start, in_code = [], 0, False
    for found in _BLANK_LINE_OR_FENCE.finditer(text):
        if not found["blank"]:
            in_code = not in_code
        elif not in_code:
            blocks.append(text[start : found.end()])
            start = found.end()
    return [*blocks, text[start:]]


def _entry(cited: CitedSource) -> RenderableType:
    source = cited.source
    title = Text(source.title or source.id, Style(bold=True, link=source.url))
    if not source.text and cited.locators:
        title.append(f" ({', '.join(cited.locators)})", "not bold")
    url = [Text(source.url, "quiet")] if source.url else []
    return Group(title, *url, columns(*((Text(label, "quiet"), Text(text)) for label, text in cited.lines())))
