"""LangChain's content blocks, added up by hand; `test_examples_frameworks` has them added up by LangChain."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given

from streamcite import Cited, Resolved, Resolver, Source, parse
from streamcite.resolve import resolve
from streamcite.sse import SSEDecoder
from streamcite.ui.langchain import LangChainEncoder, ai_message
from streamcite.ui.protocol import new_encoder
from tests.langchain_chunks import chunks, sent
from tests.markers import cite
from tests.rendering import SOURCES, answers, cuts, feeds


def added_up(found: Sequence[Any]) -> Any:
    text, annotations = "", []
    metadata: dict[str, Any] = {}
    for chunk in found:
        assert (chunk["type"], chunk["id"]) == ("AIMessageChunk", "m")
        for block in chunk["content"]:
            assert (block["type"], block["index"]) == ("text", 0)
            text += block["text"]
            annotations += block.get("annotations", [])
        metadata |= chunk.get("response_metadata", {})
    block = {"type": "text", "text": text, "index": 0} | ({"annotations": annotations} if annotations else {})
    content = [block] if any(chunk["content"] for chunk in found) else []
    return {"type": "ai", "id": "m", "content": content, "response_metadata": metadata}


@given(answers, cuts)
def test_the_chunks_add_up_to_the_message(text: str, cuts: list[int]) -> None:
    fed = feeds(text, cuts)
    message = ai_message([event for events in fed for event in events], message_id="m")
    assert added_up(chunks(sent(fed))) == json.loads(json.dumps(message))


@given(answers, cuts)
def test_each_link_with_a_source_has_an_annotation_where_it_stands(text: str, cuts: list[int]) -> None:
    events = [event for events in feeds(text, cuts) for event in events]
    whole = "".join(map(str, events))
    content = ai_message(events)["content"]
    assert "".join(block["text"] for block in content) == whole
    annotations = [each for block in content for each in block.get("annotations", ())]
    links = [
        (event.position, link)
        for event in events
        if isinstance(event, Cited) and not event.text
        for link in event.links
        if link.source
    ]
    assert [(each["start_index"], each["extras"]["source_id"], each["extras"]["number"]) for each in annotations] == [
        (position, link.reference.source_id, link.number) for position, link in links
    ]
    assert all(each["end_index"] == each["start_index"] for each in annotations)


def test_the_annotations_of_an_answer() -> None:
    events = resolve(f"🎉 A{cite('t1', 'L2-L3')} b{cite('js', 'L99')}{cite('none')}{cite('x')}", SOURCES)
    (block,) = ai_message(events)["content"]
    assert block["annotations"] == [
        {
            "type": "citation",
            "title": "Office days",
            "url": "https://a.example/office?a=1&b=2",
            "cited_text": "line 2\nline 3",
            "start_index": 3,
            "end_index": 3,
            "extras": {"source_id": "t1", "locator": "L2-L3", "number": 1},
        },
        {
            "type": "citation",
            "title": "Script",
            "start_index": 5,
            "end_index": 5,
            "extras": {"source_id": "js", "locator": "L99", "number": 2, "problem": "unknown-lines"},
        },
        {"type": "citation", "start_index": 5, "end_index": 5, "extras": {"source_id": "none", "number": 3}},
    ]


def test_a_source_that_comes_late_is_announced_then() -> None:
    known: dict[str, Source] = {}
    resolver = Resolver(known)
    fed = [resolver.feed(parse(f"A{cite('t1')}"))]
    known |= SOURCES
    fed += [resolver.feed(parse(" b", complete=True)), resolver.close()]
    contents = [chunk["content"] for chunk in chunks(sent(fed))]
    assert [[block["text"] for block in content] for content in contents] == [[], ["A"], [""], [" b"], []]
    assert contents[2][0]["annotations"][0]["start_index"] == 1


def test_how_an_answer_may_end() -> None:
    complete, broken = chunks(sent([["a"]])), chunks(sent([["a"]], complete=False))
    assert complete[-1]["chunk_position"] == "last"
    assert complete[:-1] == broken
    encoder = LangChainEncoder()
    *_, last = SSEDecoder().feed(b"".join([*encoder.feed(["a"]), *encoder.fail("It broke.")]))
    assert (last.event, json.loads(last.data)) == ("error", {"error": "Error", "message": "It broke."})


def test_what_is_not_seen_is_not_sent() -> None:
    assert ai_message([*resolve("\ue201", {}), Resolved(7, ())])["content"] == []
    assert isinstance(new_encoder("langchain"), LangChainEncoder)
    assert ai_message([])["id"] != ai_message([])["id"]
    wrong: Any
    for wrong in ([1], "text"):
        with pytest.raises(TypeError, match="events"):
            ai_message(wrong)
