"""Chat completions for tests, as the client's objects and as dicts of the same shape, and what they should come to."""

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import strategies as st
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from streamcite import Citation, Event, Source, parse
from tests.markers import MARKER

Shape = dict[str, Any]

HEAD: Shape = {"id": "chatcmpl-1", "created": 1, "model": "any"}
USAGE: Shape = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
TOOL_CALL: Shape = {
    "index": 0,
    "id": "call_1",
    "type": "function",
    "function": {"name": "find", "arguments": f'{{"q": "{MARKER}"}}'},
}
SOURCES = {
    "turn0file1": Source("turn0file1", title="Warranty", url="https://a.example/warranty"),
    "turn1search2": Source("turn1search2", url="https://a.example/untitled"),
    "turn0file0": Source("turn0file0", title="A file that has no URL"),
    "a1": Source("a1", title="One", url="https://a.example/1"),
    "b2": Source("b2", title="Two \U0001f680", url="https://a.example/2"),
}

# What is tested of the client's objects is tested of dicts too: they must agree.
both = pytest.mark.parametrize("kind", ["typed", "dict"])
KINDS = st.sampled_from(["typed", "dict"])


# Chunks of any shape, as far as JSON has it.
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just(MARKER),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(), values, max_size=3),
    max_leaves=5,
)
_PLACE = st.fixed_dictionaries({}, optional={"start_index": JSON, "end_index": JSON})
_ANNOTATION = st.fixed_dictionaries(
    {}, optional={"type": st.just("url_citation") | JSON, "url_citation": _PLACE | JSON}
)
_ENTRIES = JSON | st.lists(JSON | st.fixed_dictionaries({}, optional={"token": JSON, "bytes": JSON}), max_size=3)
_TEXT = st.sampled_from((MARKER, MARKER[:8], MARKER[8:])) | JSON
_DELTA = JSON | st.fixed_dictionaries(
    {},
    optional={
        "content": _TEXT,
        "refusal": _TEXT,
        "reasoning": _TEXT,
        "annotations": JSON | st.lists(JSON | _ANNOTATION),
    },
)
_CHOICE = JSON | st.fixed_dictionaries(
    {},
    optional={
        "index": st.integers(0, 1) | JSON,
        "delta": _DELTA,
        "logprobs": JSON | st.fixed_dictionaries({}, optional={"content": _ENTRIES, "refusal": _ENTRIES}),
        "finish_reason": st.just("stop") | JSON,
    },
)
CHUNK = st.fixed_dictionaries(
    {}, optional={"choices": JSON | st.lists(_CHOICE, max_size=3), "type": st.just("chunk") | JSON, "usage": JSON}
)


def choice(content: Any = None, index: int = 0, finish_reason: str | None = None, **delta: Any) -> Shape:
    return {"index": index, "delta": {"content": content, **delta}, "finish_reason": finish_reason}


def chunk(*choices: Any, **fields: Any) -> Shape:
    return {**HEAD, "object": "chat.completion.chunk", "choices": list(choices), **fields}


def streamed(deltas: Iterable[str], finish_reason: str | None = "stop") -> list[Shape]:
    """Give the chunks of an answer of one choice, as OpenAI does: the finish comes alone."""
    finish = [chunk(choice(None, finish_reason=finish_reason))] if finish_reason else []
    return [*(chunk(choice(delta)) for delta in deltas), *finish]


def given_as(kind: str, shapes: Iterable[Shape]) -> list[Any]:
    """Give copies of chunks, since the object view changes what it is given; objects are built without validation."""
    copies = [copy.deepcopy(shape) for shape in shapes]
    return [ChatCompletionChunk.construct(**each) for each in copies] if kind == "typed" else copies


def completion(kind: str, *messages: Shape, finish_reason: str | None = "stop", **fields: Any) -> Any:
    """Give a whole completion with one choice for each message."""
    choices = [
        {"index": index, "message": {"role": "assistant", **message}, "finish_reason": finish_reason, **fields}
        for index, message in enumerate(messages)
    ]
    whole = copy.deepcopy({**HEAD, "object": "chat.completion", "choices": choices})
    return ChatCompletion.construct(None, **whole) if kind == "typed" else whole


def plain(value: Any) -> Any:
    """Give an object as a dict, without what is None: a field that is absent and one that is None say the same."""
    if hasattr(value, "to_dict"):
        value = value.to_dict(warnings=False)
    if isinstance(value, dict):
        return {name: plain(field) for name, field in value.items() if field is not None}
    return [plain(each) for each in value] if isinstance(value, list) else value


def added_up(chunks: Iterable[Any], name: str, index: int = 0) -> Any:
    """Join what the deltas, or the messages, of a choice have in a field: texts, or lists."""
    found: Any = None
    for each in chunks:
        for one in plain(each)["choices"]:
            held = one.get("delta", one.get("message", {})).get(name)
            if one["index"] == index and held is not None:
                found = held if found is None else found + held
    return found


def as_utf16(text: str) -> str:
    """Give a text as another reader of the wire has it: lone surrogates replaced, halves joined."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def halves(text: str) -> list[str]:
    """Cut a text into UTF-16 units, as JavaScript does: a character beyond U+FFFF gives two lone surrogates."""
    data = text.encode("utf-16-le")
    return [data[at : at + 2].decode("utf-16-le", "surrogatepass") for at in range(0, len(data), 2)]


def length(text: str, unit: str) -> int:
    return len(text) if unit == "codepoint" else len(text.encode("utf-16-le")) // 2


def expected_annotations(
    text: str, *, complete: bool, unit: str = "codepoint", sources: Mapping[str, Source] = SOURCES
) -> list[Shape]:
    """Say which annotations a text has, the slow and obvious way."""
    seen, found = "", []
    for event in parse(text, complete=complete):
        if isinstance(event, Citation):
            for source in (sources[id] for id in dict.fromkeys(event.source_ids) if id in sources):
                if source.url:
                    at = length(seen, unit)
                    place = {"start_index": at, "end_index": at, "title": source.title or source.url, "url": source.url}
                    found.append({"type": "url_citation", "url_citation": place})
        seen += str(event)
    return found


def without_index(annotations: Sequence[Shape] | None) -> list[Shape]:
    """Give annotations without their numbers, which those of a stream have, and of a stream only."""
    return [{name: value for name, value in each.items() if name != "index"} for each in annotations or []]


def clean_places(events: Iterable[Event], unit: str) -> list[int]:
    """Say for each offset in the raw text where it is in the clean one: inside a marker, where that begins."""
    places = [0]
    for event in events:
        at = places[-1]
        if isinstance(event, str):
            places += [at + step for step in range(1, length(event, unit) + 1)]
        else:
            places += [at] * (length(event.raw, unit) - 1) + [at + length(event.text, unit)]
    return places


def hosted(start: int, end: int, **fields: Any) -> Shape:
    """Give an annotation as the server sends it."""
    place = {"start_index": start, "end_index": end, "title": "Hosted", "url": "https://b.example"}
    return {"type": "url_citation", "url_citation": place, **fields}
