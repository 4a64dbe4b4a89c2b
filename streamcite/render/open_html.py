"""The HTML of the open piece of an answer, in parts, and what of it the reader has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamcite.utf16 import utf16_length

from .html import redraw_citations

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .html import PlacedCitation


# If the reader has no more, or of what he has less than the other stays, that is sent again: looking for what stays
# costs more. Both in code points.
_SHORT, _LEAST = 32, 16


class OpenHtml:
    """Keep HTML that grows: what is set, what words are added to, what is read again, and what closes all of it.

    Attributes:
        before: of the inline content that is read again, what stands before where words go on.
        behind: what stands after that.
        end: what closes all that is open.
    """

    def __init__(self) -> None:
        self.before: str = ""
        self.behind: str = ""
        self.end: str = ""
        self._set: list[str] = []
        self._set_new: list[str] = []
        self._head: list[str] = []
        self._new: list[str] = []
        # What the reader has: how much of what is set, and of all but what is read again, in UTF-16 code units, and the
        # rest, which stands after that. What is new he has not.
        self._set_known = self._known = 0
        self._rest: str = ""

    @property
    def all(self) -> str:
        """Give all of it."""
        return "".join([*self._set, *self._set_new, self.open])

    @property
    def open(self) -> str:
        """Give what is not set."""
        return "".join([*self._head, *self._new, self.before, self.behind, self.end])

    def put(self, html: str) -> None:
        """Add to what stands before what is read again."""
        self._new.append(html)

    def settle(self) -> None:
        """Let nothing be read again."""
        self.put(self.before + self.behind)
        self.before = self.behind = ""

    def show(self, head: str, end: str = "") -> None:
        """Put HTML in the place of all that is not set."""
        self._take_back()
        self.before, self.behind, self.end = "", "", end
        self._new.append(head)

    def set(self, html: str) -> None:
        """Put HTML after what is set; what is not, is to be shown anew."""
        self._take_back()
        self._set_new.append(html)

    def clear(self) -> None:
        """Let nothing be set; what is not, is to be shown anew."""
        self._take_back()
        self._rest = "".join(self._set) + self._rest
        self._set, self._set_new = [], []
        self._set_known = self._known = 0

    def _take_back(self) -> None:
        """Let nothing that is not set be taken for what the reader has."""
        self._rest = "".join(self._head) + self._rest
        self._head, self._new = [], []
        self._known = self._set_known

    def redraw(self, citations: Mapping[int, PlacedCitation]) -> None:
        """Draw citations as they are now, by `PlacedCitation.index`."""
        parts, head = "".join(self._set + self._set_new), "".join(self._head + self._new)
        self.clear()
        self.set(redraw_citations(parts, citations))
        self.put(redraw_citations(head, citations))
        self.end = redraw_citations(self.end, citations)

    def patch(self) -> tuple[int, str] | None:
        """Say what is new.

        Returns:
            How much stays, in UTF-16 code units, and what follows that now; None if nothing has changed.
        """
        rest, had = self.before + self.behind + self.end, self._rest
        known, new = self._known, "".join(self._new)
        self._head.append(new)
        self._new.clear()
        if self._set_new:
            behind = "".join(self._set_new)
            self._set.append(behind)
            self._set_new.clear()
            self._set_known += utf16_length(behind)
            new = behind + new
        html = new + rest
        self._known = known + (len(new) if new.isascii() else utf16_length(new))
        self._rest = rest
        if html == had:
            return None
        if len(had) > _SHORT and html.startswith(had[:_LEAST]):
            keep, html = difference(had, html)
            known += keep
        return known, html


def difference(had: str, html: str) -> tuple[int, str]:
    """Say how much stays where HTML takes the place of other, in UTF-16 code units, and what follows that now."""
    same = _common(had, html)
    return utf16_length(html[:same]), html[same:]


def _common(one: str, other: str) -> int:
    """Count the characters with which both begin."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one.startswith(other[low:middle], low):
            low = middle
        else:
            high = middle - 1
    return low
