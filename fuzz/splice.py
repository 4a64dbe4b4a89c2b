"""The splice: decode, clean and encode, for any answer in any spelling; and the same lines for any bytes in any cut."""

from __future__ import annotations

import json
import random
from typing import Any

from fuzz.inputs import Input, cut_bytes
from streamcite import CHATGPT
from tests.chats import SOURCES, streamed
from tests.responses_streams import SOURCES as FILES
from tests.responses_streams import message, stream_of
from tests.splices import cleaned, framed, spelled, spliced, up_to_the_end, values

LENGTH = 400
# What stands between two deltas.
BETWEEN = "|"
APIS = ["chat", "responses"]
MODES: list[dict[str, Any]] = [
    {},
    {"sources": SOURCES | FILES},
    {"sources": SOURCES | FILES, "annotations": "final"},
    {"sources": {}, "unit": "utf16"},
    {"format": CHATGPT},
    {"malformed": "keep"},
]
ENDS: list[list[Any]] = [[], ["[DONE]"], [{"error": {"message": "overloaded"}}], ["{bad"]]


def check(data: bytes) -> None:
    """Splice an answer, or a stream of any bytes, and compare.

    Raises:
        AssertionError: what came out is not what the object view gives, or depends on the cut.
    """
    given = Input(data)
    bare, api, mode, end = given.choice([False, True]), given.choice(APIS), given.choice(MODES), given.choice(ENDS)
    order = given.order()
    if bare:
        _check_bytes(given.rest(), order, mode)
    else:
        _check_answer(api, given.text(LENGTH).split(BETWEEN), end, order, mode)


def _check_answer(api: str, deltas: list[str], end: list[Any], order: random.Random, mode: dict[str, Any]) -> None:
    objects = [*(streamed(deltas) if api == "chat" else stream_of(message(*deltas))), *end]
    objects = json.loads(json.dumps(objects))
    write = order.choice([spelled, _compact])
    wire = framed([each if isinstance(each, str) else write(each, order) for each in objects], order)
    seen = spliced(cut_bytes(wire, order), **mode)
    assert values(seen) == cleaned(api, objects, **mode)
    if "malformed" not in mode:
        assert spliced([seen], **mode) == seen


def _check_bytes(stream: bytes, order: random.Random, mode: dict[str, Any]) -> None:
    whole, cut = spliced([stream], **mode), spliced(cut_bytes(stream, order), **mode)
    # A comment passes before its frame where that is cut.
    assert sorted(filter(None, cut.splitlines())) == sorted(filter(None, whole.splitlines()))
    assert up_to_the_end(values(cut)) == up_to_the_end(values(whole))


def _compact(value: Any, _: random.Random) -> str:
    return json.dumps(value, separators=(",", ":"))
