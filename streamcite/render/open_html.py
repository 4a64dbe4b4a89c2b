"""The HTML of the open piece of an answer, in parts, and what of it the reader has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .html import redraw_citations
from .utf16 import utf16_length

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .html import PlacedCitation


class OpenHtml:
    """Keep HTML that grows: what is set, what words are added to, what is read again, and what closes all of it.

    Attributes:
        before: of the inline content that is read again, what stands in front of where words go on.
        behind: what stands behind that.
        end: what closes all that is open.
    """

    def __init__(self) -> None:
        self.before: str = ""
        self.behind: str = ""
        self.end: str = ""
        self._set: list[str] = []
        self._head: list[str] = []
        # What the reader has: so much of what is set, and of all but the rest, in UTF-16 code units; and what is new.
        self._is_seen = False
        self._set_known = self._known = 0
        self._set_new: list[str] = []
        self._new: list[str] = []
        self._rest: str | None = ""

    @property
    def all(self) -> str:
        """Give all of it."""
        return "".join([*self._set, self.open])

    @property
    def open(self) -> str:
        """Give what is not set."""
        return "".join([*self._head, self.before, self.behind, self.end])

    def put(self, html: str) -> None:
        """Add to what stands in front of what is read again."""
        self._head.append(html)
        self._new.append(html)

    def settle(self) -> None:
        """Let nothing be read again."""
        self.put(self.before + self.behind)
        self.before = self.behind = ""

    def show(self, head: str, end: str = "") -> None:
        """Put HTML in the place of all that is not set."""
        self._head, self.end = [head], end
        self.before = self.behind = ""
        self._known, self._new = self._set_known, [*self._set_new, head]
        self._rest = None

    def set(self, html: str) -> None:
        """Put HTML behind what is set; what is not, is to be shown anew."""
        self._set.append(html)
        self._set_new.append(html)

    def clear(self) -> None:
        """Let nothing be set; what is not, is to be shown anew."""
        self._set, self._set_new, self._set_known = [], [], 0

    def redraw(self, citations: Mapping[int, PlacedCitation]) -> None:
        """Draw citations as they are now, by `PlacedCitation.index`."""
        self._set = [redraw_citations("".join(self._set), citations)]
        self._head = [redraw_citations("".join(self._head), citations)]
        self.end = redraw_citations(self.end, citations)
        self._set_known, self._set_new = 0, list(self._set)
        self._known, self._new = 0, [*self._set, *self._head]

    def patch(self) -> tuple[int, str] | None:
        """Say what is new.

        Returns:
            How much stays, in UTF-16 code units, and what is behind that now; None if nothing has changed.
        """
        rest = self.before + self.behind + self.end
        new = "".join(self._new)
        if not new and (rest == self._rest or not (rest or self._is_seen)):
            return None
        self._is_seen = True
        known = self._known
        self._known = known + (len(new) if new.isascii() else utf16_length(new))
        if self._set_new:
            self._set_known += utf16_length("".join(self._set_new))
            self._set_new = []
        self._new.clear()
        self._rest = rest
        return known, new + rest
