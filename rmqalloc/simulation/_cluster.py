"""A cluster: name server, brokers, and the members of consumer groups, wired and ready to be
disturbed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from random import Random
from typing import Any, NamedTuple

from rmqalloc.broker import Broker, RequestMode, SubscriptionGroup
from rmqalloc.model import MessageQueue
from rmqalloc.rebalance import RouteViews
from rmqalloc.remoting import (
    BrokerData,
    Profile,
    QueueData,
    ResponseCode,
    ResponseError,
    TopicRouteData,
)
from rmqalloc.simulation._allocation_cache import SharedAllocation
from rmqalloc.simulation._member import Member, SimulatedGroup, identity_of
from rmqalloc.simulation._messages import Flow
from rmqalloc.simulation._network import Network
from rmqalloc.simulation._reader import Reader
from rmqalloc.simulation._settings import configure
from rmqalloc.simulation._timeline import Timeline
from rmqalloc.simulation._virtual_clock import Process, VirtualClock
from rmqalloc.strategies import Strategy, sort_queues

ROUTE_EXPIRY = 120_000
"""A broker that died without a word stays in routes that long (ms)."""


class NameServer:
    """Register brokers and answer with routes; it never fails.

    Attributes
    ----------
    brokers : dict of str to (Broker, str)
        Registered brokers and their addresses, by name.
    """

    def __init__(self) -> None:
        self.brokers: dict[str, tuple[Broker, str]] = {}
        self._routes: dict[str, TopicRouteData] = {}

    def register(self, broker: Broker, address: str) -> None:
        """Register a broker, with all it holds now and will hold."""
        self.brokers[broker.name] = broker, address

    def unregister(self, broker_name: str) -> None:
        """Forget a broker, and its queues with it."""
        self.brokers.pop(broker_name, None)

    def topic_route(self, topic: str) -> TopicRouteData:
        """Return the route of a topic; the same object as long as nothing about it changes."""
        brokers = self.brokers.items()
        holders = sorted(name for name, (broker, _) in brokers if topic in broker.topics)
        if not holders:
            raise ResponseError(ResponseCode.TOPIC_NOT_EXIST, f"no route to {topic}")
        queue_datas = tuple(self.brokers[name][0].topics[topic] for name in holders)
        known = self._routes.get(topic)
        if known is None or known.queue_datas != queue_datas:
            broker_datas = tuple(BrokerData(name, {0: self.brokers[name][1]}) for name in holders)
            known = self._routes[topic] = TopicRouteData(queue_datas, broker_datas)
        return known


class BadlyOwned(NamedTuple):
    """Numbers of queues with no owner, and with several."""

    unowned: int
    double_owned: int


class Cluster:
    """A simulated cluster: everything that a script acts on.

    Parameters
    ----------
    profile : Profile
        Release of brokers and clients.
    seed : int
        Seed of all random choices.
    latency : int
        Milliseconds one way between any two.

    Attributes
    ----------
    clock : VirtualClock
        Time.
    network : Network
        Who can reach whom.
    groups : dict of str to SimulatedGroup
        By name.
    members : dict of str to Member
        The latest process of every name.

    Examples
    --------
    >>> from rmqalloc.remoting import DEFAULT_PROFILE
    >>> from rmqalloc.simulation import Flow
    >>> from rmqalloc import strategy
    >>> cluster = Cluster(DEFAULT_PROFILE)
    >>> cluster.start_broker("broker-a")
    >>> cluster.set_topic("orders", "broker-a", read_queue_nums=4)
    >>> group = cluster.add_group("g", {"orders": Flow(0, 0)}, strategy("AVG"))
    >>> for name in ("x", "y"):
    ...     member = cluster.join(group, name)
    >>> cluster.run(until=5_000)
    >>> [owners for queue, owners in cluster.owners(group).items()]
    [['x@1'], ['x@1'], ['y@1'], ['y@1']]
    """

    def __init__(self, profile: Profile, seed: int = 0, latency: int = 1) -> None:
        self.clock = VirtualClock()
        self._name_server = NameServer()
        self.network = Network(self.clock, self._name_server.topic_route, latency)
        self.groups: dict[str, SimulatedGroup] = {}
        self.members: dict[str, Member] = {}
        self._profile = profile
        self._random = Random(seed)
        self._brokers: dict[str, tuple[Broker, Process]] = {}
        self._allocate = SharedAllocation()
        self._views = RouteViews()
        self._settings: dict[str, dict[str, Any]] = {}

    def run(self, until: int) -> None:
        """Let time pass up to ``until`` milliseconds since the beginning."""
        self.clock.run(self.clock.now() - self.clock.elapsed() + until)

    # --- Brokers and topics ---

    @property
    def broker_names(self) -> tuple[str, ...]:
        """Return the names of all brokers, running or not."""
        return tuple(self._brokers)

    def brokers_of(self, topic: str) -> list[str]:
        """Return the brokers that hold a topic."""
        return [name for name, (broker, _) in self._brokers.items() if topic in broker.topics]

    def start_broker(self, name: str) -> None:
        """Start a broker; one that ran before has its topics and offsets, but neither connections
        nor locks.
        """
        process = Process(self.clock)
        old = self._brokers[name][0] if name in self._brokers else None
        modes = None if old is None else old.request_modes
        broker = Broker(
            name,
            process,
            self._profile,
            topic_route=self._name_server.topic_route,
            request_modes=modes,
        )
        if old is not None:
            broker.topics, broker.offsets = old.topics, old.offsets
            broker.subscription_groups = old.subscription_groups
        broker.notifier.tell_together = self.network.notify
        configure(broker, self._settings.setdefault(name, {}))
        self._brokers[name] = broker, process
        self.network.brokers[address_of(name)] = broker
        self._name_server.register(broker, address_of(name))

    def stop_broker(self, name: str, crash: bool = False) -> None:
        """Stop a broker; in good order it leaves all routes at once, else only after two minutes."""
        broker, process = self._brokers[name]
        process.die()
        self.network.brokers.pop(address_of(name), None)
        for member in self.members.values():
            member.close_connections(name)
        forget = partial(self._forget_broker, broker)
        if crash:
            self.clock.call_later(ROUTE_EXPIRY, forget)
        else:
            forget()

    def _forget_broker(self, broker: Broker) -> None:
        if self._brokers[broker.name][0] is broker:
            self._name_server.unregister(broker.name)

    def set_topic(self, topic: str, broker_name: str, read_queue_nums: int, perm: int = 6) -> None:
        """Set how many queues of a topic consumers may read on a broker."""
        broker, _ = self._brokers[broker_name]
        old, new = (
            broker.topics.get(topic),
            QueueData(broker_name, read_queue_nums, read_queue_nums, perm),
        )
        broker.topics[topic] = new
        before = set() if old is None else set(TopicRouteData((old,)).readable_queues(topic))
        after = set(TopicRouteData((new,)).readable_queues(topic))
        now = self.clock.elapsed()
        for group in self.groups.values():
            if topic in group.topics:
                group.timeline.add_queues(sort_queues(after - before), now)
                group.timeline.remove_queues(sort_queues(before - after), now)

    def set_notices(self, enabled: bool) -> None:
        """Let all brokers notify clients of changed groups or not."""
        for name in self._brokers:
            self.configure_broker(name, {"notify_consumer_ids_changed_enable": enabled})

    def configure_broker(self, name: str, settings: Mapping[str, Any]) -> None:
        """Change settings of a broker, by RocketMQ's names in snake case; it keeps them over a
        restart.
        """
        self._settings.setdefault(name, {}).update(settings)
        if (max_idle := settings.get("server_channel_max_idle_time_seconds")) is not None:
            self.network.max_idle[name] = int(max_idle)
        if name in self._brokers:
            configure(self._brokers[name][0], self._settings[name])

    def configure_group(self, consumer_group: str, name: str, **settings: Any) -> None:
        """Configure a group on a broker; the fields of `rmqalloc.broker.SubscriptionGroup` that are
        not given stay.
        """
        known = self._brokers[name][0].subscription_groups
        known[consumer_group] = replace(known.get(consumer_group, SubscriptionGroup()), **settings)

    def set_request_mode(
        self, topic: str, consumer_group: str, name: str, mode: RequestMode
    ) -> None:
        """Set how a group reads a topic of a broker; ResponseError if the broker refuses."""
        self._brokers[name][0].set_message_request_mode(topic, consumer_group, mode)

    def is_up(self, name: str) -> bool:
        """Return True if a broker runs."""
        return self._brokers[name][1].is_alive

    def partition(self, member_name: str, broker_name: str, lasts: int) -> None:
        """Cut a client off from a broker for a while."""
        pair = member_name, broker_name
        if member_name in self.members:
            self.members[member_name].pulled(broker_name)
        self.network.partitions.add(pair)
        self.clock.call_later(lasts, lambda: self.network.partitions.discard(pair))

    def _queues(self, topic: str) -> list[MessageQueue]:
        try:
            return sort_queues(self._name_server.topic_route(topic).readable_queues(topic))
        except ResponseError:
            return []

    # --- Groups and members ---

    def add_group(
        self,
        name: str,
        flows: dict[str, Flow],
        strategy: Strategy,
        is_ordered: bool = False,
        listener_time: int = 0,
        server_assignment: bool = False,
    ) -> SimulatedGroup:
        """Make a group known, so that its queues are watched; its members are still to join."""
        topics = tuple(sorted(flows))
        timeline = Timeline(list(chain.from_iterable(map(self._queues, topics))))
        group = SimulatedGroup(
            name,
            topics,
            strategy,
            flows,
            timeline,
            is_ordered=is_ordered,
            listener_time=listener_time,
            server_assignment=server_assignment,
        )
        self.groups[name] = group
        return group

    def join(
        self,
        group: SimulatedGroup,
        name: str,
        client_id: str | None = None,
        strategy: Strategy | None = None,
        topics: Sequence[str] | None = None,
    ) -> Member:
        """Start a process of a group; id, strategy and topics are those of the name and the group
        if not given.
        """
        number = len(group.members)
        seed = self._random.getrandbits(64)
        identity = identity_of(name if client_id is None else client_id)
        member = Member(
            name, identity, self.network, self._profile, Random(seed), self._allocate, self._views
        )
        self.members[name] = member
        group.members.append(member)
        self.clock.begin_action()
        member.start(
            group.name,
            group.topics if topics is None else topics,
            partial(self._reader, group, number, seed),
            strategy=group.strategy if strategy is None else strategy,
            orderly=group.is_ordered,
            client_rebalance=not group.server_assignment,
        )
        return member

    def _reader(self, group: SimulatedGroup, number: int, seed: int, process: Process) -> Reader:
        return Reader(
            number, group, self.clock, process, self._profile.ordered_lock_wait, Random(seed + 1)
        )

    # --- What is seen ---

    def owners(self, group: SimulatedGroup) -> dict[MessageQueue, list[str]]:
        """Return the client ids that work on each queue now."""
        timeline = group.timeline
        return {
            queue: sorted(group.members[number].client_id for number in timeline.owners[place])
            for place, queue in enumerate(timeline.queues)
            if timeline.exists(place)
        }

    def expected_owners(
        self, group: SimulatedGroup, broker_name: str
    ) -> dict[MessageQueue, str | None]:
        """Return the owner of each queue by the group's strategy and one broker's client list; None
        if unowned.
        """
        broker, _ = self._brokers[broker_name]
        try:
            client_ids = broker.consumers.consumer_ids(group.name)
        except ResponseError:
            client_ids = []
        expected: dict[MessageQueue, str | None] = {}
        for topic in group.topics:
            queues = frozenset(self._queues(topic))
            expected.update(dict.fromkeys(queues))
            for client_id in dict.fromkeys(client_ids):
                if queues:
                    share = self._allocate(
                        group.strategy, group.name, client_id, queues, client_ids
                    )
                    expected.update(dict.fromkeys(share or (), client_id))
        return expected

    def badly_owned(self) -> BadlyOwned:
        """Count queues of all groups that no process, or more than one, works on now."""
        n_owners: list[int] = []
        for group in self.groups.values():
            n_owners += map(len, self.owners(group).values())
        return BadlyOwned(n_owners.count(0), sum(n > 1 for n in n_owners))

    def last_change(self) -> int:
        """Return when the owners of any queue last changed, in milliseconds since the simulation
        began.
        """
        return max((group.timeline.last_change for group in self.groups.values()), default=0)

    def counts(self) -> Counter[str]:
        """Count what has happened: requests by kind, notices, passes, process queues made."""
        counts = Counter(self.network.requests)
        counts["notices"] = self.network.n_notices
        for group in self.groups.values():
            counts["passes"] += sum(member.consumer.n_passes for member in group.members)
            counts["process_queues"] += sum(member.reader.n_created for member in group.members)
        return counts


def address_of(broker_name: str) -> str:
    """Return the address of a broker."""
    return f"{broker_name}:10911"
