"""Every view of both APIs, what they are opened over in tests, and every way to be done with one."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import anyio
import pytest

from streamcite.openai import chat_events, clean_chat, clean_responses, responses_events
from tests.markers import MARKER
from tests.responses_streams import SOURCES, message, stream_of

DELTAS = ["It lasts. ", MARKER[:5], MARKER[5:], " And", " on."]


def chat_chunks(*deltas: str) -> list[dict[str, Any]]:
    chunks: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": {"content": delta}, "finish_reason": None}]} for delta in deltas
    ]
    return [*chunks, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}]


def responses_chunks(*deltas: str) -> list[dict[str, Any]]:
    return stream_of(message(*deltas))


@dataclass(frozen=True)
class View:
    """A view, how it is iterated over, and what of; it gives something of the chunks of these indexes."""

    open: Callable[[Any], Any]
    steps: Callable[[Any], Any]
    chunks: Callable[..., list[dict[str, Any]]]
    gives: Sequence[int]

    def is_of_events(self) -> bool:
        return self.open in (chat_events, responses_events)


def by_parts(view: Any) -> Any:
    return view.iter_parts()


def itself(view: Any) -> Any:
    return view


def clean_chat_cited(stream: Any) -> Any:
    return clean_chat(stream, sources=SOURCES)


def clean_responses_cited(stream: Any) -> Any:
    return clean_responses(stream, sources=SOURCES)


# The third delta gives a citation; where no source has a URL, a chat chunk has no place for it. Three events precede
# the deltas of a response, and those after them are handed on.
VIEWS = {
    "chat events": View(chat_events, itself, chat_chunks, [1, 3, 4, 5]),
    "chat parts": View(chat_events, by_parts, chat_chunks, [1, 3, 4, 5]),
    "chat objects": View(clean_chat_cited, itself, chat_chunks, [1, 4, 5, 6]),
    "responses events": View(responses_events, itself, responses_chunks, [4, 6, 7, 8]),
    "responses parts": View(responses_events, by_parts, responses_chunks, [4, 6, 7, 8]),
    "responses objects": View(clean_responses_cited, itself, responses_chunks, [1, 2, 3, 4, 6, *range(7, 13)]),
}
every_view = pytest.mark.parametrize("kind", VIEWS.values(), ids=VIEWS)


class LostError(Exception):
    """What a stream raises when its connection is lost."""


class Stream:
    """A stream as the client's is: closed by itself at its end, over an iterator of its own."""

    def __init__(self, chunks: Sequence[Any], error: BaseException | None = None) -> None:
        self.response = object()
        self.read = 0
        self.closings = 0
        self._chunks = iter(chunks)
        self._error = error

    def __iter__(self) -> Iterator[Any]:
        for chunk in self._chunks:
            self.read += 1
            yield chunk
        if self._error:
            raise self._error

    def close(self) -> None:
        self.closings += 1


class AsyncStream(Stream):
    """Wait for ever after the last chunk if it is told to, and take a while to be closed."""

    def __init__(self, chunks: Sequence[Any], error: BaseException | None = None, *, waits: bool = False) -> None:
        super().__init__(chunks, error)
        self.waits = waits
        self.waiting = anyio.Event()

    async def __aiter__(self) -> AsyncIterator[Any]:
        for chunk in self._chunks:
            self.read += 1
            yield chunk
        if self.waits:
            self.waiting.set()
            await anyio.sleep_forever()
        if self._error:
            raise self._error

    async def close(self) -> None:  # type: ignore[override]
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
        self.closings += 1


# Every way to be done


def reads_to_the_end(view: Any, kind: View) -> None:
    assert len(list(kind.steps(view))) >= len(kind.gives)


def leaves_a_block(view: Any, kind: View) -> None:
    with view as entered:
        assert entered is view
        for _ in kind.steps(view):
            break


def fails_in_a_block(view: Any, kind: View) -> None:
    with suppress(LostError), view:
        for _ in kind.steps(view):
            raise LostError


def closes_twice(view: Any, kind: View) -> None:
    next(iter(kind.steps(view)))
    view.close()
    view.close()


def closes_before_the_first_step(view: Any, kind: View) -> None:
    view.close()


async def areads_to_the_end(view: Any, kind: View) -> None:
    assert len([each async for each in kind.steps(view)]) >= len(kind.gives)


async def aleaves_a_block(view: Any, kind: View) -> None:
    async with view as entered:
        assert entered is view
        async for _ in kind.steps(view):
            break


async def afails_in_a_block(view: Any, kind: View) -> None:
    with suppress(LostError):
        async with view:
            async for _ in kind.steps(view):
                raise LostError


async def acloses_twice(view: Any, kind: View) -> None:
    await anext(aiter(kind.steps(view)))
    await view.aclose()
    await (view.aclose() if kind.is_of_events() else view.close())


async def acloses_before_the_first_step(view: Any, kind: View) -> None:
    await view.aclose()


class no_tasks:  # noqa: N801  # it is used as a function
    """See that a block leaves no task of asyncio, and makes none between two steps."""

    def __init__(self, backend: str) -> None:
        self.before = asyncio.all_tasks() if backend == "asyncio" else None

    def check(self) -> None:
        assert self.before is None or asyncio.all_tasks() == self.before

    def __enter__(self) -> "no_tasks":
        return self

    def __exit__(self, *_: object) -> None:
        self.check()
