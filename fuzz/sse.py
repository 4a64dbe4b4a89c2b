"""The decoder of server-sent events: what the standard says, for any bytes, limit and cut."""

from __future__ import annotations

from fuzz.inputs import Input, cut_bytes
from streamcite.sse.decode import DEFAULT_MAX_LINE
from tests.sse_streams import Standard, as_standard, outcome, over_limit

LIMITS = [DEFAULT_MAX_LINE, 1, 6, 20, 100]


def check(data: bytes) -> None:
    """Read a stream whole and cut, and compare with the standard read line by line.

    Raises:
        AssertionError: they differ.
    """
    given = Input(data)
    limit, order = given.choice(LIMITS), given.order()
    stream = given.rest()
    standard, before = Standard(stream), over_limit(stream, limit)
    for parts in ([stream], cut_bytes(stream, order)):
        events, error, rest, last_event_id, retry = outcome(parts, max_line=limit)
        if before is not None:
            assert error
            assert (len(events), rest) == (before, b"")
            assert [*map(as_standard, events)] == standard.events[:before]
            continue
        assert error is None
        assert [*map(as_standard, events)] == standard.events
        assert [(event.id, event.retry) for event in events] == standard.own
        assert rest.decode("utf-8", "replace") == standard.rest
        assert (last_event_id, retry) == (standard.last_event_id, standard.retry)
