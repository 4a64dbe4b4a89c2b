"""The frames of an answer from its events: reads what was given, resolves, encodes, and closes. No protocol of its own.

One await chain: nothing is read ahead, and no task is left behind.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, AsyncExitStack
from typing import Any, TypeAlias

from anyio import move_on_after
from anyio.to_thread import run_sync

from streamcite.driver import CLOSING_TIME, Given
from streamcite.events import check_iterable
from streamcite.links import AnyEvent, Cited, Resolved, ResolvedEvent
from streamcite.openai.opening import AsyncOpening, Opening
from streamcite.resolve import Resolver

from .protocol import Encoder

__all__ = ["BROKE_OFF", "AnswerFrames", "Complete", "Events"]

Events: TypeAlias = (
    AsyncIterable[AnyEvent]
    | Iterable[AnyEvent]
    | AbstractAsyncContextManager[AsyncIterable[AnyEvent]]
    | AbstractContextManager[Iterable[AnyEvent]]
)
Complete: TypeAlias = bool | Callable[[], bool] | None

BROKE_OFF = "The answer broke off."
_END = object()


class AnswerFrames:
    """Make the frames of one answer of its events. Who sends them reads the events: `open`, `encode`, `end`, `aclose`.

    Args:
        events: an event view; what `streamcite.openai.stream_chat` or `stream_responses` gives, which is entered; or
            any asynchronous iterable of events of an answer. Another iterable is read in a worker thread, as it may
            wait; a list or tuple is not.
        encoder: what encodes them.
        resolver: what resolves citations that are not.
        complete: whether an answer whose events come to their end has ended by itself, or what says so then; None asks
            the ``result`` of an event view, and takes any other answer for complete.
        on_error: gives what the reader is told of an error; None gives `BROKE_OFF`, and so does one that raises or
            gives no string, which becomes a note of the error.

    Attributes:
        write: what encodes a text that comes next in less time than `encode`, or None; see `Encoder.write`.

    Raises:
        TypeError: ``events`` is not an iterable, or a text; or ``complete`` or ``on_error`` is of a wrong type.
    """

    def __init__(
        self,
        events: Events,
        encoder: Encoder,
        *,
        resolver: Resolver,
        complete: Complete = None,
        on_error: Callable[[Exception], str] | None = None,
    ) -> None:
        if not (complete is None or isinstance(complete, bool) or callable(complete)):
            raise TypeError(f"complete: must be a bool or a function that gives one, not {type(complete).__name__}")
        if not (on_error is None or callable(on_error)):
            raise TypeError(f"on_error: must be what gives a string, not {type(on_error).__name__}")
        self._source = _Source(events)
        self._encoder = encoder
        self._resolver = resolver
        self._complete = complete
        self._on_error = on_error
        self.write: Callable[[str], bytes] | None = None

    def start(self) -> bytes:
        """Give the first frames, joined."""
        return self._encoded([])

    async def open(self) -> AsyncIterator[AnyEvent]:
        """Give the events."""
        return await self._source.open()

    def encode(self, event: AnyEvent) -> bytes:
        """Give the frames of an event, joined; empty, if it has none in the protocol.

        Raises:
            TypeError: it is not one.
        """
        return self._encoded([event] if isinstance(event, Cited | Resolved) else self._resolver.feed([event]))

    def end(self, error: Exception | None = None) -> bytes:
        """Give the last frames, joined.

        Args:
            error: what has ended the answer, if an error has.
        """
        self.write = None
        if error is not None:
            return b"".join(self._encoder.fail(self._told(error)))
        complete = self._is_complete()
        return b"".join([*self._encoder.feed(self._resolver.close()), *self._encoder.close(complete=complete)])

    async def aclose(self) -> None:
        """Close what was given, shielded from cancellation, for at most 10 seconds."""
        await self._source.aclose()

    def _encoded(self, events: list[ResolvedEvent]) -> bytes:
        frames = self._encoder.feed(events)
        self.write = None if self._resolver.pending else self._encoder.write
        return b"".join(frames)

    def _told(self, error: Exception) -> str:
        """Say what the reader is told of an error. One of `on_error` must not leave the answer without an end."""
        try:
            return BROKE_OFF if self._on_error is None else _string(self._on_error(error))
        except Exception as failure:  # noqa: BLE001  # who raises the error after the end reports both
            error.add_note(f"on_error failed: {failure!r}")
            return BROKE_OFF

    def _is_complete(self) -> bool:
        if self._complete is None:
            result = getattr(self._source.entered, "result", None)
            return bool(getattr(result, "complete", True))
        complete = self._complete if isinstance(self._complete, bool) else self._complete()
        if not isinstance(complete, bool):  # nor is what an asynchronous function gives
            raise TypeError(f"complete: must give True or False, not {type(complete).__name__}")
        return complete


def _string(told: object) -> str:
    if not isinstance(told, str):
        raise TypeError(f"must give a string, not {type(told).__name__}")
    return told


class _Source:
    """What was given, of whichever kind, as an asynchronous iterator.

    Attributes:
        entered: the stream that is read.
    """

    def __init__(self, events: Any) -> None:
        self.entered: Any = events
        self._closing = AsyncExitStack()
        self._iterator = None if isinstance(events, AsyncOpening | Opening) else self._begin(events)

    async def open(self) -> AsyncIterator[Any]:
        if self._iterator is not None:
            return self._iterator
        opening = self.entered
        if isinstance(opening, AsyncOpening):
            return self._begin(await self._closing.enter_async_context(opening))
        entered = await run_sync(opening.__enter__)
        self._closing.push_async_callback(run_sync, opening.__exit__, None, None, None)
        return self._begin(entered)

    async def aclose(self) -> None:
        with move_on_after(CLOSING_TIME, shield=True):
            await self._closing.aclose()

    def _begin(self, events: Any) -> AsyncIterator[Any]:
        self.entered = events
        if hasattr(events, "__aiter__"):
            iterator: AsyncIterator[Any] = aiter(events)
            self._closing.push_async_callback(Given(iterator, events).aclose)
            return iterator
        check_iterable(events)
        waiting = iter(events)
        if isinstance(events, list | tuple):
            return _at_hand(waiting)
        self._closing.push_async_callback(run_sync, Given(waiting, events).close)
        return _in_threads(waiting)


async def _at_hand(events: Iterator[Any]) -> AsyncIterator[Any]:
    for event in events:
        yield event


async def _in_threads(events: Iterator[Any]) -> AsyncIterator[Any]:
    while (event := await run_sync(next, events, _END)) is not _END:
        yield event
