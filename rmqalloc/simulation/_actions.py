"""What each kind of event of a script does to a cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial, partialmethod
from typing import Any

from rmqalloc.client_ids import host_of
from rmqalloc.documents.fields import ScenarioError
from rmqalloc.remoting import ResponseError
from rmqalloc.remoting.bodies import PERM_READ, PERM_WRITE
from rmqalloc.simulation._cluster import Cluster
from rmqalloc.simulation._events import (
    ChangeTopic,
    Disconnect,
    Event,
    Join,
    Notices,
    Partition,
    Pause,
    RestartBroker,
    RollingRestart,
    Shutdown,
)
from rmqalloc.simulation._member import Member, SimulatedGroup
from rmqalloc.simulation._settings import SetConsumeMode, UpdateBrokerConfig, UpdateSubGroup


def perform(cluster: Cluster, event: Event) -> int:
    """Do what an event says, now and over the time it takes; return that time in milliseconds."""
    return getattr(_Actions(cluster), f"on_{event.kind}")(event.detail) or 0


class _Actions:
    """Do events to a cluster; each kind of event is a method ``on_`` with its name, which returns
    how long the event lasts.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    # --- Clients ---

    def on_join(self, event: Join) -> None:
        group = self._cluster.groups[event.group]
        for name in event.clients:
            self._start(group, name, event.client_id, event.made_strategy(), event.topics)

    def _start(self, group: SimulatedGroup, name: str, *settings: Any) -> None:
        if name in self._cluster.members and self._cluster.members[name].process.is_alive:
            raise ScenarioError(
                f"client {name} joins {group.name} while it is running; let it leave before"
            )
        self._cluster.join(group, name, *settings)

    def _leave(self, how: Callable[[Member], None], event: Shutdown) -> None:
        for member in self._living(event.clients):
            self._cluster.clock.begin_action()
            how(member)

    on_shutdown = partialmethod(_leave, Member.shutdown)
    on_crash = partialmethod(_leave, Member.crash)
    on_vanish = partialmethod(_leave, Member.vanish)

    def on_disconnect(self, event: Disconnect) -> None:
        broker_names = self._up(event.brokers or ()) or self._cluster.broker_names
        for member in self._living(event.clients):
            for broker_name in broker_names:
                member.close_connections(broker_name)

    def _for_a_while(
        self, begin: Callable[[Member], None], end: Callable[[Member], None], event: Pause
    ) -> int:
        """Schedule the end first: what the beginning waits for does not make it later than the
        script says.
        """
        clock = self._cluster.clock
        for member in self._living(event.clients):
            clock.begin_action()
            clock.call_later(event.lasts, partial(end, member))
            begin(member)
        return event.lasts

    on_pause = partialmethod(_for_a_while, Member.pause, Member.resume)
    on_freeze = partialmethod(_for_a_while, Member.freeze, Member.thaw)

    def on_rolling_restart(self, event: RollingRestart) -> int:
        group, clock = self._cluster.groups[event.group], self._cluster.clock
        members = sorted(
            (one for one in group.members if one.process.is_alive),
            key=lambda member: member.client_id,
        )
        batches = [members[i : i + event.batch] for i in range(0, len(members), event.batch)]
        for i, batch in enumerate(batches):
            down = Shutdown(tuple(member.name for member in batch))
            clock.call_later(i * event.every, partial(self.on_shutdown, down))
            clock.call_later(
                i * event.every + event.down, partial(self._restart, group, batch, event.new_ids)
            )
        return max(0, len(batches) - 1) * event.every + event.down

    def _restart(self, group: SimulatedGroup, members: Iterable[Member], new_ids: bool) -> None:
        """Start processes again, by default with the same address and another instance name."""
        starts = Counter(member.name for member in group.members)
        for member in members:
            client_id = member.client_id
            if new_ids:
                client_id = f"{host_of(client_id)}@{starts[member.name] + 1}"
            self._start(group, member.name, client_id, member.strategy, member.topics)

    def _living(self, names: Iterable[str]) -> list[Member]:
        """Return the processes of these names; all of them must run."""
        members = self._cluster.members
        for name in names:
            if name not in members or not members[name].process.is_alive:
                raise ScenarioError(f"client {name} does not run; let it join before")
        return [members[name] for name in names]

    # --- Brokers ---

    def on_restart_broker(self, event: RestartBroker) -> int:
        for name in self._up(event.brokers):
            self._cluster.stop_broker(name, event.crash)
            self._cluster.clock.call_later(event.lasts, partial(self._cluster.start_broker, name))
        return event.lasts

    def on_change_topic(self, event: ChangeTopic) -> None:
        perm = PERM_READ | PERM_WRITE if event.readable else PERM_WRITE
        for name in self._up(event.brokers or self._cluster.brokers_of(event.topic)):
            self._cluster.set_topic(event.topic, name, event.read_queue_nums, perm)

    def on_partition(self, event: Partition) -> int:
        for client in event.clients:
            for broker in event.brokers:
                self._cluster.partition(client, broker, event.lasts)
        return event.lasts

    def on_notices(self, event: Notices) -> None:
        self._up(self._cluster.broker_names)
        self._cluster.set_notices(event.enabled)

    def on_update_broker_config(self, event: UpdateBrokerConfig) -> None:
        for name in self._up(event.brokers or self._cluster.broker_names):
            self._cluster.configure_broker(name, event.given())

    def on_update_sub_group(self, event: UpdateSubGroup) -> None:
        for name in self._up(event.brokers or self._cluster.broker_names):
            self._cluster.configure_group(event.group, name, **event.given())

    def on_set_consume_mode(self, event: SetConsumeMode) -> None:
        for name in self._up(event.brokers or self._cluster.brokers_of(event.topic)):
            try:
                self._cluster.set_request_mode(event.topic, event.group, name, event.made())
            except ResponseError as error:
                raise ScenarioError(f"is refused by {name}: {error}") from None

    def _up(self, names: Iterable[str]) -> list[str]:
        """Return these brokers; all of them must run."""
        for name in names:
            if not self._cluster.is_up(name):
                raise ScenarioError(f"broker {name} is down; wait until it is back")
        return list(names)
