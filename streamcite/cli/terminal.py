"""The demo's answer in a terminal: Markdown that is drawn while it streams."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import Self

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

_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)


class Terminal:
    """Draw an answer in the terminal that is standard output: a `View` in colour.

    A block (a paragraph, a list, a table, a piece of code) that has ended is printed once and never touched again;
    only the last one is drawn anew with each piece.
    """

    def __init__(self) -> None:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8")  # as `Output`, whatever the locale
        self._console = Console(theme=_THEME, highlight=False, force_terminal=True)
        self._live = Live(console=self._console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False)
        self._block = ""  # the Markdown of the last block
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
        # Also of an answer that broke off: what was drawn is now printed.
        self._live.update(Text())
        if self._block.strip():
            self._console.print(self._lines(self._block))
        self._live.stop()

    def write(self, text: str) -> None:
        """Draw a piece of the answer."""
        self._draw(text.translate(_BRACKETS).translate(_CONTROLS))

    def cite(self, source: CitedSource) -> None:
        """Draw the number of a source, where it is cited, as a link to it."""
        self._urls[source.number] = source.source.url
        self._draw(f"⁅{source.number}⁆")

    def sources(self, sources: Iterable[CitedSource]) -> None:
        """Draw the list of sources."""
        self._console.print(Rule("Sources", align="left", style="quiet"))
        for source in sources:
            self._console.print()
            self._console.print(_Lines(columns((Text(f"[{source.number}]", "cite"), _entry(source)))))

    def _draw(self, piece: str) -> None:
        ended, self._block = _split(self._block + piece)
        with self._console:  # which gathers all that is written in this block, so that nothing flickers
            if ended.strip():
                self._live.update(Text(), refresh=True)
                self._console.print(Group(self._lines(ended), ""))
            self._live.update(self._lines(self._block, of_screen=True), refresh=True)

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


def _split(block: str) -> tuple[str, str]:
    """Split behind the last blank line that is not within fenced code: what stands before it changes no more."""
    end = 0
    for blank in _BLANK_LINE.finditer(block):
        if len(_FENCE.findall(block, 0, blank.end())) % 2 == 0:
            end = blank.end()
    return block[:end], block[end:]


def _entry(cited: CitedSource) -> RenderableType:
    source = cited.source
    title = Text(source.title or source.id, Style(bold=True, link=source.url))
    if not source.text and cited.locators:
        title.append(f" ({', '.join(cited.locators)})", "not bold")
    url = [Text(source.url, "quiet")] if source.url else []
    return Group(title, *url, columns(*((Text(label, "quiet"), Text(text)) for label, text in cited.lines())))
