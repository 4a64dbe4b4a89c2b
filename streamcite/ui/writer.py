"""The frames of plain text, which most events of an answer are, as fast as a string can be put together."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Generator, Iterator
from itertools import islice
from typing import Final

from streamcite.annotations import Unit, size_in
from streamcite.sse.encode import quoted, safe

__all__ = ["NUMBER", "TEXT", "TextWriter"]

# What stands in a frame for its number and its text.
NUMBER: Final = 10**30
TEXT: Final = str(NUMBER)
_PLACES = re.compile(f'"{TEXT}"|{NUMBER}')


class TextWriter:
    """Write frames that differ in their number and their text alone.

    Args:
        frame: one with `NUMBER` and `TEXT` in the places of these; the number may be missing.
        numbers: gives the number of the next frame.
        unit: what `taken` counts.
        kept: where each text is added; only where there is a number. It keeps all of it, or none.

    Attributes:
        write: gives the frame of the next text, which is not empty.
    """

    def __init__(
        self,
        frame: bytes,
        numbers: Iterator[int],
        *,
        unit: Unit = "codepoint",
        kept: list[str] | deque[str] | None = None,
    ) -> None:
        *heads, tail = _PLACES.split(frame.decode())
        head, between = heads if len(heads) == 2 else (heads[0], "")
        size, taken = size_in(unit), 0

        # Each of the three is one call for a text: another one would cost as much as a third of it. A generator has
        # what it needs at hand, so that its call costs a tenth less than that of a function.
        def numbered() -> Generator[bytes, str, None]:
            nonlocal taken
            text = yield b""
            for number in numbers:  # pragma: no branch  # they have no end
                json = quoted(text)
                if json.isascii():
                    taken += len(text)
                else:
                    taken += size(text)
                    json = safe(json)
                text = yield f"{head}{number}{between}{json}{tail}".encode()

        def numbered_and_kept() -> Generator[bytes, str, None]:
            text = yield b""
            for number in numbers:  # pragma: no branch  # they have no end
                json = quoted(text)
                add(text)
                text = yield f"{head}{number}{between}{json if json.isascii() else safe(json)}{tail}".encode()

        def unnumbered() -> Generator[bytes, str, None]:
            nonlocal taken
            text = yield b""
            while True:
                taken += size(text)
                text = yield f"{head}{safe(quoted(text))}{tail}".encode()

        def take() -> int:
            nonlocal taken
            count, taken = taken, 0
            return count

        def take_kept() -> int:
            nonlocal taken
            begin, taken = taken, len(texts)
            return sum(map(size, islice(texts, begin, None)))

        texts = kept if kept is not None else []
        add = texts.append
        taken = len(texts)
        writing = (numbered_and_kept if kept is not None else numbered if between else unnumbered)()
        next(writing)
        self.write: Callable[[str], bytes] = writing.send
        self._take = take if kept is None else take_kept

    def taken(self) -> int:
        """Give how much text was written since this was asked last, or else was added to what is kept."""
        return self._take()
