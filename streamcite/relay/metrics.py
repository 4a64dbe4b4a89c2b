"""What a relay counts, in the form that Prometheus reads. Of contents and clients it knows nothing.

What is at this moment (open streams, held characters, tasks) is read when somebody asks. A relay of several processes
cannot read that of the others: each writes it down when a stream begins or ends and, while one is open, each second.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from .found import Found
from .splice import Splice

CONTENT_TYPE = CONTENT_TYPE_LATEST
# The variable that names where the processes of a relay write; prometheus-client looks at it when it is imported.
_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
_FRESH = 1.0  # seconds
_SECONDS = (0.00001, 0.0001, 0.001, 0.005, 0.02, 0.1, 0.5, 2.0)


class Metrics:
    """Count what a relay does."""

    def __init__(self) -> None:
        registry = CollectorRegistry()
        self._registry = registry
        self._open: set[Splice] = set()
        self._folder = os.environ.get(_FOLDER)
        self._timer: asyncio.TimerHandle | None = None
        self._requests = _counter(registry, "requests", "Requests, by API (or none) and status.", "status")
        self._streams = _counter(registry, "streams", "Streams, by API and how they ended.", "end")
        self._events = _counter(registry, "events", "Events of streams, as they came.")
        self._changed = _counter(registry, "events_changed", "Events that did not pass as they came, and new ones.")
        self._citations = _counter(registry, "citations", "Citations.")
        self._malformed = _counter(registry, "malformed", "Markup that cannot be read.")
        self._unknown = _counter(registry, "unknown_ids", "Cited ids that no message shows.")
        self._restored = _counter(registry, "restored", "Answers that got back their markers.")
        self._latency = Histogram(
            "streamcite_relay_added_seconds",
            "The longest that cleaning one read of a stream took, by stream.",
            ["api"],
            registry=registry,
            buckets=_SECONDS,
        )
        self._now: list[tuple[Gauge, Callable[[], float]]] = [
            (_gauge(registry, "open_streams", "Streams that are open."), lambda: len(self._open)),
            (
                _gauge(registry, "held_characters", "Characters that open streams hold."),
                lambda: sum(splice.held for splice in self._open),
            ),
            (_gauge(registry, "tasks", "Tasks of asyncio."), lambda: len(asyncio.all_tasks())),
        ]

    def opened(self, splice: Splice) -> None:
        """Count a stream that is open."""
        self._open.add(splice)
        if self._folder and self._timer is None:
            self._write_again()

    def closed(self, splice: Splice) -> None:
        """Count a stream as open no more."""
        self._open.discard(splice)
        if self._folder:
            self._write()

    def request(self, api: str, status: int) -> None:
        """Count a request that was answered."""
        self._requests.labels(api, str(status)).inc()

    def found(self, api: str, found: Found) -> None:
        """Count what was found in an answer."""
        self._citations.labels(api).inc(found.citations)
        self._malformed.labels(api).inc(found.malformed)
        self._unknown.labels(api).inc(len(found.unknown))

    def restored(self, api: str, count: int) -> None:
        """Count the answers of a request that got back their markers."""
        self._restored.labels(api).inc(count)

    def stream(self, api: str, end: str, *, events: int, changed: int, slowest: float) -> None:
        """Count a stream that has ended: its events, and what the slowest read added, in seconds."""
        self._streams.labels(api, end).inc()
        self._events.labels(api).inc(events)
        self._changed.labels(api).inc(changed)
        self._latency.labels(api).observe(slowest)

    def text(self) -> bytes:
        """Give all, of all processes of the relay; to be asked where the loop runs."""
        self._write()
        if self._folder is None:
            return generate_latest(self._registry)
        _forget_the_dead(Path(self._folder))
        registry = CollectorRegistry()
        MultiProcessCollector(registry, self._folder)  # type: ignore[no-untyped-call]
        return generate_latest(registry)

    def _write(self) -> None:
        for gauge, read in self._now:
            gauge.set(read())

    def _write_again(self) -> None:
        """Write it down, and again after a second, until no stream is open."""
        self._write()
        self._timer = asyncio.get_running_loop().call_later(_FRESH, self._write_again) if self._open else None


def _counter(registry: CollectorRegistry, name: str, text: str, *labels: str) -> Counter:
    return Counter(f"streamcite_relay_{name}", text, ["api", *labels], registry=registry)


def _gauge(registry: CollectorRegistry, name: str, text: str) -> Gauge:
    return Gauge(f"streamcite_relay_{name}", text, registry=registry, multiprocess_mode="livesum")


def _forget_the_dead(folder: Path) -> None:
    """Leave out what is at this moment in processes that are no more."""
    for file in folder.glob("gauge_livesum_*.db"):
        pid = int(file.stem.rpartition("_")[2])
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            with suppress(FileNotFoundError):  # another process does the same
                mark_process_dead(pid, str(folder))  # type: ignore[no-untyped-call]
        except PermissionError:
            continue
