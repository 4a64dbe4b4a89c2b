"""The piece of an answer that still grows, as HTML: what more text changes of it, and what stays.

What is seen is a function of the text so far, however that was cut. The short ways taken here only save work:

* words that go on where words stand are put there;
* inline content is read from the last place on that nothing behind it changes: a word outside of all marks;
* of a long list or table only the last item or row is read again (`context.py`).
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from markdown_it.common.utils import escapeHtml

from .context import HERE, Context, Cut, cut_items, find_cut, frame, turned_loose
from .html import PlacedCitation, render_citation, render_inline, render_piece
from .last_line import (
    BLANKS,
    HIDDEN,
    LAST_PIPE,
    MARKS,
    ROW_END,
    SIMPLE,
    TWO_ITEMS,
    UNDECIDED,
    cells,
    decided,
    delimiter_row,
    last_content,
)
from .structure import read_blocks
from .unfinished import Shown, like, may_define, may_mean, moved, show
from .utf16 import utf16_length

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it.token import Token
    from markdown_it.utils import EnvType  # not in all versions

# What has no meaning in inline content, wherever it stands behind a word.
_WORDS = re.compile(
    r"[^\x00-\x1f!#&*<>\[\\\]_`|~\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ud800-\udfff\ufdd0]+"
)
# What is read with the block, not with the inline content.
_OF_BLOCKS = re.compile(r"[\x00-\x1f#|\x7f-\x9f\u2028\u2029\ufdd0]")
_BEHIND_CITATION = re.compile(r"[ .,]|\w")


class OpenPiece:
    """Keep the HTML of one piece while it grows.

    Args:
        env: what is defined in front of it (link references).
        citations: those that stand in it already, by their offsets.
    """

    def __init__(self, env: EnvType, citations: Sequence[PlacedCitation] = ()) -> None:
        self._env = env
        self._earlier: list[str] = []  # the source that is not read again
        self._earlier_citations: list[PlacedCitation] = []  # those in it, where they stand in the piece
        self._source = ""  # what is read again
        self._citations = list(citations)  # those in it, where they stand there
        self._context = Context()
        self._is_stale = bool(citations)
        self._is_exact = True  # whether it would look so if it ended here
        self._in_row = False  # whether it ends with a row of a table
        self._completes = False  # whether it was read with more than there is
        self._seen = (0, 0)  # how much of the source is seen, and how many citations
        # The HTML: what is set; what words are added to; the inline content behind that, which is read again, in front
        # of where words go on and behind it; and what closes all that is open.
        self._set: list[str] = []
        self._head: list[str] = []
        self._before = self._behind = self._end = ""
        self._tail: str | None = None  # the source of what is read again; None if that cannot be by itself
        self._last = ""  # the character in front of the tail
        self._tail_shown: Shown | None = None
        self._blanks = ""  # at the end of the source: seen with what follows
        self._goes_on = False  # whether words may be added
        self._behind_citation = False
        self._may_define = False  # whether it may become the definition of a link reference
        # What the reader has: so much of set, and of all, in UTF-16 code units, and behind that the rest; and what is
        # new in set, and in set and head.
        self._is_seen = False
        self._set_known = self._known = 0
        self._set_new: list[str] = []
        self._new: list[str] = []
        self._rest: str | None = ""

    @property
    def source(self) -> str:
        """Give its text so far."""
        return "".join([*self._earlier, self._source])

    @property
    def html(self) -> str:
        """Give what is seen of it."""
        return "".join([*self._set, *self._head, self._before, self._behind, self._end])

    def write(self, text: str) -> None:
        """Take more text; its lines end with a line feed."""
        if (end := text.find("\n")) > 0:  # what ends a line goes on with what it holds
            self.write(text[:end])
            text = text[end:]
        self._source += text
        if self._is_stale or not text:
            return
        if (self._behind_citation and not _BEHIND_CITATION.match(text)) or (
            ":" in text and "]:" in self._source[-len(text) - 1 :]
        ):
            self._is_stale = True
        elif self._goes_on and _WORDS.fullmatch(text) and not (";" in text and self._may_be_entity()):
            self._add(text)
        elif self._tail is not None and not self._may_define and not _OF_BLOCKS.search(text):
            self._read_tail(self._tail + self._blanks + text)
        else:
            self._is_stale = True

    def cite(self, placed: PlacedCitation) -> None:
        """Take a citation that stands at the end of the text so far."""
        self._citations.append(replace(placed, offset=len(self._source)))
        if not self._is_stale and self._goes_on and self._tail == "" and not self._blanks:
            self._put(render_citation(placed))
            self._behind_citation = True
            self._seen = len(self._source), len(self._citations)
        else:
            self._is_stale = True

    def replace(self, old: PlacedCitation, new: PlacedCitation) -> None:
        """Draw a citation as it is now."""
        for citations in (self._citations, self._earlier_citations):
            for index, placed in enumerate(citations):
                if placed.index == new.index:
                    citations[index] = replace(new, offset=placed.offset)
        chips = render_citation(old), render_citation(new)
        self._set = ["".join(self._set).replace(*chips)]
        self._head = ["".join(self._head).replace(*chips)]
        self._end = self._end.replace(*chips)
        self._set_known, self._set_new = 0, list(self._set)
        self._known, self._new = 0, [*self._set, *self._head]

    def patch(self) -> tuple[int, str] | None:
        """Say what is new of its HTML.

        Returns:
            How much of it stays, in UTF-16 code units, and what is behind that now; None if nothing has changed.
        """
        if self._is_stale:
            self._read()
        rest = self._before + self._behind + self._end if self._before or self._behind else self._end
        new = "".join(self._new)
        if not new and (rest == self._rest or not (rest or self._is_seen)):
            return None
        self._is_seen = True
        known = self._known
        self._known += utf16_length(new)
        if self._set_new:
            self._set_known += utf16_length("".join(self._set_new))
            self._set_new = []
        self._new, self._rest = [], rest
        return known, new + rest

    def end(self, source: str, *, is_last: bool = False) -> list[PlacedCitation]:
        """Say that it has ended.

        Args:
            source: its text, which may be less than it was given.
            is_last: whether no other piece follows.

        Returns:
            The citations that stand behind it, where they stand from its end on.
        """
        own = source[sum(map(len, self._earlier)) :]
        left = [] if is_last else [placed for placed in self._citations if placed.offset >= len(own)]
        as_seen = not self._is_stale and not left and self._seen_whole(own, len(self._citations))
        self._source, self._is_stale = own, False
        if not as_seen:
            del self._citations[len(self._citations) - len(left) :]
            if self._context.is_tight and turned_loose(self._context, self._tokens(own)):
                own = self._start_over() + own
            self._show(self._render(own, self._citations, self._env))
        return [replace(placed, offset=placed.offset - len(own)) for placed in left]

    # More words, and more inline content

    def _add(self, text: str) -> None:
        text = self._blanks + text
        words = text.rstrip(" ")
        self._blanks = text[len(words) :]
        if not words:
            return
        self._behind_citation = False
        self._seen = len(self._source) - len(self._blanks), len(self._citations)
        html = words.replace('"', "&quot;") if '"' in words else words  # nothing else in it means something to HTML
        if self._tail:
            self._tail += words
            self._before += html
            if self._tail_shown is not None:
                self._tail_shown = self._tail_shown._replace(text=self._tail_shown.text + words)
        else:
            self._head.append(html)
            self._new.append(html)
            self._last = words[-1]

    def _may_be_entity(self) -> bool:
        return "&" in (self._source if self._tail is None else self._tail)

    def _put(self, html: str) -> None:
        self._head.append(html)
        self._new.append(html)

    def _read_tail(self, source: str) -> None:
        """Read the inline content behind the last safe place."""
        tail = source.rstrip(" ")
        self._tail, self._blanks = tail, source[len(tail) :]
        self._seen = len(self._source) - len(self._blanks), self._seen[1]
        self._behind_citation = False
        last = self._last and like(self._last)
        shown = show(tail, last)
        self._is_exact = shown.text == tail and not shown.closing
        known, self._tail_shown = self._tail_shown, shown
        if (
            known is not None
            and known.text + known.closing == shown.text + shown.closing
            and known.whole >= shown.whole
        ):
            self._goes_on = self._goes_on and shown.whole
            return
        if not shown.closing and (not shown.text or _WORDS.fullmatch(shown.text)):
            self._before, self._behind, self._goes_on = escapeHtml(shown.text), "", shown.whole
        else:
            here = HERE if shown.whole else ""
            html = render_inline(f"{last}{shown.text}{here}{shown.closing}", self._env)
            self._before, here, self._behind = html.removeprefix(last).partition(HERE)
            self._goes_on = bool(here) and HERE not in self._behind
        if self._goes_on and self._is_exact and not self._behind and not may_mean(tail, self._before):
            self._put(self._before)
            self._before, self._tail, self._tail_shown = "", "", None
            self._last = tail[-1:] or self._last

    # What is read as blocks

    def _read(self) -> None:
        """Read all that is not set."""
        self._is_stale = self._goes_on = self._behind_citation = self._may_define = False
        self._tail = self._tail_shown = None
        source = decided(self._source)
        # The pipe at the end of a row is not seen.
        alike = LAST_PIPE.sub("", source).rstrip(BLANKS) if self._in_row else source
        seen, citations = self._seen
        if citations == len(self._citations) and seen in (len(source), len(alike)):
            self._blanks = self._source[seen:]
            return
        if (items := TWO_ITEMS.fullmatch(source)) and (cut := cut_items(items[1], self._context)):
            self._set_off(cut)
            source = items[4]
        if self._read_simple(source):
            return
        tokens = self._tokens(source)
        if turned_loose(self._context, tokens):
            source = self._start_over() + source
            tokens = self._tokens(source)
        cut = None if HIDDEN.search(source) else find_cut(source, self._context, tokens, self._read_other)
        # A line that is not seen yet may begin with a citation, which is seen in front of it.
        if cut and not any(placed.offset >= cut.at for placed in self._citations):
            self._set_off(cut)
            source = source[cut.at :]
            if self._read_simple(source):
                return
            tokens = self._tokens(source)
        self._seen = len(source), len(self._citations)
        self._blanks = self._source[len(source) :]
        row = delimiter_row(source, tokens)
        content, cell = last_content(self._tokens(source + row) if row else tokens)
        self._in_row = cell > 0
        lines = self._context.source.count("\n") + source.count("\n") + 1
        reaches_end = content is not None and content.map is not None and content.map[1] == lines
        self._show_open(source, row, content, is_last=cell == cells(source) if cell else reaches_end)
        if self._citations and self._citations[-1].offset > len(source):
            self._goes_on, self._tail, self._is_exact = False, None, False
        elif self._blanks.strip(" "):
            self._goes_on, self._tail = False, None

    def _read_simple(self, source: str) -> bool:
        """Read a source that is one line, if that is told without a reader of blocks."""
        line = SIMPLE.fullmatch(source)
        if not line or self._citations or "]:" in source or not self._context.takes(line[1]):
            return False
        self._seen = len(source), 0
        self._blanks = self._source[len(source) :]
        self._completes = self._in_row = False
        self._show(frame(self._context, line[1]), goes_on=True)
        self._last = ""
        self._read_tail_of(line[2])
        if self._blanks.strip(" "):
            self._goes_on, self._tail = False, None
        return True

    def _show_open(self, source: str, row: str, content: Token | None, *, is_last: bool) -> None:
        citations = [replace(placed, offset=min(placed.offset, len(source))) for placed in self._citations]
        defines = "]:" in source
        self._completes = bool(row) or defines
        if content is not None and content.type != "inline":
            goes_on = is_last and not self._blanks.strip(" ")
            self._show(self._render(source + HERE * goes_on, citations), goes_on=goes_on)
            self._is_exact = _is_closed(content)
        elif content is None or not content.content or not is_last or not source.endswith(content.content):
            self._show(self._render(source + row, citations))
        else:
            text = content.content
            base = source[: len(source) - len(text)]
            if not defines and not any(placed.offset >= len(base) for placed in citations):
                self._show(self._render(f"{base}{HERE}{row}", citations), goes_on=True)
                self._last = ""
                self._read_tail_of(text)
                self._may_define = may_define(text)
            else:
                shown = show(text)
                if MARKS.fullmatch(base.rpartition("\n")[2] + shown.text) or text[0] != shown.text[:1]:
                    shown = Shown("", "", whole=False)
                here = HERE if shown.whole and not defines else ""
                placed_so = [
                    replace(placed, offset=moved(placed.offset - len(base), text, shown.text) + len(base))
                    for placed in citations
                ]
                line = base.rpartition("\n")[2]
                if not shown.text and UNDECIDED.fullmatch(line):  # nothing is seen of it yet
                    base = base[: len(base) - len(line)]
                    placed_so = [placed for placed in placed_so if placed.offset < len(base)]
                self._show(self._render(f"{base}{shown.text}{here}{shown.closing}{row}", placed_so), goes_on=bool(here))
                self._is_exact = shown.text == text and not shown.closing
                if self._goes_on and self._is_exact and not may_mean(text, self._head[0]):
                    self._tail, self._last = "", text[-1]
                self._behind_citation = bool(citations) and citations[-1].offset == len(source)

    def _read_tail_of(self, text: str) -> None:
        blanks, seen = self._blanks, self._seen
        self._read_tail(text)
        self._blanks, self._seen = blanks, seen

    def _show(self, html: str, *, goes_on: bool = False) -> None:
        """Put HTML in the place of all that is not set."""
        before, here, end = html.partition(HERE) if goes_on else (html, "", "")
        if goes_on and (not here or HERE in end or before.rfind("<") > before.rfind(">")):
            before, here, end = html.replace(HERE, ""), "", ""
        self._goes_on = bool(here)
        self._head, self._end = [before], end
        self._before = self._behind = ""
        self._known, self._new = self._set_known, [*self._set_new, before]
        self._rest = None
        self._is_exact = True

    def _render(self, source: str, citations: Sequence[PlacedCitation], env: EnvType | None = None) -> str:
        context = self._context
        placed = [replace(each, offset=each.offset + len(context.source)) for each in citations]
        html = render_piece(context.source + source, placed, self._env_for(source) if env is None else env)
        return context.behind(html)

    def _set_off(self, cut: Cut) -> None:
        """Set what stands in front of a cut."""
        done = [placed for placed in self._citations if placed.offset < cut.at]
        if self._seen_whole(self._source[: cut.at], len(done)):
            html = "".join([*self._head, self._before, self._behind, self._end])
        else:
            html = self._render(self._source[: cut.at], done)
        if cut.context.source and not self._context.source and not cut.context.is_tight and cut.first:
            opening = html[: html.index("<li")]
            self._context = cut.context._replace(source=cut.first)
            html = opening + self._render(self._source[: cut.at], done)
        html = html.removesuffix(cut.context.end)
        self._set.append(html)
        self._set_new.append(html)
        earlier = sum(map(len, self._earlier))
        self._earlier.append(self._source[: cut.at])
        self._earlier_citations += [replace(placed, offset=placed.offset + earlier) for placed in done]
        self._citations = [replace(placed, offset=placed.offset - cut.at) for placed in self._citations[len(done) :]]
        self._source, self._context = self._source[cut.at :], cut.context

    def _seen_whole(self, source: str, citations: int) -> bool:
        """Say whether the beginning of the source looks as it would alone."""
        seen = self._seen
        rest = ROW_END.sub("", source[seen[0] :]) if self._in_row else source[seen[0] :]
        return (
            self._is_exact
            and not self._completes
            and seen[0] <= len(source)
            and seen[1] == citations
            and not rest.strip(BLANKS)
        )

    def _start_over(self) -> str:
        """Let nothing be set; return the source that was."""
        earlier = "".join(self._earlier)
        own = [replace(placed, offset=placed.offset + len(earlier)) for placed in self._citations]
        self._citations = [*self._earlier_citations, *own]
        self._source, self._context = earlier + self._source, Context()
        self._seen = 0, -1
        self._earlier, self._earlier_citations, self._set, self._set_new, self._set_known = [], [], [], [], 0
        return earlier

    def _tokens(self, source: str) -> Sequence[Token]:
        return read_blocks(self._context.source + source, self._env_for(source))

    def _read_other(self, source: str) -> Sequence[Token]:
        return read_blocks(source, self._env)

    def _env_for(self, source: str) -> EnvType:
        """Give what is defined; a copy, if the source may define more, which is not certain yet."""
        if "]:" not in source:
            return self._env
        return {"references": dict(self._env.get("references", {}))}


def _is_closed(code: Token) -> bool:
    """Say whether a block of code has a line that closes it."""
    begin, end = code.map or (0, 0)
    lines = code.content.count("\n") + (code.content != "" and not code.content.endswith("\n"))
    return code.type == "fence" and end - begin == lines + 2
