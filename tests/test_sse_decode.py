"""`streamcite.sse.SSEDecoder`: what the standard says, however the bytes are cut, in bounded memory and linear time."""

import itertools
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamcite.sse import DecoderClosed, LineTooLong, ServerSentEvent, SSEDecoder, decode, encode
from tests.sse_streams import (
    BOM,
    LINE_END,
    PIECES,
    Standard,
    as_standard,
    cut_streams,
    outcome,
    over_limit,
    read,
    single,
    streams,
)


def in_two(stream: bytes) -> Iterator[list[bytes]]:
    return ([stream[:i], stream[i:]] for i in range(len(stream) + 1))


field = st.none() | st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"]))


# What the standard says


def test_the_examples_of_the_standard() -> None:
    assert SSEDecoder().feed(b"data: YHOO\ndata: +2\ndata: 10\n\n") == [ServerSentEvent(b"YHOO\n+2\n10")]
    decoder = SSEDecoder()
    assert decoder.feed(b": test stream\n\ndata: first event\nid: 1\n\n") == [ServerSentEvent(b"first event", id="1")]
    assert decoder.last_event_id == "1"
    assert decoder.feed(b"data:second event\nid\n\n") == [ServerSentEvent(b"second event", id="")]
    assert decoder.last_event_id == ""
    assert decoder.feed(b"data:  third event\n\n") == [ServerSentEvent(b" third event")]
    assert decoder.close() == b""
    decoder = SSEDecoder()
    assert decoder.feed(b"data\n\ndata\ndata\n\ndata:") == [ServerSentEvent(b""), ServerSentEvent(b"\n")]
    assert decoder.close() == b"data:"
    assert SSEDecoder().feed(b"data:test\n\ndata: test\n\n") == [ServerSentEvent(b"test")] * 2


@given(cut_streams())
def test_every_stream_is_read_as_the_standard_says_however_it_is_cut(drawn: tuple[bytes, list[bytes]]) -> None:
    stream, parts = drawn
    standard = Standard(stream)
    for cut in ([stream], parts, single(stream)):
        events, error, rest, last_event_id, retry = outcome(cut)
        assert error is None
        assert list(map(as_standard, events)) == standard.events
        assert [(event.id, event.retry) for event in events] == standard.own
        assert rest.decode("utf-8", "replace") == standard.rest
        assert (last_event_id, retry) == (standard.last_event_id, standard.retry)


@given(streams)
def test_the_last_event_id_is_that_of_the_newest_event(stream: bytes) -> None:
    decoder = SSEDecoder()
    ids = [decoder.last_event_id for part in single(stream) for _ in decoder.feed(part)]
    assert ids == Standard(stream).ids


WHOLE = (
    BOM + b": hello\r\n\r\nevent: a\r\ndata: \xf0\x9f\x98\x80\r\ndata:\xe2\x80\xa8\r\n\r\nid: 7\rretry: 50\r\r\n"
    b"data: {}\n\n\n\nevent: b\ndata: 1\n\ndata\n\n:\nid\ndata:  x\n\ndata: never\r\nthe e"
)


def test_every_cut_in_two_and_three() -> None:
    whole = outcome([WHOLE])
    events = [
        *(ServerSentEvent("😀\n\u2028".encode(), event="a"), ServerSentEvent(b"{}"), ServerSentEvent(b"1", event="b")),
        *(ServerSentEvent(b""), ServerSentEvent(b" x", id="")),
    ]
    assert whole == (events, None, b"data: never\nthe e", "", 50)
    for first, behind in in_two(WHOLE):
        for second, third in in_two(behind):
            assert outcome([first, second, third]) == whole


@pytest.mark.slow
@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_every_partition_of_short_streams(end: bytes) -> None:
    for stream in (
        b"data" + end * 2 + end + b"id",
        BOM + b"id" + end + b"data" + end * 2,
        end + b":" + end + b"data" + end,
    ):
        whole = outcome([stream])
        between = range(1, len(stream))
        for size in range(len(stream)):
            for places in itertools.combinations(between, size):
                assert outcome([stream[i:j] for i, j in itertools.pairwise([0, *places, len(stream)])]) == whole


def test_only_one_byte_order_mark_and_only_at_the_start() -> None:
    assert SSEDecoder().feed(BOM + b"data: x\n\n") == [ServerSentEvent(b"x")]
    assert SSEDecoder().feed(BOM + BOM + b"data: x\n\n") == []
    assert SSEDecoder().feed(b"\n" + BOM + b"data: x\n\n") == []
    assert SSEDecoder().feed(b"data: " + BOM + b"\n\n") == [ServerSentEvent(BOM)]
    assert read(SSEDecoder(), [b"", b"data: 1\n\n", BOM + b"data: 2\n\n"]) == [ServerSentEvent(b"1")]
    decoder = SSEDecoder()
    assert read(decoder, [b"", BOM[:1], b"", BOM[1:2]]) == []
    assert decoder.close() == BOM[:2]


def test_an_id_with_nul_and_a_retry_that_is_not_a_number_are_ignored() -> None:
    decoder = SSEDecoder()
    (event,) = decoder.feed(b"id: 1\nid: 2\0\nretry: 10\nretry: 1e3\nretry\nretry: \xd9\xa3\ndata\n\n")
    assert (event.id, event.retry) == (decoder.last_event_id, decoder.retry) == ("1", 10)
    assert decoder.feed(b"data\nretry: " + b"9" * 5000 + b"\nid: \0\n\n") == [ServerSentEvent(b"")]
    assert (decoder.last_event_id, decoder.retry) == ("1", 10)


def test_an_event_comes_out_with_the_first_byte_that_ends_it() -> None:
    for end in (b"\n", b"\r"):
        decoder = SSEDecoder()
        assert decoder.feed(b"data: x" + end) == []
        assert decoder.feed(end) == [ServerSentEvent(b"x")]
    decoder = SSEDecoder()
    assert read(decoder, [b"data: x\r", b"\n"]) == []
    assert decoder.feed(b"\r") == [ServerSentEvent(b"x")]
    assert decoder.feed(b"\ndata: y\n\n") == [ServerSentEvent(b"y")]


def test_an_event_is_an_immutable_value_whose_text_is_decoded_on_demand() -> None:
    (event,) = SSEDecoder().feed(b"data: caf\xc3\xa9 \xff\nid: 1\nevent: e\nretry: 5\n\n")
    assert event == ServerSentEvent(data=b"caf\xc3\xa9 \xff", event="e", id="1", retry=5)
    assert event.text == "café \ufffd"
    assert hash(event) == hash(ServerSentEvent(b"caf\xc3\xa9 \xff", "e", "1", 5))
    field = "data"
    with pytest.raises(AttributeError):
        setattr(event, field, b"")


@given(st.lists(st.tuples(st.text(), field, field), max_size=4), st.data())
def test_what_encode_writes_is_read_back(sent: list[tuple[str, str | None, str | None]], data: st.DataObject) -> None:
    stream = b"".join(encode(text, event=event, id=id) for text, event, id in sent)
    cut = data.draw(st.integers(0, len(stream)))
    decoder = SSEDecoder()
    received = [(event.text, event.event, event.id) for event in read(decoder, [stream[:cut], stream[cut:]])]
    assert received == [(LINE_END.sub("\n", text), event or None, id) for text, event, id in sent]
    assert decoder.close() == b""


# The end


def test_a_frame_that_has_not_ended_is_reported_and_not_delivered() -> None:
    decoder = SSEDecoder()
    assert read(decoder, [b"data: 1\n\nid: 2\r\n: ping\r\ndata: [DO", b"NE]"]) == [ServerSentEvent(b"1")]
    assert decoder.close() == b"id: 2\ndata: [DONE]"
    assert decoder.close() == b""
    assert decoder.last_event_id == ""


def test_nothing_is_reported_between_two_frames_or_of_a_comment() -> None:
    for end in (b"", b"\n", b"\r", b": ping", b": ping\n", b": ping\n:"):
        decoder = SSEDecoder()
        decoder.feed(b"data: 1\n\n" + end)
        assert decoder.close() == b""


def test_a_reconnection_time_counts_without_an_empty_line_and_an_id_does_not() -> None:
    decoder = SSEDecoder()
    decoder.feed(b"retry: 7\nid: 1\nretry: 9")
    assert decoder.close() == b"retry: 7\nid: 1\nretry: 9"
    assert (decoder.retry, decoder.last_event_id) == (7, "")


def test_feeding_a_closed_decoder_is_misuse() -> None:
    decoder = SSEDecoder()
    decoder.feed(b"data: 1\n\n")
    decoder.close()
    for data in (b"data: 1\n\n", b"", b"x"):
        with pytest.raises(DecoderClosed, match="make a new one"):
            decoder.feed(data)


def test_what_is_not_bytes_is_misuse_and_changes_nothing() -> None:
    decoder = SSEDecoder()
    wrong: Any
    for part in (b"", b"data: 1\n\n", b"data: 2", b"\n\n"):
        for wrong in ("data: 3\n\n", bytearray(b"data: 3\n\n"), memoryview(b"data: 3\n\n"), None, 3):
            with pytest.raises(TypeError, match=r"^data: must be bytes, not "):
                decoder.feed(wrong)
        decoder.feed(part)
    assert decoder.feed(b"data: 4\n\n") == [ServerSentEvent(b"4")]


# Limits


@given(cut_streams(), st.integers(1, 40))
def test_the_limit_holds_however_the_stream_is_cut(drawn: tuple[bytes, list[bytes]], limit: int) -> None:
    stream, parts = drawn
    before = over_limit(stream, limit)
    unlimited = outcome([stream])
    for cut in ([stream], parts, single(stream)):
        events, error, rest, last_event_id, retry = outcome(cut, max_line=limit)
        if before is None:
            assert (events, error, rest, last_event_id, retry) == unlimited
        else:
            assert events == unlimited[0][:before]
            assert error == f"a line of the stream, or the lines of one event, are longer than {limit} bytes"
            assert rest == b""


def test_a_line_may_be_as_long_as_the_limit() -> None:
    line = b"data: " + b"x" * 94
    for cut in ([line + b"\n\n"], single(line + b"\n\n")):
        assert read(SSEDecoder(max_line=100), cut) == [ServerSentEvent(b"x" * 94)]
        decoder = SSEDecoder(max_line=99)
        with pytest.raises(LineTooLong, match="longer than 99 bytes") as caught:
            read(decoder, cut)
        assert (caught.value.max_line, caught.value.events) == (99, [])
        with pytest.raises(LineTooLong):
            read(SSEDecoder(max_line=99), [b"\n", *cut])
        with pytest.raises(DecoderClosed):
            decoder.feed(b"data: 1\n\n")


def test_a_comment_is_a_line_and_no_part_of_a_frame() -> None:
    ping = b":" + b"x" * 99
    for end in (b"\n", b"\n\n", b""):
        for cut in ([ping + end], single(ping + end)):
            assert read(SSEDecoder(max_line=100), [b"data: 1\n", *cut]) == [ServerSentEvent(b"1")] * (len(end) // 2)
            with pytest.raises(LineTooLong):
                read(SSEDecoder(max_line=99), [b"data: 1\n", *cut])


def test_the_error_bears_the_events_that_stand_before_it() -> None:
    decoder = SSEDecoder(max_line=20)
    with pytest.raises(LineTooLong) as caught:
        decoder.feed(b"data: 1\n\nid: 5\ndata: 2\n\ndata: " + b"x" * 20)
    assert caught.value.events == [ServerSentEvent(b"1"), ServerSentEvent(b"2", id="5")]
    assert decoder.last_event_id == "5"


def test_the_default_limit_lets_a_line_of_sixteen_mebibytes_through_and_no_more() -> None:
    line = b"data: " + b"x" * (16 * 2**20 - 6)
    decoder = SSEDecoder()
    (event,) = read(decoder, [line[: 2**20], line[2**20 :], b"\n\n"])
    assert len(event.data) == 16 * 2**20 - 6
    assert read(decoder, [line]) == []
    with pytest.raises(LineTooLong):
        decoder.feed(b"x")


def test_a_byte_order_mark_is_not_a_line() -> None:
    assert read(SSEDecoder(max_line=1), [BOM[:2], BOM[2:], b"d\n\n"]) == []


@pytest.mark.parametrize("limit", [0, -1, None, 1.5, "1"])
def test_a_wrong_limit_is_misuse(limit: Any) -> None:
    with pytest.raises(ValueError, match=r"^max_line: must be a number of at least 1 byte, not "):
        SSEDecoder(max_line=limit)


# Memory and work, by counts


def held(decoder: SSEDecoder) -> int:
    return sys.getsizeof(decoder._lines) + sys.getsizeof(decoder._line)


@pytest.mark.parametrize("line", [b"data:\n", b"data\r", b"x\r\n", b"data: abc\n", b"event: a\n"])
def test_a_frame_of_endless_lines_is_bounded(line: bytes) -> None:
    decoder = SSEDecoder(max_line=1000)
    for _ in range(1001 // (len(line.strip()) + 1)):
        assert read(decoder, [line[:2], line[2:]]) == []
        assert held(decoder) < 1500
    with pytest.raises(LineTooLong):
        read(decoder, [line[:2], line[2:]])
    assert held(decoder) < 200


def test_endless_comments_are_not_held() -> None:
    decoder = SSEDecoder(max_line=1000)
    for _ in range(2000):
        assert decoder.feed(b": pi") == decoder.feed(b"ng\r") == []
        assert held(decoder) < 200
    assert decoder.feed(b"data: x\n\n") == [ServerSentEvent(b"x")]


class Counting(bytearray):
    """What the decoder holds, counting the bytes that are copied out of it."""

    copied = 0

    def __bytes__(self) -> bytes:
        Counting.copied += len(self)
        return b"".join([self])

    def __add__(self, other: Any) -> Any:
        Counting.copied += len(self) + len(other)
        return bytearray.__add__(self, other)


@pytest.mark.parametrize(
    ("line", "step"),
    [
        pytest.param(b"data: " + b"x" * 2**16 + b"\n", 1, id="one line of 64 KiB"),
        pytest.param(b"data: x\n" * 2**11, 1, id="many lines"),
        pytest.param(b"data: x\r\n" * 2**11, 3, id="many lines that end in CRLF"),
        pytest.param(b": ping\n" * 2**11, 2, id="many comments"),
        pytest.param(b"id: 7\n\n" * 2**11, 1, id="many frames"),
    ],
)
def test_what_is_held_is_copied_a_fixed_number_of_times(
    line: bytes, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decode, "bytearray", Counting, raising=False)
    monkeypatch.setattr(Counting, "copied", 0)
    decoder = SSEDecoder()
    stream = line + b"\n"
    for i in range(0, len(stream), step):
        decoder.feed(stream[i : i + step])
    decoder.close()
    assert len(stream) / 2 < Counting.copied <= 2 * len(stream)


def test_a_usual_frame_in_one_read_takes_the_short_way(monkeypatch: pytest.MonkeyPatch) -> None:
    decoder = SSEDecoder()
    decoder.feed(b"")
    decoder.feed(b"\n")

    def fail(self: SSEDecoder, data: bytes) -> None:
        raise AssertionError(data)

    monkeypatch.setattr(SSEDecoder, "_feed_part", fail)
    assert decoder.feed(encode("é")) == [ServerSentEvent("é".encode())]
    assert decoder.feed(encode("{}", event="a.b")) == [ServerSentEvent(b"{}", event="a.b")]


@given(st.lists(st.sampled_from(PIECES), max_size=6).map(b"".join), st.sampled_from([b"\n\n", b"\n\n\n", b"\r\n\n"]))
def test_the_short_way_leads_where_the_long_one_does(frame: bytes, end: bytes) -> None:
    for stream in (b"data: " + frame + end, b"event: " + frame + b"\ndata: " + frame + end):
        short, long = SSEDecoder(), SSEDecoder()
        short.feed(b"\n")
        long.feed(b"\n")
        assert short.feed(stream) == read(long, single(stream))
        assert (short.close(), short.last_event_id, short.retry) == (long.close(), long.last_event_id, long.retry)


def test_whether_a_frame_is_open() -> None:
    decoder = SSEDecoder()
    assert not decoder.in_frame
    for data, is_open in (
        (b"\xef\xbb", True),
        (b"\xbf", False),
        (b": a comment\n", False),
        (b"\n", False),
        (b"id: 1", True),
        (b"\r", True),
        (b"\n: another\n", True),
        (b"\r", False),
        (b"\n", False),
        (b"data: 5\n\n", False),
        (b"data: 5\n\ndata", True),
    ):
        decoder.feed(data)
        assert decoder.in_frame == is_open
