"""The fast lane: the client sends the request, and the bytes of its answer are read here, without its typed objects.

Authentication, retries, timeouts, base URL, hooks and the errors of a request stay the client's: this uses its public
``with_streaming_response``. What comes is read by the same cores as the typed objects are, as dicts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
    suppress,
)
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypedDict, TypeVar, overload

from streamcite.driver import ITEMS_PER_TURN, Core, Given, adrive, checkpoint, drive

from .chat_core import ChatCore
from .frames import Frames, api_error, client_error
from .opening import AsyncOpening, Opening
from .parts import Part, PartEvent
from .resolved import Resolvers, stages_for
from .responses_core import ResponsesCore
from .texts import Step, TextsCore
from .views import AsyncEventView, EventView

if TYPE_CHECKING:
    from typing import Unpack

    from openai import AsyncOpenAI, OpenAI
    from openai.types.chat.completion_create_params import CompletionCreateParamsBase
    from openai.types.responses.response_create_params import ResponseCreateParamsBase

    from streamcite.events import Event
    from streamcite.links import ResolvedEvent
    from streamcite.options import ParserOptions
    from streamcite.resolve import Scope
    from streamcite.source import Source
    from streamcite.spacing import Spacing

_E = TypeVar("_E")
RawPartEvent: TypeAlias = PartEvent | tuple[None, bytes]


class RequestOptions(TypedDict, total=False):
    """What every method of the client takes besides the API's parameters; see there."""

    extra_headers: Mapping[str, str] | None
    extra_query: Mapping[str, object] | None
    extra_body: object
    timeout: Any


# How long the end of the body is waited for behind the last event, in seconds, as the client does: a connection whose
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
        super().__init__(core, given, resolvers, partial(_Decoded, frames))
        self._with_raw = drive(_ByPartOrRaw(core, frames), given, resolvers.parts if resolvers else None)

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

    def close(self) -> None:
        """End the iteration and close the stream. What is held stays readable as `held`."""
        self._with_raw.close()
        super().close()


class AsyncRawView(AsyncEventView[_E], Generic[_E]):
    """Iterate over the events of the answer in an asynchronous stream, as `RawView`."""

    __slots__ = ("_with_raw",)

    def __init__(self, core: TextsCore, response: Any, resolvers: Resolvers | None) -> None:
        frames = _frames_of(response)
        given = _GivenResponse(_AsyncBytes(response, frames), response)
        super().__init__(core, given, resolvers, partial(_Decoded, frames))
        self._with_raw = adrive(_ByPartOrRaw(core, frames), given, resolvers.parts if resolvers else None)

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

    async def aclose(self) -> None:
        """End the iteration and close the stream. What is held stays readable as `held`."""
        await self._with_raw.aclose()
        await super().aclose()


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


@overload
def stream_chat(
    client: AsyncOpenAI,
    *,
    sources: None = None,
    scope: Scope = ...,
    spacing: Spacing = ...,
    parser: ParserOptions | None = None,
    request: RequestOptions | None = None,
    **params: Unpack[CompletionCreateParamsBase],
) -> AbstractAsyncContextManager[AsyncRawView[Event]]: ...
@overload
def stream_chat(
    client: AsyncOpenAI,
    *,
    sources: Mapping[str, Source],
    scope: Scope = ...,
    spacing: Spacing = ...,
    parser: ParserOptions | None = None,
    request: RequestOptions | None = None,
    **params: Unpack[CompletionCreateParamsBase],
) -> AbstractAsyncContextManager[AsyncRawView[ResolvedEvent]]: ...
@overload
def stream_chat(
    client: OpenAI,
    *,
    sources: None = None,
    scope: Scope = ...,
    spacing: Spacing = ...,
    parser: ParserOptions | None = None,
    request: RequestOptions | None = None,
    **params: Unpack[CompletionCreateParamsBase],
) -> AbstractContextManager[RawView[Event]]: ...
@overload
def stream_chat(
    client: OpenAI,
    *,
    sources: Mapping[str, Source],
    scope: Scope = ...,
    spacing: Spacing = ...,
    parser: ParserOptions | None = None,
    request: RequestOptions | None = None,
    **params: Unpack[CompletionCreateParamsBase],
) -> AbstractContextManager[RawView[ResolvedEvent]]: ...
def stream_chat(
    client: Any,
    *,
    sources: Mapping[str, Source] | None = None,
    scope: Scope = "conversation",
    spacing: Spacing = "exact",
    parser: ParserOptions | None = None,
    request: RequestOptions | None = None,
    **params: Any,
) -> Any:
    """Ask for a chat completion and read it as it streams, at a tenth of the cost of the client's typed objects.

        async with stream_chat(client, model="gpt-5", messages=messages) as events:
            async for event in events:
                print(event, end="")

    The events, parts and result are those of `chat_events`.

    Args:
        client: any client of the ``openai`` package, asynchronous or not; Azure's, and ``with_options()``, too.
        sources: as for `chat_events`.
        scope: as for `chat_events`.
        spacing: as for `chat_events`.
        parser: the options of `CitationParser`.
        request: the client's own options of a request: ``extra_headers``, ``extra_query``, ``extra_body``, ``timeout``.
        params: what ``client.chat.completions.create()`` takes, but for ``stream``.

    Returns:
        A context manager, asynchronous if the client is, that gives an `AsyncRawView` or a `RawView`. The request is
        sent when it is entered, and raises what the client raises.

    Raises:
        TypeError: ``client`` is no client, ``sources`` no mapping.
        ValueError: ``scope`` or ``spacing`` is none, or an option of the parser is of the wrong type or out of its
            range.

    Source: the API reference, "The chat completion chunk object"; of the client, ``with_streaming_response``.
    """
    options = parser or {}
    resolvers, new_tidy = stages_for(sources, scope, spacing, options)
    core = ChatCore(options, new_tidy=new_tidy)
    return _stream("stream_chat", client, lambda client: client.chat.completions, core, resolvers, request, params)


@overload
def stream_responses(
    client: AsyncOpenAI,
    *,
    sources: None = None,
    scope: Scope = ...,
    spacing: Spacing = ...,
    parser: ParserOptions | None = None,
    request: RequestOptions | None = None,
    **params: Unpack[ResponseCreateParamsBase],
) -> AbstractAsyncContextManager[AsyncRawView[Event]]: ...
@overload
def stream_responses(
    client: AsyncOpenAI,
    *,
    sources: Mapping[str, Source],
    scope: Scope = ...,
    spacing: Spacing = ...,
    parser: ParserOptions | None = None,
    request: RequestOptions | None = None,
    **params: Unpack[ResponseCreateParamsBase],
) -> AbstractAsyncContextManager[AsyncRawView[ResolvedEvent]]: ...
@overload
def stream_responses(
    client: OpenAI,
    *,
    sources: None = None,
    scope: Scope = ...,
    spacing: Spacing = ...,
    parser: ParserOptions | None = None,
    request: RequestOptions | None = None,
    **params: Unpack[ResponseCreateParamsBase],
) -> AbstractContextManager[RawView[Event]]: ...
@overload
def stream_responses(
    client: OpenAI,
    *,
    sources: Mapping[str, Source],
    scope: Scope = ...,
    spacing: Spacing = ...,
    parser: ParserOptions | None = None,
    request: RequestOptions | None = None,
    **params: Unpack[ResponseCreateParamsBase],
) -> AbstractContextManager[RawView[ResolvedEvent]]: ...
def stream_responses(
    client: Any,
    *,
    sources: Mapping[str, Source] | None = None,
    scope: Scope = "conversation",
    spacing: Spacing = "exact",
    parser: ParserOptions | None = None,
    request: RequestOptions | None = None,
    **params: Any,
) -> Any:
    """Ask for a response and read it as it streams, as `stream_chat` does a chat completion.

    The events, parts and result are those of `responses_events`.

    Args:
        client: as for `stream_chat`.
        sources: as for `responses_events`.
        scope: as for `responses_events`.
        spacing: as for `responses_events`.
        parser: as for `stream_chat`.
        request: as for `stream_chat`.
        params: what ``client.responses.create()`` takes, but for ``stream``.

    Returns, Raises: as `stream_chat`.

    Source: the API reference, "Responses: streaming events"; of the client, ``with_streaming_response``.
    """
    options = parser or {}
    resolvers, new_tidy = stages_for(sources, scope, spacing, options)
    core = ResponsesCore(options, new_tidy=new_tidy)
    return _stream("stream_responses", client, lambda client: client.responses, core, resolvers, request, params)


def _stream(
    name: str,
    client: Any,
    resource: Callable[[Any], Any],
    core: TextsCore,
    resolvers: Resolvers | None,
    request: RequestOptions | None,
    params: Mapping[str, Any],
) -> Any:
    from openai import AsyncOpenAI, OpenAI

    if not isinstance(client, (AsyncOpenAI, OpenAI)):
        raise TypeError(f"client: must be a client of the openai package, not {type(client).__name__}")
    asked = {**params, **(request or {}), "stream": True}

    def ask() -> Any:
        return resource(client).with_streaming_response.create(**asked)

    if isinstance(client, AsyncOpenAI):
        return AsyncOpening(_opened_async(ask, core, resolvers), name)
    return Opening(_opened(ask, core, resolvers), name)


@contextmanager
def _opened(ask: Callable[[], Any], core: TextsCore, resolvers: Resolvers | None) -> Iterator[RawView[Any]]:
    with ask() as response, RawView[Any](core, response, resolvers) as events:
        yield events


@asynccontextmanager
async def _opened_async(
    ask: Callable[[], Any], core: TextsCore, resolvers: Resolvers | None
) -> AsyncIterator[AsyncRawView[Any]]:
    async with ask() as response, AsyncRawView[Any](core, response, resolvers) as events:
        yield events
