"""Responses of the ``openai`` client: as events, or as its own objects with their texts cleaned."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, overload

from streamcite.annotations import AnnotationOptions, Unit, When
from streamcite.spacing import tidier

from .objects import fields
from .resolved import stages_for
from .responses_core import ResponsesCore
from .responses_objects import ResponsesCleaner
from .views import AsyncEventView, AsyncObjectView, EventView, ObjectView, event_view, object_view

if TYPE_CHECKING:
    from typing import Unpack

    from openai.lib.streaming.responses import AsyncResponseStream, ResponseStream
    from openai.lib.streaming.responses import ResponseStreamEvent as HelperEvent
    from openai.types.responses import ResponseStreamEvent

    from streamcite.events import Event
    from streamcite.links import ResolvedEvent
    from streamcite.options import ParserOptions
    from streamcite.resolve import Scope
    from streamcite.sources import Source
    from streamcite.spacing import Spacing

    AnyEvent: TypeAlias = ResponseStreamEvent | HelperEvent[Any] | dict[str, Any]

_T = TypeVar("_T")
# What is given back as it came.
_Helper = TypeVar("_Helper", bound="AsyncResponseStream[Any] | ResponseStream[Any]")


@overload
def responses_events(
    stream: AsyncIterable[AnyEvent],
    *,
    snapshot: Mapping[str, Any] | None = None,
    sources: None = None,
    scope: Scope = ...,
    spacing: Spacing = ...,
    **options: Unpack[ParserOptions],
) -> AsyncEventView[Event]: ...
@overload
def responses_events(
    stream: AsyncIterable[AnyEvent],
    *,
    snapshot: Mapping[str, Any] | None = None,
    sources: Mapping[str, Source],
    scope: Scope = ...,
    spacing: Spacing = ...,
    **options: Unpack[ParserOptions],
) -> AsyncEventView[ResolvedEvent]: ...
@overload
def responses_events(
    stream: Iterable[AnyEvent],
    *,
    snapshot: Mapping[str, Any] | None = None,
    sources: None = None,
    scope: Scope = ...,
    spacing: Spacing = ...,
    **options: Unpack[ParserOptions],
) -> EventView[Event]: ...
@overload
def responses_events(
    stream: Iterable[AnyEvent],
    *,
    snapshot: Mapping[str, Any] | None = None,
    sources: Mapping[str, Source],
    scope: Scope = ...,
    spacing: Spacing = ...,
    **options: Unpack[ParserOptions],
) -> EventView[ResolvedEvent]: ...
def responses_events(
    stream: AsyncIterable[AnyEvent] | Iterable[AnyEvent],
    *,
    snapshot: Mapping[str, Any] | None = None,
    sources: Mapping[str, Source] | None = None,
    scope: Scope = "conversation",
    spacing: Spacing = "exact",
    **options: Unpack[ParserOptions],
) -> AsyncEventView[Any] | EventView[Any]:
    """Read a streamed response as events: the clean text of the answer, message after message, and its citations.

    Messages of the phase ``commentary`` are no part of the answer. Iterate over ``iter_parts()`` instead for every
    text: answers, commentary, reasoning and its summaries, refusals. What is held when the stream ends counts as
    complete only if the response was completed; see `CitationParser.close`.

    Args:
        stream: what ``client.responses.create(stream=True)`` or ``client.responses.retrieve(id, stream=True)``
            returned, awaited if the client is the async one; what entering ``client.responses.stream()`` gave; or any
            other (async) iterable of the events, as the client's objects or as dicts. It is closed with the events.
        snapshot: what ``snapshot()`` of an earlier view of the same response gave, to go on from there; ``stream``
            must begin after its ``sequence_number``, which is what ``retrieve`` takes as ``starting_after``, with its
            ``response_id``.
        sources: what the citations point to, by source id, as for `Resolver`. It may grow while the stream is read.
            Left out, citations are not resolved.
        scope: as for `Resolver`; without sources it says nothing.
        spacing: as for `iter_events`, in every text.
        options: as for `CitationParser`; with a snapshot, those of the view that gave it.

    Returns:
        An `AsyncEventView` for an async stream, else an `EventView`; with sources a `Cited` stands in it in the place
        of each `Citation`, and an event is resolved when it is asked for. Indexes and numbers run through the whole
        answer, positions count within each message's text.

    Raises:
        TypeError: ``stream`` is not a stream of events, but say a coroutine that was not awaited; ``sources`` is
            not a mapping; while iterating, the stream gives strings, or chat completion chunks, and not events, or the
            mapping holds something other than sources.
        ValueError: an option is of the wrong type or out of its range; ``snapshot`` is not one; while iterating, the
            stream begins before the snapshot was taken.

    Source: the API reference, "Responses: streaming events".
    """
    resolvers, new_tidy = stages_for(sources, scope, spacing, options, snapshot)
    core = ResponsesCore(options, snapshot, new_tidy=new_tidy)
    return event_view(core, stream, resolvers)


@overload
def clean_responses(  # type: ignore[overload-overlap]  # it is iterable too, and the first that fits is taken
    stream: _Helper,
    *,
    sources: Mapping[str, Source] | None = None,
    annotations: When = "streamed",
    unit: Unit = "codepoint",
    spacing: Spacing = "exact",
    **options: Unpack[ParserOptions],
) -> _Helper: ...
@overload
def clean_responses(
    stream: AsyncIterable[_T],
    *,
    sources: Mapping[str, Source] | None = None,
    annotations: When = "streamed",
    unit: Unit = "codepoint",
    spacing: Spacing = "exact",
    **options: Unpack[ParserOptions],
) -> AsyncObjectView[_T]: ...
@overload
def clean_responses(
    stream: Iterable[_T],
    *,
    sources: Mapping[str, Source] | None = None,
    annotations: When = "streamed",
    unit: Unit = "codepoint",
    spacing: Spacing = "exact",
    **options: Unpack[ParserOptions],
) -> ObjectView[_T]: ...
def clean_responses(
    stream: Any,
    *,
    sources: Mapping[str, Source] | None = None,
    annotations: When = "streamed",
    unit: Unit = "codepoint",
    spacing: Spacing = "exact",
    **options: Unpack[ParserOptions],
) -> Any:
    """Clean a streamed response in place: the same events in the same order, without markers, wherever text stands.

    An event whose text was only markup is left out, and what is held at the end comes in an event of its own;
    ``sequence_number`` always rises. It is the server's, but where new events need numbers and none was left out
    before them: from there on it is higher, until others are left out. Function calls, and all else that is not text,
    pass as they are. A stream that begins in the middle of a response is for `responses_events`, as this cannot know
    what came before.

    Args:
        stream: as for `responses_events`. What ``client.responses.stream()`` gives is changed and returned, and must
            not have been iterated over; its events, snapshots and final response are clean too.
        sources: what the citations point to, by source id. A citation becomes an annotation, in an event
            ``response.output_text.annotation.added`` and wherever the finished text stands: a ``url_citation`` of a
            source with a URL, else a ``file_citation`` with its title. Without it there are none.
        annotations: ``streamed``: the events come after the text; ``final``: all before the text is done; ``off``:
            none. Those that the server sends itself are moved to the clean text in any case.
        unit: what the offsets in annotations count, the server's too: ``codepoint``, or ``utf16`` for JavaScript.
        spacing: as for `iter_events`, in every text.
        options: as for `CitationParser`.

    Returns:
        An `AsyncObjectView` for an async stream, else an `ObjectView`; or the stream that ``.stream()`` gave.

    Raises:
        RuntimeError: what ``.stream()`` gave was read from before.
        TypeError, ValueError: as `responses_events`; ``sources`` is not a mapping; ``annotations`` or ``unit`` is not
            one of those named.

    Source: the API reference, "Responses: streaming events".
    """
    wanted = AnnotationOptions(sources=sources, annotations=annotations, unit=unit)
    return object_view(ResponsesCleaner(ResponsesCore(options, new_tidy=tidier(spacing)), wanted), stream)


def clean_response(
    response: _T,
    *,
    sources: Mapping[str, Source] | None = None,
    annotations: When = "streamed",
    unit: Unit = "codepoint",
    spacing: Spacing = "exact",
    **options: Unpack[ParserOptions],
) -> _T:
    """Clean a whole response: what `clean_responses` gives in the last event of its stream.

    Args:
        response: what ``client.responses.create()`` or ``retrieve()`` returned, or a dict of the same shape. It is not
            changed.
        sources: as for `clean_responses`; the annotations are in the output texts.
        annotations: as for `clean_responses`; ``streamed`` and ``final`` come to the same.
        unit: as for `clean_responses`.
        spacing: as for `clean_responses`.
        options: as for `CitationParser`.

    Returns:
        A copy with clean texts.

    Raises:
        TypeError: it is not a response; ``sources`` is not a mapping.
        ValueError: as `clean_responses`.

    Source: the API reference, "The response object".
    """
    wanted = AnnotationOptions(sources=sources, annotations=annotations, unit=unit)
    if "output" not in fields(response):
        raise TypeError(f"response: must be a response of the Responses API, not {type(response).__name__}")
    cleaned = copy.deepcopy(response)
    ResponsesCleaner(ResponsesCore(options, new_tidy=tidier(spacing)), wanted).read_whole(cleaned)
    return cleaned
