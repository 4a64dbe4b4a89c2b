"""The fast lane over real servers, its own and two that nobody here wrote, whole and broken, against the event view."""

from collections.abc import Callable
from functools import partial
from typing import Any

import anyio
import pytest

from streamcite import parse
from streamcite.surrogates import replace_surrogates
from streamcite.testing import Server, recorded_answers
from tests.markers import MARKER
from tests.processes import PATIENCE
from tests.raw_streams import APIS, CHAT, Api, Outcome, aoutcome, outcome
from tests.reading import joined
from tests.upstream_reads import CHAT as PLAIN_CHAT
from tests.upstream_reads import RESPONSES as PLAIN_RESPONSES
from tests.upstream_reads import STALLED, TEXT, TOLD, async_client_of, at_once, client_of, deltas_of, read
from tests.upstreams import Aimock, Fault, Llmock, Upstream

UNCLOSED = f"It lasts. {MARKER[:-1]}"
# What the client calls its errors since its newest version; an older one lets those of its HTTP library through.
ERRORS: dict[Fault, str | None] = {
    "truncate": None,
    "malformed": "JSONDecodeError",
    "disconnect": "APIConnectionError",
    "stall": "APITimeoutError",
}
every_api = pytest.mark.parametrize("api", APIS.values(), ids=APIS)


def read_sync(upstream: Upstream, api: Api, model: str, patience: float = PATIENCE, *, parts: bool = False) -> Outcome:
    with client_of(upstream, patience) as client:
        return outcome(api.raw(client, model=model, **api.params), parts=parts)


def reading_on(backend: str) -> Callable[..., Outcome]:
    async def read_async(upstream: Upstream, api: Api, model: str, patience: float, parts: bool) -> Outcome:
        async with async_client_of(upstream, patience) as client:
            return await aoutcome(api.raw(client, model=model, **api.params), parts=parts)

    def reader(upstream: Upstream, api: Api, model: str, patience: float = PATIENCE, *, parts: bool = False) -> Outcome:
        return anyio.run(read_async, upstream, api, model, patience, parts, backend=backend)

    return reader


READERS = {"sync": read_sync, "asyncio": reading_on("asyncio"), "trio": reading_on("trio")}


def typed(upstream: Upstream, api: Api, model: str, patience: float = PATIENCE, *, parts: bool = False) -> Outcome:
    with client_of(upstream, patience) as client:
        return outcome(api.view(api.create(client, model=model, **api.params)), parts=parts)


def check(upstream: Upstream, api: Api, model: str) -> Outcome:
    """See that every reader gives what the event view gives, and give that."""
    for parts in (True, False):
        expected = typed(upstream, api, model, parts=parts)
        for reader in READERS.values():
            assert reader(upstream, api, model, parts=parts) == expected
    return expected


@every_api
def test_recorded_answers(recorded: Server, api: Api) -> None:
    upstream: Any = recorded  # it has a base URL, and no more is asked of it
    for answer in recorded_answers().values():
        expected = typed(upstream, api, answer.id)
        assert joined(expected.items) == parse(answer.text, complete=True)
        for reader in READERS.values():
            assert reader(upstream, api, answer.id) == expected


@every_api
@pytest.mark.parametrize("size", [1, 3, 7])
def test_every_cut_and_markers_as_utf8(aimock: Aimock, api: Api, size: int) -> None:
    seen = check(aimock, api, aimock.answer(TEXT, chunkSize=size))
    assert joined(seen.items) == parse(TEXT, complete=True)
    assert seen.complete


@every_api
def test_words_and_markers_as_escapes(llmock: Llmock, api: Api) -> None:
    seen = check(llmock, api, llmock.answer(TEXT))
    assert joined(seen.items) == parse(TEXT, complete=True)
    assert seen.complete


@every_api
def test_other_texts_than_the_answer(aimock: Aimock, api: Api) -> None:
    call = {"type": "toolCall", "name": "find", "arguments": {"query": MARKER}}
    text = {"type": "text", "text": TEXT}
    for response in ({"reasoning": f"Hm.{MARKER} Yes."}, {"blocks": [text, call, text]}, {"finishReason": "length"}):
        seen = check(aimock, api, aimock.answer(UNCLOSED, response=response, chunkSize=3))
        assert seen.items


# Before the text, in it, where a character is cut in two, and at each piece of the marker.
@every_api
@pytest.mark.parametrize("chunks", range(1, 16, 2))
def test_a_cut_connection(aimock: Aimock, api: Api, chunks: int) -> None:
    plain = PLAIN_CHAT if api is CHAT else PLAIN_RESPONSES
    model = aimock.answer_cut(TEXT, after_chunks=chunks, chunkSize=3)
    text, _ = replace_surrogates("".join(deltas_of(read(aimock, plain, model), plain)))
    for reader in READERS.values() if chunks == 9 else [read_sync]:
        seen = reader(aimock, api, model)
        assert joined(seen.items) == parse(text)
        assert seen.error
        assert seen.error[0] == "APIConnectionError"
        assert not seen.complete


@every_api
@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
@pytest.mark.parametrize("fault", TOLD)
def test_other_faults(llmock: Llmock, api: Api, reader: Any, fault: Fault) -> None:
    breaks_off(llmock, api, reader, fault)


def test_streams_that_stall(llmock: Llmock) -> None:
    at_once(*(partial(breaks_off, llmock, api, reader, "stall", STALLED)
              for api in APIS.values() for reader in READERS.values()))  # fmt: skip


def breaks_off(llmock: Llmock, api: Api, reader: Any, fault: Fault, patience: float = PATIENCE) -> None:
    plain = PLAIN_CHAT if api is CHAT else PLAIN_RESPONSES
    model = llmock.answer(f"It lasts. {MARKER[:14]} so {MARKER}long.", fault=fault, after_chunks=plain.opening + 3)
    expected, seen = at_once(
        partial(typed, llmock, api, model, patience), partial(reader, llmock, api, model, patience)
    )
    assert expected.items
    assert seen._replace(error=None) == expected._replace(error=None)
    assert (seen.error and seen.error[0]) == ERRORS[fault]
    assert not seen.complete


def test_an_answer_that_is_not_a_stream_gives_nothing(aimock: Aimock) -> None:
    model = aimock.answer(TEXT, chaos={"malformedRate": 1})
    for api in APIS.values():
        seen = check(aimock, api, model)
        assert (seen.items, seen.error, seen.complete) == ([], None, False)
