"""Making a failing script small: fewer events, fewer things, rounder and shorter times, as long as
it fails in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

from chaos.schedules import Data, is_possible, text_of, with_duration
from rmqalloc.documents.fields import Duration

Fails = Callable[[Data], bool]

MOST_RUNS = 600
"""How many smaller scripts are tried at most."""

PLAINER = {
    "strategy": "AVG",
    "listener_time": "0s",
    "start_every": "0s",
    "server_assignment": False,
    "consumed_per_second": 100,
}
"""What a group has if nothing else is needed."""

STEPS = (60_000, 30_000, 10_000, 5_000, 1_000, 500, 100)
"""Times are rounded to multiples of these (ms), coarsest first."""


class Shrinker:
    """Makes one script smaller.

    Parameters
    ----------
    fails : callable
        Whether a script fails in the way that is looked for.
    most_runs : int
        How many scripts are tried.

    Notes
    -----
    Events go by delta debugging (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002): halves
    first, then smaller parts. Then clients, brokers, queues, settings and times, and all of it again until nothing changes.

    Examples
    --------
    >>> from chaos.schedules import schedule
    >>> small = Shrinker(lambda data: any("crash" in one for one in data["events"])).smallest(schedule(2))
    >>> small["events"], small["brokers"]
    ([{'at': '0s', 'crash': {'clients': ['g-1']}}], ['broker-a'])
    """

    def __init__(self, fails: Fails, most_runs: int = MOST_RUNS) -> None:
        self._fails = fails
        self._left = most_runs

    def smallest(self, data: Data) -> Data:
        """Return the smallest script found that still fails."""
        while True:
            before = data
            data = self._fewer_events(data)
            for smaller in (_settings, _clients, _places, _times):
                data = self._while_any(data, smaller)
            if data == before or self._left <= 0:
                return data

    def _holds(self, data: Data) -> Data | None:
        """Return the script with its own duration if it fails too."""
        if self._left <= 0 or not is_possible(data | {"duration": "1h"}):
            return None
        self._left -= 1
        data = with_duration(
            data | {"events": sorted(data["events"], key=lambda one: _time(one["at"]))}
        )
        return data if self._fails(data) else None

    def _fewer_events(self, data: Data) -> Data:
        parts = 2
        while events := data["events"]:
            size = max(1, len(events) // parts)
            for start in range(0, len(events), size):
                if held := self._holds(data | {"events": events[:start] + events[start + size :]}):
                    data, parts = held, max(2, parts - 1)
                    break
            else:
                if size == 1:
                    return data
                parts *= 2
        return data

    def _while_any(self, data: Data, smaller: Callable[[Data], Iterator[Data]]) -> Data:
        """Take the first smaller script that fails, until none does."""
        while (held := next(filter(None, map(self._holds, smaller(data))), None)) is not None:
            data = held
        return data


def _changed(data: Data, *path: str | int, to: Any) -> Data:
    """Return a copy with another value at one place."""
    data = deepcopy(data)
    inner: Any = data
    for part in path[:-1]:
        inner = inner[part]
    inner[path[-1]] = to
    return data


def _settings(data: Data) -> Iterator[Data]:
    """Return the script with one setting plainer."""
    for name, plain in PLAINER.items():
        if data["groups"][0][name] != plain:
            yield _changed(data, "groups", 0, name, to=plain)
    for name, plain in (("latency", "1ms"), ("seed", 0)):
        if data[name] != plain:
            yield _changed(data, name, to=plain)
    if data["topics"][0]["produced_per_second"] != 10:
        yield _changed(data, "topics", 0, "produced_per_second", to=10)


def _clients(data: Data) -> Iterator[Data]:
    """Return the script with one client fewer in the group or in an event."""
    if (n := data["groups"][0]["clients"]) > 0:
        yield _changed(data, "groups", 0, "clients", to=n - 1)
    for i, kind, detail in _details(data):
        for name in ("clients", "brokers"):
            listed = detail.get(name, ())
            for one in listed if len(listed) > 1 else ():
                yield _changed(
                    data, "events", i, kind, name, to=[other for other in listed if other != one]
                )


def _places(data: Data) -> Iterator[Data]:
    """Return the script with one broker or queue fewer."""
    for broker in data["brokers"] if len(data["brokers"]) > 1 else ():
        fewer = _changed(data, "brokers", to=[one for one in data["brokers"] if one != broker])
        for i, kind, detail in _details(data):
            if broker in detail.get("brokers", ()):
                fewer = _changed(
                    fewer,
                    "events",
                    i,
                    kind,
                    "brokers",
                    to=[one for one in detail["brokers"] if one != broker],
                )
        yield fewer
    if (n := data["topics"][0]["read_queue_nums"]) > 1:
        yield _changed(data, "topics", 0, "read_queue_nums", to=n - 1)
    for i, kind, detail in _details(data):
        if detail.get("read_queue_nums", 0) > 0:
            yield _changed(
                data, "events", i, kind, "read_queue_nums", to=detail["read_queue_nums"] - 1
            )


def _times(data: Data) -> Iterator[Data]:
    """Return the script with one time shorter, or rounder and not longer."""
    for i, kind, detail in _details(data):
        for shorter in _shorter(data["events"][i]["at"], 0):
            yield _changed(data, "events", i, "at", to=shorter)
        for name in ("lasts", "every", "down"):
            for shorter in _shorter(detail[name], 1) if name in detail else ():
                yield _changed(data, "events", i, kind, name, to=shorter)


def _shorter(given: str, least: int) -> Iterator[str]:
    time = _time(given)
    for step in STEPS:
        for shorter in (time // step * step, (time - 1) // step * step):
            if least <= shorter < time:
                yield text_of(shorter)


def _time(given: str) -> int:
    return int(Duration().read(given))


def _details(data: Data) -> Iterator[tuple[int, str, Data]]:
    """Return place, kind and detail of every event."""
    for i, event in enumerate(data["events"]):
        kind = next(name for name in event if name != "at")
        yield i, kind, event[kind]
