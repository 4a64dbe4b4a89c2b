"""What a user gets wrong with the adapters: each mistake is told at once, by name, with what to do."""

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from openai import OpenAI

from streamcite import parse
from streamcite.openai import chat_events, clean_chat, clean_response, clean_responses, responses_events
from streamcite.testing import Server, serve
from tests.reading import joined

ANSWER = "It lasts.\ue200cite\ue202turn0file1\ue202L8-L13\ue201 And so on."
ASK: dict[str, Any] = {"model": "answer", "messages": [{"role": "user", "content": "?"}]}
ASK_RESPONSE: dict[str, Any] = {"model": "answer", "input": "?"}


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with serve(ANSWER) as server:
        yield server


def test_what_the_client_helps_with_is_cleaned_before_it_is_read(client: OpenAI) -> None:
    message = r"^stream: was read from before; what \.stream\(\) gives must be cleaned before that$"
    with client.chat.completions.stream(**ASK) as chat:
        next(iter(chat))
        with pytest.raises(RuntimeError, match=message):
            clean_chat(chat)
    with client.responses.stream(**ASK_RESPONSE) as response:
        next(iter(response))
        with pytest.raises(RuntimeError, match=message):
            clean_responses(response)


async def coroutine() -> None:
    """Stand for a stream that was not awaited."""


def test_what_is_not_a_stream_is_an_error_that_says_what_to_do(client: OpenAI) -> None:
    with closing(coroutine()) as not_awaited:
        wrong: dict[str, Any] = {
            "it was not awaited": not_awaited,
            "give what entering it gives": client.chat.completions.stream(**ASK),
            "for a whole one there are clean_completion and clean_response": client.chat.completions.create(**ASK),
        }
        for hint, stream in wrong.items():
            for view in (chat_events, responses_events, clean_chat, clean_responses):
                with pytest.raises(TypeError, match=rf"^stream: must be what .*, not {type(stream).__name__}; {hint}$"):
                    view(stream)


@pytest.mark.parametrize("view", [chat_events, responses_events, clean_chat, clean_responses])
def test_an_unknown_option_is_an_error_with_the_known_ones(view: Any) -> None:
    known = "format, malformed, repair, max_marker, max_payload"
    with pytest.raises(TypeError, match=rf"^malfromed: is not an option here; the options are {known}$"):
        view([], malfromed="keep")
    with pytest.raises(TypeError, match=rf"^complete: is not an option here; the options are {known}$"):
        view([], complete=True)
    unknown: Any = {"malfromed": "keep"}
    with pytest.raises(TypeError, match=rf"^malfromed: is not an option here; the options are {known}$"):
        clean_response({"output": []}, **unknown)


def test_going_on_from_too_early_is_an_error_with_the_number(client: OpenAI) -> None:
    events = responses_events(client.responses.create(stream=True, **ASK_RESPONSE))
    seen = [next(events) for _ in range(2)]
    snapshot = json.loads(json.dumps(events.snapshot()))
    events.close()
    response_id, number = snapshot["response_id"], snapshot["sequence_number"]
    from_the_start = responses_events(client.responses.retrieve(response_id, stream=True), snapshot=snapshot)
    with pytest.raises(
        ValueError, match=rf"^stream: must begin behind event {number}, .* starting_after={number}\) does$"
    ):
        next(from_the_start)
    rest = client.responses.retrieve(response_id, stream=True, starting_after=number)
    assert joined([*seen, *responses_events(rest, snapshot=snapshot)]) == parse(ANSWER)
