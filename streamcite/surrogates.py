"""Text that has no UTF-8, since it holds surrogates: JSON can write them, and some servers cut a character in two."""

import re

REPLACEMENT = "\ufffd"

_SURROGATE = re.compile("[\ud800-\udfff]")


def has_surrogates(text: str) -> bool:
    """Say whether a text has any."""
    return _SURROGATE.search(text) is not None


def replace_surrogates(text: str) -> tuple[str, int]:
    """Join each high surrogate with the low one after it, and replace every other by U+FFFD.

    Args:
        text: any text.

    Returns:
        The text, which has UTF-8 now, and how many were replaced.
    """
    if not _SURROGATE.search(text):
        return text, 0
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return _SURROGATE.subn(REPLACEMENT, joined)


def split_half(text: str) -> tuple[str, str]:
    """Cut off a high surrogate at the end, which may be the first half of a character.

    Returns:
        The text without it, and it or an empty string.
    """
    return (text[:-1], text[-1]) if "\ud800" <= text[-1:] <= "\udbff" else (text, "")
