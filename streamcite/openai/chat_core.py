"""Chat completions without I/O: where a chunk, or a whole completion, has text, and what that does to it.

Source: the API reference, "The chat completion chunk object" and "The chat completion object".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from streamcite.events import Event
from streamcite.options import ParserOptions

from .objects import declared, extras, fields, get, get_str
from .parts import Channel, Key, PartEvent
from .stage import NewStage
from .text import Text
from .texts import Change, Step, TextsCore

# Where a delta or message has text besides its content: OpenAI's own, and what servers add.
_OTHERS: tuple[tuple[str, Channel], ...] = (
    ("refusal", "refusal"),
    ("reasoning_content", "reasoning"),
    ("reasoning", "reasoning"),
)


class ChatCore(TextsCore):
    """Read the chunks of one chat completion, objects or dicts, or the events of the client's ``.stream()``."""

    def __init__(
        self,
        options: ParserOptions,
        snapshot: Mapping[str, Any] | None = None,
        *,
        new_tidy: NewStage | None = None,
        whole: bool = False,
    ) -> None:
        self.whole: bool = whole  # whether it is a whole completion, whose texts end with it
        self._of_choice: dict[int, list[Text]] = {}
        self._answers: dict[int, Text] = {}  # by choice
        self._finished: dict[int, bool] = {}
        super().__init__(options, snapshot, new_tidy)

    def answer(self, index: int) -> Text | None:
        """Give the answer of a choice, if it has begun."""
        return self._answers.get(index)

    def more(self, chunk: Any) -> tuple[Text, list[Event]] | None:
        """Read a chunk with one choice, and in it nothing but more of its content."""
        found = declared(chunk)
        choices = found.get("choices")
        if type(choices) is not list or len(choices) != 1 or found.get("usage") is not None:
            return None
        choice = declared(choices[0])
        holder = choice.get("delta")
        delta = declared(holder)
        content = delta.get("content")
        # What else a delta has is not its content: in a dict any field, in an object what is set.
        others = len(delta) > 1 if delta is holder else delta.get("refusal") or extras(holder)
        index = choice.get("index")
        if others or not content or type(content) is not str or type(index) is not int or choice.get("finish_reason"):
            return None
        text = self._answers.get(index)
        return None if text is None else (text, text.feed(content))

    def steps(self, chunk: Any) -> list[Step]:
        """Read the next chunk, or a whole completion.

        Raises:
            TypeError: it is neither.
        """
        found = fields(chunk)
        if "choices" not in found:
            chunk = _chunk_of(chunk, sure=self.sure)
            found = fields(chunk)
        if found.get("usage") is not None:
            self._usage = found["usage"]
        changes: list[Change] = []
        choices = found.get("choices")
        if isinstance(choices, list):
            self.sure = True
            for choice in choices:
                self._read(choice, changes)
        return [*self._take_restored(), (chunk, changes)] if self._restored else [(chunk, changes)]

    def _read(self, choice: Any, changes: list[Change]) -> None:
        found = fields(choice)
        index = found.get("index")
        if type(index) is not int:
            index = 0  # a server that numbers no choices has one
        holder = found.get("delta") or found.get("message")
        delta = fields(holder)
        content = delta.get("content")
        if content and isinstance(content, str):
            text = self._answers.get(index)
            if text is None:
                text = self._answers[index] = self._begin((index, 0, "content"), "answer")
            changes.append((text, text.feed(content), holder, "content", None))
        # Most deltas have nothing but content.
        others = len(holder) > ("content" in holder) if isinstance(holder, dict) else extras(holder)
        if others or delta.get("refusal"):
            for name, channel in _OTHERS:
                if more := get_str(holder, name):
                    text = self._begin((index, 0, name), channel)
                    changes.append((text, text.feed(more), holder, name, None))
        reason = found.get("finish_reason")
        if reason and isinstance(reason, str):
            self._finished[index] = True
            self._finish(index, reason, changes)
        elif self.whole:
            self._finish(index, None, changes)
        elif index not in self._finished:
            self._finished[index] = False

    def end(self, *, stopped: bool) -> list[Step]:
        """Settle what no finish has settled: of a choice that had one, and went on, as that said."""
        going_on = [text for text in self._texts.values() if text.reopened and text.finish_reason == "stop"]
        changes = [] if stopped else self._settle(going_on, complete=True)
        restored, (rest, settled) = self._take_restored(), super().end(stopped=stopped)[-1]
        return [*restored, (rest, changes + settled)]

    def snapshot(self, pending: Iterable[PartEvent], current: Text | None) -> dict[str, Any]:
        """Give the state as JSON values, with the events that were not handed out yet, and whose turn it is."""
        return super().snapshot(pending, current) | {"finished": [*self._finished.items()]}

    def _restore(self, snapshot: Mapping[str, Any]) -> None:
        super()._restore(snapshot)
        for text in self._texts.values():
            self._of_choice.setdefault(text.part.index, []).append(text)
        self._finished = dict(snapshot["finished"])

    def _begin(self, key: Key, channel: Channel) -> Text:
        known = len(self._texts)
        text = super()._begin(key, channel)
        if len(self._texts) > known:
            self._of_choice.setdefault(text.part.index, []).append(text)
        return text

    def _is_finished(self) -> bool:
        return bool(self._finished) and all(self._finished.values())

    def _finish(self, index: int, reason: str | None, changes: list[Change]) -> None:
        """Settle the texts of a choice; what a text held goes where its last delta stands, if that is here.

        One that went on after a finish is not settled by the next: some servers write the reason into every chunk.
        """
        texts = [text for text in self._of_choice.get(index, ()) if not text.reopened]
        for change in self._settle(texts, complete=reason == "stop", reason=reason):
            for number in reversed(range(len(changes))):
                text, new, holder, name, _ = changes[number]
                if text is change[0]:
                    changes[number] = text, new + change[1], holder, name, None
                    break
            else:
                changes.append(change)


def _chunk_of(event: Any, *, sure: bool) -> Any:
    """Give the chunk in an event of the client's ``.stream()``, whose other events repeat it; else the event itself.

    Raises:
        TypeError: it is neither a chunk nor such an event, and it is not ``sure`` that the stream gives these.
    """
    kind = get(event, "type")
    if kind == "chunk" and fields(chunk := get(event, "chunk")):
        return chunk
    if sure or event is None:
        return event
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
    return found.get("delta") or found.get("message")
