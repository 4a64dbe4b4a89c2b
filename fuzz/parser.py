"""The parser: for any text, option and cut what the model of the semantics says, and what its invariants promise."""

from __future__ import annotations

import json
from typing import Any

from fuzz.inputs import Input, cut
from streamcite import CitationFormat, CitationParser, Event, from_dict, parse, to_dict
from tests.reading import as_read, joined, source_text
from tests.reference import Fmt, read
from tests.strategies import KNOWN_FORMATS

# The model reads a text again and again.
LENGTH = 300
OPTIONS: list[dict[str, Any]] = [
    {},
    {"malformed": "keep"},
    {"repair": False},
    {"max_marker": 8},
    {"max_marker": 12, "max_payload": 14},
    {"max_marker": 32, "malformed": "keep"},
    {"max_marker": 64, "max_payload": 64, "repair": False},
]


def check(data: bytes) -> None:
    """Read a text whole and cut, with a snapshot taken at each cut, and compare.

    Raises:
        AssertionError: something of what is promised does not hold.
    """
    given = Input(data)
    fields = given.choice([*KNOWN_FORMATS.values()])
    options, complete, order = given.choice(OPTIONS), given.choice([False, True]), given.order()
    text = given.text(LENGTH)
    whole = parse(text, complete=complete, format=CitationFormat(**fields), **options)
    assert as_read(whole) == read(text, Fmt(**fields), complete=complete, **options)
    assert source_text(whole) == text
    assert [from_dict(to_dict(event)) for event in whole] == whole
    own: dict[str, Any] = {"format": CitationFormat(**fields), **options}
    parser = CitationParser(**own)
    events: list[Event] = []
    behind = 0
    for delta in cut(text, order):
        events += parser.feed(delta)
        behind += len(delta)
        assert source_text(events) + parser.held == text[:behind]
        if order.random() < 0.2:
            parser = CitationParser.restore(json.loads(json.dumps(parser.snapshot())), **own)
    assert joined([*events, *parser.close(complete=complete)]) == whole
    if not fields and options.get("malformed") != "keep":
        assert not set("\ue200\ue201\ue202") & set("".join(map(str, whole)))
