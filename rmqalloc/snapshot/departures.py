"""Comparing readings of one cluster: what was there and is not any more (`Departures`).

A list that could not be read shows nothing: a group counts as gone where every broker listed its
groups, a topic where the name server answered for it. A broker leaves with its topics and queues,
which are reported as part of it. Brokers and routes are read one after the other, so a topic or a
queue counts as gone once a second reading confirms it: then it is known whether its broker is still
listed. All are kept for an hour, or until they are back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from rmqalloc.model import MessageQueue
from rmqalloc.snapshot.snapshot import DEPARTED, Departure, Group, Snapshot, Topic
from rmqalloc.snapshot.system_topics import is_system_topic
from rmqalloc.snapshot.unknown import Unknowns

KEPT_SECONDS = 3600.0
"""Seconds for which a departure is reported."""
MOST_KEPT = 10_000
"""Departures that are kept at most; the first ones stay."""


class _Key(NamedTuple):
    kind: str
    name: str
    broker_name: str | None = None


class _Kept(NamedTuple):
    departure: Departure
    until: float  # on the monotonic clock
    n_before: int = 0  # readable queues with which queues of a broker are all back


class Departures:
    """What left a cluster, from reading to reading.

    Examples
    --------
    >>> from rmqalloc.snapshot.snapshot import Broker, TopicBroker
    >>> both = Topic("T", (TopicBroker("a", 4), TopicBroker("b", 4)))
    >>> brokers = Broker("a", "h:1"), Broker("b", "h:2")
    >>> whole = Snapshot((both,), fetched_at="2026-05-02T03:00:00+00:00", brokers=brokers)
    >>> less = Snapshot((replace(both, brokers=both.brokers[:1]),), brokers=brokers[:1])
    >>> departures = Departures()
    >>> departures.after(whole).departed
    ()
    >>> (left,) = departures.after(less, answering={"b": False}).departed
    >>> left.kind, left.name, left.cause, left.queues, left.last_seen
    ('broker', 'b', 'dead', {'T': 4}, '2026-05-02T03:00:00+00:00')
    >>> departures.after(whole).departed
    ()
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen_at = ""
        self._brokers: set[str] = set()
        self._topics: dict[str, Topic] = {}
        self._doubted: dict[str, str] = {}
        """By topic of which the last reading showed less, when all of it was last seen."""
        self._groups: dict[str, Group] = {}
        self._kept: dict[_Key, _Kept] = {}

    def after(
        self,
        snapshot: Snapshot,
        lists_all_groups: bool = True,
        answering: Mapping[str, bool] | None = None,
    ) -> Snapshot:
        """Return the snapshot of the next reading with what left.

        Parameters
        ----------
        snapshot : Snapshot
        lists_all_groups : bool
            Whether every broker listed its groups.
        answering : mapping of broker name to bool, optional
            Whether brokers that are not in the snapshot still answer.
        """
        unknown = Unknowns(snapshot)
        self._forget(snapshot)
        self._compare_brokers(snapshot, answering or {})
        self._compare_topics(snapshot, unknown)
        self._compare_groups(snapshot, lists_all_groups)
        if not unknown.why_more("routes"):
            self._seen_at = snapshot.fetched_at or ""
        kept = (self._kept[key].departure for key in sorted(self._kept, key=_order))
        return replace(snapshot, departed=tuple(kept))

    def _forget(self, snapshot: Snapshot) -> None:
        """Forget what is back, and what left long ago."""
        now = self._clock()
        brokers = {broker.broker_name for broker in snapshot.brokers}
        groups = {group.name for group in snapshot.groups}
        topics = {topic.name: topic for topic in snapshot.topics} if self._kept else {}
        for key, kept in list(self._kept.items()):
            topic = topics.get(key.name)
            n_lacking = kept.n_before - (_n_readable(topic, key.broker_name) if topic else 0)
            is_back = {
                "broker": key.name in brokers,
                "group": key.name in groups,
                "topic": topic is not None,
                "queue": n_lacking <= 0,
            }
            if is_back[key.kind] or now >= kept.until:
                del self._kept[key]
            elif key.kind == "queue":
                self._keep(key, replace(kept.departure, queues={key.name: n_lacking}))

    def _keep(self, key: _Key, departure: Departure, n_before: int = 0) -> None:
        kept = self._kept.get(key)
        if kept is not None:
            self._kept[key] = kept._replace(departure=departure)
        elif len(self._kept) < MOST_KEPT:
            until = self._clock() + KEPT_SECONDS
            self._kept[key] = _Kept(departure, until, n_before)

    # --- Brokers ---

    def _compare_brokers(self, snapshot: Snapshot, answering: Mapping[str, bool]) -> None:
        now = {broker.broker_name for broker in snapshot.brokers}
        if not now:  # the snapshot is of no running cluster
            return
        for name in self._brokers - now:
            cause = _cause_of_broker(name, answering)
            queues = self._queues_of(name)
            messages = self._messages(partial(_is_on, name))
            departure = Departure(
                "broker", name, self._seen_at, cause, queues=queues, messages=messages
            )
            self._keep(_Key("broker", name), departure)
        for key, kept in self._kept.items():
            if key.kind == "broker" and key.name in answering:
                cause = _cause_of_broker(key.name, answering)
                self._keep(key, replace(kept.departure, cause=cause))
        self._brokers = now

    def _queues_of(self, broker_name: str) -> dict[str, int]:
        """Return the readable queues that a broker had, by topic."""
        found = {}
        for name, topic in self._topics.items():
            if not is_system_topic(name) and (n := _n_readable(topic, broker_name)):
                found[name] = n
        return found

    # --- Topics and queues ---

    def _compare_topics(self, snapshot: Snapshot, unknown: Unknowns) -> None:
        now = {topic.name: topic for topic in snapshot.topics}
        doubted, kept = {}, {}
        for name, before in self._topics.items():
            topic = now.get(name)
            if topic is before or is_system_topic(name) or not _lacks(before, topic):
                continue
            if unknown.why_route(name) or name not in self._doubted:
                doubted[name] = self._doubted.get(name, self._seen_at)
                kept[name] = before
            else:
                self._compare_topic(before, topic, self._doubted[name])
        self._topics, self._doubted = now | kept, doubted

    def _compare_topic(self, before: Topic, after: Topic | None, last_seen: str) -> None:
        """Keep what a topic has less of on brokers that are still listed."""
        counts = _readable(before)
        listed = [name for name in counts if _Key("broker", name) not in self._kept]
        if after is None:
            cause = "removed" if listed else "broker"
            messages = self._messages(lambda queue: queue.topic == before.name)
            queues = {before.name: sum(counts.values())}
            departure = Departure(
                "topic", before.name, last_seen, cause, queues=queues, messages=messages
            )
            self._keep(_Key("topic", before.name), departure)
            return
        for broker_name in listed:
            n_after = _n_readable(after, broker_name)
            if n_after < counts[broker_name]:
                self._keep_queues(before.name, broker_name, counts[broker_name], n_after, last_seen)

    def _keep_queues(
        self, topic: str, broker_name: str, n_before: int, n_after: int, last_seen: str
    ) -> None:
        key = _Key("queue", topic, broker_name)
        if key in self._kept:  # more of them left
            n_before = self._kept[key].n_before

        def is_gone(queue: MessageQueue) -> bool:
            is_here = queue.topic == topic and queue.broker_name == broker_name
            return is_here and queue.queue_id >= n_after

        departure = Departure(
            "queue",
            topic,
            last_seen,
            "removed",
            broker_name=broker_name,
            queues={topic: n_before - n_after},
            messages=self._messages(is_gone),
        )
        self._keep(key, departure, n_before)

    def _messages(self, is_gone: Callable[[MessageQueue], bool]) -> int | None:
        """Return the messages that groups had not consumed from some queues; None if not known."""
        known = []
        for group in self._groups.values():
            known += [lag.messages for lag in group.lags if is_gone(lag.queue)]
        return sum(known) if known else None

    # --- Groups ---

    def _compare_groups(self, snapshot: Snapshot, lists_all: bool) -> None:
        now = {group.name: group for group in snapshot.groups}
        if not lists_all:
            self._groups |= now
            return
        for name in self._groups.keys() - now.keys():
            group = self._groups[name]
            cause = "broker" if self._lost_a_broker(group) else "removed"
            self._keep(_Key("group", name), Departure("group", name, self._seen_at, cause))
        self._groups = now

    def _lost_a_broker(self, group: Group) -> bool:
        topics = group.all_subscriptions
        left = (kept.departure for key, kept in self._kept.items() if key.kind == "broker")
        return any(not departure.queues.keys().isdisjoint(topics) for departure in left)


def _order(key: _Key) -> tuple[int, str, str]:
    return DEPARTED.index(key.kind), key.name, key.broker_name or ""


def _is_on(broker_name: str, queue: MessageQueue) -> bool:
    return queue.broker_name == broker_name


def _cause_of_broker(name: str, answering: Mapping[str, bool]) -> str:
    return "unlisted" if answering.get(name, True) else "dead"


def _readable(topic: Topic) -> dict[str, int]:
    """Return the readable queues of a topic by broker."""
    return {
        broker.broker_name: broker.read_queue_nums for broker in topic.brokers if broker.is_readable
    }


def _n_readable(topic: Topic, broker_name: str | None) -> int:
    return _readable(topic).get(broker_name or "", 0)


def _lacks(before: Topic, after: Topic | None) -> bool:
    """Return whether a topic has fewer readable queues on any broker than before."""
    counts = {} if after is None else _readable(after)
    was = _readable(before)
    return after is None or any(counts.get(name, 0) < n for name, n in was.items())
