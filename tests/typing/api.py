"""The public interface as a type checker must take it: `make lint` runs mypy --strict over this file, nothing runs it.

A line with an ignore must be an error: mypy says so when it no longer is one.
"""

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Literal, assert_never, assert_type

from openai import AsyncOpenAI, AsyncStream, OpenAI, Stream
from openai.lib.streaming.chat import AsyncChatCompletionStream
from openai.lib.streaming.responses import AsyncResponseStream
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent

import streamcite
from streamcite import (
    OPENAI,
    AsyncEventStream,
    AsyncResolvedStream,
    Citation,
    CitationDict,
    CitationFormat,
    CitationParser,
    Cited,
    Event,
    EventStream,
    Link,
    Malformed,
    Material,
    OtherMarker,
    ParserOptions,
    Passage,
    Reference,
    Resolved,
    ResolvedEvent,
    ResolvedStream,
    Resolver,
    Source,
    Sources,
)
from streamcite.history import to_marked_text
from streamcite.links import AnyEvent
from streamcite.lint import Finding, Linter, Rule, Severity, lint
from streamcite.openai import (
    AsyncEventView,
    AsyncObjectView,
    AsyncRawView,
    Channel,
    EventView,
    ObjectView,
    Part,
    PartResult,
    RawView,
    StreamResult,
    chat_events,
    clean_chat,
    clean_completion,
    clean_response,
    clean_responses,
    responses_events,
    stream_chat,
    stream_responses,
)
from streamcite.resolve import Problem, resolve
from streamcite.spacing import Tidy, tidy
from streamcite.sse import LineTooLong, ServerSentEvent, SSEDecoder, encode, encode_json
from streamcite.testing import RecordedAnswer, serve, token_deltas


def parser() -> None:
    parser = CitationParser(OPENAI, malformed="keep", repair=False, max_marker=100, max_payload=None)
    assert_type(parser.feed("delta"), list[Event])
    assert_type(parser.close(complete=True), list[Event])
    assert_type(parser.held, str)
    assert_type(CitationParser.restore(parser.snapshot(), malformed="keep"), CitationParser)
    assert_type(streamcite.parse("text", format=OPENAI, complete=True), list[Event])
    assert_type(streamcite.clean("text", malformed="keep"), str)

    options: ParserOptions = {"repair": False, "max_marker": 64}
    CitationParser(**options)
    streamcite.parse("text", **options)
    parser.feed(b"bytes")  # type: ignore[arg-type]
    CitationParser(malformed="hide")  # type: ignore[arg-type]
    streamcite.parse("text", unknown=1)  # type: ignore[call-arg]


def events(event: Event) -> str:
    match event:
        case str():
            return event
        case Citation(family=family, references=references):
            assert_type(references, tuple[Reference, ...])
            assert_type(event.source_ids, tuple[str, ...])
            assert_type(event.locator, str | None)
            assert_type(event.repaired, bool)
            return family
        case OtherMarker(family=family, fields=fields):
            assert_type(fields, tuple[str, ...])
            return family
        case Malformed(reason=reason):
            assert_type((event.raw, event.text, event.start, event.end, event.position), tuple[str, str, int, int, int])
            return reason
        case _:
            assert_never(event)


def values(citation: Citation) -> None:
    source_id, locator = Reference("turn0file0", "L1")
    assert_type(source_id, str)
    assert_type(locator, str | None)
    citation.family = "other"  # type: ignore[misc]
    round_trip: Event = streamcite.from_dict(streamcite.to_dict(citation))
    streamcite.to_dict(round_trip)


def formats() -> None:
    own = CitationFormat(
        start="[[", delimiter="|", stop="]]", families=("cite",), display={"url": lambda fields: fields[0]}
    )
    assert_type(own.write([Reference("a")], family="cite"), str)
    assert_type(CitationFormat.from_dict(own.to_dict()), CitationFormat)
    own.start = "<<"  # type: ignore[misc]


def reasons(malformed: Malformed) -> bool:
    return malformed.reason == "unclosed"


def guide(text: str) -> str:
    citations = streamcite.extract_citations(text, families=["cite", "filecite"])
    assert_type(citations, list[CitationDict])
    assert_type(citations[0]["source_ids"], list[str])
    assert_type(citations[0]["locator"], str | None)
    return streamcite.strip_citations(text, citations)


def prompt() -> None:
    assert_type(streamcite.instructions(), str)
    streamcite.instructions(OPENAI, material="tool_lines", tool="find", placement="sentence", lines="required")
    streamcite.instructions(several="one_marker", unsupported="omit", considerations=True)
    streamcite.instructions(material="lines")  # type: ignore[arg-type]
    streamcite.instructions(OPENAI, "blocks")  # type: ignore[call-arg]


def sources(source: Source) -> Mapping[str, Source]:
    assert_type(source.title, str | None)
    assert_type(source.metadata, Mapping[str, object])
    source.text = "other"  # type: ignore[misc]
    return {source.id: source, "b": Source("b", "text", url="https://example.org", metadata={"page": 1})}


def passages(source: Source) -> None:
    assert_type(source.passage("L8-L13"), Passage | None)
    assert_type(list(source.lines), list[str])
    for block in streamcite.split_blocks(source.text, size=1000, markdown=True):
        assert_type((block.text, block.start, block.end), tuple[str, int, int])
        assert_type((block.first_line, block.last_line), tuple[int | None, int | None])
    streamcite.split_blocks(source)  # type: ignore[arg-type]


def registry(citation: Citation) -> Mapping[str, Source]:
    sources = Sources(OPENAI)
    call = sources.tool_call()
    assert_type(call.add("text", "url", url="https://example.org", key="page", citable=True, unit="lines"), Source)
    assert_type(call.results, tuple[Source, ...])
    assert_type(sources.add_block("text", title="A", id="a"), Source)
    call.add("text", colour="red")  # type: ignore[call-arg]
    sources.mark_shown(*(source.id for source in call.results))
    sources.mark_cited(*citation.source_ids)
    assert_type(sources.never_cited, tuple[str, ...])
    return Sources.from_dict(sources.to_dict())


def material(sources: Sources) -> str:
    shown = streamcite.render_tool_result(sources, format=OPENAI)
    assert_type(shown, Material)
    assert_type(streamcite.render_messages(sources.tool_call().results), tuple[Material, ...])
    assert_type(streamcite.render_blocks([Source("a")]), Material)
    assert_type(Material.join([shown]).ids, tuple[str, ...])
    assert_type([(change.source_id, change.count, change.line) for change in shown.changes], list[tuple[str, int, int]])
    assert_type(streamcite.read_material(shown.text), Sources)
    messages = [{"role": "tool", "content": str(shown)}]
    assert_type(streamcite.read_material(messages, roles={"tool"}, format=OPENAI), Sources)
    streamcite.render_blocks("text")  # type: ignore[arg-type]
    return str(shown)


def resolved(event: ResolvedEvent) -> str:
    match event:
        case str(text):
            return text
        case Cited(citation, links):
            assert_type(citation, Citation)
            assert_type(links, tuple[Link, ...])
            assert_type((event.index, event.position, event.pending), tuple[int, int, bool])
            assert_type((event.raw, event.text, event.start, event.end), tuple[str, str, int, int])
            return "".join(map(linked, links))
        case Resolved():
            assert_type((event.index, event.links, event.pending), tuple[int, tuple[Link, ...], bool])
            return event.text
        case OtherMarker() | Malformed():
            return event.raw
        case _:
            assert_never(event)


def linked(link: Link) -> str:
    assert_type((link.reference, link.source, link.passage), tuple[Reference, Source | None, Passage | None])
    assert_type((link.number, link.problem), tuple[int | None, Problem | None])
    link.number = 1  # type: ignore[misc]
    str(link.other)  # type: ignore[attr-defined]
    return link.passage.text if link.passage else ""


def resolving(sources: Mapping[str, Source], events: list[Event]) -> None:
    resolver = Resolver(sources, "answer", format=OPENAI)
    assert_type(resolver.feed(events), list[ResolvedEvent])
    assert_type(resolver.take(events[::-1], last=True), ResolvedEvent | None)
    assert_type(resolver.next_text(), int)
    assert_type(resolver.close(), list[ResolvedEvent])
    assert_type(resolver.pending, bool)
    assert_type(resolve("text", sources, scope="answer", malformed="keep"), list[ResolvedEvent])
    Resolver(sources, "all")  # type: ignore[arg-type]
    Resolver([])  # type: ignore[arg-type]


class Chunk:
    delta: str | None


def streams(deltas: list[str], chunks: Iterator[Chunk], complete: Literal[True] = True) -> None:
    stream = streamcite.iter_events(deltas, complete=complete, malformed="keep")
    assert_type(stream, EventStream)
    with stream as entered:
        assert_type(entered, EventStream)
        for event in entered:
            assert_type(event, Event)
    assert_type(stream.held, str)
    stream.close()
    assert_type(streamcite.iter_events(deltas, sources={}, scope="answer", spacing="tidy"), ResolvedStream)
    streamcite.iter_events(deltas, spacing="loose")  # type: ignore[call-overload]
    for resolved_event in streamcite.iter_events(chunks, text=lambda chunk: chunk.delta, sources=Sources()):
        assert_type(resolved_event, ResolvedEvent)
    streamcite.iter_events(chunks, text=lambda chunk: chunk.delta, complete=lambda: True)
    streamcite.iter_events(chunks)  # type: ignore[arg-type]


async def async_streams(deltas: AsyncIterator[str], chunks: AsyncIterator[Chunk]) -> None:
    stream = streamcite.aiter_events(deltas, repair=False)
    assert_type(stream, AsyncEventStream)
    async with stream as entered:
        assert_type(entered, AsyncEventStream)
        async for event in entered:
            assert_type(event, Event)
    await stream.aclose()
    assert_type(streamcite.aiter_events(deltas, sources={}), AsyncResolvedStream)
    streamcite.aiter_events(chunks, text=lambda chunk: chunk.delta)
    streamcite.aiter_events(chunks)  # type: ignore[arg-type]


def chat(stream: Stream[ChatCompletionChunk], whole: ChatCompletion, chunks: list[dict[str, object]]) -> None:
    events = chat_events(stream, malformed="keep")
    assert_type(events, EventView[Event])
    for event in events:
        assert_type(event, Event)
    for part, event in events.iter_parts():
        assert_type(part, Part)
        assert_type(part.channel, Channel)
        assert_type(event, Event)
    assert_type(events.result, StreamResult)
    assert_type(events.result.parts, tuple[PartResult, ...])
    assert_type(events.result.citations, tuple[Citation, ...])
    chat_events(chunks, snapshot=events.snapshot())
    resolved_events = chat_events(stream, sources=Sources(), scope="answer", spacing="tidy", malformed="keep")
    assert_type(resolved_events, EventView[ResolvedEvent])
    for resolved_event in resolved_events:
        assert_type(resolved_event, ResolvedEvent)
    for part, resolved_event in chat_events(chunks, sources={}, snapshot=events.snapshot()).iter_parts():
        assert_type((part, resolved_event), tuple[Part, ResolvedEvent])
    chat_events(stream, sources=[])  # type: ignore[call-overload]
    chat_events(whole)  # type: ignore[arg-type]
    assert_type(clean_completion(whole, unit="utf16"), ChatCompletion)
    with clean_chat(stream, annotations="final", spacing="tidy") as objects:
        assert_type(objects, ObjectView[ChatCompletionChunk])
        for chunk in objects:
            assert_type(chunk, ChatCompletionChunk)
    clean_chat(stream, annotations="late")  # type: ignore[call-overload]


async def async_chat(stream: AsyncStream[ChatCompletionChunk], client: AsyncOpenAI) -> None:
    async with chat_events(stream) as events:
        assert_type(events, AsyncEventView[Event])
        async for event in events:
            assert_type(event, Event)
        async for part, _ in events.iter_parts():
            assert_type(part, Part)
    async with chat_events(stream, sources={}) as resolved_events:
        assert_type(resolved_events, AsyncEventView[ResolvedEvent])
        async for resolved_event in resolved_events:
            assert_type(resolved_event, ResolvedEvent)
    assert_type(clean_chat(stream), AsyncObjectView[ChatCompletionChunk])
    async with client.chat.completions.stream(model="any", messages=[]) as helper:
        assert_type(clean_chat(helper), AsyncChatCompletionStream[None])
        assert_type(chat_events(helper), AsyncEventView[Event])


def responses(stream: Stream[ResponseStreamEvent], whole: Response, sources: Mapping[str, Source]) -> None:
    events = responses_events(stream)
    assert_type(events, EventView[Event])
    responses_events(stream, snapshot=events.snapshot(), repair=False)
    assert_type(responses_events(stream, sources=sources, scope="answer"), EventView[ResolvedEvent])
    responses_events(whole)  # type: ignore[arg-type]
    assert_type(clean_response(whole, sources=sources), Response)
    assert_type(clean_responses(stream, sources=sources), ObjectView[ResponseStreamEvent])


async def async_responses(stream: AsyncStream[ResponseStreamEvent], client: AsyncOpenAI) -> None:
    assert_type(responses_events(stream), AsyncEventView[Event])
    assert_type(responses_events(stream, sources={}), AsyncEventView[ResolvedEvent])
    assert_type(clean_responses(stream), AsyncObjectView[ResponseStreamEvent])
    async with client.responses.stream(model="any", input="any") as helper:
        assert_type(clean_responses(helper), AsyncResponseStream[None])
        assert_type(responses_events(helper), AsyncEventView[Event])


def fast_lane(client: OpenAI, sources: Mapping[str, Source]) -> None:
    with stream_chat(client, model="any", messages=[], parser={"repair": False}) as events:
        assert_type(events, RawView[Event])
        for part, event in events.iter_parts():
            assert_type((part, event), tuple[Part, Event])
    with stream_chat(client, model="any", messages=[], sources=sources, scope="answer") as resolved_events:
        assert_type(resolved_events, RawView[ResolvedEvent])
        for pair in resolved_events.iter_parts(raw=True):
            assert_type(pair, tuple[Part, ResolvedEvent] | tuple[None, bytes])
    with stream_responses(client, model="any", input="any", sources=sources) as more_events:
        assert_type(more_events, RawView[ResolvedEvent])
    stream_chat(client, model="any", messages=[], scope="all")  # type: ignore[call-overload]


async def async_fast_lane(client: AsyncOpenAI, sources: Mapping[str, Source]) -> None:
    async with stream_chat(client, model="any", messages=[]) as events:
        assert_type(events, AsyncRawView[Event])
    async with stream_responses(client, model="any", input="any", sources=sources) as resolved_events:
        assert_type(resolved_events, AsyncRawView[ResolvedEvent])
        async for resolved_event in resolved_events:
            assert_type(resolved_event, ResolvedEvent)


def linting(sources: Mapping[str, Source], fed: list[Event], resolved: list[ResolvedEvent]) -> None:
    found = lint("answer", sources, scope="answer", lines="required", complete=True, malformed="keep")
    assert_type(found, list[Finding])
    assert_type((found[0].rule, found[0].severity, found[0].message), tuple[Rule, Severity, str])
    assert_type((found[0].start, found[0].end, found[0].position), tuple[int, int, int])
    linter = Linter(sources, scope="answer", lines="required", format=OPENAI)
    assert_type(linter.feed(fed) + linter.feed(resolved) + linter.close(), list[Finding])
    linter.feed([1])  # type: ignore[list-item]
    lint("answer", sources, "answer")  # type: ignore[call-arg]
    found[0].rule = "alone"  # type: ignore[misc]


def spacing_and_history(fed: list[Event], resolved: list[ResolvedEvent]) -> str:
    stage = Tidy()
    assert_type(stage.feed(fed) + stage.feed(resolved) + stage.close(), list[AnyEvent])
    assert_type(stage.held, str)
    assert_type(tidy(fed), list[AnyEvent])
    stage.feed([1])  # type: ignore[list-item]
    to_marked_text(fed, OPENAI)  # type: ignore[call-arg]
    return to_marked_text(fed, format=OPENAI) + to_marked_text(resolved) + to_marked_text(tidy(resolved))


def frames() -> bytes:
    encode(b"data")  # type: ignore[arg-type]
    return encode("data", event="message", id="1") + encode_json({"a": 1}, event="message", id="1")


def decoding(parts: Iterator[bytes], error: LineTooLong) -> bytes:
    decoder = SSEDecoder(max_line=2**20)
    for part in parts:
        for event in decoder.feed(part):
            assert_type(event, ServerSentEvent)
            assert_type((event.data, event.text, event.event), tuple[bytes, str, str | None])
            assert_type((event.id, event.retry), tuple[str | None, int | None])
            event.data = b"other"  # type: ignore[misc]
    assert_type((decoder.last_event_id, decoder.retry), tuple[str, int | None])
    assert_type((error.max_line, error.events), tuple[int, list[ServerSentEvent]])
    decoder.feed("data")  # type: ignore[arg-type]
    return decoder.close()


def testing() -> list[str]:
    with serve(pace=0.1) as server:
        assert_type(server.base_url, str)
        assert_type(server.answers, Mapping[str, RecordedAnswer])
    return token_deltas(server.answers["english"].text)
