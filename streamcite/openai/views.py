"""The shells round a stream of the client: they only drive a core, and close what they were given.

Each view comes twice, for streams and for asynchronous ones, and the two differ in "async" and "await" only.
"""

from __future__ import annotations

from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
)
from heapq import heappop, heappush
from typing import Any, Generic, TypeAlias, TypeVar

from streamcite.driver import AsyncShell, Core, Given, Shell, adrive, drive
from streamcite.events import Event

from .parts import Part, PartEvent, StreamResult
from .resolved import Resolvers
from .text import Text
from .texts import Step, TextsCore, settled

_T = TypeVar("_T")
_E = TypeVar("_E")
# Puts before a core what makes its chunks of what the stream gives.
Reading: TypeAlias = Callable[[Core[Any]], Core[Any]]


def _as_is(core: Core[Any]) -> Core[Any]:
    return core


class _ByPart:
    """The events of all texts, as they come, each with its part."""

    def __init__(self, core: TextsCore) -> None:
        self._core = core

    def read(self, chunk: Any) -> list[PartEvent]:
        return self._pairs(self._core.steps(chunk))

    def end(self, *, stopped: bool) -> list[PartEvent]:
        return self._pairs(self._core.end(stopped=stopped))

    def _pairs(self, steps: list[Step]) -> list[PartEvent]:
        return [(text.part, event) for _, changes in steps for text, new, *_ in changes for event in new]


class _Answer:
    """The events of the answer, text after text: one that begins before another is done waits for that."""

    def __init__(self, core: TextsCore, given: Given, resolvers: Resolvers | None) -> None:
        self._core = core
        self._more = core.more
        self._given = given
        self._resolvers = resolvers
        if resolvers:
            resolvers.answer.next_part = self._next_part
        self._alone = 0 if resolvers else 1  # how many events of a chunk are never pending
        self._current = core.current
        self._later: dict[Text, list[Event]] = {}
        self._turns: list[tuple[Part, Text]] = []  # a heap of these; no two texts have one part
        self._given_last: list[Text] = []  # of each event that was given last, its text

    @property
    def held(self) -> str:
        return self._core.held(self._pending(), self._turn())

    @property
    def result(self) -> StreamResult:
        return self._core.result_with(self._resolvers.cited) if self._resolvers else self._core.result

    def snapshot(self) -> dict[str, Any]:
        state = self._core.snapshot(self._pending(), self._turn())
        return state | {"resolved": self._resolvers.snapshot()} if self._resolvers else state

    def read(self, chunk: Any) -> list[Event]:
        more = self._more(chunk)
        if more is None:
            return self._in_order(self._core.steps(chunk))
        text, events = more
        if text is not self._current or self._later:
            return self._in_order([(chunk, [settled(text, events)])])
        if len(events) > self._alone:
            self._given_last = [text] * len(events)
        return events

    def end(self, *, stopped: bool) -> list[Event]:
        events = self._in_order(self._core.end(stopped=stopped))
        while self._later:
            events += self._next()
        return events

    def _pending(self) -> list[PartEvent]:
        """Give all events that were not handed out, each with its part: those of the last chunk, and the later."""
        items, texts = self._given.pending, self._texts_pending()
        if texts:
            pending = [(text.part, item) for text, item in zip(texts, items, strict=True)]
        else:
            pending = [item for item in items if item[0] is not None]  # by part; a payload without text has none
        return pending + [(text.part, event) for text, later in self._later.items() for event in later]

    def _texts_pending(self) -> list[Text]:
        return self._given_last[len(self._given_last) - self._given.waiting :]

    def _turn(self) -> Text | None:
        """Give the text of the next event: of what is pending, or else the current one."""
        waiting = self._given.waiting
        return self._given_last[-waiting] if waiting and self._given_last else self._current

    def _next_part(self) -> Part | None:
        text = self._turn()
        return text.part if text else None

    def _in_order(self, steps: list[Step]) -> list[Event]:
        events: list[Event] = []
        self._given_last = texts = []
        for _, changes in steps:
            for text, new, *_ in changes:
                if new and text.part.is_answer:
                    if text is (self._current or text):
                        self._current = text
                        events += new
                        texts += [text] * len(new)
                    elif text in self._later:
                        self._later[text] += new
                    else:
                        self._later[text] = [*new]
                        heappush(self._turns, (text.part, text))
        while self._later and self._current is not None and self._current.done:
            events += self._next()
        return events

    def _next(self) -> list[Event]:
        _, self._current = _, text = heappop(self._turns)
        events = self._later.pop(text)
        self._given_last += [text] * len(events)
        return events


class EventView(Shell[_E], Generic[_E]):
    """Iterate over the events of the answer in a stream of the client; `iter_parts` gives those of all its texts.

    It is an ``EventView[Event]``, or with sources an ``EventView[ResolvedEvent]``. An error of the stream is raised
    after the events of what was held. What is held when the view is closed stays readable as `held`.
    """

    __slots__ = ("_answer", "_parts")

    def __init__(
        self,
        core: TextsCore,
        given: Given,
        resolvers: Resolvers | None = None,
        reading: Reading = _as_is,
        *others: Generator[Any, None, None],
    ) -> None:
        self._answer = answer = _Answer(core, given, resolvers)
        self._parts: Generator[tuple[Part, _E], None, None] = drive(
            reading(_ByPart(core)), given, resolvers.parts if resolvers else None
        )
        events = drive(reading(answer), given, resolvers.answer if resolvers else None)
        super().__init__(given, events, self._parts, *others)

    @property
    def held(self) -> str:
        """Give the end of what was read of the answer that is in no event handed out, text after text."""
        return self._answer.held

    @property
    def result(self) -> StreamResult:
        """Say what came of the stream so far; readable at any time."""
        return self._answer.result

    def snapshot(self) -> dict[str, Any]:
        """Give the state after the last event that was handed out, as JSON values, for another view to go on from.

        For Responses, ``response_id`` and ``sequence_number`` (of the last event that was read) say where to go on.
        What came before is in no later `result`.

        With sources it also says which citations are pending, and goes on with their indexes and numbers, in the way of
        iteration in which it was taken. In the other way, or where either view has no sources, those begin anew.
        """
        return self._answer.snapshot()

    def iter_parts(self) -> Iterator[tuple[Part, _E]]:
        """Iterate over the events of all texts, as they come, each with its part. Takes the place of the iteration.

        With sources each part is resolved by itself: its indexes and numbers begin anew.

        Raises:
            RuntimeError: on the first step, if the events of the answer are being iterated over.
        """
        return self._parts


class AsyncEventView(AsyncShell[_E], Generic[_E]):
    """Iterate over the events of the answer in an asynchronous stream of the client, as `EventView`."""

    __slots__ = ("_answer", "_parts")

    def __init__(
        self,
        core: TextsCore,
        given: Given,
        resolvers: Resolvers | None = None,
        reading: Reading = _as_is,
        *others: AsyncGenerator[Any, None],
    ) -> None:
        self._answer = answer = _Answer(core, given, resolvers)
        self._parts: AsyncGenerator[tuple[Part, _E], None] = adrive(
            reading(_ByPart(core)), given, resolvers.parts if resolvers else None
        )
        events = adrive(reading(answer), given, resolvers.answer if resolvers else None)
        super().__init__(given, events, self._parts, *others)

    @property
    def held(self) -> str:
        """Give the end of what was read of the answer that is in no event handed out, text after text."""
        return self._answer.held

    @property
    def result(self) -> StreamResult:
        """Say what came of the stream so far; readable at any time."""
        return self._answer.result

    def snapshot(self) -> dict[str, Any]:
        """Give the state after the last event that was handed out, as `EventView.snapshot`."""
        return self._answer.snapshot()

    def iter_parts(self) -> AsyncIterator[tuple[Part, _E]]:
        """Iterate over the events of all texts, as `EventView.iter_parts`.

        Raises:
            RuntimeError: on the first step, if the events of the answer are being iterated over.
        """
        return self._parts


class ObjectView(Shell[_T], Generic[_T]):
    """Iterate over the objects of a stream, cleaned. What else the stream has, such as ``response``, is reached too."""

    def __init__(self, core: Core[_T], stream: Any) -> None:
        self._stream = stream
        given = Given(iter(stream), stream)
        super().__init__(given, drive(core, given))

    def __getattr__(self, name: str) -> Any:
        if name == "_stream":  # before it is set, as in a copy
            raise AttributeError(name)
        return getattr(self._stream, name)


class AsyncObjectView(AsyncShell[_T], Generic[_T]):
    """Iterate over the objects of an asynchronous stream, cleaned, as `ObjectView`."""

    def __init__(self, core: Core[_T], stream: Any) -> None:
        self._stream = stream
        given = Given(aiter(stream), stream)
        super().__init__(given, adrive(core, given))

    async def close(self) -> None:
        """Close the stream; the client's own name for `aclose`."""
        await self.aclose()

    def __getattr__(self, name: str) -> Any:
        if name == "_stream":
            raise AttributeError(name)
        return getattr(self._stream, name)


def event_view(core: TextsCore, stream: Any, resolvers: Resolvers | None) -> EventView[Any] | AsyncEventView[Any]:
    """Wrap a stream in the event view for its kind.

    Raises:
        TypeError: it is not a stream.
    """
    if is_async(stream):
        return AsyncEventView(core, Given(aiter(stream), stream), resolvers)
    return EventView(core, Given(iter(stream), stream), resolvers)


def object_view(core: Core[Any], stream: Any) -> Any:
    """Wrap a stream in the object view for its kind; one of the client's ``.stream()`` is changed to read from such.

    The client builds the events, snapshots and final object of its ``.stream()`` from the chunks of a stream within. It
    offers no other place to clean all these at once, so that one private name of the client is used here.

    Raises:
        TypeError: it is not a stream.
        RuntimeError: it is one of ``.stream()``, and was read from before.
    """
    view = AsyncObjectView if is_async(stream) else ObjectView
    within = getattr(stream, "_raw_stream", None)
    if within is None:
        return view(core, stream)
    if getattr(getattr(within, "response", None), "is_stream_consumed", False):
        raise RuntimeError("stream: was read from before; what .stream() gives must be cleaned before that")
    stream._raw_stream = view(core, within)  # noqa: SLF001  # the reason is in the docstring
    return stream


def is_async(stream: Any) -> bool:
    """Say whether a stream is asynchronous.

    Raises:
        TypeError: it is not a stream, but say a coroutine that was not awaited.
    """
    if isinstance(stream, AsyncIterable):
        return True
    # A whole ChatCompletion or Response can be iterated too, as any pydantic model: over its fields.
    is_whole = hasattr(stream, "choices") or hasattr(stream, "output")
    if isinstance(stream, Iterable) and not isinstance(stream, (Mapping, str, bytes)) and not is_whole:
        return False
    hint = ""
    if is_whole:
        hint = "; for a whole one there are clean_completion and clean_response"
    elif hasattr(stream, "__await__"):
        hint = "; it was not awaited"
    elif hasattr(stream, "__enter__") or hasattr(stream, "__aenter__"):
        hint = "; give what entering it gives"
    raise TypeError(
        f"stream: must be what create(stream=True) returns, awaited if it is async, not {type(stream).__name__}{hint}"
    )
