"""`clean_chat` and `clean_completion`: the client's own objects, with their texts cleaned where they stand."""

import copy
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from streamcite import Citation, clean, parse
from streamcite.annotations import Unit, When
from streamcite.openai import AsyncObjectView, ObjectView, chat_events, clean_chat, clean_completion
from streamcite.openai.objects import get, get_list
from tests import strategies as sc
from tests.chats import (
    CHUNK,
    HEAD,
    KINDS,
    SOURCES,
    TOOL_CALL,
    USAGE,
    Shape,
    added_up,
    as_utf16,
    both,
    choice,
    chunk,
    completion,
    expected_annotations,
    given_as,
    halves,
    plain,
    streamed,
    without_index,
)
from tests.markers import MARKER, SENTENCE
from tests.reading import joined

UNCLOSED = "It lasts.\ue200cite\ue202turn0file1"
SHORT = "\ue200cite\ue202a1\ue201"


# All views agree


def check_agreement(
    kind: str, deltas: list[str], reason: str = "stop", unit: Unit = "codepoint", when: When = "streamed"
) -> None:
    """Compare the event view, the object view and the whole completion with each other and with the parser."""
    text, complete = as_utf16("".join(deltas)), reason == "stop"
    shapes = streamed(deltas, reason)
    view = chat_events(given_as(kind, shapes))
    events = parse(text, complete=complete)
    assert joined(view) == events
    cleaned = list(clean_chat(given_as(kind, shapes), sources=SOURCES, unit=unit, annotations=when))
    message = {"content": "".join(deltas)}
    whole = clean_completion(completion(kind, message, finish_reason=reason), sources=SOURCES, unit=unit)
    expected = clean(text, complete=complete)
    assert (added_up(cleaned, "content") or "") == added_up([whole], "content") == view.result.text == expected
    assert view.result.citations == tuple(event for event in events if isinstance(event, Citation))
    annotations = expected_annotations(text, complete=complete, unit=unit)
    assert without_index(added_up(cleaned, "annotations")) == annotations == (added_up([whole], "annotations") or [])
    assert [each["index"] for each in added_up(cleaned, "annotations") or []] == [*range(len(annotations))]
    assert "".join(map(str, map(plain, [*cleaned, whole]))).encode()


@given(KINDS, st.data())
def test_the_views_and_the_whole_agree_on_any_text(kind: str, data: st.DataObject) -> None:
    deltas = data.draw(sc.cuts(data.draw(sc.texts(sc.OPENAI))))
    reason = data.draw(st.sampled_from(["stop", "length", "content_filter"]))
    unit: Unit = data.draw(st.sampled_from(["codepoint", "utf16"]))
    check_agreement(kind, deltas, reason, unit, data.draw(st.sampled_from(["streamed", "final"])))


@both
def test_they_agree_on_every_cut_of_a_marker_over_chunks(kind: str) -> None:
    cuts = [*sc.partitions(SHORT)]
    assert len(cuts) == 2 ** (len(SHORT) - 1)
    for cut in cuts:
        check_agreement(kind, ["\U0001f680", *cut, "b"], unit="utf16")


@both
@pytest.mark.parametrize("at", range(len(halves(SENTENCE)) + 1))
def test_they_agree_on_every_cut_in_two_also_of_a_character(kind: str, at: int) -> None:
    units = halves(SENTENCE)
    check_agreement(kind, ["".join(units[:at]), "".join(units[at:])], "length", "codepoint")
    check_agreement(kind, units[:at] + units[at:], "stop", "utf16")


# What a chunk holds besides


KEPT: dict[str, Shape] = {
    "text": chunk(choice("It lasts.", role="assistant"), service_tier="default", system_fingerprint="fp"),
    "padded text": chunk(choice("It lasts."), obfuscation="xyz"),
    "the role and empty text": chunk(choice("", role="assistant", refusal=None)),
    "a tool call": chunk(choice(None, tool_calls=[TOOL_CALL])),
    "a function call": chunk(choice(None, function_call={"name": "find", "arguments": f'"{MARKER}'})),
    "Azure's filter": chunk(prompt_filter_results=[{"prompt_index": 0, "content_filter_results": {}}]),
    "usage": chunk(usage=USAGE),
    "unknown fields": chunk({**choice("Yes.", x_delta=MARKER), "x_choice": MARKER}, x_chunk=[MARKER]),
    "a finish": chunk(choice(None, finish_reason="stop")),
    "log probabilities": chunk({**choice("a"), "logprobs": {"content": [{"token": "a", "bytes": [97]}]}}),
    "annotations": chunk(
        choice("a", annotations=[{"index": 0, "type": "url_citation", "url_citation": {"start_index": 0}}])
    ),
    "nothing": {},
    "an error": {"type": "error", "message": MARKER},
}


@both
@pytest.mark.parametrize("shape", KEPT.values(), ids=KEPT)
def test_a_chunk_with_nothing_to_clean_is_the_same_object_with_the_same_fields(kind: str, shape: Shape) -> None:
    [one], [untouched] = given_as(kind, [shape]), given_as(kind, [shape])
    [cleaned] = clean_chat([one], sources=SOURCES)
    assert cleaned is one
    assert one == untouched
    assert plain(one) == plain(shape)


# What makes a chunk worth passing on, although its text was only markup.
CARRIED: dict[str, Shape] = {
    "role": chunk(choice(SHORT, role="assistant")),
    "tool call": chunk(choice(SHORT, tool_calls=[TOOL_CALL])),
    "finish": chunk(choice(SHORT, finish_reason="stop")),
    "usage": chunk(choice(SHORT), usage=USAGE),
    "another choice": chunk(choice(SHORT), choice("Yes", index=1)),
    "refusal": chunk(choice(SHORT, refusal="No")),
    "unknown in the delta": chunk(choice(SHORT, x_delta=1)),
    "unknown in the choice": chunk({**choice(SHORT), "content_filter_results": {"hate": {"filtered": False}}}),
    "unknown in the chunk": chunk(choice(SHORT), provider="any"),
}


@both
@pytest.mark.parametrize("shape", CARRIED.values(), ids=CARRIED)
def test_a_chunk_whose_text_was_markup_passes_with_all_else(kind: str, shape: Shape) -> None:
    [one] = given_as(kind, [shape])
    [cleaned] = clean_chat([one])
    assert cleaned is one
    expected = copy.deepcopy(shape)
    expected["choices"][0]["delta"]["content"] = ""
    assert plain(cleaned) == plain(expected)


@both
@pytest.mark.parametrize("padding", [{}, {"obfuscation": "xyz"}])
def test_a_chunk_that_was_only_markup_is_left_out(kind: str, padding: Shape) -> None:
    shapes = [chunk(choice("a")), *(chunk(choice(piece), **padding) for piece in SHORT), chunk(choice("b"))]
    given_chunks = given_as(kind, shapes)
    cleaned = list(clean_chat(given_chunks))
    assert cleaned == [given_chunks[0], given_chunks[-1]]
    assert cleaned[0] is given_chunks[0]
    assert cleaned[1] is given_chunks[-1]


@both
def test_padding_goes_where_the_length_of_the_text_changed_and_there_only(kind: str) -> None:
    deltas = ["It ", "lasts.\ue200", "cite\ue202a1", "é", f" x{SHORT}"]
    shapes = [chunk(choice(delta), obfuscation=delta) for delta in deltas]
    cleaned = [plain(each) for each in clean_chat(given_as(kind, shapes), sources=SOURCES)]
    seen = [(each["choices"][0]["delta"]["content"], "obfuscation" in each) for each in cleaned]
    # The marker is over at "é", which it cannot hold: the chunk gets the annotation, and its text stays.
    assert seen == [("It ", True), ("lasts.", False), ("é", True), (" x", False)]
    assert [len(each["choices"][0]["delta"].get("annotations", [])) for each in cleaned] == [0, 0, 1, 1]


@both
@pytest.mark.parametrize("name", ["content", "refusal", "reasoning_content", "reasoning"])
def test_what_is_held_at_the_finish_comes_in_a_new_chunk_before_it(kind: str, name: str) -> None:
    text = "It lasts.\ue200cite\ue202turn0file1"
    head: Shape = {**HEAD, "service_tier": "default", "system_fingerprint": "fp"}
    delta = {"role": "assistant", name: text}
    held = {**chunk({"index": 2, "delta": delta, "finish_reason": None}, usage=USAGE, obfuscation="x"), **head}
    finish = {**chunk(choice(None, 2, "length"), usage=USAGE), **head}
    first, last = given_as(kind, [held, finish])
    cleaned = list(clean_chat([first, last], malformed="keep"))
    assert [id(each) for each in (cleaned[0], cleaned[2])] == [id(first), id(last)]
    new = cleaned[1]
    assert type(new) is type(first)
    kept = text.removeprefix("It lasts.")
    expected = {**head, "object": "chat.completion.chunk", "choices": [{"index": 2, "delta": {name: kept}}]}
    assert plain(new) == expected
    assert plain(cleaned[0])["usage"] == plain(last)["usage"] == USAGE
    assert added_up(cleaned, name, 2) == text


MANY: dict[str, Any] = {
    "content": SENTENCE,
    "refusal": f"I cannot.{MARKER} No.",
    "reasoning_content": f"Hm.{SHORT}",
    "reasoning": f"{SHORT}Well.",
}


@both
@pytest.mark.parametrize("size", [1, 2, 5, 100])
def test_interleaved_texts_and_choices_do_not_mix(kind: str, size: int) -> None:
    shapes = [
        chunk(*({"index": index, "delta": {name: text[at : at + size]}} for index in (0, 1, 2)))
        for at in range(0, 60, size)
        for name, text in MANY.items()
    ]
    shapes += [chunk(choice(None, index, "stop")) for index in (2, 0, 1)]
    view = chat_events(given_as(kind, shapes))
    parts = [*view.iter_parts()]
    cleaned = list(clean_chat(given_as(kind, shapes), sources=SOURCES))
    whole = clean_completion(completion(kind, MANY, MANY, MANY), sources=SOURCES)
    for index in (0, 1, 2):
        for name, text in MANY.items():
            assert added_up(cleaned, name, index) == added_up([whole], name, index) == clean(text)
            of_part = [event for part, event in parts if (part.index, part.field) == (index, name)]
            assert joined(of_part) == parse(text)
        annotations = expected_annotations(SENTENCE, complete=True)  # the other texts are no part of the answer
        assert without_index(added_up(cleaned, "annotations", index)) == annotations
        assert added_up([whole], "annotations", index) == annotations
    assert view.result.complete
    assert view.result.text == clean(SENTENCE)


# Ends


class Broken(Exception):
    """What no library raises."""


def breaking(chunks: list[Any], error: Exception) -> Iterator[Any]:
    yield from chunks
    raise error


@both
def test_an_error_is_raised_as_it_came_after_what_was_held(kind: str) -> None:
    error = Broken()
    view = clean_chat(breaking(given_as(kind, streamed([SENTENCE, UNCLOSED], None)), error), malformed="keep")
    seen = []
    with pytest.raises(Broken) as raised:
        seen += [added_up([next(view)], "content") for _ in range(9)]
    assert raised.value is error
    view = clean_chat(breaking(given_as(kind, streamed([SENTENCE, UNCLOSED], None)), error), malformed="keep")
    seen = [added_up([next(view)], "content") for _ in range(3)]
    assert "".join(seen) == clean(SENTENCE + UNCLOSED, malformed="keep")
    with pytest.raises(Broken):
        next(view)


@both
@pytest.mark.parametrize("when", ["streamed", "final"])
def test_a_silent_end_loses_nothing(kind: str, when: When) -> None:
    shapes = streamed([SENTENCE, UNCLOSED], None)
    cleaned = list(clean_chat(given_as(kind, shapes), malformed="keep", sources=SOURCES, annotations=when))
    assert added_up(cleaned, "content") == clean(SENTENCE + UNCLOSED, malformed="keep")
    annotations = expected_annotations(SENTENCE + UNCLOSED, complete=False)
    assert without_index(added_up(cleaned, "annotations")) == annotations


@both
def test_text_after_the_finish_is_cleaned_too_and_its_offsets_go_on(kind: str) -> None:
    shapes = [chunk(choice(UNCLOSED, finish_reason="stop")), chunk(choice(SENTENCE)), chunk(usage=USAGE)]
    cleaned = list(clean_chat(given_as(kind, shapes), sources=SOURCES))
    assert added_up(cleaned, "content") == "It lasts." + clean(SENTENCE)
    places = [each["url_citation"]["start_index"] for each in added_up(cleaned, "annotations")]
    assert places == [len("It lasts."), len("It lasts.It lasts.")]


# Whole completions


@both
@pytest.mark.parametrize("reason", ["stop", "length", "", None])
def test_a_whole_completion_is_copied_and_loses_nothing(kind: str, reason: str | None) -> None:
    text = "It lasts.\ud83d\ue200cite\ue202turn0file1"
    message = {"content": text, "refusal": text, "tool_calls": [TOOL_CALL], "reasoning_content": text}
    given_whole = completion(kind, message, finish_reason=reason)
    before = copy.deepcopy(given_whole)
    whole = clean_completion(given_whole, malformed="keep")
    assert given_whole == before
    assert type(whole) is type(given_whole)
    expected = clean(as_utf16(text), complete=reason == "stop", malformed="keep")
    assert [added_up([whole], name) for name in ("content", "refusal", "reasoning_content")] == [expected] * 3
    assert added_up([whole], "tool_calls") == [TOOL_CALL]
    assert plain(whole)["choices"][0].get("finish_reason") == reason


# Bad input


@given(KINDS, st.lists(CHUNK, max_size=4), st.sampled_from(["streamed", "final"]))
def test_chunks_of_any_shape_raise_nothing_and_text_comes_through(kind: str, shapes: list[Shape], when: When) -> None:
    shapes = [*shapes, chunk(choice(f"{SHORT}Still read.", finish_reason="stop"))]
    cleaned = list(clean_chat(given_as(kind, shapes), sources=SOURCES, annotations=when))
    assert cleaned
    view = chat_events(given_as(kind, shapes))
    assert "".join(map(str, view)).endswith("Still read.")
    choices = [one for shape in shapes for one in get_list(shape, "choices")]
    messages = [{**one, "message": one.get("delta")} if isinstance(one, dict) else one for one in choices]
    whole = {"choices": copy.deepcopy(messages)}
    cleaned_whole = clean_completion(ChatCompletion.construct(None, **whole) if kind == "typed" else whole)
    assert get(get(get_list(cleaned_whole, "choices")[-1], "message"), "content") == "Still read."


@both
def test_choices_that_are_none_or_have_no_number_are_one(kind: str) -> None:
    unnumbered = [{"delta": {"content": text}} for text in (SENTENCE, SENTENCE, UNCLOSED)]
    shapes = [chunk(None, "text", *unnumbered, None), chunk(None, {"finish_reason": "stop"}, None)]
    cleaned = list(clean_chat(given_as(kind, shapes), sources=SOURCES))
    deltas = [
        each["delta"] for one in cleaned for each in plain(one)["choices"] if isinstance(each, dict) and "delta" in each
    ]
    assert "".join(delta.get("content", "") for delta in deltas) == clean(SENTENCE + SENTENCE + UNCLOSED, complete=True)
    annotations = [each for delta in deltas for each in delta.get("annotations", [])]
    assert without_index(annotations) == expected_annotations(SENTENCE + SENTENCE + UNCLOSED, complete=True)


# Misuse


WRONG: list[tuple[Shape, type[Exception], str]] = [
    ({"annotations": "all"}, ValueError, "^annotations: must be one of 'streamed', 'final', 'off', not 'all'$"),
    ({"unit": "byte"}, ValueError, "^unit: must be one of 'codepoint', 'utf16', not 'byte'$"),
    (
        {"sources": [*SOURCES.values()]},
        TypeError,
        "^sources: must be a mapping from id to Source, such as .*, not list$",
    ),
    ({"max_marker": 7}, ValueError, "max_marker"),
]


@pytest.mark.parametrize(("options", "error", "message"), WRONG)
def test_a_wrong_option_is_misuse_at_once(options: Shape, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        clean_chat(iter(()), **options)
    with pytest.raises(error, match=message):
        clean_completion(completion("dict", {"content": ""}), **options)


@pytest.mark.parametrize("value", [None, "text", 5, [], {}, {"output": []}, chunk], ids=str)
def test_what_is_not_a_completion_is_misuse(value: Any) -> None:
    with pytest.raises(TypeError, match=f"^completion: must be a chat completion, not {type(value).__name__}$"):
        clean_completion(value)


@pytest.mark.parametrize("value", [None, "text", b"text", chunk(), completion("typed", {})], ids=type)
def test_what_is_not_a_stream_is_misuse(value: Any) -> None:
    with pytest.raises(TypeError, match=r"^stream: must be what create\(stream=True\) returns, awaited if it is async"):
        clean_chat(value)


@pytest.mark.parametrize("item", ["text", 5, {"type": "response.output_text.delta"}], ids=str)
def test_what_is_not_a_chunk_is_misuse_when_it_comes(item: Any) -> None:
    with pytest.raises(TypeError, match=r"^stream: must give chunks"):
        next(clean_chat([item]))


@pytest.mark.anyio
async def test_an_async_stream_gives_the_same(anyio_backend: str) -> None:
    async def stream() -> AsyncIterator[ChatCompletionChunk]:
        for each in given_as("typed", streamed([*SENTENCE, UNCLOSED])):
            yield each

    async with clean_chat(stream(), sources=SOURCES) as view:
        assert isinstance(view, AsyncObjectView)
        seen = [each async for each in view]
    given_chunks = given_as("typed", streamed([*SENTENCE, UNCLOSED]))
    with clean_chat(given_chunks, sources=SOURCES) as same:
        assert isinstance(same, ObjectView)
        assert [*same] == seen
