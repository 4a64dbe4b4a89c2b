"""Chat completion streams: the events of the answer in choice 0.

Chunks are read by attribute, whatever their class, since the client builds them without validation: any field may be
absent, None, or of another type than it is declared. What is read in another way than by attribute is refused: taken
for a chunk without text, it would lose the whole answer.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, overload

from streamcite.stream import AsyncEventStream, EventStream, aiter_events, iter_events

if TYPE_CHECKING:
    from typing import Unpack

    from openai.types.chat import ChatCompletionChunk

    from streamcite.options import ParserOptions

_NOT_BY_ATTRIBUTE = (Mapping, str, bytes)


@overload
def chat_events(stream: AsyncIterable[ChatCompletionChunk], **options: Unpack[ParserOptions]) -> AsyncEventStream: ...
@overload
def chat_events(stream: Iterable[ChatCompletionChunk], **options: Unpack[ParserOptions]) -> EventStream: ...
def chat_events(
    stream: AsyncIterable[ChatCompletionChunk] | Iterable[ChatCompletionChunk], **options: Unpack[ParserOptions]
) -> AsyncEventStream | EventStream:
    """Read a streamed chat completion as events: the clean text of choice 0, and its citations in their places.

    Whatever a chunk carries besides (other choices, tool calls, refusals, usage) is passed over. What is held when
    the stream ends counts as complete only if choice 0 finished with ``stop``; see `CitationParser.close`.

    Args:
        stream: what ``client.chat.completions.create(stream=True)`` returned, awaited if the client is the async one;
            or any other (async) iterable of chat completion chunks. It is closed with the events.
        options: as for `CitationParser`.

    Returns:
        An `AsyncEventStream` for an async stream, else an `EventStream`.

    Raises:
        TypeError: ``stream`` is no stream of chunks, but say a coroutine that was not awaited; while iterating, it
            gives dicts, strings, or the events of ``client.chat.completions.stream()``, and not chunks.
        ValueError: an option is of the wrong type or out of its range.

    Source: the API reference, "The chat completion chunk object".
    """
    choice = _Choice()
    if isinstance(stream, AsyncIterable):
        return aiter_events(stream, text=choice.text, complete=choice.complete, **options)
    # A whole ChatCompletion can be iterated too, as any pydantic model: over its fields.
    if isinstance(stream, Iterable) and not isinstance(stream, _NOT_BY_ATTRIBUTE) and not hasattr(stream, "choices"):
        return iter_events(stream, text=choice.text, complete=choice.complete, **options)
    raise TypeError(
        f"stream: must be what create(stream=True) returns, awaited if it is async, not {type(stream).__name__}"
    )


class _Choice:
    """Choice 0 of one stream: picks its text out of each chunk, and knows whether it finished by itself."""

    __slots__ = ("_stopped",)

    def __init__(self) -> None:
        self._stopped = False

    def text(self, chunk: Any) -> str | None:
        """Give the chunk's text for this choice, None where it has none.

        Raises:
            TypeError: its text, if it has any, is where no chunk has it.
        """
        choices = getattr(chunk, "choices", None)
        if not isinstance(choices, Iterable):
            _check(chunk)
            return None
        for choice in choices:
            if getattr(choice, "index", 0):
                continue
            if getattr(choice, "finish_reason", None) == "stop":
                self._stopped = True
            content = getattr(getattr(choice, "delta", None), "content", None)
            if isinstance(content, str):
                return content
        return None

    def complete(self) -> bool:
        """Tell whether the choice has finished with ``stop``."""
        return self._stopped


def _check(chunk: object) -> None:
    if not hasattr(chunk, "choices") and (isinstance(chunk, _NOT_BY_ATTRIBUTE) or hasattr(chunk, "type")):
        raise TypeError(
            f"stream: must give chunks, as create(stream=True) does, not {type(chunk).__name__}; "
            "for any other stream use iter_events or aiter_events, with a function as text"
        )
