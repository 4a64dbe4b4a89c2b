"""A stream that goes on where another one stopped, which a relay can only clean from its beginning."""

from __future__ import annotations

import json
import re

from streamcite.sse import ServerSentEvent, SSEDecoder, encode

_STARTING_AFTER = re.compile(rb"(?:\A|&)starting_after=([0-9]{1,15})(?=&|\Z)")


class After:
    """Leave out the events of a response up to a number. It reads all, and writes each event anew, without comments.

    Args:
        number: the last ``sequence_number`` that is known.
    """

    def __init__(self, number: int) -> None:
        self._number = number
        self._decoder = SSEDecoder()

    def feed(self, data: bytes) -> bytes:
        """Read the next bytes, and give what is left of them.

        Raises:
            LineTooLong: as `SSEDecoder`.
        """
        events = filter(self._is_new, self._decoder.feed(data))
        return b"".join(encode(event.data.decode("utf-8", "replace"), event=event.event) for event in events)

    def _is_new(self, event: ServerSentEvent) -> bool:
        try:
            value = json.loads(event.data)
        except (ValueError, RecursionError):
            return True
        number = value.get("sequence_number") if isinstance(value, dict) else None
        return not isinstance(number, int) or number > self._number


def from_the_beginning(query: bytes) -> tuple[bytes, After | None]:
    """Ask for a stream from its beginning, where it was asked for from a number on.

    Returns:
        The query without ``starting_after``, and what leaves out the events up to there; as it was, and None, if it has
        none that is a number.
    """
    found = _STARTING_AFTER.search(query)
    if found is None:
        return query, None
    return (query[: found.start()] + query[found.end() :]).removeprefix(b"&"), After(int(found[1]))
