"""The chunks of LangChain's messages that an encoder sends."""

import json
from collections.abc import Sequence
from typing import Any

from streamcite import ResolvedEvent
from streamcite.sse import ServerSentEvent, SSEDecoder
from streamcite.ui.langchain import LangChainEncoder


def sent(fed: Sequence[Sequence[ResolvedEvent]], *, complete: bool = True) -> list[ServerSentEvent]:
    encoder = LangChainEncoder(message_id="m")
    frames = [*(frame for events in fed for frame in encoder.feed(events)), *encoder.close(complete=complete)]
    return SSEDecoder().feed(b"".join(frames))


def chunks(received: Sequence[ServerSentEvent]) -> list[Any]:
    assert {event.event for event in received} == {"messages"}
    assert [event.id for event in received] == [str(number) for number in range(len(received))]
    pairs = [json.loads(event.data) for event in received]
    assert {json.dumps(metadata) for _, metadata in pairs} == {"{}"}
    return [chunk for chunk, _ in pairs]
