"""One process with one consumer in it, from its start to its end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

from rmqalloc.model import MessageQueue
from rmqalloc.rebalance import ClientIdentity, MQClientFactory, MQClientManager, PushConsumer, Remoting, RouteViews
from rmqalloc.rebalance.allocation import Allocate
from rmqalloc.remoting import Profile
from rmqalloc.simulation._commits import SimulatedOffsetStore
from rmqalloc.simulation._network import ClientRemoting, Network
from rmqalloc.simulation._read_group import ReadGroup
from rmqalloc.simulation._reader import Reader
from rmqalloc.simulation._virtual_clock import Process
from rmqalloc.simulation._watched_queues import WatchedRebalance
from rmqalloc.strategies import Strategy


class CountingConsumer(PushConsumer):
    """A push consumer that counts its passes, with process queues that can be watched.

    Attributes
    ----------
    n_passes : int
        Passes so far.
    """

    n_passes = 0

    def __init__(self, member: Member, manager: MQClientManager, consumer_group: str, **settings: Any) -> None:
        super().__init__(manager, consumer_group, **settings)
        self.rebalance = WatchedRebalance(self)
        self._member = member

    def try_rebalance(self) -> bool:
        """One pass; False asks for another one soon."""
        self.n_passes += 1
        self._member.is_woken = False
        return super().try_rebalance()

    def _make_offset_store(self) -> SimulatedOffsetStore:
        return SimulatedOffsetStore(self.client_factory, self.consumer_group, self._member.remoting)

    def _check_group(self) -> None:
        """Names in a simulation are only text, whatever RocketMQ takes."""


class Member:
    """A process that runs one push consumer; a `Host`.

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
    look, has_seen_all, offset_of, offsets_of
        Those of the reader.
    """

    consumer: CountingConsumer
    reader: Reader
    topics: tuple[str, ...]
    look: Callable[[], None]
    has_seen_all: Callable[[], bool]
    offset_of: Callable[[MessageQueue, int], int]
    offsets_of: Callable[[Mapping[MessageQueue, int]], dict[MessageQueue, int]]

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
            self.process, self._connect, profile=profile, random=random, allocate=allocate, views=views
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
        self.reader = reader = make_reader(self.process)
        self.look, self.has_seen_all = reader.look, reader.has_seen_all
        self.offset_of, self.offsets_of = reader.offset_of, reader.offsets_of
        self.process.after = self.look
        self.consumer = CountingConsumer(
            self, self._manager, consumer_group, identity=self._identity, dispatcher=self.reader, **settings
        )
        for topic in topics:
            self.consumer.subscribe(topic)
        self.topics = tuple(topics)
        self.process.do(self.consumer.start)
        self.reader.attach(self.consumer)

    @property
    def strategy(self) -> Strategy:
        """How it divides queues."""
        return self.consumer.strategy

    def shutdown(self) -> None:
        """Leave in good order: consuming stops, then offsets are stored, locks given up and brokers informed."""
        self.process.thaw()
        self.reader.suspend()
        self.consumer.shutdown()
        self._network.later(self.close_connections)
        self.process.die()

    def crash(self) -> None:
        """Die with the connections closed by the operating system, so that brokers see it."""
        self.vanish()
        self.close_connections()

    def vanish(self) -> None:
        """Die without anybody noticing: no power, no network."""
        self.pulled()
        self.reader.suspend()
        self.consumer.client_factory.kill()
        self.process.die()

    def close_connections(self, broker_name: str | None = None) -> None:
        """Close the connections to a broker, or all; a living client makes them anew when it next asks something."""
        for connection in list(self.remoting.connections.values()):
            if connection.is_open and broker_name in (None, connection.broker.name):
                connection.close()

    def pulled(self, broker_name: str | None = None) -> None:
        """Pulls have gone over its connections up to now; no requests here, but they keep a connection busy."""
        broker_names = self.reader.broker_names()
        for connection in self.remoting.connections.values():
            if connection.broker.name in broker_names and broker_name in (None, connection.broker.name):
                connection.last_used = self.process.now()

    def freeze(self) -> None:
        """Stand still, as in a long garbage collection: connections stay, but nothing is answered."""
        self.pulled()
        self.reader.suspend()
        self.process.freeze()

    def thaw(self) -> None:
        """Go on; what has been missed is caught up with."""
        if self.process.is_alive and self.process.is_frozen:
            self.process.thaw()
            if not self.consumer.paused:
                self.reader.resume()

    def pause(self) -> None:
        """Suspend the consumer: it keeps its queues, reads none, and does not rebalance."""
        self.reader.suspend()
        self.consumer.pause()

    def resume(self) -> None:
        """Let a suspended consumer go on."""
        if self.process.is_alive and self.consumer.paused:
            if not self.process.is_frozen:  # else it goes on when it is thawed
                self.reader.resume()
            self.process.do(self.consumer.resume)

    # --- At its end of the network ---

    def notified(self, consumer_group: str) -> None:
        """A broker says that the members of a group have changed; of all notices before a pass the first one matters."""
        if not self.is_woken:
            self.is_woken = True
            self.process.do(partial(self.consumer.client_factory.notify_consumer_ids_changed, consumer_group))

    def connected(self, address: str) -> None:
        """A connection to a broker is there; what that leads to happens beside what is going on now."""
        self.process.call_later(0, lambda: self.consumer.client_factory.channel_active(address))

    def before_unlock(self, queues: Iterable[MessageQueue]) -> None:
        """Let the user's code return, if that is soon enough for the consumer to wait for it."""
        self.reader.wait_for_listeners(queues)

    def _connect(self, factory: MQClientFactory) -> Remoting:
        return self.remoting


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
    """What makes a client id: address, ``@`` and instance name; ``1`` is added to an id without an instance name.

    Examples
    --------
    >>> identity_of("pod-1").client_id, identity_of("10.0.0.1@7#99").client_id
    ('pod-1@1', '10.0.0.1@7#99')
    """
    address, _, instance = client_id.partition("@")
    return ClientIdentity(address, instance or "1")
