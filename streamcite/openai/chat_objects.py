"""Chat completion chunks, and whole completions, with their texts cleaned where they stand."""

from __future__ import annotations

import copy
from collections.abc import Container
from typing import Any

from streamcite.annotations import Annotation, AnnotationOptions, CleanOffsets, chat_annotations
from streamcite.events import Citation, Event

from .chat_core import ChatCore, choices_of, holder_of
from .logprobs import TokenFilter
from .objects import bare, drop, extras, fields, get, get_index, get_list, get_str, put, put_list, replace_field
from .text import Text
from .texts import Change

# What every chunk has, and what goes when a text changes its length: neither is a reason to pass a chunk on.
_HEAD = frozenset({"id", "object", "created", "model", "service_tier", "system_fingerprint"})
_PADDING = "obfuscation"
_BESIDES = _HEAD | {"choices", _PADDING}
# What a choice has that `_carries` looks into.
_CARRYING = ("index", "delta", "logprobs")


class _Choice:
    """What one choice needs besides its texts."""

    def __init__(self, core: ChatCore, options: AnnotationOptions, index: int) -> None:
        self._core = core
        self._index = index
        self._whole = core.whole
        self.blank: Any = None  # a chunk with an empty delta of this choice, to be filled with what has no place
        self._answer: Text | None = None
        self._annotator = options.annotator(chat_annotations)
        self._numbers = bool(options.sources) and options.annotations != "off" and not core.whole
        self._numbered: dict[int, int] = {}  # the numbers of the server's annotations, which ours may have taken
        self._annotations: list[Annotation] = []  # those that wait
        self._count = 0  # of those that were handed out, and the server's
        self._offsets = CleanOffsets(options.unit)
        self._tokens = {name: TokenFilter(core.markup) for name in ("content", "refusal")}
        self._logprobs: Any = None  # the last that were there

    @property
    def waits(self) -> bool:
        """Say whether annotations wait."""
        return bool(self._annotations)

    def read(self, text: Text, new: list[Event]) -> str:
        """Learn the next events of a text, and give what the reader sees of them."""
        if text.part.field == "content":
            self._answer = text
            if any(isinstance(event, Citation) for event in new):
                self._annotations += self._annotator.catch_up(text.events)
        return "".join(map(str, new))

    def place(self, text: Text, new: list[Event], holder: Any, name: str) -> bool:
        """Write what is shown where the text stood, and say whether that is another text."""
        shown = self.read(text, new)
        if shown == get_str(holder, name):
            return False
        replace_field(holder, name, shown)
        return True

    def annotate(self, holder: Any, *, streamed: bool) -> bool:
        """Move the annotations of a delta or a message, add those that wait, and say whether there were any."""
        hosted = get_list(holder, "annotations")
        if hosted:
            if self._answer is not None:
                self._offsets.catch_up(self._answer.events, self._answer.held)
            self._move(hosted)
        if not self._annotations or not (streamed or self._whole):
            return False
        put_list(holder, "annotations", hosted + self._hand_out())
        return True

    def annotation_chunks(self) -> list[Any]:
        """Give a new chunk with the annotations that wait, if any do."""
        if not self._annotations or self._answer is None:
            return []
        return [self.new_chunk("annotations", self._hand_out())]

    def new_chunk(self, name: str, value: Any) -> Any:
        """Make a chunk that has nothing but this field of a delta of the choice."""
        chunk = copy.copy(self.blank)
        choice = copy.copy(choices_of(chunk)[0])
        delta = copy.copy(fields(choice)["delta"])
        put(delta, name, value)
        put(choice, "delta", delta)
        put(chunk, "choices", [choice])
        return chunk

    def clean_repeated(self, choice: Any) -> bool:
        """Clean a message that stands beside a delta, as some servers repeat all so far, and say whether one did."""
        message = get(choice, "message") if fields(choice).get("delta") else None
        changed = False
        for name in ("content", "refusal", "reasoning_content", "reasoning"):
            whole = get_str(message, name)
            shown = "".join(map(str, self._core.reading_of((self._index, 0, name), whole))) if whole else ""
            if shown != whole:
                put(message, name, shown)
                changed = True
        return changed

    def keep_logprobs(self, choice: Any, changes: list[Change]) -> bool:
        """Keep the log probabilities of what is shown, and say whether others went."""
        found = fields(choice).get("logprobs")
        found = found if fields(found) else None  # what has no fields has no entries
        if found is None and self._logprobs is None:
            return False
        changed = False
        for name, tokens in self._tokens.items():
            entries = get_list(found, name)
            new = [event for text, events, *_ in changes if text.part.field == name for event in events]
            kept = tokens.take(entries, new, held=self._core.is_held((self._index, 0, name)))
            if kept != entries:
                if found is None:
                    found = bare(self._logprobs, ())
                    put(choice, "logprobs", found)
                put(found, name, kept)
                changed = True
        self._logprobs = self._logprobs if found is None else found
        return changed

    def _move(self, hosted: list[Any]) -> None:
        for annotation in hosted:
            kind = get_str(annotation, "type")
            place = get(annotation, kind)
            for name, offset in self._offsets.moved({**fields(place), "type": kind}).items():
                put(place, name, offset)
            if self._numbers and fields(annotation):
                self._number(annotation)

    def _number(self, annotation: Any) -> None:
        """Number an annotation of the server after those before it, as the client adds up those of one number."""
        given = get(annotation, "index")
        number = self._count
        if type(given) is int:
            number = self._numbered.setdefault(given, max(given, number))
        self._count = max(self._count, number + 1)
        put(annotation, "index", number)

    def _hand_out(self) -> list[Annotation]:
        """Give the annotations that wait; numbered, as a stream's are."""
        waiting, self._annotations = self._annotations, []
        first, self._count = self._count, self._count + len(waiting)
        return waiting if self._whole else [{"index": index, **each} for index, each in enumerate(waiting, first)]


class ChatCleaner:
    """Clean the chunks of one chat completion, or a whole one."""

    def __init__(self, core: ChatCore, options: AnnotationOptions) -> None:
        self._core = core
        self._options = options
        self._final = options.annotations == "final"
        self._choices: dict[int, _Choice] = {}
        self._scored = False  # whether any choice has had log probabilities

    @property
    def settled(self) -> bool:
        """Say whether nothing is held, nor waits: a chunk without markup and annotations would pass as it is."""
        if not self._core.settled:
            return False
        return self._options.sources is None or not any(state.waits for state in self._choices.values())

    @property
    def needs_all(self) -> bool:
        """Say whether every chunk must be read, as what comes of it does not depend on its text alone."""
        return self._scored

    @property
    def shift(self) -> int:
        """Give by how much the numbers of chunks are further than those that came: they have none."""
        return 0

    def text_of(self, chunk: Any) -> Text | None:
        """Give the text of which a chunk of one choice brought more."""
        choices = choices_of(chunk)
        return self._core.answer(get_index(choices[0], "index")) if len(choices) == 1 else None

    def leave_out(self) -> None:
        """Learn that a chunk of which nothing is left does not come."""

    def read(self, chunk: Any, more: tuple[Text, list[Event]] | None = None) -> list[Any]:
        """Clean the next chunk, or a whole completion.

        Args:
            chunk: the object of the client, or the dict of the API's JSON; it is changed in place.
            more: the text of which it brings more, and what came of that, if it was read and there is nothing else.

        Returns:
            It, unless nothing is left of it; before it new ones, with what has no place in it.

        Raises:
            TypeError: it is not a chunk.
        """
        more = more or self._core.more(chunk)
        if more is None:
            ((found, changes),) = self._core.steps(chunk)
            if found is not chunk:
                raise TypeError("stream: must be what entering .stream() gave, not its events")
            choices = choices_of(chunk)
        else:
            choices = choices_of(chunk)
            changes = [(*more, holder_of(choices[0]), "content", None)]
        if len(changes) == len(choices) == 1 and self._is_plain(choices[0], changes[0]):
            # Most chunks: what comes below comes to the same.
            text, new, holder, name, _ = changes[0]
            if len(new) == 1 and new[0] is fields(holder).get(name):
                return [chunk]
            state = self._choices[text.part.index]
            if not (
                (new and (state.read(text, new) or state.waits))
                or _filled(chunk, _BESIDES)
                or _filled(choices[0], _CARRYING)
                or _filled(holder, (name,))
            ):
                return []
        before: list[Any] = []
        changed = resized = False
        for choice in choices:
            index, holder = get_index(choice, "index"), holder_of(choice)
            state = self._choices.get(index) or self._begin(index)
            if state.blank is None and fields(holder):
                state.blank = _blank(chunk, choice, index)
            own = [change for change in changes if change[2] is holder] if holder is not None else []
            for text, new, _, name, _ in own:
                resized |= state.place(text, new, holder, name)
            resized |= state.clean_repeated(choice)
            finished = bool(fields(choice).get("finish_reason")) or self._core.whole
            if finished:
                settled = [change for change in changes if change[2] is None and change[0].part.index == index]
                changes = [change for change in changes if change not in settled]
                before += [new for change in settled for new in self._settled(change)]
            changed |= state.annotate(holder, streamed=not self._final)
            if finished:
                before += state.annotation_chunks()
            self._scored |= fields(choice).get("logprobs") is not None
            changed |= state.keep_logprobs(choice, own)
        if resized:
            drop(chunk, _PADDING)
        return before if (changed or resized) and not _carries(chunk) else [*before, chunk]

    def end(self, *, stopped: bool) -> list[Any]:
        """Give new chunks with what no finish has settled."""
        changes = [change for _, changes in self._core.end(stopped=stopped) for change in changes]
        chunks = [chunk for change in changes for chunk in self._settled(change)]
        return chunks + [chunk for state in self._choices.values() for chunk in state.annotation_chunks()]

    def _is_plain(self, choice: Any, change: Change) -> bool:
        """Say whether a choice has nothing but a delta of one text, as others had before."""
        text, _, holder, *_ = change
        found = fields(choice)
        others = len(holder) > 1 if isinstance(holder, dict) else extras(holder)
        state = self._choices.get(text.part.index)
        return (
            holder is not None
            and state is not None
            and state.blank is not None
            and not (self._scored or others or found.get("logprobs") is not None or found.get("finish_reason"))
            and "message" not in extras(choice)
        )

    def _begin(self, index: int) -> _Choice:
        self._choices[index] = _Choice(self._core, self._options, index)
        return self._choices[index]

    def _settled(self, change: Change) -> list[Any]:
        """Give new chunks with what came of a text when it was settled."""
        text, new, *_ = change
        state = self._choices[text.part.index]
        chunk = state.new_chunk(text.part.field, state.read(text, new))
        choice = choices_of(chunk)[0]
        state.annotate(holder_of(choice), streamed=not self._final)
        state.keep_logprobs(choice, [change])
        return [chunk] if _carries(chunk) else []


def _blank(chunk: Any, choice: Any, index: int) -> Any:
    """Make a chunk like another one that has nothing but an empty delta of one choice."""
    new_choice = bare(choice, ())
    put(new_choice, "index", index)
    put(new_choice, "delta", bare(holder_of(choice), ()))
    new = bare(chunk, _HEAD)
    put(new, "choices", [new_choice])
    return new


def _carries(chunk: Any) -> bool:
    """Say whether a chunk has anything that a reader of the stream can miss."""
    if _filled(chunk, _BESIDES):
        return True
    for choice in choices_of(chunk):
        logprobs = fields(choice).get("logprobs")
        if _filled(holder_of(choice), ()) or _filled(choice, _CARRYING) or _filled(logprobs, ()):
            return True
    return False


def _filled(value: Any, but: Container[str]) -> bool:
    """Say whether an object has a field, except for these, that is neither empty nor None, False or 0."""
    for found in (value,) if isinstance(value, dict) else (fields(value), extras(value)):
        for name in found:
            if found[name] and name not in but:
                return True
    return False
