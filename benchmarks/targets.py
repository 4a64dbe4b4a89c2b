"""What this project set out to reach, beside what was measured: the table at the top of the report."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from .core import SHAPE_LIMITS
from .report import Figure, Result


@dataclass(frozen=True)
class Target:
    """One target.

    Attributes:
        what: what is to be reached.
        suite: the suite that measures it.
        figures: a regular expression for the names of its figures, of which the worst counts.
        limit: the most that it may be.
    """

    what: str
    suite: str
    figures: str
    limit: float

    def worst(self, suites: Mapping[str, Iterable[Result]]) -> Figure | None:
        """Give the largest of its figures; None if none was measured."""
        found = [each for each in suites.get(self.suite, ()) if isinstance(each, Figure)]
        return max(
            (each for each in found if re.search(self.figures, each.name)), key=lambda each: each.value, default=None
        )


_SPARSE = "(no citation|1 per 200)$"
TARGETS: Sequence[Target] = [
    *(
        Target(f"the parser, beside one that reads nothing: {shape}", "core", f"^feed / null: {shape}$", limit)
        for shape, limit in SHAPE_LIMITS.items()
        if limit is not None
    ),
    Target("the parser: a hostile delta, beside one of plain text", "core", "^a delta / a delta of plain", 8),
    Target(
        "the parser: a delta of the longest answer, beside one of a short", "core", "^a character of .*: 1 per", 1.2
    ),
    Target("the parser: the same of hostile answers", "core", "^a character of (?!.*1 per)", 1.2),
    Target("iter_events, beside its own feed: no citation", "core", "^iter_events / feed: no citation", 0.65),
    Target("iter_events, beside its own feed: 1 per 200", "core", "^iter_events / feed: 1 per 200", 0.8),
    Target("aiter_events, beside an identity generator", "core", "^aiter_events / ", 1.3),
    Target("bytes of an idle parser", "core", "^bytes of an idle", 160),
    Target("bytes for each held character, over 1 KiB", "core", "^bytes a held", 6),
    Target("event view, beside the client's own work", "openai", f", events: added.*{_SPARSE}", 0.02),
    Target("object view, beside the client's own work", "openai", f", objects: added.*{_SPARSE}", 0.05),
    Target("fast lane, beside the client's typed stream: chat", "openai", "^chat: fast lane", 0.12),
    Target("fast lane, beside the client's typed stream: Responses", "openai", "^responses: fast lane", 0.16),
    Target("resolver, beside the bare events", "resolve", "^a?iter_events with sources.*: no citation$", 1.15),
    Target("lint of 20,000 words, beside one Markdown parse", "lint", "^lint / a parse.*: as models write", 2),
    Target("LiveHtml, beside one final render", "render", "^LiveHtml, asked after each delta", 3),
    Target("an event sent to a front end, beside ready bytes", "ui", "^sse_response / ", 2),
    Target("splice, beside json: no citation", "splice", "splice / json: no citation", 0.04),
    Target("splice, beside json: 1 per 200", "splice", "splice / json: 1 per 200", 0.15),
    Target("splice, beside orjson: no citation", "splice", "splice / orjson: no citation", 0.2),
    Target("splice, beside orjson: 1 per 200", "splice", "splice / orjson: 1 per 200", 0.5),
    Target("relay, beside a pump of bytes: an event a read", "relay", "^relay / pump: paced", 1.5),
    Target("relay, beside a pump of bytes: in bursts", "relay", "^relay / pump: burst", 3),
    Target("relay, beside the same without splice: an event a read", "relay", "without splice: paced", 1.15),
    Target("relay, beside the same without splice: in bursts", "relay", "without splice: burst", 1.15),
    Target("relay, beside a handler built on the client: an event a read", "relay", "FastAPI handler: paced", 0.15),
    Target("relay, beside a handler built on the client: in bursts", "relay", "FastAPI handler: burst", 0.15),
    Target("relay: milliseconds added to 99.9 % of events", "relay", r"p99\.9", 20),
    Target("left running: streams and answers that are wrong, in any way", "soak", "^(relayed|answers)", 0),
    Target("left running: tasks, or descriptors, that stay", "soak", "^(tasks|descriptors) that stay", 0),
    Target("left running: objects that stay of a stream", "soak", "^objects", 1),
    Target("left running: bytes of memory that stay of a stream", "soak", "^bytes of memory", 16_384),
    Target("small changes to the core that no test notices, of all", "mutants", "^changes", 0.05),
    Target("of these, such as no reason is given for", "mutants", "^of these", 0),
]


def rows(suites: Mapping[str, Iterable[Result]]) -> Iterator[tuple[Target, Figure | None]]:
    """Give each target with the figure that decides it."""
    return ((target, target.worst(suites)) for target in TARGETS)


def verdict(limit: float, value: float) -> str:
    """Say in plain words whether a limit is kept."""
    if value <= limit:
        return "met"
    return f"**missed by {value / limit - 1:.1%}**" if limit else "**missed**"
