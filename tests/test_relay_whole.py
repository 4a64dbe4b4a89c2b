"""What a relay makes of answers that are not a stream, and what it finds in them."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streamcite import Reference, Source, clean, parse
from streamcite.annotations import AnnotationOptions
from streamcite.format import OPENAI
from streamcite.openai import clean_completion, clean_response
from streamcite.relay import Found
from streamcite.relay.apis import api_of
from streamcite.relay.found import find
from streamcite.relay.whole import clean_body
from tests import responses_streams as rs
from tests import strategies as sc
from tests.chats import SOURCES as CHAT_SOURCES
from tests.markers import MARKER


@given(
    st.lists(sc.texts(sc.OPENAI), min_size=1, max_size=3),
    st.booleans(),
    st.sampled_from(["final", "off"]),
    st.sampled_from(["exact", "tidy"]),
)
@example(["One."], False, "final", "exact")
def test_a_whole_answer_is_what_the_object_view_makes_of_it(
    texts: list[str], escapes: bool, when: Any, spacing: Any
) -> None:
    texts = [text.encode("utf-8", "replace").decode() for text in texts]
    choices = [{"index": at, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
               for at, text in enumerate(texts)]  # fmt: skip
    completion = {"id": "1", "choices": choices, "odd": "\ue200"}
    response = rs.response_of([rs.message(text) for text in texts])
    views: Any = [("chat", completion, clean_completion), ("responses", response, clean_response)]
    for api, value, view in views:
        body = json.dumps(value, ensure_ascii=escapes).encode()
        options: Any = {"sources": CHAT_SOURCES, "annotations": when}
        cleaned, found, result = clean_body(api, body, AnnotationOptions(**options), spacing=spacing)
        assert json.loads(cleaned) == json.loads(json.dumps(view(value, **options, spacing=spacing)))
        assert (cleaned is body) == (json.loads(cleaned) == value)
        assert result is not None
        assert sum(len(part.citations) for part in result.parts) == found.citations
        assert b"\\u" not in cleaned or escapes or b"\\u" in body


@pytest.mark.parametrize("body", [b"", b"{", b"5", b"[]", b"{}", b'{"choices": 5}', b'{"error": "no"}', b"[" * 100_000])
def test_what_is_not_an_answer_passes(body: bytes) -> None:
    for api in ("chat", "responses"):
        cleaned, found, result = clean_body(api, body, AnnotationOptions())
        assert cleaned is body
        assert (found, result) == (Found(), None)


@pytest.mark.parametrize("status", ["completed", None, "incomplete"])
def test_only_a_response_that_is_complete_completes_a_marker(status: str | None) -> None:
    value = rs.response_of([rs.message(rs.UNCLOSED)]) | {"status": status}
    for item in value["output"]:
        item["status"] = status
    _, found, _ = clean_body("responses", json.dumps(value).encode(), AnnotationOptions(sources=rs.SOURCES))
    assert found.citations == (status != "incomplete")


@pytest.mark.parametrize("spacing", ["exact", "tidy"])
def test_citations_may_be_written_into_a_whole_answer(spacing: Any) -> None:
    source = Source("turn0file1", "text", title="Handbook", url="https://example.org/")
    text = f"Yes.{MARKER} No {OPENAI.write([Reference('turn9file9')])}."
    body = json.dumps({"choices": [{"message": {"content": text}}]}).encode()
    wanted = AnnotationOptions(sources={"turn0file1": source})
    cleaned, found, _ = clean_body("chat", body, wanted, "links", spacing)
    message = json.loads(cleaned)["choices"][0]["message"]
    assert "https://example.org/" in message["content"]
    assert "annotations" not in message
    assert ("No ." in message["content"]) == (spacing == "exact")
    assert found == Found(citations=2, unknown=("turn9file9",))


@pytest.mark.parametrize(
    ("value", "api"),
    [
        ({"choices": []}, "chat"),
        ({"type": "response.created"}, "responses"),
        ({"type": "ping"}, None),
        ({"type": 5}, None),
    ],
)
def test_an_event_shows_of_which_api_it_is(value: Any, api: Any) -> None:
    assert api_of(value) == api


@given(sc.texts(sc.OPENAI))
def test_what_is_found_is_what_is_there(text: str) -> None:
    events = parse(text)
    found = find(events, {"turn0file1"})
    kinds = [type(event).__name__ for event in events]
    assert (found.citations, found.malformed) == (kinds.count("Citation"), kinds.count("Malformed"))
    assert "turn0file1" not in found.unknown
    assert clean(text) == "".join(map(str, events))
