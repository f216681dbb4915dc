"""Real groups whose strategy nobody reports, or whose clients differ: what is planned of them, and
what becomes of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from live_cluster import LiveCluster
from live_consumers import Consumers
from live_proofs import Shares, make_topic, owned_by_java
from live_transitions import Owned, Transition, observed_transition

from rmqalloc import MessageQueue, strategy
from rmqalloc.model import RETRY_PREFIX
from rmqalloc.plans import Plan

ORDERS, PAYMENTS = "views-orders", "views-payments"
QUEUES = 16
JOINING, DEVIATING, FEWEST = "v-3", "v-2", "v-4"
"""The client that joins later; the one with another strategy; the one with fewer topics. Ids end with these."""

Owners = dict[MessageQueue, frozenset[str]]
Told = dict[str, Any]
"""How a client is made, see ``Member.java``."""


def _alike(**told: Any) -> dict[str, Told]:
    return {one: {"topics": [ORDERS], **told} for one in ("v-1", DEVIATING, JOINING, FEWEST)}


_AVG = _alike(strategy="AVG")
UNREPORTED = {
    "views-ring-of-160": _alike(strategy="CONSISTENT_HASH", virtual_nodes=160),
    "views-own-class": _alike(strategy="EVEN_SHARES"),
    "views-anonymous": _alike(strategy="ANONYMOUS_CIRCLE"),
}
"""Clients do not report what these divide by, not wholly at least: it follows from what they own."""
UNEXPLAINED = {
    "views-reversed": _alike(strategy="REVERSED"),
    "views-partly-reversed": _AVG | {DEVIATING: _alike(strategy="REVERSED")[DEVIATING]},
}
"""All clients, or one of them, divide by a strategy that is none of RocketMQ's."""
MIXED = _AVG | {DEVIATING: _alike(strategy="AVG_BY_CIRCLE")[DEVIATING]}
FEWER = _alike(strategy="AVG", topics=[ORDERS, PAYMENTS]) | {FEWEST: _AVG[FEWEST]}
"""The client that subscribes to fewer topics joins last, so that brokers take its subscriptions for the group's."""
UNNOTICED = _AVG
"""Brokers do not tell these clients when others join, see `without_notices`."""

_RULES = {
    "AVG": strategy("AVG"),
    "AVG_BY_CIRCLE": strategy("AVG_BY_CIRCLE"),
    "CONSISTENT_HASH": strategy("CONSISTENT_HASH", virtual_nodes=160),
    "EVEN_SHARES": strategy("AVG"),
    "ANONYMOUS_CIRCLE": strategy("AVG_BY_CIRCLE"),
    "REVERSED": strategy("AVG"),
}
"""What each strategy of the Java clients comes to; REVERSED is given the queues from the last to the first."""


def shares_of(clients: dict[str, Told]) -> Shares:
    """What every client takes, each by what it is made with."""

    def shares(queues: list[MessageQueue], client_ids: list[str]) -> dict[str, list[MessageQueue]]:
        found: dict[str, list[MessageQueue]] = {}
        for one in client_ids:
            told = clients[one[-len(JOINING) :]]
            is_read = queues[0].topic.startswith(RETRY_PREFIX) or queues[0].topic in told["topics"]
            given = queues[::-1] if told["strategy"] == "REVERSED" else queues
            found[one] = (
                _RULES[told["strategy"]].allocate("", one, given, client_ids) or []
                if is_read
                else []
            )
        return found

    return shares


class Outcome(NamedTuple):
    """A change that was planned and then made.

    Attributes
    ----------
    n_queues : int
    before, after : set of MessageQueue
        Queues whose owners are not those of the plan, before the change and after it.
    transition : Transition
    """

    n_queues: int
    before: set[MessageQueue]
    after: set[MessageQueue]
    transition: Transition


def make_topics(cluster: LiveCluster, java: Consumers) -> None:
    """The topics that the groups read."""
    for topic in (ORDERS, PAYMENTS):
        make_topic(cluster, java, topic, QUEUES)


def join(java: Consumers, group: str, clients: dict[str, Told], *members: str) -> None:
    """Start clients of a group: those named, or all but the one that joins later."""
    for member in members or [one for one in clients if one != JOINING]:
        java.join(group, f"{group}-{member}", **clients[member])


def repair(java: Consumers, group: str) -> None:
    """Start the deviating client of a mixed group anew, with the strategy of the others."""
    java.leave(group, f"{group}-{DEVIATING}")
    join(java, group, _AVG, DEVIATING)


def without_notices(cluster: LiveCluster, java: Consumers, group: str) -> None:
    """Make a group of which brokers do not tell the clients when others join."""
    for address in cluster.running.values():
        assert java.do("group", group=group, broker=address, notify=False) is False, (
            "the broker has taken it over"
        )


def carried_out(
    cluster: LiveCluster, java: Consumers, group: str, plan: Plan, change: Callable[[], object]
) -> Outcome:
    """Make a change, and compare the owners of every queue before and after it with those of its
    plan.

    Owners are those that the Java consumers themselves report and running info shows.
    """
    [name] = {row["scenario"] for row in plan.queues.to_pylist()} - {"current"}
    before, after = (planned_owners(plan, name, when) for when in ("before", "after"))
    was = real_owners(java, group)
    transition = observed_transition(
        cluster, group, change, lambda owned: not differing(after, by_queue(owned))
    )
    wrong_before = differing(before, was) | differing(before, by_queue(transition.before))
    wrong_after = differing(after, real_owners(java, group)) | differing(
        after, by_queue(transition.after)
    )
    return Outcome(len(before), wrong_before, wrong_after, transition)


def planned_owners(plan: Plan, scenario: str, when: str) -> Owners:
    """The owners of every queue, ``"before"`` or ``"after"`` a scenario; queues without one are
    there, too.
    """
    return {
        MessageQueue(row["topic"], row["broker_name"], row["queue_id"]): frozenset(
            {row[f"owner_{when}"], *(row[f"others_{when}"] or ())} - {None}
        )
        for row in plan.queues.to_pylist()
        if row["scenario"] == scenario
    }


def real_owners(java: Consumers, group: str) -> Owners:
    """The owners of all queues that have one, as the Java consumers report."""
    return by_queue(
        {one: frozenset(queues) for one, queues in owned_by_java([java], group).items()}
    )


def by_queue(owned: Owned) -> Owners:
    """The owners of all queues that have one."""
    queues = frozenset[MessageQueue]().union(*owned.values())
    return {
        queue: frozenset(one for one, mine in owned.items() if queue in mine) for queue in queues
    }


def differing(one: Owners, other: Owners) -> set[MessageQueue]:
    """Queues that have not the same owners twice."""
    return {
        queue
        for queue in one.keys() | other.keys()
        if one.get(queue, frozenset()) != other.get(queue, frozenset())
    }
