"""The fast lane against the event view: the same answer out of the same bytes, however they are written and cut."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamcite import parse
from streamcite.sse import LineTooLong, encode
from streamcite.testing import recorded_answers, serve
from tests import responses_streams as rs
from tests import strategies as sc
from tests.chats import CHUNK, choice, chunk, halves, streamed
from tests.odd_chats import SILENT_CHUNKS, WIRE, conversations
from tests.processes import PATIENCE
from tests.raw_streams import (
    APIS,
    ASK,
    ASYNC,
    CHAT,
    DONE,
    PLACES,
    RESPONSES,
    TEXT,
    WRITTEN,
    Api,
    AsyncReplay,
    aoutcome,
    async_raw_of,
    body,
    bytewise,
    client_of,
    in_pieces,
    moments,
    outcome,
    raw_of,
    short,
    view_of,
)
from tests.reading import joined
from tests.responses_streams import SILENT_EVENTS, TELLING, UNCLOSED, Item, everywhere, message, stream_of

every_api = pytest.mark.parametrize("api", APIS.values(), ids=APIS)


def check(api: Api, data: bytes, pieces: list[bytes]) -> None:
    for parts in (False, True):
        assert outcome(raw_of(api, pieces), parts=parts) == outcome(view_of(api, [data]), parts=parts)


# However it is written


every_way = pytest.mark.parametrize("written", WRITTEN.values(), ids=WRITTEN)


@pytest.mark.slow
@every_way
@every_api
def test_every_cut_in_two_gives_what_the_event_view_gives(api: Api, written: Any) -> None:
    data = written(short(api, TEXT[:9], TEXT[9:]))
    expected = outcome(view_of(api, [data]))
    assert joined(expected.items) == parse(TEXT, complete=True)
    for at in range(len(data)):
        assert outcome(raw_of(api, in_pieces(data, [at]))) == expected


@every_way
@every_api
def test_byte_by_byte_too(api: Api, written: Any) -> None:
    data = written([*short(api, *TEXT), *short(api, *halves(TEXT), UNCLOSED)])
    expected = outcome(view_of(api, [data]))
    assert outcome(raw_of(api, bytewise(data))) == expected
    # One core reads them all, so that the slower event loop need not give every byte a turn.
    for backend, pieces in (("asyncio", bytewise(data)), ("trio", in_pieces(data, range(0, len(data), 31)))):
        assert anyio.run(lambda: aoutcome(async_raw_of(api, pieces)), backend=backend) == expected  # noqa: B023


# What is recorded


@pytest.fixture(scope="module")
def recorded() -> Iterator[dict[tuple[str, str], bytes]]:
    with serve() as running:
        address = urlsplit(running.base_url).netloc

        def fetched(path: str, **asked: Any) -> bytes:
            with closing(HTTPConnection(address, timeout=PATIENCE)) as connection:
                connection.request("POST", path, json.dumps(asked), {"content-type": "application/json"})
                return connection.getresponse().read()

        usage = {"include_usage": True}
        yield {
            (name, model): fetched("/v1/chat/completions", model=model, messages=ASK, stream=True,
                                   stream_options=usage)
            if api is CHAT
            else fetched("/v1/responses", model=model, input="?", stream=True)
            for name, api in APIS.items()
            for model in recorded_answers()
        }  # fmt: skip


@pytest.mark.parametrize("name", APIS)
@pytest.mark.parametrize("answer", recorded_answers().values(), ids=lambda answer: answer.id)
def test_recorded_answers(recorded: dict[tuple[str, str], bytes], name: str, answer: Any) -> None:
    api, data = APIS[name], recorded[name, answer.id]
    expected = outcome(view_of(api, [data]))
    assert joined(expected.items) == parse(answer.text, complete=True)
    assert expected.complete
    assert expected.usage
    assert outcome(raw_of(api, bytewise(data))) == expected
    # In the pieces of the first marker, too, 997 bytes apart.
    begin, end = (data.index(each) for each in ("\ue200".encode(), "\ue201".encode()))
    for at in range(begin, end, 997):
        assert outcome(raw_of(api, in_pieces(data, [at]))) == expected


@settings(max_examples=4)
@given(st.sampled_from(list(APIS)), st.sampled_from(list(recorded_answers())), PLACES)
def test_recorded_answers_cut_at_random(
    recorded: dict[tuple[str, str], bytes], name: str, model: str, places: list[int]
) -> None:
    api, data = APIS[name], recorded[name, model]
    pieces = in_pieces(data, [place % len(data) for place in places])
    assert outcome(raw_of(api, pieces)) == outcome(view_of(api, [data]))


# Odd streams


@pytest.mark.parametrize("silent", SILENT_CHUNKS.values(), ids=SILENT_CHUNKS)
def test_odd_chunks(silent: Any) -> None:
    data = body([silent, *(each for piece in TEXT for each in (chunk(choice(piece)), silent)), *streamed([])])
    check(CHAT, data, in_pieces(data, range(0, len(data), 999)))
    assert joined(outcome(raw_of(CHAT, [data])).items) == parse(TEXT)


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("silent", [*SILENT_EVENTS, *TELLING], ids=str)
def test_odd_events(silent: Any, named: bool) -> None:
    named = named and isinstance(silent.get("type"), str)
    for end in ("response.completed", None):
        data = body(everywhere(silent, stream_of(message(*TEXT[:9], UNCLOSED), end=end, numbered=False)), named=named)
        check(RESPONSES, data, in_pieces(data, range(0, len(data), 999)))


@pytest.mark.parametrize("name", WIRE)
def test_faulty_chunks(name: str) -> None:
    data, _ = WIRE[name]
    for pieces in ([data], bytewise(data)):
        check(CHAT, data, pieces)


@pytest.mark.parametrize("repeats", range(4))
@pytest.mark.parametrize("end", [*rs.ENDS, None, "error"])
def test_ends_of_a_response(repeats: int, end: str | None) -> None:
    status = "completed" if end == "response.completed" else "incomplete"
    events = stream_of(message(TEXT, UNCLOSED, status=status), end=end if end in rs.ENDS else None)
    gone = [event for event in events if event["type"] in rs.REPEATS][repeats:]
    kept = [event for event in events if event not in gone]
    kept += [{"type": "error", "sequence_number": 99, "message": "no", "code": None, "param": None}] * (end == "error")
    for named in (False, True):
        data = body(kept, named=named, done=False)
        check(RESPONSES, data, bytewise(data))
        assert outcome(raw_of(RESPONSES, [data])).complete == (end in ("response.completed", "response.incomplete"))


@sc.examples(40)
@given(conversations(), PLACES, st.booleans())
def test_conversations_at_every_moment(shapes: list[Any], places: list[int], parts: bool) -> None:
    data = body(shapes)
    with raw_of(CHAT, in_pieces(data, [place % len(data) for place in places])) as view:
        assert moments(view, parts=parts) == moments(view_of(CHAT, [data]), parts=parts)
    check(CHAT, data, [data])


@sc.examples(40)
@given(st.lists(rs.items(), max_size=3), rs.orders(), st.sampled_from([*rs.ENDS, None]), PLACES, st.booleans())
def test_responses_at_every_moment(
    items: list[Item], order: Any, end: str | None, places: list[int], parts: bool
) -> None:
    data = body(stream_of(*items, order=order, end=end), named=parts, escapes=parts)
    with raw_of(RESPONSES, in_pieces(data, [place % len(data) for place in places])) as view:
        assert moments(view, parts=parts) == moments(view_of(RESPONSES, [data]), parts=parts)
    check(RESPONSES, data, [data])


@sc.examples(40)
@given(st.lists(CHUNK, max_size=3))
def test_a_field_of_any_type(shapes: list[Any]) -> None:
    data = body([*shapes, *streamed(["Still read."])])
    raw, view = (outcome(each) for each in (raw_of(CHAT, [data]), view_of(CHAT, [data])))
    assert raw._replace(usage=None) == view._replace(usage=None)  # any float may be in it, also one that equals none
    assert str(raw.items[-1]).endswith("read.")


# What the client's own reader trips over


@every_api
@pytest.mark.parametrize(
    "odd",
    [b"\xef\xbb\xbf", b"id: 1\n\n", b"retry: 5\n\n", b"event: ping\n\n", b"data: 5\n\n", b"data: null\n\n",
     b'event: ping\ndata: "a"\n\n', b"data: []\n\n"],
)  # fmt: skip
def test_frames_without_an_object_are_passed_over(api: Api, odd: bytes) -> None:
    data = odd + body(short(api, *TEXT))
    assert outcome(raw_of(api, bytewise(data))) == outcome(view_of(api, [data[len(odd) :]]))


def test_bytes_that_are_not_utf8_are_replaced() -> None:
    data = body(short(CHAT, "a?b")).replace(b"a?b", b"a\xffb")
    assert "".join(outcome(raw_of(CHAT, [data])).items) == "a\ufffdb"


# Errors


ERRORS: list[Any] = [
    {"message": "overloaded", "type": "server_error", "code": 503, "param": None},
    {"message": ""},
    {"message": 5},
    {"code": "no message"},
    "a text",
    ["a list"],
    True,
]


@every_api
@pytest.mark.parametrize("error", ERRORS, ids=str)
def test_an_error_object_is_the_clients_own_error_after_what_was_held(api: Api, error: Any) -> None:
    begun = short(api, TEXT, UNCLOSED)[:2]
    data = body([*begun, {"error": error}, *begun])
    for pieces in ([data], bytewise(data)):
        check(api, data, pieces)
    seen = outcome(raw_of(api, [data]))
    assert joined(seen.items) == parse(TEXT + UNCLOSED)
    assert seen.error is not None
    assert (seen.error[0], seen.error[2]) == ("APIError", error)
    assert not seen.complete
    assert anyio.run(lambda: aoutcome(async_raw_of(api, [data]))) == seen


@every_api
@pytest.mark.parametrize("bad", ['{"choices": [', "no JSON", "", '{"a": tru}', "[" * 100_000], ids=lambda bad: bad[:9])
def test_what_is_not_json_is_an_error_as_the_client_raises_it(api: Api, bad: str) -> None:
    begun = short(api, TEXT, UNCLOSED)[:2]
    data = body(begun)[: -len(DONE)] + encode(bad) + body(begun)
    for pieces in ([data], [*in_pieces(data, range(0, len(data), 99))]):
        seen = outcome(raw_of(api, pieces))
        assert joined(seen.items) == parse(TEXT + UNCLOSED)
        assert seen == outcome(view_of(api, [data]))
        assert seen.error is not None
        assert seen.error[0] in {"JSONDecodeError", "RecursionError"}


class LostError(Exception):
    """What no HTTP library raises."""


@every_api
def test_another_error_comes_as_it_is(api: Api) -> None:
    lost = LostError("gone")
    with raw_of(api, [body(short(api, TEXT, UNCLOSED)[:2], done=False)], lost) as view:
        seen = []
        with pytest.raises(LostError) as raised:
            seen.extend(view)
        assert raised.value is lost
    assert view.result.parts[0].raw == TEXT + UNCLOSED
    assert (view.held, view.result.complete) == ("", False)
    seen = outcome(raw_of(api, [body(short(api, TEXT, UNCLOSED)[:2], done=False)], lost)).items
    assert joined(seen) == parse(TEXT + UNCLOSED)


@every_api
def test_a_line_that_is_too_long_is_a_named_error_after_what_came_before(api: Api) -> None:
    begun = body(short(api, TEXT, UNCLOSED)[:2], done=False)
    data = begun + b"data: " + b" " * 2**24
    for pieces in ([data], [begun, data[len(begun) :]], in_pieces(data, range(0, len(data), 2**20))):
        with raw_of(api, pieces) as view:
            seen = [next(view) for _ in parse(TEXT + UNCLOSED)]
            with pytest.raises(LineTooLong):
                next(view)
        assert joined(seen) == parse(TEXT + UNCLOSED)
        assert not view.result.complete


def test_a_line_just_short_enough_is_read() -> None:
    data = body(short(CHAT, TEXT)).replace(b"}", b"}" + b" " * (2**24 - 500), 1)
    check(CHAT, data, [data])


def test_bytes_after_the_end_that_are_always_there_are_not_read_for_ever() -> None:
    read = 0

    def pieces() -> Iterator[bytes]:
        nonlocal read
        yield body(short(CHAT, TEXT))
        for read in range(2_000_000):  # noqa: B007 - it is looked at below
            yield b": on\n\n"

    class Ready(AsyncReplay):
        async def iter_bytes(self) -> AsyncIterator[bytes]:  # type: ignore[override]
            for piece in self._pieces:
                yield piece  # without a checkpoint

    for backend in ("asyncio", "trio"):
        opened = CHAT.raw(client_of(ASYNC, Ready(pieces())), model="any", **CHAT.params)
        assert anyio.run(lambda: aoutcome(opened), backend=backend).complete  # noqa: B023
        assert 0 < read < 1_999_999


# Misuse


@every_api
def test_iterations_do_not_mix(api: Api) -> None:
    data = body(short(api, *TEXT))
    ways = {
        "plain": lambda view: view,
        "parts": lambda view: view.iter_parts(),
        "raw": lambda view: view.iter_parts(raw=True),
    }
    for first in ways:
        for second in ways.keys() - {first}:
            with raw_of(api, [data]) as view:
                next(ways[first](view))
                with pytest.raises(RuntimeError, match="being read already"):
                    next(ways[second](view))
                assert next(ways[first](view))

            async def mix(first: Any, second: Any) -> None:
                async with async_raw_of(api, [data]) as events:
                    await anext(first(events))
                    with pytest.raises(RuntimeError, match="being read already"):
                        await anext(second(events))
                    assert await anext(first(events))

            anyio.run(mix, ways[first], ways[second])
