"""What the server counts, for Prometheus. Totals only: no series says which tenant it is of."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from refute_lab.serving.line import Line

CONTENT_TYPE = CONTENT_TYPE_LATEST
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Measures:
    """The counters of one server."""

    def __init__(self, line: Line) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        to = self._registry
        self.requests = Counter(
            "refute_requests", "Requests answered.", ("path", "status"), registry=to
        )
        self.verdicts = Counter("refute_verdicts", "Programs graded.", ("passed",), registry=to)
        for passed in ("yes", "no"):
            self.verdicts.labels(passed)
        self.unavailable = Counter(
            "refute_unavailable", "Programs that no sandbox could be had for.", registry=to
        )
        self.sandbox_seconds = Counter(
            "refute_sandbox_cpu_seconds", "CPU seconds of graded programs.", registry=to
        )
        self.seconds = Histogram(
            "refute_verdict_seconds",
            "Elapsed seconds of a verdict, in a sandbox.",
            buckets=_SECONDS,
            registry=to,
        )
        for name, words, read in (
            ("refute_waiting", "Programs in the line.", lambda: line.waiting),
            ("refute_running", "Programs in sandboxes.", lambda: line.running),
            ("refute_places", "Sandboxes.", lambda: line.places),
        ):
            Gauge(name, words, registry=to).set_function(read)

    def text(self) -> bytes:
        """All of them, as Prometheus reads them."""
        return generate_latest(self._registry)
