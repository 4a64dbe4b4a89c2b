"""How often the open piece of an answer may be read again, by nothing but its text: what makes the work linear."""

from __future__ import annotations

from .last_line import OF_BLOCKS
from .open_tail import MARK

# What it may cost to read a piece again and again, as it is estimated here: a rate for each code point of it, and an
# amount besides. It is far above what an answer costs that is not an attack, except for single blocks of some thousand.
_RATE, _FREE = 48, 8192  # code points read
# For a line all before it since the last cut is read: to find the blocks, to find a cut, and to write HTML.
_LINE = 3
# Where a line is read from a place on, the next place is so far from it at most: in all, and in marks.
_WINDOW, _MARKS = 768, 32  # code points
# A place is looked for after a blank where nothing is open, within this many code points; else it is there.
_GRACE = 32
# With this many code points of a line all is read again that is before it, if its content cannot be read by itself;
# and this many in a delta is what models write.
_SLOW, _DELTA = 64, 4


class Allowance:
    """Count what reading costs at most, and say where a line must go on without what is before it.

    It is a function of the text and of what was read where its lines begin, however the text is cut.

    Attributes:
        room: how many words, in code points, may be added until a place must be looked for; below 0 it is.
        is_due: whether the end of what was taken last may be that place.
        is_forced: whether it must be.
    """

    def __init__(self) -> None:
        self.room: int = _WINDOW
        self.is_due: bool = False
        self._size = _WINDOW  # what room there was
        self._passed = 0  # how many code points are before that
        self._spent = 0
        self._block = self._tail = 0  # what is read again for what may be of blocks, and for other marks
        self._marks: int | None = None  # in the window, once the line is read from a place on
        self._grace: int | None = None  # how far a place is still looked for

    @property
    def is_forced(self) -> bool:
        """Say whether no other place is looked for."""
        return self._grace == 0

    def pass_over(self, size: int) -> None:
        """Count text that is not read yet."""
        self._passed += size

    def pass_code(self, text: str) -> int:
        """Count text that is put where it belongs without being read."""
        self.room -= len(text)
        return len(text)

    def begin_line(self, block: int, tail: int | None) -> None:
        """Begin a line of which the kind is known.

        Args:
            block: the length of all that was read for it.
            tail: that of its content, if that is read by itself.
        """
        self._begin_window(_WINDOW if tail is not None else _SLOW)
        self._marks = None
        self._block, self._tail = block, tail or 0
        self.read_line(block)
        if tail is None:
            self._spent += block * (_SLOW + _GRACE) // _DELTA

    def read_line(self, block: int) -> None:
        """Count what is read for a line."""
        self._spent += block * _LINE

    def begin_window(self) -> None:
        """Go on without what is in front."""
        self._begin_window(_WINDOW)
        self._marks = 0

    def cite(self, block: int) -> None:
        """Count a citation, for which all that is open may be read, which is so long."""
        self._spent += 2 * block

    def may_read(self, block: int) -> bool:
        """Say whether the next line may be read with all before it, which is so long."""
        return self._spent + block * _LINE <= self._most

    def take(self, text: str) -> int:
        """Say how many code points of a text to take until a place may be due, and count them."""
        if self.room <= 0:
            self._grace = _GRACE if self._grace is None else self._grace
            count = min(text.find(" ") + 1 or len(text), self._grace)
            self._grace -= count
            self.is_due = text[count - 1] == " " or not self._grace
        else:
            count = self._count(text[: self.room])
        self.room -= count
        return count

    @property
    def _most(self) -> int:
        return _RATE * (self._passed + self._size - self.room) + _FREE

    def _begin_window(self, size: int) -> None:
        self._passed += self._size - self.room
        self._size = self.room = size
        self._grace, self.is_due = None, False

    def _count(self, text: str) -> int:
        if self._size == _SLOW:  # all is counted already
            return len(text)
        begin, tail = self._size - self.room, self._tail
        most = self._most
        for mark in MARK.finditer(text):
            end = mark.end()
            if self._marks is not None:
                self._marks += 1
                over = self._marks >= _MARKS
            else:
                self._spent += 2 * (self._block + begin + end) if OF_BLOCKS.match(mark[0]) else tail + begin + end
                over = self._spent > most + _RATE * end
            if over:
                self._size, self.room = begin + end, end
                return end
        return len(text)
