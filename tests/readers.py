"""Real readers of the protocols of front ends: npm `ai` 6 and 7, and `openai`, in one process of Node.

    with run_readers() as read:
        read("ai7", body=b"data: ...")["message"]

A test that asks for them is skipped where they are not installed, and says so. Every wait is bounded.
"""

import json
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.processes import ENVIRONMENT, PATIENCE
from tests.upstreams import INSTALLED

Reader = Literal[
    "ai6", "ai7", "ai-chat", "ai-responses", "chat-create", "chat-stream", "responses-create", "responses-stream"
]


class ReadError(Exception):
    """What the reader threw, by the name of its class."""


class Readers:
    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self._waiting = ThreadPoolExecutor(1)

    def __call__(self, reader: Reader, *, body: bytes | None = None, **given: Any) -> Any:
        """Read an answer: the `body` of a response, what a `url` gives, or what an `api` answers to `messages`.

        One that `leaves` when it has read something comes back at once for that answer. Without messages it asks the
        `api` for what is being written in the chat `chatId`, and gives None where nothing is.

        Raises:
            ReadError: the reader threw something.
        """
        given |= {"reader": reader} | ({} if body is None else {"body": body.decode()})
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(given) + "\n")
        self._process.stdin.flush()
        return self.next()

    def next(self) -> Any:
        assert self._process.stdout is not None
        line = self._waiting.submit(self._process.stdout.readline).result(PATIENCE)
        outcome = json.loads(line)
        if "error" in outcome:
            raise ReadError(outcome["error"])
        return outcome["value"]

    def close(self) -> None:
        self._waiting.shutdown()


@contextmanager
def run_readers() -> Iterator[Readers]:
    # `make test` works where this is missing, and says so; CI installs it, and fails on a skip.
    if not (INSTALLED / "node_modules" / "ai7").exists():
        pytest.skip("ai and openai of npm are not installed: make .venv/upstreams.stamp")
    script = Path(__file__).with_suffix(".mjs")
    process = subprocess.Popen(
        [INSTALLED / "node" / "bin" / "node", script, INSTALLED / "node_modules"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        env=ENVIRONMENT,
    )
    readers = Readers(process)
    try:
        assert readers.next() == "ready"
        yield readers
    finally:
        process.kill()
        process.wait()
        readers.close()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


def message_of(completion: Any) -> Any:
    """Give the message of a completion without what numbers annotations in a stream."""
    message = completion["choices"][0]["message"]
    for annotation in message.get("annotations") or ():
        del annotation["index"]
    return {name: value for name, value in message.items() if value is not None or name == "refusal"}


def without_parsed(value: Any) -> Any:
    """Take away what a client parses of a text for programs."""
    if isinstance(value, dict):
        parsed = {"parsed", "output_parsed", "output_text"}
        return {name: without_parsed(each) for name, each in value.items() if name not in parsed}
    return list(map(without_parsed, value)) if isinstance(value, list) else value
