"""The options of a parser: checked once, and shared with what was derived from them and read under them."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, TypeAlias, TypedDict

from .body import Body, Test
from .events import Reference
from .format import CitationFormat
from .grammar import grammar

DEFAULT_MAX_PAYLOAD = 65536
# The markers of an answer repeat, and all begin alike. Those up to these lengths are read once, and this many are
# remembered for each set of options: more than one answer cites, in at most 0.2 MB.
OPENING_LENGTH = 16
MARKER_LENGTH = 256
REMEMBERED = 128

# The state to which a text that is held whole leads: the body (None before the first delimiter), its field state, the
# length of start, family and delimiter; and the parser's quiet test with its room.
Opening: TypeAlias = tuple[Body | None, int, int, Test, int]
# A marker that is a citation: its family, its references, and whether it was repaired.
Cited: TypeAlias = tuple[str, tuple[Reference, ...], bool]


class ParserOptions(TypedDict, total=False):
    """What `CitationParser`, and all that makes one, takes by keyword; see there."""

    format: CitationFormat
    malformed: Literal["drop", "keep"]
    repair: bool
    max_marker: int
    max_payload: int | None


class Options:
    """Hold checked options, what is derived from them, and what was read under them.

    One object serves all parsers with the same options. What it remembers follows from the text alone, so that it does
    not matter who read it first.

    Attributes:
        limits: the most code points of a citation's marker, and of another one.
        openings: what is known to open a marker and to be held whole, with the state it leads to.
        markers: what is known to be a whole marker and a citation.
    """

    __slots__ = (
        "closed", "delimiter", "fmt", "grammar", "in_plain", "keep", "limits", "markers", "open", "openings", "repair",
        "start", "stop", "stop_is_sure",
    )  # fmt: skip

    def __init__(
        self, fmt: CitationFormat, malformed: str, repair: bool, max_marker: int, max_payload: int | None
    ) -> None:
        if not isinstance(fmt, CitationFormat):
            raise TypeError(f"format: must be a CitationFormat, not {type(fmt).__name__}")
        if malformed not in ("drop", "keep"):
            raise ValueError(f"malformed: must be 'drop' or 'keep', not {malformed!r}")
        if not isinstance(max_marker, int) or max_marker < 8:
            raise ValueError(f"max_marker: must be a number of at least 8 code points, not {max_marker!r}")
        if max_payload is None:
            max_payload = max(DEFAULT_MAX_PAYLOAD, max_marker)
        if not isinstance(max_payload, int) or max_payload < max_marker:
            raise ValueError(f"max_payload: must be a number of at least max_marker, {max_marker}, not {max_payload!r}")
        self.fmt = fmt
        self.start = fmt.start
        self.delimiter = fmt.delimiter
        self.stop = fmt.stop
        # Where another token holds the stop, as "<<|x" holds "<|", only what follows tells whether a marker has ended.
        self.stop_is_sure = not any(fmt.stop in token[1:-1] for token in fmt.tokens)
        self.grammar = grammar(fmt)
        self.open = self.grammar.open
        self.closed = self.grammar.closed
        self.in_plain = self.grammar.in_plain
        self.keep = malformed == "keep"
        self.repair = repair
        self.limits = (max_marker, max_payload)
        self.openings: dict[str, Opening] = {}
        self.markers: dict[str, Cited] = {}

    def remember_opening(self, text: str, opening: Opening) -> None:
        """Remember a text that is held whole, if it is short."""
        if 0 < len(text) <= OPENING_LENGTH:
            if len(self.openings) >= REMEMBERED:
                self.openings.clear()
            self.openings[text] = opening

    def remember_marker(self, raw: str, cited: Cited) -> None:
        """Remember a citation's marker, unless it is a long one, or what follows it can make another thing of it."""
        if self.stop_is_sure and len(raw) <= MARKER_LENGTH:
            if len(self.markers) >= REMEMBERED:
                self.markers.clear()
            self.markers[raw] = cited


options_for = lru_cache(maxsize=64)(Options)
"""Give the one object for these options."""
