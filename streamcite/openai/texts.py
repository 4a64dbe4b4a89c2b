"""The texts of one answer: the state that the cores of both APIs share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, TypeAlias

from streamcite.events import Event, from_dict, raw_of, to_dict
from streamcite.format import OPENAI
from streamcite.links import Cited
from streamcite.options import ParserOptions
from streamcite.parser import CitationParser

from .parts import Channel, Key, Part, PartEvent, StreamResult
from .stage import NewStage, read_whole
from .text import Text

SNAPSHOT_VERSION = 1


def _key(index: int, content_index: int, field: str) -> Key:
    return index, content_index, field


# What one place in a chunk, or the end of a text, did to a text: the text; the events that came of it; the object that
# holds the place, or None where what was held was settled; the field of the holder where the text stands; and where the
# place holds the whole text that, else None. A plain tuple, as nearly every chunk makes one, and so is a step.
Change: TypeAlias = tuple[Text, list[Event], Any, str, str | None]
# A chunk with the changes it makes, in the order of the places in it; without a chunk (None), what was settled between.
Step: TypeAlias = tuple[Any, list[Change]]


def settled(text: Text, new: list[Event]) -> Change:
    """Give the change of what no place in a chunk holds."""
    return text, new, None, "", None


class TextsCore(ABC):
    """The texts of one stream. A core of an API says which there are, and what each chunk does to them.

    Args:
        options: as for `CitationParser`.
        snapshot: what `snapshot` gave, to go on from there.
        new_tidy: makes what mends the spacing of each text, if it is to be mended.

    Attributes:
        current: the text of the answer whose turn it was when the snapshot was taken.
        sure: whether the stream has given what it must; until then, what is nothing of the API is misuse.
        new_stage: makes what stands after the parser of each text of an answer or a commentary, if anything does.
        partial: whether chunks without markup were left out, so that what a text was read of is not all of it.

    Raises:
        ValueError, TypeError: as `CitationParser`; ValueError: ``snapshot`` is not one.
    """

    def __init__(
        self, options: ParserOptions, snapshot: Mapping[str, Any] | None, new_tidy: NewStage | None = None
    ) -> None:
        for name in options:
            if name not in ParserOptions.__annotations__:
                known = ", ".join(ParserOptions.__annotations__)
                raise TypeError(f"{name}: is not an option here; the options are {known}")
        CitationParser(**options)  # a wrong option is misuse at once, not when the first text begins
        self._options = options
        self._texts: dict[Key, Text] = {}
        self._usage: Any = None
        self._ended = False  # whether the stream was read to its end, without an error
        self._restored: list[Change] = []  # what the snapshot had not handed out
        self.current: Text | None = None
        self.sure: bool = False
        self._new_tidy = new_tidy
        self.new_stage: NewStage | None = new_tidy
        self.partial: bool = False
        if snapshot is not None:
            try:
                self._restore(snapshot)
            except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
                raise ValueError(f"snapshot: must be what snapshot() gave, not {snapshot!r}: {error}") from error

    @property
    def result(self) -> StreamResult:
        """Say what came so far."""
        return self.result_with({})

    def result_with(self, cited: Mapping[Part, Mapping[int, Cited]]) -> StreamResult:
        """Say what came so far, and was resolved.

        Args:
            cited: what was handed out in the place of citations, by part, and by where these stand in the input.
        """
        parts = tuple(text.result(cited.get(text.part, {})) for text in self._texts.values())
        return StreamResult(parts=parts, usage=self._usage, complete=self._ended and self._is_finished())

    @property
    def markup(self) -> tuple[str, str, str]:
        """Give the tokens of the format."""
        return self._options.get("format", OPENAI).tokens

    @property
    def settled(self) -> bool:
        """Say whether nothing is held of any text, and no chunk waits for another."""
        for text in self._texts.values():  # noqa: SIM110  # a generator costs more than most of these have texts
            if text.holds:
                return False
        return True

    @property
    def text_count(self) -> int:
        """Give how many texts have begun."""
        return len(self._texts)

    @property
    def held_size(self) -> int:
        """Give how many characters are held, of all texts."""
        return sum(len(text.held) for text in self._texts.values())

    @property
    def events(self) -> Iterator[Event]:
        """Give the events of all texts so far."""
        return chain.from_iterable(text.events for text in self._texts.values())

    @abstractmethod
    def more(self, chunk: Any) -> tuple[Text, list[Event]] | None:
        """Read a chunk that brings more of one text that was begun, and nothing else, as most do.

        Returns:
            The text and what came of it, to which `steps` would come too. None, with nothing read, for any other chunk.
        """

    @abstractmethod
    def steps(self, chunk: Any) -> list[Step]:
        """Read the next chunk.

        Raises:
            TypeError: it is not one.
        """

    def is_held(self, key: Key) -> bool:
        """Say whether anything of a text is held."""
        return key in self._texts and bool(self._texts[key].held)

    def reading_of(self, key: Key, whole: str) -> list[Event]:
        """Give the events of a whole text that is repeated."""
        text = self._texts.get(key)
        return read_whole(whole, self._options, self._new_tidy) if text is None else text.reading_of(whole)

    def end(self, *, stopped: bool) -> list[Step]:
        """Settle what no chunk has settled; ``stopped`` if an error ended the stream."""
        self._ended = not stopped
        return [*self._take_restored(), (None, self._settle(self._texts.values(), complete=False))]

    def held(self, pending: Iterable[PartEvent], current: Text | None) -> str:
        """Give what is held of the answer, and the events that were not handed out yet: text after text, in turn."""
        answers = [text for text in self._texts.values() if text.part.is_answer]
        held = {text.part: "" for text in answers}
        for part, event in self._with_restored(pending):
            if part in held:
                held[part] += raw_of(event)
        answers.sort(key=lambda text: (text is not current, text.part))
        return "".join(held[text.part] + text.held for text in answers)

    def snapshot(self, pending: Iterable[PartEvent], current: Text | None) -> dict[str, Any]:
        """Give the state as JSON values, with the events that were not handed out yet, and whose turn it is."""
        return {
            "version": SNAPSHOT_VERSION,
            "texts": [text.snapshot() for text in self._texts.values()],
            "pending": [[part.key, to_dict(event)] for part, event in self._with_restored(pending)],
            "current": current.part.key if current else None,
        }

    @abstractmethod
    def _is_finished(self) -> bool:
        """Say whether the API said that the answer is finished."""

    def _restore(self, snapshot: Mapping[str, Any]) -> None:
        if snapshot["version"] != SNAPSHOT_VERSION:
            raise ValueError(f"its version must be {SNAPSHOT_VERSION}")
        for each in snapshot["texts"]:
            text = Text.restore(each, self._options, self._new_tidy)
            self._texts[text.part.key] = text
        current = snapshot["current"]
        self.current = None if current is None else self._texts[_key(*current)]
        self._restored = [settled(self._texts[_key(*key)], [from_dict(event)]) for key, event in snapshot["pending"]]
        for text, new, *_ in self._restored:
            text.take_back(new)

    def _begin(self, key: Key, channel: Channel) -> Text:
        """Give a text, which begins when it is asked for."""
        text = self._texts.get(key)
        if text is None:
            new_stage = self.new_stage if channel in ("answer", "commentary") else self._new_tidy
            text = self._texts[key] = Text(Part(channel, *key), self._options, new_stage)
        return text

    def _settle(self, texts: Iterable[Text], *, complete: bool, reason: str | None = None) -> list[Change]:
        """Close texts, and give what was held in them."""
        changes = []
        for text in texts:
            if reason is not None:
                text.finish_reason = reason
            if new := text.close(complete=complete):
                changes.append(settled(text, new))
        return changes

    def _take_restored(self) -> list[Step]:
        """Give the events of the snapshot that were not handed out, once."""
        restored, self._restored = self._restored, []
        return [(None, restored)] if restored else []

    def _with_restored(self, pending: Iterable[PartEvent]) -> list[PartEvent]:
        return [*((text.part, event) for text, new, *_ in self._restored for event in new), *pending]
