"""Inline Markdown that is not finished, as it looks when it goes on as it has begun.

What is open is closed (``**bold`` is bold), and what cannot be judged yet is not shown (the URL of half a link). All of
it is for the eye: once the block ends, it is read as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from markdown_it.common.utils import isMdAsciiPunct, isPunctChar, isWhiteSpace

# What may be markup, at its beginning.
_MARKUP = re.compile(r"\\(?:[^\w\s]|\Z)|`+|\*+|_+|~+|!?\[|\]|<[^\s<>]*(?:>|\Z)")
# Behind the bracket that closes the text of a link: where it leads, whole or its beginning.
_WHOLE = re.compile(
    r"\(\s*+(?:<[^<>\n]*>|(?:[^\s()<\\]|\\.|\([^\s()]*\))*)(?:\s+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?\s*\)"
)
# Each is taken as far as it goes: what can be read in two ways takes twice the time for each such place.
_TARGET = re.compile(r"\(\s*+(?:<[^<>\n]*+>?+|(?:[^\s()<\\]|\\.?+|\([^\s()]*+\)?+)*+)")
_TITLE = re.compile(r"(?:\s+(?:\"[^\"]*\"?|'[^']*'?|\([^()]*\)?)?)?\Z")
_TICKS = re.compile("`+")
_ADDRESS = re.compile(r"<[A-Za-z][A-Za-z0-9+.-]*(?::[^>]*)?\Z|<\Z")
RUNS = "*_~"
# This many marks of emphasis open at once are not emphasis, but an attack.
_DEEPEST = 8
# A definition of a link reference begins so; what comes of it is not seen.
_DEFINITION = re.compile(r"\[[^\[\]]*\]:?\s*\Z")

# What is not seen of HTML; and what is seen of it and may become markup by what follows.
_UNSEEN = re.compile(r"<code>[^<]*</code>|<[^>]*>")
_MEANT = re.compile(r"[*_~`\[\\]|&(?:amp|lt);\S*\Z")

_NO_DEFINITION = re.compile(r"\[(?:[^\[\]\\]|\\.)*(?:\[|\][^:])", re.DOTALL)


class Shown(NamedTuple):
    """What to read in the place of inline content that is not finished.

    Attributes:
        text: what is seen of it.
        closing: what closes it.
        whole: whether nothing that stands after ``text`` was left out, so that words that follow are seen after it.
    """

    text: str
    closing: str
    whole: bool


class _Run(NamedTuple):
    marker: str
    length: int


def show(content: str, last: str = "") -> Shown:
    """Say what to show of inline content that may go on. Linear in the content, except for marks left open.

    Args:
        content: without blanks at its end.
        last: the character before it in the content of its block; none at the start of that.
    """
    if not last and _DEFINITION.match(content):
        return Shown("", "", whole=False)
    return _Reader(content, last).read()


def is_closed_alike(shown: Shown) -> bool:
    """Say whether what closes it does so whether a word stands before that, or not."""
    last, closing = shown.text[-1:], shown.closing
    return closing[:1] == "`" or last.isalnum() or (last not in RUNS and not closing.strip(closing[:1]))


class _Reader:
    def __init__(self, content: str, last: str) -> None:
        self._content = content
        self._last = last
        self._position = 0
        self._parts: list[str] = []
        self._opened: list[_Run] = []
        self._brackets: list[tuple[int, int]] = []  # the number of the part, and of the runs that were open
        self._pairs: set[int] = set()  # the numbers of the parts that close a bracket, and no link yet
        self._whole = True
        self._no_target = 0  # before this no link begins that may go on to the end

    def read(self) -> Shown:
        while found := _MARKUP.search(self._content, self._position):
            self._parts.append(self._content[self._position : found.start()])
            self._position = found.end()
            match found[0][0]:
                case "`":
                    end = _closing_ticks(self._content, found.end(), len(found[0]))
                    if end < 0:
                        return self._in_code(found[0])
                    self._position = end
                    self._whole = self._whole and end < len(self._content)
                    mark = self._content[found.start() : end]
                case "*" | "_" | "~":
                    mark = self._run(found)
                case "]":
                    mark = self._close_bracket()
                case "[" | "!":
                    self._brackets.append((len(self._parts), len(self._opened)))
                    self._whole = self._whole and not self._is_at_end
                    mark = found[0]
                case _:
                    mark = self._sign(found)
            self._parts.append(mark)
        self._parts.append(self._content[self._position :])
        self._open_brackets()
        return _closed("".join(self._parts), self._opened, self._whole)

    @property
    def _is_at_end(self) -> bool:
        return self._position == len(self._content)

    def _sign(self, found: re.Match[str]) -> str:
        """Read a backslash, or what may be an address in angle brackets."""
        mark = found[0]
        if mark == "\\":
            self._whole = False
            return ""
        if mark[0] == "<":
            if _ADDRESS.match(mark):
                self._whole = False
                return mark[1:]
            if mark[-1] != ">":
                self._position = found.start() + 1
                return "<"
        return mark

    def _close_bracket(self) -> str:
        if not self._brackets:
            return "]"
        at, runs = self._brackets.pop()
        if target := _WHOLE.match(self._content, self._position):
            self._position = target.end()
            del self._opened[runs:]
            return f"]{target[0]}"
        if self._is_at_end or self._may_lead_on():
            self._leave_out(at)
            self._position, self._whole = len(self._content), False
            return ""
        self._pairs.add(len(self._parts))
        return "]"

    def _may_lead_on(self) -> bool:
        """Say whether all that follows may be the beginning of where a link leads."""
        if self._position < self._no_target:
            return False
        target = _TARGET.match(self._content, self._position)
        if target and _TITLE.match(self._content, target.end()):
            return True
        # A link that begins within this target has the same end.
        self._no_target = target.end() if target else self._position
        return False

    def _open_brackets(self) -> None:
        """Leave out the brackets of links of which no end is known."""
        for at, _ in reversed(self._brackets):
            self._leave_out(at)

    def _leave_out(self, at: int) -> None:
        """Leave out a bracket, unless what stands before it and after it would become a link without it."""
        parts = self._parts
        if parts[at + 1].startswith("("):
            before = at - 2
            while not parts[before + 1] and before > 0 and parts[before] in ("[", "!["):
                before -= 2
            if not parts[before + 1] and before in self._pairs:
                return
        parts[at] = ""

    def _in_code(self, mark: str) -> Shown:
        self._open_brackets()
        code = self._content[self._position :].rstrip("`")
        # Ticks that the code ends with, and its closing, would be one run.
        code = code.rstrip()
        whole = self._whole and len(code) == len(self._content) - self._position
        if not code:
            return _closed("".join(self._parts), self._opened, whole=False)
        return Shown("".join([*self._parts, mark, code]), mark + _closing(self._opened), whole)

    def _run(self, found: re.Match[str]) -> str:
        """Read a run of marks: it closes what is open, as far as it can, and what is left of it may open something."""
        if self._is_at_end:  # whether it closes or opens, the next character says
            self._whole = False
            return ""
        before = self._content[found.start() - 1] if found.start() else self._last or " "
        opens, closes = _flanks(before, self._content[found.end()], found[0][0])
        marker, length = found[0][0], len(found[0])
        if closes:
            for index in range(len(self._opened) - 1, -1, -1):
                if self._opened[index].marker == marker and length:
                    used = min(length, self._opened[index].length)
                    length -= used
                    left = self._opened[index].length - used
                    del self._opened[index:]
                    if left:
                        self._opened.append(_Run(marker, left))
        if opens and length and (marker != "~" or length == 2):
            self._opened.append(_Run(marker, length))
        return found[0]


def _closed(text: str, opened: list[_Run], whole: bool) -> Shown:
    shown = text.rstrip()
    whole = whole and shown == text
    while opened and shown.endswith(opened[-1].marker):  # nothing stands after what opens it
        run = opened.pop()
        shown, whole = shown.removesuffix(run.marker * run.length).rstrip(), False
        if shown.endswith(run.marker):
            break
    return Shown(shown, _closing(opened), whole)


def _closing(opened: list[_Run]) -> str:
    return "".join(run.marker * run.length for run in reversed(opened)) if len(opened) <= _DEEPEST else ""


def _closing_ticks(content: str, position: int, length: int) -> int:
    for found in _TICKS.finditer(content, position):
        if found.end() - found.start() == length:
            return found.end()
    return -1


def _flanks(before: str, after: str, marker: str) -> tuple[bool, bool]:
    """Say whether a run between these characters may open and may close something (CommonMark, section 6.2)."""
    spaces = isWhiteSpace(ord(before)), isWhiteSpace(ord(after))
    signs = is_sign(before), is_sign(after)
    left = not spaces[1] and (not signs[1] or spaces[0] or signs[0])
    right = not spaces[0] and (not signs[0] or spaces[1] or signs[1])
    if marker == "_":
        return left and (not right or signs[0]), right and (not left or signs[1])
    return left, right


def is_sign(character: str) -> bool:
    """Say whether a character is punctuation or a symbol to CommonMark."""
    return isMdAsciiPunct(ord(character)) or isPunctChar(character)


def moved(offsets: Iterable[int], text: str, shown: str) -> list[int]:
    """Give where places in a content, in order, are in what is shown of that: it lacks some of the characters."""
    places: list[int] = []
    position = at = 0
    for offset in offsets:
        while position < offset and at < len(shown):
            at += text[position] == shown[at]
            position += 1
        places.append(min(offset, at))  # one before the content stays there
    return places


def may_mean(text: str, html: str) -> bool:
    """Say whether something in inline content may become markup by what follows it, by its HTML too."""
    return text.endswith("!") or _MEANT.search(_UNSEEN.sub("", html)) is not None


def like(character: str) -> str:
    """Give a character that is to marks beside it what this one is."""
    return character if character.isspace() else "." if is_sign(character) else "x"


def may_define(content: str) -> bool:
    """Say whether the content of a paragraph may become the definition of a link reference."""
    return content[0] == "[" and not _NO_DEFINITION.match(content)
