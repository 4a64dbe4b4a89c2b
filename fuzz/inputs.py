"""Choices out of the first bytes of an input, and what it says after them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Input:
    """What a fuzzer gave, taken from its front.

    Args:
        data: any bytes. Where they end, every choice is the first.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data

    def choice(self, options: Sequence[T]) -> T:
        """Choose by the next byte: ``0``, ``1`` and so on for a file that people read."""
        byte = self._data[0] - ord("0") if self._data else 0
        self._data = self._data[1:]
        return options[byte % len(options)]

    def order(self) -> random.Random:
        """Give what makes all further choices, by the next byte."""
        return random.Random(self.choice(range(256)))  # noqa: S311 - cuts need no cryptography

    def rest(self) -> bytes:
        """Give what is left."""
        return self._data

    def text(self, length: int) -> str:
        """Give what is left as text of at most that many characters; what is not UTF-8 becomes half a surrogate."""
        return self._data.decode("utf-8", "surrogateescape")[:length]


def cut(text: str, order: random.Random) -> list[str]:
    """Cut a text at a few places, or at all."""
    return [text[begin:end] for begin, end in _spans(len(text), order)]


def cut_bytes(data: bytes, order: random.Random) -> list[bytes]:
    """Cut bytes in the same way."""
    return [data[begin:end] for begin, end in _spans(len(data), order)]


def _spans(length: int, order: random.Random) -> list[tuple[int, int]]:
    count = order.choice([1, 2, 5, length])
    places = range(1, length) if count == length else sorted(order.randrange(length + 1) for _ in range(count))
    return list(zip([0, *places], [*places, length], strict=True))
