"""What a splice tells: the events that passed, what it changed, holds and found, and its result."""

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from streamcite import clean
from streamcite.openai import chat_events, responses_events
from streamcite.relay import Found, Splice
from tests.chats import SOURCES
from tests.markers import MARKER
from tests.raw_streams import body, bytewise, in_pieces
from tests.splices import (
    ALL_SOURCES,
    DELTAS,
    StoppedError,
    every_api,
    objects_of,
    values,
)


@every_api
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("options", [{}, {"sources": SOURCES}, {"sources": SOURCES, "render": "links"}], ids=len)
@pytest.mark.parametrize("deltas", [["It "] * 9, DELTAS, [*["It "] * 9, *DELTAS, *["So "] * 9, MARKER]], ids=len)
def test_events_are_counted_however_they_are_cut(name: str, end: str, options: Any, deltas: list[str]) -> None:
    wire = body(objects_of(name, *deltas)).replace(b"\n", end.encode())
    count = len(values(wire))
    for pieces in ([wire], bytewise(wire), *(in_pieces(wire, [at]) for at in range(0, len(wire), 199))):
        splice = Splice(**options)
        for piece in pieces:
            splice.feed(piece)
        assert splice.events == count
        splice.close()
        assert splice.events == count
        splice.result()
        assert splice.events == count


@every_api
def test_what_is_held_and_what_was_changed_is_counted(name: str) -> None:
    frames = [b"data: " + json.dumps(each).encode() + b"\n\n" for each in objects_of(name, "It ", MARKER[:9])]
    splice = Splice()
    seen = [
        splice.feed(frame) for frame in frames[: 1 + next(at for at, each in enumerate(frames) if b"ue200" in each)]
    ]
    assert seen[-1] == b""
    assert (splice.held, splice.changed) == (9, 1)


@every_api
def test_an_event_with_another_number_is_counted_as_changed(name: str) -> None:
    deltas = ["It ", "lasts." + MARKER, *["So "] * 9]  # nothing is left out
    frames = [b"data: " + json.dumps(each).encode() + b"\n\n" for each in objects_of(name, *deltas)]
    splice = Splice(sources=SOURCES)
    seen = b"".join([*map(splice.feed, frames), splice.close()]).split(b"\n\n")
    assert splice.changed == len({*seen} - {frame[:-2] for frame in frames} - {b""})


@every_api
@pytest.mark.parametrize("options", [{}, {"sources": SOURCES}], ids=["without sources", "with sources"])
@pytest.mark.parametrize("end", [b"", b"data: [DONE]\n\n", b'data: {"error": {"message": "busy"}}\n\n', None])
def test_the_result_says_how_the_stream_ended_as_that_of_an_event_view(name: str, options: Any, end: Any) -> None:
    objects = objects_of(name, "It ", MARKER, "lasts ", "long.")
    if name == "chat":  # the last text and the reason in one chunk, which passes unread
        objects[-2]["choices"][0]["finish_reason"] = "stop"
        del objects[-1]
    stopped = end is None or b"error" in end
    splice = Splice(**options)
    for each in objects:
        splice.feed(b"data: " + json.dumps(each).encode() + b"\n\n")
    splice.feed(end or b"")
    splice.close(stopped=end is None)

    def stream() -> Iterator[Any]:
        yield from objects
        if stopped:
            raise StoppedError

    view = (chat_events if name == "chat" else responses_events)(stream())
    with suppress(StoppedError):
        list(view)
    assert splice.result() == view.result
    assert splice.result().complete is not stopped
    assert splice.events == len(objects) + bool(end)


@every_api
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"sources": ALL_SOURCES},
        {"sources": ALL_SOURCES, "annotations": "off"},
        {"sources": ALL_SOURCES, "render": "links"},
    ],
    ids=["plain", "sources", "off", "links"],
)
def test_it_says_what_it_holds_changed_and_found(name: str, options: Any) -> None:
    deltas = ["It ", MARKER[:5], MARKER[5:], "\ue200cite\ue202none1\ue201", "\ue202", "lasts.", MARKER[:9]]
    frames = [body([each], done=False) for each in objects_of(name, *deltas)]
    splice = Splice(**options)
    assert (splice.held, splice.changed, splice.found()) == (0, 0, Found())
    assert splice.result().parts == ()
    held = 0
    for frame in frames:
        splice.feed(frame)
        held = max(held, splice.held)
    splice.close()
    assert held == 9
    assert splice.held == 0
    assert splice.changed >= 5
    unknown = ("none1",) if options else ()
    assert splice.found() == Found(citations=2, malformed=2, unknown=unknown)
    (part,) = splice.result().parts
    assert part.raw == "".join(deltas)
    if "render" not in options:
        assert part.text == clean(part.raw, complete=True)


@every_api
def test_what_passed_unread_is_in_its_result(name: str) -> None:
    objects = objects_of(name, "It ", "lasts.")
    data = body(objects)
    splice = Splice()
    assert splice.feed(data) + splice.close() == data
    assert (splice.changed, splice.events, splice.found()) == (0, len(values(data)), Found())
    (part,) = splice.result().parts
    assert (part.text, part.raw) == ("It lasts.", "It lasts.")
    assert splice.result().complete
