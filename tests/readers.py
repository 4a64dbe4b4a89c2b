"""Real readers of the protocols of front ends: npm `ai` 6 and 7, and `openai`, in one process of Node.

with run_readers() as read:
    read("ai7", body=b"data: ...")["message"]
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from tests.node import Script, run_script

Reader = Literal[
    "ai6", "ai7", "ai-chat", "ai-responses", "chat-create", "chat-stream", "responses-create", "responses-stream"
]


class Readers:
    def __init__(self, script: Script) -> None:
        self._script = script

    def __call__(self, reader: Reader, *, body: bytes | None = None, **given: Any) -> Any:
        """Read an answer: the `body` of a response, what a `url` gives, or what an `api` answers to `messages`.

        One that `leaves` when it has read something comes back at once for that answer. Without messages it asks the
        `api` for what is being written in the chat `chatId`, and gives None where nothing is.

        Raises:
            ScriptError: the reader threw something.
        """
        return self._script.ask(reader=reader, **given, **({} if body is None else {"body": body.decode()}))


@contextmanager
def run_readers() -> Iterator[Readers]:
    with run_script("readers.mjs", "ai7") as script:
        yield Readers(script)


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
