"""Answers that come event by event, and the encoders that write them."""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import anyio
import pytest

from streamcite.links import AnyEvent
from streamcite.ui.ai_sdk import AISDKEncoder
from streamcite.ui.native import NativeEncoder
from streamcite.ui.openai_chat import OpenAIChatEncoder
from streamcite.ui.protocol import Encoder, ProtocolName
from tests.markers import cite

TEXT = f"A{cite('t1')} b{cite('x')} c"
every_protocol = pytest.mark.parametrize("protocol", ["native", "ai-sdk", "openai-chat"])
ENCODERS: dict[ProtocolName, Callable[[], Encoder]] = {
    "native": NativeEncoder,
    "ai-sdk": AISDKEncoder,
    "openai-chat": lambda: OpenAIChatEncoder(completion_id="c", created=1),
}
ASK: Any = {"messages": [{"role": "user", "content": "?"}]}


def encoded(encoder: Encoder, events: Sequence[Any]) -> bytes:
    return b"".join([*encoder.feed(events), *encoder.close()])


class Upstream:
    """Events that come one by one: the next when it is asked for and was let go."""

    def __init__(self, *events: AnyEvent, error: BaseException | None = None, stops: bool = False) -> None:
        self._events = events
        self._error = error
        self._stops = stops
        self.given = 0
        self.cancelled = self.closed = False

    def __aiter__(self) -> AsyncIterator[AnyEvent]:
        return self._run()

    async def _run(self) -> AsyncIterator[AnyEvent]:
        try:
            for event in self._events:
                self.given += 1
                yield event
            if self._error:
                raise self._error
            if self._stops:
                await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            self.cancelled = True
            raise

    async def aclose(self) -> None:
        await anyio.lowlevel.checkpoint()
        self.closed = True
