"""Answers as ASGI responses: what goes wrong on the way, and mistakes in the program."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest
from openai import APIStatusError

from streamcite.links import AnyEvent
from streamcite.openai import stream_chat
from streamcite.ui.ai_sdk import AISDKEncoder
from streamcite.ui.asgi import FrameResponse
from streamcite.ui.frames import BROKE_OFF
from streamcite.ui.protocol import ProtocolName
from streamcite.ui.response import sse_response
from tests.asgi import Client
from tests.clients import new_async_client
from tests.http_peer import Peer
from tests.processes import PATIENCE
from tests.stores import a_cancellation
from tests.ui_answers import ASK, ENCODERS, Upstream, every_protocol


@pytest.mark.anyio
async def test_an_error_is_reported_in_the_protocols_way_and_raised_after_the_end() -> None:
    for on_error, message in ((None, "The answer broke off."), (lambda error: f"So: {error}", "So: It failed.")):
        upstream, client = Upstream("A", error=ValueError("It failed.")), Client()
        with pytest.raises(ValueError, match="It failed"):
            await client.call(sse_response(upstream, protocol="ai-sdk", on_error=on_error))
        encoder = AISDKEncoder()
        assert client.body == b"".join([*encoder.feed(["A"]), *encoder.fail(message)])
        assert client.ended
        assert upstream.closed


@pytest.mark.anyio
@every_protocol
async def test_a_source_that_was_cancelled_by_itself_is_an_error(protocol: ProtocolName) -> None:
    """As one is that waits for a task which somebody else has cancelled. Nobody has cancelled the response."""
    for texts in ([], ["A"]):
        encoder, client = ENCODERS[protocol](), Client()
        upstream = Upstream(*texts, error=await a_cancellation())
        with pytest.raises(RuntimeError, match="was cancelled, but nobody") as raised:
            await client.call(sse_response(upstream, protocol=ENCODERS[protocol]))
        assert isinstance(raised.value.__cause__, anyio.get_cancelled_exc_class())
        assert client.body == b"".join([*encoder.feed([]), *encoder.feed(texts), *encoder.fail(BROKE_OFF)])
        assert client.ended
        assert upstream.closed


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_task_that_was_cancelled_is_an_error_of_who_waits_for_it(anyio_backend: str) -> None:
    async def events() -> AsyncIterator[AnyEvent]:
        yield "A"
        task = asyncio.create_task(asyncio.sleep(PATIENCE))
        task.cancel()
        await task

    client = Client()
    with pytest.raises(RuntimeError, match="was cancelled, but nobody"):
        await client.call(sse_response(events(), protocol="ai-sdk"))
    encoder = AISDKEncoder()
    assert client.body == b"".join([*encoder.feed(["A"]), *encoder.fail(BROKE_OFF)])
    # And who cancels the task of the response has cancelled the response.
    upstream, client = Upstream("A", stops=True), Client()
    calling = asyncio.create_task(client.call(sse_response(upstream, protocol="ai-sdk")))
    await client.until(lambda client: b'"A"' in client.body)
    calling.cancel()
    await asyncio.wait([calling])  # not every anyio passes a cancellation on
    assert upstream.closed
    assert not client.ended


@pytest.mark.anyio
@every_protocol
async def test_what_reports_an_error_may_fail_itself(protocol: ProtocolName) -> None:
    bodies = []
    for on_error in (None, lambda error: f"So: {error.code}"):
        client, make = Client(), ENCODERS[protocol]
        with pytest.raises(ValueError, match="It failed") as raised:
            await client.call(
                sse_response(Upstream("A", error=ValueError("It failed.")), protocol=make, on_error=on_error)
            )
        assert client.ended
        bodies.append(client.body)
    assert bodies[0] == bodies[1]
    assert raised.value.__notes__ == [
        "on_error failed: AttributeError(\"'ValueError' object has no attribute 'code'\")"
    ]


@pytest.mark.anyio
@every_protocol
@pytest.mark.parametrize("told", [None, 404, b"So.", ["So."], BaseException("So.")])
async def test_what_reports_an_error_gives_a_string(protocol: ProtocolName, told: Any) -> None:
    client, encoder = Client(), ENCODERS[protocol]()
    with pytest.raises(ValueError, match="It failed") as raised:
        await client.call(
            sse_response(
                Upstream("A", error=ValueError("It failed.")), protocol=ENCODERS[protocol], on_error=lambda _: told
            )
        )
    assert client.body == b"".join([*encoder.feed(["A"]), *encoder.fail(BROKE_OFF)])
    said = f"on_error failed: TypeError('must give a string, not {type(told).__name__}')"
    assert raised.value.__notes__ == [said]


@pytest.mark.anyio
async def test_a_request_that_fails_is_an_error_of_the_answer(peer: Peer) -> None:
    client = Client()
    async with new_async_client(peer.base_url) as openai:
        with pytest.raises(APIStatusError):
            await client.call(sse_response(stream_chat(openai, model="m", **ASK), protocol="openai-chat"))
    assert client.body.endswith(b'"The answer broke off.","type":"server_error","param":null,"code":null}}\n\n')


@pytest.mark.anyio
async def test_what_is_not_an_event_is_an_error(anyio_backend: str) -> None:
    client = Client()
    with pytest.raises(TypeError, match="events"):
        await client.call(sse_response(Upstream("A", 1), protocol="ai-sdk"))  # type: ignore[arg-type]
    assert b'"error"' in client.body


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"events": "text"}, TypeError),
        ({"events": 1}, TypeError),
        ({"protocol": "natives"}, ValueError),
        ({"ping": 0}, ValueError),
        ({"ping": float("nan")}, ValueError),
        ({"sources": []}, TypeError),
        ({"scope": "all"}, ValueError),
        ({"complete": "yes"}, TypeError),
        ({"complete": 1}, TypeError),
        ({"on_error": "Sorry."}, TypeError),
    ],
)
def test_misuse_is_an_error_at_once(options: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        sse_response(**{"events": [], **options})


def test_frames_come_asynchronously() -> None:
    frames: Any = [b"data: a\n\n"]
    with pytest.raises(TypeError, match="frames"):
        FrameResponse(frames, headers={})


@pytest.mark.anyio
async def test_an_error_of_frames_leaves_no_whole_body() -> None:
    async def frames() -> AsyncIterator[bytes]:
        yield b"data: a\n\n"
        raise ValueError("It failed.")

    client = Client()
    with pytest.raises(ValueError, match="It failed"):
        await client.call(FrameResponse(frames(), headers={}))
    assert client.body == b"data: a\n\n"
    assert not client.ended
