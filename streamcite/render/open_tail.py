"""The end of the inline content that is open: what of it is read again when it grows, and how words are added to it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from markdown_it.common.utils import escapeHtml

from .context import HERE
from .html import render_inline
from .last_line import BLANKS
from .unfinished import RUNS, Shown, is_closed_alike, like, may_mean, show

if TYPE_CHECKING:
    from markdown_it.utils import EnvType  # not in all versions

    from .open_html import OpenHtml

# What may have a meaning in inline content, and what has none wherever it stands after a word.
_MARKS = r"\x00-\x1f!#&*<>\[\\\]_`|~\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ud800-\udfff\ufdd0"
MARK, WORDS = re.compile(f"[{_MARKS}]"), re.compile(f"[^{_MARKS}]+")
# What may have one by what stands before it: it may end an entity, or the label of a link reference.
MARK_OR_END = re.compile(f"[:;{_MARKS}]")


class OpenTail:
    """Read inline content from the last place on that nothing after it changes: a word outside of all marks.

    Args:
        html: where it is shown.
        env: what is known of link references.

    Attributes:
        source: what is read again; None if nothing can be read by itself.
        blanks: what is at the end of the text: it is seen with what follows.
        goes_on: whether words may be added as they are.
        is_code: whether all text may be, up to the end of the line.
        is_exact: whether it would look so if it ended here.
    """

    def __init__(self, html: OpenHtml, env: EnvType) -> None:
        self._html = html
        self._env = env
        self._last = ""  # the character before the source; none at the beginning of a block
        self._shown: Shown | None = None
        self.source: str | None = None
        self.blanks: str = ""
        self.goes_on: bool = False
        self.is_code: bool = False
        self.is_exact: bool = True

    def stop(self) -> None:
        """Let nothing be added or read until it begins again."""
        self.source = self._shown = None
        self.goes_on = self.is_code = False

    def is_settled(self, source: str) -> bool:
        """Say whether nothing after inline content changes it."""
        shown = show(source)
        is_exact = shown.text == source and not shown.closing and shown.whole
        return is_exact and not may_mean(source, render_inline(source, self._env))

    def begin(self, source: str, last: str) -> None:
        """Read the content of a block from its beginning, or from a line of it on.

        Args:
            source: it, without blanks at its end.
            last: the character before it, if there is one.
        """
        self._last = last
        self._read(source)

    def read_again(self) -> None:
        """Read all again, as if it had come at once."""
        self._shown = None
        self._read(self.source or "")

    def settle(self, last: str) -> None:
        """Let nothing be read again: what follows is read by itself.

        Args:
            last: the last character before it that is not a blank; may be empty.
        """
        self.source, self._shown, self._last = "", None, last or self._last
        self.goes_on, self.is_code = "\n" not in self.blanks, False

    def take_blanks(self) -> str:
        """Give the blanks at the end, which are seen then."""
        blanks, self.blanks = self.blanks, ""
        return blanks

    def add(self, text: str) -> bool:
        """Add words, and say whether there were any but blanks."""
        words = text.rstrip(BLANKS)
        if not words:
            self.blanks += text
            return False
        blanks = text[len(words) :]
        if self.blanks:
            words = self.blanks + words
        self.blanks = blanks
        html = words.replace('"', "&quot;") if '"' in words else words  # nothing else in it means something to HTML
        if self._shown is not None:
            self.source = f"{self.source}{words}"
            self._html.before += html
            self._shown = self._shown._replace(text=self._shown.text + words)
        else:
            self._html.put(html)
            self._last = words[-1]
        return True

    def add_code(self, text: str) -> None:
        """Add text of a block of code, in which nothing has a meaning."""
        text = self.blanks + text
        code = text.rstrip(BLANKS)
        self.blanks = text[len(code) :]
        self._html.put(escapeHtml(code))

    def read(self, source: str) -> None:
        """Read the content again, from where it may have changed on."""
        tail = source.rstrip(BLANKS)
        self.blanks = source[len(tail) :]
        self._read(tail)

    def _read(self, tail: str) -> None:
        self.source = tail
        last = self._last and like(self._last)
        shown = show(tail, last)
        self.is_exact = shown.text == tail and not shown.closing
        known, self._shown = self._shown, shown
        if shown == known:
            return
        html = self._html
        if known and self._has_grown(known, shown):
            self.goes_on = shown.whole
        elif not shown.closing and (not shown.text or WORDS.fullmatch(shown.text)):
            html.before, html.behind, self.goes_on = escapeHtml(shown.text), "", shown.whole
        else:
            # What closes it does so alike whatever stands before that, but for what has closed there already.
            here = HERE if shown.whole or (shown.closing and shown.text[-1:] not in RUNS) else ""
            read = render_inline(f"{last}{shown.text}{here}{shown.closing}", self._env)
            html.before, *behind = read.removeprefix(last).split(HERE)
            html.behind, self.goes_on = "".join(behind), shown.whole and len(behind) == 1
        if self.goes_on and self.is_exact and not html.behind and not may_mean(tail, html.before):
            html.settle()
            self.settle(tail[-1:])
        if "\n" in self.blanks:  # of those beside it nothing is shown
            self.goes_on = False

    def _has_grown(self, known: Shown, shown: Shown) -> bool:
        """Add the words that are shown and were not, if nothing else has changed; say whether that is so."""
        goes_on = self.goes_on and known.closing == shown.closing
        drawn = known.text if goes_on else known.text + known.closing
        words = shown.text[len(drawn) :]
        if not shown.text.startswith(drawn) or MARK.search(words) or ";" in words:
            return False
        if not shown.whole and shown.text[-1:] in RUNS:
            return False
        html = self._html
        if not goes_on:
            # A blank behind marks that have closed changes nothing of them.
            if shown.closing or words[:1].strip(" ") or not is_closed_alike(known):
                return False
            html.before, html.behind = html.before + html.behind, ""
        html.before += escapeHtml(words)
        return True
