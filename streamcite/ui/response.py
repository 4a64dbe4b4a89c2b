"""An answer as an ASGI response: `sse_response` for Starlette, FastAPI, and anything else that calls an application.

Source: the ASGI specification, "HTTP connection scope".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from streamcite.format import OPENAI, CitationFormat
from streamcite.resolve import Resolver, Scope
from streamcite.source import Source

from .asgi import FrameResponse
from .frames import AnswerFrames, Complete, Events
from .protocol import Protocol, new_encoder

__all__ = ["sse_response"]


def sse_response(
    events: Events,
    *,
    protocol: Protocol = "native",
    sources: Mapping[str, Source] | None = None,
    scope: Scope = "conversation",
    format: CitationFormat = OPENAI,
    complete: Complete = None,
    ping: float | None = 15.0,
    headers: Mapping[str, str] | None = None,
    on_error: Callable[[Exception], str] | None = None,
) -> FrameResponse:
    """Answer a request with the events of an answer, as they come.

    Args:
        events: the answer, as for `AnswerFrames`: an event view, ``stream_chat(client, ...)``, ``aiter_events(...)``,
            or any (asynchronous) iterable of events.
        protocol: what the front end speaks, as for `new_encoder`.
        sources: what citations point to, by source id, as for `Resolver`, where the events are not resolved. It may
            grow. Left out, no source is known.
        scope: as for `Resolver`.
        format: what a marker looks like, as for `Resolver`.
        complete: whether an answer whose events come to their end has ended by itself, as for `AnswerFrames`.
        ping: after that many seconds in which nothing was sent, as while a marker is held or the model is silent, a
            comment is sent, so that nothing on the way takes the connection for dead; None sends none.
        headers: more headers of the response, or others than the protocol's.
        on_error: gives what the reader is told when reading the events raises; None gives `BROKE_OFF`, as what an
            error says may be none of the reader's business.

    Returns:
        An ASGI application for one request, and where Starlette is installed, a response of Starlette's: return it from
        an endpoint of Starlette or FastAPI, or ``await response(scope, receive, send)``.

    Raises:
        TypeError: as `AnswerFrames`, `new_encoder` and `Resolver` do.
        ValueError: ``ping`` is not a number above 0, or as these do.
    """
    encoder = new_encoder(protocol)
    resolver = Resolver({} if sources is None else sources, scope, format=format)
    frames = AnswerFrames(events, encoder, resolver=resolver, complete=complete, on_error=on_error)
    more = {name.lower(): value for name, value in (headers or {}).items()}
    return FrameResponse(frames, headers={**encoder.headers, **more}, ping=ping)
