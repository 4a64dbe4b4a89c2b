"""What holds when all is left running: ``python -m benchmarks soak --seconds 600 --seed 1``, or ``make soak``.

For some minutes a relay, and two servers of answers that survive a reload, are loaded with streams whose upstream
breaks them in every way, and whose clients leave, come back and read slowly, while the Redis behind them is killed and
started again. What each client must get follows from the number of its stream, and so from the seed. Linux only.
"""

from __future__ import annotations

import asyncio
import secrets
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from statistics import linear_regression

from .left_running.clients import Clients
from .left_running.judge import OF_A_STREAM, OF_AN_ANSWER, WRONG
from .left_running.load import Found, Load, Sample
from .left_running.plan import FAULTS
from .redis_server import run_redis
from .relay.processes import Program, running
from .report import Figure, Result, Table

_PARTS = f"{__package__}.left_running"
RELAY, ANSWERS = f"{_PARTS}.relayed", f"{_PARTS}.answers"
QUICK = {"seconds": 10.0}
ROUND = 50.0  # seconds
# What may stay of a stream: no object, and of memory, which is never given back whole, a quarter of what it has sent.
OBJECTS = 1
MEMORY = 16_384  # bytes
LANES = {"relay": "relayed streams", "answers": "answers that survive a reload"}


def figures(
    *,
    seconds: float = 600.0,
    seed: int | None = None,
    relayed: int = 24,
    answers: int = 12,
    outage: float = 12.0,
    silence: float = 10.0,
    lease: float = 5.0,
) -> Iterator[Result]:
    """Load all, and give what came of it.

    Args:
        seconds: in which streams begin; the rests between the rounds come on top of that.
        seed: what all streams follow from; None for any.
        relayed: how many streams at once the relay has.
        answers: how many answers at once there are, each with up to four readers.
        outage: how long it is until Redis goes away again, in seconds.
        silence: after how many seconds an upstream that sends nothing counts as gone.
        lease: how long an answer waits for Redis, or its readers for its writer, in seconds.

    Raises:
        ModuleNotFoundError: `redis-server` is not installed.
    """
    seed = secrets.randbelow(10**6) if seed is None else seed
    print(f"the same again: --seconds {seconds:g} --seed {seed}", flush=True)
    found = Found()
    with ExitStack() as stack:
        redis = stack.enter_context(run_redis(persistent=True))
        upstream = stack.enter_context(_running(f"{_PARTS}.upstream", seed))
        url = f"http://127.0.0.1:{upstream.port}/v1"
        served = (ANSWERS, url, silence, redis.path, seed, lease)
        commands = [_running(RELAY, url, silence), _running(*served), _running(*served)]
        with ThreadPoolExecutor() as pool:
            relay, *servers = pool.map(stack.enter_context, commands)
        load = Load(seed, upstream, relay, servers, redis, lease, relayed, answers, min(outage, seconds / 3))
        progress = stack.enter_context(_bar(seconds, found))
        clients = asyncio.run(load.run(found, seconds, max(round(seconds / ROUND), 1), progress))
    for what in found.faults:
        print(what, file=sys.stderr)
    yield from results(found, clients, f"Seed {seed}, {seconds:g} seconds.")


def results(found: Found, clients: Clients, said: str) -> Iterator[Result]:
    """Give what came of it, for the report."""
    for lane, name in LANES.items():
        for wrong, what in WRONG.items():
            if wrong in (OF_A_STREAM if lane == "relay" else OF_AN_ANSWER):
                yield Figure(f"{name}: {what}", found.wrong[lane, wrong], 0)
    for process, samples in found.samples.items():
        yield Figure(f"tasks that stay: {process}", samples[-1].tasks - samples[0].tasks, 0)
        yield Figure(f"descriptors that stay: {process}", samples[-1].descriptors - samples[0].descriptors, 0)
        if len(samples) > 3 and process != "upstream":
            yield Figure(f"objects that stay of a stream: {process}", slope(samples, "objects"), OBJECTS)
            yield Figure(f"bytes of memory that stay of a stream: {process}", slope(samples, "memory"), MEMORY)
    rows = [[fault, *(f"{found.streams[lane, fault]:,}" for lane in LANES)] for fault in FAULTS]
    rows.append(["all", *(f"{sum(found.streams[lane, fault] for fault in FAULTS):,}" for lane in LANES)])
    note = (
        f"{said} Clients: {clients.slow:,} read slowly, {clients.left:,} left, {clients.back:,} came back. Redis was "
        f"killed and started again {found.restarts} times, each fourth time away for longer than an answer waits for "
        f"it: {found.broken} whole answers broke off then, and said so."
    )
    yield Table("Streams, by what the upstream did", ["", *LANES.values()], rows, note)
    head = ["", "tasks", "descriptors", "objects", "MiB"]
    held = [[process, *at_rest(samples)] for process, samples in found.samples.items()]
    note = "Behind the first round, of some seconds, and behind the last. The upstream tells its open streams as tasks."
    yield Table("What each process has at rest", head, held, note)


def slope(samples: Sequence[Sample], name: str) -> float:
    """Give how much more there is for each stream, when all is built that is built once."""
    later = samples[len(samples) // 3 :]
    return linear_regression([each.streams for each in later], [getattr(each, name) for each in later]).slope


def at_rest(samples: Sequence[Sample]) -> list[str]:
    """Say what a process has after the first round, and after the last."""
    first, last = samples[0], samples[-1]
    pairs = [(first.tasks, last.tasks), (first.descriptors, last.descriptors), (first.objects, last.objects)]
    return [*(f"{one:,}, {other:,}" for one, other in pairs), f"{first.memory / 2**20:.1f}, {last.memory / 2**20:.1f}"]


def _running(module: str, *arguments: object) -> AbstractContextManager[Program]:
    return running(sys.executable, "-m", module, *map(str, arguments))


@contextmanager
def _bar(seconds: float, found: Found) -> Iterator[Callable[[float, float], None]]:
    """Show how far it is on standard error, where that is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as progress:
        task = progress.add_task("", total=seconds)

        def advance(before: float, passed: float) -> None:
            streams, wrong = found.streams.total(), found.wrong.total()
            what = f"{streams:,} streams, {wrong} wrong, {found.restarts} restarts of Redis"
            progress.update(task, completed=before + passed, description=what)

        yield advance
