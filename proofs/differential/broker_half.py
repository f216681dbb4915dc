"""The broker half: its random sequences; the product under them is `differential.broker_twin`.

Groups are registered, left and lost, channels expire, notices are told at once or collected, queues
are locked and divided. In a *nested* sequence some notices make something else happen at once,
before the next one is sent; there the order of channels is the same on both sides, as no channel
comes back to a group that it left, and so is that of groups, as channels share one.
"""

from collections.abc import Callable
from random import Random
from typing import Any

from differential.broker_twin import Twin
from differential.compared_releases import Release

__all__ = ["Twin", "sequence"]

GROUPS = ("g0", "g1", "g2")
TOPICS = ("t0", "t1", "t2", "%RETRY%g0", "%LMQ%l")
CLIENTS = ("c0", "c1", "c2", "c3", "c\U0001f600", "c\uffee")
BROKERS = ("b0", "b1")
STRATEGIES = ("AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH", "NONE")
MODELS = ("CLUSTERING", "BROADCASTING")
TIMES = (
    1,
    500,
    999,
    1_000,
    9_999,
    10_000,
    14_999,
    15_000,
    30_000,
    45_000,
    59_999,
    60_000,
    60_001,
    110_000,
    120_000,
    120_001,
)
NESTED_LIMIT = 100_000
"""Milliseconds of a nested sequence: none of its channels expires."""
MOST_CHANNELS = 20
"""Java's tables of channels keep the order of their numbers up to 24 (`ConcurrentHashMap`)."""
QUIET = {
    "real time": True,
    "fast": False,
    "rejects pull": False,
    "divides": True,
    "mode": "PULL",
    "share": -1,
    "expired": 120_000,
}
"""What 4.9 does; it has no such settings."""

Event = dict[str, Any]


def sequence(rng: Random, release: Release, short: bool = False) -> dict[str, Any]:
    """A configuration, and events."""
    nested = rng.random() < 0.2
    config = {
        "nested": nested,
        "notify": rng.random() < 0.9,
        "auto create": nested or rng.random() < 0.8,
        "topics": rng.sample(TOPICS[:3], rng.randint(1, 3)),
        **QUIET,
    }
    if release.profile.heartbeat_v2:
        config |= {
            "real time": rng.random() < 0.6,
            "fast": rng.random() < 0.4,
            "rejects pull": rng.random() < 0.1 and not nested,
            "divides": rng.random() < 0.9,
            "mode": rng.choice(("PULL", "PULL", "POP")),
            "share": rng.choice((-1, 0, 1, 2)),
            "expired": 120_000 if nested else rng.choice((120_000, 120_000, 30_000, 5_000)),
        }
    return {"config": config, "events": Maker(rng, release, config).events(rng.randint(20, 60))}


class Maker:
    """Makes the events of one sequence; remembers roughly who is connected."""

    def __init__(self, rng: Random, release: Release, config: dict[str, Any]) -> None:
        self._rng = rng
        self._nested = config["nested"]
        self._elapsed = 0
        self._channels: list[int] = []
        self._closed: list[int] = []
        self._said: dict[int, tuple[str, list[str]]] = {}
        self._left: set[tuple[int, str]] = set()
        self._entered: dict[str, list[int]] = {}
        self._version = 1
        self._can_collect = release.profile.collects_notices and not self._nested
        self._nests = [self._unregister, self._close]
        if config[
            "real time"
        ]:  # a flush goes on to the next group: in which order, the switch would tell
            self._nests.append(self._flag)
        self._groups = GROUPS[: 1 if self._nested else 3]
        self._types = ["CONSUME_PASSIVELY", "CONSUME_PASSIVELY", "CONSUME_ACTIVELY"]
        kinds: dict[Callable[[], Event], int] = {
            self._heartbeat: 34,
            self._unregister: 8,
            self._close: 6,
            self._advance: 16,
            self._flag: 3,
            self._group_flag: 2,
            self._fail: 1,
            self._lists: 6,
            self._topics: 1,
            self._lock: 8,
            self._unlock: 4,
        }
        if self._nested:
            kinds[self._arm] = 12
        if (
            release.profile.server_assignment
        ):  # what 4.9 does not have; nor has it an index of groups by topic
            self._types.append("CONSUME_POP")
            kinds |= {
                self._topic_groups: 3,
                self._all_expired: 2,
                self._route: 5,
                self._query: 14,
                self._set_mode: 4,
            }
        focus = rng.choice(
            (
                (),
                (),
                (self._lock, self._unlock, self._lists),
                (self._route, self._query, self._set_mode),
            )
        )
        self._topics_asked = TOPICS[:1] if self._query in focus else TOPICS[:4]
        self._kinds = list(kinds)
        self._weights = [weight * (5 if kind in focus else 1) for kind, weight in kinds.items()]

    def events(self, n_events: int) -> list[Event]:
        """That many, and routes before them."""
        routes = [self._route() for _ in range(3 if self._route in self._kinds else 0)]
        return routes + [
            self._rng.choices(self._kinds, self._weights)[0]() for _ in range(n_events)
        ]

    def _heartbeat(self) -> Event:
        rng = self._rng
        channel = self._speaking()
        client, groups = self._said.setdefault(
            channel, (rng.choice(CLIENTS), self._some_groups(1, 1, 2))
        )
        if rng.random() < 0.05:
            client = rng.choice(CLIENTS)
        if rng.random() < 0.2:
            groups = self._some_groups(1, 1, 2, 3)
        if self._nested:
            groups = [self._nested_group(channel, groups[0])]
        fingerprint = rng.choice((0, 0, 7, 7, 8))
        short = rng.random() < (0.5 if fingerprint else 0.03)
        consumers = [self._consumer(name, short) for name in groups]
        data = {
            "clientID": client,
            "heartbeatFingerprint": fingerprint,
            "withoutSub": short,
            "producerDataSet": [],
            "consumerDataSet": consumers,
        }
        return {"kind": "heartbeat", "channel": channel, "data": data}

    def _some_groups(self, *numbers: int) -> list[str]:
        return self._rng.sample(self._groups, min(self._rng.choice(numbers), len(self._groups)))

    def _nested_group(self, channel: int, group: str) -> str:
        """The group, if the channel is in it or came after all others; else one that it is alone
        in.
        """
        entered = self._entered.setdefault(group, [])
        if channel not in entered and channel > max(entered, default=-1):
            entered.append(channel)
        comes_in_order = channel in entered and (channel, group) not in self._left
        return group if comes_in_order else f"g{3 + channel}"

    def _speaking(self) -> int:
        """Whose heartbeat it is: a known channel's, now and then one that was closed already, or a
        new one's.
        """
        rng = self._rng
        if self._closed and not self._nested and rng.random() < 0.04:
            return rng.choice(self._closed)
        n_channels = len(self._channels) + len(self._closed)
        if self._channels and (rng.random() < 0.65 or n_channels >= MOST_CHANNELS):
            return rng.choice(self._channels)
        if n_channels < MOST_CHANNELS:
            self._channels.append(n_channels)
            return n_channels
        return rng.choice(self._closed) if not self._nested else n_channels - 1

    def _consumer(self, group: str, short: bool) -> dict[str, Any]:
        rng = self._rng
        self._version += rng.random() < 0.3
        topics = [] if short else rng.sample(TOPICS[:3], rng.choice((0, 1, 1, 1, 2)))
        usual = MODELS[group == "g2"]
        return {
            "groupName": group,
            "consumeType": rng.choice(self._types),
            "messageModel": usual if rng.random() < 0.9 else rng.choice(MODELS),
            "consumeFromWhere": rng.choice(
                ("CONSUME_FROM_LAST_OFFSET", "CONSUME_FROM_FIRST_OFFSET")
            ),
            "unitMode": False,
            "subscriptionDataSet": [
                {
                    "topic": topic,
                    "subString": rng.choice("*ab"),
                    "subVersion": rng.choice((self._version, self._version - 1)),
                }
                for topic in topics
            ],
        }

    def _unregister(self) -> Event:
        rng = self._rng
        channel = rng.choice(self._channels or [0])
        client, groups = self._said.get(channel, (rng.choice(CLIENTS), self._groups))
        group = rng.choice(groups) if rng.random() < 0.9 else rng.choice(self._groups)
        self._left.add((channel, group))
        client = client if rng.random() < 0.9 else rng.choice(CLIENTS)
        return {"kind": "unregister", "channel": channel, "client": client, "group": group}

    def _close(self) -> Event:
        if not self._channels:
            return self._flag()
        channel = self._channels.pop(self._rng.randrange(len(self._channels)))
        self._closed.append(channel)
        return {"kind": "close", "channel": channel}

    def _advance(self) -> Event:
        by = self._rng.choice(TIMES)
        if self._nested:
            by = min(by, 15_000, NESTED_LIMIT - self._elapsed)
        self._elapsed += by
        return {"kind": "advance", "by": by}

    def _arm(self) -> Event:
        """The next notice of a group to a channel makes something happen before the one after it is
        sent.
        """
        channel = self._rng.choice(self._channels or [0])
        then = self._rng.choice(self._nests)()  # it may never happen
        return {"kind": "arm", "channel": channel, "group": self._group(), "then": then}

    def _group(self) -> str:
        return self._rng.choice(self._groups)

    def _flag(self) -> Event:
        """A switch of the broker: whether notices are sent, and whether at once."""
        kind = (
            self._rng.choice(("notices", "notices", "real time"))
            if self._can_collect
            else "notices"
        )
        return {"kind": kind, "on": self._rng.random() < 0.7}

    def _group_flag(self) -> Event:
        return {"kind": "group flag", "group": self._group(), "on": self._rng.random() < 0.6}

    def _fail(self) -> Event:
        return {"kind": "fail", "channel": self._rng.choice(self._channels or [0])}

    def _lists(self) -> Event:
        return {"kind": "lists", "group": self._group()}

    def _topic_groups(self) -> Event:
        return {"kind": "topic groups", "topic": self._rng.choice(TOPICS[:3])}

    def _topics(self) -> Event:
        return {"kind": "topics"}

    def _queues(self) -> list[list[Any]]:
        return [
            [self._rng.choice(TOPICS[:2]), "b0", number]
            for number in self._rng.sample(range(4), self._rng.randint(1, 3))
        ]

    def _lock(self) -> Event:
        kind = self._rng.choice(("lock", "lock", "lock one"))
        return {
            "kind": kind,
            "group": self._group(),
            "client": self._rng.choice(CLIENTS[:3]),
            "queues": self._queues(),
        }

    def _unlock(self) -> Event:
        client = self._rng.choice(CLIENTS[:3])
        return {
            "kind": "unlock",
            "group": self._group(),
            "client": client,
            "queues": self._queues(),
        }

    def _all_expired(self) -> Event:
        return {"kind": "all expired", "group": self._group()}

    def _route(self) -> Event:
        """What the name server says of a topic from now on."""
        rng = self._rng
        queues = [
            {
                "brokerName": broker,
                "readQueueNums": rng.randint(0, 5),
                "writeQueueNums": 4,
                "perm": rng.choice((6, 6, 6, 4, 2)),
            }
            for broker in BROKERS[: rng.randint(0, 2)]
        ]
        route: Any = {"queueDatas": queues, "brokerDatas": []}
        if rng.random() < 0.3:
            route = rng.choice((None, "error", "timeout"))
        return {"kind": "route", "topic": rng.choice(self._topics_asked), "route": route}

    def _query(self) -> Event:
        rng = self._rng
        data = {
            "topic": rng.choice((*self._topics_asked * 3, *TOPICS)),
            "consumerGroup": self._group(),
            "clientId": rng.choice(
                [client for client, _ in self._said.values()] + [rng.choice(CLIENTS)]
            ),
            "strategyName": rng.choice(STRATEGIES[:2])
            if rng.random() < 0.9
            else rng.choice(STRATEGIES),
            "messageModel": MODELS[rng.random() < 0.15],
        }
        return {"kind": "query", "data": data}

    def _set_mode(self) -> Event:
        rng = self._rng
        data = {
            "topic": rng.choice(self._topics_asked),
            "consumerGroup": self._group(),
            "mode": rng.choice(("POP", "POP", "PULL")),
            "popShareQueueNum": rng.choice((-1, 0, 1, 2, 3)),
        }
        return {"kind": "set mode", "data": data}
