"""Log probabilities: the entries of what the reader sees stay, those of markers go."""

import itertools
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamcite import CitationParser, Event, parse
from streamcite.openai import clean_chat, clean_completion, clean_responses
from streamcite.openai.logprobs import TokenFilter
from streamcite.openai.objects import get_list
from streamcite.spacing import Spacing
from tests import strategies as sc
from tests.chats import KINDS, Shape, as_utf16, both, choice, chunk, completion, given_as, plain
from tests.markers import MARKER, SENTENCE


def entry(data: bytes, **fields: Any) -> Shape:
    """Give an entry as OpenAI does: a token that is not text by itself is written in hexadecimal escapes."""
    token = data.decode(errors="backslashreplace")
    return {"token": token, "bytes": [*data], "logprob": -0.5, "top_logprobs": [], **fields}


def tokenized(text: str, ends: Iterable[int]) -> list[Shape]:
    """Cut a text into entries at byte offsets."""
    data = text.encode()
    places = sorted({0, len(data), *(end for end in ends if end < len(data))})
    return [entry(data[start:end]) for start, end in itertools.pairwise(places)]


def by_byte(text: str) -> list[Shape]:
    """Cut a text into entries of one byte: three for each character of a marker, as OpenAI's are."""
    return [entry(bytes([byte])) for byte in text.encode()]


def kept_of(entries: list[Shape], events: Iterable[Event]) -> list[Shape]:
    """Say which entries are kept, the slow way: those with a byte that is shown."""
    shown: list[bool] = []
    for event in events:
        raw = event if isinstance(event, str) else event.raw
        shown += [str(event) == raw] * len(raw.encode())
    kept, at = [], 0
    for each in entries:
        size = len(each["bytes"])
        if not size or any(shown[at : at + size]):
            kept.append(each)
        at += size
    return kept


@given(st.data(), st.booleans())
def test_an_entry_stays_if_any_of_its_bytes_is_shown(data: st.DataObject, complete: bool) -> None:
    text = as_utf16(data.draw(sc.texts(sc.OPENAI)))
    every = tokenized(text, data.draw(st.lists(st.integers(1, 40))))
    waiting, parser, tokens = [*every], CitationParser(), TokenFilter(())
    events: list[Event] = []
    kept: list[Shape] = []
    fed = passed = 0  # bytes
    for delta in data.draw(sc.cuts(text)):
        fed += len(delta.encode())
        came = []  # an entry comes with the delta in which it begins
        while waiting and passed < fed:
            came.append(waiting.pop(0))
            passed += len(came[-1]["bytes"])
        new = parser.feed(delta)
        events += new
        kept += tokens.take(came, new, held=bool(parser.held) or passed != fed)
        assert kept == kept_of(every, events)[: len(kept)]  # in order, and none before it is decided
    end = parser.close(complete=complete)
    kept += tokens.take([], end)
    assert kept == kept_of(every, events + end)


def with_logprobs(text: str, name: str = "content", **fields: Any) -> Shape:
    """Give a choice with a text and its entries, byte by byte."""
    return {"index": 0, "delta": {name: text}, "logprobs": {name: by_byte(text)}, **fields}


def entries_of(chunks: Iterable[Any], name: str = "content") -> list[Shape]:
    found = [one.get("logprobs", {}).get(name) for each in chunks for one in plain(each)["choices"]]
    return [each for entries in found for each in entries or []]


def tokens_of(chunks: Iterable[Any], name: str = "content") -> str:
    return bytes(byte for each in entries_of(chunks, name) for byte in each["bytes"]).decode()


@given(KINDS, st.data(), st.sampled_from(["stop", "length", None]), st.sampled_from(["drop", "keep"]))
def test_what_is_left_is_the_text_in_a_stream_as_in_a_whole(
    kind: str, data: st.DataObject, reason: str | None, malformed: Any
) -> None:
    # No format here shows anything that the model did not write, except for entities and URLs, whose tokens go.
    text = as_utf16(data.draw(sc.texts(sc.OPENAI)))
    name = data.draw(st.sampled_from(["content", "refusal"]))
    shapes = [chunk(with_logprobs(delta, name)) for delta in data.draw(sc.cuts(text))]
    shapes += [chunk(choice(None, finish_reason=reason))] * (reason is not None)
    events = parse(text, complete=reason == "stop", malformed=malformed)
    expected = kept_of(by_byte(text), events)
    cleaned = list(clean_chat(given_as(kind, shapes), malformed=malformed))
    assert entries_of(cleaned, name) == expected
    logprobs = {"content": None, name: by_byte(text)}
    given_whole = completion(kind, {name: text}, finish_reason=reason, logprobs=logprobs)
    assert entries_of([clean_completion(given_whole, malformed=malformed)], name) == expected


@given(st.data(), st.sampled_from(["exact", "tidy"]), st.sampled_from(["completed", "incomplete"]))
def test_the_deltas_of_a_response_have_the_entries_of_its_text(data: st.DataObject, spacing: Spacing, end: str) -> None:
    text = as_utf16(data.draw(sc.texts(sc.OPENAI)))
    place = {"output_index": 0, "content_index": 0, "item_id": "m"}
    every = [entry(character.encode()) for character in text]
    entries = iter(every)
    events: list[Shape] = [
        {
            "type": "response.output_text.delta",
            "delta": delta,
            "logprobs": [*itertools.islice(entries, len(delta))],
            **place,
        }
        for delta in data.draw(sc.cuts(text))
    ]
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": every}
    output = [{"type": "message", "id": "m", "status": end, "content": [part]}]
    events.append({"type": f"response.{end}", "response": {"status": end, "output": output}})
    *deltas, last = clean_responses(events, spacing=spacing)
    [cleaned] = last["response"]["output"][0]["content"]
    assert "".join(event["delta"] for event in deltas) == cleaned["text"]
    assert [each for event in deltas for each in event["logprobs"]] == cleaned["logprobs"]


@both
def test_each_entry_comes_with_its_text(kind: str) -> None:
    shapes = [chunk(with_logprobs(character)) for character in SENTENCE + "\ue200"]
    shapes += [chunk(choice(None, finish_reason="length"))]
    cleaned = list(clean_chat(given_as(kind, shapes), malformed="keep"))
    assert len(cleaned) == len(SENTENCE) - len(MARKER) + 2  # what was held, and the finish
    for each in cleaned[:-1]:
        assert tokens_of([each]) == plain(each)["choices"][0]["delta"]["content"]
    assert entries_of(cleaned[-1:]) == []


@both
def test_entries_of_held_text_wait_until_it_is_shown(kind: str) -> None:
    # After the start may come a family name: "cita" is held, until "l" could still be one, and " " cannot.
    shapes = [chunk(with_logprobs(text)) for text in ("a\ue200", "cita", "l", " b")]
    cleaned = [plain(each) for each in clean_chat(given_as(kind, shapes))]
    assert [(each["choices"][0]["delta"]["content"], tokens_of([each])) for each in cleaned] == [
        ("a", "a"),
        ("cital b", "cital b"),
    ]


@both
def test_a_chunk_with_entries_of_markup_only_is_left_out(kind: str) -> None:
    shapes = [chunk(with_logprobs(character), obfuscation="x") for character in MARKER]
    assert list(clean_chat(given_as(kind, shapes))) == []


@both
def test_an_entry_without_bytes_stands_for_those_of_its_token(kind: str) -> None:
    tokens = ["It", " lasts", "\ue200", "cite", "\ue202", "a1", "\ue201", " \U0001f680", "!"]
    shapes = [
        chunk({**choice(token), "logprobs": {"content": [{"token": token, "bytes": None, "logprob": -1.0}]}})
        for token in tokens
    ]
    cleaned = list(clean_chat(given_as(kind, shapes)))
    assert [each["token"] for each in entries_of(cleaned)] == ["It", " lasts", " \U0001f680", "!"]


@both
def test_entries_that_stand_for_nothing_of_the_text_are_not_lost(kind: str) -> None:
    # Some servers give the token that ended the answer too, and some an entry of no bytes.
    end = entry(b"<|im_end|>")
    ends: Shape = {**choice("", finish_reason="stop"), "logprobs": {"content": [end]}}
    shapes = [chunk(with_logprobs("Yes.")), chunk({**choice(""), "logprobs": {"content": [entry(b"")]}}), chunk(ends)]
    cleaned = list(clean_chat(given_as(kind, shapes)))
    assert entries_of(cleaned) == [*by_byte("Yes."), entry(b""), end]
    logprobs = {"content": [*by_byte("Yes."), entry(b""), end]}
    whole = clean_completion(completion(kind, {"content": "Yes."}, logprobs=logprobs))
    assert entries_of([whole]) == logprobs["content"]


@both
def test_entries_of_a_choice_stay_with_it_and_other_fields_stay(kind: str) -> None:
    pieces = [SENTENCE[at : at + 7] for at in range(0, len(SENTENCE), 7)]
    shapes = [chunk(with_logprobs(piece), with_logprobs(piece.lower(), index=1)) for piece in pieces]
    for shape in shapes:
        for each in shape["choices"]:
            each["logprobs"]["x_other"] = ["kept"]
    cleaned = [plain(each)["choices"] for each in clean_chat(given_as(kind, shapes))]
    for index, text in enumerate((SENTENCE, SENTENCE.lower())):
        of_choice = [{"choices": [choices[index]]} for choices in cleaned]
        assert tokens_of(of_choice) == text.replace(MARKER, "").replace(MARKER.lower(), "")
        assert all(each["choices"][0]["logprobs"]["x_other"] == ["kept"] for each in of_choice)


ODD: list[Any] = [None, "text", 5, [], {}, {"content": 5}, {"content": ["text", None, {}]}, {"content": [{"bytes": 5}]}]


@both
@pytest.mark.parametrize("odd", ODD, ids=str)
def test_log_probabilities_of_another_shape_raise_nothing_and_take_nothing(kind: str, odd: Any) -> None:
    shapes = [
        chunk(with_logprobs("It \ue200")),
        chunk({**choice("lasts. "), "logprobs": odd}),
        chunk({**choice("So."), "logprobs": odd}),
        chunk({**choice(None, finish_reason="stop"), "logprobs": odd}),
    ]
    cleaned = list(clean_chat(given_as(kind, shapes)))
    assert "".join(each["choices"][0]["delta"].get("content", "") for each in map(plain, cleaned)) == "It lasts. So."
    found = [get_list(one.get("logprobs"), "content") for each in cleaned for one in plain(each)["choices"]]
    entries = [each for entries in found for each in entries]
    assert [each for each in entries if isinstance(each, dict) and "token" in each] == by_byte("It ")
