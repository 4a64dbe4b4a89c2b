"""What a splice passes without reading it: the same objects, and little that is decoded."""

import json
from functools import partial
from typing import Any

import pytest

from streamcite.relay import Splice
from streamcite.relay import splice as splice_module
from streamcite.relay.cleaner import EventCleaner
from tests.chats import choice, chunk
from tests.markers import MARKER
from tests.raw_streams import TEXT, body, bytewise
from tests.splices import (
    ALL_SOURCES,
    cleaned,
    every_api,
    objects_of,
    payloads,
    spliced,
    up_to_the_end,
    values,
)

COMPACT = partial(json.dumps, separators=(",", ":"), ensure_ascii=False)


@pytest.mark.parametrize(
    ("data", "usual"),
    [
        *((b"data: 1\n\n", True), (b"event: a\ndata: 1\n\n", True), (b"id: 7\ndata: 1\n\n", True)),
        *((b"data:1\n:x\n\n", False), (b":x\ndata: 1\n\n", False), (b"d:1\ndata: 1\n\n", True), (b"1\n1:\n\n", True)),
        *(
            (b"\n\n", True),
            (b"", False),
            (b"\n", False),
            (b"data: 1\n", False),
            (b"1\n2\n", False),
            (b"1\n2\n3\n", False),
        ),
        *((b"data: 1\r\n\r\n", False), (b"data: 1\r\n\n", False), (b"1\n2\n3\n\n", False), (b"1\n2\n3\n4\n\n", False)),
        *((b"\n1\n\n", True), (b"1\nx:\n\n", True), (b"1:\nx\n\n", True), (b"x:y\n1\n\n", True), (b"1\nx\n:\n", False)),
    ],
)
def test_the_frames_that_most_answers_come_in_are_known(data: bytes, usual: bool) -> None:
    assert splice_module._is_usual(data) == usual


def test_what_stands_around_a_marker_passes_in_two_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[str, int]] = []

    def counted(owner: type, name: str) -> None:
        method = getattr(owner, name)

        def wrapped(self: Any, data: bytes, *arguments: Any) -> Any:
            calls.append((name, data.count(b"\n\n")))
            return method(self, data, *arguments)

        monkeypatch.setattr(owner, name, wrapped)

    for owner, name in ((EventCleaner, "skip"), (Splice, "_read_whole"), (Splice, "_read_lines")):
        counted(owner, name)
    plain, marked = (
        b"data: " + json.dumps(objects_of("chat", text)[0]).encode() + b"\n\n"
        for text in ("It ", "lasts\ue200cite\ue202turn0file1\ue201. ")
    )
    splice = Splice()
    for _ in range(3):
        assert splice.feed(plain) is plain
    calls.clear()
    assert splice.feed(plain * 5 + marked + plain * 4).startswith(plain * 5)
    calls.remove(("_read_lines", 0))  # of a frame that was open before: there was none
    assert calls == [("skip", 5), ("_read_whole", 1), ("skip", 4)]
    calls.clear()
    assert splice.feed(plain[:20]) + splice.feed(plain[20:] + plain * 5) == plain * 6
    assert [call for call in calls if call[1]] == [("_read_lines", 1), ("skip", 1), ("skip", 5)]
    calls.clear()
    assert Splice().feed(b": ping\n\n" + plain * 5) == b": ping\n\n" + plain * 5
    assert [call for call in calls if call[1]] == [("_read_whole", 1), ("skip", 4)]


@pytest.mark.parametrize("marker", ["", "\ue200cite\ue202turn0file1\ue201"])
def test_a_plain_event_is_not_looked_at_closely(marker: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def frame(text: str) -> bytes:
        return b"data: " + json.dumps(chunk(choice(text))).encode() + b"\n\n"

    splice = Splice()
    splice.feed(frame(f"It {marker}"))
    splice.feed(frame("lasts. "))
    looked: list[bytes] = []
    read = Splice._feed_part

    def counted(self: Splice, data: bytes) -> bytes:
        looked.append(data)
        return read(self, data)

    monkeypatch.setattr(Splice, "_feed_part", counted)
    plain, naming = frame("So long."), frame("An annotation.")
    for data in [plain, naming, plain]:
        assert splice.feed(data) is data
    # Annotations of the server are moved, after what is removed.
    assert looked == ([naming] if marker else [])


def test_what_only_looks_like_a_marker_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[bytes] = []
    cleaner_read = EventCleaner.read

    def counted(self: EventCleaner, event: Any, frame: bytes) -> bytes:
        read.append(frame)
        return cleaner_read(self, event, frame)

    frames = [
        b"data: " + json.dumps(each).encode() + b"\n\n" for each in objects_of("chat", "It\n", "\u3042", "\ue0ff")
    ]
    plain = b"data: " + json.dumps(chunk(choice("It "))).encode() + b"\n\n"
    splice = Splice()
    splice.feed(plain * 2)
    monkeypatch.setattr(EventCleaner, "read", counted)
    assert splice.feed(b"".join(frames[:3])) == b"".join(frames[:3])
    assert read == []


def test_what_passes_unread_is_read_when_there_is_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = b"data: " + json.dumps(objects_of("chat", "It ")[0]).encode() + b"\n\n"
    splice = Splice()
    splice.feed(frame * 2)
    rooms: list[int] = []
    monkeypatch.setattr(EventCleaner, "read_skipped", lambda events: rooms.append(events.room))
    for room in (1, 0, -1, -2):
        splice._events.room = len(frame) + room
        assert splice.feed(frame) is frame
    assert rooms == [-1, -2]


@every_api
@pytest.mark.parametrize("options", [{}, {"sources": ALL_SOURCES}], ids=["without sources", "with sources"])
def test_without_markup_the_same_object_passes(name: str, options: Any) -> None:
    frames = [body([each], done=False) for each in objects_of(name, *["It ", "lasts ", "a \\ \n while."] * 9)]
    splice = Splice(**options)
    passed = [splice.feed(frame) for frame in frames]
    assert passed == frames
    same = sum(seen is frame for seen, frame in zip(passed, frames, strict=True))
    assert same >= len(frames) * 0.6
    assert splice.close() == b""


@every_api
def test_nearly_all_events_of_an_answer_that_cites_are_the_same(name: str) -> None:
    deltas = [*["It "] * 50, *[MARKER[:9], MARKER[9:]], *["lasts. "] * 50, TEXT, "So."]
    objects = objects_of(name, *deltas)
    data = body(objects, named=name == "responses")
    before, after = payloads(data), payloads(spliced([data]))
    changed = [payload for payload in after if payload not in before]
    assert len(changed) == {"chat": 1, "responses": 1 + 4}[name]
    assert len(after) == len(before) - 2


@every_api
@pytest.mark.parametrize("written", [json.dumps, COMPACT], ids=["spaced", "compact"])
def test_inside_a_marker_little_is_decoded(name: str, written: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = ["\ue200", "cite", *["\ue202turn0file1"] * 60, "\ue201"]
    objects = objects_of(name, "It ", *pieces, "lasts.", *pieces)
    frames = [b"data: " + written(each).encode() + b"\n\n" for each in json.loads(json.dumps(objects))]
    splice = Splice()
    assert splice.feed(frames[0])
    decoded: list[int] = []
    read = splice._events._from_json

    def counted(payload: bytes) -> Any:
        decoded.append(len(payload))
        return read(payload)

    monkeypatch.setattr(splice._events, "_from_json", counted)
    seen = b"".join(map(splice.feed, frames[1:]))
    assert values(frames[0] + seen + splice.close()) == cleaned(name, objects)
    assert len(decoded) < 40


ODD = [
    (b'"delta":{', b'"delta":{"odd":1,'),
    (b'"logprobs":null', b'"logprobs":{"content":[]}'),
    (b'"finish_reason":null', b'"finish_reason":"length"'),
    (b'"content":"', b'"content":"\\n'),
    (b'"content":"', b'"content":"\xff'),
    (b'"content":"', b'"content":"\x01'),
    (b'"content":"', b'"content":"\\ud83d'),
    (b'"content":"', b'"content":"" ,"a":"'),
    (b'"content":"', b'"content":"\ndata: '),
    (b'"delta":"', b'"delta":"","a":"'),
    (b'"delta":"', b'"delta":"","delta":"'),
    (b'"delta":"', b'"delta":"a\\"b'),
    (b'"content_index":0', b'"content_index":1'),
    (b'"obfuscation":"xxxx"', b'"obfuscation":"x\\"x"'),
    (b'"obfuscation":"xxxx"', b'"obfuscation":"x\x01"'),
    (b'"obfuscation":"xxxx"', b'"obfuscation":"x","odd":2'),
    (b'"sequence_number":', b'"sequence_number":00'),
    (b'"sequence_number":', b'"sequence_number":1'),
    (b"}\n\n", b"} \n\n"),
    (b"}\n\n", b"}x\n\n"),
    (b"data: ", b"data: \n\ndata: "),
    (b"data: ", b"id: 5\ndata: "),
]


@every_api
@pytest.mark.parametrize(("part", "other"), ODD, ids=str)
@pytest.mark.parametrize("options", [{}, {"sources": ALL_SOURCES}], ids=["without sources", "with sources"])
def test_an_event_inside_a_marker_that_is_not_as_the_others(name: str, part: bytes, other: bytes, options: Any) -> None:
    deltas = ["It ", "\ue200ci", "te\ue202", "turn0", "file1", "\ue202L8", "-L13", "\ue201", " lasts.", MARKER[:9]]
    frames = [b"data: " + COMPACT(each).encode() + b"\n\n" for each in objects_of(name, *deltas)]
    at = next(number for number, frame in enumerate(frames) if b"file1" in frame)
    frames[at] = frames[at].replace(part, other)
    data = b"".join(frames)
    for pieces in ([data], frames, bytewise(data)):
        seen = values(spliced(pieces, **options))
        assert up_to_the_end(seen) == cleaned(name, values(data), **options)


@every_api
def test_little_is_decoded(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    deltas = [*["It "] * 500, MARKER[:9], MARKER[9:], *["lasts. "] * 500]
    frames = [body([each], done=False) for each in objects_of(name, *deltas)]
    splice = Splice()
    decoded: list[bytes] = []
    read = splice._events._from_json

    def counted(payload: bytes) -> Any:
        decoded.append(payload)
        return read(payload)

    monkeypatch.setattr(splice._events, "_from_json", counted)
    for frame in frames:
        splice.feed(frame)
    splice.close()
    assert 0 < len(decoded) < 20
