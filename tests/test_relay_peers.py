"""The relay between servers and clients that nobody here wrote."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from openai import APIError, OpenAI

from streamcite import clean
from streamcite.openai import chat_events, responses_events
from tests.clients import new_client
from tests.markers import MARKER
from tests.node import run_script
from tests.processes import PATIENCE
from tests.relays import ANSWER, CLEAN, SHOWN, Served, relaying
from tests.upstreams import Aimock, Fault, Llmock

Ask = Callable[..., Any]


@pytest.fixture(scope="module")
def before_aimock(aimock: Aimock) -> Iterator[Served]:
    with relaying(aimock.base_url) as served:
        yield served


@pytest.fixture(scope="module")
def before_llmock(llmock: Llmock) -> Iterator[Served]:
    with relaying(llmock.base_url) as served:
        yield served


@pytest.fixture(scope="module")
def ask() -> Iterator[Ask]:
    """Give what lets a client of npm ask; one process of Node for all."""
    with run_script("relay_clients.mjs", "@ai-sdk/openai") as script:
        yield script.ask


HOURS = "https://example.org/hours"
CITED = {"chat": [HOURS], "responses": ["Rules", HOURS]}


def text_of(client: OpenAI, name: str, model: str) -> str:
    """Give the text that a client of the package adds up of a stream."""
    if name == "chat":
        stream = client.chat.completions.create(model=model, messages=SHOWN, stream=True)
        return "".join(each.choices[0].delta.content or "" for each in stream if each.choices)
    events = client.responses.create(model=model, input=SHOWN, stream=True)
    return "".join(each.delta for each in events if each.type == "response.output_text.delta")


def seen_of(client: OpenAI, name: str, model: str) -> str:
    """Give the text that our event view gives of the same answer, without a relay."""
    if name == "chat":
        return "".join(map(str, chat_events(client.chat.completions.create(model=model, messages=SHOWN, stream=True))))
    return "".join(map(str, responses_events(client.responses.create(model=model, input=SHOWN, stream=True))))


every_api = pytest.mark.parametrize("name", ["chat", "responses"])


@every_api
@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_the_python_client_reads_what_the_event_view_gives(
    aimock: Aimock, before_aimock: Served, name: str, size: int
) -> None:
    model = aimock.answer(ANSWER, chunkSize=size)
    with new_client(before_aimock.base_url) as client, new_client(aimock.base_url) as direct:
        assert text_of(client, name, model) == seen_of(direct, name, model) == CLEAN
        if name == "chat":
            assert client.chat.completions.create(model=model, messages=SHOWN).choices[0].message.content == CLEAN
            with client.chat.completions.stream(model=model, messages=SHOWN) as stream:
                message = stream.get_final_completion().choices[0].message
            assert message.content == CLEAN
            assert [each.url_citation.url for each in message.annotations or ()] == [HOURS]
        else:
            assert client.responses.create(model=model, input=SHOWN).output_text == CLEAN
            with client.responses.stream(model=model, input=SHOWN) as events:
                final: Any = events.get_final_response()
            assert final.output_text == CLEAN
            annotations = final.output[-1].content[0].annotations
            assert [getattr(each, "url", None) or each.filename for each in annotations] == CITED[name]


@every_api
def test_markers_that_are_written_as_escapes(llmock: Llmock, before_llmock: Served, name: str) -> None:
    model = llmock.answer(ANSWER)
    with new_client(before_llmock.base_url) as client, new_client(llmock.base_url) as direct:
        assert text_of(client, name, model) == seen_of(direct, name, model) == CLEAN


@pytest.mark.parametrize(
    ("client", "cited"),
    [
        ("chat-create", CITED["chat"]),
        ("chat-stream", CITED["chat"]),
        ("responses-stream", CITED["responses"]),
        ("ai-chat", CITED["chat"]),
        ("ai-responses", CITED["responses"]),
    ],
)
@pytest.mark.parametrize("size", [3, 1000])
def test_clients_of_npm_read_it_too(
    aimock: Aimock, before_aimock: Served, ask: Ask, client: str, cited: list[str], size: int
) -> None:
    model = aimock.answer(ANSWER, chunkSize=size)
    found = ask(client=client, baseURL=before_aimock.base_url, model=model, messages=SHOWN)
    assert found == {"text": CLEAN, "cited": cited}


@every_api
@pytest.mark.parametrize("fault", ["truncate", "malformed", "disconnect", "stall"])
def test_faults_come_through_as_they_are(llmock: Llmock, name: str, fault: Fault) -> None:
    text = f"It lasts. {MARKER} and so on and on"
    model = llmock.answer(text, fault=fault, after_chunks=6)
    # What comes of a stream that stalls comes of one that ends there.
    ends = llmock.answer(text, fault="truncate", after_chunks=6) if fault == "stall" else model
    with (
        relaying(llmock.base_url, read_timeout=PATIENCE) as relay,
        new_client(relay.base_url) as client,
        new_client(llmock.base_url) as direct,
    ):
        raw, broken = outcome_of(direct, name, ends)

        def seen(text: str) -> None:
            if fault == "stall" and text == clean(raw):
                relay.pass_time(2 * PATIENCE)

        assert outcome_of(client, name, model, seen) == (clean(raw), broken or fault == "stall")
        assert relay.tasks() < 8


def outcome_of(
    client: OpenAI, name: str, model: str, seen: Callable[[str], object] = lambda _: None
) -> tuple[str, bool]:
    """Give what is seen of a stream that may break, and whether it did."""
    pieces: list[str] = []
    try:
        if name == "chat":
            for each in client.chat.completions.create(model=model, messages=SHOWN, stream=True):
                pieces += [each.choices[0].delta.content or ""] if each.choices else []
                seen("".join(pieces))
        else:
            for event in client.responses.create(model=model, input=SHOWN, stream=True):
                pieces += [event.delta] if event.type == "response.output_text.delta" else []
                seen("".join(pieces))
    except Exception as error:  # noqa: BLE001 - the client's own, or that of its HTTP library
        assert isinstance(error, APIError | ValueError) or type(error).__module__.startswith("httpx"), error  # noqa: PT017
        return "".join(pieces), True
    return "".join(pieces), False


@every_api
def test_an_upstream_that_is_killed_inside_a_marker(aimock: Aimock, before_aimock: Served, name: str) -> None:
    model = aimock.answer_cut(f"It lasts. {MARKER}", after_chunks=8, chunkSize=3)
    with new_client(before_aimock.base_url) as client:
        text, broken = outcome_of(client, name, model)
    assert broken
    assert "It lasts. ".startswith(text)
