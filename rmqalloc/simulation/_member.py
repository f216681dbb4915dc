"""One process with one consumer in it, from its start to its end."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from functools import partial
from random import Random
from typing import Any

from rmqalloc.dataclass import dataclass
from rmqalloc.model import MessageQueue
from rmqalloc.rebalance import (
    ClientIdentity,
    MQClientFactory,
    MQClientManager,
    PushConsumer,
    RouteViews,
)
from rmqalloc.rebalance.allocation import Allocate
from rmqalloc.rebalance.driving import Steps
from rmqalloc.rebalance.offset_store import RemoteOffsetStore
from rmqalloc.rebalance.queue_table import QueueTable
from rmqalloc.remoting import Profile
from rmqalloc.simulation._network import ClientRemoting, Network
from rmqalloc.simulation._read_group import ReadGroup
from rmqalloc.simulation._reader import Reader
from rmqalloc.simulation._virtual_clock import Process
from rmqalloc.simulation._watched_queues import WatchedRebalance
from rmqalloc.strategies import Strategy


class SimulatedOffsetStore(RemoteOffsetStore):
    """Store the offsets of a client all at once; queue by queue only where a request could fail or
    take time.
    """

    def __init__(
        self, factory: MQClientFactory, consumer_group: str, remoting: ClientRemoting
    ) -> None:
        super().__init__(factory, consumer_group)
        self._remoting = remoting

    def persist_all(self, queues: Collection[MessageQueue]) -> Steps[None]:
        """Send the offsets of these queues, and forget all others without sending them; nothing if
        there are none.
        """
        if not queues or not self._persist_together(queues):
            yield from super().persist_all(queues)

    def _persist_together(self, queues: Collection[MessageQueue]) -> bool:
        """Send all offsets together; return False, with nothing sent, where that is not possible."""
        assert isinstance(queues, QueueTable)
        forgotten = queues.lacks(self._offsets)
        offsets = (
            self._offsets
            if not forgotten
            else {q: n for q, n in self._offsets.items() if q in queues}
        )
        by_address = self._by_address(offsets)
        if by_address is None or not self._remoting.update_offsets(
            self._consumer_group, by_address
        ):
            return False
        for queue in forgotten:
            self.remove_offset(queue)
        return True

    def _by_address(
        self, offsets: Mapping[MessageQueue, int]
    ) -> dict[str, dict[MessageQueue, int]] | None:
        """Return the offsets by the address that they go to; None if a broker has no address or
        shares one.
        """
        routes = self._factory.routes
        find = routes.any_of if self._factory.profile.commits_to_known_server else routes.master_of
        by_broker: dict[str | None, dict[MessageQueue, int]] = {}
        for queue, offset in offsets.items():
            by_broker.setdefault(routes.broker_of(queue), {})[queue] = offset
        by_address = {find(broker_name): mine for broker_name, mine in by_broker.items()}
        if None in by_address or len(by_address) < len(by_broker):
            return None
        return by_address  # type: ignore[return-value]


class CountingConsumer(PushConsumer):
    """A push consumer that counts its passes, with process queues that can be watched.

    Attributes
    ----------
    n_passes : int
        Passes so far.
    """

    n_passes = 0

    def __init__(
        self, member: Member, manager: MQClientManager, consumer_group: str, **settings: Any
    ) -> None:
        super().__init__(manager, consumer_group, **settings)
        self.rebalance = WatchedRebalance(self)
        self._member = member

    def try_rebalance(self) -> Steps[bool]:
        """Run one pass; False asks for another one soon."""
        self.n_passes += 1
        self._member.is_woken = False
        return super().try_rebalance()

    def _make_offset_store(self) -> SimulatedOffsetStore:
        return SimulatedOffsetStore(self.client_factory, self.consumer_group, self._member.remoting)

    def _check_group(self) -> None:
        """Accept any name: in a simulation names are only text."""


class Member:
    """A process that runs one push consumer.

    Attributes
    ----------
    process : Process
        Its life, and its clock.
    consumer : CountingConsumer
        Its consumer.
    remoting : ClientRemoting
        Its requests.
    reader : Reader
        What it owns and reads.
    topics : tuple of str
        What it subscribes to.
    is_woken : bool
        A notice came after the last pass, so that the next one is on its way already.
    """

    consumer: CountingConsumer
    reader: Reader
    topics: tuple[str, ...]

    def __init__(
        self,
        name: str,
        identity: ClientIdentity,
        network: Network,
        profile: Profile,
        random: Random,
        allocate: Allocate,
        views: RouteViews,
    ) -> None:
        self.name = name
        self.client_id = identity.client_id
        self.process = Process(network.clock)
        self.is_woken = False
        self._identity = identity
        self._network = network
        self.remoting = ClientRemoting(network, self)
        self._manager = MQClientManager(
            self.process,
            lambda _: self.remoting,
            profile=profile,
            random=random,
            allocate=allocate,
            views=views,
        )

    # --- Life ---

    def start(
        self,
        consumer_group: str,
        topics: Sequence[str],
        make_reader: Callable[[Process], Reader],
        **settings: Any,
    ) -> None:
        """Join a group; the settings are those of `rmqalloc.rebalance.PushConsumer`."""
        self.reader = make_reader(self.process)
        self.process.after = self.reader.look
        self.consumer = CountingConsumer(
            self,
            self._manager,
            consumer_group,
            identity=self._identity,
            dispatcher=self.reader,
            **settings,
        )
        for topic in topics:
            self.consumer.subscribe(topic)
        self.topics = tuple(topics)
        self.process.do(self.consumer.start)
        self.reader.attach(self.consumer)

    @property
    def strategy(self) -> Strategy:
        """Return how it divides queues."""
        return self.consumer.strategy

    def shutdown(self) -> None:
        """Leave in good order: stop consuming, store offsets, give up locks, inform brokers."""
        self.process.thaw()
        self.reader.suspend()
        self.consumer.shutdown()
        self._network.later(self.close_connections)
        self.process.die()

    def crash(self) -> None:
        """Die with connections closed by the operating system, so that brokers notice."""
        self.vanish()
        self.close_connections()

    def vanish(self) -> None:
        """Die without any broker noticing: no power, no network."""
        self.pulled()
        self.reader.suspend()
        self.consumer.client_factory.kill()
        self.process.die()

    def close_connections(self, broker_name: str | None = None) -> None:
        """Close the connections to a broker, or all; a living client reopens them with its next
        request.
        """
        for connection in list(self.remoting.connections.values()):
            if connection.is_open and broker_name in (None, connection.broker.name):
                connection.close()

    def pulled(self, broker_name: str | None = None) -> None:
        """Mark connections as used up to now: pulls are no requests here, but keep a connection
        busy.
        """
        broker_names = self.reader.broker_names()
        for connection in self.remoting.connections.values():
            if connection.broker.name in broker_names and broker_name in (
                None,
                connection.broker.name,
            ):
                connection.last_used = self.process.now()

    def freeze(self) -> None:
        """Freeze, as in a long garbage collection: connections stay open, but nothing is answered."""
        self.pulled()
        self.reader.suspend()
        self.process.freeze()

    def thaw(self) -> None:
        """Resume after a freeze and catch up."""
        if self.process.is_alive and self.process.is_frozen:
            self.process.thaw()
            if not self.consumer.paused:
                self.reader.resume()

    def pause(self) -> None:
        """Suspend the consumer: it keeps its queues, reads none, and does not rebalance."""
        self.reader.suspend()
        self.consumer.pause()

    def resume(self) -> None:
        """Resume a suspended consumer."""
        if self.process.is_alive and self.consumer.paused:
            if not self.process.is_frozen:  # else it goes on when it is thawed
                self.reader.resume()
            self.process.do(self.consumer.resume)

    # --- At its end of the network ---

    def notified(self, consumer_group: str) -> None:
        """Handle a notice that the members of a group changed; of all notices before a pass only
        the first matters.
        """
        if not self.is_woken:
            self.is_woken = True
            self.process.do(
                partial(self.consumer.client_factory.notify_consumer_ids_changed, consumer_group)
            )

    def connected(self, address: str) -> None:
        """Handle a new broker connection. Follow-up work is scheduled, not run inline."""
        self.process.call_later(0, lambda: self.consumer.client_factory.channel_active(address))


@dataclass(eq=False)
class SimulatedGroup(ReadGroup):
    """A consumer group and its members.

    Attributes
    ----------
    members : list of Member
        Every process that ever joined; owners in the timeline are positions in it.
    """

    members: list[Member] = field(default_factory=list)


def identity_of(client_id: str) -> ClientIdentity:
    """Split a client id into address and instance name; an id without an instance name gets ``1``.

    Examples
    --------
    >>> identity_of("pod-1").client_id, identity_of("10.0.0.1@7#99").client_id
    ('pod-1@1', '10.0.0.1@7#99')
    """
    address, _, instance = client_id.partition("@")
    return ClientIdentity(address, instance or "1")
