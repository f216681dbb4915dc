"""The state for Prometheus: families of samples of one reading, as OpenMetrics or Prometheus text.

Labels are those of the broker's own metrics since 5.0: ``cluster``, ``topic``, ``consumer_group``.
Only the text of the newest state is kept between two scrapes, so series of removed groups disappear
with it. Cardinality is bounded: the worst groups, in the order of `rmqalloc groups`, have series of
their own; the remaining groups are summed under an empty ``consumer_group``.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.acero  # before threads: `group_by` imports it
import pyarrow.compute as pc

from rmqalloc.dataclass import dataclass
from rmqalloc.results.renderer import encodable
from rmqalloc.service.readings import Readings, ServedState, replicas_of
from rmqalloc.service.tallies import GroupTally
from rmqalloc.snapshot.snapshot import Departure
from rmqalloc.version import __version__

if TYPE_CHECKING:
    from prometheus_client.core import Metric

MOST_GROUPS = 1000
"""Default number of groups with series of their own."""
SHARED_SECONDS = 0.5
"""Seconds for which all scrapes get one text, so that concurrent scrapes do not add up in memory."""
_MOST_KINDS = 8
OWNERS_PER_GROUP = 10
"""Owners, topics without an owner and sources with series of their own, times the number of groups."""

_REST = ' Groups beyond the worst are summed under consumer_group="".'
_OF_GROUPS = {
    "n_clients": ("rmqalloc_group_clients", "Clients of the group."),
    "idle": ("rmqalloc_group_idle_clients", "Clients that own no queue."),
    "n_queues": ("rmqalloc_group_queues", "Queues that the group reads."),
    "unowned": ("rmqalloc_group_unowned_queues", "Queues that no client owns."),
    "double_owned": ("rmqalloc_group_double_owned_queues", "Queues that several clients own."),
    "unread": (
        "rmqalloc_group_unread_queues",
        "Queues that hold or receive messages and that no client reads.",
    ),
    "messages": ("rmqalloc_group_lag_messages", "Messages not yet consumed."),
}
_MOVING = {
    "joined": ("rmqalloc_group_clients_joined", "Clients that joined since the process began."),
    "left": ("rmqalloc_group_clients_left", "Clients that left since the process began."),
    "moved": ("rmqalloc_group_queues_moved", "Queues that changed owner since the process began."),
}


@dataclass(frozen=True)
class MetricsText:
    """Metrics of the readings of one cluster, as text.

    Attributes
    ----------
    readings : Readings
    cluster : str
        Value of the label ``cluster``.
    most_groups : int
        Groups with series of their own.
    """

    readings: Readings
    cluster: str
    most_groups: int = MOST_GROUPS
    _recent: dict[str, tuple[float, ServedState | None, bytes]] = field(default_factory=dict)

    def text(self, accept: str | None) -> tuple[bytes, str]:
        """Return the metrics and their media type, as the header Accept requests."""
        from prometheus_client.exposition import choose_encoder

        encode, kind = choose_encoder(accept or "")
        now, state = time.monotonic(), self.readings.state
        made_at, made_of, text = self._recent.get(kind, (0.0, None, b""))
        if not text or made_of is not state or now - made_at >= SHARED_SECONDS:
            text = self._encoded(encode, kind, state)
            if len(self._recent) < _MOST_KINDS or kind in self._recent:
                self._recent[kind] = now, state, text
        return text, kind

    def _encoded(
        self, encode: Callable[[Any], bytes], kind: str, state: ServedState | None
    ) -> bytes:
        fresh = encode(_Families(self._of_process()))
        if state is None:
            return fresh
        # All that is of the state is written once; an age is true only when it is asked for.
        kept = state.once(("metrics", kind), lambda: encode(_Families(self._of_state(state))))
        return kept.removesuffix(b"# EOF\n") + fresh

    def _of_process(self) -> Iterator[Metric]:
        from prometheus_client import ProcessCollector
        from prometheus_client.core import CounterMetricFamily

        made = _Maker(self.cluster)
        state, status = self.readings.state, self.readings.status
        yield made.one("rmqalloc_info", "Version of the service.", 1.0, version=__version__)
        counts = {("read",): status.n_read, ("failed",): status.n_failed}
        name, text = (
            "rmqalloc_readings",
            "Readings of the cluster since the process began, by result.",
        )
        yield made.family(name, text, ("result",), counts, CounterMetricFamily)
        yield made.one(
            "rmqalloc_reading_up",
            "Whether the last reading succeeded.",
            float(not status.n_failed_in_row),
        )
        text = "Whether the served data are current: /readyz gives the reason if not."
        yield made.one("rmqalloc_ready", text, float(not self.readings.why_not_ready))
        if state is not None and state.age is not None:
            text = "Age of the served data."
            yield made.one("rmqalloc_reading_age_seconds", text, state.age)
        yield from ProcessCollector(registry=None).collect()

    def _of_state(self, state: ServedState) -> Iterator[Metric]:
        made = _Maker(self.cluster)
        table = state.observation.groups.groups
        shown = dict.fromkeys(table["consumer_group"].slice(0, self.most_groups).to_pylist())
        most = self.most_groups * OWNERS_PER_GROUP
        yield from _of_reading(made, state, len(shown))
        yield from _of_groups(made, table, len(shown))
        yield _of_replicas(made, state, shown)
        yield from _of_settling(made, state, shown)
        yield _of_reports(made, state, shown)
        yield from _of_tallies(made, state, shown)
        yield from _of_findings(made, state, shown)
        yield from _of_lags(made, state, shown, most)
        yield from _of_sources(made, state, most)


class _Families:
    """What the writers of prometheus_client take in place of a registry."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


class _Maker:
    """Makes families of samples that all bear the name of the cluster."""

    def __init__(self, cluster: str) -> None:
        self._cluster = _clean(cluster)

    def family(
        self,
        name: str,
        text: str,
        labels: tuple[str, ...],
        values: Mapping[tuple[Any, ...], float],
        kind: Callable[..., Metric] | None = None,
    ) -> Metric:
        """Return a family with a sample for every tuple of labels."""
        from prometheus_client.core import GaugeMetricFamily

        made: Any = (kind or GaugeMetricFamily)(name, text, labels=("cluster", *labels))
        for key, value in values.items():
            made.add_metric((self._cluster, *map(_clean, key)), float(value))
        return made  # type: ignore[no-any-return]

    def one(self, name: str, text: str, value: float, **labels: str) -> Metric:
        """Return a gauge of a single sample."""
        return self.family(name, text, tuple(labels), {tuple(labels.values()): value})


def _clean(text: str) -> str:
    """Return a name as UTF-8 can hold it: half a surrogate pair, which a server may send, becomes
    its escape.
    """
    return encodable(text, None)


def _of_reading(made: _Maker, state: ServedState, n_shown: int) -> Iterator[Metric]:
    reading = state.observation.reading
    n_groups = state.observation.groups.groups.num_rows
    if reading.taken_at is not None:
        text = "Time of the served data, in seconds of the Unix clock."
        yield made.one("rmqalloc_reading_timestamp_seconds", text, reading.taken_at)
    for name, text, value in (
        ("seconds", "Seconds that the reading took.", reading.read_at - reading.began_at),
        ("whole", "Whether every broker answered for the list of groups.", reading.is_whole),
        (
            "groups_not_read",
            "Groups whose client lists could not be read completely.",
            len(reading.not_read),
        ),
    ):
        yield made.one(f"rmqalloc_reading_{name}", text, float(value))
    yield made.one("rmqalloc_groups", "Consumer groups.", n_groups)
    yield made.one(
        "rmqalloc_groups_summed",
        'Groups that are summed under consumer_group="".',
        n_groups - n_shown,
    )
    requests = {(name,): number for name, number in reading.n_requests.items()}
    yield made.family(
        "rmqalloc_reading_requests",
        "Requests to each broker in the reading.",
        ("broker",),
        requests,
    )


def _of_groups(made: _Maker, table: pa.Table, n_shown: int) -> Iterator[Metric]:
    """Yield the columns of the list of groups; a figure that is not known has no sample."""
    rest = table.slice(n_shown)
    for column, (name, text) in _OF_GROUPS.items():
        values = _by_group(table, column, n_shown)
        if (total := pc.sum(rest[column]).as_py()) is not None:
            values[("",)] = total
        yield made.family(name, text + _REST, ("consumer_group",), values)
    text = "Greatest load over mean load of the clients of the group; for the worst groups only."
    yield made.family(
        "rmqalloc_group_skew", text, ("consumer_group",), _by_group(table, "skew", n_shown)
    )
    kinds: Counter[tuple[str, str]] = Counter()
    names, lacking = table["consumer_group"].to_pylist(), table["not_known"].to_pylist()
    for at, (name, missing) in enumerate(zip(names, lacking, strict=True)):
        kinds.update((name if at < n_shown else "", kind) for kind in missing or ())
    text = "1 for every kind of fact of the group that is not completely known; metrics that depend on it have no sample."
    yield made.family("rmqalloc_group_not_known", text + _REST, ("consumer_group", "kind"), kinds)


def _of_replicas(made: _Maker, state: ServedState, shown: Mapping[str, object]) -> Metric:
    rows = replicas_of(state)
    pairs = zip(rows["consumer_group"].to_pylist(), rows["useful_clients"].to_pylist(), strict=True)
    values = {(group,): n for group, n in pairs if n is not None and group in shown}
    text = "Largest number of clients that can all own queues, if queues decide it; for the worst groups only."
    return made.family("rmqalloc_group_useful_clients", text, ("consumer_group",), values)


def _by_group(table: pa.Table, column: str, n_shown: int) -> dict[tuple[str], float]:
    shown = table.slice(0, n_shown)
    pairs = zip(shown["consumer_group"].to_pylist(), shown[column].to_pylist(), strict=True)
    return {(group,): value for group, value in pairs if value is not None}


def _of_settling(made: _Maker, state: ServedState, shown: Mapping[str, object]) -> Iterator[Metric]:
    of, tallies = ("consumer_group",), state.tallies.groups
    took = {(name,): tallies[name].settle_seconds for name in shown if name in tallies}
    text = "Seconds that the last change of the group took to settle; for the worst groups only."
    known = {name: seconds for name, seconds in took.items() if seconds is not None}
    yield made.family("rmqalloc_group_last_settle_seconds", text, of, known)
    began, read_at = state.observation.unsettled, state.observation.reading.read_at
    ages = {(name,): max(0.0, read_at - began[name]) for name in shown if name in began}
    text = "Seconds since a change of the group was first seen that has not settled; for the worst groups only."
    yield made.family("rmqalloc_group_unsettled_seconds", text, of, ages)
    yield made.one("rmqalloc_groups_unsettled", "Groups that have not settled.", len(began))


def _of_reports(made: _Maker, state: ServedState, shown: Mapping[str, object]) -> Metric:
    """Return how old reports of owned queues are: few clients are asked in each reading of many."""
    reading = state.observation.reading
    ages = {}
    for name in shown:
        parts = reading.ages.get(name)
        if parts is not None and parts.owned:
            ages[(name,)] = max(0.0, reading.read_at - min(parts.owned.values()))
    text = "Seconds from the oldest report of owned queues to the end of the reading; for the worst groups only."
    return made.family("rmqalloc_group_owners_age_seconds", text, ("consumer_group",), ages)


def _of_tallies(made: _Maker, state: ServedState, shown: Mapping[str, object]) -> Iterator[Metric]:
    """Yield counters: a sum over groups that come and go would fall, so the totals are counters of
    their own.
    """
    from prometheus_client.core import CounterMetricFamily

    none = GroupTally()
    for count, (name, text) in _MOVING.items():
        values = {
            (group,): getattr(state.tallies.groups.get(group, none), count) for group in shown
        }
        said = f"{text} For the worst groups only."
        yield made.family(name, said, ("consumer_group",), values, CounterMetricFamily)
        total = {(): getattr(state.tallies.total, count)}
        of_all = name.replace("_group_", "_cluster_")
        yield made.family(of_all, f"{text} Of all groups.", (), total, CounterMetricFamily)


def _of_findings(made: _Maker, state: ServedState, shown: Mapping[str, object]) -> Iterator[Metric]:
    observation, labels = state.observation, ("consumer_group", "rule", "severity")
    rest = ' Findings without a group, and of groups beyond the worst, have consumer_group="".'
    for name, text, findings in (
        ("rmqalloc_findings", "Findings of check in this reading.", observation.findings),
        (
            "rmqalloc_lasting_findings",
            "Findings of check that the previous reading also had.",
            observation.lasting,
        ),
    ):
        of = (
            (one.consumer_group if one.consumer_group in shown else "", one.rule, one.severity)
            for one in findings
        )
        yield made.family(name, text + rest, labels, Counter(of))


def _of_lags(
    made: _Maker, state: ServedState, shown: Mapping[str, object], most: int
) -> Iterator[Metric]:
    owners, groups = state.observation.owners, _with_whole_lags(state.observation.groups.groups)
    rest = f" Beyond the {most} largest, and for the remaining groups, summed under empty labels."
    text = "Messages not yet consumed in the queues that the client owns; a queue with several owners counts for each owner."
    labels = ("consumer_group", "client_id")
    yield made.family(
        "rmqalloc_owner_lag_messages",
        text + rest,
        labels,
        _sums(_of_these(owners.clients, groups), labels, shown, most),
    )
    queues = _of_these(owners.queues, groups)
    unowned = pc.fill_null(pc.equal(pc.list_value_length(queues["owners"]), 0), False)
    labels = ("consumer_group", "topic")
    sums = _sums(queues.filter(unowned), labels, shown, most)
    yield made.family(
        "rmqalloc_unowned_lag_messages", f"Messages in queues without an owner.{rest}", labels, sums
    )


def _with_whole_lags(groups: pa.Table) -> pa.Array:
    """Return the groups of which the lag of every queue is known: a sum of some would be too small."""
    pairs = zip(groups["consumer_group"].to_pylist(), groups["not_known"].to_pylist(), strict=True)
    return pa.array([name for name, kinds in pairs if "lags" not in kinds], pa.string())


def _of_these(table: pa.Table, groups: pa.Array) -> pa.Table:
    return table.filter(pc.is_in(table["consumer_group"], groups))


def _sums(
    table: pa.Table, labels: tuple[str, str], shown: Mapping[str, object], most: int
) -> dict[tuple[str, ...], int]:
    """Return the messages by two labels, largest first; those beyond the bound are summed under
    empty labels.
    """
    known = table.select([*labels, "messages"]).filter(pc.is_valid(table["messages"]))
    grouped = (
        known.group_by(list(labels))
        .aggregate([("messages", "sum")])
        .sort_by([("messages_sum", "descending")])
    )
    found: dict[tuple[str, ...], int] = {}
    columns = (grouped[name].to_pylist() for name in (*labels, "messages_sum"))
    for group, other, messages in zip(*columns, strict=True):
        key = (
            (group, other)
            if group in shown and len(found) < most
            else (group if group in shown else "", "")
        )
        found[key] = found.get(key, 0) + messages
    return found


def _of_departures(made: _Maker, departed: Sequence[Departure]) -> Metric:
    text = (
        "0 for an hour for a broker, topic, queues of a topic or group that an earlier reading had and the last reading lacks; "
        "no sample while it exists."
    )
    labels = ("kind", "name", "broker_name", "cause")
    values = {(left.kind, left.name, left.broker_name or "", left.cause): 0.0 for left in departed}
    return made.family("rmqalloc_present", text, labels, values)


def _of_sources(made: _Maker, state: ServedState, most: int) -> Iterator[Metric]:
    snapshot = state.observation.reading.snapshot
    up = {
        (f"broker {broker.broker_name}",): not broker.is_silent
        for broker in snapshot.brokers[:most]
    }
    left = [departure for departure in snapshot.departed if departure.kind == "broker"]
    up |= {(f"broker {departure.name}",): False for departure in left}
    text = "Whether the broker is listed and answers; 0 for an hour after every name server stopped listing it."
    yield made.family("rmqalloc_source_up", text, ("source",), up)
    yield _of_departures(made, snapshot.departed[:most])
    errors = Counter((one.source,) for one in snapshot.errors)
    first = dict(errors.most_common(most))
    if len(errors) > most:
        first[("",)] = errors.total() - sum(first.values())
    yield made.family(
        "rmqalloc_source_errors", "Requests of this reading without an answer.", ("source",), first
    )
