"""What each kind of event of a script does to a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from rmqalloc.documents.fields import ScenarioError
from rmqalloc.model import host_of
from rmqalloc.remoting import ResponseError
from rmqalloc.remoting.bodies import PERM_READ, PERM_WRITE
from rmqalloc.simulation._cluster import Cluster
from rmqalloc.simulation._events import (
    ChangeTopic,
    Disconnect,
    Event,
    Freeze,
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
    """Do what an event says, now and over the time it takes."""
    return _ACTIONS[event.kind](cluster, event.detail)


def _join(cluster: Cluster, event: Join) -> int:
    group = cluster.groups[event.group]
    for name in event.clients:
        _start(cluster, group, name, event.client_id, event.made_strategy(), event.topics)
    return 0


def _start(cluster: Cluster, group: SimulatedGroup, name: str, *settings: Any) -> None:
    if name in cluster.members and cluster.members[name].process.is_alive:
        raise ScenarioError(f"client {name} joins {group.name} while it is running; let it leave before")
    cluster.join(group, name, *settings)


def _leave(how: Callable[[Member], None], cluster: Cluster, event: Shutdown) -> int:
    for member in _living(cluster, event.clients):
        cluster.clock.begin_action()
        how(member)
    return 0


def _disconnect(cluster: Cluster, event: Disconnect) -> int:
    broker_names = _up(cluster, event.brokers) if event.brokers else cluster.broker_names
    for member in _living(cluster, event.clients):
        for broker_name in broker_names:
            member.close_connections(broker_name)
    return 0


def _pause(cluster: Cluster, event: Pause) -> int:
    return _for_a_while(cluster, event, Member.pause, Member.resume)


def _freeze(cluster: Cluster, event: Freeze) -> int:
    return _for_a_while(cluster, event, Member.freeze, Member.thaw)


def _for_a_while(cluster: Cluster, event: Pause, begin: Callable[[Member], None], end: Callable[[Member], None]) -> int:
    """The end is set first: what the beginning waits for does not make it later than the script says."""
    for member in _living(cluster, event.clients):
        cluster.clock.begin_action()
        cluster.clock.call_later(event.lasts, partial(end, member))
        begin(member)
    return event.lasts


def _restart_broker(cluster: Cluster, event: RestartBroker) -> int:
    for name in _up(cluster, event.brokers):
        cluster.stop_broker(name, event.crash)
        cluster.clock.call_later(event.lasts, partial(cluster.start_broker, name))
    return event.lasts


def _change_topic(cluster: Cluster, event: ChangeTopic) -> int:
    perm = PERM_READ | PERM_WRITE if event.readable else PERM_WRITE
    for name in _up(cluster, event.brokers or cluster.brokers_of(event.topic)):
        cluster.set_topic(event.topic, name, event.read_queue_nums, perm)
    return 0


def _partition(cluster: Cluster, event: Partition) -> int:
    for client in event.clients:
        for broker in event.brokers:
            cluster.partition(client, broker, event.lasts)
    return event.lasts


def _notices(cluster: Cluster, event: Notices) -> int:
    _up(cluster, cluster.broker_names)
    cluster.set_notices(event.enabled)
    return 0


def _update_broker_config(cluster: Cluster, event: UpdateBrokerConfig) -> int:
    for name in _up(cluster, event.brokers or cluster.broker_names):
        cluster.configure_broker(name, event.given())
    return 0


def _update_sub_group(cluster: Cluster, event: UpdateSubGroup) -> int:
    for name in _up(cluster, event.brokers or cluster.broker_names):
        cluster.configure_group(event.group, name, **event.given())
    return 0


def _set_consume_mode(cluster: Cluster, event: SetConsumeMode) -> int:
    for name in _up(cluster, event.brokers or cluster.brokers_of(event.topic)):
        try:
            cluster.set_request_mode(event.topic, event.group, name, event.made())
        except ResponseError as error:
            raise ScenarioError(f"is refused by {name}: {error}") from None
    return 0


def _rolling_restart(cluster: Cluster, event: RollingRestart) -> int:
    group = cluster.groups[event.group]
    members = sorted((one for one in group.members if one.process.is_alive), key=lambda member: member.client_id)
    batches = [members[i : i + event.batch] for i in range(0, len(members), event.batch)]
    for i, batch in enumerate(batches):
        cluster.clock.call_later(i * event.every, partial(_shut_down, cluster, batch))
        cluster.clock.call_later(
            i * event.every + event.down, partial(_start_anew, cluster, group, batch, event.new_ids)
        )
    return max(0, len(batches) - 1) * event.every + event.down


def _shut_down(cluster: Cluster, members: Iterable[Member]) -> None:
    for member in _living(cluster, [member.name for member in members]):
        cluster.clock.begin_action()
        member.shutdown()


def _start_anew(cluster: Cluster, group: SimulatedGroup, members: Iterable[Member], new_ids: bool) -> None:
    """A process started anew has, by default, the same address and another instance name."""
    for member in members:
        client_id = member.client_id
        if new_ids:
            starts = sum(other.name == member.name for other in group.members)
            client_id = f"{host_of(client_id)}@{starts + 1}"
        _start(cluster, group, member.name, client_id, member.strategy, member.topics)


def _living(cluster: Cluster, names: Iterable[str]) -> list[Member]:
    """The processes of these names; all of them have to run."""
    for name in names:
        if name not in cluster.members or not cluster.members[name].process.is_alive:
            raise ScenarioError(f"client {name} does not run; let it join before")
    return [cluster.members[name] for name in names]


def _up(cluster: Cluster, names: Iterable[str]) -> list[str]:
    """These brokers, all of which have to run."""
    for name in names:
        if not cluster.is_up(name):
            raise ScenarioError(f"broker {name} is down; wait until it is back")
    return list(names)


_ACTIONS: dict[str, Callable[[Cluster, Any], int]] = {
    "join": _join,
    "shutdown": partial(_leave, Member.shutdown),
    "crash": partial(_leave, Member.crash),
    "vanish": partial(_leave, Member.vanish),
    "disconnect": _disconnect,
    "pause": _pause,
    "freeze": _freeze,
    "restart_broker": _restart_broker,
    "change_topic": _change_topic,
    "partition": _partition,
    "notices": _notices,
    "rolling_restart": _rolling_restart,
    "update_broker_config": _update_broker_config,
    "update_sub_group": _update_sub_group,
    "set_consume_mode": _set_consume_mode,
}
