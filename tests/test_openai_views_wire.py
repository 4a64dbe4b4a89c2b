"""The life cycle of every view over a real socket: the response of the client is closed."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import anyio
import pytest

from streamcite.testing import serve
from tests.clients import new_async_client, new_client
from tests.openai_views import (
    DELTAS,
    VIEWS,
    LostError,
    View,
    acloses_twice,
    afails_in_a_block,
    aleaves_a_block,
    areads_to_the_end,
    chat_chunks,
    closes_twice,
    every_view,
    fails_in_a_block,
    leaves_a_block,
    no_tasks,
    reads_to_the_end,
)


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    with serve("".join(DELTAS)) as running:
        yield running.base_url


@pytest.fixture(scope="module")
def stalled_url() -> Iterator[str]:
    with serve("".join(DELTAS), pace=3600) as running:
        yield running.base_url


def ask(client: Any, kind: View) -> Any:
    if kind.chunks is chat_chunks:
        return client.chat.completions.create(model="answer", messages=[{"role": "user", "content": "?"}], stream=True)
    return client.responses.create(model="answer", input="?", stream=True)


def ask_helper(client: Any, kind: View) -> Any:
    if kind.chunks is chat_chunks:
        return client.chat.completions.stream(model="answer", messages=[{"role": "user", "content": "?"}])
    return client.responses.stream(model="answer", input="?")


@every_view
@pytest.mark.parametrize("way", [reads_to_the_end, leaves_a_block, fails_in_a_block, closes_twice])
def test_the_clients_response_is_closed(base_url: str, kind: View, way: Any) -> None:
    with new_client(base_url) as client:
        stream = ask(client, kind)
        view = kind.open(stream)
        if not kind.is_of_events():
            assert view.response is stream.response
            with pytest.raises(AttributeError):
                view.no_such_field  # noqa: B018
        assert not stream.response.is_closed
        way(view, kind)
        assert stream.response.is_closed


@every_view
@pytest.mark.anyio
@pytest.mark.parametrize("way", [areads_to_the_end, aleaves_a_block, afails_in_a_block, acloses_twice])
async def test_the_async_clients_response_is_closed(base_url: str, kind: View, way: Any, anyio_backend: str) -> None:
    async with new_async_client(base_url) as client:
        stream = await ask(client, kind)
        view = kind.open(stream)
        if not kind.is_of_events():
            assert view.response is stream.response
        await way(view, kind)
        assert stream.response.is_closed


@every_view
@pytest.mark.anyio
async def test_cancelling_while_the_client_waits_closes_its_response(
    stalled_url: str, kind: View, anyio_backend: str
) -> None:
    async with new_async_client(stalled_url) as client:
        stream = await ask(client, kind)
        with no_tasks(anyio_backend), anyio.move_on_after(0.05) as scope:
            async with kind.open(stream) as view:
                async for _ in kind.steps(view):
                    pass
        assert scope.cancelled_caught
        assert stream.response.is_closed


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["chat objects", "responses objects"])
async def test_the_clients_own_helper_closes_what_it_reads(base_url: str, name: str, anyio_backend: str) -> None:
    kind = VIEWS[name]
    with new_client(base_url) as client, ask_helper(client, kind) as helper:
        response = helper._response
        for _ in kind.open(helper):
            break
        assert not response.is_closed
    assert response.is_closed
    async with new_async_client(base_url) as other:
        with suppress(LostError):
            async with ask_helper(other, kind) as async_helper:
                response = async_helper._response
                async for _ in kind.open(async_helper):
                    raise LostError
        assert response.is_closed


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["chat events", "chat parts", "responses events", "responses parts"])
async def test_a_view_of_the_clients_own_helper_closes_it(base_url: str, name: str, anyio_backend: str) -> None:
    kind = VIEWS[name]
    with new_client(base_url) as client, ask_helper(client, kind) as helper:
        leaves_a_block(kind.open(helper), kind)
        assert helper._response.is_closed
    async with (
        new_async_client(base_url) as other,
        ask_helper(other, kind) as async_helper,
    ):
        await aleaves_a_block(kind.open(async_helper), kind)
        assert async_helper._response.is_closed
