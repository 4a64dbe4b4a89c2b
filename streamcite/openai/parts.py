"""The texts of one answer by name, and what came of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from streamcite.events import Citation, Event, Malformed
from streamcite.links import Cited

Channel: TypeAlias = Literal["answer", "commentary", "reasoning", "refusal"]
# Which text of a stream: `Part` without the channel, which is not known everywhere.
Key: TypeAlias = tuple[int, int, str]


@dataclass(frozen=True, slots=True, order=True)
class Part:
    """Name one text of an answer. Parts of one channel are in the order of the answer.

    Attributes:
        channel: ``answer``; ``commentary`` (a Responses message of that phase); ``reasoning`` (its text, or a summary
            of it); ``refusal``.
        index: of the choice (chat completions), or the output item (Responses).
        content_index: of the text within the output item; 0 for chat completions.
        field: where the API has it: ``content``, ``refusal``, ``reasoning_content`` or ``reasoning`` (chat
            completions); ``output_text``, ``refusal``, ``reasoning_text`` or ``summary_text`` (Responses).
    """

    channel: Channel
    index: int
    content_index: int
    field: str

    @property
    def key(self) -> Key:
        """Give what tells it from every other part."""
        return self.index, self.content_index, self.field

    @property
    def is_answer(self) -> bool:
        """Say whether plain iteration gives it: the answer, of chat completions in choice 0 only."""
        return self.channel == "answer" and (self.index == 0 or self.field == "output_text")


PartEvent: TypeAlias = tuple[Part, Event]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartResult:
    """Say what came of one text so far.

    Attributes:
        part: which text.
        text: what the reader sees of it.
        raw: as the model wrote it, without what is still held; surrogates that stand alone are U+FFFD.
        citations: in order; offsets count within ``raw`` and ``text``, in code points.
        cited: with sources, those that were handed out, each with what its references point to by now: none is pending
            after the end of the stream. Else nothing.
        malformed: in order.
        finish_reason: the choice's (chat completions); ``completed``, ``failed`` or the reason why the response is
            incomplete (Responses); None before.
        replaced: how many lone surrogates the model wrote.
        snapshot_mismatch: whether the stream repeated the text, as when it is done, and repeated another one. What came
            first was handed out, and counts.
    """

    part: Part
    text: str
    raw: str
    citations: tuple[Citation, ...]
    cited: tuple[Cited, ...]
    malformed: tuple[Malformed, ...]
    finish_reason: str | None
    replaced: int
    snapshot_mismatch: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamResult:
    """Say what came of a stream so far.

    Attributes:
        parts: every text, in the order in which they began.
        usage: the usage object that the stream gave, as it came; None before.
        complete: whether the stream came to its proper end: every choice finished, or the response was completed or
            incomplete. False until then, and for good where the stream just stopped or broke.
    """

    parts: tuple[PartResult, ...]
    usage: Any
    complete: bool

    @property
    def answer(self) -> tuple[PartResult, ...]:
        """Give the texts of the answer in order: of choice 0 (chat completions), of all messages (Responses)."""
        parts = [part for part in self.parts if part.part.is_answer]
        return tuple(sorted(parts, key=lambda part: part.part))

    @property
    def text(self) -> str:
        """Give what the reader sees of the answer."""
        return "".join(part.text for part in self.answer)

    @property
    def citations(self) -> tuple[Citation, ...]:
        """Give the citations of the answer; offsets count within each part."""
        return tuple(citation for part in self.answer for citation in part.citations)

    @property
    def cited(self) -> tuple[Cited, ...]:
        """Give the citations of the answer that were handed out, with what they point to: of a view with sources."""
        return tuple(cited for part in self.answer for cited in part.cited)
