"""The fast lane: the client sends the request, and the bytes of its answer are read here, without its typed objects.

Authentication, retries, timeouts, base URL, hooks and the errors of a request stay the client's: this uses its public
``with_streaming_response``. What comes is read by the same cores as the typed objects are, as dicts.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, TypedDict, overload

from .chat_core import ChatCore
from .opening import AsyncOpening, Opening
from .raw_views import AsyncRawView, RawView
from .resolved import Resolvers, stages_for
from .responses_core import ResponsesCore
from .texts import TextsCore

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


class RequestOptions(TypedDict, total=False):
    """What every method of the client takes besides the API's parameters; see there."""

    extra_headers: Mapping[str, str] | None
    extra_query: Mapping[str, object] | None
    extra_body: object
    timeout: Any


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
        params: what ``client.chat.completions.create()`` takes, except for ``stream``.

    Returns:
        A context manager, asynchronous if the client is, that gives an `AsyncRawView` or a `RawView`. The request is
        sent when it is entered, and raises what the client raises.

    Raises:
        TypeError: ``client`` is not a client, ``sources`` is not a mapping.
        ValueError: ``scope`` or ``spacing`` is not one of theirs, or an option of the parser is of the wrong type or
            out of its range.

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
        params: what ``client.responses.create()`` takes, except for ``stream``.

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
