"""An answer as plain text that reads well aloud: its sources in words where they are cited, and a list of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from streamcite.links import Cited, Resolved, ResolvedEvent

from .cited import CitedSource
from .hyperlinks import one_line
from .stage import Renderer, RendererClosed, Waiting, blank_line

__all__ = ["PlainRenderer", "RendererClosed", "render_plain"]

# After these no blank stands before a citation, and before these none after it.
_OPENING = tuple("([{（［【「『“‘«<")  # noqa: RUF001
_BLANK = ("", " ", "\t", "\n", "\r", "\xa0", "\u3000")


class PlainRenderer(Renderer):
    """Write an answer as plain text, such as ``Three days a week (source 1)``.

    The text stays as the model wrote it, Markdown too. A citation is given out with the character after it, which says
    whether a blank must stand between. What has no source is left out. The list of sources comes at the end.

    Args:
        passages: whether what is cited of each is quoted below it.
    """

    def __init__(self, *, passages: bool = False) -> None:
        super().__init__()
        self._passages = passages
        self._waiting = Waiting()
        self._last = ""  # the end of what was written

    def _write(self, text: str) -> None:
        if self._draw() and (text[0].isalnum() or text.startswith(_OPENING)):
            self._put(" ")
        self._put(text)

    def _cite(self, cited: Cited) -> None:
        self._waiting.add(cited)

    def _resolve(self, resolved: Resolved) -> None:
        self._waiting.update(resolved)

    def _end(self) -> None:
        self._draw()
        entries = [line for cited in self._cited for line in self._entry(cited)]
        if entries:
            self._put("\n".join([f"{blank_line(self._last)}Sources:", *entries, ""]))

    def _entry(self, cited: CitedSource) -> Iterator[str]:
        yield _entry(cited)
        for label, text in cited.lines() if self._passages else ():
            yield f"   {label}: {one_line(text)}" if label else f"   {one_line(text)}"

    def _draw(self) -> bool:
        numbers = [str(link.number) for link in self._waiting.take()]
        if numbers:
            *first, last = numbers
            named = f"sources {', '.join(first)} and {last}" if first else f"source {last}"
            self._put(f"{'' if self._last[-1:] in _BLANK or self._last.endswith(_OPENING) else ' '}({named})")
        return bool(numbers)

    def _put(self, text: str) -> None:
        self._out.append(text)
        self._last = (self._last + text[-2:])[-2:]


def render_plain(events: Iterable[ResolvedEvent]) -> str:
    """Give a whole answer as plain text: a `PlainRenderer` fed once and closed."""
    renderer = PlainRenderer()
    return renderer.feed(events) + renderer.close()


def _entry(cited: CitedSource) -> str:
    where = cited.where(" to ")
    url = one_line(cited.url or "")
    words = ", ".join(filter(None, [cited.title, where]))
    return f"{cited.number}. {words}" + (f": {url}" if url and url != cited.title else "")
