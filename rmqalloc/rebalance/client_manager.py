"""The clients of one process, by client id."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

from rmqalloc.rebalance.allocation import Allocate, sorted_allocate
from rmqalloc.rebalance.client_factory import Intervals, MQClientFactory
from rmqalloc.rebalance.ports import Remoting
from rmqalloc.rebalance.routes import RouteViews
from rmqalloc.remoting import DEFAULT_PROFILE, Profile
from rmqalloc.remoting.clock import Clock


class MQClientManager:
    """A process with clients in it: what they share, and one factory per client id.

    Two processes that happen to have clients of one id need a manager each.

    Parameters
    ----------
    clock : Clock
        Time and timers of the process.
    connect : callable
        ``connect(factory)`` gives a new client its `Remoting`. Keep the factory to tell it of notices
        (`MQClientFactory.notify_consumer_ids_changed`, `MQClientFactory.channel_active`).
    profile : Profile
        Release of RocketMQ; the newest if not given.
    random : random.Random, optional
        Chooses the brokers to ask; seed it for runs that repeat.
    allocate : Allocate
        How strategies are asked; see `rmqalloc.rebalance.allocation`.
    views : RouteViews, optional
        Shared with other managers, it makes the view of a route once for all of them.
    intervals : Intervals
        How often clients do what.
    heartbeat_v2 : bool
        Use the second form of heartbeats, if the profile has it.
    pid : int, optional
        Process id, for client ids.
    nano_time : callable
        Nanoseconds of an arbitrary origin, for client ids.
    offset_directory : path, optional
        Where broadcasting consumers keep offsets; ``~/.rocketmq_offsets`` if not given
        (``rocketmq.client.localOffsetStoreDir``).

    Attributes
    ----------
    factories : dict of str to MQClientFactory
        Clients by client id.

    Notes
    -----
    ``org.apache.rocketmq.client.impl.MQClientManager``, which is one per Java process.
    """

    def __init__(
        self,
        clock: Clock,
        connect: Callable[[MQClientFactory], Remoting],
        *,
        profile: Profile = DEFAULT_PROFILE,
        random: Random | None = None,
        allocate: Allocate = sorted_allocate,
        views: RouteViews | None = None,
        intervals: Intervals = Intervals(),  # noqa: B008 (frozen)
        heartbeat_v2: bool = False,
        pid: int | None = None,
        nano_time: Callable[[], int] = time.monotonic_ns,
        offset_directory: str | os.PathLike[str] | None = None,
    ) -> None:
        self.clock = clock
        self.connect = connect
        self.profile = profile
        self.random = Random() if random is None else random
        self.allocate = allocate
        self.views = RouteViews() if views is None else views
        self.intervals = intervals
        self.heartbeat_v2 = heartbeat_v2
        self.pid = os.getpid() if pid is None else pid
        self.nano_time = nano_time
        self.offset_directory = (
            Path.home() / ".rocketmq_offsets" if offset_directory is None else Path(offset_directory)
        )
        self.factories: dict[str, MQClientFactory] = {}

    def get_or_create(self, client_id: str) -> MQClientFactory:
        """The client of this id, shared by all consumers that ask for it."""
        if client_id not in self.factories:
            self.factories[client_id] = MQClientFactory(client_id, self)
        return self.factories[client_id]

    def forget(self, factory: MQClientFactory) -> None:
        """A client has ended; its id may be used anew."""
        if self.factories.get(factory.client_id) is factory:
            del self.factories[factory.client_id]
