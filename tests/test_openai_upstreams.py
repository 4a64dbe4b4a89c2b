"""Every view over streams of servers that nobody here wrote, whole and broken, read by the client's own classes."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import anyio
import pytest

from streamcite import Event, clean, parse
from streamcite.openai import (
    PartResult,
    StreamResult,
    chat_events,
    clean_chat,
    clean_completion,
    clean_response,
    clean_responses,
    responses_events,
)
from streamcite.surrogates import replace_surrogates
from tests.markers import MARKER
from tests.processes import PATIENCE
from tests.reading import joined
from tests.upstream_reads import (
    ASK,
    CHAT,
    ERRORS,
    QUESTION,
    RESPONSES,
    STALLED,
    TEXT,
    TOLD,
    Api,
    async_client_of,
    at_once,
    client_of,
    create_chat,
    create_response,
    deltas_of,
    read,
)
from tests.upstreams import Aimock, Fault, Llmock, Upstream

UNCLOSED = f"It lasts. {MARKER[:-1]}"


class Views(NamedTuple):
    """The views of one API."""

    api: Api
    create: Callable[[Any, str], Any]
    events: Callable[[Any], Any]
    objects: Callable[[Any], Any]


class Read(NamedTuple):
    """What came of a stream, and the class of the error that was raised."""

    items: list[Any]
    result: StreamResult | None
    error: str | None


ALL = [
    Views(CHAT, create_chat, chat_events, clean_chat),
    Views(RESPONSES, create_response, responses_events, clean_responses),
]
every_api = pytest.mark.parametrize("views", ALL, ids=["chat", "responses"])


def by_part(events: Any) -> Any:
    return events.iter_parts()


def read_sync(
    upstream: Upstream, views: Views, model: str, view: Callable[[Any], Any], patience: float = PATIENCE
) -> Read:
    items: list[Any] = []
    error = None
    with client_of(upstream, patience) as client, view(views.create(client, model)) as stream:
        try:
            for item in stream:
                items.append(item)  # noqa: PERF402 - what came before an error counts
        except Exception as raised:  # noqa: BLE001 - which one it is, is the question
            error = type(raised).__name__
        assert stream._given._open == []
    return Read(items, getattr(stream, "result", None), error)


async def read_async(
    upstream: Upstream, views: Views, model: str, view: Callable[[Any], Any], patience: float = PATIENCE
) -> Read:
    items: list[Any] = []
    error = None
    async with async_client_of(upstream, patience) as client, view(await views.create(client, model)) as stream:
        try:
            async for item in stream:
                items.append(item)  # noqa: PERF401 - as above
        except Exception as raised:  # noqa: BLE001 - as above
            error = type(raised).__name__
        assert stream._given._open == []
    return Read(items, getattr(stream, "result", None), error)


def reading_on(backend: str) -> Callable[..., Read]:
    return lambda *arguments: anyio.run(read_async, *arguments, backend=backend)


READERS = {"sync": read_sync, "asyncio": reading_on("asyncio"), "trio": reading_on("trio")}
every_reader = pytest.mark.parametrize("reader", READERS.values(), ids=READERS)


def shown(read: Read, api: Api) -> str:
    """Give the text that the objects of a stream show, as it comes in deltas."""
    return "".join(delta for item in read.items if (delta := api.delta(item)))


def answer(read: Read) -> PartResult:
    assert read.result is not None
    (part,) = read.result.answer
    return part


# Whole answers


@every_reader
@every_api
@pytest.mark.parametrize("size", [1, 3, 7])
def test_every_cut_gives_the_same_events(aimock: Aimock, views: Views, reader: Any, size: int) -> None:
    model = aimock.answer(TEXT, chunkSize=size)
    events = reader(aimock, views, model, views.events)
    assert joined(events.items) == parse(TEXT, complete=True)
    assert events.error is None
    assert events.result.complete
    assert answer(events).raw == TEXT
    assert answer(events).replaced == 0
    assert answer(events).finish_reason in {"stop", "completed"}


@every_reader
@every_api
@pytest.mark.parametrize("size", [1, 3, 7])
def test_the_objects_show_the_same_text_wherever_it_stands(
    aimock: Aimock, views: Views, reader: Any, size: int
) -> None:
    objects = reader(aimock, views, aimock.answer(TEXT, chunkSize=size), views.objects)
    assert shown(objects, views.api) == clean(TEXT)
    for item in objects.items:
        assert not any(token in item.model_dump_json() for token in "\ue200\ue201\ue202\ufffd")
    if views.api is RESPONSES:
        done, part, item, completed = objects.items[-4:]
        assert {done.text, part.part.text, item.item.content[0].text, completed.response.output_text} == {clean(TEXT)}


@every_reader
@every_api
def test_markers_written_as_escapes(llmock: Llmock, views: Views, reader: Any) -> None:
    model = llmock.answer(TEXT)
    assert joined(reader(llmock, views, model, views.events).items) == parse(TEXT, complete=True)
    assert shown(reader(llmock, views, model, views.objects), views.api) == clean(TEXT)


def test_whole_answers_agree(aimock: Aimock, llmock: Llmock) -> None:
    for upstream in (aimock, llmock):
        model = upstream.answer(TEXT)
        with client_of(upstream) as client:
            completion = clean_completion(client.chat.completions.create(model=model, messages=ASK))
            response = clean_response(client.responses.create(model=model, input=QUESTION))
        assert completion.choices[0].message.content == response.output_text == clean(TEXT)


@pytest.mark.parametrize("size", [1, 3, 7])
def test_the_clients_own_helpers(aimock: Aimock, size: int) -> None:
    model = aimock.answer(TEXT, chunkSize=size)
    with client_of(aimock) as client:
        with client.chat.completions.stream(model=model, messages=ASK) as chat:
            snapshots = [event.snapshot for event in clean_chat(chat) if event.type == "content.delta"]
            assert chat.get_final_completion().choices[0].message.content == clean(TEXT)
        assert snapshots == [clean(TEXT)[: len(snapshot)] for snapshot in snapshots]
        with client.responses.stream(model=model, input=QUESTION) as response:
            texts = [
                event.snapshot for event in clean_responses(response) if event.type == "response.output_text.delta"
            ]
            assert response.get_final_response().output_text == clean(TEXT)
        assert texts[-1] == clean(TEXT)
        with client.chat.completions.stream(model=model, messages=ASK) as chat, chat_events(chat) as chat_clean:
            assert joined(chat_clean) == parse(TEXT, complete=True)
        with (
            client.responses.stream(model=model, input=QUESTION) as response,
            responses_events(response) as clean_events,
        ):
            assert joined(clean_events) == parse(TEXT, complete=True)


@every_api
def test_reasoning_is_not_the_answer(aimock: Aimock, views: Views) -> None:
    model = aimock.answer(TEXT, response={"reasoning": f"Hm.{MARKER} Yes."}, chunkSize=3)
    with client_of(aimock) as client, views.events(views.create(client, model)) as events:
        texts: dict[str, list[Event]] = {}
        for part, event in events.iter_parts():
            texts.setdefault(part.channel, []).append(event)
    assert {channel: joined(events) for channel, events in texts.items()} == {
        "reasoning": parse(f"Hm.{MARKER} Yes.", complete=True),
        "answer": parse(TEXT, complete=True),
    }
    assert len(events.result.citations) == 1


# Answers that were cut by the model's limit, and streams that break


@every_reader
@every_api
@pytest.mark.parametrize("reason", ["stop", "length"])
def test_a_stop_that_was_left_out(aimock: Aimock, views: Views, reader: Any, reason: str) -> None:
    model = aimock.answer(UNCLOSED, response={"finishReason": reason}, chunkSize=3)
    complete = reason == "stop"
    events = reader(aimock, views, model, views.events)
    assert joined(events.items) == parse(UNCLOSED, complete=complete)
    assert len(events.result.citations) == complete
    assert shown(reader(aimock, views, model, views.objects), views.api) == clean(UNCLOSED)


# Before the text, in it, where a character is cut in two, and at each piece of the marker.
@pytest.mark.parametrize(
    ("chunks", "reader"),
    [*((chunks, read_sync) for chunks in range(1, 16)), *((8, reader) for reader in READERS.values())],
)
@every_api
def test_a_cut_connection(aimock: Aimock, views: Views, reader: Any, chunks: int) -> None:
    model = aimock.answer_cut(TEXT, after_chunks=chunks, chunkSize=3)
    came, events, objects = at_once(
        lambda: read(aimock, views.api, model),
        lambda: reader(aimock, views, model, views.events),
        lambda: reader(aimock, views, model, views.objects),
    )
    text, _ = replace_surrogates("".join(deltas_of(came, views.api)))
    assert joined(events.items) == parse(text)
    assert events.error == came.error in ERRORS["disconnect"]
    assert not events.result.complete
    assert shown(objects, views.api) == clean(text)
    assert objects.error == came.error


@every_reader
@every_api
@pytest.mark.parametrize("fault", TOLD)
def test_other_faults(llmock: Llmock, views: Views, reader: Any, fault: Fault) -> None:
    breaks_off(llmock, views, reader, fault)


def test_streams_that_stall(llmock: Llmock) -> None:
    at_once(*(partial(breaks_off, llmock, views, reader, "stall", STALLED)
              for views in ALL for reader in READERS.values()))  # fmt: skip


def breaks_off(llmock: Llmock, views: Views, reader: Any, fault: Fault, patience: float = PATIENCE) -> None:
    text = f"It lasts. {MARKER[:14]} so {MARKER}long."
    model = llmock.answer(text, fault=fault, after_chunks=views.api.opening + 3)
    came, events, objects = at_once(
        lambda: read(llmock, views.api, model, patience),
        lambda: reader(llmock, views, model, views.events, patience),
        lambda: reader(llmock, views, model, views.objects, patience),
    )
    begun = "".join(deltas_of(came, views.api))
    assert begun
    assert begun != text
    assert joined(events.items) == parse(begun)
    assert events.error == came.error
    assert events.error in ERRORS[fault]
    assert not events.result.complete
    assert shown(objects, views.api) == clean(begun)
