"""The real client over a real socket: its ``.stream()``, both views, and what a server does wrong."""

from collections.abc import Iterator
from typing import Any

import pytest
from openai import APIError, AsyncOpenAI, OpenAI
from openai.types.chat import ChatCompletionUserMessageParam

from streamcite import Source, clean, parse
from streamcite.openai import chat_events, clean_chat, clean_completion
from streamcite.testing import RecordedAnswer
from tests.chats import (
    SOURCES,
    TOOL_CALL,
    added_up,
    expected_annotations,
    without_index,
)
from tests.clients import new_client
from tests.http_peer import Peer
from tests.odd_chats import WIRE
from tests.reading import joined
from tests.recorded import ANSWERS, every_answer

ASK: list[ChatCompletionUserMessageParam] = [{"role": "user", "content": "How long does it last?"}]
SOURCED = {
    name: {id: Source(id, title=source.title, url=f"https://a.example/{id}") for id, source in answer.sources.items()}
    for name, answer in ANSWERS.items()
}
MARKER = "\ue200cite\ue202a1\ue201"
SENTENCE = f"It lasts.{MARKER} And \U0001f680 so on.{MARKER}"


# Recorded answers


@every_answer
@pytest.mark.parametrize("limit", [None, 60])
def test_stream_helper_and_whole_agree(client: OpenAI, answer: RecordedAnswer, limit: int | None) -> None:
    asked: Any = {"model": answer.id, "messages": ASK, "max_tokens": limit, "n": 2}
    sources = SOURCED[answer.id]
    whole = clean_completion(client.chat.completions.create(**asked), sources=sources)
    with clean_chat(client.chat.completions.create(**asked, stream=True), sources=sources) as view:
        chunks = list(view)
        assert view.response.is_closed
    with client.chat.completions.stream(**asked) as helper:
        final = clean_chat(helper, sources=sources).until_done().current_completion_snapshot
    text = "".join(answer.deltas[:limit])
    annotations = expected_annotations(text, complete=limit is None, sources=sources)
    assert annotations
    for index in (0, 1):
        for found in (chunks, [final], [whole]):
            assert added_up(found, "content", index) == clean(text, complete=limit is None)
            assert without_index(added_up(found, "annotations", index)) == annotations
    assert chunks[-1].choices[0].finish_reason == final.choices[0].finish_reason == whole.choices[0].finish_reason
    with chat_events(client.chat.completions.create(**asked, stream=True)) as events:
        assert joined(events) == parse(text, complete=limit is None)


def test_a_whole_completion_of_the_client_is_untouched_without_markers(client: OpenAI) -> None:
    given = client.chat.completions.create(model="english", messages=ASK, max_tokens=5)
    whole = clean_completion(given, sources=SOURCES)
    assert whole == given
    assert whole is not given


# The helper


@every_answer
@pytest.mark.parametrize("sources", [None, SOURCES | SOURCED["english"]], ids=["without sources", "with sources"])
def test_all_that_the_helper_gives_is_clean(client: OpenAI, answer: RecordedAnswer, sources: Any) -> None:
    seen, final = "", None
    with client.chat.completions.stream(model=answer.id, messages=ASK) as helper:
        stream = clean_chat(helper, sources=sources)
        assert stream is helper
        for event in stream:
            if event.type == "content.delta":
                seen += event.delta
                assert event.snapshot == seen
            elif event.type == "content.done":
                final = event.content
            elif event.type == "chunk":
                assert "\ue200" not in str(event.chunk)
                assert (event.snapshot.choices[0].message.content or "").startswith(seen)
        completion = stream.get_final_completion()
    assert seen == final == completion.choices[0].message.content == clean(answer.text, complete=True)
    expected = expected_annotations(answer.text, complete=True, sources=sources or {})
    assert without_index(added_up([completion], "annotations")) == expected


@pytest.mark.anyio
async def test_all_that_the_async_helper_gives_is_clean(async_client: AsyncOpenAI) -> None:
    answer, sources = ANSWERS["technical"], SOURCED["technical"]
    async with async_client.chat.completions.stream(model=answer.id, messages=ASK) as helper:
        stream = clean_chat(helper, sources=sources)
        deltas = [event.delta async for event in stream if event.type == "content.delta"]
        completion = await stream.get_final_completion()
    assert "".join(deltas) == completion.choices[0].message.content == clean(answer.text, complete=True)
    expected = expected_annotations(answer.text, complete=True, sources=sources)
    assert without_index(added_up([completion], "annotations")) == expected


@every_answer
def test_the_events_of_the_helper_are_read_too(client: OpenAI, answer: RecordedAnswer) -> None:
    with client.chat.completions.stream(model=answer.id, messages=ASK) as helper, chat_events(helper) as events:
        assert joined(events) == parse(answer.text, complete=True)
        assert events.result.complete
    with client.chat.completions.stream(model=answer.id, messages=ASK) as helper:
        assert joined(chat_events(event for event in helper)) == parse(answer.text, complete=True)


@pytest.mark.anyio
async def test_the_events_of_the_async_helper_are_read_too(async_client: AsyncOpenAI) -> None:
    answer = ANSWERS["technical"]
    async with (
        async_client.chat.completions.stream(model=answer.id, messages=ASK) as helper,
        chat_events(helper) as events,
    ):
        assert joined([event async for event in events]) == parse(answer.text, complete=True)


def test_events_that_are_no_longer_the_helper_are_misuse_of_the_object_view(client: OpenAI) -> None:
    # Its other events repeat the text, and are made before the view could clean it.
    with client.chat.completions.stream(model="english", messages=ASK) as helper:
        view = clean_chat(event for event in helper)
        with pytest.raises(TypeError, match=r"^stream: must be what entering \.stream\(\) gave, not its events$"):
            next(view)


# A server that sends what it is told, and no more


@pytest.fixture
def odd(peer: Peer) -> Iterator[OpenAI]:
    peer.gives_by_model(WIRE)
    with new_client(peer.base_url) as client:
        yield client


@pytest.mark.parametrize("model", ["error", "malformed", "cut"])
def test_an_error_on_the_way_comes_as_the_client_raises_it_after_what_was_held(odd: OpenAI, model: str) -> None:
    asked: Any = {"model": model, "messages": ASK, "stream": True}
    # The class depends on the client's version. An older one leaves its response open on an error, and would close it
    # whenever garbage is collected, in the middle of another request too.
    with odd.chat.completions.create(**asked) as plain, pytest.raises(Exception, match=r".") as plainly:
        list(plain)
    assert isinstance(plainly.value, APIError) or model != "error"
    text = "It lasts.\ue200cite\ue202a1"
    view = chat_events(odd.chat.completions.create(**asked), malformed="keep")
    seen = [next(view), next(view)]
    assert joined(seen) == parse(text, malformed="keep")
    with pytest.raises(plainly.type) as raised:
        next(view)
    assert (type(raised.value), str(raised.value)) == (plainly.type, str(plainly.value))
    assert getattr(raised.value, "body", None) == getattr(plainly.value, "body", None)
    assert not view.result.complete
    objects = clean_chat(odd.chat.completions.create(**asked), malformed="keep")
    chunks = [next(objects), next(objects)]
    assert added_up(chunks, "content") == text
    with pytest.raises(plainly.type):
        next(objects)


@pytest.mark.parametrize("model", ["silent", "unfinished"])
def test_an_end_without_a_finish_is_none(odd: OpenAI, model: str) -> None:
    view = chat_events(odd.chat.completions.create(model=model, messages=ASK, stream=True))
    assert joined(view) == parse("It lasts.\ue200cite\ue202a1")
    assert not view.result.complete
    objects = clean_chat(odd.chat.completions.create(model=model, messages=ASK, stream=True), malformed="keep")
    assert added_up(list(objects), "content") == "It lasts.\ue200cite\ue202a1"


def test_characters_cut_in_two_on_the_wire_are_joined(odd: OpenAI) -> None:
    expected = "\U0001f680\ufffd!"
    view = chat_events(odd.chat.completions.create(model="halves", messages=ASK, stream=True))
    assert "".join(map(str, view)) == expected
    assert view.result.parts[0].replaced == 1
    chunks = list(clean_chat(odd.chat.completions.create(model="halves", messages=ASK, stream=True)))
    assert added_up(chunks, "content") == expected
    assert all(each.model_dump_json() for each in chunks)
    with odd.chat.completions.stream(model="halves", messages=ASK) as helper:
        assert clean_chat(helper).get_final_completion().choices[0].message.content == expected


@pytest.mark.parametrize("model", ["hosted", "unnumbered"])
@pytest.mark.parametrize("when", ["streamed", "final", "off"])
def test_the_helper_adds_up_the_servers_annotations_and_ours(odd: OpenAI, model: str, when: Any) -> None:
    with odd.chat.completions.stream(model=model, messages=ASK) as helper:
        completion = clean_chat(helper, sources=SOURCES, annotations=when).get_final_completion()
    text = "It lasts. So it is." if model == "hosted" else "It lasts."
    assert completion.choices[0].message.content == text
    found = [each["url_citation"] for each in added_up([completion], "annotations")]
    expected = [(0, 9, "h")] * (4 if model == "hosted" else 1)
    if when != "off":
        places = [9, 19] if model == "hosted" else [9]
        expected += [(at, at, SOURCES["a1"].url or "") for at in places]
    assert sorted((each["start_index"], each["end_index"], each["url"]) for each in found) == sorted(expected)


def test_the_helper_parses_tool_calls_as_they_are(odd: OpenAI) -> None:
    with odd.chat.completions.stream(model="tools", messages=ASK) as helper:
        message = clean_chat(helper).get_final_completion().choices[0].message
    assert (message.content, message.tool_calls[0].function.arguments) == ("", TOOL_CALL["function"]["arguments"])  # type: ignore[index]
