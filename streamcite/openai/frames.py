"""The frames of a stream without I/O: bytes in, payloads with what they hold out; and the client's errors.

An error that the bytes tell of, or that the HTTP library raises, becomes the one that the client raises.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias

from streamcite.sse import LineTooLong, SSEDecoder

_DONE = b"[DONE]"

# One event of the stream: its payload as bytes, and what is in it that matters.
Frame: TypeAlias = tuple[bytes, dict[str, Any]]


class Frames:
    """Bytes in, frames out, up to the end of the answer or an error; without I/O.

    Args:
        fail: makes the client's own error of an error object in the stream.

    Attributes:
        done: whether the end came.
        failure: the error that came.
    """

    def __init__(self, fail: Callable[[Any], Exception]) -> None:
        self._decoder = SSEDecoder()
        self._fail = fail
        self._decode = _decoder()
        self.done: bool = False
        self.failure: Exception | None = None

    def feed(self, data: bytes) -> list[Frame]:
        """Give the frames that these bytes complete."""
        failure: Exception | None = None
        try:
            events = self._decoder.feed(data)
        except LineTooLong as error:
            events, failure = error.events, error
        frames: list[Frame] = []
        for payload, *_ in events:
            if payload.startswith(_DONE):
                self.done = True
                return frames
            try:
                value = self._decode(payload)
            except (ValueError, RecursionError) as error:
                self.failure = error
                return frames
            if not isinstance(value, dict):
                value = {}  # it has no text, and the cores read objects
            elif value.get("error"):
                self.failure = self._fail(value["error"])
                return frames
            frames.append((payload, value))
        self.failure = failure
        return frames


def _decoder() -> Callable[[bytes], Any]:
    from jiter import from_json  # the client depends on it, and has loaded it

    def decode(payload: bytes) -> Any:
        try:
            return from_json(payload, cache_mode="keys")
        except ValueError:
            # Lone surrogates, which only the standard library reads; or an error, raised as the client raises it.
            return json.loads(payload.decode("utf-8", "replace"))

    return decode


def api_error(error: Any, request: Any) -> Exception:
    """Make the error that the client raises for an error object in a stream."""
    from openai import APIError

    message = error.get("message") if isinstance(error, dict) else None
    if not isinstance(message, str) or not message:
        message = "An error occurred during streaming"
    return APIError(message, request, body=error)


def client_error(error: Exception, request: Any) -> Exception:
    """Make the client's error of one of its HTTP library, whichever that is, as its newer versions do."""
    from openai import APIConnectionError, APITimeoutError

    names = {kind.__name__ for kind in type(error).__mro__}
    if "TimeoutException" in names:
        return APITimeoutError(request)
    return APIConnectionError(request=request) if "RequestError" in names else error
