"""What servers that nobody here wrote send, and what the client makes of it: the facts that the adapters rely on."""

import socket
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from openai import APIConnectionError, NotFoundError

from tests import upstreams
from tests.markers import MARKER
from tests.processes import PATIENCE
from tests.upstream_reads import (
    ASK,
    CHAT,
    CUT,
    ERRORS,
    QUESTION,
    READERS,
    RESPONSES,
    STALLED,
    TEXT,
    TOLD,
    WORDS,
    Api,
    Read,
    Received,
    at_once,
    client_of,
    create_chat,
    deltas_of,
    read,
)
from tests.upstreams import Aimock, Fault, Llmock, Upstream, run_aimock, run_llmock

every_api = pytest.mark.parametrize("api", [CHAT, RESPONSES], ids=["chat", "responses"])
every_reader = pytest.mark.parametrize("reader", READERS.values(), ids=READERS)


def slices(text: str, size: int) -> list[str]:
    """Cut a text as JavaScript does, in that many UTF-16 units."""
    units = text.encode("utf-16-le")
    pieces = [units[at : at + 2 * size] for at in range(0, len(units), 2 * size)]
    return [piece.decode("utf-16-le", "surrogatepass") for piece in pieces]


# Whole answers


@every_reader
@every_api
@pytest.mark.parametrize("size", [1, 3, 7])
def test_aimock_cuts_markers_and_surrogate_pairs(aimock: Aimock, api: Api, reader: Read, size: int) -> None:
    received = reader(aimock, api, aimock.answer(TEXT, chunkSize=size))
    deltas = deltas_of(received, api)
    assert deltas == slices(TEXT, size)
    assert ("\ud83d" in "".join(deltas)) == (size < 7)
    assert received.error is None
    assert api.end(received.items[-1]) in {"stop", "completed"}


@every_reader
@every_api
def test_llmock_sends_word_by_word(llmock: Llmock, api: Api, reader: Read) -> None:
    received = reader(llmock, api, llmock.answer(TEXT))
    assert deltas_of(received, api) == WORDS
    assert received.error is None
    assert api.end(received.items[-1]) in {"stop", "completed"}


def test_markers_come_as_utf8_and_as_escapes(aimock: Aimock, llmock: Llmock) -> None:
    for upstream, marker in ((aimock, "\ue200cite\ue202".encode()), (llmock, rb"\ue200cite\ue202")):
        model = upstream.answer(TEXT)
        chat = upstream.post("/v1/chat/completions", {"model": model, "messages": ASK, "stream": True})
        response = upstream.post("/v1/responses", {"model": model, "input": QUESTION, "stream": True})
        assert chat.count(marker) == 1
        assert response.count(marker) == 5  # the delta, and the four places that repeat the whole text


def test_a_whole_text_is_repeated_without_lone_surrogates(aimock: Aimock) -> None:
    events = read(aimock, RESPONSES, aimock.answer(TEXT, chunkSize=1)).items
    done, part, item, completed = events[-4:]
    assert done.text == part.part.text == item.item.content[0].text == completed.response.output_text == TEXT


def test_the_snapshots_of_the_client_do_not_join_surrogates(aimock: Aimock) -> None:
    model = aimock.answer(TEXT, chunkSize=1)
    lone = TEXT.replace("\U0001f680", "\ud83d\ude80")
    with client_of(aimock) as client:
        with client.chat.completions.stream(model=model, messages=ASK) as chat:
            assert chat.get_final_completion().choices[0].message.content == lone
        with client.responses.stream(model=model, input=QUESTION) as response:
            snapshots = [event.snapshot for event in response if event.type == "response.output_text.delta"]
    assert snapshots[-1] == lone


def test_events_may_have_no_sequence_number(aimock: Aimock, llmock: Llmock) -> None:
    events = read(aimock, RESPONSES, aimock.answer(TEXT)).items
    assert {event.sequence_number for event in events} == {None}
    events = read(llmock, RESPONSES, llmock.answer(TEXT)).items
    assert [event.sequence_number for event in events] == list(range(len(events)))


@pytest.mark.parametrize(("reason", "status"), [("length", "incomplete"), ("content_filter", "failed")])
def test_aimock_completes_a_response_that_is_not_complete(aimock: Aimock, reason: str, status: str) -> None:
    model = aimock.answer(TEXT, response={"finishReason": reason})
    assert CHAT.end(read(aimock, CHAT, model).items[-1]) == reason
    assert RESPONSES.end(read(aimock, RESPONSES, model).items[-1]) == status


def test_llmock_completes_a_response_that_is_not_complete(llmock: Llmock) -> None:
    model = llmock.answer(TEXT, finish_reason="length")
    assert CHAT.end(read(llmock, CHAT, model).items[-1]) == "length"
    assert RESPONSES.end(read(llmock, RESPONSES, model).items[-1]) == "incomplete"


def test_reasoning_comes_beside_the_text(aimock: Aimock) -> None:
    model = aimock.answer(TEXT, response={"reasoning": TEXT}, chunkSize=7)
    chunks = read(aimock, CHAT, model).items
    extras = [chunk.choices[0].delta.model_extra for chunk in chunks]
    assert [extra["reasoning_content"] for extra in extras if "reasoning_content" in extra] == slices(TEXT, 7)
    events = read(aimock, RESPONSES, model).items
    summary = [event for event in events if event.type == "response.reasoning_summary_text.delta"]
    assert [event.delta for event in summary] == slices(TEXT, 7)
    assert {event.output_index for event in summary} == {0}
    assert {event.output_index for event in events if RESPONSES.delta(event)} == {1}


def test_texts_may_stand_on_both_sides_of_a_tool_call(aimock: Aimock) -> None:
    call = {"type": "toolCall", "name": "find", "arguments": {"query": MARKER}}
    text = {"type": "text", "text": TEXT}
    model = aimock.answer("", response={"blocks": [text, call, text]}, chunkSize=7)
    assert "".join(deltas_of(read(aimock, CHAT, model), CHAT)) == 2 * TEXT
    events = read(aimock, RESPONSES, model).items
    assert [event.output_index for event in events if event.type == "response.output_text.done"] == [0, 2]


def test_choices_come_one_after_the_other(llmock: Llmock) -> None:
    with client_of(llmock) as client:
        chunks = list(
            client.chat.completions.create(
                model=llmock.answer(TEXT), messages=ASK, stream=True, n=2, stream_options={"include_usage": True}
            )
        )
    indices = [choice.index for chunk in chunks for choice in chunk.choices]
    assert indices == [0] * 8 + [1] * 8
    assert chunks[-1].choices == []
    assert chunks[-1].usage


# Faults


@every_reader
@every_api
def test_a_connection_cut_in_a_marker_is_an_error(aimock: Aimock, api: Api, reader: Read) -> None:
    model = aimock.answer_cut(TEXT, after_chunks=api.opening + 4, chunkSize=3)
    received = reader(aimock, api, model)
    assert len(received.items) == api.opening + 4
    assert "".join(deltas_of(received, api)) == TEXT[:12]
    assert received.error in CUT


@every_reader
@every_api
@pytest.mark.parametrize("fault", TOLD)
def test_how_a_stream_breaks_off_after_two_words(llmock: Llmock, api: Api, reader: Read, fault: Fault) -> None:
    breaks_off(llmock, api, reader, fault)


def test_how_streams_stall_after_two_words(llmock: Llmock) -> None:
    at_once(*(partial(breaks_off, llmock, api, reader, "stall", STALLED)
              for api in (CHAT, RESPONSES) for reader in READERS.values()))  # fmt: skip


def breaks_off(llmock: Llmock, api: Api, reader: Read, fault: Fault, patience: float = PATIENCE) -> None:
    model = llmock.answer(TEXT, fault=fault, after_chunks=api.opening + 2)
    received = reader(llmock, api, model, patience)
    assert len(received.items) == api.opening + 2
    assert deltas_of(received, api) == WORDS[:2]
    assert api.end(received.items[-1]) is None
    assert received.error in ERRORS[fault]


@every_api
def test_a_cut_before_anything_left_is_an_error_of_the_request(aimock: Aimock, api: Api) -> None:
    model = aimock.answer(TEXT, truncateAfterChunks=api.opening + 1)
    with client_of(aimock) as client, pytest.raises(APIConnectionError):
        api.create(client, model)


@every_api
def test_a_stream_that_stalls_can_be_left(aimock: Aimock, api: Api) -> None:
    model = aimock.answer_stalled(TEXT, after_chunks=api.opening + 4, chunkSize=3)
    with client_of(aimock) as client, api.create(client, model) as stream:
        received = Received([next(stream) for _ in range(api.opening + 4)], None)
    assert "".join(deltas_of(received, api)) == TEXT[:12]
    assert stream.response.is_closed


def test_only_the_helper_for_responses_reports_a_silent_end(llmock: Llmock) -> None:
    model = llmock.answer(TEXT, fault="truncate", after_chunks=6)
    with client_of(llmock) as client:
        with client.chat.completions.stream(model=model, messages=ASK) as chat:
            choice = chat.get_final_completion().choices[0]
        assert choice.message.content == "".join(WORDS[:5])
        assert not choice.finish_reason
        with client.responses.stream(model=model, input=QUESTION) as response:
            assert [event.delta for event in response if event.type == "response.output_text.delta"] == WORDS[:2]
            with pytest.raises(RuntimeError, match=r"response\.completed"):
                response.get_final_response()


def test_an_answer_that_is_not_a_stream_gives_nothing(aimock: Aimock) -> None:
    model = aimock.answer(TEXT, chaos={"malformedRate": 1})
    assert read(aimock, CHAT, model) == Received([], None)
    assert read(aimock, RESPONSES, model) == Received([], None)


# The harness


def test_a_model_that_was_not_taught_is_not_found(aimock: Aimock) -> None:
    with client_of(aimock) as client, pytest.raises(NotFoundError):
        create_chat(client, "model0")


@pytest.mark.parametrize("run", [run_aimock, run_llmock])
def test_a_server_ends_with_its_block(run: Callable[[], AbstractContextManager[Upstream]]) -> None:
    with run() as upstream, socket.create_connection(address_of(upstream), PATIENCE):
        pass
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address_of(upstream), PATIENCE)


def address_of(upstream: Upstream) -> tuple[str, int]:
    url = urlsplit(upstream.url)
    assert url.hostname
    assert url.port
    return url.hostname, url.port


@pytest.mark.parametrize("run", [run_aimock, run_llmock])
def test_a_server_that_is_not_installed_says_how(
    run: Callable[[], AbstractContextManager[Upstream]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upstreams, "INSTALLED", tmp_path)
    with pytest.raises(FileNotFoundError, match=r"make \.venv/upstreams\.stamp"), run():
        pass


def test_a_server_that_does_not_start_shows_what_it_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bin" / "llmock"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho no such option >&2\n")
    program.chmod(0o700)
    monkeypatch.setattr(upstreams, "INSTALLED", tmp_path)
    with pytest.raises(ChildProcessError, match="no such option"), run_llmock():
        pass
