"""The readers of the soak: clients of a relay, and of answers that survive a reload, some slow, some leaving early."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from random import Random

from streamcite import render_messages
from streamcite.sse import SSEDecoder

from .http import CutError, Response, request
from .judge import Read, Seen
from .plan import SOURCES, Plan

_PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses"}
_MATERIAL = [{"role": "system", "content": "\n\n".join(each.text for each in render_messages(SOURCES))}]
_AGAIN = 0.1  # seconds until a reader that was sent away comes back


class Clients:
    """Read streams, and count how that is done.

    Attributes:
        slow: how many have read slowly.
        left: how many have left before the end.
        back: how many have come back.
        refused: how many were told to come again later.
    """

    def __init__(self) -> None:
        self.slow: int = 0
        self.left: int = 0
        self.back: int = 0
        self.refused: int = 0

    async def relayed(self, port: int, plan: Plan, seen: Seen, random: Random) -> None:
        """Ask a relay for a stream, and read it."""
        slow, leaves = random.random() < 0.15, random.random() < 0.15
        seen.shown = random.random() < 0.5
        enough = random.randint(1, len(plan.body) + 1) if leaves else None
        self.slow += slow
        headers = {"content-type": "application/json"}
        try:
            async with request(
                "POST", port, _PATHS[plan.api], headers=headers, body=_asked(plan, seen), slow=slow
            ) as response:
                seen.status = response.status
                async for data in _pieces(response, random if slow else None):
                    seen.body += data
                    if enough is not None and len(seen.body) >= enough:
                        seen.left = True
                        break
                else:
                    seen.ended = True
        except CutError:
            pass
        self.left += seen.left

    async def start(self, ports: Sequence[int], number: int, random: Random) -> bool:
        """Start an answer; say whether it is there."""
        async with request("POST", random.choice(ports), f"/{number}") as response:
            return response.status == 200

    async def read(self, ports: Sequence[int], number: int, found: Read, random: Random) -> None:
        """Read an answer to its end, in one visit or in more, at one server or the other."""
        slow, wanders, late = random.random() < 0.15, random.random() < 0.5, random.random() < 0.2
        self.slow += slow
        if late:
            await asyncio.sleep(random.random() * 2)
        while not (found.ended or found.missing):
            enough = random.randint(1, 200) if wanders else None
            self.back += bool(found.visits)
            found.visits += 1
            try:
                await self._visit(random.choice(ports), number, found, enough, random if slow else None)
            except CutError:
                await asyncio.sleep(_AGAIN)

    async def _visit(self, port: int, number: int, found: Read, enough: int | None, slowly: Random | None) -> None:
        last = {"last-event-id": str(found.events[-1].id)} if found.events else {}
        decoder, begun = SSEDecoder(), len(found.events)
        async with request("GET", port, f"/{number}", headers=last, slow=slowly is not None) as response:
            found.ended, found.missing = response.status == 204, response.status == 404
            if response.status == 503:
                self.refused += 1
                await asyncio.sleep(_AGAIN)
            if response.status != 200:
                return
            async for data in _pieces(response, slowly):
                found.events += decoder.feed(data)
                if enough is not None and len(found.events) >= begun + enough:
                    self.left += 1
                    return
            found.ended = found.end is not None
            found.stopped |= not found.ended


def _asked(plan: Plan, seen: Seen) -> bytes:
    messages = [*(_MATERIAL if seen.shown else ()), {"role": "user", "content": "?"}]
    shown = {"messages" if plan.api == "chat" else "input": messages}
    return json.dumps({"model": str(plan.number), "stream": True, **shown}).encode()


async def _pieces(response: Response, slowly: Random | None) -> AsyncIterator[bytes]:
    """Give a body as it comes, or a little at a time."""
    async for data in response.pieces(2**16 if slowly is None else 2**12):
        yield data
        if slowly is not None:
            await asyncio.sleep(slowly.random() * 0.01)
