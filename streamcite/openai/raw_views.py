"""The event views over the bytes of a response: they decode its frames, and read what these hold as dicts."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any, Generic, Literal, TypeAlias, TypeVar, overload

from streamcite.driver import ITEMS_PER_TURN, Core, Given, adrive, checkpoint, drive

from .frames import Frames, api_error, client_error
from .parts import Part, PartEvent
from .resolved import Resolvers
from .texts import Step, TextsCore
from .views import AsyncEventView, EventView

_E = TypeVar("_E")
RawPartEvent: TypeAlias = PartEvent | tuple[None, bytes]

# How long the end of the body is waited for after the last event, in seconds, as the client does: a connection whose
# body was read to its end can be used again.
_DRAINING_TIME = 0.1


class _ByPartOrRaw:
    """The events of all texts, each with its part; and with None the payloads without any text."""

    def __init__(self, core: TextsCore, frames: Frames) -> None:
        self._core = core
        self._frames = frames
        self._payloads: deque[bytes] = deque()  # of the frames that no step has come of, since they wait in the core

    def read(self, data: bytes) -> list[RawPartEvent]:
        pairs: list[RawPartEvent] = []
        if frame := self._frames.next(data):
            self._payloads.append(frame[0])
            self._add(self._core.steps(frame[1]), pairs)
        return pairs

    def end(self, *, stopped: bool) -> list[RawPartEvent]:
        pairs: list[RawPartEvent] = []
        self._add(self._core.end(stopped=stopped), pairs)
        return pairs

    def _add(self, steps: list[Step], pairs: list[RawPartEvent]) -> None:
        """Add what came of the next steps. Each frame comes to one step of its own, and they keep their order."""
        for value, changes in steps:
            pairs += [(text.part, event) for text, new, *_ in changes for event in new]
            if value is not None:
                payload = self._payloads.popleft()
                if all(holder is None for _, _, holder, *_ in changes):
                    pairs.append((None, payload))


class _GivenResponse(Given):
    """A response and its bytes; an error of the HTTP library is given as the client's own."""

    __slots__ = ("_request",)

    def __init__(self, source: _Bytes | _AsyncBytes, response: Any) -> None:
        super().__init__(source, response)
        self._request = response.http_request

    def error(self, error: Exception) -> Exception:
        return client_error(error, self._request)


class RawView(EventView[_E], Generic[_E]):
    """Iterate over the events of the answer in a stream that `stream_chat` or `stream_responses` opened."""

    __slots__ = ("_with_raw",)

    def __init__(self, core: TextsCore, response: Any, resolvers: Resolvers | None) -> None:
        frames = _frames_of(response)
        given = _GivenResponse(_Bytes(response, frames), response)
        self._with_raw = drive(_ByPartOrRaw(core, frames), given, resolvers.parts if resolvers else None)
        super().__init__(core, given, resolvers, partial(_Decoded, frames), self._with_raw)

    @overload
    def iter_parts(self, *, raw: Literal[False] = False) -> Iterator[tuple[Part, _E]]: ...
    @overload
    def iter_parts(self, *, raw: Literal[True]) -> Iterator[tuple[Part, _E] | tuple[None, bytes]]: ...
    def iter_parts(self, *, raw: bool = False) -> Any:
        """Iterate over the events of all texts, as `EventView.iter_parts`.

        Args:
            raw: whether to give the payloads, JSON as bytes, of what holds no text too: ``(None, payload)``.

        Raises:
            RuntimeError: on the first step, if the stream is being iterated over in another way.
        """
        return self._with_raw if raw else super().iter_parts()


class AsyncRawView(AsyncEventView[_E], Generic[_E]):
    """Iterate over the events of the answer in an asynchronous stream, as `RawView`."""

    __slots__ = ("_with_raw",)

    def __init__(self, core: TextsCore, response: Any, resolvers: Resolvers | None) -> None:
        frames = _frames_of(response)
        given = _GivenResponse(_AsyncBytes(response, frames), response)
        self._with_raw = adrive(_ByPartOrRaw(core, frames), given, resolvers.parts if resolvers else None)
        super().__init__(core, given, resolvers, partial(_Decoded, frames), self._with_raw)

    @overload
    def iter_parts(self, *, raw: Literal[False] = False) -> AsyncIterator[tuple[Part, _E]]: ...
    @overload
    def iter_parts(self, *, raw: Literal[True]) -> AsyncIterator[tuple[Part, _E] | tuple[None, bytes]]: ...
    def iter_parts(self, *, raw: bool = False) -> Any:
        """Iterate over the events of all texts, as `RawView.iter_parts`.

        Raises:
            RuntimeError: on the first step, if the stream is being iterated over in another way.
        """
        return self._with_raw if raw else super().iter_parts()


def _frames_of(response: Any) -> Frames:
    request = response.http_request
    return Frames(lambda error: api_error(error, request))


class _Decoded:
    """The frames in front of a core, which reads what they hold."""

    def __init__(self, frames: Frames, core: Core[Any]) -> None:
        self._next_frame = frames.next
        self._read = core.read
        self.end = core.end

    def read(self, data: bytes) -> list[Any]:
        frame = self._next_frame(data)
        return self._read(frame[1]) if frame else []


class _Bytes(Iterator[bytes]):
    """The bytes of a response, as they come, up to what its frames say is the end; none where one of these is ready."""

    def __init__(self, response: Any, frames: Frames) -> None:
        self._next_bytes: Callable[[], bytes] = response.iter_bytes().__next__
        self._frames = frames

    def __next__(self) -> bytes:
        if self._frames.ready:
            return b""
        if self._frames.failure:
            raise self._frames.failure
        if self._frames.done:
            raise StopIteration
        return self._next_bytes()


class _AsyncBytes(AsyncIterator[bytes]):
    """The bytes of an asynchronous response, as `_Bytes`. It adds no coroutine to those that wait for them."""

    def __init__(self, response: Any, frames: Frames) -> None:
        self._bytes = response.iter_bytes()
        self._next_bytes = self._bytes.__anext__
        self._frames = frames

    def __anext__(self) -> Awaitable[bytes]:
        if self._frames.ready:
            return self._nothing()
        if self._frames.failure:
            raise self._frames.failure
        return self._drain() if self._frames.done else self._next_bytes()

    async def _nothing(self) -> bytes:
        if len(self._frames.ready) % ITEMS_PER_TURN == 0:
            await checkpoint()
        return b""

    async def _drain(self) -> bytes:
        from anyio import move_on_after  # loaded when it is needed

        with move_on_after(_DRAINING_TIME), suppress(Exception):
            async for _ in self._bytes:
                await checkpoint()  # or bytes that never end and are always there would not let the time run out
        with suppress(Exception):
            await self._bytes.aclose()  # where it did
        raise StopAsyncIteration
