"""One source, as a value: what it says, what a reader is told of it, and its lines.

Source: the guide, elements 1 and 2 (citable units, and how they are shown to the model).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeAlias

from .checks import check_choice
from .units import Lines, Passage, line_range

SourceUnit: TypeAlias = Literal["document", "block", "lines"]


class _Metadata(Mapping[str, object]):
    """A read-only copy of a mapping; unlike ``types.MappingProxyType`` it can be pickled and deep-copied."""

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, object]) -> None:
        self._items = dict(items)

    def __getitem__(self, key: str) -> object:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return repr(self._items)


_NO_METADATA = _Metadata({})


class _Numbered:
    """Hold what is derived from a source when it is first asked for; no part of the value, nor of its copies."""

    __slots__ = ("_lines",)
    _lines: Lines


@dataclass(frozen=True, slots=True)
class Source(_Numbered):
    """One citable unit: a document, or a block of one.

    Immutable, equal by value and hashable (by all but ``metadata``, whose values need not be hashable).

    Attributes:
        id: what the model writes to cite it, such as ``turn0file1``. Not empty, and without whitespace at its ends,
            which a marker's fields lose when they are read.
        text: what the source says.
        title: what a reader knows it by.
        url: where a reader finds it.
        updated: when it was last changed, as the model and the reader are to see it.
        metadata: anything else that belongs to it; a read-only copy is kept.
        kind: what it is, such as ``file``, ``block`` or ``url``; empty if nobody said.
        unit: as what it is cited: a whole ``document``, a ``block`` of one, or by its numbered ``lines``. Only of
            lines can a citation say which.
        citable: whether it may be cited; else it is only shown.
        document: what document it is part of, by any name; None: it stands alone. See `identity`.

    Raises:
        TypeError: an argument has the wrong type; the message names it.
        ValueError: ``id`` is empty or has whitespace at one of its ends, or ``unit`` is not one of the three.

    Source: the guide, elements 1 and 2 (units; a stable id, readable text, and optionally metadata).
    """

    id: str
    text: str = ""
    title: str | None = None
    url: str | None = None
    updated: str | None = None
    metadata: Mapping[str, object] = field(default_factory=lambda: _NO_METADATA, hash=False)
    kind: str = ""
    unit: SourceUnit = "lines"
    citable: bool = True
    document: str | None = None

    def __post_init__(self) -> None:
        for name in ("id", "text", "kind"):
            if not isinstance(value := getattr(self, name), str):
                raise TypeError(f"{name}: must be a str, not {value!r}")
        for name in ("title", "url", "updated", "document"):
            if not isinstance(value := getattr(self, name), str | None):
                raise TypeError(f"{name}: must be a str or None, not {value!r}")
        if not isinstance(self.metadata, Mapping):
            raise TypeError(f"metadata: must be a mapping, not {self.metadata!r}")
        if not isinstance(self.citable, bool):
            raise TypeError(f"citable: must be True or False, not {self.citable!r}")
        if not self.id or self.id != self.id.strip():
            raise ValueError(f"id: must be a non-empty string without whitespace at its ends, not {self.id!r}")
        check_choice("unit", self.unit, SourceUnit)
        if not isinstance(self.metadata, _Metadata):
            object.__setattr__(self, "metadata", _Metadata(self.metadata))

    @property
    def identity(self) -> str:
        """Give what a reader takes it for, whatever its id: its ``document``, else its URL, else its id.

        Sources of one identity are one document to a reader: they share their number in a list of sources.
        """
        return self.document or self.url or self.id

    @property
    def lines(self) -> Lines:
        """Give the lines of the text; they are counted when they are first asked for."""
        try:
            return self._lines
        except AttributeError:
            object.__setattr__(self, "_lines", lines := Lines(self.text))
            return lines

    def passage(self, locator: str | None = None) -> Passage | None:
        """Give what a reference to this source points to.

        Once its lines have been counted, it takes the time of reading the locator and of copying the passage.

        Args:
            locator: a `Reference`'s, as the model wrote it, such as ``L8-L13``; None for the whole source.

        Returns:
            The passage, with its lines if there is a locator. None if not all of these lines are there: line 0, a range
            reversed or beyond the end, any of a source that is not cited by lines, or a locator that names no lines.

        Raises:
            TypeError: ``locator`` is neither a ``str`` nor None.
        """
        if locator is None:
            return Passage(self.text, 0)
        asked = self._asked(locator)
        return asked and self.lines.passage(*asked)

    def has_passage(self, locator: str | None = None) -> bool:
        """Say whether `passage` gives one, without copying it.

        Args:
            locator: as for `passage`.
        """
        if locator is None:
            return True
        asked = self._asked(locator)
        return asked is not None and self.lines.has(*asked)

    def span(self, locator: str | None = None) -> tuple[int, int] | None:
        """Give where in the text a passage stands that `passage` gives: its start and end, in code points.

        Args:
            locator: as for `passage`.

        Returns:
            The offsets, in a time that does not depend on what is between them; None where `passage` gives None.
        """
        if locator is None:
            return 0, len(self.text)
        asked = self._asked(locator)
        return asked and self.lines.span(*asked)

    def _asked(self, locator: str) -> tuple[int, int] | None:
        """Give the lines that a locator names, there or not; None if it names none, or nothing here has lines."""
        if not isinstance(locator, str):
            raise TypeError(f"locator: must be a str or None, not {type(locator).__name__}")
        return line_range(locator) if self.unit == "lines" else None

    def to_dict(self) -> dict[str, Any]:
        """Give a dict of the fields that are not at their defaults, which is JSON-ready if the metadata are."""
        default = Source(self.id)
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        changed = {name: value for name, value in values.items() if name == "id" or value != getattr(default, name)}
        return changed | ({"metadata": dict(self.metadata)} if self.metadata else {})

    @classmethod
    def from_dict(cls, obj: Mapping[str, Any]) -> Source:
        """Build a source from what `to_dict` gave; a field left out has its default.

        Raises:
            ValueError: a key is not a field, ``id`` is missing, or a field cannot be used; the message names it.
        """
        if not isinstance(obj, Mapping):
            raise ValueError(f"a source must be a mapping of its fields, not {type(obj).__name__}")
        known = [item.name for item in fields(cls)]
        for name in obj:
            if name not in known:
                raise ValueError(f"{name}: is not a field of a source; its fields are {', '.join(known)}")
        if "id" not in obj:
            raise ValueError("id: is missing")
        try:
            return cls(**obj)
        except TypeError as error:
            raise ValueError(str(error)) from None


def check_sources(sources: object) -> None:
    """Make sure that sources come in a mapping from their ids.

    Raises:
        TypeError: they do not; the message says how they do.
    """
    if not isinstance(sources, Mapping):
        how = "such as Sources or {source.id: source for source in ...}"
        raise TypeError(f"sources: must be a mapping from id to Source, {how}, not {type(sources).__name__}")


def each_source(sources: Iterable[Source] | Mapping[str, Source]) -> Iterator[Source]:
    """Give the sources of an iterable, or of a mapping from their ids, each when its turn comes.

    Raises:
        TypeError: while iterating: it is neither, or holds something other than a `Source`.
    """
    if isinstance(sources, Source | str) or not isinstance(sources, Iterable):
        raise TypeError(f"sources: must be an iterable or a mapping of Sources, not {type(sources).__name__}")
    for source in sources.values() if isinstance(sources, Mapping) else sources:
        if not isinstance(source, Source):
            raise TypeError(f"sources: must be Sources, not {type(source).__name__}")
        yield source


def find_source(sources: Mapping[str, Source], source_id: str) -> Source | None:
    """Give the source of an id; None if there is none.

    Raises:
        TypeError: the mapping holds something other than a `Source`.
    """
    source = sources.get(source_id)
    if source is not None and not isinstance(source, Source):
        raise TypeError(f"sources: must hold a Source for {source_id!r}, not {type(source).__name__}")
    return source
