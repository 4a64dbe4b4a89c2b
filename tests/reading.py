"""Drive the parser in tests, and give its events in the form in which cases and the oracle have them."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, cast

from streamcite import CHATGPT, OPENAI, CitationFormat, CitationParser, Event, ParserOptions, from_dict, to_dict
from streamcite.events import join_strings
from tests.reference import Fmt, ReadEvent, named


def joined(events: Iterable[Event]) -> list[Event]:
    """Return `events` with adjacent strings joined; none of them may be empty."""
    given = list(events)
    assert "" not in given
    return join_strings(given)


def as_read(events: Iterable[Event]) -> list[ReadEvent]:
    """Return `events` in the form of the oracle: joined, and in JSON form except for the strings."""
    return [event if isinstance(event, str) else to_dict(event) for event in joined(events)]


def read_through(parser: CitationParser, deltas: Iterable[str], *, complete: bool = False) -> list[Event]:
    """Return what a parser hands out for `deltas` and at the end, joined."""
    events: list[Event] = []
    for delta in deltas:
        events += parser.feed(delta)
    return joined(events + parser.close(complete=complete))


def source_text(events: Iterable[Event]) -> str:
    """Return the input that `events` were read from."""
    return "".join(event if isinstance(event, str) else event.raw for event in events)


@dataclass(frozen=True)
class Case:
    """One line of a table of cases."""

    id: str
    deltas: list[str]
    text: str
    complete: bool
    options: ParserOptions
    fmt: Fmt
    oracle_options: dict[str, Any]
    clean: str
    events: list[Event]

    @classmethod
    def of(cls, line: Mapping[str, Any]) -> Self:
        options = dict(line["options"])
        complete = options.pop("complete", False)
        given = options.pop("format", "openai")
        format = {"openai": OPENAI, "chatgpt": CHATGPT}[given] if isinstance(given, str) else CitationFormat(**given)
        return cls(
            id=line["id"],
            deltas=line["deltas"],
            text="".join(line["deltas"]),
            complete=complete,
            options=cast("ParserOptions", {"format": format, **options}),
            fmt=named(given),
            oracle_options=options,
            clean=line["clean"],
            events=[event if isinstance(event, str) else from_dict(event) for event in line["events"]],
        )

    def read(self, deltas: Iterable[str]) -> list[Event]:
        """Return the events of `deltas`, joined."""
        return read_through(CitationParser(**self.options), deltas, complete=self.complete)


CASES = [
    Case.of(json.loads(line))
    for table in sorted((Path(__file__).parent / "cases").glob("parser*.jsonl"))
    for line in table.read_text(encoding="utf-8").splitlines()
]
