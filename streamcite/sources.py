"""What can be cited: one source, and what a reader is told of it.

Whatever takes sources takes any ``Mapping[str, Source]``, keyed by source id.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field


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


@dataclass(frozen=True, slots=True)
class Source:
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

    Raises:
        TypeError: an argument has the wrong type; the message names it.
        ValueError: ``id`` is empty or has whitespace at one of its ends.

    Source: the guide, element 2 (a stable id, readable text, and optionally metadata).
    """

    id: str
    text: str = ""
    title: str | None = None
    url: str | None = None
    updated: str | None = None
    metadata: Mapping[str, object] = field(default_factory=lambda: _NO_METADATA, hash=False)

    def __post_init__(self) -> None:
        for name in ("id", "text"):
            if not isinstance(value := getattr(self, name), str):
                raise TypeError(f"{name}: must be a str, not {value!r}")
        for name in ("title", "url", "updated"):
            if not isinstance(value := getattr(self, name), str | None):
                raise TypeError(f"{name}: must be a str or None, not {value!r}")
        if not isinstance(self.metadata, Mapping):
            raise TypeError(f"metadata: must be a mapping, not {self.metadata!r}")
        if not self.id or self.id != self.id.strip():
            raise ValueError(f"id: must be a non-empty string without whitespace at its ends, not {self.id!r}")
        if not isinstance(self.metadata, _Metadata):
            object.__setattr__(self, "metadata", _Metadata(self.metadata))
