"""Resolve what an event view hands out: the answer as one, or each part by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import astuple, replace
from typing import Any

from streamcite import json_values
from streamcite.events import Citation
from streamcite.format import OPENAI, CitationFormat
from streamcite.links import Cited, Resolved, ResolvedEvent
from streamcite.options import ParserOptions
from streamcite.resolve import Resolver, Scope
from streamcite.source import Source
from streamcite.spacing import Spacing, tidier

from .parts import Part
from .stage import NewStage


class Resolvers:
    """Resolve the events of one stream in either way in which a view is iterated over.

    Args:
        sources: as for `Resolver`.
        scope: as for `Resolver`.
        options: as for `CitationParser`, of which the format counts.
        snapshot: what a view gave. Without the state of resolvers in it they begin anew.

    Attributes:
        answer: for plain iteration.
        parts: for ``iter_parts()``.
        words: as `Resolver.words`.
        cited: the citations that were handed out, each with what is known of it by now, by part and place in the input.

    Raises:
        TypeError, ValueError: as `Resolver`; ValueError: ``snapshot`` is not one.
    """

    def __init__(
        self,
        sources: Mapping[str, Source],
        scope: Scope,
        options: ParserOptions,
        snapshot: Mapping[str, Any] | None = None,
    ) -> None:
        settings = _Settings(sources, scope, options.get("format", OPENAI))
        self.words: Callable[[Citation], str] = settings.resolver().words
        handed_out = _HandedOut()
        self.cited: Mapping[Part, Mapping[int, Cited]] = handed_out.cited
        self.answer: AnswerResolver = AnswerResolver(settings, handed_out)
        self.parts: PartsResolver = PartsResolver(settings, handed_out)
        if snapshot is not None and (state := snapshot.get("resolved")) is not None:
            try:
                self.answer.restore(state["answer"])
                self.parts.restore(state["parts"])
            except (LookupError, TypeError, ValueError) as error:
                raise ValueError(f"snapshot: must be what snapshot() gave, not {snapshot!r}: {error}") from error

    def snapshot(self) -> dict[str, Any]:
        """Give the state as JSON values."""
        return {"answer": self.answer.snapshot(), "parts": self.parts.snapshot()}


def stages_for(
    sources: Mapping[str, Source] | None,
    scope: Scope,
    spacing: Spacing,
    options: ParserOptions,
    snapshot: Mapping[str, Any] | None = None,
) -> tuple[Resolvers | None, NewStage | None]:
    """Make the resolvers of a view, or none without sources, and what makes the stages that mend its spacing, or none.

    Raises:
        TypeError, ValueError: as `Resolvers`; ValueError: ``spacing`` is unknown.
    """
    resolvers = None if sources is None else Resolvers(sources, scope, options, snapshot)
    return resolvers, tidier(spacing, resolvers.words if resolvers else None)


class _Settings:
    """What all resolvers of a view have in common."""

    def __init__(self, sources: Mapping[str, Source], scope: Scope, format: CitationFormat) -> None:
        self.sources = sources
        self._scope = scope
        self._format = format

    def resolver(self) -> Resolver:
        return Resolver(self.sources, self._scope, format=self._format)

    def restored(self, snapshot: Any) -> Resolver:
        return Resolver.restore(snapshot, self.sources, self._scope, format=self._format)


class _HandedOut:
    """The citations that were handed out, each with what is known of it by now."""

    def __init__(self) -> None:
        self.cited: dict[Part, dict[int, Cited]] = {}  # by the place in the input, which each has for itself
        self._places: dict[Any, tuple[Part, int]] = {}

    def note(self, part: Part, event: ResolvedEvent, key: Any) -> None:
        """Note an event that is handed out, whose citation has this key."""
        if isinstance(event, Cited):
            self.cited.setdefault(part, {})[event.start] = event
            self._places[key] = part, event.start
        elif isinstance(event, Resolved) and key in self._places:  # else another view handed it out
            part, start = self._places[key]
            cited = self.cited[part]
            cited[start] = replace(cited[start], links=event.links, pending=event.pending)


class AnswerResolver:
    """Resolve the events of the answer: indexes and numbers run through its texts, and positions count in each.

    Attributes:
        next_part: says of which part the next event is.
    """

    def __init__(self, settings: _Settings, handed_out: _HandedOut) -> None:
        self._settings = settings
        self._handed_out = handed_out
        self._resolver = settings.resolver()
        self._part: Part | None = None  # that the resolver is in
        self._moved: dict[Part, int] = {}  # of those it was in before
        self.next_part: Callable[[], Part | None] = lambda: None

    def passes(self, item: Any) -> bool:
        """As `Resolving.passes`."""
        return isinstance(item, str) and not self._resolver.pending

    def take(self, waiting: list[Any], *, last: bool) -> ResolvedEvent | None:
        """As `Resolving.take`."""
        if waiting and not isinstance(waiting[-1], str) and (part := self.next_part()) != self._part:
            moved = self._resolver.next_text(0 if part is None else self._moved.get(part, 0))
            if self._part is not None and moved:
                self._moved[self._part] = moved
            self._part = part
        event = self._resolver.take(waiting, last=last)
        if isinstance(event, Cited | Resolved) and self._part is not None:
            self._handed_out.note(self._part, event, event.index)
        return event

    def snapshot(self) -> dict[str, Any]:
        """Give the state as JSON values."""
        return {
            "resolver": self._resolver.snapshot(),
            "part": self._part and [*astuple(self._part)],
            "moved": [[[*astuple(part)], moved] for part, moved in self._moved.items()],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on where a snapshot was taken."""
        self._resolver = self._settings.restored(state["resolver"])
        self._part = None if state["part"] is None else _part(state["part"])
        self._moved = {_part(part): json_values.offset(moved) for part, moved in json_values.items(state["moved"])}


class PartsResolver:
    """Resolve the events of each part by itself."""

    def __init__(self, settings: _Settings, handed_out: _HandedOut) -> None:
        self._settings = settings
        self._handed_out = handed_out
        self._resolvers: dict[Part, Resolver] = {}
        self._open: dict[Part, Resolver] = {}  # those with a pending citation
        self._asked: list[Part] = []  # of which of these there may be something to report, the next one last
        self._size = -1  # how many sources there were when all of them were to be asked last
        self._ended = False

    def passes(self, item: Any) -> bool:
        """As `Resolving.passes`."""
        part, event = item
        return not self._open and (part is None or isinstance(event, str))

    def take(self, waiting: list[Any], *, last: bool) -> Any:
        """As `Resolving.take`."""
        if self._open and (told := self._tell()):
            return told
        if waiting:
            return self._resolve(waiting)
        if last and not self._ended:
            self._ended = True
            return self.take(waiting, last=True)
        return None

    def snapshot(self) -> list[Any]:
        """Give the state as JSON values."""
        return [[[*astuple(part)], resolver.snapshot()] for part, resolver in self._resolvers.items()]

    def restore(self, state: list[Any]) -> None:
        """Go on where a snapshot was taken."""
        self._resolvers = {_part(part): self._settings.restored(each) for part, each in json_values.items(state)}
        self._open = {part: resolver for part, resolver in self._resolvers.items() if resolver.pending}

    def _resolve(self, waiting: list[Any]) -> Any:
        part, event = waiting[-1]
        if part is None or isinstance(event, str):
            return waiting.pop()
        resolver = self._resolvers.get(part)
        if resolver is None:
            resolver = self._resolvers[part] = self._settings.resolver()
        own = [event]
        resolved = resolver.take(own)
        if not own:  # or it told of another one, and this waits
            waiting.pop()
        self._note(part, resolver, resolved)
        return part, resolved

    def _tell(self) -> tuple[Part, ResolvedEvent] | None:
        """Give the next of what became known, part after part."""
        size = len(self._settings.sources)
        if size != self._size or (self._ended and not self._asked):
            self._size = size
            self._asked = sorted(self._open, reverse=True)
        while self._asked:
            part = self._asked[-1]
            resolver = self._resolvers[part]
            told = resolver.take([], last=self._ended)
            if told is not None:
                self._note(part, resolver, told)
                return part, told
            self._asked.pop()
        return None

    def _note(self, part: Part, resolver: Resolver, event: ResolvedEvent | None) -> None:
        """Note what a part hands out, and whether it has a pending citation."""
        if isinstance(event, Cited | Resolved):
            self._handed_out.note(part, event, (part, event.index))
        if resolver.pending:
            self._open[part] = resolver
        else:
            self._open.pop(part, None)


def _part(form: Any) -> Part:
    return Part(*json_values.items(form))
