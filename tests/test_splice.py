"""The splice against the object view: the same events out of the same bytes, however they are written and cut."""

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamcite import CHATGPT, OPENAI, CitationFormat, Source, clean
from streamcite.relay import Splice
from streamcite.testing import Server, recorded_answers
from tests import responses_streams as rs
from tests import strategies as sc
from tests.chats import CHUNK, SOURCES, TOOL_CALL, choice, chunk, halves, hosted, streamed
from tests.markers import MARKER
from tests.odd_chats import conversations
from tests.raw_streams import APIS, ASK, TEXT, WRITTEN, body, bytewise, in_pieces, short
from tests.responses_streams import UNCLOSED, Part, stream_of
from tests.splices import (
    ALL_SOURCES,
    cleaned,
    every_api,
    framed,
    objects_of,
    spelled,
    spliced,
    up_to_the_end,
    values,
)
from tests.upstreams import Upstream

every_way = pytest.mark.parametrize("written", WRITTEN.values(), ids=WRITTEN)


def lines_of(data: bytes) -> list[bytes]:
    """Give the lines in any order, without empty ones: a comment passes before its frame where that is cut."""
    return sorted(filter(None, data.splitlines()))


# However it is written


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "written"),
    [("chat", way) for way in WRITTEN.values()] + [("responses", WRITTEN[way]) for way in ("UTF-8", "CRLF", "named")],
)
def test_every_cut_in_two_gives_the_same_bytes(name: str, written: Any) -> None:
    data = written(short(APIS[name], TEXT[:9], TEXT[9:]))
    whole = spliced([data])
    assert up_to_the_end(values(whole)) == cleaned(name, values(data))
    for at in range(len(data)):
        assert lines_of(spliced(in_pieces(data, [at]))) == lines_of(whole)


@pytest.mark.slow
@every_way
@every_api
@pytest.mark.parametrize("options", [{}, {"sources": ALL_SOURCES}], ids=["without sources", "with sources"])
def test_byte_by_byte_too(name: str, written: Any, options: Any) -> None:
    data = written([*objects_of(name, *TEXT), *objects_of(name, *halves(TEXT), UNCLOSED)])
    expected = cleaned(name, values(data), **options)
    for pieces in ([data], bytewise(data)):
        seen = values(spliced(pieces, **options))
        assert up_to_the_end(seen) == expected
        assert not any(token in str(seen) for token in OPENAI.tokens)


@pytest.fixture(scope="module")
def bodies(recorded: Server) -> dict[tuple[str, str], bytes]:
    """Give the recorded answers as they stand on the wire."""
    server = Upstream(recorded.base_url.removesuffix("/v1"))
    asked: dict[str, Any] = {
        "chat": {"messages": ASK, "stream_options": {"include_usage": True}},
        "responses": {"input": "?"},
    }
    paths = {"chat": "/v1/chat/completions", "responses": "/v1/responses"}
    return {
        (name, model): server.post(paths[name], {"model": model, "stream": True, **asked[name]})
        for name in APIS
        for model in recorded_answers()
    }


@every_api
@pytest.mark.parametrize("answer", recorded_answers().values(), ids=lambda answer: answer.id)
@pytest.mark.parametrize("cited", [False, True], ids=["without sources", "with sources"])
def test_recorded_answers(bodies: dict[tuple[str, str], bytes], name: str, answer: Any, cited: bool) -> None:
    data = bodies[name, answer.id]
    sources = {id: Source(id, title=each.title, url=f"https://a.example/{id}") for id, each in answer.sources.items()}
    options: Any = {"sources": sources} if cited else {}
    expected = cleaned(name, values(data), **options)
    whole = spliced([data], **options)
    assert values(whole) == expected
    assert clean(answer.text, complete=True) in "".join(texts_of(name, expected))
    assert spliced(in_pieces(data, range(0, len(data), 7)), **options) == whole
    assert spliced([whole], **options) == whole
    # In and beside both tokens of the first marker, between them, and anywhere.
    begin, end = (data.index(each) for each in ("\ue200".encode(), "\ue201".encode()))
    for at in [*range(begin, begin + 4), *range(begin, end, 499), *range(end, end + 4), len(data) // 2]:
        assert spliced(in_pieces(data, [at]), **options) == whole


def texts_of(name: str, objects: list[Any]) -> list[str]:
    found = [each for each in objects if isinstance(each, dict)]
    if name == "responses":
        return [each["delta"] for each in found if each["type"] == "response.output_text.delta"]
    return [one["delta"].get("content") or "" for each in found for one in each["choices"]]


@sc.examples(20)
@given(st.sampled_from(sorted(APIS)), st.sampled_from(sorted(recorded_answers())), st.lists(st.integers(0, 10**6)))
def test_recorded_answers_cut_at_random(
    bodies: dict[tuple[str, str], bytes], name: str, model: str, places: list[int]
) -> None:
    data = bodies[name, model]
    assert spliced(in_pieces(data, [place % len(data) for place in places])) == spliced([data])


# Anything in any spelling


MODES: list[dict[str, Any]] = [
    {},
    {"sources": ALL_SOURCES},
    {"sources": ALL_SOURCES, "annotations": "final"},
    {"sources": ALL_SOURCES, "annotations": "off"},
    {"sources": {}, "unit": "utf16"},
    {"format": CHATGPT},
    {"malformed": "keep"},
]
ENDS: list[list[Any]] = [[], ["[DONE]"], [{"error": {"message": "overloaded"}}], ["{bad"]]


@st.composite
def chats(draw: st.DrawFn) -> list[Any]:
    """Draw chunks, among them some with annotations of the server's own, calls of tools, and much text."""
    others = [
        [chunk(choice("plain ", annotations=[hosted(0, 6)]))],
        [chunk(choice(None, annotations=[hosted(2, 9)]))],
        [chunk(choice(tool_calls=[TOOL_CALL]))],
        [chunk(choice("plain "))] * 3,
    ]
    shapes: list[Any] = []
    for shape in draw(conversations()):
        shapes += [shape, *(draw(st.sampled_from(others)) if draw(st.integers(0, 2)) == 0 else [])]
    return shapes


@st.composite
def responses(draw: st.DrawFn) -> list[Any]:
    """Draw the events of a response, some with annotations of the server's own, or log probabilities."""
    items = []
    for item in draw(st.lists(rs.items(), max_size=3)):
        parts = []
        for part in item.parts:
            is_hosted = part.field == "output_text" and draw(st.integers(0, 3)) == 0
            place = {"type": "url_citation", "start_index": 0, "end_index": draw(st.integers(0, 20))}
            own = [{**place, "title": "t", "url": "https://a.example"}] if is_hosted else []
            parts.append(Part(part.deltas, part.field, own, draw(st.integers(0, 5)) == 0))
        items.append(rs.Item(parts, item.phase, item.index, item.status))
    end = draw(st.sampled_from([*rs.ENDS, None]))
    return stream_of(*items, order=draw(rs.orders()), end=end, numbered=draw(st.booleans()))


@sc.examples(80)
@given(st.data())
def test_any_stream_in_any_spelling(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(APIS)))
    objects = data.draw(chats() if name == "chat" else responses()) + data.draw(st.sampled_from(ENDS))
    order, options = random.Random(data.draw(st.integers(0, 10**6))), data.draw(st.sampled_from(MODES))
    write = data.draw(st.sampled_from([spelled, lambda value, _: json.dumps(value, separators=(",", ":"))]))
    wire = framed([each if isinstance(each, str) else write(each, order) for each in objects], order)
    stopped = data.draw(st.booleans())
    places = data.draw(st.lists(st.integers(0, 10**6), max_size=9) | st.none())
    pieces = bytewise(wire) if places is None else in_pieces(wire, [place % (len(wire) + 1) for place in places])
    seen = spliced(pieces, stopped=stopped, api=data.draw(st.sampled_from([None, name])), **options)
    assert values(seen) == cleaned(name, json.loads(json.dumps(objects)), stopped=stopped, **options)
    if not {"annotations", "malformed"} & {*options}:
        assert spliced([seen], **options) == seen


FORMATS = [sc.BRACKETS, sc.CJK_BRACKETS, sc.TAGS, sc.NASTY, sc.ASCII, sc.PRIVATE, sc.HALF_PRIVATE, sc.WIDE]


@sc.examples(40)
@given(st.sampled_from(sorted(APIS)), st.sampled_from(FORMATS), st.data())
def test_formats_of_ones_own(name: str, fields: Any, data: st.DataObject) -> None:
    deltas = data.draw(st.lists(sc.texts(fields, max_pieces=2).map(lambda text: "plain " + text), max_size=6))
    order = random.Random(data.draw(st.integers(0, 99)))
    objects = json.loads(json.dumps(objects_of(name, *deltas)))
    wire = framed([spelled(each, order) for each in objects], order)
    format = CitationFormat(**fields)
    for pieces in ([wire], bytewise(wire)):
        assert values(spliced(pieces, format=format)) == cleaned(name, objects, format=format)


@sc.examples(40)
@given(st.lists(CHUNK, max_size=3), st.sampled_from([None, "chat", "responses"]))
def test_a_field_of_any_type_raises_nothing(shapes: list[Any], api: Any) -> None:
    data = body([*shapes, *streamed(["Still read.", MARKER])])
    seen = spliced([data], api=api)
    assert b"Still read." in seen
    assert spliced(bytewise(data), api=api) == seen


def test_tool_calls_and_unknown_fields_are_untouched() -> None:
    odd = chunk(choice(TEXT, tool_calls=[TOOL_CALL], odd={"text": MARKER}), odd=[1.5, None, MARKER])
    (seen,) = values(spliced([body([odd], done=False)]))
    expected = json.loads(json.dumps(odd))
    expected["choices"][0]["delta"]["content"] = clean(TEXT)
    assert seen == expected
    assert [*seen] == [*odd]
    data = body([chunk(choice(tool_calls=[TOOL_CALL]))])
    assert spliced([data]) == data


def test_a_frame_keeps_its_type_id_and_retry_and_comments_pass() -> None:
    odd = b"retry: 5\r\nevent: odd\r\nid: 7\r\n: note\r\ndata: "
    data = odd + json.dumps(chunk(choice(TEXT))).encode() + b"\r\n\r\n"
    seen = spliced([data])
    assert seen.startswith(b": note\r\nretry: 5\nevent: odd\nid: 7\ndata: ")
    for frame in (b": ping\n\n", b"id: 1\n\n", b"retry: 5\n\n", b"event: ping\n\n", b"data: 5\n\n", b"data\n\n"):
        assert spliced([frame]) == frame


def test_a_comment_passes_inside_a_frame_and_while_text_is_held() -> None:
    splice = Splice()
    frame = body([chunk(choice(MARKER[:5]))], done=False)
    assert splice.feed(frame) == b""
    assert splice.feed(b": ping\n\n") == b": ping\n\n"
    assert splice.feed(b"data: {") == b""
    assert splice.feed(b"\n: ping\n") == b": ping\n"


def test_numbers_of_any_kind_come_back() -> None:
    odd = b'data: {"choices":[{"delta":{"content":"\\ue200"}}],"x":[NaN,Infinity,1e400,12345678901234567890123]}\n\n'
    seen = spliced([odd])
    assert b"[NaN,Infinity,Infinity,12345678901234567890123]" in seen
    seen = spliced([odd.replace(b'"x"', '"é"'.encode())])
    assert b"[NaN,Infinity,Infinity,12345678901234567890123]" in seen


def test_json_that_stays_utf8_splits_no_line_of_any_reader() -> None:
    text = "é\x85\u2028\u2029" + MARKER
    seen = spliced([body([chunk(choice(text))], escapes=False, done=False)])
    assert values(seen)[0]["choices"][0]["delta"]["content"] == "é\x85\u2028\u2029"
    assert len(seen.decode().splitlines()) == 2
    assert "é".encode() in seen


@every_api
@pytest.mark.parametrize("size", [2, 3, 50, 1000])
def test_many_frames_a_read(name: str, size: int) -> None:
    deltas = [*["It "] * 9, *MARKER, *["lasts \\ \n."] * 9, MARKER, "x", MARKER[:5], "odd", *MARKER, *["So "] * 9]
    objects = objects_of(name, *deltas)
    frames = [body([each], done=False) for each in objects]
    reads = [b"".join(frames[at : at + size]) for at in range(0, len(frames), size)]
    cut = in_pieces(b"".join(frames), range(0, len(b"".join(frames)), 997))
    for pieces in (reads, cut):
        assert values(spliced(pieces)) == cleaned(name, json.loads(json.dumps(objects)))


@every_api
def test_details_are_in_the_annotations_of_responses_only(name: str) -> None:
    data = body(objects_of(name, "It ", MARKER))
    details = {
        "number": 1,
        "passages": [{"locator": "L8-L13", "first_line": 8, "last_line": 13}],
        "problem": "unknown-lines",
    }
    seen = spliced([data], sources=ALL_SOURCES, details=True)
    assert seen.count(json.dumps(details, separators=(",", ":")).encode()) == (4 if name == "responses" else 0)
    assert b"streamcite" not in spliced([data], sources=ALL_SOURCES)


@pytest.mark.parametrize("cut", ["by frame", "whole", "byte by byte"])
def test_what_settles_a_marker_has_the_fields_of_the_event_that_came_last(cut: str) -> None:
    def delta(text: str, number: int, spelling: str) -> bytes:
        return (
            f'data: {{{spelling},"type": "response.output_text.delta","item_id":"m","output_index":0,"content_index":0,'
            f'"delta":{json.dumps(text)},"sequence_number":{number}}}\n\n'
        ).encode()

    # The third cannot be known again by its bytes, and the fourth is as the second.
    once, again = '"q":1', '"q":2, "delta":"","sequence_number":7'
    frames = [
        delta("Hi \ue200c", 1, '"q":0'),
        delta("i", 2, once),
        delta("t", 3, again),
        delta("e", 4, once),
        b'data: {"type":"response.completed","sequence_number":5,"response":{"status":"completed","output":[]}}\n\n',
    ]
    data = b"".join(frames)
    pieces = {"by frame": frames, "whole": [data], "byte by byte": [data[at : at + 1] for at in range(len(data))]}
    found = values(spliced(pieces[cut], malformed="keep", sources=SOURCES))
    assert found == cleaned("responses", values(data), malformed="keep", sources=SOURCES)
    assert found[1]["q"] == 1
