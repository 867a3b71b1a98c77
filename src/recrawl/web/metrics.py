"""The overview in Prometheus' words: conventional names, base units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recrawl.web.documents import Overview

__all__ = ["CONTENT_TYPE_LATEST", "exposition"]

# Field of the overview, name of the metric, meaning.
_GAUGES = (
    (
        "obsolescence",
        "recrawl_expected_obsolescence_ratio",
        "Expected share of the copy, by weight, that is out of date.",
    ),
    ("obsolescence_bound", "recrawl_obsolescence_bound_ratio", "Least obsolescence that the budget allows."),
    ("budget_per_second", "recrawl_budget_accesses_per_second", "Most accesses per second."),
    ("accesses_per_second", "recrawl_recent_accesses_per_second", "Accesses per second, lately."),
    ("price", "recrawl_access_price", "Weighted freshness that an access must regain."),
    ("searchable", "recrawl_searchable_pages", "Pages that a search can find."),
    ("scheduled", "recrawl_scheduled_pages", "Pages in the schedule."),
    ("sites", "recrawl_sites", "Sites that are known."),
    ("uncommitted", "recrawl_uncommitted_revisions", "Revisions that are not searchable yet."),
    (
        "index_delay_seconds",
        "recrawl_index_delay_p99_seconds",
        "Time from an access until it is searchable, 99 %.",
    ),
    ("loop_lag_seconds", "recrawl_event_loop_lag_p99_seconds", "Lag of the event loop, 99 %."),
    ("store_bytes", "recrawl_store_size_bytes", "Size of the store's files."),
    ("disk_free_bytes", "recrawl_disk_free_bytes", "Free space where the data is."),
    ("robots_active", "recrawl_robots_active", "Robots that are switched on."),
    ("robots_accessing", "recrawl_robots_accessing", "Robots that access a page."),
    ("robots_most", "recrawl_robots_limit", "Most robots."),
    ("running_seconds", "recrawl_running_seconds", "Time since the engine started."),
)
_QUEUE = {
    "loss": ("recrawl_queue_loss_ratio", "Share of delivered pages that a full buffer refused."),
    "obsolete": (
        "recrawl_queue_obsolete_ratio",
        "Share of delivered pages that became obsolete in the buffer.",
    ),
    "starvation": ("recrawl_queue_starvation_ratio", "Share of time in which the indexer starved."),
    "spare": ("recrawl_queue_spare_ratio", "Share of time in which nothing was due."),
    "response_time": ("recrawl_queue_response_seconds", "Mean time of a page in buffer and indexer."),
    "service_time": ("recrawl_queue_service_seconds", "Mean time of a page in the indexer."),
}


class _Overview(Collector):
    def __init__(self, document: Overview) -> None:
        self._document = document

    def collect(self) -> Iterator[Any]:
        document = self._document
        yield GaugeMetricFamily("recrawl_up", "Whether the engine runs.", value=float(document.running))
        for field, name, meaning in _GAUGES:
            value = getattr(document, field)
            if value is not None:
                yield GaugeMetricFamily(name, meaning, value=float(value))
        yield from _labelled(GaugeMetricFamily, "recrawl_pages", "Pages, by state.", "state", document.pages)
        yield from _labelled(
            CounterMetricFamily,
            "recrawl_accesses",
            "Accesses ever, by outcome.",
            "outcome",
            document.outcomes,
        )
        yield CounterMetricFamily("recrawl_changes", "Changes seen, ever.", value=document.changes)
        yield CounterMetricFamily(
            "recrawl_revisions", "Entries of the change feed, ever.", value=document.revision
        )
        yield CounterMetricFamily(
            "recrawl_received_bytes",
            "Bytes received since the engine started.",
            value=document.bytes_received,
        )
        yield GaugeMetricFamily(
            "recrawl_buffer_pages", "Pages in buffer and indexer.", value=document.buffer.level
        )
        yield GaugeMetricFamily(
            "recrawl_buffer_capacity_pages",
            "Most pages in buffer and indexer.",
            value=document.buffer.capacity,
        )
        for measure in document.queue:
            if measure.name in _QUEUE and measure.measured is not None:
                name, meaning = _QUEUE[measure.name]
                yield GaugeMetricFamily(name, meaning, value=measure.measured)
        kinds: dict[str, int] = {}
        for alarm in document.alarms:
            kinds[alarm.kind] = kinds.get(alarm.kind, 0) + 1
        yield from _labelled(GaugeMetricFamily, "recrawl_alarms", "Alarms now, by kind.", "kind", kinds)


def _labelled(family: Any, name: str, meaning: str, label: str, values: dict[str, int]) -> Iterator[Any]:
    metric = family(name, meaning, labels=[label])
    for key, value in sorted(values.items()):
        metric.add_metric([key], value)
    yield metric


def exposition(document: Overview) -> bytes:
    """The text that Prometheus reads."""
    registry = CollectorRegistry()
    registry.register(_Overview(document))
    return generate_latest(registry)
