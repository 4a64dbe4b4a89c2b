"""An answer in a terminal: Markdown that is drawn while it streams. It needs the extra ``cli``."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markdown_it.common.normalize_url import normalizeLink
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.rule import Rule
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from rich.theme import Theme

from streamcite.links import Cited, Link, Resolved
from streamcite.surrogates import replace_surrogates, split_half
from streamcite.urls import is_safe_url

from .cited import CitedSource
from .controls import without_controls
from .hyperlinks import one_line
from .pieces import Pieces
from .rich_markdown import columns, markdown
from .stage import Renderer, RendererClosed
from .structure import Sign, read

if TYPE_CHECKING:
    from markdown_it.utils import EnvType  # not in all versions

__all__ = ["RendererClosed", "TerminalRenderer"]

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

_SIZE = re.compile("[1-9][0-9]{0,3}")  # columns or lines


@dataclass(slots=True)
class _Placed:
    """A citation, and where in its piece it stands."""

    offset: int
    links: tuple[Link, ...]


class TerminalRenderer(Renderer):
    """Draw an answer in a terminal, in colour, with citations as hyperlinks, and its sources at the end.

    `feed` only takes what comes; `draw` gives what shows it, and is to be called a few times a second. A block (a
    paragraph, a list, a table, a piece of code) that has ended is printed once and never touched again; only the last
    one is drawn anew, with all that has come since it was last drawn. What is given out is for a terminal, whose size
    rich asks of the standard streams, or of ``COLUMNS`` and ``LINES``; values that are not a size are taken out of the
    environment.
    """

    def __init__(self) -> None:
        super().__init__()
        for name in ("COLUMNS", "LINES"):
            # Rich takes them at their word, and draws nothing in 0 columns. Without them it asks the terminal.
            if not _SIZE.fullmatch(os.environ.get(name, "")):
                os.environ.pop(name, None)
        self._file = io.StringIO()
        self._console = Console(file=self._file, theme=_THEME, highlight=False, force_terminal=True)
        self._live = Live(console=self._console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False)
        self._pieces = Pieces()
        self._half = ""  # the first half of a character, which the next text may complete
        self._open: list[_Placed] = []  # the citations of the last piece
        self._ended: list[tuple[str, list[_Placed]]] = []  # the pieces that were not printed yet
        self._citations: dict[int, _Placed] = {}  # all that were not printed yet, by index
        self._changed = False  # whether anything has come that was not drawn
        self._env: EnvType = {}
        self._urls: dict[int, str] = {}  # by number

    def ask(self, question: str, whom: str) -> str:
        """Give what shows a question, above its answer."""
        question, whom = (without_controls(replace_surrogates(text)[0]) for text in (question, whom))
        asked = (Text(">", "cite"), Text(question, "bold")), (Text(), Text(whom, "quiet"))
        self._console.print(_Lines(columns(*asked)), "")
        return self._written()

    def draw(self) -> str:
        """Give what draws all that has come since the last time."""
        if self._changed:
            self._changed = False
            self._live.start()
            with self._console:  # which gathers all that is written in this block, so that nothing flickers
                self._print_ended()
                env = {**self._env, "references": dict(self._env.get("references", {}))}  # a line may be half there
                self._live.update(self._lines(self._pieces.open, self._open, env, of_screen=True), refresh=True)
        return self._written()

    def interrupt(self) -> str:
        """Say that the answer broke off, and give what prints all that has come of it, without its sources."""
        self._closed = True
        self._take(replace_surrogates(self._half)[0])
        self._live.start()
        with self._console:
            self._print_ended()
            self._live.update(Text())
            if self._pieces.open.strip() or self._open:
                self._console.print(self._lines(self._pieces.open, self._open, self._env))
        self._live.stop()
        return self._written()

    def _end(self) -> None:
        self._out.append(self.interrupt())
        for number, cited in enumerate(self._cited):
            if not number:
                self._console.print(Rule("Sources", align="left", style="quiet"))
            self._console.print()
            self._console.print(_Lines(columns((Text(f"[{cited.number}]", "cite"), _entry(cited)))))
        self._out.append(self._written())

    def _write(self, text: str) -> None:
        text, self._half = split_half(self._half + text)
        self._take(replace_surrogates(text)[0])

    def _take(self, text: str) -> None:
        for piece in self._pieces.feed(without_controls(text.translate(_BRACKETS))):
            within = [placed for placed in self._open if placed.offset < len(piece)]
            self._ended.append((piece, within))
            self._open = self._open[len(within) :]
            for placed in self._open:
                placed.offset -= len(piece)
        self._changed = True

    def _cite(self, cited: Cited) -> None:
        placed = _Placed(self._pieces.length, cited.links)
        self._open.append(placed)
        self._citations[cited.index] = placed
        self._link(cited.links)

    def _resolve(self, resolved: Resolved) -> None:
        if placed := self._citations.get(resolved.index):
            placed.links = resolved.links
        self._link(resolved.links)

    def _link(self, links: Iterable[Link]) -> None:
        for link in links:
            if link.number is not None and link.source is not None and is_safe_url(link.source.url or ""):
                self._urls.setdefault(link.number, normalizeLink(link.source.url or ""))
        self._changed = True

    def _written(self) -> str:
        text = self._file.getvalue()
        self._file.seek(0)
        self._file.truncate()
        return text

    def _print_ended(self) -> None:
        printed = bool(self._ended)
        for piece, placed in self._ended:
            lines = self._lines(piece, placed, self._env)
            if piece.strip() or placed:
                self._live.update(Text(), refresh=True)
                self._console.print(Group(lines, ""))
        self._ended.clear()
        if printed:
            kept = {id(placed) for placed in self._open}
            self._citations = {index: placed for index, placed in self._citations.items() if id(placed) in kept}

    def _lines(self, piece: str, citations: Iterable[_Placed], env: EnvType, *, of_screen: bool = False) -> _Lines:
        signs = [
            Sign(placed.offset, f"⁅{number}⁆")
            for placed in citations
            for number in dict.fromkeys(link.number for link in placed.links if link.number is not None)
        ]
        return _Lines(markdown(read(piece, signs, _MARK, env)), self._urls, of_screen=of_screen)


class _Lines:
    """Draw lines with their citations, and without what fills them up, which would wrap in a narrower window.

    Args:
        renderable: what is drawn.
        urls: where the source of each number is.
        of_screen: whether to draw only the last lines, those that are on the screen, as only they can be redrawn.
    """

    def __init__(
        self, renderable: RenderableType, urls: Mapping[int, str] | None = None, *, of_screen: bool = False
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


def _entry(cited: CitedSource) -> RenderableType:
    title = Text(cited.title, Style(bold=True, link=cited.url and normalizeLink(cited.url)))
    lines = [(label, Text(without_controls(text))) for label, text in cited.lines()]
    if (where := cited.where()) and not lines:
        title.append(f", {where}", "not bold")
    url = [Text(one_line(cited.url), "quiet")] if cited.url and cited.url != cited.title else []
    labelled = columns(*((Text(label, "quiet"), text) for label, text in lines if label))
    return Group(title, *url, *(text for label, text in lines if not label), labelled)
