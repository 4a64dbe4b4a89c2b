"""Chat completions without I/O: where a chunk, or a whole completion, has text, and what that does to it.

Source: the API reference, "The chat completion chunk object" and "The chat completion object".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from streamcite.options import ParserOptions

from .objects import extras, fields, get, get_index, get_list
from .parts import Change, Channel, PartEvent, Step, StreamResult, Texts

# Where a delta or a message has text. OpenAI's own are declared by the client; the others are what servers add.
_DECLARED: tuple[tuple[str, Channel], ...] = (("content", "answer"), ("refusal", "refusal"))
_ADDED: tuple[tuple[str, Channel], ...] = (("reasoning_content", "reasoning"), ("reasoning", "reasoning"))


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
        chunk = chunk_of(chunk)
        usage = fields(chunk).get("usage")
        if usage is not None:
            self._texts.usage = usage
        changes: list[Change] = []
        for choice in choices_of(chunk):
            index = get_index(choice, "index")
            holder = holder_of(choice)
            for name, channel, delta in _texts_of(holder):
                text = self._texts.get((index, 0, name), channel)
                text.template = chunk
                changes.append(Change(text, text.feed(delta), holder, name))
            reason = fields(choice).get("finish_reason")
            if reason and isinstance(reason, str):
                self._finished[index] = True
                changes = self._finish(index, reason, changes)
            else:
                self._finished.setdefault(index, False)
        return [*self._take_pending(), Step(chunk, changes)]

    def end(self, *, stopped: bool) -> list[Step]:
        """Settle what no finish has settled."""
        self._texts.ended = not stopped
        return [*self._take_pending(), Step(None, self._texts.settle(self._texts, complete=False))]

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
        return [Step(None, pending)] if pending else []

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


def chunk_of(chunk: Any) -> Any:
    """Give the chunk in an event of the client's ``.stream()``, which repeats each chunk in events of other types.

    Raises:
        TypeError: it is neither a chunk nor such an event.
    """
    found = fields(chunk)
    if "choices" in found:
        return chunk
    kind = get(chunk, "type")
    if kind == "chunk":
        return found.get("chunk")
    if isinstance(kind, str) and kind.startswith("response."):
        raise TypeError(
            f"stream: must give chunks, not {kind!r} events of the Responses API; these are for responses_events "
            "and clean_responses"
        )
    if not isinstance(chunk, dict) and not hasattr(chunk, "__dict__"):
        raise TypeError(
            f"stream: must give chunks, as create(stream=True) does, not {type(chunk).__name__}; "
            "for any other stream use iter_events or aiter_events, with a function as text"
        )
    return chunk


def choices_of(chunk: Any) -> list[Any]:
    """Give the choices that a chunk or a completion has."""
    return get_list(chunk, "choices")


def holder_of(choice: Any) -> Any:
    """Give what holds the texts of a choice: the delta of a chunk, the message of a completion."""
    found = fields(choice)
    delta = found.get("delta")
    return found.get("message") if delta is None else delta


def _texts_of(holder: Any) -> Iterator[tuple[str, Channel, str]]:
    declared = fields(holder)
    for name, channel in _DECLARED:
        text = declared.get(name)
        if text and isinstance(text, str):
            yield name, channel, text
    if added := extras(holder):
        for name, channel in _ADDED:
            text = added.get(name)
            if text and isinstance(text, str):
                yield name, channel, text
