"""The UI message stream, read by npm `ai` 6 and 7, and by a fold of one's own."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given, settings

from streamcite import Cited, Resolved, ResolvedEvent, Resolver, Source, parse
from streamcite.resolve import resolve
from streamcite.ui.ai_sdk import AISDKEncoder, ui_message
from streamcite.ui.protocol import HEADERS, new_encoder
from tests.markers import cite
from tests.readers import Reader, Readers, run_readers
from tests.rendering import SOURCES, answers, cuts, feeds

VERSIONS: tuple[Reader, ...] = ("ai6", "ai7")


@pytest.fixture(scope="module")
def read() -> Iterator[Readers]:
    with run_readers() as readers:
        yield readers


def sent(fed: Sequence[Sequence[ResolvedEvent]], **options: Any) -> bytes:
    encoder = AISDKEncoder(**options)
    return b"".join([*(frame for events in fed for frame in encoder.feed(events)), *encoder.close()])


@given(answers, cuts)
@settings(max_examples=50)
def test_a_reader_has_what_the_finished_message_is(read: Readers, text: str, cuts: list[int]) -> None:
    fed = feeds(text, cuts)
    message = ui_message([event for events in fed for event in events], message_id="m")
    outcomes = {name: read(name, body=sent(fed, message_id="m")) for name in VERSIONS}
    assert [outcome["errors"] for outcome in outcomes.values()] == [[], []]
    assert outcomes["ai7"]["message"] == message
    for part in message["parts"]:
        part.pop("citations", None)
    assert outcomes["ai6"]["message"] == message


def shown(part: Any) -> Any:
    return {"text": part.get("text"), "data-citation": "*"}.get(part["type"], part["type"])


@given(answers, cuts)
def test_the_parts_are_the_text_with_each_citation_at_its_place(text: str, cuts: list[int]) -> None:
    events = [event for events in feeds(text, cuts) for event in events]
    parts = ui_message(events)["parts"]
    citations = [event for event in events if isinstance(event, Cited) and not event.text]
    assert "".join(map(shown, parts)).replace("source-url", "").replace("source-document", "") == "".join(
        "*" if event in citations else str(event) for event in events
    )
    whole = "".join(map(str, events))
    cited = [part["data"] for part in parts if part["type"] == "data-citation"]
    assert [data["index"] for data in cited] == [event.index for event in citations]
    assert [data["position"] for data in cited] == [utf16(whole[: event.position]) for event in citations]
    assert not any(data["pending"] for data in cited)
    assert all(part["text"] and part["state"] == "done" for part in parts if part["type"] == "text")


@given(answers, cuts)
def test_each_source_comes_once_before_its_first_citation(text: str, cuts: list[int]) -> None:
    known: list[str] = []
    for part in ui_message([event for events in feeds(text, cuts) for event in events])["parts"]:
        if part["type"].startswith("source-"):
            known.append(part["sourceId"])
        for link in part["data"]["links"] if part["type"] == "data-citation" else ():
            assert link["sourceId"] == (known[link["number"] - 1] if link["number"] else None)
    assert len(set(known)) == len(known)


def utf16(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def test_a_citation_stands_between_the_text_parts(read: Readers) -> None:
    fed = feeds(f"🎉 One{cite('t1', 'L2-L3')}{cite('none')}. Two{cite('js')}{cite('x')}", [4])
    message = read("ai7", body=sent(fed, message_id="m"))["message"]
    assert list(map(shown, message["parts"])) == [
        *("🎉 One", "source-url", "*", "source-document", "*"),
        *(". Two", "source-document", "*", "*"),
    ]
    first, url, lines, document, whole, second, script, _, unknown = message["parts"]
    assert url == {
        "type": "source-url",
        "sourceId": "t1",
        "url": "https://a.example/office?a=1&b=2",
        "title": "Office days",
    }
    assert document == {"type": "source-document", "sourceId": "none", "mediaType": "text/plain", "title": "none"}
    assert (script["type"], script["title"], "url" in script) == ("source-document", "Script", False)
    assert (lines["data"]["position"], whole["data"]["position"], unknown["data"]["position"]) == (6, 6, 11)
    assert lines["data"]["links"][0]["passage"]["text"] == "line 2\nline 3"
    assert unknown["data"]["links"][0]["problem"] == "unknown-source"
    at = {"startIndex": 6, "endIndex": 6}
    assert first["citations"] == [
        {"source": source("url", url), **at, "citedText": "line 2\nline 3"},
        {"source": source("document", document), **at},
    ]
    assert second["citations"] == [{"source": source("document", script), "startIndex": 5, "endIndex": 5}]


def source(kind: str, part: Any) -> Any:
    told = {key: value for key, value in part.items() if key not in {"type", "sourceId"}}
    return {"type": "source", "sourceType": kind, "id": part["sourceId"], **told}


def test_the_parts_of_one_document_are_one_source() -> None:
    blocks = {name: Source(name, name, title="Handbook", document="handbook", unit="block") for name in ("a", "b")}
    message = ui_message(resolve(f"A{cite('a')} b{cite('b')}", blocks))
    assert [part["sourceId"] for part in message["parts"] if part["type"] == "source-document"] == ["a"]
    cited = [part["data"]["links"][0] for part in message["parts"] if part["type"] == "data-citation"]
    assert [(link["source"]["id"], link["sourceId"]) for link in cited] == [("a", "a"), ("b", "a")]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_source_that_comes_late_is_put_into_its_citation(read: Readers, version: Reader) -> None:
    known: dict[str, Source] = {}
    resolver = Resolver(known)
    fed = [resolver.feed(parse(f"A{cite('t1')}"))]
    known |= SOURCES
    fed += [resolver.feed(parse(" b", complete=True)), resolver.close()]
    outcome = read(version, body=sent(fed))
    assert list(map(shown, outcome["message"]["parts"])) == ["A", "*", "source-url", " b"]
    assert outcome["message"]["parts"][1]["data"]["links"][0]["sourceId"] == "t1"
    told = ["start", "text-start", "text-delta", "data-citation", "source-url", "data-citation"]
    assert outcome["kinds"] == [*told, "text-end", "text-start", "text-delta", "text-end", "finish"]


@pytest.mark.parametrize("version", VERSIONS)
def test_an_error_ends_the_message_as_the_protocol_says(read: Readers, version: Reader) -> None:
    encoder = AISDKEncoder()
    outcome = read(version, body=b"".join([*encoder.feed(["A"]), *encoder.fail("It broke.")]))
    assert outcome["errors"] == ["It broke."]
    assert outcome["message"]["parts"] == [{"type": "text", "text": "A", "state": "done"}]


def test_a_message_that_is_not_complete_says_so() -> None:
    encoder = AISDKEncoder()
    end = [frame.partition(b"data: ")[2] for frame in encoder.close(complete=False)]
    assert end == [b'{"type":"start"}\n\n', b'{"type":"finish","finishReason":"other"}\n\n', b"[DONE]\n\n"]


def test_half_a_character_is_put_together_by_the_reader(read: Readers) -> None:
    fed = [["\ud83c"], ["\udf89\u2028\x85"]]
    assert read("ai7", body=sent(fed))["message"]["parts"][0]["text"] == "🎉\u2028\x85"


def test_what_is_not_seen_is_not_sent() -> None:
    assert ui_message([*resolve("\ue201", {}), Resolved(7, ())])["parts"] == []


def test_the_headers_name_the_protocol() -> None:
    assert AISDKEncoder.headers == {**HEADERS, "x-vercel-ai-ui-message-stream": "v1"}
    assert isinstance(new_encoder("ai-sdk"), AISDKEncoder)


def test_only_events_are_encoded() -> None:
    wrong: Any
    for wrong in ([1], "text"):
        with pytest.raises(TypeError, match="events"):
            ui_message(wrong)
