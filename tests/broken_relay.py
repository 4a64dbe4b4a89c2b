"""A relay that does wrong what the soak must notice: ``python -m tests.broken_relay UPSTREAM SILENCE``.

Of each four streams it loses a part of one, doubles one of another, and lets markers through; and of each a task and a
descriptor stay.
"""

import asyncio
import os
import sys
from itertools import count
from typing import Any

from benchmarks.left_running.at_rest import AtRest, serve
from streamcite.relay import Splice
from streamcite.relay.app import create_app
from streamcite.relay.config import RelayConfig


class Broken:
    def __init__(self, app: Any) -> None:
        self._app = app
        self._numbers = count()
        self._kept: list[Any] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        number, parts = next(self._numbers), count()
        self._kept += [asyncio.ensure_future(asyncio.Event().wait()), os.open("/dev/null", os.O_RDONLY)]

        async def tampered(message: Any) -> None:
            body = message.get("body") if message.get("more_body") else None
            if body and next(parts) == 1:
                message = {**message, "body": [b"", body * 2, body, body][number % 4]}
            await send(message)

        await self._app(scope, receive, tampered)


class Through(Splice):
    """Lets all through, every other time."""

    numbers = count()

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        if next(self.numbers) % 2:
            self.feed = lambda data: data  # type: ignore[method-assign]


if __name__ == "__main__":
    from streamcite.relay import answers

    answers.Splice = Through  # type: ignore[attr-defined]
    serve(AtRest(Broken(create_app(RelayConfig(upstream=sys.argv[1], read_timeout=float(sys.argv[2]))))))
