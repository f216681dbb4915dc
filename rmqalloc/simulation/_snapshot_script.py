"""The script of a group that a snapshot shows, as far as a script can say it; what it cannot say is
refused or noted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from rmqalloc.errors import ArgumentError, Error
from rmqalloc.evidence import Known, Verb
from rmqalloc.evidence import known as decide
from rmqalloc.evidence.client_method import is_served, method_of
from rmqalloc.evidence.method import Method
from rmqalloc.model import MOST_MEMBERS, RETRY_PREFIX
from rmqalloc.remoting import DEFAULT_PROFILE
from rmqalloc.simulation._events import Event, Events
from rmqalloc.simulation._script import LEAST_WARM_UP, Script
from rmqalloc.simulation._script_parts import MOST_RATE
from rmqalloc.simulation._settings import MAX_RETRY_QUEUES
from rmqalloc.snapshot.matching import by_name, no_match
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic
from rmqalloc.strategies import strategy
from rmqalloc.text import counted, is_pattern, literal

BACKLOG, MOST_CATCHING_UP = 50, 600
"""Seconds of messages that wait when all clients run at last, and the most seconds that are given to consume them."""

Data = dict[str, Any]


class UnsimulatedError(Error, ValueError):
    """A simulation cannot represent a fact of a snapshot; the message names it."""


class GroupRate(NamedTuple):
    """Messages per second that a group is sent, and those that its clients can consume in all; None
    where that is not known.
    """

    produced: float
    consumed: float | None = None

    @classmethod
    def of(cls, text: str) -> GroupRate:
        """Read a rate: ``1200``, or ``1200/3000`` of a group that can consume 3,000.

        Raises
        ------
        ArgumentError
            It is no such text.

        Examples
        --------
        >>> GroupRate.of("1200/3000")
        GroupRate(produced=1200.0, consumed=3000.0)
        """
        match = _RATE.fullmatch(text)
        if match is None:
            raise ArgumentError(
                f"{text[:100]!r} is not messages per second, such as 1200, or 1200/3000 with the rate that it can consume"
            )
        return cls(float(match[1]), None if match[2] is None else float(match[2]))


_RATE = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)(?:/(\d{1,9}(?:\.\d{1,6})?))?", re.ASCII)


def script_of_snapshot(
    snapshot: Snapshot | Known,
    consumer_group: str,
    events: Sequence[str | Event | Mapping[str, Any]],
    rate: str | None = None,
    profile: str | None = None,
) -> Script:
    """Return the script of a group that a snapshot shows, and of events.

    Topics, brokers, queues, clients, strategies and releases come from the snapshot. The clients
    start and settle before the events begin; every seed shifts the timers of the clients.

    Parameters
    ----------
    snapshot : Snapshot or Known
    consumer_group : str
        Its name.
    events : sequence
        As a script holds them: lines of text such as ``restart batch=2``, or mappings.
    rate : str, optional
        Messages per second sent to the group, such as ``1200``, optionally with the rate that it
        can consume, such as ``1200/3000``. Without it, messages are not counted.
    profile : str, optional
        Release, a key of `rmqalloc.remoting.PROFILES`; by default that of most of the clients.

    Raises
    ------
    UnansweredError
        The group is not simulated; see `rmqalloc.evidence.decisions`.
    UnsimulatedError
        A script cannot represent what is known of the group.
    ScenarioError
        An event is wrong, or not possible at its time.
    NoMatchError
        There is no such group.

    Examples
    --------
    >>> from rmqalloc.snapshot.files import read
    >>> script = script_of_snapshot(read("example:seed"), "by-average", ["crash clients=1"])
    >>> script.events[-1].kind, script.groups[0].strategy, script.brokers
    ('crash', 'AVG', ('broker-a', 'broker-b', 'broker-c'))
    """
    read = Events().read(list(events))
    made = cluster_of_snapshot(snapshot, consumer_group, rate, profile)
    for event in read:  # a topic may come to brokers that hold none of the group yet
        brokers = getattr(event.detail, "brokers", None)
        if event.kind == "change_topic" and isinstance(brokers, tuple):
            new = [name for name in brokers if not is_pattern(name)]
            made["brokers"] = list(dict.fromkeys([*made["brokers"], *new]))
    script: Script = Script.of({**made, "events": read})
    return script


def cluster_of_snapshot(
    snapshot: Snapshot | Known,
    consumer_group: str,
    rate: str | None = None,
    profile: str | None = None,
) -> Data:
    """Return the fields of `script_of_snapshot` but the events, as plain data: what a file of events
    leaves out.

    Examples
    --------
    >>> from rmqalloc.snapshot.files import read
    >>> cluster_of_snapshot(read("example:seed"), "by-average")["brokers"]
    ['broker-a', 'broker-b', 'broker-c']
    """
    given = snapshot.given if isinstance(snapshot, Known) else snapshot
    groups = by_name(given.groups, "groups")
    if consumer_group not in groups:
        raise no_match(consumer_group, groups, "consumer group", given)
    if not isinstance(snapshot, Known):
        snapshot = decide(snapshot, [literal(consumer_group)])
    known, deciding = snapshot.snapshot, snapshot.deciding(Verb.SIMULATE)
    group = by_name(known.groups, "groups")[consumer_group]
    names = [name for name in group.all_subscriptions if not name.startswith(RETRY_PREFIX)]
    deciding.is_answered(group, names)
    deciding.check()
    if len(group.clients) > MOST_MEMBERS:
        raise UnsimulatedError(
            f"group {group.name!r} cannot be simulated: it has {len(group.clients):,} clients; "
            f"at most {MOST_MEMBERS:,} are simulated"
        )
    notes = [*deciding.warnings()]
    topics = tuple(_topics(known, sorted(names), notes))
    brokers = chain.from_iterable(topic.brokers for topic in topics)
    rates = None if rate is None else GroupRate.of(rate)
    n_queues = sum(len(list(topic.queues())) for topic in topics)
    produced = 0 if rates is None else rates.produced / max(1, n_queues)
    consumed: float = MOST_RATE
    if rates is not None and rates.consumed is not None:
        consumed = min(MOST_RATE, rates.consumed / max(1, n_queues))
    release = profile or _release(group, notes)
    made = _group(group, known, [topic.name for topic in topics], notes)
    notes += _unsaid(group, rates)
    return {
        "name": group.name,
        "warm_up": f"{LEAST_WARM_UP // 1_000 + _catching_up(produced, consumed)}s",
        "brokers": list(dict.fromkeys(broker.broker_name for broker in brokers)),
        "topics": [_topic(topic, produced) for topic in topics],
        "groups": [{**made, "consumed_per_second": consumed}],
        "profile": release,
        "notes": notes,
    }


def _topic(topic: Topic, produced: float) -> Data:
    numbers = {
        broker.broker_name: broker.read_queue_nums if broker.is_readable else 0
        for broker in topic.brokers
    }
    return {"name": topic.name, "read_queue_nums": numbers, "produced_per_second": produced}


def _group(group: Group, known: Snapshot, topics: list[str], notes: list[str]) -> Data:
    """Return a group of the script."""
    main = method_of(group, Client(""))
    made: Data = {
        "name": group.name,
        "topics": topics,
        "clients": _clients(group, main, tuple(topics)),
        "ordered": group.is_ordered,
        "subscription_group": {
            "retry_queue_nums": _retry_queues(known.topic(RETRY_PREFIX + group.name))
        },
    }
    if any("@" not in client.client_id for client in group.clients):
        notes.append(
            'a client id without an instance name gets "@1", as RocketMQ makes none without'
        )
    if is_served(group):
        return {**made, "server_assignment": True, "message_request_mode": "PULL"}
    return {**made, "strategy": main.name, "params": dict(main.params) or None}


def _catching_up(produced: float, consumed: float) -> int:
    """Return the seconds that clients need to consume what has waited for them, before anything
    happens.
    """
    if produced >= consumed:
        return MOST_CATCHING_UP
    return min(MOST_CATCHING_UP, round(BACKLOG * produced / (consumed - produced)))


def _topics(snapshot: Snapshot, names: Iterable[str], notes: list[str]) -> Iterable[Topic]:
    """Yield topics that have queues to divide."""
    found = False
    for name in names:
        topic = snapshot.topic(name)
        if topic is None or not topic.brokers:
            notes.append(f"topic {name} has no route, so it is left out")
            continue
        found = True
        yield topic
    if not found:
        raise UnsimulatedError("the group cannot be simulated: none of its topics has a route")


def _clients(group: Group, main: Method, topics: tuple[str, ...]) -> list[Data]:
    """Return clients; a second client of one id has a name of its own."""
    of_method: dict[Method, tuple[str, Mapping[str, object]]] = {}
    found: dict[str, Data] = {}
    for client in sorted(group.clients, key=lambda one: one.client_id):
        if not client.client_id:
            raise UnsimulatedError(
                f"group {group.name!r} cannot be simulated: a client of it has no id"
            )
        method = method_of(group, client)
        if method not in of_method:
            of_method[method] = _spelled(group, method)
        name, params = (None, None) if method == main else of_method[method]
        reads = (
            None
            if client.subscriptions is None
            else tuple(topic for topic in topics if topic in client.subscriptions)
        )
        if reads == ():
            raise UnsimulatedError(
                f"group {group.name!r} cannot be simulated: client {client.client_id!r} subscribes to none of its topics"
            )
        label, number = client.client_id, 1
        while label in found:
            number += 1
            label = f"{client.client_id} ({number})"
        found[label] = {
            "name": label,
            "client_id": client.client_id,
            "strategy": name,
            "params": params,
            "topics": None if reads == topics else reads,
        }
    return list(found.values())


def _spelled(group: Group, method: Method) -> tuple[str, Mapping[str, object]]:
    """Return name and parameters of a strategy that a script can name."""
    why = method.problem
    if why is None and method.asks_for_rooms:
        why = "it needs machine rooms, and a script cannot state the machine rooms of clients"
    if why is None and method.is_config:
        why = "its lists are by client id, and clients come back under other ids"
    if why is None:
        try:
            strategy(method.name, **method.params)
        except Error as error:
            why = str(error)
    if why is not None:
        raise UnsimulatedError(
            f"group {group.name!r} cannot be simulated: of its strategy {method}: {why}"
        )
    return method.name, method.params


_VERSION = re.compile(r"V?(\d{1,3})[._](\d{1,3})", re.ASCII)


def _release(group: Group, notes: list[str]) -> str:
    """Return the release line of most of the clients."""
    found = Counter(_line(client.version) for client in group.clients)
    of_most = max(found, key=lambda release: (found[release], release or ""))
    if of_most is None:
        notes.append(
            f"the release of its clients is not known, so {DEFAULT_PROFILE.name} is assumed"
        )
        return DEFAULT_PROFILE.name
    if len(found) > 1:
        notes.append(
            f"its clients are of several releases; all are simulated as {of_most}, the release of {found[of_most]:,} of them"
        )
    return of_most


def _line(version: str | None) -> str | None:
    """Return the simulated release line that is nearest to a version; None where there is none."""
    match = _VERSION.match(version or "")
    if match is None:
        return None
    major, minor = int(match[1]), int(match[2])
    if major < 5:
        return "4.9"
    return "5.3" if (major, minor) < (5, 4) else "5.5"


def _retry_queues(topic: Topic | None) -> int:
    numbers = [broker.read_queue_nums for broker in topic.brokers] if topic is not None else []
    return min(max(numbers, default=1), MAX_RETRY_QUEUES) or 1


def _unsaid(group: Group, rates: GroupRate | None) -> Iterable[str]:
    """Yield notes on facts of a group that a script leaves out, and on unknown facts."""
    if group.is_ordered:
        yield "the processing time of listeners is not known, so no lock waits for a listener"
    if group.lags:
        yield f"it lags by {sum(lag.messages for lag in group.lags):,} messages, which are not simulated"
    if group.broker_client_ids is not None:
        yield "brokers do not agree on its clients; the simulation begins when they do"
    if any(client.sees_read_queue_nums is not None for client in group.clients):
        yield "some of its clients have stale routes; the simulation begins with new routes"
    if group.paused_brokers:
        yield f"{counted(len(group.paused_brokers), 'broker')} do not let it consume, which is not simulated"
    yield "settings of brokers are not in a snapshot: RocketMQ's defaults are taken, with notices to clients"
    if rates is None:
        yield "the rate of the group's messages is not known, so messages are not counted"
    elif rates.consumed is None:
        yield "the rate at which its clients can consume is not known: they catch up at once, and delays are lower bounds"
    elif rates.produced >= rates.consumed:
        yield "the group gets at least as many messages as it can consume: delays grow in any case"
