"""What each stream of the soak is, from its number alone: server and client both know, and no file says so."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Literal

from benchmarks.shapes import ENGLISH, JAPANESE, across
from streamcite import OPENAI, Reference, Source
from streamcite.sse import encode
from streamcite.testing import RecordedAnswer
from streamcite.testing.completion import chunks
from streamcite.testing.request import ChatRequest, ResponsesRequest
from streamcite.testing.response import ModelResponse

Api = Literal["chat", "responses"]
Fault = Literal["none", "cut", "half a frame", "reset", "stall", "no end", "error", "5xx", "no answer"]

# How often each comes.
FAULTS: dict[Fault, int] = {
    "none": 10, "cut": 2, "half a frame": 2, "reset": 2, "stall": 1, "no end": 1, "error": 1, "5xx": 1, "no answer": 1,
}  # fmt: skip
# Of these the body ends as HTTP says; of all others it does not, or there is no body.
ENDED: frozenset[Fault] = frozenset({"none", "no end", "error"})
ERROR = encode('{"error":{"message":"overloaded","type":"server_error","code":null}}')
DONE = encode("[DONE]")
START, DELIMITER, STOP = OPENAI.tokens
_IDS = [f"turn{number // 10}file{number % 10}" for number in range(20)]
# The last that an answer cites are unknown.
SOURCES = {name: Source(name, title=f"Page {name}", url=f"https://example.org/{name}") for name in _IDS[:15]}
_MALFORMED = [
    *(START, STOP, DELIMITER, f"{START}cite{DELIMITER}turn0file1 and more", f"{START}cite{DELIMITER}{STOP}"),
    f'{START}entity{DELIMITER}["person","Ada","author"]{STOP}',
]


@dataclass(frozen=True)
class Plan:
    """One stream.

    Attributes:
        number: which.
        api: the one that it is of.
        fault: what becomes of it.
        frames: the whole answer on the wire.
        sent: how many of them are sent before the fault.
        rest: what is sent after them: half a frame, an error, or nothing.
        pieces: how many bytes go into each write, again and again.
        pause: seconds between two writes.
    """

    number: int
    api: Api
    fault: Fault
    frames: Sequence[bytes]
    sent: int
    rest: bytes
    pieces: Sequence[int]
    pause: float

    @property
    def body(self) -> bytes:
        """Give all that is sent of the body."""
        return b"".join([*self.frames[: self.sent], self.rest])

    @property
    def whole(self) -> bool:
        """Say whether the answer comes to its end."""
        return self.fault == "none"


def make(seed: int, number: int) -> Plan:
    """Give the stream of a number."""
    random = Random(f"{seed} {number}")
    api: Api = "chat" if random.random() < 0.6 else "responses"
    (fault,) = random.choices([*FAULTS], [*FAULTS.values()])
    length = 12_000 if random.random() < 0.03 else random.randint(150, 1_500)
    frames = [*_frames(api, _answer(random, number, length), escapes=random.random() < 0.5)]
    # An answer is cut between its deltas: what comes first and last has no text.
    sent = len(frames) if fault == "none" else random.randint(4, max(len(frames) - 10, 4))
    rest = b""
    if fault == "half a frame":
        rest = frames[sent][: random.randint(1, len(frames[sent]) - 3)]
    elif fault == "error":
        rest = ERROR
    elif fault in ("5xx", "no answer"):
        sent = 0
    pieces = [random.randint(1, 3_000) for _ in range(8)]
    return Plan(number, api, fault, frames, sent, rest, pieces, random.choice([0.0, 0.0, 0.003, 0.01]))


def _answer(random: Random, number: int, length: int) -> RecordedAnswer:
    """Write an answer: no other has its number, and it ends with plain text."""
    parts = [f"Answer {number}: "]
    while sum(map(len, parts)) < length:
        prose = ENGLISH if random.random() < 0.8 else JAPANESE
        parts += [prose[: random.randint(1, 60)], _marker(random), " "]
    deltas = across(1, random.randint(2, 12))([*parts, "That is all."])
    return RecordedAnswer(id=f"plan-{number}", text="".join(deltas), deltas=tuple(deltas))


def _marker(random: Random) -> str:
    if random.random() < 0.2:
        return random.choice(_MALFORMED)
    lines = f"L{random.randint(1, 9)}-L{random.randint(10, 20)}" if random.random() < 0.5 else None
    return OPENAI.write([Reference(random.choice(_IDS), lines)])


def _frames(api: Api, answer: RecordedAnswer, *, escapes: bool) -> Iterator[bytes]:
    named: Any = {"model": answer.id, "prompt": "", "stream": True}
    if api == "chat":
        objects = chunks(answer, ChatRequest(**named, include_usage=True, n=1, max_tokens=None))
    else:
        padded: Any = {"instructions": None, "include_obfuscation": True, "max_output_tokens": None, "store": False}
        objects = ModelResponse.create(answer, ResponsesRequest(**named, **padded)).events()
    for value in objects:
        yield encode(json.dumps(value, ensure_ascii=escapes, separators=(",", ":")), event=value.get("type"))
    if api == "chat":
        yield DONE
