"""What a splice makes of streams that break off, lie, or never end; and of mistakes in the program."""

import json
from typing import Any

import pytest

from streamcite import Event, Source
from streamcite.openai.text import Text
from streamcite.relay import Splice, SpliceClosed, StreamTooLong, cleaner
from streamcite.sse import LineTooLong
from tests import responses_streams as rs
from tests.chats import choice, chunk, streamed
from tests.markers import MARKER
from tests.odd_chats import SILENT_CHUNKS, WIRE
from tests.raw_streams import DONE, TEXT, body, bytewise, in_pieces
from tests.responses_streams import SILENT_EVENTS, TELLING, UNCLOSED, everywhere, message, stream_of
from tests.splices import cleaned, every_api, payloads, spliced, values


def begun(name: str, *deltas: str) -> bytes:
    """Give the beginning of an answer that holds text at its end."""
    objects = streamed([*deltas, UNCLOSED]) if name == "chat" else stream_of(message(*deltas, UNCLOSED))
    last = next(number for number, each in enumerate(objects) if json.dumps(UNCLOSED)[1:-1] in json.dumps(each))
    return body(objects[: last + 1], done=False)


# Where it ends


@every_api
@pytest.mark.parametrize("stopped", [False, True])
def test_what_was_cut_ends_as_a_cut(name: str, stopped: bool) -> None:
    data = begun(name, TEXT, "It ")
    seen = spliced([data], stopped=stopped)
    assert values(seen) == cleaned(name, values(data), stopped=stopped)
    assert b"DONE" not in seen
    assert not any(end in seen for end in (b'"stop"', b"completed"))


@every_api
@pytest.mark.parametrize("rest", [b"data: [DONE]\n", b'data: {"choices', b": a comment", b"\n", b"data: {}\r"])
def test_a_frame_that_was_cut_off_passes_after_what_was_held(name: str, rest: bytes) -> None:
    for pieces in ([begun(name, "It ") + rest], bytewise(begun(name, "It ") + rest)):
        seen = spliced(pieces)
        assert seen.endswith(rest)
        assert payloads(seen) == payloads(seen.removesuffix(rest))
        assert "Malformed" not in str(values(seen))
    assert not spliced([begun(name, "It ") + b"data: \xee\x88\x80"]).endswith(b"\xee\x88\x80")


@every_api
@pytest.mark.parametrize(
    "end",
    [b'data: {"error": {"message": "overloaded"}}\n\n', b'event: error\ndata: {"error": "a text"}\n\n',
     b"data: {bad\n\n", b"data: " + b"[" * 100_000 + b"\n\n", DONE],
    ids=["error", "named error", "no JSON", "too deep", "done"],
)  # fmt: skip
def test_what_was_held_comes_before_what_ends_a_stream(name: str, end: bytes) -> None:
    data = begun(name, TEXT, "It ") + end
    seen = spliced([data])
    assert seen.endswith(end)
    assert values(seen) == cleaned(name, values(data))
    assert spliced(in_pieces(data, range(0, len(data), 99))) == seen
    # Text that goes on all the same is cleaned too.
    behind = values(spliced([data + body(streamed([TEXT]) if name == "chat" else stream_of(message(TEXT)))]))
    assert not any(token in str(behind) for token in "\ue200\ue201\ue202")


# Odd streams


@pytest.mark.parametrize("silent", SILENT_CHUNKS.values(), ids=SILENT_CHUNKS)
def test_odd_chunks(silent: Any) -> None:
    data = body([silent, *(each for piece in TEXT for each in (chunk(choice(piece)), silent)), *streamed([])])
    assert values(spliced(in_pieces(data, range(0, len(data), 999)), api="chat")) == cleaned("chat", values(data))


@pytest.mark.parametrize("silent", [*SILENT_EVENTS, *TELLING], ids=str)
def test_odd_events(silent: Any) -> None:
    for end in ("response.completed", None):
        data = body(everywhere(silent, stream_of(message(*TEXT[:9], UNCLOSED), end=end, numbered=False)), done=False)
        seen = spliced(in_pieces(data, range(0, len(data), 999)), api="responses")
        assert values(seen) == cleaned("responses", values(data))


@pytest.mark.parametrize("name", WIRE)
def test_faulty_chunks(name: str) -> None:
    data, _ = WIRE[name]
    seen = spliced([data], api="chat")
    assert spliced(bytewise(data), api="chat") == seen
    assert not any(token in seen.decode("utf-8", "replace") for token in "\ue200\ue201\ue202")


@pytest.mark.parametrize("repeats", range(4))
@pytest.mark.parametrize("end", [*rs.ENDS, None])
def test_ends_of_a_response(repeats: int, end: str | None) -> None:
    status = "completed" if end == "response.completed" else "incomplete"
    events = stream_of(message(TEXT, UNCLOSED, status=status), end=end)
    gone = [event for event in events if event["type"] in rs.REPEATS][repeats:]
    data = body([event for event in events if event not in gone], named=True, done=False)
    for pieces in ([data], bytewise(data)):
        assert values(spliced(pieces)) == cleaned("responses", values(data))


def test_events_of_neither_api_pass() -> None:
    data = b'event: message_start\ndata: {"type": "message_start", "text": "\\ue200"}\n\n: ping\n\ndata: 5\n\n'
    assert spliced([data]) == data
    assert spliced(bytewise(data)) == data


def test_a_reason_to_finish_in_every_chunk() -> None:
    data = body([chunk(choice(character, finish_reason="stop")) for character in "Yes " + TEXT])
    for frames in ([data], in_pieces(data, range(0, len(data), 9))):
        assert values(spliced(frames)) == cleaned("chat", values(data))


def test_bytes_that_are_not_utf8_are_no_reason_to_stop() -> None:
    data = body(streamed(["a?b", TEXT])).replace(b"a?b", b"a\xffb")
    assert values(spliced([data])) == cleaned("chat", values(data))


# Whatever comes, memory is bounded


def held_by(splice: Splice) -> int:
    events = splice._events
    kept = sum(map(len, events.skipped)) + sum(len(frame) for _, _, frame in events._sent)
    return len(splice._line) + len(splice._frame) + kept


LONG = {
    "a line": b"x" * 997,
    "a comment": b":" * 997,
    "lines of one frame": b"data: x\n" * 99,
    "lines without a name": b"x\n" * 499,
    "CRs without an end": b"x\r" * 499,
}


@pytest.mark.parametrize("piece", LONG.values(), ids=LONG)
def test_what_is_too_long_is_a_named_error_after_what_was_held(piece: bytes) -> None:
    splice = Splice(max_line=50_000)
    seen, error = splice.feed(begun("chat", TEXT)), None
    for _ in range(99):
        try:
            seen += splice.feed(piece)
        except LineTooLong as raised:
            error = raised
            break
        assert held_by(splice) < 60_000
    assert error is not None
    assert error.max_line == 50_000
    assert values(seen) == cleaned("chat", values(begun("chat", TEXT)), stopped=True)
    with pytest.raises(LineTooLong):
        splice.feed(b"")
    with pytest.raises(LineTooLong):
        splice.close()
    with pytest.raises(SpliceClosed):
        splice.feed(b"")


@every_api
@pytest.mark.parametrize(
    "text", ["It ", "x" * 3000, TEXT, "\ue200cite\ue202turn0file1"], ids=["short", "long", "cited", "held"]
)
@pytest.mark.parametrize("options", [{}, {"sources": rs.SOURCES}], ids=["without sources", "with sources"])
def test_a_stream_without_an_end_is_a_named_error(
    name: str, text: str, options: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cleaner, "MAX_KEPT", 5_000)
    monkeypatch.setattr(cleaner, "MAX_STREAM", 100_000)
    splice = Splice(**options)
    error = None
    objects = streamed([text]) if name == "chat" else stream_of(message(text))
    at = next(number for number, each in enumerate(objects) if json.dumps(text)[1:-1] in json.dumps(each))
    opening = body(objects[:at], done=False)
    splice.feed(opening)
    fed = len(opening)
    delta = body([objects[at]], done=False)
    for _ in range(2_000):
        fed += len(delta)
        try:
            splice.feed(delta)
        except StreamTooLong as raised:
            error = raised
            break
    assert error is not None
    assert 100_000 < fed < 100_000 + 3 * (5_000 + len(delta))
    with pytest.raises(StreamTooLong):
        splice.feed(b"")
    with pytest.raises(StreamTooLong):
        splice.close()


@pytest.mark.parametrize("options", [{}, {"sources": rs.SOURCES}], ids=["without sources", "with sources"])
def test_texts_without_end_are_a_named_error(options: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cleaner, "MAX_TEXTS", 100)
    splice = Splice(**options)
    for number in range(101):
        splice.feed(body([chunk(choice(UNCLOSED, number))], done=False))
    more = body([chunk(choice("x"))], done=False)
    with pytest.raises(StreamTooLong):
        splice.feed(splice.feed(more) and more)  # what is held is given first


@every_api
@pytest.mark.parametrize("end", [DONE, b"data: x\n\n", b'data: {"error": 1}\n\n'])
@pytest.mark.parametrize("options", [{}, {"sources": rs.SOURCES}], ids=["without sources", "with sources"])
def test_ends_without_end_settle_each_text_once(
    name: str, end: bytes, options: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    closes, close = 0, Text.close

    def counted(text: Text, *, complete: bool) -> list[Event]:
        nonlocal closes
        closes += 1
        return close(text, complete=complete)

    monkeypatch.setattr(Text, "close", counted)
    monkeypatch.setattr(cleaner, "MAX_KEPT", 10_000)
    texts = [f"It {number} " for number in range(50)]
    chunks = [chunk(choice(text, number)) for number, text in enumerate(texts)]
    splice = Splice(**options)
    splice.feed(body(chunks if name == "chat" else stream_of(*map(message, texts)), done=False))
    for _ in range(20):
        splice.feed(end * 100)
    assert len(splice.result().parts) == 50
    assert closes < 50 * 20  # there are 2,000 ends, and what is kept is read now and then


def test_comments_without_end_are_not_gathered() -> None:
    splice = Splice(max_line=1_000)
    for front in (begun("chat"), b"data: {\n"):
        splice.feed(front)
        before = held_by(splice)
        for _ in range(999):
            assert splice.feed(b": ping\n") == b": ping\n"
        assert held_by(splice) == before


@every_api
@pytest.mark.parametrize("options", [{}, {"sources": rs.SOURCES}], ids=["without sources", "with sources"])
def test_what_passes_unread_is_kept_up_to_a_limit(name: str, options: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cleaner, "MAX_KEPT", 20_000)
    deltas = ["It "] * 999 + [TEXT] + ["lasts. "] * 99 + [UNCLOSED]
    objects = streamed(deltas) if name == "chat" else stream_of(message(*deltas))
    splice = Splice(**options)
    seen = b""
    for each in objects:
        seen += splice.feed(body([each], done=False))
        assert held_by(splice) < 21_000 + len(body([each]))
    assert values(seen + splice.close()) == cleaned(name, objects, **options)


@every_api
@pytest.mark.parametrize("limit", range(150, 1_500, 45))
def test_the_limit_may_be_reached_anywhere(name: str, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cleaner, "MAX_KEPT", limit)
    deltas = ["It ", *MARKER[:9], "x ", *MARKER[::2], *MARKER, "So"]
    objects = streamed(deltas) if name == "chat" else stream_of(message(*deltas))
    frames = [body([each], done=False) for each in objects]
    assert values(spliced(frames)) == cleaned(name, objects)


def test_a_marker_without_end_is_let_go_at_its_limit() -> None:
    frame = body([chunk(choice("abcd " * 200))], done=False)
    splice = Splice()
    splice.feed(body([chunk(choice("\ue200genui\ue202{"))], done=False))
    (text,) = splice._events._cleaner._core._texts.values()
    seen, longest = b"", 0
    for _ in range(150):
        seen += splice.feed(frame)
        longest = max(longest, len(text.held))
    assert 64_000 < longest <= 65_536
    assert len(seen) > 140_000


def test_a_marker_whose_end_repeats_without_end_waits_no_more_than_a_line() -> None:
    splice = Splice(max_line=20_000)
    events = stream_of(message(UNCLOSED), end=None)
    done = body([each for each in events if each["type"] == "response.output_text.done"], done=False)
    seen = splice.feed(body(events[:4], done=False))
    for _ in range(200):
        seen += splice.feed(done)
        assert held_by(splice) < 25_000 + cleaner.MAX_KEPT
    assert seen.count(b"output_text.done") > 50


# Mistakes in the program


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"api": "anthropic"}, ValueError, "api: must be 'chat', 'responses' or None, not 'anthropic'"),
        ({"sources": [1]}, TypeError, "sources: must be a mapping"),
        ({"annotations": "never"}, ValueError, "annotations: must be one of"),
        ({"unit": "byte"}, ValueError, "unit: must be one of"),
        ({"max_line": 0}, ValueError, "max_line: must be a number"),
        ({"max_marker": 1}, ValueError, "max_marker: must be"),
        ({"complete": True}, TypeError, "complete: is not an option here"),
    ],
    ids=str,
)
def test_a_wrong_option_is_reported_at_once(options: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Splice(**options)


def test_feeding_what_is_not_bytes_or_after_the_end_is_misuse() -> None:
    splice = Splice(sources={"turn0file1": Source("turn0file1")})
    plain = body([chunk(choice("It "))], done=False)
    assert splice.feed(plain) is plain
    for wrong in ("text", None, bytearray(b"data: 5\n\n")):
        with pytest.raises(TypeError, match="data: must be bytes, not "):
            splice.feed(wrong)  # type: ignore[arg-type]
    assert splice.feed(plain) is plain
    assert splice.close() == splice.close() == b""
    with pytest.raises(SpliceClosed):
        splice.feed(b"")


def test_what_is_not_a_source_is_misuse() -> None:
    wrong: Any = {"turn0file1": "a text"}
    with pytest.raises(TypeError, match="must hold a Source"):
        spliced([body(streamed([TEXT]))], sources=wrong)


def test_numbers_that_cannot_be_moved_in_place_are_moved_all_the_same() -> None:
    events: list[Any] = stream_of(message(*MARKER, "So ", "it ", "lasts."))
    for number, event in enumerate(events):
        event["sequence_number"] = 10**17 + number if number % 2 else [10**30, 1.5, -7, "5", None, True][number % 6]
    data = body([json.dumps(event, indent=number % 3 or None) for number, event in enumerate(events)], done=False)
    for pieces in ([data], bytewise(data)):
        assert values(spliced(pieces)) == cleaned("responses", values(data))
