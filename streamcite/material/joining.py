"""Texts of any number of small parts, in memory that a hostile text cannot multiply."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

# An object of a few characters takes some sixty bytes, so that no list of all parts may ever be in memory.
_BATCH = 1024


def join(parts: Iterable[str], separator: str = "") -> str:
    """Join strings as ``str.join`` does, a thousand at a time."""
    left = iter(parts)
    joined: list[str] = []
    while batch := list(islice(left, _BATCH)):
        joined.append(separator.join(batch))
    return separator.join(joined)
