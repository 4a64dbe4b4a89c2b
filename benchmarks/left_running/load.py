"""The load of the soak: rounds of streams, with a rest after each in which nothing may stay of them."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from random import Random
from typing import NamedTuple

from benchmarks.redis_server import RedisServer
from benchmarks.relay.processes import Program

from . import judge
from . import plan as plans
from .clients import Clients
from .http import CutError, request
from .judge import Read, Seen

# Seconds in which nothing comes: a long answer may take longer on a machine that does other things too.
PATIENCE = 120.0
_SETTLING = 60  # how often each process is asked at a rest what it has: on a machine that is idle, for 20 seconds
_SHOWN = 20  # how many of the streams that were wrong are described
# Between the first streams of a round, so that the upstream is not silent while it makes them all, in seconds.
_APART = 0.05
# Each fourth time Redis stays away for longer than an answer waits for it.
_LONG = 4


class Sample(NamedTuple):
    """What a process has at rest.

    Attributes:
        streams: how many there were so far.
        tasks: of asyncio; for the upstream, open streams.
        objects: that the garbage collector knows.
        descriptors: that are open.
        memory: in bytes.
    """

    streams: int
    tasks: int
    objects: int
    descriptors: int
    memory: int


@dataclass
class Found:
    """What came of it.

    Attributes:
        streams: how many there were, by what was loaded and by the fault.
        wrong: how many were wrong, in the same way.
        faults: what is wrong with the first that were wrong.
        broken: how many answers broke off while Redis was away for long.
        back: when Redis came back that had been away for long.
        restarts: how often it was started again.
        samples: what each process had at each rest.
    """

    streams: Counter[tuple[str, str]] = field(default_factory=Counter)
    wrong: Counter[tuple[str, str]] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    broken: int = 0
    back: list[float] = field(default_factory=list)
    restarts: int = 0
    samples: dict[str, list[Sample]] = field(default_factory=dict)

    def add(self, lane: str, number: int, fault: str, wrong: Sequence[str]) -> None:
        """Count a stream."""
        self.streams[lane, fault] += 1
        self.wrong.update((lane, each) for each in wrong)
        if wrong:
            self.tell(f"{lane}, stream {number} ({fault}): {', '.join(wrong)}")

    def tell(self, what: str) -> None:
        """Keep what is wrong, unless there is much already."""
        if len(self.faults) < _SHOWN:
            self.faults.append(what)


@dataclass(frozen=True)
class Load:
    """What is loaded, and how much.

    Attributes:
        seed: what all streams follow from.
        upstream: where streams come from.
        relay: a relay before that.
        servers: of answers that survive a reload, in one Redis.
        redis: where they are.
        lease: how long an answer waits for Redis, in seconds.
        relayed: how many streams at once the relay has.
        answers: how many answers at once there are, each with up to four readers.
        outage: how long it is until Redis goes away again, in seconds.
        up: set while Redis is there.
    """

    seed: int
    upstream: Program
    relay: Program
    servers: Sequence[Program]
    redis: RedisServer
    lease: float
    relayed: int
    answers: int
    outage: float
    up: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, found: Found, seconds: float, rounds: int, progress: Callable[[float, float], None]) -> Clients:
        """Run that many rounds, of that many seconds altogether; the first is short, in which things are built once.

        Args:
            found: takes what comes of it.
            seconds: in which streams begin.
            rounds: how many.
            progress: called now and then with the seconds that have passed, before this round and in it.

        Returns:
            The clients that have read.
        """
        numbers, clients, passed = count(), Clients(), 0.0
        warm = min(seconds / 10, 10)
        for number, length in enumerate([warm, *[(seconds - warm) / rounds] * rounds]):
            async with asyncio.TaskGroup() as group:
                ticking = group.create_task(_tick(partial(progress, passed), length))
                await self._round(found, clients, numbers, length, Random(f"{self.seed} round {number}"))
                ticking.cancel()
            passed += length
            await self._rest(found)
        return clients

    async def _round(
        self, found: Found, clients: Clients, numbers: Iterator[int], length: float, random: Random
    ) -> None:
        until = time.monotonic() + length
        async with asyncio.TaskGroup() as group:
            group.create_task(self._restart_redis(found, until, random))
            for one, times in ((self._one_relayed, self.relayed), (self._one_answer, self.answers)):
                for _ in range(times):
                    group.create_task(_again(partial(one, found, clients), numbers, until))
                    await asyncio.sleep(_APART)

    async def _one_relayed(self, found: Found, clients: Clients, number: int) -> None:
        plan, seen = plans.make(self.seed, number), Seen()
        wrong = ["failed"]
        try:
            async with _patience(lambda: len(seen.body)):
                await clients.relayed(self.relay.port, plan, seen, Random(f"{self.seed} client {number}"))
            wrong = judge.relayed(plan, seen)
        except (TimeoutError, ValueError) as error:
            found.tell(f"stream {number}: {error!r}")
        found.add("relay", number, plan.fault, wrong)

    async def _one_answer(self, found: Found, clients: Clients, number: int) -> None:
        plan, begin, begun = plans.make(self.seed, number), time.monotonic(), False
        random = Random(f"{self.seed} client {number}")
        readers = [Read() for _ in range(random.randint(1, 4))]
        ports = [server.port for server in self.servers]
        try:
            async with _patience(lambda: sum(len(each.events) for each in readers)):
                begun = await clients.start(ports, number, random)
                reading = [clients.read(ports, number, each, Random(random.random())) for each in readers if begun]
                await asyncio.gather(*reading)
        except (TimeoutError, CutError) as error:
            found.tell(f"answer {number}: {error!r}")
        await self.up.wait()  # then it is known for how long it was away
        away = any(begin < back for back in found.back)
        wrong = judge.read(plan, readers, away=away) if begun else [] if away else ["failed"]
        found.broken += away and (not begun or (plan.whole and readers[0].end is False))
        found.add("answers", number, plan.fault, wrong)

    async def _restart_redis(self, found: Found, until: float, random: Random) -> None:
        """Kill Redis again and again, and start it again."""
        self.up.set()
        while (pause := self.outage * random.uniform(0.7, 1.3)) < until - time.monotonic():
            await asyncio.sleep(pause)
            is_long = found.restarts % _LONG == _LONG - 1
            start = time.monotonic()
            self.up.clear()
            await asyncio.to_thread(self.redis.kill)
            await asyncio.sleep(self.lease * random.uniform(1.2, 1.6) if is_long else random.uniform(0, self.lease / 8))
            await asyncio.to_thread(self.redis.start)
            if time.monotonic() - start > self.lease / 2:
                found.back.append(time.monotonic())
            found.restarts += 1
            self.up.set()

    async def _rest(self, found: Found) -> None:
        """Wait until nothing is left of what was loaded, for a while, and keep what each process has then."""
        programs = {"upstream": self.upstream, "relay": self.relay}
        programs |= {f"server {number}": each for number, each in enumerate(self.servers, 1)}
        first = {name: samples[0] for name, samples in found.samples.items()}
        before: Mapping[str, Sample] = {}
        now: Mapping[str, Sample] = {}
        for _ in range(_SETTLING):
            before = now
            await asyncio.sleep(0.3)
            now = {name: await self._sample(name, each, found) for name, each in programs.items()}
            settled = [
                each.tasks <= at.tasks and each.descriptors <= at.descriptors
                for name, each in now.items()
                if (at := first.get(name, before.get(name))) is not None
            ]
            if len(settled) == len(now) and all(settled):
                break
        for name, each in now.items():
            found.samples.setdefault(name, []).append(each)

    async def _sample(self, name: str, program: Program, found: Found) -> Sample:
        lane = "relay" if name == "relay" else "answers"
        streams = sum(number for (of, _), number in found.streams.items() if of == lane or name == "upstream")
        async with request("GET", program.port, "/at-rest") as response:
            counts = json.loads(b"".join([each async for each in response.pieces()]))
            await response.until_closed()
        return Sample(streams, counts["tasks"], counts["objects"], program.descriptors(), program.memory())


async def _again(one: Callable[[int], Awaitable[None]], numbers: Iterator[int], until: float) -> None:
    """Let one stream follow the other, of which there is one at least."""
    await one(next(numbers))
    while time.monotonic() < until:
        await one(next(numbers))


@asynccontextmanager
async def _patience(so_far: Callable[[], int]) -> AsyncIterator[None]:
    """Raise TimeoutError in a block in which nothing comes for long, however long all of it takes."""
    async with asyncio.timeout(PATIENCE) as limit:
        watching = asyncio.create_task(_put_off(limit, so_far))
        try:
            yield
        finally:
            watching.cancel()


async def _put_off(limit: asyncio.Timeout, so_far: Callable[[], int]) -> None:
    known = 0
    while not limit.expired():
        if known != (known := so_far()):
            limit.reschedule(asyncio.get_running_loop().time() + PATIENCE)
        await asyncio.sleep(PATIENCE / 10)


async def _tick(progress: Callable[[float], None], length: float) -> None:
    begin = time.monotonic()
    while True:
        progress(min(time.monotonic() - begin, length))
        await asyncio.sleep(0.2)
