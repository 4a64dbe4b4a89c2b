"""Chat completions for tests that bring no text, that go wrong, or that go on after their end."""

import json
from typing import Any

from hypothesis import strategies as st

from streamcite.sse import encode
from tests.chats import TOOL_CALL, USAGE, Shape, choice, chunk, streamed
from tests.markers import MARKER, SENTENCE

CITED = "\ue200cite\ue202a1\ue201"
PROMPT_FILTER = {"choices": [], "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": {}}]}
LAST = {"choices": [], "usage": USAGE}
# Chunks that carry no text of choice 0. None of them may crash, show anything, or end the answer.
SILENT_CHUNKS: dict[str, Shape] = {
    "an empty chunk": {},
    "choices are null": {"choices": None},
    "choices are a number": {"choices": 5},
    "choices are a string": {"choices": "text"},
    "choices are an object": {"choices": {"index": 0}},
    "choices are lists": {"choices": [["text"]]},
    "Azure's prompt filter": PROMPT_FILTER,
    "usage": LAST,
    "usage beside a choice": {"choices": [choice("")], "usage": USAGE},
    "role only": {"choices": [{"index": 0, "delta": {"role": "assistant"}, "finish_reason": None}]},
    "content is null": {"choices": [choice(None)]},
    "content is empty": {"choices": [choice("")]},
    "content is no string": {"choices": [choice([{"type": "text", "text": "never"}])]},
    "delta is null": {"choices": [{"index": 0, "delta": None, "finish_reason": None}]},
    "delta is absent": {"choices": [{"index": 0}]},
    "delta is empty": {"choices": [{"index": 0, "delta": {}}]},
    "a choice is null": {"choices": [None]},
    "a choice is empty": {"choices": [{}]},
    "refusal": {"choices": [choice(None, refusal="I cannot.")]},
    "tool call": {"choices": [choice(None, tool_calls=[TOOL_CALL])]},
    "function call": {"choices": [choice(None, function_call={"name": "find", "arguments": "{"})]},
    "reasoning": {"choices": [choice(None, reasoning_content=f"Hm.{MARKER}")]},
    "annotations": {"choices": [choice(None, annotations=[{"type": "url_citation"}])]},
    "finish_reason is empty": {"choices": [choice(None, finish_reason="")]},
    "another choice": {"choices": [choice("never", index=1)]},
    "another choice finishes": {"choices": [choice(None, index=1, finish_reason="stop")]},
    "unknown object": {"object": "ping", "choices": []},
    "an error": {"type": "error", "message": "overloaded"},
}


# Over the wire


def place(**fields: Any) -> dict[str, Any]:
    return {
        "type": "url_citation",
        "url_citation": {"start_index": 0, "end_index": 9, "title": "H", "url": "h"},
        **fields,
    }


def frames(*data: Any) -> bytes:
    return b"".join(encode(each if isinstance(each, str) else json.dumps(each)) for each in data)


TEXT = [chunk(choice("It lasts.", role="assistant")), chunk(choice("\ue200cite\ue202a1"))]
HALVES = [chunk(choice("\ud83d", role="assistant")), chunk(choice("\ude80")), chunk(choice("\ud83d!"))]
HOSTED = [
    chunk(choice("It lasts.", role="assistant", annotations=[place(index=0)])),
    chunk(choice(f"{CITED} So", annotations=[place(index=1), place(index=2)])),
    chunk(choice(f" it is.{CITED}", annotations=[place(index=3)])),
]
UNNUMBERED = [chunk(choice(f"It lasts.{CITED}", role="assistant", annotations=[place()]))]
WIRE: dict[str, tuple[bytes, bool]] = {  # what is sent, and whether the connection is cut then
    "error": (frames(*TEXT, {"error": {"message": "overloaded", "type": "server_error"}}), False),
    "malformed": (frames(*TEXT, '{"choices": ['), False),
    "cut": (frames(*TEXT), True),
    "silent": (frames(*TEXT), False),
    "unfinished": (frames(*TEXT, "[DONE]"), False),
    "halves": (frames(*HALVES, *streamed([]), "[DONE]"), False),
    "hosted": (frames(*HOSTED, *streamed([]), "[DONE]"), False),
    "unnumbered": (frames(*UNNUMBERED, *streamed([]), "[DONE]"), False),
    "tools": (frames(chunk(choice(CITED, tool_calls=[TOOL_CALL])), *streamed([], "tool_calls"), "[DONE]"), False),
}


# Anything that may come

# The fields of a delta that hold text, and the channel that each belongs to.
CHANNELS = {"content": "answer", "refusal": "refusal", "reasoning_content": "reasoning", "reasoning": "reasoning"}
REASONS = st.sampled_from(["stop", "length", "content_filter", "", None])
DELTAS = st.sampled_from(
    ("a ", "\ue200", "cite", "\ue202", "a1", "\ue201", SENTENCE, "\ud83d", "\ude80", "\n", MARKER * 3)
)


@st.composite
def conversations(draw: st.DrawFn) -> list[Shape]:
    """Draw chunks of two choices with several texts each, that may end anyhow, and go on after their ends."""
    shapes = []
    for _ in range(draw(st.integers(0, 12))):
        names = draw(st.lists(st.sampled_from(list(CHANNELS)), unique=True, max_size=2))
        delta = {name: draw(DELTAS) for name in names}
        index = draw(st.integers(0, 1))
        one = {"index": index, "delta": delta, "finish_reason": draw(REASONS)}
        other = choice(draw(DELTAS), 1 - index)
        shapes.append(chunk(one, *[other] * draw(st.integers(0, 1)), usage=draw(st.sampled_from([None, USAGE]))))
    return shapes
