"""What a splice makes of lines: comments, line ends, frames without data, and parts of frames."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamcite.relay import Splice, SpliceClosed
from streamcite.sse import LineTooLong, ServerSentEvent, SSEDecoder
from tests.chats import SOURCES, choice, chunk, hosted, streamed
from tests.markers import MARKER
from tests.raw_streams import body, bytewise, in_pieces
from tests.responses_streams import Item, Part, stream_of
from tests.splices import DELTAS, cleaned, every_api, objects_of, spliced, up_to_the_end, values


@every_api
@pytest.mark.parametrize(
    "frame",
    [
        *(": ping\ndata: {}\n\n", "data: {}\n: ping\n\n", ": ping\nid: 7\ndata: {}\n\n", "id: 7\n: ping\ndata: {}\n\n"),
        *(": ping\n\ndata: {}\n\n", "data: {}\n\n: ping\n\n", "event: a\n: ping\ndata: {}\n\n"),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_comment_passes_once_however_it_is_cut(name: str, frame: str, end: str) -> None:
    frames = [frame.replace("{}", json.dumps(each)).replace("\n", end).encode() for each in objects_of(name, *DELTAS)]
    wire = b"".join(frames)
    expected = cleaned(name, values(wire))
    for pieces in ([wire], frames, bytewise(wire), *(in_pieces(wire, [at]) for at in range(0, len(wire), 199))):
        seen = spliced(pieces)
        assert seen.count(b": ping") == len(frames)
        assert values(seen) == expected


@every_api
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    "frame", ["data: {}\n: ping\n\n", "event: a\n: ping\n: ping\ndata: {}\n\n", ": ping\ndata: {}\n\n"]
)
def test_a_byte_order_mark_stays_in_front_of_comments(name: str, frame: str, end: str) -> None:
    first, *others = objects_of(name, *DELTAS)
    begun = b"\xef\xbb\xbf" + frame.replace("{}", json.dumps(first)).replace("\n", end).encode()
    wire = begun + body(others)
    for pieces in ([wire], bytewise(wire), *(in_pieces(wire, [at]) for at in range(0, len(begun), 7))):
        seen = spliced(pieces)
        assert seen.startswith(b"\xef\xbb\xbf")
        assert values(seen) == cleaned(name, values(wire))
    # Where it is not at the start it is part of a line.
    assert values(spliced([b": ping\n\n", wire])) == cleaned(name, values(b"\n" + wire))


@every_api
def test_a_part_of_a_frame_is_not_taken_for_whole_frames(name: str) -> None:
    objects = objects_of(name, *["It "] * 9, f"a{MARKER}.", *["So "] * 9)
    texts = [json.dumps(each, ensure_ascii=False) for each in objects]
    at = next(number for number, text in enumerate(texts) if MARKER in text)
    frames = [f"data: {text}\n\n".encode() for text in texts]
    plain, marked = frames[at - 1], frames[at]
    head, tail = (part.encode() for part in texts[at].split(" ", 1))
    for part, rest in [
        (b"d", marked[1:]),
        (plain + b"d", marked[1:]),
        (b"\n" + plain + b"d", marked[1:]),
        (b"\n\n" + plain + b"d", marked[1:]),
        (b"data: " + head + b"\n", b"data: " + tail + b"\n\n"),
        (b"\n\n\ndata: " + head + b"\n", b"data: " + tail + b"\n\n"),
        (b"data: " + head + b"\nx\n", b"data: " + tail + b"\n\n"),
    ]:
        wire = [*frames[:at], part, rest, *frames[at + 1 :]]
        assert values(spliced(wire)) == cleaned(name, values(b"".join(wire)))


@every_api
def test_an_end_is_not_an_error_unless_it_is_said_to_be(name: str) -> None:
    unclosed = choice("lasts \ue200cite\ue202turn0file1")
    going_on = [chunk(choice("It ")), chunk(choice(finish_reason="stop")), chunk(unclosed)]
    objects = going_on if name == "chat" else objects_of(name, *DELTAS)[:-1]
    wire = b"".join(b"data: " + json.dumps(each).encode() + b"\n\n" for each in objects)
    ends = []
    for options in ({}, {"stopped": False}, {"stopped": True}):
        splice = Splice(sources=SOURCES)
        splice.feed(wire)
        ends.append(splice.close(**options))
    assert ends[0] == ends[1]
    assert (ends[1] != ends[2]) == (name == "chat")


def test_annotations_are_moved_wherever_a_read_names_them() -> None:
    parts = [
        chunk(choice("It \ue200cite\ue202turn0file1\ue201 lasts. ")),
        chunk(choice("", annotations=[hosted(0, 30)])),
    ]
    frames = [b"annotation\ndata: " + json.dumps(each).encode() + b"\n\n" for each in parts]
    expected = cleaned("chat", values(b"".join(frames)), sources=SOURCES)
    assert values(spliced(frames, sources=SOURCES)) == expected
    assert values(spliced(frames)) == cleaned("chat", values(b"".join(frames)))


@every_api
def test_what_is_plain_passes_in_order_however_its_lines_come(name: str) -> None:
    frames = [b"data: " + json.dumps(each).encode() + b"\n\n" for each in objects_of(name, *["It ", "lasts. "] * 3)]
    wire = b"".join(frames)
    for number in range(1, len(frames) - 1):
        before, frame, behind = b"".join(frames[:number]), frames[number], b"".join(frames[number + 1 :])
        for at in (len(frame) - 1, len(frame) // 2, 1):
            assert spliced([*frames[:number], frame[:at], frame[at:] + behind]) == wire
            assert spliced([before, frame[:at], frame[at:], behind]) == wire


@every_api
def test_nothing_is_fed_to_a_closed_splice(name: str) -> None:
    frame = b"data: " + json.dumps(objects_of(name, "It ")[0]).encode() + b"\n\n"
    splice = Splice()
    for _ in range(3):
        assert splice.feed(frame) is frame
    odd: Any
    for odd in (frame.decode(), bytearray(frame), memoryview(frame), [*frame], None):
        with pytest.raises(TypeError, match=rf"^data: must be bytes, not {type(odd).__name__}"):
            splice.feed(odd)
    assert [splice.feed(data) for data in (b"", b"\n", frame)] == [b"", b"\n", frame]
    splice.close()
    for data in (frame, b"", b"data: \\ue200\n\n"):
        with pytest.raises(SpliceClosed, match=r"^feed\(\) after close\(\)"):
            splice.feed(data)
    assert splice.close() == b""


@every_api
def test_what_is_too_long_is_reported_again_and_nothing_passes_after_it(name: str) -> None:
    frame = b"data: " + json.dumps(objects_of(name, "It ")[0]).encode() + b"\n\n"
    splice = Splice(max_line=len(frame))
    for _ in range(3):
        assert splice.feed(frame) is frame
    for data in (b"data: \xee\x88\x80" + b"x" * len(frame) + b"\n\n", frame, b"", b"data: \xee\x88\x80\n\n"):
        with pytest.raises(LineTooLong):
            splice.feed(data)
    with pytest.raises(LineTooLong):
        splice.close()


@every_api
def test_a_line_that_is_not_a_field_hides_no_marker(name: str) -> None:
    frames = [b"data: " + json.dumps(each).encode() + b"\n\n" for each in objects_of(name, *["It "] * 4, *DELTAS)]
    begun = len(frames) // 3
    for odd in ("\ue200\n\n", "\ue200cite\n\n", "\n\n", "\n\n\n\n", "id: 7\n\n"):
        pieces = [*frames[:begun], odd.encode() + b"".join(frames[begun:])]
        assert values(spliced(pieces)) == cleaned(name, values(b"".join(pieces)))


@pytest.mark.parametrize("closing", [True, False])
def test_a_line_that_is_too_long_is_not_an_end(closing: bool) -> None:
    unclosed = choice("lasts \ue200cite\ue202turn0file1")
    going_on = [chunk(choice("It ")), chunk(choice(finish_reason="stop")), chunk(unclosed)]
    wire = b"".join(b"data: " + json.dumps(each).encode() + b"\n\n" for each in going_on)
    splice = Splice(sources=SOURCES, max_line=1_000)
    splice.feed(wire)
    if closing:
        assert b"url_citation" in splice.close()
    else:
        with pytest.raises(LineTooLong):
            splice.feed(b"data: \xee\x88\x80" + b"x" * 1_000)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("line", ["id: 7", "retry: 5", "event: a", "data", "odd"])
def test_a_frame_without_data_passes_at_once(line: str, end: str) -> None:
    splice = Splice()
    first, second = (f"data: {json.dumps(each)}{end}{end}".encode() for each in objects_of("chat", "It ", MARKER)[:2])
    frame = f"{line}{end}{end}".encode()
    for _ in range(2):
        assert splice.feed(first) == first
        assert splice.feed(frame) == frame
        assert splice.feed(frame[:3]) + splice.feed(frame[3:]) == frame
        assert splice.feed(second) == b""
        assert splice.feed(frame) == frame
    assert splice.close() == b""


@every_api
@pytest.mark.parametrize("options", [{}, {"sources": SOURCES}, {"sources": SOURCES, "render": "links"}])
@pytest.mark.parametrize("annotations", ["streamed", "final"])
def test_each_event_by_itself_gives_what_the_view_gives(name: str, options: Any, annotations: Any) -> None:
    objects = objects_of(
        name, *["It "] * 4, *DELTAS, *["so "] * 4, f"a{MARKER} b {MARKER}", *["so "] * 4, *DELTAS, *["on "] * 4
    )
    frames = [b"data: " + json.dumps(each).encode() + b"\n\n" for each in objects]
    given = {**options, "annotations": annotations}
    together = spliced([b"".join(frames)], **given)
    assert spliced(frames, **given) == together
    if "render" not in options:
        assert values(together) == cleaned(name, json.loads(json.dumps(objects)), **given)


LINES = [": c", ":", "", "", "id: 7", "x", "data", *(f"data: {json.dumps(each)}" for each in streamed(DELTAS))]


@given(st.lists(st.tuples(st.sampled_from(LINES), st.sampled_from(["\n", "\r", "\r\n"]))), st.data())
def test_lines_of_any_kind_are_read_alike_in_any_cut(lines: list[tuple[str, str]], data: st.DataObject) -> None:
    wire = "".join(map("".join, lines)).encode()
    cuts = data.draw(st.lists(st.integers(0, len(wire)), max_size=5))
    whole = spliced([wire])
    assert up_to_the_end(values(whole)) == cleaned("chat", values(wire))
    for pieces in (bytewise(wire), in_pieces(wire, sorted(cuts))):
        seen = spliced(pieces)
        assert values(seen) == values(whole)
        for line in (b": c", b"id: 7"):
            assert seen.count(line) == whole.count(line)


@every_api
def test_a_comment_between_a_cr_and_an_lf_leaves_two_line_ends(name: str) -> None:
    frames = [b"data: %b\r: c\n\n" % json.dumps(each).encode() for each in objects_of(name, *DELTAS)]
    wire = b"".join(frames)
    for pieces in ([wire], frames, bytewise(wire)):
        assert values(spliced(pieces)) == cleaned(name, values(wire))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("begin", ["", "data: 1\n"])
@pytest.mark.parametrize("line", [": ping\n", ":\n", ": ping\n\n", "\n"])
def test_lines_without_meaning_are_read_together(
    line: str, begin: str, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fed: list[bytes] = []
    feed = SSEDecoder.feed

    def counted(decoder: SSEDecoder, data: bytes) -> list[ServerSentEvent]:
        fed.append(data)
        return feed(decoder, data)

    monkeypatch.setattr(SSEDecoder, "feed", counted)
    splice = Splice()
    wire = [text.replace("\n", end).encode() for text in (begin, line * 5000)]
    seen = b"".join(map(splice.feed, wire)) + splice.close()
    assert sorted(seen) == sorted(b"".join(wire))
    assert len(fed) < 10


def test_log_probabilities_of_pieces_that_are_the_same_are_told_apart() -> None:
    deltas = ["It ", "\ue200", "cite", "\ue202", "aa", "aa", "aa", "\ue201 lasts", " long."]
    objects = stream_of(Item([Part(deltas, logprobs=True)]))
    frames = [b"data: " + json.dumps(each).encode() + b"\n\n" for each in objects]
    for pieces in (frames, [b"".join(frames)]):
        assert values(spliced(pieces)) == cleaned("responses", json.loads(json.dumps(objects)))


@pytest.mark.parametrize("frame", ["event: a\r\n: c\r\ndata: {}\r\n\r\n", "data: {}\r\n: c\r\n: d\r\ndata: 1\r\n\r\n"])
def test_an_lf_that_comes_late_after_a_comment_ends_no_frame(frame: str) -> None:
    data = frame.encode()
    expected = SSEDecoder().feed(data)
    for at in range(len(data)):
        for pieces in ([data[:at], data[at:]], [data[:at], b"", data[at:]], bytewise(data)):
            assert SSEDecoder().feed(spliced(pieces)) == expected
