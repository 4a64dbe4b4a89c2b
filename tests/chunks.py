"""Iterables of chunks that say how they were read and closed.

Nothing here imports anyio at the top: what is not asynchronous is tested where it is not installed, too.
"""

from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any

import pytest

from streamcite import Citation, Reference

OPEN = "\ue200cite\ue202turn0file1"
DELTAS = ["It lasts. ", "\ue200cite", "\ue202turn0", "file1\ue201", " And", "", " \U0001f600."]
CITATION = Citation(family="cite", references=(Reference("turn0file1"),), raw=f"{OPEN}\ue201", start=10, position=10)
EVENTS = ["It lasts. ", CITATION, " And", " \U0001f600."]

on_both_backends = pytest.mark.anyio


class LostError(Exception):
    """What a source raises when its connection is lost."""


class Source:
    """Hand out chunks, then raise `error` if there is one; note what was read and what was called to close it."""

    def __init__(self, chunks: Iterable[Any] = DELTAS, error: Exception | None = None) -> None:
        self.chunks = iter(chunks)
        self.error = error
        self.read = 0
        self.closings: list[str] = []

    def next(self, end: type[Exception]) -> Any:
        for chunk in self.chunks:
            self.read += 1
            return chunk
        raise self.error or end


class Chunks(Source):
    """Have no way to be closed."""

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return self.next(StopIteration)


class Closable(Chunks):
    def close(self) -> None:
        self.closings.append("close")


class Reiterable(Source):
    """Be iterable by another object, as a client's stream is by a generator."""

    def __init__(self, chunks: Iterable[Any] = DELTAS, error: Exception | None = None) -> None:
        super().__init__(chunks, error)
        self.iterator = Closable(chunks, error)

    def __iter__(self) -> Iterator[Any]:
        return self.iterator

    def close(self) -> None:
        assert self.iterator.closings == ["close"]
        self.closings.append("close")


class AsyncChunks(Source):
    """Have no way to be closed."""

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        return self.next(StopAsyncIteration)


async def pause() -> None:
    """Let every other task run, more than once."""
    from anyio.lowlevel import checkpoint

    for _ in range(5):
        await checkpoint()


class Aclosable(AsyncChunks):
    """Have both names, of which `aclose` is the one for asynchronous code; and take a while."""

    async def aclose(self) -> None:
        await pause()
        self.closings.append("aclose")

    def close(self) -> None:
        self.closings.append("close")


class CoroutineClosable(AsyncChunks):
    async def close(self) -> None:
        await pause()
        self.closings.append("close")


class PlainClosable(AsyncChunks):
    def close(self) -> None:
        self.closings.append("close")


class AsyncReiterable(Source):
    def __init__(self, chunks: Iterable[Any] = DELTAS, error: Exception | None = None) -> None:
        super().__init__(chunks, error)
        self.iterator = Aclosable(chunks, error)

    def __aiter__(self) -> AsyncIterator[Any]:
        return self.iterator

    async def close(self) -> None:
        assert self.iterator.closings == ["aclose"]
        self.closings.append("close")


SYNC_SOURCES: dict[type[Any], list[str]] = {Chunks: [], Closable: ["close"], Reiterable: ["close"]}
ASYNC_SOURCES: dict[type[Any], list[str]] = {
    AsyncChunks: [],
    Aclosable: ["aclose"],
    CoroutineClosable: ["close"],
    PlainClosable: ["close"],
    AsyncReiterable: ["close"],
}
sync_sources = pytest.mark.parametrize(("kind", "closings"), SYNC_SOURCES.items())
async_sources = pytest.mark.parametrize(("kind", "closings"), ASYNC_SOURCES.items())


def closings_of(source: Source) -> list[str]:
    """Return how a source was closed, and see that its iterator was closed as often where that is another object."""
    if isinstance(source, Reiterable | AsyncReiterable):
        assert len(source.iterator.closings) == len(source.closings)
    return source.closings


class Asked:
    """Count how often it is asked, and say how much of the source was read then."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.answers: list[int] = []

    def __call__(self) -> bool:
        self.answers.append(self.source.read)
        return True
