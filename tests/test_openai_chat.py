"""`streamcite.openai.chat_events`: the real client, over a real socket, and every shape of a chunk that it can give."""

import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai import AsyncOpenAI, OpenAI
from openai.types.chat import ChatCompletionUserMessageParam

from streamcite import Citation, Malformed, ParserOptions, Reference, clean, parse
from streamcite.openai import AsyncEventView, EventView, chat_events
from streamcite.sse import encode
from streamcite.testing import RecordedAnswer, Server, serve
from tests.chats import CHUNK, Shape, both, choice, given_as
from tests.clients import new_client
from tests.http_peer import Peer
from tests.markers import SENTENCE
from tests.odd_chats import LAST, SILENT_CHUNKS
from tests.reading import joined
from tests.recorded import ANSWERS, every_answer

ASK: list[ChatCompletionUserMessageParam] = [{"role": "user", "content": "How long does it last?"}]

# One answer of several texts for each place where a line citation can be cut in two, one cut everywhere, one whole.
CUTS: dict[str, tuple[str, ...]] = {f"cut-{at}": (SENTENCE[:at], SENTENCE[at:]) for at in range(1, len(SENTENCE))}
CUTS |= {"cut-everywhere": tuple(SENTENCE), "cut-nowhere": (SENTENCE,)}


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    cut = [RecordedAnswer(id=name, text=SENTENCE, deltas=deltas) for name, deltas in CUTS.items()]
    with serve([*ANSWERS.values(), *cut]) as running:
        yield running


# Over the wire


@every_answer
@pytest.mark.parametrize("options", [{}, {"malformed": "keep", "repair": False}], ids=str)
def test_a_stream_gives_what_the_parser_reads(client: OpenAI, answer: RecordedAnswer, options: ParserOptions) -> None:
    with chat_events(client.chat.completions.create(model=answer.id, messages=ASK, stream=True), **options) as events:
        assert isinstance(events, EventView)
        seen = joined(events)
    assert seen == parse(answer.text, complete=True, **options)
    assert "".join(map(str, seen)) == clean(answer.text, complete=True, **options)


@every_answer
@pytest.mark.anyio
async def test_an_async_stream_gives_the_same(async_client: AsyncOpenAI, answer: RecordedAnswer) -> None:
    stream = await async_client.chat.completions.create(model=answer.id, messages=ASK, stream=True)
    async with chat_events(stream) as events:
        assert isinstance(events, AsyncEventView)
        seen = joined([event async for event in events])
    assert seen == parse(answer.text, complete=True)
    assert stream.response.is_closed


@pytest.mark.parametrize("model", CUTS)
def test_a_marker_may_be_cut_anywhere(client: OpenAI, model: str) -> None:
    with chat_events(client.chat.completions.create(model=model, messages=ASK, stream=True)) as events:
        assert joined(events) == parse(SENTENCE)
    citation = parse(SENTENCE)[1]
    assert isinstance(citation, Citation)
    assert citation.references == (Reference("turn0file1", "L8-L13"),)


@pytest.mark.parametrize("kept", range(17, 32))
def test_an_answer_that_the_limit_cuts_is_not_complete(client: OpenAI, kept: int) -> None:
    # The deltas from the 18th to the 28th are the first marker.
    answer = ANSWERS["english"]
    stream = client.chat.completions.create(model=answer.id, messages=ASK, stream=True, max_tokens=kept)
    with chat_events(stream) as events:
        seen = joined(events)
    assert seen == parse("".join(answer.deltas[:kept]))
    assert isinstance(seen[-1], Malformed) == (18 <= kept < 28)


def test_choices_that_interleave_do_not_mix(client: OpenAI) -> None:
    stream = client.chat.completions.create(
        model="technical", messages=ASK, stream=True, n=3, stream_options={"include_usage": True}
    )
    with chat_events(stream) as events:
        assert joined(events) == parse(ANSWERS["technical"].text, complete=True)


def test_leaving_closes_the_response(client: OpenAI) -> None:
    stream = client.chat.completions.create(model="english", messages=ASK, stream=True)
    with chat_events(stream) as events:
        assert next(events) == "Yes"
    assert stream.response.is_closed


@pytest.mark.anyio
async def test_leaving_closes_the_response_of_an_async_stream(async_client: AsyncOpenAI) -> None:
    stream = await async_client.chat.completions.create(model="english", messages=ASK, stream=True)
    async with chat_events(stream) as events:
        assert await anext(events) == "Yes"
    assert stream.response.is_closed


def test_a_broken_connection_raises_as_the_client_does_and_loses_nothing(peer: Peer) -> None:
    data = json.dumps({"choices": [{"index": 0, "delta": {"content": SENTENCE[:15]}}]})  # half a marker
    peer.answer = lambda exchange: exchange.give(encode(data), cut=True)
    with new_client(peer.base_url) as client:
        with pytest.raises(Exception, match=r".") as raised:  # its class depends on the client's version
            list(client.chat.completions.create(model="any", messages=ASK, stream=True))
        events = chat_events(client.chat.completions.create(model="any", messages=ASK, stream=True))
        seen = [next(events), next(events)]
        assert seen == parse(SENTENCE[:15])  # what was held is settled, as of an answer that is not complete
        with pytest.raises(raised.type, match=f"^{re.escape(str(raised.value))}$"):
            next(events)
    assert events.held == ""


# The shapes of chunks


async def async_chunks(kind: str, shapes: list[Shape]) -> AsyncIterator[Any]:
    for each in given_as(kind, shapes):
        yield each


@both
@pytest.mark.parametrize("silent", SILENT_CHUNKS.values(), ids=SILENT_CHUNKS)
def test_a_chunk_without_text_changes_nothing_wherever_it_comes(kind: str, silent: Shape) -> None:
    pieces = [{"choices": [choice(piece)]} for piece in SENTENCE]
    everywhere = [silent, *(shape for piece in pieces for shape in (piece, silent))]
    assert joined(chat_events(given_as(kind, everywhere))) == parse(SENTENCE)


@both
@pytest.mark.parametrize("silent", SILENT_CHUNKS.values(), ids=SILENT_CHUNKS)
def test_a_chunk_without_text_does_not_make_the_answer_complete(kind: str, silent: Shape) -> None:
    shapes = [{"choices": [choice(SENTENCE[:20])]}, silent]
    view = chat_events(given_as(kind, shapes))
    assert joined(view) == parse(SENTENCE[:20])
    assert not view.result.complete


@given(st.lists(CHUNK, max_size=3))
def test_a_field_of_any_type_raises_nothing_and_both_kinds_agree(shapes: list[Shape]) -> None:
    shapes = [*shapes, {"choices": [choice("Still read.", finish_reason="stop")]}]
    views = [chat_events(given_as(kind, shapes)) for kind in ("typed", "dict")]
    typed, dicts = [[*view.iter_parts()] for view in views]
    assert typed == dicts
    assert views[0].result.parts == views[1].result.parts
    assert "".join(map(str, chat_events(given_as("typed", shapes)))).endswith("Still read.")


@both
@pytest.mark.anyio
async def test_an_async_stream_passes_over_the_same_chunks(anyio_backend: str, kind: str) -> None:
    shapes = [shape for piece in SENTENCE for shape in [{"choices": [choice(piece)]}, *SILENT_CHUNKS.values()]]
    async with chat_events(async_chunks(kind, shapes)) as events:
        assert joined([event async for event in events]) == parse(SENTENCE)


UNCLOSED = "It lasts.\ue200cite\ue202turn0file1"


@both
@pytest.mark.parametrize(
    ("last", "complete"),
    [
        ([{"choices": [choice(None, finish_reason="stop")]}], True),
        ([{"choices": [choice("", finish_reason="stop")]}, LAST], True),
        ([{"choices": [{"index": 0, "delta": None, "finish_reason": "stop"}]}], True),
        ([{"choices": [choice(None, finish_reason="stop")]}, {"choices": [choice(None)]}], True),
        ([{"choices": [choice("x", index=1), choice(None, finish_reason="stop")]}], True),
        ([{"choices": [choice(None, finish_reason="length")]}], False),
        ([{"choices": [choice(None, finish_reason="content_filter")]}], False),
        ([{"choices": [choice(None, finish_reason="tool_calls")]}], False),
        ([{"choices": [choice(None, finish_reason="")]}], False),
        ([{"choices": [choice(None, index=1, finish_reason="stop")]}], False),
        ([LAST], False),
        ([], False),
    ],
)
def test_only_stop_completes_the_answer(kind: str, last: list[Shape], complete: bool) -> None:
    seen = joined(chat_events(given_as(kind, [{"choices": [choice(UNCLOSED)]}, *last])))
    assert seen == parse(UNCLOSED, complete=complete)
    assert isinstance(seen[-1], Citation) == complete


@pytest.mark.anyio
@pytest.mark.parametrize("reason", ["stop", "length"])
async def test_only_stop_completes_an_async_answer(anyio_backend: str, reason: str) -> None:
    async with chat_events(async_chunks("typed", [{"choices": [choice(UNCLOSED, finish_reason=reason)]}])) as events:
        assert joined([event async for event in events]) == parse(UNCLOSED, complete=reason == "stop")


@both
def test_text_beside_the_finish_reason_or_another_choice_is_kept(kind: str) -> None:
    shapes: list[Shape] = [
        {"choices": [None, choice("no", index=1), choice("It "), choice("no", index=2)]},
        {"choices": [choice("lasts.", finish_reason="stop")]},
    ]
    assert joined(chat_events(given_as(kind, shapes))) == ["It lasts."]


@both
def test_a_server_that_numbers_no_choices_has_one(kind: str) -> None:
    shapes: list[Shape] = [{"choices": [{"delta": {"content": SENTENCE[:12]}}, {"delta": {"content": SENTENCE[12:]}}]}]
    assert joined(chat_events(given_as(kind, shapes))) == parse(SENTENCE)
    shapes[0]["choices"][1]["finish_reason"] = "stop"
    assert joined(chat_events(given_as(kind, shapes))) == parse(SENTENCE)


def test_objects_of_any_class_and_dicts_that_are_read_by_attribute_are_chunks() -> None:
    def made(**fields: Any) -> Any:
        return SimpleNamespace(**fields)

    class AttributeDict(dict[str, Any]):
        __getattr__ = dict.__getitem__

    for make in (made, AttributeDict):
        delta = make(content=SENTENCE, reasoning="Hm.")
        view = chat_events([make(choices=[make(index=0, delta=delta, finish_reason="stop")])])
        assert [part.channel for part, _ in view.iter_parts()] == ["answer"] * 3 + ["reasoning"]
        assert view.result.text == clean(SENTENCE)


# Misuse, and what is loaded


async def never_awaited() -> Iterator[Any]:
    return iter(())


def test_what_is_not_a_stream_is_misuse(client: OpenAI) -> None:
    completion = client.chat.completions.create(model="english", messages=ASK)
    manager = client.chat.completions.stream(model="english", messages=ASK)  # which was not entered
    with closing(never_awaited()) as coroutine:
        not_streams: list[Any] = [completion, manager, coroutine, None, "text", b"text", {"choices": []}]
        for not_stream in not_streams:
            message = r"^stream: must be what create\(stream=True\) returns, awaited if it is async, not "
            with pytest.raises(TypeError, match=message + type(not_stream).__name__):
                chat_events(not_stream)


NO_CHUNK = r"^stream: must give chunks, as create\(stream=True\) does, not {}; for any other stream use iter_events "
NOT_CHUNKS: list[Any] = [SENTENCE, encode(SENTENCE), 5, [choice(SENTENCE)]]


@pytest.mark.parametrize("chunk", NOT_CHUNKS, ids=type)
def test_what_is_not_a_chunk_is_misuse_at_once(chunk: Any) -> None:
    with pytest.raises(TypeError, match=NO_CHUNK.format(type(chunk).__name__)):
        next(chat_events(iter([*given_as("typed", [SILENT_CHUNKS["an empty chunk"]]), chunk])))


@pytest.mark.parametrize("kind", ["typed", "dict"])
def test_what_is_not_a_chunk_is_passed_over_in_a_stream_of_chunks(kind: Any) -> None:
    # The client hands on whatever JSON value a frame has.
    first, second = given_as(kind, [{"choices": [choice(SENTENCE[:20])]}, {"choices": [choice(SENTENCE[20:])]}])
    others = [*NOT_CHUNKS, None, {"type": "response.output_text.delta", "delta": "never"}]
    stream: list[Any] = [None, first, *others, second]
    assert joined(chat_events(stream)) == parse(SENTENCE)


@pytest.mark.anyio
async def test_what_is_not_a_chunk_is_misuse_of_an_async_stream_too(anyio_backend: str) -> None:
    async def stream() -> AsyncIterator[Any]:
        yield SENTENCE

    async with chat_events(stream()) as events:
        with pytest.raises(TypeError, match=NO_CHUNK.format("str")):
            await anext(events)


def test_the_events_of_the_other_api_are_misuse(client: OpenAI) -> None:
    stream: Any = client.responses.create(model="english", input="How long?", stream=True)
    message = (
        r"^stream: must give chunks, not 'response\.created' events of the Responses API; these are for responses_"
    )
    with chat_events(stream) as events, pytest.raises(TypeError, match=message):
        next(events)


def test_a_wrong_option_is_misuse_at_once() -> None:
    with pytest.raises(ValueError, match="max_marker"):
        chat_events(iter(()), max_marker=7)


def test_the_adapter_loads_neither_openai_nor_anyio() -> None:
    program = "import sys, streamcite.openai; print(sorted({'openai', 'anyio', 'pydantic'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
