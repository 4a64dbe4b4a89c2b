"""Servers that nobody here wrote, so that no test reads only what this project believes an API to send.

The npm package `@copilotkit/aimock` cuts a text where it is told, between the two halves of a surrogate pair too, and
writes markers as UTF-8. The Python package `llmock` sends word by word, writes markers as JSON escapes, and breaks its
streams. Both speak chat completions and Responses, on a free port of the loopback, as long as a block runs:

    with run_aimock() as upstream:
        client = OpenAI(base_url=upstream.base_url, api_key="any", max_retries=0)
        model = upstream.answer("It lasts.", chunkSize=3)
        client.chat.completions.create(model=model, messages=[...], stream=True)

Nothing here imports anyio, openai or an extra. Every wait is bounded.
"""

import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any, Literal
from urllib.parse import urlsplit

from tests.processes import ENVIRONMENT, PATIENCE

INSTALLED = Path(__file__).parents[1] / ".venv" / "upstreams"
# Each server takes a free port, and writes which one when it listens. (llmock's banner says port 0 before.)
LISTENS = re.compile(r"(?:listening|running) on (http://127\.0\.0\.1:[1-9]\d*)")
NEVER = 3_600_000  # milliseconds, or longer than any test by far

Json = Mapping[str, Any]
Fault = Literal["truncate", "malformed", "disconnect", "stall"]


class Upstream:
    """A running server that gives each answer under a model's name of its own, so that no two tests meet."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.base_url = f"{url}/v1"
        self._numbers = count(1)

    def new_model(self) -> str:
        return f"model{next(self._numbers)}"

    def post(self, path: str, body: Json) -> bytes:
        """Send JSON, and give the body of the answer as it stands on the wire."""
        with closing(HTTPConnection(urlsplit(self.url).netloc, timeout=PATIENCE)) as connection:
            connection.request("POST", path, json.dumps(body), {"content-type": "application/json"})
            response = connection.getresponse()
            received = response.read()
        assert response.status in {200, 201}, received
        return received


class Aimock(Upstream):
    def answer(self, text: str, *, response: Json | None = None, **options: Any) -> str:
        """Give this answer under a new model's name, and return the name.

        Args:
            text: The whole text.
            response: More fields of a fixture's `response`: `finishReason`, `reasoning`, `usage`, ...
            options: The fixture's own: `chunkSize` (UTF-16 units; 20 if not given), `latency` (milliseconds before
                each chunk), `truncateAfterChunks`, `disconnectAfterMs`, `recordedTimings`, ... Chunks are counted
                from the first one of the stream. What is written with no latency right before a cut is lost.
        """
        model = self.new_model()
        fixture = {"match": {"model": model}, "response": {"content": text, **(response or {})}, **options}
        self.post("/__aimock/fixtures", {"fixtures": [fixture]})
        return model

    def answer_cut(self, text: str, *, after_chunks: int, **options: Any) -> str:
        """Give an answer whose connection is cut when exactly that many chunks have been received."""
        # They leave together; then comes a pause of which only the cut is the end.
        return self.answer(text, **_pause(after_chunks), disconnectAfterMs=100, **options)

    def answer_stalled(self, text: str, *, after_chunks: int, **options: Any) -> str:
        """Give an answer that stops, with the connection open, after that many chunks."""
        return self.answer(text, **_pause(after_chunks), **options)


def _pause(after_chunks: int) -> dict[str, Json]:
    delays = [0] * (after_chunks - 1) + [NEVER]
    return {"recordedTimings": {"ttftMs": 0, "interChunkDelaysMs": delays, "totalDurationMs": 0}}


class Llmock(Upstream):
    def answer(self, text: str, *, fault: Fault | None = None, after_chunks: int = 0, **reply: Any) -> str:
        """Give this answer under a new model's name, and return the name.

        Args:
            text: The whole text. Each chunk is one word with the white space round it.
            fault: What becomes of a stream after that many chunks: `truncate`, what looks like a clean end;
                `malformed`, one chunk of half its JSON; `disconnect`, a cut connection; `stall`, nothing more.
            after_chunks: Counted from the first chunk of the stream.
            reply: More fields of a `reply`: `finish_reason`, `tool_calls`.
        """
        model = self.new_model()
        always: Json = {"times": None, "match": {"model": model}}
        behaviors = [{"type": "reply", "text": text, **reply, **always}]
        if fault:
            place = {"after_chunks": after_chunks, "stall_seconds": NEVER / 1000}
            behaviors.append({"type": "stream_fault", "kind": fault, **place, **always})
        self.post("/_llmock/scenario", {"behaviors": behaviors})
        return model


@contextmanager
def run_aimock() -> Iterator[Aimock]:
    # Both packages call their command `llmock`. This one wants a folder of fixtures; they come later, by name.
    command = INSTALLED / "node_modules" / ".bin" / "llmock"
    with (
        TemporaryDirectory() as empty,
        started([command, "--port", "0", "--host", "127.0.0.1", "--fixtures", empty]) as url,
    ):
        yield Aimock(url)


@contextmanager
def run_llmock() -> Iterator[Llmock]:
    command = INSTALLED / "bin" / "llmock"
    with started([command, "serve", "--port", "0", "--host", "127.0.0.1"]) as url:
        yield Llmock(url)


@contextmanager
def started(command: Sequence[str | Path]) -> Iterator[str]:
    """Run a server as long as a block runs, and give its address when it listens."""
    if not Path(command[0]).exists():
        raise FileNotFoundError(f"{command[0]} is not installed: make .venv/upstreams.stamp")
    path = f"{INSTALLED / 'node' / 'bin'}{os.pathsep}{ENVIRONMENT['PATH']}"
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        env={**ENVIRONMENT, "PATH": path},
    )
    address: Future[str] = Future()
    # It reads to the end: a server whose output nobody reads stands still when the pipe is full.
    reader = Thread(target=_read, args=(process, address))
    reader.start()
    try:
        yield address.result(PATIENCE)
    finally:
        process.kill()
        reader.join()
        process.wait()


def _read(process: subprocess.Popen[str], address: Future[str]) -> None:
    assert process.stdout is not None
    with process.stdout as output:
        lines = []
        for line in output:
            if address.done():
                continue
            lines.append(line)
            if match := LISTENS.search(line):
                address.set_result(match[1])
    if not address.done():
        address.set_exception(ChildProcessError(f"{process.args!r} has not started:\n{''.join(lines)}"))
