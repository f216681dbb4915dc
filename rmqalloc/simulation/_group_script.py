"""The script of a group that a snapshot shows: its clients start one after the other, settle, and
then the events begin.

When clients start, when the first event begins, and whom events choose depends on the seed, so that
timers of clients stand otherwise in every run, as they do in a cluster. Heartbeats and polls of
routes keep the time at which their client started. Rebalances do not: the last join wakes all
clients at once, and from then on they would rebalance in step, where the clients of a group that
has run for days have drifted apart. So each is frozen for one period of its rebalance, from a
moment of its own on: the pass that falls due meanwhile comes at the end, which is that moment
again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple

from rmqalloc.documents.fields import MAX_DURATION, ScenarioError
from rmqalloc.evidence import Known
from rmqalloc.globs import is_pattern
from rmqalloc.simulation._group_events import (
    Director,
    StagedEvent,
    StartedClient,
    Step,
    Timed,
    read_event,
)
from rmqalloc.simulation._group_shape import GroupShape, shape_of
from rmqalloc.simulation._message_rates import MessageRates, ScaledRates
from rmqalloc.simulation._script import Script
from rmqalloc.snapshot.snapshot import Snapshot, Topic
from rmqalloc.timers import (
    CHANNEL_EXPIRY,
    CHANNEL_SCAN,
    HEARTBEAT,
    LOCK_LIFE,
    REBALANCE,
    ROUTE_POLL,
)

STARTS = 30
"""Moments, a second apart, at which clients start."""

DRIFT_FROM = 40_000
"""Milliseconds after which clients are frozen, or up to a rebalance later."""

SETTLED = 90_000
"""Milliseconds after which the first event begins, or up to a heartbeat later."""

_BACKLOG, _MOST_CATCHING_UP = 50, 600
"""Seconds of messages that wait when all clients run at last, and the most seconds that are given to consume them."""

TAIL = ROUTE_POLL + 3 * REBALANCE
"""Milliseconds simulated after the last step of the last event, where brokers notice it."""

_UNNOTICED = CHANNEL_EXPIRY + CHANNEL_SCAN + ROUTE_POLL + 2 * REBALANCE
_QUIET_KINDS = (
    "vanish",
    "freeze",
    "partition",
    "restart_broker",
    "notices",
    "update_broker_config",
    "update_sub_group",
)
"""Kinds after which a broker or a route may take two minutes to notice."""


class GroupScript(NamedTuple):
    """A script of a group, and what of it the events are.

    Attributes
    ----------
    script : Script
    timed : list of Timed
        When each event begins, and when its last step is over.
    scale : float or None
        Messages of the script for one message of the cluster; None where rates are not known.
    """

    script: Script
    timed: list[Timed]
    scale: float | None


def script_of_snapshot(
    snapshot: Snapshot | Known,
    consumer_group: str,
    events: Sequence[str],
    seed: int = 0,
    rates: MessageRates | None = None,
    profile: str | None = None,
) -> Script:
    """Return the script of a run of `simulate_group`, to change it by hand or to run it again
    alone.

    Raises
    ------
    UnsimulatedError
        A script cannot represent the group.
    ScenarioError
        An event is wrong, or not possible when it comes.
    NoMatchError
        There is no such group.

    Examples
    --------
    >>> from rmqalloc.snapshot.files import read
    >>> script = script_of_snapshot(read("example:seed"), "by-average", ["crash clients=1"])
    >>> script.events[-1].kind, script.groups[0].strategy, script.brokers
    ('crash', 'AVG', ('broker-a', 'broker-b', 'broker-c'))
    """
    shape = shape_of(snapshot, consumer_group, profile)
    return group_script(shape, [read_event(one) for one in events], seed, rates).script


def group_script(
    shape: GroupShape,
    events: Sequence[StagedEvent],
    seed: int = 0,
    rates: MessageRates | None = None,
    in_step: bool = False,
) -> GroupScript:
    """Return the script of one run."""
    random = Random(seed)
    brokers = _brokers(shape, events)
    director = Director(
        shape.consumer_group, brokers, [topic.name for topic in shape.topics], random
    )
    topics = [_topic(topic, director.steps) for topic in shape.topics]
    _start(director, shape, random)
    if not in_step:
        _drift(director, shape, random)
    scaled = None if rates is None else ScaledRates.of(rates, shape.topics)
    timed = director.play(events, SETTLED + _catching_up(scaled) + random.randrange(HEARTBEAT))
    for topic in topics:
        topic["produced_per_second"] = 0 if scaled is None else scaled.produced[topic["name"]]
    duration = max((one.until for one in timed), default=SETTLED) + _tail(shape, events)
    if duration > MAX_DURATION:
        raise ScenarioError(
            f"the events last {duration / 3_600_000:.1f} h; at most {MAX_DURATION // 3_600_000} h are simulated"
        )
    data = {
        "name": shape.consumer_group,
        "duration": f"{duration}ms",
        "brokers": brokers,
        "topics": topics,
        "groups": [_group(shape, 0 if scaled is None else scaled.consumed)],
        "events": director.steps,
        "seed": seed,
        "profile": shape.profile,
    }
    return GroupScript(Script.of(data), timed, None if scaled is None else scaled.scale)


def _brokers(shape: GroupShape, events: Sequence[StagedEvent]) -> list[str]:
    """Return the brokers of the topics, and those that an event brings."""
    more: list[str] = []
    for event in events:
        if event.kind == "change_topic" and not isinstance(
            named := event.given.get("brokers", []), int
        ):
            more += [
                one for one in ([named] if isinstance(named, str) else named) if not is_pattern(one)
            ]
    return list(dict.fromkeys([*shape.brokers, *more]))


def _topic(topic: Topic, steps: list[Step]) -> dict[str, Any]:
    """Return a topic of the script; brokers that hold it otherwise than most do so by a step at the
    beginning.
    """
    of_most = Counter((one.read_queue_nums, one.is_readable) for one in topic.brokers).most_common(
        1
    )[0][0]
    if not of_most[1]:
        of_most = next(
            ((one.read_queue_nums, True) for one in topic.brokers if one.is_readable), of_most
        )
    alike = [
        one.broker_name
        for one in topic.brokers
        if (one.read_queue_nums, one.is_readable) == of_most
    ]
    for one in topic.brokers:
        if one.broker_name not in alike or not of_most[1]:
            change = {
                "topic": topic.name,
                "brokers": one.broker_name,
                "read_queue_nums": one.read_queue_nums,
            }
            steps.append({"at": 0, "change_topic": {**change, "readable": one.is_readable}})
    return {"name": topic.name, "brokers": alike, "read_queue_nums": of_most[0]}


def _group(shape: GroupShape, consumed: int) -> dict[str, Any]:
    made: dict[str, Any] = {
        "name": shape.consumer_group,
        "topics": [topic.name for topic in shape.topics],
        "clients": 0,
        "ordered": shape.is_ordered,
        "consumed_per_second": consumed,
        "subscription_group": {"retry_queue_nums": shape.retry_queue_nums},
    }
    if shape.is_served:
        return {**made, "server_assignment": True, "message_request_mode": "PULL"}
    return {**made, "strategy": shape.method.name, "params": dict(shape.method.params) or None}


def _start(director: Director, shape: GroupShape, random: Random) -> None:
    """Let the clients start, at some moments of half a minute."""
    names = sorted(shape.clients)
    random.shuffle(names)
    for i in range(min(STARTS, len(names))):
        mine = sorted(names[i::STARTS])
        clients: list[StartedClient] = [shape.clients[name] for name in mine]
        director.join(clients, 1_000 * i + 1 + random.randrange(1_000), mine)


def _drift(director: Director, shape: GroupShape, random: Random) -> None:
    """Let the rebalances of clients drift apart."""
    for name in sorted(shape.clients):
        frozen = {"clients": name, "lasts": f"{REBALANCE}ms"}
        director.steps.append(
            {"at": f"{DRIFT_FROM + random.randrange(REBALANCE)}ms", "freeze": frozen}
        )


def _catching_up(rates: ScaledRates | None) -> int:
    """Return the milliseconds that clients need to consume what has waited for them, before
    anything happens.
    """
    if rates is None:
        return 0
    most = max(rates.produced.values(), default=0)
    seconds = (
        _BACKLOG * most / (rates.consumed - most) if most < rates.consumed else _MOST_CATCHING_UP
    )
    return 1_000 * min(_MOST_CATCHING_UP, round(seconds))


def _tail(shape: GroupShape, events: Sequence[StagedEvent]) -> int:
    """Return how long to go on after the last event."""
    if any(event.kind in _QUIET_KINDS for event in events):
        return _UNNOTICED
    return TAIL + (LOCK_LIFE if shape.is_ordered else 0)
