"""Chat completions without I/O: where a chunk, or a whole completion, has text, and what that does to it.

Source: the API reference, "The chat completion chunk object" and "The chat completion object".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from streamcite.options import ParserOptions

from .objects import extras, fields, get
from .parts import Change, Channel, PartEvent, Step, StreamResult, Texts, new_change

# Where servers add the text of a model's reasoning to a delta or message.
_REASONING = ("reasoning_content", "reasoning")


class ChatCore:
    """Read the chunks of one chat completion, objects or dicts, or the events of the client's ``.stream()``."""

    def __init__(self, options: ParserOptions, snapshot: Mapping[str, Any] | None = None) -> None:
        self._texts = Texts(options)
        self._finished: dict[int, bool] = {}  # by choice
        self._pending: list[Change] = []  # of a snapshot
        if snapshot is not None:
            self._restore(snapshot)

    @property
    def held(self) -> str:
        """Give what is held of the answer."""
        return "".join(text.held for text in self._texts if text.part.is_answer)

    @property
    def result(self) -> StreamResult:
        """Tell what came so far."""
        return self._texts.result(finished=bool(self._finished) and all(self._finished.values()))

    def steps(self, chunk: Any) -> list[Step]:
        """Read the next chunk, or a whole completion.

        Raises:
            TypeError: it is none.
        """
        found = fields(chunk)
        if "choices" not in found:
            chunk = _chunk_of(chunk)
            found = fields(chunk)
        if found.get("usage") is not None:
            self._texts.usage = found["usage"]
        changes: list[Change] = []
        for choice in choices_of(chunk):
            of_choice = fields(choice)
            index = of_choice.get("index")
            if type(index) is not int:
                index = 0  # a server that numbers no choices has one
            holder = holder_of(choice)
            for name, channel, delta in _texts_of(holder):
                text = self._texts.get((index, 0, name), channel)
                text.template = chunk
                changes.append(new_change(text, text.feed(delta), holder, name))
            reason = of_choice.get("finish_reason")
            if reason and isinstance(reason, str):
                self._finished[index] = True
                changes = self._finish(index, reason, changes)
            elif index not in self._finished:
                self._finished[index] = False
        return [*self._take_pending(), (chunk, changes)] if self._pending else [(chunk, changes)]

    def end(self, *, stopped: bool) -> list[Step]:
        """Settle what no finish has settled."""
        self._texts.ended = not stopped
        return [*self._take_pending(), (None, self._texts.settle(self._texts, complete=False))]

    def snapshot(self, pending: Iterable[PartEvent]) -> dict[str, Any]:
        """Give the state as JSON values, with the events that were not handed out yet."""
        return self._texts.snapshot(pending) | {"finished": [*self._finished.items()]}

    def _restore(self, snapshot: Mapping[str, Any]) -> None:
        try:
            self._pending = self._texts.restore(snapshot)
            self._finished = dict(snapshot["finished"])
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"snapshot: must be what snapshot() gave, not {snapshot!r}: {error}") from error

    def _take_pending(self) -> list[Step]:
        pending, self._pending = self._pending, []
        return [(None, pending)] if pending else []

    def _finish(self, index: int, reason: str, changes: list[Change]) -> list[Change]:
        """Settle the texts of a choice; what a text held goes where its last delta stands, if that is here."""
        texts = [text for text in self._texts if text.part.index == index]
        for settled in self._texts.settle(texts, complete=reason == "stop", reason=reason):
            for number, change in enumerate(changes):
                if change.text is settled.text:
                    changes[number] = change._replace(new=change.new + settled.new)
                    break
            else:
                changes.append(settled)
        return changes


def _chunk_of(event: Any) -> Any:
    """Give the chunk in an event of the client's ``.stream()``, whose other events repeat it; else the event itself.

    Raises:
        TypeError: it is neither a chunk nor such an event.
    """
    kind = get(event, "type")
    if kind == "chunk":
        return get(event, "chunk")
    if isinstance(kind, str) and kind.startswith("response."):
        raise TypeError(
            f"stream: must give chunks, not {kind!r} events of the Responses API; these are for responses_events "
            "and clean_responses"
        )
    if not isinstance(event, dict) and not hasattr(event, "__dict__"):
        raise TypeError(
            f"stream: must give chunks, as create(stream=True) does, not {type(event).__name__}; "
            "for any other stream use iter_events or aiter_events, with a function as text"
        )
    return event


def choices_of(chunk: Any) -> list[Any]:
    """Give the choices that a chunk or a completion has."""
    choices = fields(chunk).get("choices")
    return choices if isinstance(choices, list) else []


def holder_of(choice: Any) -> Any:
    """Give what holds the texts of a choice: the delta of a chunk, the message of a completion."""
    found = fields(choice)
    delta = found.get("delta")
    return found.get("message") if delta is None else delta


def _texts_of(holder: Any) -> list[tuple[str, Channel, str]]:
    """Give the texts of a delta or message that are not empty: name, channel, text."""
    declared = fields(holder)
    content, refusal, added = declared.get("content"), declared.get("refusal"), extras(holder)
    texts: list[tuple[str, Channel, str]] = []
    if content and isinstance(content, str):
        texts.append(("content", "answer", content))
    if refusal and isinstance(refusal, str):
        texts.append(("refusal", "refusal", refusal))
    if added:
        found = ((name, added.get(name)) for name in _REASONING)
        texts += [(name, "reasoning", text) for name, text in found if text and isinstance(text, str)]
    return texts
