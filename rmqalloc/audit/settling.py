"""Whether groups have settled since their last change: every queue has one owner, which reports it
and is the one that its clients compute.

A group has not settled while a queue has no owner or several, whatever its clients compute. What is
expected is computed client by client, so a group whose clients divide by different strategies may
settle too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from rmqalloc.audit._audited_group import AuditedGroup
from rmqalloc.audit._signed_groups import ChosenGroups, SignedGroup, chosen_groups
from rmqalloc.audit.not_known import not_known_of_group, not_known_words
from rmqalloc.audit.reach_reasons import REASONS
from rmqalloc.documents.memory import no_collection
from rmqalloc.evidence import Known
from rmqalloc.evidence.client_method import accepted, brokers_differ
from rmqalloc.evidence.views.unit_views import UnitViews
from rmqalloc.evidence.views.without_owners import sharing_of
from rmqalloc.model import MessageQueue
from rmqalloc.ownership.queue_states import REPORTED, UNKNOWN, QueueState
from rmqalloc.results.and_more import named
from rmqalloc.snapshot.matching import ALL
from rmqalloc.snapshot.snapshot import Group, Snapshot
from rmqalloc.text import counted

SETTLED, UNSETTLED = "settled", "unsettled"

_DECIDING = frozenset(("clients", "subscriptions", "routes", "brokers", "owners"))
"""Kinds of facts without which it is not known whether a group has settled."""

_NOT_REPORTED = "the queues that its clients own are not known"
_NO_OWNER, _SEVERAL, _ANOTHER = "no owner", "several owners", "another owner than expected"


class Settling(NamedTuple):
    """Whether a group has settled.

    Attributes
    ----------
    state : {"settled", "unsettled", "unknown"}
    reason : str
        What is not settled or not known, as a clause; empty if the group has settled.
    """

    state: str
    reason: str = ""


@no_collection()
def settlings(
    snapshot: Snapshot | Known, groups: Sequence[str] = ALL, topics: Sequence[str] = ALL
) -> dict[str, Settling]:
    """Return for every group whether it has settled.

    A group has settled if all its clients report their queues, and each queue (retry topics aside)
    has exactly one owner, which is the computed owner. If clients share queues (POP, a proxy,
    broadcasting), a client must read each queue.

    Parameters
    ----------
    snapshot : Snapshot or Known
    groups, topics : sequence of str
        Patterns as in `fnmatch.fnmatchcase`, as for `check_snapshot`.

    Raises
    ------
    NoMatchError
        A pattern matches nothing.

    Examples
    --------
    >>> from rmqalloc.snapshot import Client, Group, Topic, TopicBroker
    >>> topic = Topic("T", (TopicBroker("b", 2),))
    >>> q0, q1 = topic.queues()
    >>> clients = Client("c1", owned=(q0,)), Client("c2", owned=())
    >>> settlings(Snapshot((topic,), (Group("g", ("T",), clients, strategy="AVG"),)))["g"]
    Settling(state='unsettled', reason='1 queue of T has no owner')
    """
    known = Known.of(snapshot, groups)
    chosen = chosen_groups(known, groups, topics)
    return {one.group.name: _settling(one, chosen) for one in chosen.all}


def _settling(signed: SignedGroup, chosen: ChosenGroups) -> Settling:
    if signed.is_ordinary and signed.reports_owners and signed.doubt is None:
        return Settling(SETTLED)
    audited, is_shared = signed.audited, sharing_of(signed.group) is not None
    units = [unit for unit in audited.units if chosen.has_topic(unit.topic)]
    if differing := list(_differing(audited, units)):
        return Settling(UNSETTLED, named(differing))
    lacking = _lacking(signed, chosen, _DECIDING - {"owners"} if is_shared else _DECIDING)
    if lacking is not None:
        return Settling(UNKNOWN, lacking)
    if not audited.clients:
        return Settling(UNSETTLED, "it has no client")
    topics = [topic for topic in signed.topics if _settles(audited, topic, chosen)]
    for topic in topics:
        for state in audited.states.of_unit(topic).values():
            if state.is_unowned:
                return Settling(UNSETTLED, f"a queue of {topic} has {_NO_OWNER}")
            if state.known == UNKNOWN:
                return Settling(
                    UNKNOWN, f"the owner of a queue of {topic} is not known: {_why(state)}"
                )
    if is_shared:
        return Settling(SETTLED)
    if brokers_differ(signed.group):
        return Settling(UNSETTLED, "brokers list different clients")
    if not all(map(audited.states.reports, topics)):
        return Settling(UNKNOWN, _NOT_REPORTED)
    if problem := next(filter(None, (unit.problem for unit in units)), None):
        return Settling(UNKNOWN, f"its expected owners cannot be computed: {problem}")
    return (
        Settling(SETTLED)
        if signed.doubt is None
        else Settling(UNKNOWN, f"its strategy is in doubt: {signed.doubt}")
    )


def _settles(audited: AuditedGroup, topic: str, chosen: ChosenGroups) -> bool:
    """Return whether a topic counts: a retry topic does where it is listed, and clients report a
    queue of it.
    """
    if chosen.counts_topic(topic):
        return True
    is_read = topic in audited.topics and bool(chosen.has_topic(topic))
    return is_read and audited.states.reports(topic)


def _why(state: QueueState) -> str:
    return state.detail or REASONS[state.reason].meaning


def _lacking(signed: SignedGroup, chosen: ChosenGroups, kinds: Collection[str]) -> str | None:
    """Return what is not known of a group, None if all is that decides."""
    found = not_known_of_group(signed, kinds, chosen.has_topic)
    if missing := [fact for fact in found if not fact.is_scope]:
        return f"not known: {not_known_words(missing)}"
    if (
        "owners" in kinds
        and signed.group.clients
        and not signed.silent.isdisjoint(signed.client_ids)
    ):
        return _NOT_REPORTED
    return None


def _differing(audited: AuditedGroup, units: Sequence[UnitViews]) -> Iterator[str]:
    """Yield how the reported owners differ from those that clients compute."""
    for unit in units:
        of_kind: dict[str, int] = {}
        states = audited.states.of_unit(unit.topic)
        for queue in unit.queues:
            if kind := _difference(audited, unit, queue, states[queue]):
                of_kind[kind] = of_kind.get(kind, 0) + 1
        for kind in (_NO_OWNER, _SEVERAL, _ANOTHER):
            if n := of_kind.get(kind):
                yield f"{counted(n, 'queue')} of {unit.topic} {'has' if n == 1 else 'have'} {kind}"


def _difference(
    audited: AuditedGroup, unit: UnitViews, queue: MessageQueue, state: QueueState
) -> str | None:
    """Return why the state of a queue is not one in which a group has settled, None if it is, or
    that is not known.
    """
    if state.known != REPORTED or unit.is_pop:
        return None
    if state.is_unowned:
        return _NO_OWNER
    if state.is_double_owned:
        return _SEVERAL
    if unit.problem is not None or not _is_expected(audited.group):
        return None
    owners, due, perhaps = (
        unit.ids(slots) for slots in (state.slots, unit.always[queue], unit.perhaps[queue])
    )
    is_expected = owners == due or (due != perhaps and set(owners) <= set(perhaps))
    return None if is_expected else _ANOTHER


def _is_expected(group: Group) -> bool:
    """Return whether the strategy of a group says which owners to expect.

    One that is fitted or assumed may be in doubt only because of the owners that are compared with
    it.
    """
    return accepted(group).strategy_doubt is None or group.strategy_source in ("given", "reported")
