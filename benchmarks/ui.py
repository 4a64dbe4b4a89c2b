"""What it costs to send an answer to a front end, beside bytes that are ready: ``python -m benchmarks ui``."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, MutableMapping
from functools import partial
from itertools import islice
from typing import Any

from starlette.responses import StreamingResponse

from streamcite import ResolvedEvent
from streamcite.ui.asgi import FrameResponse
from streamcite.ui.native import NativeEncoder
from streamcite.ui.protocol import Protocol, new_encoder
from streamcite.ui.response import sse_response

from . import stored
from .core import given
from .render import answer, events
from .report import Figure
from .timing import fastest

EVENTS = 10_000
QUICK = {"count": 2_000, "passes": 3, "readers": 100}
# The most that an event may cost of what a generator of ready bytes does.
LIMIT = 2.0
PROTOCOLS: dict[str, Protocol] = {
    "native, events": lambda: NativeEncoder(patches=False),
    "ai-sdk": "ai-sdk",
    "openai-chat": "openai-chat",
    "openai-responses": "openai-responses",
}
SCOPE: dict[str, Any] = {"type": "http", "method": "GET", "asgi": {"spec_version": "2.3"}}

_App = Callable[[Any, Any, Any], Awaitable[None]]


def texts(count: int) -> list[ResolvedEvent]:
    """Give that many deltas of text, as a model writes."""
    fed = (event for delta in events(answer(count)) for event in delta)
    return list(islice((event for event in fed if isinstance(event, str)), count))


def ready(protocol: Protocol, answered: Iterable[ResolvedEvent]) -> list[bytes]:
    """Give what is sent of events, a piece for each."""
    encoder = new_encoder(protocol)
    frames = [encoder.feed([]), *(encoder.feed([event]) for event in answered), encoder.close()]
    return [b"".join(each) for each in frames if each]


def send(make: Callable[[], _App]) -> list[bytes]:
    """Answer a request in the process, and give the bodies that were sent."""
    sent: list[bytes] = []

    async def take(message: MutableMapping[str, Any]) -> None:
        if body := message.get("body"):
            sent.append(body)

    asyncio.run(make()(SCOPE, stored.stay, take))  # type: ignore[arg-type]
    return sent


def figures(*, count: int = EVENTS, passes: int = 15, readers: int = stored.READERS) -> Iterator[Figure]:
    """Measure all that has a limit, one figure after the other.

    Args:
        count: how many events an answer has.
        passes: how often each is run; the fastest counts.
        readers: how many read one answer from a store.
    """
    deltas = texts(count)
    for name, protocol in PROTOCOLS.items():
        pieces = ready(protocol, deltas)
        times = fastest(
            {
                "events": partial(send, lambda: sse_response(given(deltas), protocol=protocol)),  # noqa: B023
                "bytes": partial(send, lambda: StreamingResponse(given(pieces))),  # noqa: B023
                "frames": partial(send, lambda: FrameResponse(given(pieces), headers={})),  # noqa: B023
            },
            passes=passes,
        )
        yield Figure(f"sse_response / a generator of ready bytes: {name}", times["events"] / times["bytes"], LIMIT)
        if name == "ai-sdk":
            yield Figure("FrameResponse of ready bytes / a generator of them", times["frames"] / times["bytes"], LIMIT)
    yield from stored.figures(readers=readers)
