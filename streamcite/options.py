"""The options of a parser: checked once, and shared with what was derived from them and read under them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Literal, TypeAlias, TypedDict

from .body import Body, QuietTest
from .events import Reason
from .fields import References
from .format import DEFAULT_MAX_PAYLOAD, CitationFormat, check_format
from .grammar import Grammar, Scanner, grammar_for

# The markers of an answer repeat, and all begin alike. Those up to these lengths, in code points, are read once, and
# this many are remembered for each set of options: more than one answer cites, in at most 0.2 MB.
OPENING_LENGTH = 16
MARKER_LENGTH = 256
REMEMBERED = 128

# The state to which a text that is held whole leads: the body, its field state, the length of start, family and
# delimiter, and the parser's quiet test with its room; nothing before the first delimiter.
Opening: TypeAlias = tuple[Body, int, int, QuietTest, int] | tuple[()]


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
    not matter who read it first. What a parser asks often of its format and grammar stands here too, one step nearer.

    Attributes:
        limits: the most code points of a citation's marker, and of another one.
        openings: what is known to open a marker and to be held whole, with the state it leads to.
        markers: what is known of the fields of whole markers.
    """

    __slots__ = (
        "before_stop", "closed_scanner", "delimiter", "grammar", "in_plain", "keep", "limits", "markers",
        "open_scanner", "openings", "read_fields", "repair", "start", "stop",
    )  # fmt: skip

    def __init__(
        self, fmt: CitationFormat, malformed: str, repair: bool, max_marker: int, max_payload: int | None
    ) -> None:
        check_format(fmt)
        if not isinstance(malformed, str) or malformed not in ("drop", "keep"):
            raise ValueError(f"malformed: must be 'drop' or 'keep', not {malformed!r}")
        if not isinstance(repair, bool):
            raise ValueError(f"repair: must be True or False, not {repair!r}")
        if not isinstance(max_marker, int) or max_marker < 8:
            raise ValueError(f"max_marker: must be a number of at least 8 code points, not {max_marker!r}")
        if max_payload is None:
            max_payload = max(DEFAULT_MAX_PAYLOAD, max_marker)
        if not isinstance(max_payload, int) or max_payload < max_marker:
            raise ValueError(f"max_payload: must be a number of at least max_marker, {max_marker}, not {max_payload!r}")
        self.start: str = fmt.start
        self.delimiter: str = fmt.delimiter
        self.stop: str = fmt.stop
        self.before_stop: int = -len(fmt.stop)  # where in a whole marker its fields end
        self.grammar: Grammar = grammar_for(fmt)
        self.open_scanner: Scanner = self.grammar.open_scanner
        self.closed_scanner: Scanner = self.grammar.closed_scanner
        self.read_fields: Callable[[Iterable[str]], tuple[References, Reason | None]] = self.grammar.fields.read
        self.in_plain: bool = self.grammar.in_plain
        self.keep: bool = malformed == "keep"
        self.repair: bool = repair
        self.limits: tuple[int, int] = (max_marker, max_payload)
        self.openings: dict[str, Opening] = {}
        self.markers: dict[str, tuple[References, Reason | None]] = {}

    def remember_opening(self, text: str, opening: Opening) -> None:
        """Remember a text that is held whole, if it is short."""
        if 0 < len(text) <= OPENING_LENGTH:
            if len(self.openings) >= REMEMBERED:
                self.openings.clear()
            self.openings[text] = opening


@lru_cache(maxsize=64, typed=True)
def _cached(fmt: CitationFormat, malformed: str, repair: bool, max_marker: int, max_payload: int | None) -> Options:
    return Options(fmt, malformed, repair, max_marker, max_payload)


def options_for(fmt: CitationFormat, malformed: str, repair: bool, max_marker: int, max_payload: int | None) -> Options:
    """Give the one object for these options.

    Raises:
        ValueError, TypeError: as `CitationParser` does.
    """
    try:
        return _cached(fmt, malformed, repair, max_marker, max_payload)
    except TypeError:  # one of them cannot be hashed, and so is of a wrong type: say which
        return Options(fmt, malformed, repair, max_marker, max_payload)
