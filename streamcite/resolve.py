"""From ids to sources: each citation with its sources, passages, numbers and problems. Sans-I/O.

A stage after the parser, events in and events out. It holds no event back: a citation whose source is not known goes
out as it is, and what becomes known of it later follows in an event of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Reversible, Set
from dataclasses import replace
from functools import partial
from heapq import heappop, heappush
from itertools import islice
from typing import Any, Literal, TypeAlias, Unpack

from . import json_values
from .checks import check_choice
from .events import Citation, Event, Malformed, OtherMarker, Reference, check_event, check_iterable, reference
from .format import OPENAI, CitationFormat, check_format
from .grammar import grammar_for
from .ids import is_result_id
from .links import Cited, Link, Problem, Resolved, ResolvedEvent, from_dict, new_link, to_dict
from .options import ParserOptions
from .parser import parse
from .source import Source, check_sources, find_source
from .sources import Sources

__all__ = [
    "Cited", "Link", "Problem", "Resolved", "ResolvedEvent", "Resolver", "ResolverClosed", "Scope", "from_dict",
    "resolve", "to_dict",
]  # fmt: skip

Scope: TypeAlias = Literal["conversation", "answer"]

SNAPSHOT_VERSION = 1


class ResolverClosed(RuntimeError):
    """Raised by `Resolver.feed` after `Resolver.close`: a mistake in the program, never of the input."""


class Resolver:
    """Put a `Cited` in the place of each `Citation` among the events of one answer; all other events pass.

    Sources are numbered from 1 as they become known: by their first appearance, one number for all that is one document
    or URL to a reader (`Source.identity`). What no citable source has as its id takes none.

    A citation with an unknown id is pending, since a source may come late: the mapping may grow while the answer
    streams. As soon as it did, `Resolved` events report what that makes known, before the next event. At the end
    each citation that is still pending has a last one, and what is unknown is final.

    An answer may consist of several texts, in which positions count anew: say `next_text` between them. Numbers and
    indexes run through all of them.

    A marker that was not well formed (`Citation.repaired`) may have been prose. It is taken for that if none of its ids
    is known when it comes, nor has the form of a tool's result, such as ``turn0file1``. It is not pending; what a
    reader sees of it is what it says without tokens and family, and after it every ``position`` is moved by the
    difference.

    Args:
        sources: what citations point to, by source id. It may grow, which is seen by its length; of a source that was
            resolved nothing is asked again. Only of `Sources` are ambiguous and stale ids known; nothing is marked in
            them, see `Sources.mark_cited`.
        scope: what may be cited: all of the ``conversation``, or for an ``answer`` only what was shown since the last
            message of the user, by however many tool calls.
        format: what a marker looks like.

    Raises:
        TypeError: ``sources`` is not a mapping, ``format`` is not a `CitationFormat`; while reading, the mapping holds
            something other than sources, or what is fed is not an event of a parser.
        ValueError: ``scope`` is neither of the two.

    Source: the guide, element 5.
    """

    __slots__ = (
        "_arrived", "_awaited", "_cited", "_closed", "_due", "_format", "_in_order", "_moved", "_numbers",
        "_open", "_registry", "_scope", "_size", "_sources",
    )  # fmt: skip

    def __init__(
        self, sources: Mapping[str, Source], scope: Scope = "conversation", *, format: CitationFormat = OPENAI
    ) -> None:
        check_sources(sources)
        check_choice("scope", scope, Scope)
        check_format(format)
        self._sources = sources
        self._registry = sources if isinstance(sources, Sources) else None
        # What is new in these stands last; others may keep another order.
        self._in_order: Reversible[str] | None = (
            sources if isinstance(sources, Sources) or type(sources) is dict else None
        )
        self._scope = scope
        self._format = format
        self._closed = False
        self._cited = 0  # how many citations there were
        self._moved = 0  # by how much citations that were prose move what is after them
        self._numbers: dict[str, int] = {}  # by identity
        self._open: dict[int, tuple[Link, ...]] = {}  # the links of the pending citations, by index
        self._awaited: dict[str, list[int]] = {}  # the pending citations that an unknown id stands in
        self._size = 0  # how many sources there were when unknown ids were looked for last
        self._arrived: dict[str, Source | None] = {}  # what that look found; at the end, that nothing came
        self._due: list[int] = []  # a heap of the pending citations of which that is to be reported, some twice

    @property
    def pending(self) -> bool:
        """Say whether any citation is pending; if none is, strings pass as they are, and need not be fed."""
        return bool(self._open)

    def feed(self, events: Iterable[Event]) -> list[ResolvedEvent]:
        """Read the next events.

        Args:
            events: what a parser handed out; may be empty.

        Returns:
            What became known of pending citations, then one event for each that was fed. One that is not a citation is
            the same object, except for its position after a citation that was prose.

        Raises:
            ResolverClosed: `close` was called before.
            TypeError: they are not an iterable of events of a parser, or one text.
        """
        check_iterable(events)
        if self._closed:
            raise ResolverClosed("feed() after close(): make a new resolver for a new answer")
        resolved = self._tell() if self._open else []
        for event in events:
            resolved.append(event if isinstance(event, str) else self._resolve(event))
        return resolved

    def take(self, waiting: list[Event], *, last: bool = False) -> ResolvedEvent | None:
        """Give the one event that comes next, for those who hand out events one by one.

        Between two steps a source may come, and `snapshot` is the state after the event that was given last.

        What is pending costs nothing while the mapping has not grown. Each time it has, what is new in a ``dict`` or in
        `Sources` is looked at; in another mapping all unknown ids, or all sources where these are fewer, so that there
        sources that come one by one take the square of their number. Each citation of which a source came is reported
        anew with all its links, as many as ``max_marker`` leaves room for.

        Args:
            waiting: what a parser handed out, the next event last. It is taken out when it is its turn, after what
                became known of pending citations.
            last: whether no more follows, so that what is unknown is final once nothing waits.

        Returns:
            An event, or None if there is nothing to give.

        Raises:
            ResolverClosed: an event waits, and what is unknown was final before.
            TypeError: as `feed`.
        """
        if self._open:
            if len(self._sources) != self._size or (self._closed and not self._due):
                self._look()
            if self._due:
                return self._update(self._next_due())
        if waiting:
            if self._closed:
                raise ResolverClosed("take() after the end: make a new resolver for a new answer")
            event = waiting.pop()
            return event if isinstance(event, str) else self._resolve(event)
        if last and not self._closed:
            self._closed = True
            return self.take(waiting)
        return None

    def words(self, citation: Citation) -> str:
        """Give what a reader would see of a citation if it came now: its words if it is prose, else nothing."""
        if not citation.repaired:
            return ""
        found = {source_id: find_source(self._sources, source_id) for source_id in citation.source_ids}
        return self._words(citation) if _may_be_prose(found) else ""

    def next_text(self, moved: int = 0) -> int:
        """Say that what follows is of another text of the answer: positions count from its own beginning.

        Args:
            moved: where it goes on with an earlier text, what was returned when that was left.

        Returns:
            By how many code points citations that were prose have moved what is after them in the text so far.
        """
        left, self._moved = self._moved, moved
        return left

    def close(self) -> list[ResolvedEvent]:
        """Say that the answer has ended: what is unknown is final.

        Returns:
            What became known, and the last `Resolved` of each citation that was pending; from a second call on an empty
            list.
        """
        self._closed = True
        return self._tell()

    def snapshot(self) -> dict[str, Any]:
        """Give the state as JSON values: a version, the counts, the numbers, and what each pending citation cites.

        After the end it has none that is pending, and is there to go on from if the answer does, as after a lost
        connection.
        """
        due = set(self._due)
        return {
            "version": SNAPSHOT_VERSION,
            "cited": self._cited,
            "moved": self._moved,
            "numbers": list(self._numbers),
            "pending": [
                [index, [link.reference._asdict() for link in links], self._awaited_by(links, due=index in due)]
                for index, links in self._open.items()
            ],
        }

    @classmethod
    def restore(
        cls,
        snapshot: Mapping[str, Any],
        sources: Mapping[str, Source],
        scope: Scope = "conversation",
        *,
        format: CitationFormat = OPENAI,
    ) -> Resolver:
        """Make a resolver that goes on where `snapshot` was taken.

        Args:
            snapshot: what `snapshot` gave.
            sources: what the resolver that gave it had, or equal ones; more may have come. What these say of a source
                that a pending citation cites is asked again.
            scope: that of the resolver that gave it.
            format: that of the resolver that gave it.

        Raises:
            ValueError: it is not a snapshot, or one of another version.
            TypeError: as `Resolver`.
        """
        resolver = cls(sources, scope, format=format)
        try:
            json_values.versioned(snapshot, SNAPSHOT_VERSION)
            resolver._cited, resolver._moved = (json_values.offset(snapshot[name]) for name in ("cited", "moved"))
            numbered = map(json_values.string, json_values.items(snapshot["numbers"]))
            pending = [_pending(*each) for each in json_values.items(snapshot["pending"])]
            resolver._numbers = {identity: number for number, identity in enumerate(numbered, 1)}
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"not a snapshot of version {SNAPSHOT_VERSION}: {error}") from error
        for index, references, awaited in pending:
            resolver._reopen(index, references, awaited)
        resolver._size = -1  # no number of sources: what has come since is found by the next look
        return resolver

    def _reopen(self, index: int, references: Iterable[Reference], awaited: Set[str]) -> None:
        source_ids = dict.fromkeys(each.source_id for each in references)
        found = {each: find_source(self._sources, each) for each in source_ids if each not in awaited}
        self._open[index] = tuple(self._link(each, found.get(each.source_id)) for each in references)
        for source_id in source_ids:
            if source_id in awaited:
                self._awaited.setdefault(source_id, []).append(index)

    def _awaited_by(self, links: Iterable[Link], *, due: bool) -> list[str]:
        """Give the ids of a pending citation that are unknown as far as was reported."""
        unknown = dict.fromkeys(link.reference.source_id for link in links if link.source is None)
        return [each for each in unknown if each in self._awaited or (due and each in self._arrived)]

    def _tell(self) -> list[ResolvedEvent]:
        """Give what is to be reported of pending citations."""
        return list(iter(partial(self.take, []), None))

    def _look(self) -> None:
        """See of which pending citations there is something to report: of a source that came; at the end of all."""
        arrived = self._come()
        if self._closed and not arrived and not self._due:
            arrived = dict.fromkeys(self._awaited)
        if not self._due:
            self._arrived.clear()
        self._arrived.update(arrived)
        for source_id in arrived:
            for index in self._awaited.pop(source_id):
                heappush(self._due, index)

    def _next_due(self) -> int:
        index = heappop(self._due)
        while self._due and self._due[0] == index:
            heappop(self._due)
        return index

    def _come(self) -> dict[str, Source | None]:
        """Give the sources with an awaited id that came since this was asked last."""
        seen, size = self._size, len(self._sources)
        self._size = size
        candidates: Iterable[str] = self._awaited
        if self._in_order is not None and not self._closed and 0 <= seen <= size:
            candidates = (*islice(reversed(self._in_order), size - seen),)
        elif size < len(self._awaited):
            # The fewer are looked up among the more, so that many unknown ids cost no more than many sources do.
            candidates = (*self._sources,)
        return {
            source_id: source
            for source_id in candidates
            if source_id in self._awaited and (source := find_source(self._sources, source_id)) is not None
        }

    def _resolve(self, event: Citation | OtherMarker | Malformed) -> ResolvedEvent:
        if isinstance(event, Citation):
            return self._cite(event)
        check_event(event, Event, "a parser")
        return replace(event, position=event.position + self._moved) if self._moved else event

    def _cite(self, citation: Citation) -> Cited:
        index, position = self._cited, citation.position + self._moved
        size = len(self._sources)  # before the look-ups: what comes in between is found by the next ones
        found = {source_id: find_source(self._sources, source_id) for source_id in dict.fromkeys(citation.source_ids)}
        unknown = [source_id for source_id, source in found.items() if source is None]
        links = tuple(self._link(each, found[each.source_id]) for each in citation.references)
        self._cited += 1
        if citation.repaired and _may_be_prose(found):
            text = self._words(citation)
            self._moved += len(text)
            return Cited(citation, index, position, links, text=text)
        if unknown:
            if not self._open:
                self._size = size
            self._open[index] = links
            for source_id in unknown:
                self._awaited.setdefault(source_id, []).append(index)
        return Cited(citation, index, position, links, pending=bool(unknown))

    def _update(self, index: int) -> Resolved:
        links = tuple(
            self._link(link.reference, self._arrived[link.reference.source_id])
            if link.source is None and link.reference.source_id in self._arrived
            else link
            for link in self._open[index]
        )
        pending = any(link.source is None and link.reference.source_id in self._awaited for link in links)
        if pending:
            self._open[index] = links
        else:
            del self._open[index]
        return Resolved(index, links, pending)

    def _link(self, reference: Reference, source: Source | None) -> Link:
        if source is None or not source.citable:
            return Link(reference, problem="unknown-source")
        number = self._numbers.setdefault(source.identity, len(self._numbers) + 1)
        return new_link(reference, source, number, self._problem(reference, source))

    def _problem(self, reference: Reference, source: Source) -> Problem | None:
        if self._registry is not None:
            if self._registry.is_ambiguous(reference.source_id):
                return "ambiguous-source"
            if self._scope == "answer" and self._registry.is_stale(reference.source_id):
                return "stale-source"
        return None if source.has_passage(reference.locator) else "unknown-lines"

    def _words(self, citation: Citation) -> str:
        """Give what a marker says as prose: all but its tokens and family."""
        head = len(self._format.start) + len(citation.family) + len(self._format.delimiter)
        return grammar_for(self._format).without_markup(citation.raw[head:])


def _may_be_prose(found: Mapping[str, Source | None]) -> bool:
    """Say whether the ids of a citation that was repaired, with their sources, may be words of a text."""
    return not any(source is not None or is_result_id(source_id) for source_id, source in found.items())


def _pending(index: Any, cited: Any, awaited: Any) -> tuple[int, list[Reference], Set[str]]:
    """Read the form of a pending citation, of which some id must be awaited."""
    references = [*map(reference, json_values.items(cited))]
    unknown = {*map(json_values.string, json_values.items(awaited))}
    if unknown.isdisjoint(each.source_id for each in references):
        raise TypeError(f"expected some of the cited ids, not {awaited!r}")
    return json_values.offset(index), references, unknown


def resolve(
    text: str,
    sources: Mapping[str, Source],
    scope: Scope = "conversation",
    *,
    complete: bool = False,
    **options: Unpack[ParserOptions],
) -> list[ResolvedEvent]:
    """Read a whole text and resolve its citations: `parse`, and a `Resolver` fed once and closed.

    Args:
        text: the whole input.
        sources: as for `Resolver`.
        scope: as for `Resolver`.
        complete: as for `CitationParser.close`.
        options: as for `CitationParser`.

    Returns:
        All events in order, adjacent strings joined.

    Raises:
        TypeError, ValueError: as `Resolver` and `parse` do.
    """
    resolver = Resolver(sources, scope, format=options.get("format", OPENAI))
    return [*resolver.feed(parse(text, complete=complete, **options)), *resolver.close()]
