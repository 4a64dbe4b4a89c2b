"""What a relay counts, in the form that Prometheus reads. Of contents, and of who asks, it knows nothing."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from .found import Found
from .splice import Splice

CONTENT_TYPE = CONTENT_TYPE_LATEST
_SECONDS = (0.00001, 0.0001, 0.001, 0.005, 0.02, 0.1, 0.5, 2.0)


class Metrics:
    """Count what a relay does.

    Attributes:
        open: the splices of the streams that are open.
    """

    def __init__(self) -> None:
        registry = CollectorRegistry()
        self._registry = registry
        self.open: set[Splice] = set()
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
        registry.register(_Open(self.open))

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
        """Give all, of all processes of the relay."""
        if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
            return generate_latest(registry)
        return generate_latest(self._registry)


def _counter(registry: CollectorRegistry, name: str, text: str, *labels: str) -> Counter:
    return Counter(f"streamcite_relay_{name}", text, ["api", *labels], registry=registry)


class _Open(Collector):
    """Tell of the streams that are open when it is asked."""

    def __init__(self, splices: Iterable[Splice]) -> None:
        self._splices = splices

    def collect(self) -> Iterator[GaugeMetricFamily]:
        splices = list(self._splices)
        yield GaugeMetricFamily("streamcite_relay_open_streams", "Streams that are open.", len(splices))
        held = sum(splice.held for splice in splices)
        yield GaugeMetricFamily("streamcite_relay_held_characters", "Characters that open streams hold.", held)
