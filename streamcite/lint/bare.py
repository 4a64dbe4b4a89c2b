"""Ids of sources that stand in the text itself, outside any marker."""

from __future__ import annotations

import re
import string
from collections import defaultdict
from collections.abc import Iterable, Iterator

from streamcite.ids import RESULT_ID

from .findings import Finding, Spot

# A letter or digit of a script that sets blanks between words: in others an id may stand right after a word.
_CHARACTER = (
    r"[^\W_\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\ua4cf\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff"
    r"\uff00-\uffef\U00020000-\U0003ffff]"
)
_LETTER = re.compile(_CHARACTER)
_WORD = re.compile(f"{_CHARACTER}+")
# The form of a tool's results. The path of an address is passed over: it names no source, whatever it holds.
_PATH = "[!#-&*-;=?-Z_a-z~]*"
_ADDRESS = re.compile(rf"://{_PATH}(?:\({_PATH}\){_PATH})*")
_RESULT = re.compile(f"{_ADDRESS.pattern}|({RESULT_ID})")
_BEFORE = re.compile(rf"{_CHARACTER}_{{0,2}}\Z")
_BEHIND = re.compile(f"_{{0,2}}{_CHARACTER}")
_DIGITS = re.compile(r"\d+")
_OPENING, _CLOSING = "【", "】"


class BareIds:
    """Find ids in the text between markers: those of the form that tools' results have at once, others at the end."""

    def __init__(self) -> None:
        self._stretches: list[_Stretch] = []
        self._open: _Stretch | None = None

    def read(self, text: str, start: int, position: int) -> list[Finding]:
        """Take the next text.

        Args:
            text: not empty.
            start: its offset in the input.
            position: its offset in the clean text.

        Returns:
            What was found so far, up to the last blank.
        """
        if self._open is None:
            self._open = _Stretch(start, position)
            self._stretches.append(self._open)
        return self._open.read(text)

    def end(self) -> list[Finding]:
        """Say that something else follows: a marker, or nothing."""
        open_stretch, self._open = self._open, None
        return open_stretch.end() if open_stretch else []

    def close(self, text: str, ids: Iterable[str]) -> list[Finding]:
        """Find what else is an id, of those that hold a letter and a digit.

        Args:
            text: the clean text.
            ids: those of the sources.
        """
        known = _Known(ids)
        return [finding for stretch in self._stretches for finding in stretch.others(text, known)] if known else []


class _Stretch:
    """A stretch of text without a marker."""

    __slots__ = ("_found", "_length", "_position", "_start", "_unread")

    def __init__(self, start: int, position: int) -> None:
        self._start = start
        self._position = position
        self._length = 0  # of what was read
        self._unread: list[str] = []  # what stands after the last blank, and may go on
        self._found: list[tuple[int, int]] = []  # the begin and end of each id in it, by their form

    def read(self, text: str) -> list[Finding]:
        """Take more of it."""
        blank = max(text.rfind(" "), text.rfind("\n"))
        if blank < 0:
            self._unread.append(text)
            return []
        self._unread.append(text[:blank])
        findings = self._settle()
        self._unread.append(text[blank:])
        return findings

    def end(self) -> list[Finding]:
        """Say that it is whole."""
        return self._settle()

    def others(self, text: str, known: _Known) -> Iterator[Finding]:
        """Find known ids, in the part of the clean text that it is, that were not found by their form."""
        text = text[self._position : self._position + self._length]
        taken = iter([*self._found, (self._length, self._length + 1)])
        start, end = next(taken)
        for begin, behind in known.find(text):
            while end <= begin:
                start, end = next(taken)
            if behind <= start:
                yield self._report(text, begin, behind, 0)

    def _settle(self) -> list[Finding]:
        text, offset = "".join(self._unread), self._length
        self._unread.clear()
        self._length += len(text)
        if "turn" not in text:
            return []
        places = [found.span(1) for found in _RESULT.finditer(text) if found[1] and _is_whole(text, *found.span(1))]
        self._found += [(begin + offset, end + offset) for begin, end in places]
        return [self._report(text, begin, end, offset) for begin, end in places]

    def _report(self, text: str, begin: int, end: int, offset: int) -> Finding:
        source_id = text[begin:end]
        if text[begin - 1 : begin] == _OPENING and text[end : end + 1] == _CLOSING:
            begin, end = begin - 1, end + 1
        spot = Spot(self._start + offset + begin, self._start + offset + end, self._position + offset + begin)
        return spot.report("bare-id", f"Take {source_id} out of the text: an id is written in a marker only.")


class _Known:
    """Find ids of a given set in a text, each as a whole word, in time that does not depend on how many there are."""

    def __init__(self, ids: Iterable[str]) -> None:
        self._ids: set[str] = set()
        shapes: defaultdict[str, set[tuple[int, int]]] = defaultdict(set)
        for source_id in ids:
            if any(map(str.isalpha, source_id)) and not _RESULT.fullmatch(source_id):
                words = (found for found in _WORD.finditer(source_id) if _DIGITS.search(found[0]))
                if longest := max(words, key=lambda found: len(found[0]), default=None):
                    self._ids.add(source_id)
                    shapes[longest[0]].add((longest.start(), len(source_id)))
        # By the longest word of an id that holds a digit: where in the id that begins, and how long the id is.
        self._shapes = {word: sorted(places, reverse=True) for word, places in shapes.items()}

    def __bool__(self) -> bool:
        return bool(self._ids)

    def find(self, text: str) -> Iterator[tuple[int, int]]:
        """Give the begin and the end of each in order, the longest where several begin; none overlap."""
        behind = 0
        for start, end in _words_with_digits(text):
            for offset, length in self._shapes.get(text[start:end], ()):
                place = begin, stop = start - offset, start - offset + length
                if behind <= begin and stop <= len(text) and text[begin:stop] in self._ids and _is_whole(text, *place):
                    yield place
                    behind = stop
                    break


def _words_with_digits(text: str) -> Iterator[tuple[int, int]]:
    """Give the begin and end of each word that holds a digit, except for the paths of addresses."""
    # Few words hold any, so that it is the digits that are looked for; ten times at most, as that is faster than once
    # for any of them.
    if text.isascii() and not any(digit in text for digit in string.digits):
        return
    addresses = iter([*(found.span() for found in _ADDRESS.finditer(text)), (len(text), len(text))])
    address, address_end = next(addresses)
    end = 0
    for digits in _DIGITS.finditer(text):
        if digits.start() < end:
            continue
        while address_end <= digits.start() < len(text):
            address, address_end = next(addresses)
        if address <= digits.start():
            continue
        start = digits.start()
        while start > end and _LETTER.match(text, start - 1):
            start -= 1
        word = _WORD.match(text, start)
        end = word.end() if word else digits.end()
        yield start, end


def _is_whole(text: str, begin: int, end: int) -> bool:
    """Say whether no letter or digit goes on before or after; an underscore may be emphasis."""
    return not (_BEFORE.search(text, max(begin - 3, 0), begin) or _BEHIND.match(text, end, end + 3))
