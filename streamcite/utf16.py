"""Lengths as JavaScript counts them."""

from __future__ import annotations


def utf16_length(text: str) -> int:
    """Give the length of a text in UTF-16 code units, as JavaScript counts it."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
