"""A strategy with its parameters, as clients, groups and snapshots name it, and the machine rooms of a snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc.fleet import Fleet
from rmqalloc.fleet.columns import Strings, ranges
from rmqalloc.model import MessageQueue
from rmqalloc.snapshot.snapshot import Snapshot
from rmqalloc.strategies import MachineRoomNearby, Strategy
from rmqalloc.strategies.by_name import NEARBY, rule
from rmqalloc.strategies.config import listed

SERVER_SIDE = ("AVG", "AVG_BY_CIRCLE")
"""What a broker can divide by; all else it answers with "keep what you have"."""

DEFAULT_STRATEGY, DEFAULT_NODES = "AVG", 10
"""RocketMQ's defaults."""


GO_OWN = {
    "CONSISTENT_HASH": "Go's CONSISTENT_HASH is another ring than Java's (CRC-32, no MD5), which is not computed here",
    "MACHINE_ROOM_NEARBY": "Go's AllocateByMachineNearby computes AVG",
    "MACHINE_ROOM": "Go's AllocateByMachineRoom takes blocks of all queues, not of its rooms', which is not computed here",
}
"""Strategies that Go's client computes differently under the same name."""


class Rooms(NamedTuple):
    """Machine rooms as a snapshot has them.

    Attributes
    ----------
    brokers : dict of (topic, broker_name) to str
        One broker may be given other rooms by other topics.
    clients : dict of (consumer_group, client_id) to str
        One client id may stand in other rooms in other groups.
    """

    brokers: dict[tuple[str, str], str]
    clients: dict[tuple[str, str], str]

    @classmethod
    def of(cls, snapshot: Snapshot) -> Rooms:
        """All rooms of a snapshot."""
        brokers = ((topic.name, broker) for topic in snapshot.topics for broker in topic.brokers)
        clients = ((group.name, client) for group in snapshot.groups for client in group.clients)
        return cls(
            {(topic, one.broker_name): one.machine_room for topic, one in brokers if one.machine_room},
            {(group, one.client_id): one.machine_room for group, one in clients if one.machine_room},
        )

    def put_into(self, fleet: Fleet) -> Fleet:
        """The fleet with the rooms of its brokers, by topic, and of its clients, by group."""
        names = list(dict.fromkeys([*self.brokers.values(), *self.clients.values()]))
        number = {name: i for i, name in enumerate(names)}
        queues, topics, brokers = fleet.queue_lists, fleet.topics.to_list(), fleet.brokers.to_list()
        routes = zip(queues.route_topic.tolist(), queues.route_broker.tolist(), strict=True)
        of_route = [self.brokers.get((topics[topic], brokers[broker])) for topic, broker in routes]
        # Units that share a list of ids may be of groups with different rooms, so each gets a list of its own.
        clients = fleet.client_lists.rearranged(ranges(fleet.slot_starts, fleet.n_clients), fleet.client_offsets)
        of_unit = zip(fleet.consumer_groups.to_list(), fleet.n_clients.tolist(), strict=True)
        groups = [group for group, n in of_unit for _ in range(n)]
        of_slot = map(self.clients.get, zip(groups, clients.client_ids.to_list(), strict=True))
        return replace(
            fleet,
            rooms=Strings.from_list(names),
            unit_client_list=np.arange(fleet.n_units, dtype=np.int32),
            queue_lists=replace(queues, route_room=_numbers(of_route, number)),
            client_lists=replace(clients, slot_room=_numbers(of_slot, number)),
        )


def _numbers(rooms: Iterable[str | None], number: Mapping[str, int]) -> NDArray[np.int32]:
    """Numbers of rooms, -1 where one is missing."""
    return np.array([-1 if room is None else number[room] for room in rooms], np.int32)


@dataclass(frozen=True)
class Method:
    """A strategy and its parameters; two are equal if they read the same.

    Attributes
    ----------
    name : str
        RocketMQ's name.
    params : mapping
        As `rmqalloc.strategies.by_name.rule` takes them.
    pop_share : int or None
        ``popShareQueueNum`` where the broker shares queues by POP.
    problem : str or None
        Why it cannot be computed, if it cannot.
    """

    name: str
    params: Mapping[str, Any] = field(default_factory=dict, compare=False)
    pop_share: int | None = None
    problem: str | None = None
    text: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", repr(sorted(self.params.items())))

    def __str__(self) -> str:
        nodes = self.virtual_nodes
        return self.name if nodes is None else f"{self.name} with {nodes} virtual nodes"

    @property
    def virtual_nodes(self) -> int | None:
        """Ring positions per client, None where there is no ring."""
        return self.params.get("virtual_nodes", DEFAULT_NODES) if "CONSISTENT_HASH" in self.name else None

    @property
    def is_config(self) -> bool:
        """Whether it is CONFIG, whose lists are given and not computed."""
        return self.name == "CONFIG"

    @property
    def asks_for_rooms(self) -> bool:
        """Whether it reads machine rooms."""
        return self.name.startswith(NEARBY)

    def strategy(self) -> Strategy:
        """The strategy; ValueError or TypeError if there is no such thing. Rooms come from the fleet, see `Rooms.put_into`."""
        if not self.asks_for_rooms:
            return rule(self.name, **self.params)
        params = dict(self.params)
        brokers, clients = params.pop("broker_room", None), params.pop("client_room", None)
        made = rule(self.name, **params)
        assert isinstance(made, MachineRoomNearby)
        return MachineRoomNearby(made.inner, brokers, clients)

    def listed(self) -> dict[str | None, list[MessageQueue]]:
        """CONFIG's list of queues by client id, under None where all clients have the same."""
        given = self.params.get("message_queues")
        lists = given if isinstance(given, Mapping) else {None: given or ()}
        return {one: listed(queues or ()) for one, queues in lists.items()}


def full_name(name: str, params: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """A strategy's name with that of the one inside it, and its parameters without that.

    Examples
    --------
    >>> full_name("MACHINE_ROOM_NEARBY", {"inner": "AVG"})
    ('MACHINE_ROOM_NEARBY-AVG', {})
    """
    if name == NEARBY and isinstance(params.get("inner"), str):
        name = f"{NEARBY}-{params.pop('inner')}"
    return name, params
