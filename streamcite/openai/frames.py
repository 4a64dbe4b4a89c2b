"""The frames of a stream without I/O: bytes in, payloads with what they hold out; and the client's errors.

An error that the bytes report, or that the HTTP library raises, becomes the one that the client raises.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias

from streamcite.sse import LineTooLong, SSEDecoder

DONE = b"[DONE]"

# One event of the stream: its payload as bytes, and what is in it that matters.
Frame: TypeAlias = tuple[bytes, dict[str, Any]]


class Frames:
    """Bytes in, frames out, up to the end of the answer or an error; without I/O.

    Args:
        fail: makes the client's own error of an error object in the stream.

    Attributes:
        ready: the frames that were read and not handed out, the next one last.
        done: whether the end came, after them.
        failure: the error that came, after them.
    """

    def __init__(self, fail: Callable[[Any], Exception]) -> None:
        self._decoder = SSEDecoder()
        self._fail = fail
        self._from_json = json_reader()
        self.ready: list[Frame] = []
        self.done: bool = False
        self.failure: Exception | None = None

    def next(self, data: bytes) -> Frame | None:
        """Read bytes, which there must be none of while frames are ready, and hand out the next frame."""
        if data:
            failure: Exception | None = None
            try:
                events = self._decoder.feed(data)
            except LineTooLong as error:
                events, failure = error.events, error
            if len(events) == 1 and not failure:  # as most servers send them
                return self._read(events[0][0])
            self._read_all([event.data for event in events], failure)
        return self.ready.pop() if self.ready else None

    def _read_all(self, payloads: list[bytes], failure: Exception | None) -> None:
        for payload in payloads:
            frame = self._read(payload)
            if frame is None:
                break
            self.ready.append(frame)
        else:
            self.failure = failure
        self.ready.reverse()

    def _read(self, payload: bytes) -> Frame | None:
        """Decode the next payload; None at the end and at an error."""
        try:
            value = self._from_json(payload)
        except ValueError:  # it is not JSON; or has lone surrogates, which only the standard library reads
            if payload.startswith(DONE):
                self.done = True
                return None
            try:
                value = read_any_json(payload)
            except (ValueError, RecursionError) as error:  # as the client raises it
                self.failure = error
                return None
        if not isinstance(value, dict):
            value = {}  # it has no text, and the cores read objects
        elif value.get("error"):
            self.failure = self._fail(value["error"])
            return None
        return payload, value


def json_reader() -> Callable[[bytes], Any]:
    """Give the fastest reader of JSON that the client brings."""
    from jiter import from_json  # the client depends on it, and has loaded it

    return from_json


def read_any_json(payload: bytes) -> Any:
    """Read what the fast reader refuses: lone surrogates, and bytes that are not UTF-8.

    Raises:
        ValueError, RecursionError: it is not JSON, or nests too deep.
    """
    return json.loads(payload.decode("utf-8", "replace"))


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
    if "RequestError" not in names:
        return error
    made = APITimeoutError(request) if "TimeoutException" in names else APIConnectionError(request=request)
    made.__cause__ = error
    return made
