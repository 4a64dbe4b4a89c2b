"""What the tests of the splice share: what it makes of bytes, and what the object view makes of the same events."""

import copy
import json
import random
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from streamcite.openai import clean_chat, clean_responses
from streamcite.relay import Splice
from streamcite.sse import SSEDecoder
from tests import responses_streams as rs
from tests.chats import SOURCES, streamed
from tests.raw_streams import APIS
from tests.responses_streams import message, stream_of

DONE = "[DONE]"
ALL_SOURCES = SOURCES | rs.SOURCES
DELTAS = ["It ", "lasts \ue200ci", "te\ue202turn0file1\ue201", " long."]
every_api = pytest.mark.parametrize("name", APIS)


def objects_of(name: str, *deltas: str) -> list[Any]:
    """Give the chunks or events of an answer of these texts."""
    return streamed(deltas) if name == "chat" else stream_of(message(*deltas))


class StoppedError(Exception):
    """What ends a stream of events where its bytes hold what ends one."""


def spliced(pieces: Iterable[bytes], *, stopped: bool = False, **options: Any) -> bytes:
    """Give all that a splice makes of pieces."""
    splice = Splice(**options)
    return b"".join([*map(splice.feed, pieces), splice.close(stopped=stopped)])


def payloads(data: bytes) -> list[bytes]:
    decoder = SSEDecoder()
    return [event.data for event in decoder.feed(data)]


def values(data: bytes) -> list[Any]:
    """Give what the events of a stream hold; the end, and what is not JSON, as text."""
    return [_value(payload) for payload in payloads(data)]


def _value(payload: bytes) -> Any:
    text = payload.decode("utf-8", "replace")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _is_end(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, dict) and bool(value.get("error")))


def up_to_the_end(given: list[Any]) -> list[Any]:
    """Give the events up to the first that ends a stream, with it: readers stop there."""
    ends = [number for number, value in enumerate(given) if _is_end(value)]
    return given[: ends[0] + 1] if ends else given


def cleaned(api: str, given: list[Any], *, stopped: bool = False, **options: Any) -> list[Any]:
    """Say what becomes of the events of a stream: what the object view gives of them, up to what ends it."""
    *before, last = up_to_the_end(given) or [{}]
    has_end = _is_end(last)

    def stream() -> Iterator[Any]:
        yield from copy.deepcopy(before if has_end or not given else [*before, last])
        if (last != DONE) if has_end else stopped:
            raise StoppedError

    view = clean_chat if api == "chat" else clean_responses
    found: list[Any] = []
    try:
        for value in view(stream(), **options):
            found.append(value)  # noqa: PERF402 - what came before an error counts
    except StoppedError:
        pass
    # Two halves of a character are one in JSON.
    return [*json.loads(json.dumps(found)), *([last] if has_end else [])]


# JSON may be written in many ways that mean the same.


def spelled(value: Any, order: random.Random) -> str:
    """Write JSON in some way: the keys in any order, spaces anywhere, any character as it is or as an escape."""

    def space() -> str:
        return order.choice(["", "", "", " ", "  ", "\t"])

    if isinstance(value, dict):
        items = list(value.items())
        order.shuffle(items)
        inside = ",".join(
            f"{space()}{spelled(name, order)}{space()}:{space()}{spelled(each, order)}{space()}" for name, each in items
        )
        return f"{{{inside}}}"
    if isinstance(value, list):
        return f"[{space()}{','.join(space() + spelled(each, order) for each in value)}{space()}]"
    if isinstance(value, str):
        escapes = order.choice([0.0, 0.1, 1.0])
        return f'"{"".join(_spelled_character(each, order, escapes) for each in value)}"'
    return json.dumps(value)


def _spelled_character(character: str, order: random.Random, escapes: float) -> str:
    if order.random() < escapes or "\ud800" <= character <= "\udfff":
        units = character.encode("utf-16-be", "surrogatepass")
        codes = [f"{units[at] << 8 | units[at + 1]:04x}" for at in range(0, len(units), 2)]
        return "".join("\\u" + order.choice([code, code.upper()]) for code in codes)
    return json.dumps(character, ensure_ascii=False)[1:-1]


def framed(texts: Iterable[str], order: random.Random) -> bytes:
    """Write a stream in some way: its line ends, comments, ids and types, and data on several lines."""
    end = order.choice(["\n", "\n", "\r\n", "\r"])
    lines = []
    for text in texts:
        head = [": ping"] * (order.random() < 0.1) + ["id: 7"] * (order.random() < 0.1) + ["x"] * (order.random() < 0.1)
        head += ["", ": ping", ""] * (order.random() < 0.1)
        lines += [*head, f"data:{order.choice(['', ' '])}{text}", ""]
    return order.choice([b"", b"\xef\xbb\xbf"]) + "".join(line + end for line in lines).encode()
