"""Stored answers that break off when Redis goes away, however soon it is back: what the soak must notice.

Run as ``python -m tests.impatient_answers UPSTREAM SILENCE REDIS SEED LEASE``. Their lease is short, so that a reader
need not wait for long until an answer counts as lost, but longer than Redis is away.
"""

import sys
from collections.abc import Awaitable, Callable
from typing import Any

from benchmarks.left_running.answers import answers
from benchmarks.left_running.at_rest import serve
from streamcite.ui import producer


async def at_once(call: Callable[[], Awaitable[Any]], *_: object) -> Any:
    return await call()


if __name__ == "__main__":
    producer.patiently = at_once  # type: ignore[assignment]
    upstream, silence, redis, seed, lease = sys.argv[1:]
    serve(answers(upstream, float(silence), redis, int(seed), float(lease) / 4))
