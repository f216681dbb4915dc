"""Readings of the cluster every second, by what the service uses; what each shows is kept, the
snapshots are not.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from prometheus_client.openmetrics.parser import text_string_to_metric_families

import rmqalloc
from rmqalloc.service.metrics import MetricsText
from rmqalloc.service.readings import Keeper, Readings
from rmqalloc.snapshot.live.rereading import Rereader
from rmqalloc.watching import Change, Observation, Observer

EVERY = 1.0
STALLS_AFTER = 120.0
OPEN_METRICS = "application/openmetrics-text; version=1.0.0"
COLUMNS = {
    "rmqalloc_group_clients": "n_clients",
    "rmqalloc_group_idle_clients": "idle",
    "rmqalloc_group_queues": "n_queues",
    "rmqalloc_group_unowned_queues": "unowned",
    "rmqalloc_group_double_owned_queues": "double_owned",
    "rmqalloc_group_unread_queues": "unread",
    "rmqalloc_group_lag_messages": "messages",
    "rmqalloc_group_skew": "skew",
}
"""Metrics of a group, and the column of `rmqalloc.groups` that says the same."""


class Look(NamedTuple):
    """What one reading showed, or why it failed."""

    began_at: float
    read_at: float
    members: tuple[Change[Any, Any], ...] = ()
    moves: tuple[Change[Any, Any], ...] = ()
    differences: tuple[str, ...] = ()
    n_compared: int = 0
    n_requests: int = 0
    failed: str = ""


class Looker:
    """Looks every second in a thread of its own."""

    def __init__(self, name_server: str, keepers: tuple[Keeper, ...] = ()) -> None:
        self._reader = Rereader(name_server, every=EVERY)
        self._readings = Readings(self._reader, Observer(), EVERY, keepers)
        self._metrics = MetricsText(self._readings, "live")
        self.looks: list[Look] = []
        self.every = EVERY
        self._news = threading.Condition()
        self._is_ended = False
        self._thread = threading.Thread(target=self._run, name="everyday-looks")
        self._thread.start()

    def close(self) -> None:
        """End looking."""
        self._is_ended = True
        self._thread.join()
        self._reader.close()

    def wait_for(self, n: int) -> None:
        """Wait until so many readings more have begun and ended."""
        since, deadline = time.time(), time.monotonic() + STALLS_AFTER
        with self._news:
            while sum(one.began_at >= since and not one.failed for one in self.looks[-n - 5 :]) < n:
                self._news.wait(5)
                if time.monotonic() > deadline or not self._thread.is_alive():
                    raise AssertionError(
                        f"no {n} readings in {STALLS_AFTER:g} s; the last: {self.looks[-1:]}"
                    )

    def taken(self) -> list[Look]:
        """Return the looks so far, and forget them."""
        with self._news:
            found, self.looks = self.looks, []
        return found

    def _run(self) -> None:
        while not self._is_ended:
            begun = time.monotonic()
            look = self._look()
            with self._news:
                self.looks.append(look)
                self._news.notify_all()
            time.sleep(max(0.0, self.every - (time.monotonic() - begun)))

    def _look(self) -> Look:
        begun = time.time()
        is_read = self._readings.read_once()
        state, error = self._readings.state, self._readings.status.error
        if not is_read or state is None:
            return Look(begun, time.time(), failed=str(error))
        seen = state.observation
        differences, n = _compared(seen, self._metrics.text(OPEN_METRICS)[0].decode())
        reading = seen.reading
        differences += [] if error is None else [error]
        return Look(
            reading.began_at,
            reading.read_at,
            tuple(seen.members),
            tuple(seen.moves),
            tuple(differences),
            n,
            sum(reading.n_requests.values()),
        )


def _compared(seen: Observation, text: str) -> tuple[list[str], int]:
    """What metrics say otherwise than the verbs `groups` and `check` of the same snapshot, and how
    many were compared.
    """
    says: dict[str, dict[tuple[str, ...], float]] = {}
    for family in text_string_to_metric_families(text):  # type: ignore[no-untyped-call]
        for sample in family.samples:
            labels = tuple(
                value for name, value in sorted(sample.labels.items()) if name != "cluster"
            )
            says.setdefault(sample.name, {})[labels] = sample.value
    snapshot = seen.reading.snapshot
    wanted = dict(_wanted(rmqalloc.groups(snapshot).to_dict()["groups"], rmqalloc.check(snapshot)))
    found = {name: says.get(name, {}) for name in wanted}
    differences = [
        f"{name}{labels}: metrics say {found[name].get(labels)}, the verb {wanted[name].get(labels)}"
        for name in wanted
        for labels in wanted[name].keys() | found[name].keys()
        if found[name].get(labels) != wanted[name].get(labels)
    ]
    return differences, sum(map(len, wanted.values()))


def _wanted(
    groups: Sequence[dict[str, Any]], findings: Any
) -> Iterator[tuple[str, dict[tuple[str, ...], float]]]:
    """What each metric should be, by its labels in their alphabetic order."""
    for metric, column in COLUMNS.items():
        yield (
            metric,
            {
                (row["consumer_group"],): float(row[column])
                for row in groups
                if row[column] is not None
            },
        )
    found = Counter((one.consumer_group or "", one.rule, one.severity) for one in findings)
    yield "rmqalloc_findings", {labels: float(n) for labels, n in found.items()}
