"""A text that grows, as readers of Markdown take it."""

from __future__ import annotations

import re

from streamcite.surrogates import REPLACEMENT, replace_surrogates, split_half

# A line end that may have two characters, halves of characters, and noncharacters. U+FDD0 is one of those that Unicode
# has for a program's own use: here it marks a place in a text (`context.HERE`).
_OTHER = re.compile("[\r\0\ufdd0\ud800-\udfff]")


class Normal:
    """Give a text with line feeds for all line ends, and U+FFFD for NUL, for half a character and for U+FDD0.

    Attributes:
        held: what may be the first half of a line end or of a character, until what follows it is known.
    """

    def __init__(self) -> None:
        self.held: str = ""

    def read(self, text: str) -> str:
        """Read more of the text."""
        if not self.held and (text.isprintable() or not _OTHER.search(text)):
            return text
        text = self.held + text
        if text.endswith("\r"):
            text, self.held = text[:-1], "\r"
        else:
            text, self.held = split_half(text)
        return _normal(text)

    def end(self) -> str:
        """Give what was held at the end of the text."""
        held, self.held = self.held, ""
        return _normal(held)


def _normal(text: str) -> str:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return replace_surrogates(text)[0].replace("\0", REPLACEMENT).replace("\ufdd0", REPLACEMENT)
