"""An OpenAI-compatible server of recorded answers in a thread, for users' own tests and the demo."""

from __future__ import annotations

import asyncio
import math
import socket
import threading
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import uvicorn

from .app import build_app
from .recorded import RecordedAnswer, recorded_answers

if TYPE_CHECKING:
    from starlette.types import ASGIApp

_START = 10.0  # seconds; it takes some milliseconds, but on a loaded machine more
_IDLE = 3600  # seconds that a client may pause between two requests: whenever it asks again, its connection is there
_STOP = 10.0  # seconds; what is open is cut, so only uvicorn's own polling takes time


@dataclass(frozen=True, slots=True)
class Server:
    """A running test server.

    Attributes:
        base_url: what an OpenAI client takes as ``base_url``.
        answers: what it serves, by model.
    """

    base_url: str
    answers: Mapping[str, RecordedAnswer]


@contextmanager
def serve(
    answers: str | RecordedAnswer | Iterable[RecordedAnswer] | None = None, *, pace: float = 0.0
) -> Iterator[Server]:
    """Serve recorded answers to OpenAI clients, on a free port of 127.0.0.1, until the block ends.

    The server speaks both APIs for answers, streamed or not, and ``GET /v1/models``. The request's ``model`` chooses
    the answer, any API key will do, and parameters that are not named here are let pass. What it refuses it refuses
    with OpenAI's status and error object.

    * Chat completions, ``POST /v1/chat/completions``: ``n``, ``max_tokens``, ``max_completion_tokens`` and
      ``stream_options`` are heeded.
    * Responses, ``POST /v1/responses`` with ``instructions``, ``max_output_tokens``, ``store`` and ``stream_options``:
      the events of the API reference, "Responses: streaming events", and no ``[DONE]``. ``GET /v1/responses/{id}``
      gives one of the newest 100 responses that ``store`` did not except, finished even where it still streams;
      ``?stream=true`` gives its events again, byte for byte, and ``starting_after`` those after that
      ``sequence_number``, which OpenAI does for background responses only.

    At the end of the block connections that are still open are cut.

    Args:
        answers: what to serve, one or more; a plain text is served as the model ``answer``, and without any those of
            `recorded_answers`.
        pace: seconds between two chunks or events of a stream; with 0 they come as fast as they can.

    Yields:
        The running server.

    Raises:
        TypeError: ``answers`` are neither a text nor `RecordedAnswer`s, or ``pace`` is not a number.
        ValueError: ``pace`` is negative or not finite; there are no answers, or two have the same id.
        RuntimeError: the server did not start or stop in time, or failed; the cause says how.
    """
    if not isinstance(pace, int | float):
        raise TypeError(f"pace: must be a number of seconds, not {pace!r}")
    if not (math.isfinite(pace) and pace >= 0):
        raise ValueError(f"pace: must be a finite number of seconds from 0, not {pace!r}")
    catalogue = _catalogue(answers)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with _running(_Uvicorn(build_app(catalogue, pace)), listener):
            yield Server(base_url=f"http://127.0.0.1:{port}/v1", answers=catalogue)


def _catalogue(answers: str | RecordedAnswer | Iterable[RecordedAnswer] | None) -> Mapping[str, RecordedAnswer]:
    if answers is None:
        return recorded_answers()
    if isinstance(answers, str):
        answers = RecordedAnswer(id="answer", text=answers)
    if isinstance(answers, RecordedAnswer):
        answers = [answers]
    if not isinstance(answers, Iterable):
        raise TypeError(f"answers: must be a text or an iterable of RecordedAnswer, not {type(answers).__name__}")
    catalogue: dict[str, RecordedAnswer] = {}
    for answer in answers:
        if not isinstance(answer, RecordedAnswer):
            raise TypeError(f"answers: must be a text or an iterable of RecordedAnswer, not of {type(answer).__name__}")
        if catalogue.setdefault(answer.id, answer) is not answer:
            raise ValueError(f"answers: must have different ids, not two times {answer.id!r}")
    if not catalogue:
        raise ValueError("answers: must be one or more, not none")
    return MappingProxyType(catalogue)


class _Uvicorn(uvicorn.Server):
    """Uvicorn that says when it serves, and that cuts what is still open when it stops."""

    def __init__(self, app: ASGIApp) -> None:
        # No log_config: logging belongs to the program whose tests these are. The time-out is for requests whose
        # clients were cut and which do not notice; there should be none.
        super().__init__(
            uvicorn.Config(
                app,
                loop="asyncio",
                http="h11",
                ws="none",
                lifespan="off",
                log_config=None,
                timeout_keep_alive=_IDLE,
                timeout_graceful_shutdown=int(_STOP / 2),
            )
        )
        self.settled = threading.Event()  # it serves, or never will

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.settled.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        await super().shutdown(sockets)


@contextmanager
def _running(server: _Uvicorn, listener: socket.socket) -> Iterator[None]:
    """Run the server in a thread, from the first request that it can take to the last socket closed."""
    outcome: Future[None] = Future()

    def run() -> None:
        try:
            outcome.set_result(asyncio.run(server.serve(sockets=[listener])))
        except BaseException as error:  # noqa: BLE001  # uvicorn exits where it cannot start; the outcome raises it
            outcome.set_exception(error)
        finally:
            server.settled.set()

    thread = threading.Thread(target=run, name="streamcite.testing", daemon=True)
    thread.start()
    try:
        if not server.settled.wait(_START):
            raise RuntimeError(f"the test server did not start within {_START:g} seconds")
        if not outcome.done():
            yield
    finally:
        server.should_exit = True
        thread.join(_STOP)
    if thread.is_alive():
        raise RuntimeError(f"the test server did not stop within {_STOP:g} seconds")
    if error := outcome.exception():
        raise RuntimeError("the test server failed") from error
