"""What each kind of step of a script does to a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial, partialmethod

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
    Shutdown,
)
from rmqalloc.simulation._member import Member
from rmqalloc.simulation._settings import SetConsumeMode, UpdateBrokerConfig, UpdateSubGroup
from rmqalloc.simulation._steps import ClusterStep


def perform(cluster: Cluster, step: ClusterStep | Event) -> None:
    """Do what a step says, now and over the time it takes."""
    getattr(_Actions(cluster), f"on_{step.kind}")(step.detail)


class _Actions:
    """Do steps to a cluster; each kind of step is a method ``on_`` with its name."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    # --- Clients ---

    def on_join(self, event: Join) -> None:
        assert event.group is not None  # a step names it
        group = self._cluster.groups[event.group]
        for name in _named(event.clients):
            if name in self._cluster.members and self._cluster.members[name].process.is_alive:
                raise ScenarioError(
                    f"client {name} joins {group.name} while it is running; let it leave before"
                )
            strategy = event.made_strategy()
            self._cluster.join(group, name, event.client_id, strategy, event.topics)

    def _leave(self, how: Callable[[Member], None], event: Shutdown) -> None:
        for member in self._living(_named(event.clients)):
            self._cluster.clock.begin_action()
            how(member)

    on_shutdown = partialmethod(_leave, Member.shutdown)
    on_crash = partialmethod(_leave, Member.crash)
    on_vanish = partialmethod(_leave, Member.vanish)

    def on_disconnect(self, event: Disconnect) -> None:
        broker_names = self._up(_named(event.brokers or ())) or self._cluster.broker_names
        for member in self._living(_named(event.clients)):
            for broker_name in broker_names:
                member.close_connections(broker_name)

    def _for_a_while(
        self, begin: Callable[[Member], None], end: Callable[[Member], None], event: Pause
    ) -> None:
        """Schedule the end first: what the beginning waits for does not make it later than the
        script says.
        """
        clock = self._cluster.clock
        for member in self._living(_named(event.clients)):
            clock.begin_action()
            clock.call_later(event.lasts, partial(end, member))
            begin(member)

    on_pause = partialmethod(_for_a_while, Member.pause, Member.resume)
    on_freeze = partialmethod(_for_a_while, Member.freeze, Member.thaw)

    def _living(self, names: Iterable[str]) -> list[Member]:
        """Return the processes of these names; all of them must run."""
        members = self._cluster.members
        for name in names:
            if name not in members or not members[name].process.is_alive:
                raise ScenarioError(f"client {name} does not run; let it join before")
        return [members[name] for name in names]

    # --- Brokers ---

    def on_restart_broker(self, event: RestartBroker) -> None:
        for name in self._up(_named(event.brokers)):
            self._cluster.stop_broker(name, event.crash)
            self._cluster.clock.call_later(event.lasts, partial(self._cluster.start_broker, name))

    def on_change_topic(self, event: ChangeTopic) -> None:
        perm = PERM_READ | PERM_WRITE if event.readable else PERM_WRITE
        brokers = event.brokers or tuple(self._cluster.brokers_of(event.topic))
        for name in self._up(_named(brokers)):
            self._cluster.set_topic(event.topic, name, event.read_queue_nums, perm)

    def on_partition(self, event: Partition) -> None:
        for client in _named(event.clients):
            for broker in _named(event.brokers):
                self._cluster.partition(client, broker, event.lasts)

    def on_notices(self, event: Notices) -> None:
        self._up(self._cluster.broker_names)
        self._cluster.set_notices(event.enabled)

    def on_update_broker_config(self, event: UpdateBrokerConfig) -> None:
        for name in self._up(event.brokers or self._cluster.broker_names):
            self._cluster.configure_broker(name, event.given())

    def on_update_sub_group(self, event: UpdateSubGroup) -> None:
        assert event.group is not None  # a step names it
        for name in self._up(event.brokers or self._cluster.broker_names):
            self._cluster.configure_group(event.group, name, **event.given())

    def on_set_consume_mode(self, event: SetConsumeMode) -> None:
        assert event.group is not None  # a step names it
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


def _named(names: int | tuple[str, ...]) -> tuple[str, ...]:
    """Return the names in a step; an event may say how many instead."""
    assert isinstance(names, tuple)
    return names
