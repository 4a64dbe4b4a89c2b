"""Every way to read an answer of either API with sources, and answers to read so."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import anyio
import pytest
from hypothesis import strategies as st

from streamcite import (
    Resolved,
    ResolvedEvent,
    Source,
    iter_events,
)
from streamcite.openai import chat_events, responses_events
from tests import responses_streams as rs
from tests import strategies as sc
from tests.chats import choice, chunk, given_as, streamed
from tests.markers import cite
from tests.openai_views import AsyncStream, Stream
from tests.raw_streams import APIS, ASYNC, OPENAI, AsyncReplay, Replay, body, bytewise, client_of
from tests.reading import joined
from tests.responses_streams import Json, message, stream_of

A, B, C = (Source(f"turn0file{number}", f"{number}\n" * 3) for number in range(3))
POOL = {source.id: source for source in (A, B, C)}


PROSE = "\ue200cite\ue202a1 was"  # what may have been prose: no stop, and no id that is known
TEXT = f"It{cite(A.id)} lasts{PROSE}{cite(B.id, A.id, 'L2')} and{cite(C.id, 'L9')}\ue201 so{cite(A.id)}{cite('b2')} on"
CUT = [1, 4, 17, 1000]


def deltas_of(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


# Every way to read an answer: with what is told of each event as it comes

Take = Callable[[Any], None]
OPENED: dict[str, Any] = {"chat": chat_events, "responses": responses_events}


def chunks_of(api: str, deltas: Iterable[str]) -> list[Json]:
    return streamed(deltas) if api == "chat" else stream_of(message(*deltas))


def as_kind(api: str, kind: str, chunks: Iterable[Json]) -> list[Any]:
    """Give chunks as the client's objects, or as dicts."""
    return rs.typed(chunks) if (api, kind) == ("responses", "typed") else given_as(kind, chunks)


def read(view: Any, take: Take, *, parts: bool = False) -> None:
    for event in view.iter_parts() if parts else view:
        take(event)


async def aread(view: Any, take: Take, *, parts: bool = False) -> None:
    async for event in view.iter_parts() if parts else view:
        take(event)


def read_view(api: str, kind: str, chunks: Sequence[Json], take: Take, *, parts: bool = False, **options: Any) -> None:
    read(OPENED[api](Stream(as_kind(api, kind, chunks)), **options), take, parts=parts)


def aread_view(api: str, kind: str, chunks: Sequence[Json], take: Take, *, parts: bool = False, **options: Any) -> None:
    anyio.run(lambda: aread(OPENED[api](AsyncStream(as_kind(api, kind, chunks)), **options), take, parts=parts))


def read_raw(api: str, kind: str, chunks: Sequence[Json], take: Take, *, parts: bool = False, **options: Any) -> None:
    data = body(chunks)
    fast, client = APIS[api], client_of(OPENAI, Replay(bytewise(data) if kind == "dict" else [data]))
    with fast.raw(client, model="any", **fast.params, **options) as view:
        read(view, take, parts=parts)


def aread_raw(api: str, kind: str, chunks: Sequence[Json], take: Take, *, parts: bool = False, **options: Any) -> None:
    async def run() -> None:
        fast, client = APIS[api], client_of(ASYNC, AsyncReplay([body(chunks)]))
        async with fast.raw(client, model="any", **fast.params, **options) as view:
            await aread(view, take, parts=parts)

    anyio.run(run)


every_api = pytest.mark.parametrize("api", OPENED)
every_kind = pytest.mark.parametrize("kind", ["typed", "dict"])
every_lane = pytest.mark.parametrize("lane", [read_view, aread_view, read_raw, aread_raw])


class Taken:
    """Note what is handed out; let sources come after the events of these numbers."""

    def __init__(self, arrivals: Mapping[str, int], count: int = 0) -> None:
        self.arrivals = arrivals
        self.events: list[Any] = []
        self.count = count
        self.sources: dict[str, Source] = {}
        self.come()

    def come(self) -> None:
        self.sources.update({name: POOL[name] for name, at in self.arrivals.items() if at <= self.count})

    def __call__(self, event: Any) -> None:
        self.events.append(event)
        self.count += 1
        self.come()


def expected(deltas: Sequence[str], arrivals: Mapping[str, int]) -> list[ResolvedEvent]:
    taken = Taken(arrivals)
    for event in iter_events(deltas, sources=taken.sources, complete=True):
        taken(event)
    return taken.events


class Flow(Taken):
    """Hold chunks for views; no source comes after an event that says that it does not."""

    def __init__(self, chunks: Sequence[Any], arrivals: Mapping[str, int]) -> None:
        self.chunks = iter(chunks)
        super().__init__(arrivals)

    def __call__(self, item: Any) -> None:
        event = item[1] if isinstance(item, tuple) else item
        if (
            isinstance(event, Resolved)
            and not event.pending
            and any(link.problem == "unknown-source" for link in event.links)
        ):
            self.arrivals = {}
        super().__call__(item)


def of_parts(items: Iterable[Any]) -> list[Any]:
    """Join the strings that follow each other in one part; where a text is cut is not what is asked."""
    by_part: dict[Any, list[Any]] = {}
    for item in items:
        part, event = item if isinstance(item, tuple) else (None, item)
        by_part.setdefault(part, []).append(event)
    return [(part, joined(events)) for part, events in by_part.items()]


TEXTS = st.lists(
    st.sampled_from([cite(A.id), cite(B.id, A.id), cite(C.id, "L9"), cite("b2"), PROSE, " a ", "\ue201", "\n"]),
    max_size=6,
).map("".join)
ARRIVALS = st.dictionaries(st.sampled_from(sorted(POOL)), st.integers(0, 9))


@st.composite
def streams(draw: st.DrawFn, texts: Sequence[str], *, in_order: bool = False) -> tuple[str, list[Json]]:
    """Draw an API, and chunks of it with these texts, cut anywhere, that come side by side unless in order."""
    cut = [draw(sc.cuts(text)) for text in texts]
    api = draw(st.sampled_from(sorted(OPENED)))
    if api == "chat":
        chunks = [chunk(choice(delta, index)) for index, deltas in enumerate(cut) for delta in deltas]
        return api, [*chunks, *(chunk(choice(None, index, "stop")) for index in range(len(cut)))]
    return api, stream_of(*[message(*deltas) for deltas in cut], order=None if in_order else draw(rs.orders()))
