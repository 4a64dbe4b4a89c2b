"""What is wrong with what a reader of the soak has got, beside what its plan says. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from streamcite import Resolved, clean
from streamcite.links import AnyEvent, from_dict, to_dict
from streamcite.openai import clean_completion
from streamcite.resolve import resolve
from streamcite.sse import ServerSentEvent, SSEDecoder

from .plan import ENDED, SOURCES, Plan

# What can be wrong, and what of that with a stream that is read once, and with an answer that survives a reload.
WRONG: Mapping[str, str] = {
    "text": "the clean text is not the parser's",
    "annotations": "the annotations are not those of the whole text",
    "end": "a cut is not reported, or one is where there was none",
    "lost": "a reader lacks an event",
    "doubled": "a reader has an event twice",
    "disorder": "events are out of order, or differ",
    "failed": "no answer, or none in two minutes",
}
OF_A_STREAM = ("text", "annotations", "end", "failed")
OF_AN_ANSWER = tuple(name for name in WRONG if name != "annotations")
DONE = "[DONE]"


@dataclass
class Seen:
    """What a client of the relay has got.

    Attributes:
        status: of HTTP; 0: there was no answer.
        body: as it came.
        ended: whether it has ended as HTTP says.
        left: whether the client has left before.
        shown: whether its request shows sources.
    """

    status: int = 0
    body: bytearray = field(default_factory=bytearray)
    ended: bool = False
    left: bool = False
    shown: bool = False


@dataclass
class Read:
    """What a reader of an answer that survives a reload has got, over all its visits.

    Attributes:
        events: as they came.
        ended: whether the server says that there are no more.
        missing: whether it says that there is no such answer.
        visits: how often the reader has come.
        stopped: whether a visit has ended as HTTP says, but before the answer's end.
    """

    events: list[ServerSentEvent] = field(default_factory=list)
    ended: bool = False
    missing: bool = False
    visits: int = 0
    stopped: bool = False

    @property
    def end(self) -> bool | None:
        """Say whether the answer is said to be complete; None if its end is not there."""
        last = self.events[-1] if self.events else None
        return bool(json.loads(last.data)["complete"]) if last is not None and last.event == "end" else None


def relayed(plan: Plan, seen: Seen) -> list[str]:
    """Say what is wrong with a relayed stream."""
    if plan.fault in ("5xx", "no answer"):
        expected = 503 if plan.fault == "5xx" else 502
        return [] if seen.status == expected or seen.left else ["failed"]
    if seen.status != 200:
        return [] if seen.left and not seen.status else ["failed"]
    text, end = shown(plan, seen.body)
    expected_text, expected_end = shown(plan, plan.body)
    streamed, whole = annotated(plan, seen.body)
    due = due_annotations(expected_text, whole=plan.whole) if seen.shown else []
    wrong = []
    if streamed != (due[: len(streamed)] if seen.left else due) or whole not in (None, due):
        wrong.append("annotations")
    if seen.left:
        return wrong if clean(expected_text).startswith(text) else [*wrong, "text"]
    if text != clean(expected_text):
        wrong.append("text")
    if (end, seen.ended) != (expected_end, plan.fault in ENDED):
        wrong.append("end")
    return wrong


def shown(plan: Plan, body: bytes | bytearray) -> tuple[str, list[str]]:
    """Give the text that the deltas of a body add up to, and what it says of its end.

    Raises:
        ValueError: an event of it is not JSON, or not one of the API.
    """
    texts: list[str] = []
    ends: list[str] = []
    try:
        for value in _values(body):
            if value == DONE:
                ends.append(DONE)
            elif "error" in value and not value.get("type"):
                ends.append(str(value["error"]["message"]))
            elif plan.api == "chat":
                for choice in value["choices"]:
                    texts.append(choice["delta"].get("content") or "")
                    ends += filter(None, [choice["finish_reason"]])
            elif value["type"] == "response.output_text.delta":
                texts.append(value["delta"])
            elif value["type"] == "response.completed":
                ends += [each["content"][0]["text"] for each in value["response"]["output"]]
    except KeyError as error:  # what is left of two events may be JSON by accident
        raise ValueError(f"an event has no {error}") from error
    return "".join(texts), [clean(each) for each in ends]


def annotated(plan: Plan, body: bytes | bytearray) -> tuple[list[Any], list[Any] | None]:
    """Give the citations of pages that the events of a body bring one by one, and those of a response at its end."""
    streamed: list[Any] = []
    whole = None
    for value in _values(body):
        if plan.api == "chat" and "choices" in value:
            streamed += (each for choice in value["choices"] for each in choice["delta"].get("annotations") or ())
        elif plan.api == "responses" and value.get("type") == "response.output_text.annotation.added":
            streamed.append(value["annotation"])
        elif plan.api == "responses" and value.get("type") == "response.completed":
            whole = [_page(note) for each in value["response"]["output"] for note in each["content"][0]["annotations"]]
    return [*map(_page, streamed)], whole


def due_annotations(text: str, *, whole: bool) -> list[Any]:
    """Give those that a text has where it is cleaned in one go."""
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop" if whole else None}
    completion: Any = clean_completion({"choices": [choice]}, sources=SOURCES)
    return [*map(_page, completion["choices"][0]["message"].get("annotations") or ())]


def _page(annotation: Mapping[str, Any]) -> dict[str, Any]:
    """Give what an annotation says in both APIs: which page, and where."""
    place = annotation.get("url_citation", annotation)
    return {name: place.get(name) for name in ("start_index", "end_index", "title", "url")}


def _values(body: bytes | bytearray) -> Iterator[Any]:
    for event in SSEDecoder().feed(bytes(body)):
        text = event.data.decode()
        yield text if text == DONE else json.loads(text)


def read(plan: Plan, readers: Sequence[Read], *, away: bool) -> list[str]:
    """Say what is wrong with what the readers of one answer have got.

    Args:
        plan: of the answer.
        readers: all of them.
        away: whether Redis was away for longer than an answer waits: then it may have broken off, and says so.
    """
    wrong = [name for each in readers for name in _numbered(each)]
    longest = max((each.events for each in readers), key=len)
    for each in readers:
        if each.stopped:
            wrong.append("end")
        if not each.ended and not (each.missing and away):
            wrong.append("failed")
        elif each.events != longest[: len(each.events)]:
            wrong.append("disorder")
        elif each.ended and len(each.events) < len(longest):
            wrong.append("lost")
    whole = next((each for each in readers if each.ended), None)
    if not wrong and whole is not None:
        wrong += _answered(plan, whole, away=away)
    return sorted({*wrong})


def _numbered(reader: Read) -> Iterator[str]:
    numbers = [int(event.id or -1) for event in reader.events]
    if len({*numbers}) < len(numbers):
        yield "doubled"
    if numbers and len({*numbers}) <= max(numbers):
        yield "lost"
    if any(one > other for one, other in pairwise(numbers)):
        yield "disorder"


def _answered(plan: Plan, reader: Read, *, away: bool) -> Iterator[str]:
    forms = [json.loads(event.data) for event in reader.events if event.event not in ("start", "patch", "end")]
    events, answer = [from_dict(form) for form in forms], shown(plan, plan.body)[0]
    text, expected = "".join(map(str, events)), clean(answer)
    # In the JSON form sources have no text.
    markup, due = _markup(events), _markup(from_dict(to_dict(event)) for event in resolve(answer, SOURCES))
    broke_off = away and reader.end is False
    if reader.end != plan.whole and not broke_off:
        yield "end"
    if text != expected and not (broke_off and expected.startswith(text)):
        yield "text"
    elif markup != (due[: len(markup)] if broke_off else due):
        yield "lost" if len(markup) < len(due) else "doubled" if len(markup) > len(due) else "disorder"


def _markup(events: Iterable[AnyEvent]) -> list[AnyEvent]:
    return [event for event in events if not isinstance(event, str | Resolved)]
