"""The registry that gives sources ids that stay, and knows which were shown and cited.

Whatever takes sources takes any ``Mapping[str, Source]``, keyed by source id: a plain dict, or `Sources`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypedDict, Unpack

from . import json_values
from .format import OPENAI, CitationFormat, check_format
from .ids import KIND, block_id, call_of, check_id, result_id
from .source import Source, SourceUnit

__all__ = ["Source", "SourceFields", "SourceUnit", "Sources", "ToolCall"]

REGISTRY_VERSION = 1


class SourceFields(TypedDict, total=False):
    """What can be said of a source beside its id, text, kind and unit; see `Source`."""

    title: str | None
    url: str | None
    updated: str | None
    metadata: Mapping[str, object]
    citable: bool
    document: str | None


class Sources(Mapping[str, Source]):
    """Give sources their ids, and keep track of which were shown and cited: a mapping from id to source.

    The ids are those of OpenAI's citation guide: the results of tool calls have ``turn0file0``, ``turn0file1``,
    ``turn1url0``, by the number of the call and their number in it; blocks of given context have ``block1``,
    ``block2``. A source that is added under a ``key`` keeps the id that the key had first, also in a registry saved by
    `to_dict` and loaded by `from_dict`, so that ids are the same from run to run.

    Iterates over the ids in the order they were first added. No source is ever removed.

    Args:
        format: what an id may be.

    Raises:
        TypeError: ``format`` is not a `CitationFormat`.

    Source: the guide, elements 1 and 2 (a good unit keeps its id; the form of ids).
    """

    def __init__(self, format: CitationFormat = OPENAI) -> None:
        check_format(format)
        self._format = format
        self._sources: dict[str, Source] = {}
        self._ids: dict[str, str] = {}  # by key
        self._aliases: dict[str, list[str]] = {}  # by identity
        self._calls = self._messages = 0
        self._next_block = 1
        self._shown: dict[str, int] = {}  # how many messages of the user there were when it was last shown
        self._cited: dict[str, None] = {}
        self._ambiguous: dict[str, None] = {}

    def __getitem__(self, id: str) -> Source:
        return self._sources[id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._sources)

    def __len__(self) -> int:
        return len(self._sources)

    def __contains__(self, id: object) -> bool:
        return id in self._sources

    def __repr__(self) -> str:
        return f"<Sources: {len(self)}>"

    def tool_call(self) -> ToolCall:
        """Open the next call of a tool, whose results get ids of their own.

        Each has the next number, from 0, whatever becomes of it: without results, or open beside another. A number in
        an id that was given, such as ``turn7file0``, counts as a call.
        """
        self._calls += 1
        return ToolCall(self._calls - 1, self)

    def add(self, source: Source, *, key: str | None = None) -> Source:
        """Add a source under the id it has.

        Args:
            source: what to add.
            key: what stands for it from run to run, such as ``handbook#3``.

        Returns:
            The source, or the equal one that was there. Under a key that is known it takes the place of the one that
            was there: the id means the new text from now on.

        Raises:
            ValueError: no citation of the format can name the id, it is that of another source, or not the
                one that the key has; the message names the id.
            TypeError: ``source`` is not a `Source`, or ``key`` is not a ``str``.
        """
        if not isinstance(source, Source):
            raise TypeError(f"source: must be a Source, not {source!r}")
        if not isinstance(key, str | None):
            raise TypeError(f"key: must be a str or None, not {key!r}")
        id, kept = source.id, self.id_of(key)
        if kept is not None and kept != id:
            raise ValueError(f"id: {id!r} is not {kept!r}, which key {key!r} has")
        known = self._sources.get(id)
        if known == source:
            source = known
        elif known is None:
            check_id(id, self._format)
            self._aliases.setdefault(source.identity, []).append(id)
            if (call := call_of(id)) is not None:
                self._calls = max(self._calls, call + 1)
        elif kept is None:
            raise ValueError(f"id: {id!r} is already that of another source")
        elif known.identity != source.identity:
            self._aliases[known.identity].remove(id)
            self._aliases.setdefault(source.identity, []).append(id)
        self._sources[id] = source
        if key is not None:
            self._ids[key] = id
        return source

    def add_block(
        self, text: str, *, key: str | None = None, id: str | None = None, **about: Unpack[SourceFields]
    ) -> Source:
        """Add a block of given context under the next of the ids ``block1``, ``block2`` and so on.

        Args:
            text: what it says.
            key: what stands for it from run to run, such as ``handbook#3``. It keeps the id that it had first.
            id: an id of your own.
            about: other fields of the `Source`.

        Returns, Raises: as `add`; also what `Source` raises.
        """

        def next_id() -> str:
            while (new := block_id(self._next_block)) in self:
                self._next_block += 1
            return new

        if id is None:
            id = self.id_of(key) or next_id()
        return self.add(Source(id, text, kind="block", unit="block", **about), key=key)

    def id_of(self, key: str | None) -> str | None:
        """Give the id of what was added under a key; None for a key that is not known, and for None."""
        return None if key is None else self._ids.get(key)

    def aliases(self, id: str) -> tuple[str, ...]:
        """Give all ids of the document that a source is or is part of (`Source.identity`), its own among them.

        Raises:
            KeyError: no source has this id.
        """
        return tuple(self._aliases[self[id].identity])

    def user_message(self) -> None:
        """Say that the user has sent a message: what was shown before is stale until it is shown again."""
        self._messages += 1

    def mark_shown(self, *ids: str) -> None:
        """Say that a model was shown these sources.

        Raises:
            ValueError: no source has one of these ids; then none is marked.
            TypeError: one of them is not a ``str``; then none of them is marked either.
        """
        self._require(ids)
        self._shown.update(dict.fromkeys(ids, self._messages))

    def mark_cited(self, *ids: str) -> None:
        """Say that an answer cited these, such as a `Citation`'s ``source_ids``.

        Nothing else marks what was cited, neither a parser nor a `Resolver`: an answer may be thrown away, or be read
        twice. Of an answer that counts, mark ``event.citation.source_ids`` of each `Cited`, or ``event.source_ids`` of
        each `Citation`. An id that no citable source has is ignored: a model wrote it.

        Raises:
            TypeError: one of them is not a ``str``; then none is marked.
        """
        _check_ids(ids)
        self._cited.update(dict.fromkeys(id for id in ids if id in self and self[id].citable))

    def mark_ambiguous(self, *ids: str) -> None:
        """Say that a model was shown other content under these ids too, so that nobody knows what it means by them.

        Raises:
            ValueError: no source has one of these ids; then none is marked.
            TypeError: one of them is not a ``str``; then none of them is marked either.
        """
        self._require(ids)
        self._ambiguous.update(dict.fromkeys(ids))

    @property
    def shown(self) -> tuple[str, ...]:
        """Give the ids of all that was shown, in the order of their first showing."""
        return tuple(self._shown)

    @property
    def cited(self) -> tuple[str, ...]:
        """Give the ids of all that was cited, in the order of their first citation."""
        return tuple(self._cited)

    @property
    def never_cited(self) -> tuple[str, ...]:
        """Give the ids of all that was shown and may be cited, but was not, in the order of their first showing."""
        return tuple(id for id in self._shown if id not in self._cited and self[id].citable)

    def is_stale(self, id: str) -> bool:
        """Say whether a source was shown, but not since the last message of the user; False for an unknown id."""
        return self._shown.get(id, self._messages) < self._messages

    def is_ambiguous(self, id: str) -> bool:
        """Say whether `mark_ambiguous` named this id."""
        return id in self._ambiguous

    def to_dict(self) -> dict[str, Any]:
        """Give all but the format as a dict, which is JSON-ready if the metadata of the sources are.

        JSON text makes one code point of two surrogates that stand side by side in one text.
        """
        return {
            "version": REGISTRY_VERSION,
            "sources": [source.to_dict() for source in self.values()],
            "keys": dict(self._ids),
            "calls": self._calls,
            "messages": self._messages,
            "shown": dict(self._shown),
            "cited": list(self._cited),
            "ambiguous": list(self._ambiguous),
        }

    @classmethod
    def from_dict(cls, obj: Mapping[str, Any], format: CitationFormat = OPENAI) -> Sources:
        """Build the registry that gave ``obj`` by `to_dict`, to go on from.

        Args:
            obj: what `to_dict` gave.
            format: what an id may be.

        Raises:
            ValueError: it is not what `to_dict` gives in this version, or not with ids of this format.
        """
        try:
            json_values.versioned(obj, REGISTRY_VERSION)
            saved, cited, ambiguous = (json_values.items(obj[name]) for name in ("sources", "cited", "ambiguous"))
            keys, shown = (json_values.mapping(obj[name]) for name in ("keys", "shown"))
            calls, messages, *_ = map(json_values.offset, (obj["calls"], obj["messages"], *shown.values()))
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a saved registry of version {REGISTRY_VERSION}: {error!r}") from error
        sources = cls(format)
        for number, item in enumerate(saved):
            try:
                sources.add(Source.from_dict(item))
            except ValueError as error:
                raise ValueError(f"sources: {number}: {error}") from None
        for name, ids in {"keys": keys.values(), "shown": shown, "cited": cited, "ambiguous": ambiguous}.items():
            for id in ids:
                if not isinstance(id, str) or id not in sources:
                    raise ValueError(f"{name}: {id!r} is the id of no source")
        sources._ids, sources._shown = dict(keys), dict(shown)
        sources._cited, sources._ambiguous = dict.fromkeys(cited), dict.fromkeys(ambiguous)
        sources._calls, sources._messages = max(calls, sources._calls), messages
        return sources

    def _require(self, ids: tuple[str, ...]) -> None:
        _check_ids(ids)
        for id in ids:
            if id not in self:
                raise ValueError(f"id: {id!r} is that of no source")


def _check_ids(ids: tuple[str, ...]) -> None:
    for id in ids:
        if not isinstance(id, str):
            raise TypeError(f"ids: must be strings, each an argument, as in (*ids), not {type(id).__name__}")


class ToolCall:
    """One call of a tool, as `Sources.tool_call` opens it: its results get ids ``turn<number><kind><0, 1, …>``.

    Attributes:
        number: which call it is, counted from 0.
    """

    __slots__ = ("_next", "_results", "_sources", "number")

    def __init__(self, number: int, sources: Sources) -> None:
        self.number: int = number
        self._sources = sources
        self._results: list[Source] = []
        self._next = 0

    @property
    def results(self) -> tuple[Source, ...]:
        """Give what was added, in order."""
        return tuple(self._results)

    def add(
        self,
        text: str,
        kind: str = "file",
        *,
        key: str | None = None,
        id: str | None = None,
        unit: SourceUnit | None = None,
        **about: Unpack[SourceFields],
    ) -> Source:
        """Add the next result of the call.

        Args:
            text: what it says.
            kind: what it is, in ASCII letters: ``file``, ``block``, ``url``, ``search``, …
            key: what stands for it from run to run, such as ``handbook#3``. It keeps the id that it had first, whatever
                call that was in; the result counts nonetheless.
            id: an id of your own.
            unit: as what it is cited; by default ``block`` for the kind of that name, and ``lines`` for all others.
            about: other fields of the `Source`.

        Returns, Raises: as `Sources.add`; also what `Source` raises, and ValueError for a kind that is not a name.
        """
        if not isinstance(kind, str) or not re.fullmatch(KIND, kind):
            raise ValueError(f"kind: must be a name in ASCII letters, not {kind!r}")
        if unit is None:
            unit = "block" if kind == "block" else "lines"

        def next_id() -> str:
            while (new := result_id(self.number, kind, self._next)) in self._sources:
                self._next += 1
            return new

        if id is None:
            id = self._sources.id_of(key) or next_id()
        source = self._sources.add(Source(id, text, kind=kind, unit=unit, **about), key=key)
        self._results.append(source)
        self._next += 1
        return source
