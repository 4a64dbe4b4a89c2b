"""Chunks in, items out: read a stream that was given, hand on what comes of it, and close it once. No state logic.

`drive` and `adrive` are the same loop, synchronous and not, over any `Core`; `stream` has a leaner pair of its own for
chunks that are just deltas. `Shell` and `AsyncShell` are what a program holds of them.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar

_T = TypeVar("_T")

# Closing a response takes milliseconds; one that takes longer than this, in seconds, is not worth waiting for.
CLOSING_TIME = 10.0
# After this many items of one chunk other tasks get their turn; fewer cost less than a checkpoint does.
ITEMS_PER_TURN = 64


class Core(Protocol[_T]):
    """What a chunk means, without I/O."""

    def read(self, chunk: Any) -> list[_T]:
        """Give what comes of the next chunk."""

    def end(self, *, stopped: bool) -> list[_T]:
        """Give what comes of the end of the stream; ``stopped`` if an error was its end."""


class Resolving(Protocol):
    """What is between the items that a core gives and those that are handed out, which it may add to."""

    def passes(self, item: Any) -> bool:
        """Say whether the item that comes next is handed out as it is, and no other event comes before it."""

    def take(self, waiting: list[Any], *, last: bool) -> Any:
        """Give what comes next, with items taken out of those that wait, the next one last; None if there is nothing.

        ``last`` if no more will wait.
        """


class Given:
    """What was given, and what was read of it and not handed out: the state that the driver and the stream share.

    So neither needs a reference to the other: a loop that is left lets go of the driver, which at once closes the rest.
    """

    __slots__ = ("_begun", "_open", "_pending", "deltas")

    def __init__(self, deltas: Any, *given: object) -> None:
        self.deltas: Any = deltas
        self._open = list({id(each): each for each in (*reversed(given), deltas)}.values())
        self._pending: list[Any] = []
        self._begun = False

    def begin(self) -> None:
        """Say that the reading begins.

        Raises:
            RuntimeError: it has begun before, in another iteration.
        """
        if self._begun:
            raise RuntimeError("this stream is being read already: iterate over it, or over its iter_parts(), not both")
        self._begun = True

    def error(self, error: Exception) -> Exception:
        """Give the error to raise for one that what was given raised: the same, where nothing else is said."""
        return error

    @property
    def pending(self) -> list[Any]:
        """Give what was read and not handed out yet, in order."""
        return self._pending[::-1]

    @property
    def waiting(self) -> int:
        """Give how many these are."""
        return len(self._pending)

    def hand_out(
        self, items: list[Any], take: Callable[..., Any] | None = None, *, last: bool = False
    ) -> Iterator[Any]:
        """Give the items one by one; until then they are pending.

        With ``take`` of something `Resolving` it gives what comes of them, each made when it is asked for.
        """
        self._pending = pending = items[::-1]
        if take is None:
            while pending:
                yield pending.pop()
        else:
            while (item := take(pending, last=last)) is not None:
                yield item

    def close(self) -> None:
        """Close what is open, the iterator before what it came from; an error in one does not leave the rest open."""
        while self._open:
            close = getattr(self._open.pop(), "close", None)
            if close is not None:
                try:
                    close()
                finally:
                    self.close()

    async def aclose(self) -> None:
        """As `close`, by ``aclose`` or else ``close``, a coroutine or not."""
        if not any(getattr(each, "aclose", None) or getattr(each, "close", None) for each in self._open):
            return
        from anyio import move_on_after  # loaded when an asynchronous stream needs it, not with the package

        with move_on_after(CLOSING_TIME, shield=True):
            await self._aclose()

    async def _aclose(self) -> None:
        while self._open:
            each = self._open.pop()
            close = getattr(each, "aclose", None) or getattr(each, "close", None)
            if close is not None:
                try:
                    result = close()
                    if inspect.isawaitable(result):
                        await result
                finally:
                    await self._aclose()


class Shell(Iterator[_T], Generic[_T]):
    """Iterate over what a driver gives, in a ``with`` block or not, and close what it was given.

    Args:
        given: what that is.
        items: the driver.
        others: more drivers, one of which may be read in its place.
    """

    __slots__ = ("_given", "_items", "_others")

    def __init__(self, given: Given, items: Generator[_T, None, None], *others: Generator[Any, None, None]) -> None:
        self._given = given
        self._items = items
        self._others = others

    def close(self) -> None:
        """End the iteration and close what was given."""
        for driver in (*self._others, self._items):
            driver.close()
        self._given.close()  # where the iteration had not begun

    def __iter__(self) -> Iterator[_T]:
        # The driver itself: a loop over it has a call less for each item, and lets go of it when it is left.
        return self._items

    def __next__(self) -> _T:
        return next(self._items)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class AsyncShell(AsyncIterator[_T], Generic[_T]):
    """As `Shell`, of asynchronous drivers, in an ``async with`` block."""

    __slots__ = ("_given", "_items", "_others")

    def __init__(self, given: Given, items: AsyncGenerator[_T, None], *others: AsyncGenerator[Any, None]) -> None:
        self._given = given
        self._items = items
        self._others = others

    async def aclose(self) -> None:
        """End the iteration and close what was given."""
        for driver in (*self._others, self._items):
            await driver.aclose()
        await self._given.aclose()  # where the iteration had not begun

    def __aiter__(self) -> AsyncIterator[_T]:
        return self._items  # as in `Shell`

    async def __anext__(self) -> _T:
        return await anext(self._items)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()


def drive(core: Core[Any], given: Given, resolver: Resolving | None = None) -> Generator[Any, None, None]:
    """Read all chunks through a core. An error of the stream is raised after what was held.

    With a resolver what the core gives goes through that.
    """
    given.begin()
    failure: Exception | None = None
    take = None if resolver is None else resolver.take
    read, deltas = core.read, given.deltas
    try:
        while True:
            try:
                chunk = next(deltas)
            except StopIteration:
                break
            except Exception as error:  # noqa: BLE001  # raised below
                failure = given.error(error)
                break
            items = read(chunk)
            if len(items) == 1 and (resolver is None or resolver.passes(items[0])):
                yield items[0]
            elif items:
                yield from given.hand_out(items, take)
        yield from given.hand_out(core.end(stopped=failure is not None), take, last=True)
        if failure is not None:
            raise failure
    finally:
        given.close()


async def adrive(core: Core[Any], given: Given, resolver: Resolving | None = None) -> AsyncGenerator[Any, None]:
    """As `drive`, of an asynchronous stream."""
    given.begin()
    failure: Exception | None = None
    take = None if resolver is None else resolver.take
    read, following = core.read, given.deltas.__anext__
    try:
        while True:
            try:
                chunk = await following()
            except StopAsyncIteration:
                break
            except Exception as error:  # noqa: BLE001  # raised below
                failure = given.error(error)
                break
            items = read(chunk)
            if len(items) == 1 and (resolver is None or resolver.passes(items[0])):
                yield items[0]
            elif items:
                for number, item in enumerate(given.hand_out(items, take), 1):
                    yield item
                    if number % ITEMS_PER_TURN == 0:
                        await checkpoint()
        for item in given.hand_out(core.end(stopped=failure is not None), take, last=True):
            yield item
        if failure is not None:
            raise failure
    finally:
        await given.aclose()


async def checkpoint() -> None:
    """Let other tasks have their turn."""
    from anyio.lowlevel import checkpoint  # loaded when it is needed, as in `Given.aclose`

    await checkpoint()
