"""Chat completions of the ``openai`` client: as events, or as its own objects with their texts cleaned."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, overload

from streamcite.annotations import AnnotationOptions, Unit, When
from streamcite.spacing import tidier

from .chat_core import ChatCore
from .chat_objects import ChatCleaner
from .objects import fields
from .resolved import stages_for
from .views import AsyncEventView, AsyncObjectView, EventView, ObjectView, event_view, object_view

if TYPE_CHECKING:
    from typing import Unpack

    from openai.lib.streaming.chat import AsyncChatCompletionStream, ChatCompletionStream, ChatCompletionStreamEvent
    from openai.types.chat import ChatCompletionChunk

    from streamcite.events import Event
    from streamcite.links import ResolvedEvent
    from streamcite.options import ParserOptions
    from streamcite.resolve import Scope
    from streamcite.sources import Source
    from streamcite.spacing import Spacing

    ChatChunk: TypeAlias = ChatCompletionChunk | ChatCompletionStreamEvent[Any] | dict[str, Any]

_T = TypeVar("_T")
# What is given back as it came.
_Helper = TypeVar("_Helper", bound="AsyncChatCompletionStream[Any] | ChatCompletionStream[Any]")


@overload
def chat_events(
    stream: AsyncIterable[ChatChunk],
    *,
    snapshot: Mapping[str, Any] | None = None,
    sources: None = None,
    scope: Scope = ...,
    spacing: Spacing = ...,
    **options: Unpack[ParserOptions],
) -> AsyncEventView[Event]: ...
@overload
def chat_events(
    stream: AsyncIterable[ChatChunk],
    *,
    snapshot: Mapping[str, Any] | None = None,
    sources: Mapping[str, Source],
    scope: Scope = ...,
    spacing: Spacing = ...,
    **options: Unpack[ParserOptions],
) -> AsyncEventView[ResolvedEvent]: ...
@overload
def chat_events(
    stream: Iterable[ChatChunk],
    *,
    snapshot: Mapping[str, Any] | None = None,
    sources: None = None,
    scope: Scope = ...,
    spacing: Spacing = ...,
    **options: Unpack[ParserOptions],
) -> EventView[Event]: ...
@overload
def chat_events(
    stream: Iterable[ChatChunk],
    *,
    snapshot: Mapping[str, Any] | None = None,
    sources: Mapping[str, Source],
    scope: Scope = ...,
    spacing: Spacing = ...,
    **options: Unpack[ParserOptions],
) -> EventView[ResolvedEvent]: ...
def chat_events(
    stream: AsyncIterable[ChatChunk] | Iterable[ChatChunk],
    *,
    snapshot: Mapping[str, Any] | None = None,
    sources: Mapping[str, Source] | None = None,
    scope: Scope = "conversation",
    spacing: Spacing = "exact",
    **options: Unpack[ParserOptions],
) -> AsyncEventView[Any] | EventView[Any]:
    """Read a streamed chat completion as events: the clean text of choice 0, and its citations in their places.

    Iterate over ``iter_parts()`` instead for every text of every choice: answers, refusals, reasoning. What is held
    when a choice finishes counts as complete only if it finished with ``stop``; see `CitationParser.close`.

    Args:
        stream: what ``client.chat.completions.create(stream=True)`` returned, awaited if the client is the async one;
            what entering ``client.chat.completions.stream()`` gave; or any other (async) iterable of chunks, as the
            client's objects or as dicts. It is closed with the events.
        snapshot: what ``snapshot()`` of an earlier view gave, to go on where that stopped; ``stream`` must then give
            the chunks that it has not read.
        sources: what the citations point to, by source id, as for `Resolver`. It may grow while the stream is read.
            Left out, citations are not resolved.
        scope: as for `Resolver`; without sources it says nothing.
        spacing: as for `iter_events`, in every text.
        options: as for `CitationParser`; with a snapshot, those of the view that gave it.

    Returns:
        An `AsyncEventView` for an async stream, else an `EventView`; with sources a `Cited` stands in it in the place
        of each `Citation`, and an event is resolved when it is asked for.

    Raises:
        TypeError: ``stream`` is not a stream of chunks, but say a coroutine that was not awaited; ``sources`` is not a
            mapping; while iterating, the stream gives strings, or events of the Responses API, and not chunks, or the
            mapping holds something other than sources.
        ValueError: an option is of the wrong type or out of its range; ``snapshot`` is not one.

    Source: the API reference, "The chat completion chunk object".
    """
    resolvers, new_tidy = stages_for(sources, scope, spacing, options, snapshot)
    core = ChatCore(options, snapshot, new_tidy=new_tidy)
    return event_view(core, stream, resolvers)


@overload
def clean_chat(  # type: ignore[overload-overlap]  # it is iterable too, and the first that fits is taken
    stream: _Helper,
    *,
    sources: Mapping[str, Source] | None = None,
    annotations: When = "streamed",
    unit: Unit = "codepoint",
    spacing: Spacing = "exact",
    **options: Unpack[ParserOptions],
) -> _Helper: ...
@overload
def clean_chat(
    stream: AsyncIterable[_T],
    *,
    sources: Mapping[str, Source] | None = None,
    annotations: When = "streamed",
    unit: Unit = "codepoint",
    spacing: Spacing = "exact",
    **options: Unpack[ParserOptions],
) -> AsyncObjectView[_T]: ...
@overload
def clean_chat(
    stream: Iterable[_T],
    *,
    sources: Mapping[str, Source] | None = None,
    annotations: When = "streamed",
    unit: Unit = "codepoint",
    spacing: Spacing = "exact",
    **options: Unpack[ParserOptions],
) -> ObjectView[_T]: ...
def clean_chat(
    stream: Any,
    *,
    sources: Mapping[str, Source] | None = None,
    annotations: When = "streamed",
    unit: Unit = "codepoint",
    spacing: Spacing = "exact",
    **options: Unpack[ParserOptions],
) -> Any:
    """Clean a streamed chat completion in place: the same chunks in the same order, without markers.

    A chunk whose text was only markup is left out, unless it has anything else. What a choice still holds when it
    finishes comes in a chunk before that. Tool calls, and all else that is not text, pass as they are.

    Args:
        stream: as for `chat_events`. What ``client.chat.completions.stream()`` gives is changed and returned, and must
            not have been iterated over; its events, snapshots and final completion are clean too.
        sources: what the citations point to, by source id. A citation of a source with a URL becomes a ``url_citation``
            in the delta's ``annotations``, with the number that the client's ``.stream()`` needs. Without it there are
            none.
        annotations: ``streamed``: each comes with the text before it; ``final``: all in one chunk before the finish;
            ``off``: none. Those that the server sends itself are moved to the clean text in any case.
        unit: what the offsets in annotations count, the server's too: ``codepoint``, or ``utf16`` for JavaScript.
        spacing: as for `iter_events`, in every text.
        options: as for `CitationParser`.

    Returns:
        An `AsyncObjectView` for an async stream, else an `ObjectView`; or the stream that ``.stream()`` gave.

    Raises:
        RuntimeError: what ``.stream()`` gave was read from before.
        TypeError, ValueError: as `chat_events`; ``sources`` is not a mapping; ``annotations``, ``unit`` or ``spacing``
            is not one of those named.

    Source: the API reference, "The chat completion chunk object".
    """
    wanted = AnnotationOptions(sources=sources, annotations=annotations, unit=unit)
    return object_view(ChatCleaner(ChatCore(options, new_tidy=tidier(spacing)), wanted), stream)


def clean_completion(
    completion: _T,
    *,
    sources: Mapping[str, Source] | None = None,
    annotations: When = "streamed",
    unit: Unit = "codepoint",
    spacing: Spacing = "exact",
    **options: Unpack[ParserOptions],
) -> _T:
    """Clean a whole chat completion: what `clean_chat` gives of the stream of it, added up.

    Args:
        completion: what ``client.chat.completions.create()`` returned, or a dict of the same shape. It is not changed.
        sources: as for `clean_chat`; the annotations are in the message.
        annotations: as for `clean_chat`; ``streamed`` and ``final`` come to the same.
        unit: as for `clean_chat`.
        spacing: as for `clean_chat`.
        options: as for `CitationParser`.

    Returns:
        A copy with clean texts.

    Raises:
        TypeError: it is not a completion; ``sources`` is not a mapping.
        ValueError: as `clean_chat`.

    Source: the API reference, "The chat completion object".
    """
    wanted = AnnotationOptions(sources=sources, annotations=annotations, unit=unit)
    cleaner = ChatCleaner(ChatCore(options, new_tidy=tidier(spacing), whole=True), wanted)
    if "choices" not in fields(completion):
        raise TypeError(f"completion: must be a chat completion, not {type(completion).__name__}")
    cleaned = copy.deepcopy(completion)
    cleaner.read(cleaned)
    return cleaned
