"""What every reader of a stream has in common here: deltas in, pieces of an answer out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

from streamcite import Citation, CitationParser, Event, Reference


class Cite(NamedTuple):
    """A citation.

    Attributes:
        references: what it cites.
        position: where it stands in the clean text, if it says so itself; else between the pieces around it.
    """

    references: tuple[Reference, ...]
    position: int | None = None


Piece: TypeAlias = str | Cite


class Reader(Protocol):
    """Reads one answer."""

    def feed(self, delta: str) -> Sequence[Piece]:
        """Read the next delta, and give what is new, or with `Peer.replaces` all that is to be seen now."""

    def close(self) -> Sequence[Piece]:
        """Say that the answer has ended, and give the same."""


class Translation(NamedTuple):
    """A text in the language of a peer.

    Attributes:
        text: the text.
        ids: what a source of the original is called in it.
    """

    text: str
    ids: Mapping[str, str]


def as_it_is(text: str) -> Translation:
    """Leave a text in our language."""
    return Translation(text, {})


@dataclass(frozen=True)
class Peer:
    """A way to read a stream.

    Attributes:
        name: what the report calls it.
        kind: whose it is.
        start: begins to read an answer.
        replaces: whether each call gives all that is to be seen, in the place of what was.
        locators: whether it tells passages apart.
        translate: puts a text into its language; None if it has no words for it.
        fast: whether it is fast enough to be asked for every cut, and every length.
    """

    name: str
    kind: str
    start: Callable[[], Reader]
    replaces: bool = False
    locators: bool = True
    translate: Callable[[str], Translation | None] = as_it_is
    fast: bool = True


class Ours:
    """The parser, with pieces for events."""

    def __init__(self) -> None:
        self._parser = CitationParser()

    def feed(self, delta: str) -> Sequence[Piece]:
        """Read the next delta."""
        return [*map(_piece, self._parser.feed(delta))]

    def close(self) -> Sequence[Piece]:
        """Settle what is held."""
        return [*map(_piece, self._parser.close())]


def _piece(event: Event) -> Piece:
    return Cite(event.references, event.position) if isinstance(event, Citation) else str(event)


def views(peer: Peer, deltas: Iterable[str]) -> Iterator[list[Piece]]:
    """Give all that is to be seen of an answer, after each delta and at its end."""
    reader = peer.start()
    seen: list[Piece] = []
    for delta in deltas:
        given = reader.feed(delta)
        seen = [*given] if peer.replaces else [*seen, *given]
        yield seen
    given = reader.close()
    yield [*given] if peer.replaces else [*seen, *given]
