"""What a relay costs beside a bare pump of bytes: ``python -m benchmarks relay``.

Each is a process of its own between one server and one client, and what counts is the CPU time of that process for
each event. Beside the pump stand a handler of FastAPI (group ``bench``), and what others relay with, if it is on PATH:

    apt-get install nginx-light
    python3 -m venv LITELLM && LITELLM/bin/pip install "litellm[proxy]"
    PATH=$PATH:LITELLM/bin python -m benchmarks relay

litellm stands in an environment of its own, as it asks for other versions of what is measured here.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from importlib.util import find_spec
from typing import Any

from benchmarks.report import Figure, Point

from .load import MATERIAL, OTHER, PATH, read
from .processes import Program, litellm, module, nginx, raise_limits, relay, running

EVENTS = 300  # of a paced stream: an answer of a page
SHORT = 30  # of a short one, of which most is its beginning and its end
QUICK = {"passes": 1, "paced": 10, "burst": 500, "streams": 100, "soak": 500, "seconds": 1}
# A smaller load for what takes a hundred times as much: it must keep the pace.
LESS: Mapping[str, Mapping[str, Mapping[str, int]]] = {
    "FastAPI handler": {"burst": {"streams": 2}},
    "litellm": {"paced": {"streams": 4}, "short": {"streams": 4}, "burst": {"streams": 2, "events": 300}},
}
LIMITS: Mapping[str, tuple[float | None, ...]] = {
    "paced": (1.5, 1.15, 0.15),
    "short": (None, None, None),
    "burst": (3.0, 1.15, 0.15),
}
EVENTS_A_SECOND = 2
FIRST_MARKER = 60  # events
LATENCY = 0.02  # seconds
LEAST = 10  # streams, with which any pump is in time
SETTLING = 40.0  # seconds: a connection that is not used is kept for 15, and looked at as often


def figures(
    *,
    passes: int = 5,
    paced: int = 40,
    burst: int = 3_000,
    streams: int = 2_000,
    soak: int = 20_000,
    seconds: float = 4,
) -> Iterator[Figure]:
    """Measure all that has a limit, one figure after the other.

    Args:
        passes: how often each is run; the least counts.
        paced: how many paced streams there are at once.
        burst: how many events a stream has that comes in bursts.
        streams: how many at once to ask how late events are.
        soak: how many streams to ask whether anything stays.
        seconds: how long the paced streams last; the short ones a quarter of that, and twice as long those of which it
            is asked how late events are.
    """
    raise_limits()
    with ExitStack() as stack:
        upstream = stack.enter_context(running(*module("upstream")))
        programs = _programs(stack, upstream.port)
        loads: dict[str, dict[str, Any]] = {
            "paced": {"streams": paced, "events": EVENTS, "every": seconds / EVENTS},
            "short": {"streams": paced, "events": SHORT, "every": seconds / 4 / SHORT},
            "burst": {"streams": 16, "events": burst, "batch": 16},
        }
        yield from _costs(programs, passes, loads)
        yield from _lateness(programs["pump"], programs["relay"], min(passes, 3), streams, 2 * seconds)
        yield from _soak(programs["relay"], soak)


def _programs(stack: ExitStack, upstream: int) -> dict[str, Program]:
    programs = {
        "pump": stack.enter_context(running(*module("pump", upstream))),
        "relay": stack.enter_context(running(*relay(upstream))),
    }
    if find_spec("fastapi"):
        programs["FastAPI handler"] = stack.enter_context(running(*module("handler", upstream)))
    others: Mapping[str, Callable[[int, int], Any]] = {"nginx": nginx, "litellm": litellm}
    for name, made in others.items():
        port = _free_port()
        command = stack.enter_context(made(upstream, port))
        if command is not None:
            programs[name] = stack.enter_context(running(*command, port=port))
    return programs


def _costs(programs: Mapping[str, Program], passes: int, loads: Mapping[str, Mapping[str, Any]]) -> Iterator[Figure]:
    """Compare what an event costs, paced one a read and in bursts."""
    lanes: dict[str, tuple[Program, Mapping[str, Any]]] = {name: (each, {}) for name, each in programs.items()}
    lanes["relay without splice"] = programs["relay"], {"path": OTHER}
    lanes["relay with sources"] = programs["relay"], {"shown": MATERIAL}
    for kind, (of_pump, of_bare, of_handler) in LIMITS.items():
        load = loads[kind]
        spent = dict.fromkeys(lanes, float("inf"))
        sizes: dict[str, int] = {}
        for _ in range(passes):
            for name, (program, more) in lanes.items():
                wanted = {**load, **more, **LESS.get(name, {}).get(kind, {})}
                before = program.cpu()
                sizes[name] = read(program.port, **wanted)
                events = wanted["streams"] * wanted["events"]
                spent[name] = min(spent[name], (program.cpu() - before) / events)
        # The markers are gone, and no more; the first of an answer stands after 50 events.
        assert 0.75 < sizes["relay"] / sizes["pump"] < (0.99 if load["events"] > FIRST_MARKER else 1.05)
        pump, ours = spent["pump"], spent["relay"]
        yield Figure(f"relay / pump: {kind}", ours / pump, of_pump, _bar(kind, "streamcite"))
        yield Figure(f"relay / relay without splice: {kind}", ours / spent["relay without splice"], of_bare)
        yield Figure(f"relay with sources / pump: {kind}", spent["relay with sources"] / pump)
        if "FastAPI handler" in spent:
            yield Figure(f"relay / FastAPI handler: {kind}", ours / spent["FastAPI handler"], of_handler)
        for name in [each for each in programs if each not in ("pump", "relay")]:
            yield Figure(f"{name} / pump: {kind}", spent[name] / pump, None, _bar(kind, name))


def _bar(kind: str, name: str) -> Point | None:
    """Give what the plot shows: of whole answers."""
    return None if kind == "short" else Point("relay", kind, name)


def _lateness(pump: Program, relayed: Program, passes: int, streams: int, seconds: float) -> Iterator[Figure]:
    """Compare how late events are, with the most streams at which the pump alone is not late."""
    while (of_pump := _least_late(pump, passes, streams, seconds, enough=LATENCY)) > LATENCY and streams > LEAST:
        streams = streams * 4 // 5
    added = _least_late(relayed, passes, streams, seconds) - of_pump
    yield Figure("streams at once with 2 events a second, at which a pump adds 20 ms at most", streams)
    yield Figure("  p99.9 of what the relay adds to that, in ms", added * 1000, LATENCY * 1000)


def _least_late(program: Program, passes: int, streams: int, seconds: float, enough: float = 0.0) -> float:
    """Say how late events are when the machine does nothing else: the least of several passes, or the first enough."""
    least = float("inf")
    for _ in range(passes):
        least = min(least, _late(program, streams, seconds))
        if least <= enough:
            break
    return least


def _late(program: Program, streams: int, seconds: float) -> float:
    late: list[int] = []
    every = 1 / EVENTS_A_SECOND
    # What is asked is how late events are while so many streams are open, and not how fast so many can be opened.
    begun = seconds / 2
    read(program.port, path=PATH, streams=streams, events=round(seconds / every), every=every, within=begun, late=late)
    late.sort()
    return late[int(len(late) * 0.999)] / 1e9


def _soak(relayed: Program, streams: int) -> Iterator[Figure]:
    """Ask whether anything stays of streams that have ended."""
    part: Mapping[str, Any] = {"streams": 50, "each": streams // 100, "events": 8, "batch": 8}
    read(relayed.port, **part)  # what is built once is built,
    read(relayed.port, streams=50, events=8, every=0.05)  # and there are as many connections as there will be
    before = _settled(relayed)
    read(relayed.port, **part)
    memory, descriptors, tasks = (now - then for now, then in zip(_settled(relayed, before), before, strict=True))
    yield Figure(f"bytes of memory that stay of a stream, over {streams // 2}", memory / (streams / 2))
    yield Figure("descriptors that stay of them", descriptors, 0)
    yield Figure("tasks that stay of them", tasks, 0)


def _settled(relayed: Program, before: tuple[int, int, float] | None = None) -> tuple[int, int, float]:
    """Say what it has of memory, descriptors and tasks when streams have ended: when that changes no more, or late.

    Connections that it keeps for later requests are no more than there were before when it has closed those not used.
    """
    until = time.monotonic() + SETTLING
    last: tuple[int, float] | None = None
    while True:
        time.sleep(0.2)
        memory, descriptors = relayed.memory(), relayed.descriptors()
        tasks = relayed.told("streamcite_relay_tasks")
        is_settled = last == (descriptors, tasks) and (before is None or descriptors <= before[1])
        if (is_settled and not relayed.told("streamcite_relay_open_streams")) or time.monotonic() > until:
            return memory, descriptors, tasks
        last = descriptors, tasks


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port
