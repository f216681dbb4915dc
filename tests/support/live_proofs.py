"""Waiting until Java consumers, running info and the engine say the same of a group, and counting
what was compared.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from live_cluster import LiveCluster
from live_consumers import Consumers

from rmqalloc import MessageQueue, sort_client_ids, sort_queues
from rmqalloc.snapshot.live._take import Wanted, take_snapshot
from rmqalloc.snapshot.snapshot import Group, Snapshot

SETTLES_WITHIN = 300.0
"""Seconds, far more than it takes: a machine may be busy."""
LOOKS_EVERY = 0.15

Shares = Callable[[list[MessageQueue], list[str]], Mapping[str, Iterable[MessageQueue]]]
"""Who gets which of a topic's queues, among these clients."""


class Tally:
    """How much was compared, by what it was compared with."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def add(self, what: str, count: int) -> None:
        """Count further comparisons."""
        self.counts[what] = self.counts.get(what, 0) + count

    def __str__(self) -> str:
        return "\n".join(f"{count:7,d} {what}" for what, count in self.counts.items())


def assigned(rule: Any) -> Shares:
    """Shares by a strategy that gives every queue one owner."""

    def shares(queues: list[MessageQueue], client_ids: list[str]) -> dict[str, list[MessageQueue]]:
        owners = rule.assign(queues, client_ids).owners.tolist()
        given: dict[str, list[MessageQueue]] = {client_id: [] for client_id in client_ids}
        for queue, owner in zip(queues, owners, strict=True):
            if owner >= 0:
                given[client_ids[owner]].append(queue)
        return given

    return shares


def allocated(rule_of: Callable[[str], Any]) -> Shares:
    """Shares as every client works out its own, by the strategy that it has."""

    def shares(queues: list[MessageQueue], client_ids: list[str]) -> dict[str, list[MessageQueue]]:
        return {one: rule_of(one).allocate("", one, queues, client_ids) or [] for one in client_ids}

    return shares


def everything(queues: list[MessageQueue], client_ids: list[str]) -> dict[str, list[MessageQueue]]:
    """All queues to every client: broadcasting."""
    return dict.fromkeys(client_ids, queues)


def expected(snapshot: Snapshot, group: Group, shares: Shares) -> dict[str, list[MessageQueue]]:
    """What every client of a group owns by the engine, over all topics that the group subscribes
    to.
    """
    client_ids = sort_client_ids(group.client_ids)
    owns: dict[str, set[MessageQueue]] = {client_id: set() for client_id in client_ids}
    for name in group.subscriptions:
        topic = snapshot.topic(name)
        queues = sort_queues(topic.queues()) if topic is not None else []
        for client_id, given in (shares(queues, client_ids) if queues else {}).items():
            owns[client_id].update(given)
    return {client_id: sorted(queues) for client_id, queues in owns.items()}


def settled(
    cluster: LiveCluster,
    processes: Sequence[Consumers],
    group: str,
    n_clients: int,
    shares: Shares,
    tally: Tally,
) -> Snapshot:
    """Wait until a group has so many clients and all three say the same; the snapshot in which they
    do.
    """
    deadline = time.monotonic() + SETTLES_WITHIN
    while True:
        before = owned_by_java(processes, group)
        snapshot = take_snapshot([cluster.name_server], wanted=Wanted((group,), lag=False))
        java = owned_by_java(processes, group)
        # What changed while it was looked at says nothing.
        wrong, compared = (
            differences(snapshot, java, group, n_clients, shares)
            if java == before
            else (["moving"], 0)
        )
        if not wrong:
            tally.add(
                "queues as Java consumers report, running info shows and the engine answers",
                compared,
            )
            return snapshot
        if time.monotonic() > deadline:
            raise AssertionError(
                f"{group} not settled after {SETTLES_WITHIN:g} s: " + "; ".join(wrong[:4])
            )
        time.sleep(LOOKS_EVERY)


def owned_by_java(processes: Sequence[Consumers], group: str) -> dict[str, list[MessageQueue]]:
    """Queues of a group's consumers, by client id, as the consumers themselves report."""
    found: dict[str, list[MessageQueue]] = {}
    for process in processes:
        found |= process.owns(group)
    return found


def differences(
    snapshot: Snapshot,
    java: Mapping[str, list[MessageQueue]],
    name: str,
    n_clients: int,
    shares: Shares,
) -> tuple[list[str], int]:
    """What is wrong, and how many queues are the same three times."""
    if snapshot.errors or not snapshot.groups:
        return [str(error) for error in snapshot.errors] or [f"the snapshot has no {name}"], 0
    (group,) = snapshot.groups
    if len(group.clients) != n_clients or group.broker_client_ids is not None:
        return [
            f"{n_clients} clients are up, brokers list {group.broker_client_ids or group.client_ids}"
        ], 0
    says = expected(snapshot, group, shares)
    info = {client.client_id: list(client.owned or ()) for client in group.clients}
    wrong = [
        f"{one}: engine {_brief(says[one])}, Java {_brief(java.get(one, ()))}, running info {_brief(info[one])}"
        for one in info
        if not says[one] == java.get(one) == info[one]
    ]
    return wrong, sum(map(len, says.values()))


def _brief(queues: Iterable[MessageQueue]) -> str:
    return (
        "["
        + " ".join(f"{queue.topic}/{queue.broker_name}/{queue.queue_id}" for queue in queues)
        + "]"
    )


def make_topic(cluster: LiveCluster, java: Consumers, topic: str, read: int, **more: Any) -> None:
    """Make or change a topic on every broker that runs, and wait until the name server has it so."""
    for address in cluster.running.values():
        java.do("topic", topic=topic, broker=address, read=read, **more)
    wait_for(
        lambda: _queues_by_broker(cluster, topic) == dict.fromkeys(cluster.running, read),
        f"{topic} of {read} queues",
    )


def wait_for(is_so: Callable[[], bool], what: str, within: float = SETTLES_WITHIN) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + within
    while not is_so():
        if time.monotonic() > deadline:
            raise AssertionError(f"not so after {within:g} s: {what}")
        time.sleep(LOOKS_EVERY)


def _queues_by_broker(cluster: LiveCluster, topic: str) -> dict[str, int]:
    found = take_snapshot([cluster.name_server], wanted=Wanted(groups=(), topics=(topic,))).topic(
        topic
    )
    return (
        {one.broker_name: one.read_queue_nums for one in found.brokers} if found is not None else {}
    )
