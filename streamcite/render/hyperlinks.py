"""Links in Markdown, written so that every CommonMark reader reads exactly the label and the URL that were meant."""

from __future__ import annotations

import re
from urllib.parse import quote

from streamcite.surrogates import replace_surrogates
from streamcite.urls import is_safe_url

# What could end a destination, or a span of code or a cell of a table round it; and what no URL has.
_NO_URL = re.compile(r'[\s<>\\|`"^{}]')
_ENTITY = re.compile(r"&(?=#?\w+;)")

# What means something inside a line. These three are written as entities, since a span of code or a cell that was
# opened before the label knows no backslash.
_ENTITIES = {"`": "&#96;", "|": "&#124;", "<": "&lt;"}
# What many readers make a link of, though it is in no brackets.
_SPECIAL = re.compile(r"[\\`*_\[\]<>&|~$^]|!(?=\[)|:(?=//)|(?<=www)\.|@", re.IGNORECASE)

# Characters that are not seen, but change how all that stands after them is.
_UNSEEN = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069\ufeff]")


def markdown_link(label: str, url: str) -> str:
    """Write a link, such as ``[1](<https://example.org/>)``.

    It is read as one wherever inline content stands, in a cell of a table too, but not in code, nor right after an
    exclamation mark, a bracket or a backslash.

    Args:
        label: what a reader sees, as plain text.
        url: where it leads.

    Returns:
        The link; for a URL that is not safe, or an empty label, the label alone, as text.
    """
    text = markdown_text(label)
    return f"[{text}](<{_destination(url)}>)" if text and is_safe_url(url) else text


def markdown_text(text: str) -> str:
    """Write plain text, in one line, so that nothing in it is Markdown; at the beginning of a line it may be."""
    return _SPECIAL.sub(lambda found: _ENTITIES.get(found[0], f"\\{found[0]}"), one_line(text))


def one_line(text: str) -> str:
    """Give a text that another program wrote as one line: no line ends, controls and changes of direction."""
    return " ".join(_UNSEEN.sub("", replace_surrogates(text)[0]).split())


def _destination(url: str) -> str:
    url = replace_surrogates(url)[0]
    if not (url.isascii() and url.isprintable()):
        url = "".join(character if character.isprintable() else quote(character) for character in url)
    return _ENTITY.sub("&amp;", _NO_URL.sub(lambda found: quote(found[0]), url))
