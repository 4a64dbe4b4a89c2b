"""The frames of an answer from its events: reads what was given, resolves, encodes, and closes. No protocol of its own.

One await chain: nothing is read ahead, and no task is left behind.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, AsyncExitStack
from typing import Any, Self, TypeAlias

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


class AnswerFrames(AsyncIterator[bytes]):
    """Give the frames of one answer, those of each event as soon as it comes.

    Args:
        events: an event view; what `streamcite.openai.stream_chat` or `stream_responses` gives, which is entered; or
            any asynchronous iterable of events of an answer. Another iterable is read in a worker thread, as it may
            wait; a list or tuple is not.
        encoder: what encodes them.
        resolver: what resolves citations that are not.
        complete: whether an answer whose events come to their end has ended by itself, or what tells it then; None asks
            the ``result`` of an event view, and takes any other answer for complete.
        on_error: gives what the reader is told of an error; None tells `BROKE_OFF`.

    Attributes:
        ended: whether the last frames were given.
        error: what has ended the answer, if an error has; the last frames say so in the protocol's way.

    Raises:
        TypeError: ``events`` is no iterable, or a text.
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
        self._source = _Source(events)
        self._encoder = encoder
        self._resolver = resolver
        self._complete = complete
        self._on_error = on_error
        self._begun = False
        self.ended: bool = False
        self.error: Exception | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        """Wait for the next frames, and give them joined.

        Raises:
            Exception: behind the last frames: what has ended the answer, if an error has.
        """
        while not self.ended:
            if frames := await self.next():
                return frames[0] if len(frames) == 1 else b"".join(frames)
        if self.error is not None:
            raise self.error
        raise StopAsyncIteration

    async def next(self) -> list[bytes]:
        """Wait for the next event, and give its frames. The first ones are there at once.

        It may be cancelled, which cancels what it waits for.

        Returns:
            Whole frames, one by one; none where the protocol has none for the event.
        """
        if not self._begun:
            self._begun = True
            return self._encoder.feed([])
        try:
            try:
                event = await self._source.following()
            except StopAsyncIteration:
                return self._end()
            return self._encoder.feed(self._resolved(event))
        except Exception as error:  # noqa: BLE001  # the reader is told of it, and who sends the frames
            self.ended, self.error = True, error
            return self._encoder.fail(BROKE_OFF if self._on_error is None else self._on_error(error))

    async def aclose(self) -> None:
        """Close what was given, shielded from cancellation, for at most 10 seconds."""
        await self._source.aclose()

    def _resolved(self, event: Any) -> list[ResolvedEvent]:
        if isinstance(event, Cited | Resolved) or (type(event) is str and not self._resolver.pending):
            return [event]
        return self._resolver.feed([event])

    def _end(self) -> list[bytes]:
        self.ended = True
        frames = self._encoder.feed(self._resolver.close())
        return [*frames, *self._encoder.close(complete=self._is_complete())]

    def _is_complete(self) -> bool:
        if self._complete is None:
            result = getattr(self._source.entered, "result", None)
            return bool(getattr(result, "complete", True))
        return self._complete if isinstance(self._complete, bool) else self._complete()


class _Source:
    """What was given, of whichever kind, as something to wait for.

    Attributes:
        following: waits for the next event; StopAsyncIteration behind the last one.
        entered: the stream that is read.
    """

    def __init__(self, events: Any) -> None:
        self.entered: Any = events
        self.following: Callable[[], Awaitable[Any]] = self._enter
        self._closing = AsyncExitStack()
        if not isinstance(events, AsyncOpening | Opening):
            self._begin(events)

    async def aclose(self) -> None:
        with move_on_after(CLOSING_TIME, shield=True):
            await self._closing.aclose()

    async def _enter(self) -> Any:
        opening = self.entered
        if isinstance(opening, AsyncOpening):
            self._begin(await self._closing.enter_async_context(opening))
        else:
            entered = await run_sync(opening.__enter__)
            self._closing.push_async_callback(run_sync, opening.__exit__, None, None, None)
            self._begin(entered)
        return await self.following()

    def _begin(self, events: Any) -> None:
        self.entered = events
        if hasattr(events, "__aiter__"):
            iterator = aiter(events)
            self.following = iterator.__anext__
            self._closing.push_async_callback(Given(iterator, events).aclose)
            return
        check_iterable(events)
        self._iterator = iter(events)
        if isinstance(events, list | tuple):
            self.following = self._next
        else:
            self.following = self._next_in_thread
            self._closing.push_async_callback(run_sync, Given(self._iterator, events).close)

    async def _next(self) -> Any:
        return _item(next(self._iterator, _END))

    async def _next_in_thread(self) -> Any:
        return _item(await run_sync(next, self._iterator, _END))


def _item(item: object) -> Any:
    if item is _END:
        raise StopAsyncIteration
    return item
