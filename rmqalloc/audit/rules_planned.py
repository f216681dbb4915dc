"""The rule on a saved plan: does every queue have the owner that the plan gives it?"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import TYPE_CHECKING

from rmqalloc.audit._audited_group import AuditedGroup, PlannedOwners
from rmqalloc.audit._signs import Sign
from rmqalloc.audit.finding import Fault, Finding, common_topic, rule
from rmqalloc.model import MessageQueue
from rmqalloc.ownership.queue_states import UNKNOWN
from rmqalloc.results import compute as pc
from rmqalloc.strategies import sort_client_ids, sort_queues
from rmqalloc.text import counted

if TYPE_CHECKING:
    from rmqalloc.plans import Plan

Planned = Mapping[str, PlannedOwners]
"""Owners after a plan by consumer group."""


Owners = str | tuple[str, ...] | None
"""The owner of a queue: None if unowned, a tuple of several owners."""


def owners_after(plan: Plan, scenario: str | None = None) -> Planned:
    """Return the owners of all queues after a scenario of a plan.

    Parameters
    ----------
    plan : Plan
    scenario : str, optional
        Its name; optional if the plan has one scenario.

    Raises
    ------
    ValueError
        The plan has no such scenario, or has several and ``scenario`` is not given.
    """
    from rmqalloc.plans.plan_totals import scenario_of

    wanted = scenario_of(plan, scenario)
    rows = pc.filter(plan.queues, pc.equal(plan.queues["scenario"], wanted))
    rows = pc.filter(rows, pc.not_equal(rows["change"], "gone"))
    columns = ("consumer_group", "topic", "broker_name", "queue_id", "owner_after", "others_after")
    owners: dict[str, dict[MessageQueue, Owners]] = {}
    queues = zip(*(rows[name].to_pylist() for name in columns), strict=True)
    for group, topic, broker, number, owner, others in queues:
        queue = MessageQueue(topic, broker, number)
        owners.setdefault(group, {})[queue] = (owner, *others) if others else owner
    return owners


@rule(
    "differs-from-plan",
    title="Owner that differs from the plan",
    description="The owner of the queue differs from its owner in a saved plan.",
    help="Apply the rest of the plan, or plan again.",
    severity="warning",
    signs=Sign.PLAN,
    needs=("owners",),
)
def differs_from_plan(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield queues whose owner is not the planned one. The owner now is the reported one, or else
    the expected one.
    """
    planned = audited.planned
    if planned is None:
        return
    now = _owners_now(audited)
    topics = {queue.topic for queue in planned}
    known = {queue: ids for queue, ids in now.items() if queue.topic in topics and ids is not None}
    gone = planned.keys() - now.keys()
    elsewhere = {
        queue: ids
        for queue, ids in known.items()
        if queue not in planned or ids != _as_ids(planned[queue])
    }
    if not gone and not elsewhere:
        return
    queues = sort_queues([*gone, *elsewhere])
    owners = set[str]().union(*elsewhere.values())
    first = queues[0]
    is_now = "does not exist"
    if first not in gone:
        is_now = f"is owned by {_names(known[first])}" if known[first] else "has no owner"
    in_plan = _names(_as_ids(planned[first])) if first in planned else "not included"
    how = "by the clients' reports" if audited.reported.any_answer else "by computation"
    yield Fault(
        f"{counted(len(queues), 'queue')} of {len(planned):,} in the plan {'has' if len(queues) == 1 else 'have'} another "
        f"owner {how}: for example, {first.topic} {first.broker_name}:{first.queue_id} {is_now} (in the plan: {in_plan}).",
        "Apply the rest of the plan, or plan again from this snapshot.",
        topic=common_topic(queues),
        queues=tuple(queues),
        clients=tuple(sort_client_ids(owners)),
    )


def absent_groups(planned: Planned, names: Container[str]) -> Iterator[Finding]:
    """Yield the consumer groups of the plan that the snapshot does not have."""
    for group, owners in planned.items():
        if group in names:
            continue
        queues = sort_queues(owners)
        yield Finding(
            rule="differs-from-plan",
            severity="warning",
            consumer_group=group,
            topic=common_topic(queues),
            queues=tuple(queues),
            clients=(),
            message=f"The snapshot has no such consumer group; the plan gives {counted(len(queues), 'queue')} to its clients.",
            advice="Use a snapshot of the planned cluster, or plan again from this snapshot.",
        )


def _owners_now(audited: AuditedGroup) -> dict[MessageQueue, set[str] | None]:
    """Return the client ids that own each queue, None if that is not known."""
    owners: dict[MessageQueue, set[str] | None] = {}
    for unit in audited.units:
        for queue, state in audited.states.of_unit(unit.topic).items():
            is_known = state.known != UNKNOWN
            owners[queue] = {unit.client_ids[slot] for slot in state.slots} if is_known else None
    return owners


def _as_ids(owners: Owners) -> set[str]:
    if owners is None:
        return set()
    return {owners} if isinstance(owners, str) else {*owners}


def _names(ids: set[str]) -> str:
    return " and ".join(sort_client_ids(ids)) or "no owner"
