"""Metrics of consumers for Prometheus, computed at each scrape; needs the extra ``metrics``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

from rmqalloc.client.metrics import Histogram, MemberMetrics
from rmqalloc.errors import installation_hint
from rmqalloc.results.renderer import encodable

if TYPE_CHECKING:
    from prometheus_client.core import Metric

    from rmqalloc.client.group_member import PushConsumer

__all__ = ["MemberCollector"]

_GROUP = ("consumer_group",)
_COUNTS = {
    "consumed": ("consumed_messages", "Messages that the listener has consumed."),
    "failed": ("failed_messages", "Messages for which the listener failed."),
    "retried": ("retried_messages", "Messages that are delivered again."),
    "undecodable": (
        "undecodable_messages",
        "Skipped messages that could not be decoded.",
    ),
    "rebalances": ("rebalances", "Passes of the rebalance that changed the queues of a topic."),
}
_LATENCIES = {
    "pull": "Seconds of pulls that returned messages.",
    "consume": "Seconds of calls of the listener.",
}


class MemberCollector:
    """Collect metrics of the consumers of a process; a custom collector of ``prometheus_client``.

    Figures are computed at each scrape, in any thread, so consuming a message costs nothing more.
    Figures of several consumers of one group are summed. Each group and topic has one series,
    independent of the size of the cluster; an unknown lag has no sample.

    Parameters
    ----------
    *consumers : PushConsumer
        Consumers to collect.
    per_queue : bool
        Report the lag of each queue instead of each topic, with ``broker_name`` and ``queue_id``.

    Examples
    --------
    >>> from prometheus_client import CollectorRegistry
    >>> from rmqalloc.client import PushConsumer
    >>> consumer = PushConsumer("billing", name_server="10.0.0.1:9876", listener=print)
    >>> registry = CollectorRegistry()
    >>> registry.register(MemberCollector(consumer))
    >>> registry.get_sample_value("rmqalloc_member_consumed_messages_total", {"consumer_group": "billing"})
    0.0
    """

    def __init__(self, *consumers: PushConsumer, per_queue: bool = False) -> None:
        self._consumers, self._per_queue = consumers, per_queue

    def describe(self) -> Iterator[Metric]:
        """Yield the families without samples. A registry refuses a second collector."""
        return self._families([])

    def collect(self) -> Iterator[Metric]:
        """Yield the families with their present samples."""
        return self._families([consumer.metrics() for consumer in self._consumers])

    def _families(self, metrics: Sequence[MemberMetrics]) -> Iterator[Metric]:
        with installation_hint():
            from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily

        for field, (name, text) in _COUNTS.items():
            counts = CounterMetricFamily(f"rmqalloc_member_{name}", text, labels=_GROUP)
            for group, n in _summed(metrics, attrgetter(field)).items():
                counts.add_metric((group,), float(n))
            yield counts
        for field, text in _LATENCIES.items():
            name = f"rmqalloc_member_{field}_seconds"
            latencies = HistogramMetricFamily(name, text, labels=_GROUP)
            for group, histogram in _histograms(metrics, attrgetter(field)).items():
                buckets = [(_bound(bound), n) for bound, n in histogram.cumulative]
                latencies.add_metric((group,), buckets, histogram.total)
            yield latencies
        yield from self._gauges(metrics)

    def _gauges(self, metrics: Sequence[MemberMetrics]) -> Iterator[Metric]:
        from prometheus_client.core import GaugeMetricFamily

        queues: dict[tuple[str, ...], float] = {}
        lags: dict[tuple[str, ...], int | None] = {}
        for of_member in metrics:
            group = of_member.consumer_group
            for queue, lag in of_member.lag.items():
                topic = (group, encodable(queue.topic, None))
                more = (encodable(queue.broker_name, None), str(queue.queue_id))
                queues[topic] = queues.get(topic, 0) + 1
                key = (*topic, *more) if self._per_queue else topic
                known = lags.get(key, 0)
                lags[key] = None if known is None or lag is None else known + lag
        of_topic = (*_GROUP, "topic")
        owned = GaugeMetricFamily(
            "rmqalloc_member_queues", "Queues that the member owns.", labels=of_topic
        )
        for labels, n in queues.items():
            owned.add_metric(labels, n)
        yield owned
        text = "Messages stored but not yet consumed, as of the last pull."
        of_queue = (*of_topic, "broker_name", "queue_id")
        behind = GaugeMetricFamily(
            "rmqalloc_member_lag_messages", text, labels=of_queue if self._per_queue else of_topic
        )
        for labels, behind_by in lags.items():
            if behind_by is not None:
                behind.add_metric(labels, behind_by)
        yield behind


def _summed(
    metrics: Sequence[MemberMetrics], read: Callable[[MemberMetrics], int]
) -> dict[str, int]:
    sums: dict[str, int] = {}
    for of_member in metrics:
        group = of_member.consumer_group
        sums[group] = sums.get(group, 0) + read(of_member)
    return sums


def _histograms(
    metrics: Sequence[MemberMetrics], read: Callable[[MemberMetrics], Histogram]
) -> dict[str, Histogram]:
    sums: dict[str, Histogram] = {}
    for of_member in metrics:
        group, added = of_member.consumer_group, read(of_member)
        if (known := sums.get(group)) is not None:
            counts = map(sum, zip(known.counts, added.counts, strict=True))
            added = Histogram(known.bounds, tuple(counts), known.total + added.total)
        sums[group] = added
    return sums


def _bound(bound: float) -> str:
    return "+Inf" if bound == float("inf") else repr(bound)
