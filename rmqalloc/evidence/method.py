"""A strategy with its parameters, as clients, groups and snapshots name it, and the machine rooms
of a snapshot.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc.dataclass import dataclass
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.checked_columns import replaced
from rmqalloc.fleet.columns import Strings, ranges
from rmqalloc.lazy import lazy_property
from rmqalloc.model import MessageQueue
from rmqalloc.snapshot.snapshot import Snapshot, TopicBroker
from rmqalloc.strategies import Strategy
from rmqalloc.strategies.by_name import class_of, in_dialect, inner_class_of, reads_rooms, rule
from rmqalloc.strategies.config import listed_queues
from rmqalloc.strategies.consistent_hash import DEFAULT_VIRTUAL_NODES
from rmqalloc.strategies.dialects import DIALECTS, JAVA

DEFAULT_STRATEGY = "AVG"
"""RocketMQ's default."""


class Rooms(NamedTuple):
    """Machine rooms of a snapshot.

    Attributes
    ----------
    brokers : dict of (topic, broker_name) to str
        A broker may have different rooms in different topics.
    clients : dict of (consumer_group, client_id) to str
        A client id may have different rooms in different groups.
    """

    brokers: dict[tuple[str, str], str]
    clients: dict[tuple[str, str], str]

    @classmethod
    def of(cls, snapshot: Snapshot) -> Rooms:
        """Return all rooms of a snapshot."""
        rooms = cls({}, {})
        of_brokers = {id(topic.brokers): topic.brokers for topic in snapshot.topics}  # often shared
        for topic in snapshot.topics if any(map(_have_rooms, of_brokers.values())) else ():
            for broker in topic.brokers:
                if broker.machine_room:
                    rooms.brokers[topic.name, broker.broker_name] = broker.machine_room
        for group in snapshot.groups:
            for client in group.clients:
                if client.machine_room:
                    rooms.clients[group.name, client.client_id] = client.machine_room
        return rooms

    def put_into(self, fleet: Fleet) -> Fleet:
        """Return the fleet with the rooms of its brokers, by topic, and of its clients, by group."""
        names = list(dict.fromkeys([*self.brokers.values(), *self.clients.values()]))
        number = {name: i for i, name in enumerate(names)}
        queues = fleet.queue_lists
        topics = map(fleet.topics.to_list().__getitem__, queues.route_topic.tolist())
        brokers = map(fleet.brokers.to_list().__getitem__, queues.route_broker.tolist())
        of_route = map(self.brokers.get, zip(topics, brokers, strict=True))
        # Units that share a list of ids may be of groups with different rooms, so each gets a list
        # of its own.
        clients = fleet.client_lists.rearranged(
            ranges(fleet.slot_starts, fleet.n_clients), fleet.client_offsets
        )
        groups: list[str] = []
        for group, n in zip(fleet.consumer_groups.to_list(), fleet.n_clients.tolist(), strict=True):
            groups += [group] * n
        of_slot = map(self.clients.get, zip(groups, clients.client_ids.to_list(), strict=True))
        return replaced(
            fleet,
            rooms=Strings.from_list(names),
            unit_client_list=np.arange(fleet.n_units, dtype=np.int32),
            queue_lists=replaced(queues, route_room=_numbers(of_route, number)),
            client_lists=replaced(clients, slot_room=_numbers(of_slot, number)),
        )


def _have_rooms(brokers: Iterable[TopicBroker]) -> bool:
    return any(broker.machine_room for broker in brokers)


def _numbers(rooms: Iterable[str | None], number: Mapping[str, int]) -> NDArray[np.int32]:
    """Return numbers of rooms, -1 where one is missing."""
    return np.array([-1 if room is None else number[room] for room in rooms], np.int32)


@dataclass(frozen=True)
class Method:
    """A strategy and its parameters; two methods are equal if their texts are equal.

    Attributes
    ----------
    name : str
        RocketMQ's name.
    params : mapping
        As for `rmqalloc.strategy`.
    pop_share : int or None
        ``popShareQueueNum`` if the broker shares queues by POP.
    problem : str or None
        Why it cannot be computed; None if it can.
    """

    name: str
    params: Mapping[str, Any] = field(default_factory=dict, compare=False)
    pop_share: int | None = None
    problem: str | None = None
    text: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", repr(sorted(self.params.items())))

    def __str__(self) -> str:
        name = self.name
        if self.dialect in DIALECTS:
            name = f"{DIALECTS[self.dialect].label} {name}"
        if self.virtual_nodes is not None:
            return f"{name} with {self.virtual_nodes} virtual nodes"
        params = [
            f"{key} {str(value).lower()}"
            for key, value in self.params.items()
            if isinstance(value, bool | int | float)
        ]
        return f"{name} with {' and '.join(params)}" if params else name

    @property
    def dialect(self) -> str:
        """The client whose rule this is: Java's, or another client's that differs from it."""
        return str(self.params.get("dialect", JAVA))

    def in_dialect(self, dialect: str | None) -> Method:
        """Return the method that a client of a dialect computes under this name; the same method
        if the dialect is not known.
        """
        if dialect is None:
            return self
        name, params = in_dialect(self.name, self.params, dialect)
        return Method(name, params, problem=self.problem)

    @property
    def virtual_nodes(self) -> int | None:
        """Ring positions per client, None without a ring."""
        on_ring = inner_class_of(self.name).virtual_nodes is not None
        return self.params.get("virtual_nodes", DEFAULT_VIRTUAL_NODES) if on_ring else None

    @lazy_property
    def is_config(self) -> bool:
        """True if its lists are given and not computed."""
        return class_of(self.name).is_listed

    @lazy_property
    def asks_for_rooms(self) -> bool:
        """True if it reads machine rooms."""
        return reads_rooms(self.name)

    def strategy(self) -> Strategy:
        """Return the strategy; ValueError or TypeError if there is no such thing. Rooms come from
        the fleet, see `Rooms.put_into`.
        """
        if not self.asks_for_rooms:
            return rule(self.name, **self.params)
        params = dict(self.params)
        brokers, clients = params.pop("broker_room", None), params.pop("client_room", None)
        return rule(self.name, **params).with_rooms(brokers, clients)

    def listed(self) -> dict[str | None, list[MessageQueue]]:
        """Return CONFIG's list of queues by client id, under None where all clients have the same."""
        given = self.params.get("message_queues")
        lists = given if isinstance(given, Mapping) else {None: given or ()}
        return {client_id: listed_queues(queues or ()) for client_id, queues in lists.items()}
