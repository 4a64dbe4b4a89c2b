"""Chat completion chunks, and whole completions, with their texts cleaned where they stand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container
from typing import Any

from streamcite.annotations import Annotation, AnnotationOptions, CleanOffsets, chat_annotations

from .chat_core import ChatCore, choices_of, holder_of
from .logprobs import TokenFilter
from .objects import bare, drop, extras, fields, get, get_index, get_list, get_str, put, put_list
from .parts import Change, Step

# What every chunk has, and what goes when a text changes its length: neither is a reason to pass a chunk on.
_HEAD = frozenset({"id", "object", "created", "model", "service_tier", "system_fingerprint"})
_PADDING = "obfuscation"
_EMPTY: tuple[Any, ...] = (None, "", [], {})


class _Choice:
    """What one choice needs besides its texts."""

    def __init__(self, index: int, options: AnnotationOptions, *, whole: bool) -> None:
        self._index = index
        self._whole = whole  # whether it is the choice of a whole completion
        self._template: Any = None  # a chunk that had text of it
        self._annotator = options.annotator(chat_annotations)
        self._offsets = CleanOffsets(options.unit)
        self._tokens: defaultdict[str, TokenFilter] = defaultdict(TokenFilter)
        self._logprobs: Any = None  # the last that were there
        self._count = 0  # of the annotations that were seen or handed out
        self.annotations: list[Annotation] = []  # those to be handed out

    def place(self, change: Change) -> bool:
        """Write what is shown where the text stood, and say whether that is another text."""
        self.read(change)
        shown = "".join(map(str, change.new))
        if shown == get_str(change.holder, change.name):
            return False
        put(change.holder, change.name, shown)
        return True

    def annotate(self, holder: Any, *, streamed: bool) -> bool:
        """Move the annotations of a delta or a message, add those that wait, and say whether there were any."""
        hosted = self._move(holder)
        if not self.annotations or not (streamed or self._whole):
            return False
        put_list(holder, "annotations", hosted + self._hand_out())
        return True

    def annotation_chunks(self) -> list[Any]:
        """Give a new chunk with the annotations that wait, if any do."""
        return [new_chunk(self._template, self._index, {"annotations": self._hand_out()})] if self.annotations else []

    def read(self, change: Change) -> None:
        """Learn the next events of a text."""
        self._template = change.text.template
        if change.text.part.field == "content":
            self._offsets.take(change.new)
            self.annotations += self._annotator.take(change.new)

    def _move(self, holder: Any) -> list[Any]:
        """Move the annotations that a delta or message has to where they stand in the clean text, and give them."""
        hosted = get_list(holder, "annotations")
        for annotation in hosted:
            kind = get(annotation, "type")
            place = get(annotation, kind) if isinstance(kind, str) else None
            for name, offset in self._offsets.moved({**fields(place), "type": kind}).items():
                put(place, name, offset)
            self._count = max(self._count, get_index(annotation, "index")) + 1
        return hosted

    def _hand_out(self) -> list[Annotation]:
        """Give the annotations that wait; numbered, as a stream's are."""
        waiting, self.annotations = self.annotations, []
        first, self._count = self._count, self._count + len(waiting)
        return [{"index": index, **each} if not self._whole else each for index, each in enumerate(waiting, first)]

    def keep_logprobs(self, choice: Any, changes: list[Change]) -> bool:
        """Keep the log probabilities of what is shown, and say whether others went."""
        found = get(choice, "logprobs")
        if found is None and self._logprobs is None:
            return False
        changed = False
        for name in ("content", "refusal"):
            entries = get_list(found, name)
            new = [event for change in changes if change.text.part.field == name for event in change.new]
            kept = self._tokens[name].take(entries, new)
            if kept != entries:
                if found is None:
                    found = bare(self._logprobs, ())
                    put(choice, "logprobs", found)
                put(found, name, kept)
                changed = True
        self._logprobs = self._logprobs if found is None else found
        return changed


class ChatCleaner:
    """Clean the chunks of one chat completion, or a whole one."""

    def __init__(self, core: ChatCore, options: AnnotationOptions, *, whole: bool = False) -> None:
        self._core = core
        self._options = options
        self._whole = whole
        self._final = options.annotations == "final"
        self._choices: dict[int, _Choice] = {}

    def read(self, chunk: Any) -> list[Any]:
        """Clean the next chunk, or a whole completion.

        Returns:
            It, unless nothing is left of it; before it new ones, with what has no place in it.
        """
        return [cleaned for step in self._core.steps(chunk) for cleaned in self._clean(step)]

    def end(self, *, stopped: bool) -> list[Any]:
        """Give new chunks with what no finish has settled."""
        settled = [change for step in self._core.end(stopped=stopped) for change in step.changes]
        chunks = [chunk for change in settled for chunk in self._settle(change)]
        return chunks + [chunk for state in self._choices.values() for chunk in state.annotation_chunks()]

    def _clean(self, step: Step) -> list[Any]:
        chunk, before, changed = step.chunk, [], False
        for choice in choices_of(chunk):
            index, holder = get_index(choice, "index"), holder_of(choice)
            changes = [change for change in step.changes if change.text.part.index == index]
            state = self._choice(index)
            for change in changes:
                if change.holder is not None:
                    changed |= state.place(change)
            changed |= state.annotate(holder, streamed=not self._final)
            before += [new for change in changes if change.holder is None for new in self._settle(change)]
            if fields(choice).get("finish_reason"):
                before += state.annotation_chunks()
            changed |= state.keep_logprobs(choice, changes)
        if not changed:
            return [*before, chunk]
        drop(chunk, _PADDING)
        return [*before, chunk] if _carries(chunk) else before

    def _choice(self, index: int) -> _Choice:
        if index not in self._choices:
            self._choices[index] = _Choice(index, self._options, whole=self._whole)
        return self._choices[index]

    def _settle(self, change: Change) -> list[Any]:
        state = self._choice(change.text.part.index)
        state.read(change)
        shown = "".join(map(str, change.new))
        part = change.text.part
        chunks = [new_chunk(change.text.template, part.index, {part.field: shown})] if shown else []
        return chunks if self._final else chunks + state.annotation_chunks()


def new_chunk(template: Any, index: int, delta: dict[str, Any]) -> Any:
    """Make a chunk like another one, with nothing but a delta of one choice."""
    choice = next(choice for choice in choices_of(template) if get_index(choice, "index") == index)
    new_delta = bare(holder_of(choice), ())
    for name, value in delta.items():
        put(new_delta, name, value)
    new_choice = bare(choice, ("index",))
    put(new_choice, "delta", new_delta)
    chunk = bare(template, _HEAD)
    put(chunk, "choices", [new_choice])
    return chunk


def _carries(chunk: Any) -> bool:
    """Say whether a chunk has anything that a reader of the stream can miss."""
    for choice in choices_of(chunk):
        logprobs = get(choice, "logprobs")
        if _filled(choice, {"index", "delta", "logprobs"}) or _filled(holder_of(choice), ()) or _filled(logprobs, ()):
            return True
    return _filled(chunk, {*_HEAD, "choices"})


def _filled(value: Any, but: Container[str]) -> bool:
    return any(field not in _EMPTY for name, field in {**fields(value), **extras(value)}.items() if name not in but)
