"""Whether groups have settled since their last change: every queue has the owners that its clients
compute, and says so.

What is expected is computed client by client. So a group whose clients divide by different
strategies has settled too once each has what it takes: that queues are then unowned or double-owned
is a finding of `check`, and no change under way.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from rmqalloc.audit._audited_group import AuditedGroup
from rmqalloc.audit._signed_groups import ChosenGroups, SignedGroup, chosen_groups
from rmqalloc.audit._signs import Sign
from rmqalloc.audit.not_known import not_known_of_group, not_known_words
from rmqalloc.evidence import Known
from rmqalloc.evidence.client_method import accepted
from rmqalloc.garbage import no_collection
from rmqalloc.model import MessageQueue
from rmqalloc.results.and_more import named
from rmqalloc.snapshot.matching import ALL
from rmqalloc.snapshot.snapshot import Group, Snapshot
from rmqalloc.text import counted
from rmqalloc.views.unit_views import UnitViews
from rmqalloc.views.without_owners import sharing_of

SETTLED, UNSETTLED, UNKNOWN = "settled", "unsettled", "unknown"

_DECIDING = frozenset(("clients", "subscriptions", "routes", "brokers", "owners"))
"""Kinds of facts without which it is not known whether a group has settled."""

_NO_OWNER, _SEVERAL, _ANOTHER = "no owner", "several owners", "another owner than expected"


class Settling(NamedTuple):
    """Whether a group has settled.

    Attributes
    ----------
    state : {"settled", "unsettled", "unknown"}
    reason : str
        What is not as it will be, or not known, as a clause; empty where the group has settled.
    """

    state: str
    reason: str = ""


@no_collection()
def settlings(
    snapshot: Snapshot | Known, groups: Sequence[str] = ALL, topics: Sequence[str] = ALL
) -> dict[str, Settling]:
    """Return of every group whether it has settled.

    A group has settled if all its clients report what they own, and each queue has exactly the
    owners that the clients compute. Where clients share queues (POP, a proxy, broadcasting) there
    is nothing to settle, as long as there is a client.

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
    chosen = chosen_groups(known.snapshot, groups, topics)
    return {one.group.name: _settling(one, chosen) for one in chosen.all}


def _settling(signed: SignedGroup, chosen: ChosenGroups) -> Settling:
    doubt = accepted(signed.group).strategy_doubt
    if signed.is_ordinary and signed.signs & Sign.OWNED and doubt is None:
        return Settling(SETTLED)
    audited, is_shared = signed.audited, sharing_of(signed.group) is not None
    if differing := list(_differing(audited, chosen)):
        return Settling(UNSETTLED, named(differing))
    lacking = _lacking(signed, chosen, _DECIDING - {"owners"} if is_shared else _DECIDING)
    if lacking is not None:
        return Settling(UNKNOWN, lacking)
    if not audited.clients:
        return Settling(UNSETTLED, "it has no client")
    if is_shared:
        return Settling(SETTLED)
    if signed.group.broker_client_ids is not None:
        return Settling(UNSETTLED, "brokers list different clients")
    return (
        Settling(SETTLED)
        if doubt is None
        else Settling(UNKNOWN, f"its strategy is in doubt: {doubt}")
    )


def _lacking(signed: SignedGroup, chosen: ChosenGroups, kinds: Collection[str]) -> str | None:
    """Return what is not known of a group, None if all is that decides."""
    found = not_known_of_group(signed, kinds, chosen.has_topic)
    if missing := [one for one in found if not one.is_scope]:
        return f"not known are {not_known_words(missing)}"
    if (
        "owners" in kinds
        and signed.group.clients
        and not signed.silent.isdisjoint(signed.client_ids)
    ):
        return "what its clients own is not known"
    return None


def _differing(audited: AuditedGroup, chosen: ChosenGroups) -> Iterator[str]:
    """Yield how the reported owners differ from those that clients compute; only where all clients
    report.
    """
    if not (audited.is_reported and audited.is_clustering):
        return
    for unit in audited.units:
        if (
            not chosen.has_topic(unit.topic)
            or unit.is_pop
            or audited.unknown.why("routes", unit.topic)
        ):
            continue
        of_kind: dict[str, int] = {}
        for queue in unit.queues if audited.reported.speaks_of(unit.topic) else ():
            if kind := _difference(audited, unit, queue):
                of_kind[kind] = of_kind.get(kind, 0) + 1
        for kind in (_NO_OWNER, _SEVERAL, _ANOTHER):
            if n := of_kind.get(kind):
                yield f"{counted(n, 'queue')} of {unit.topic} {'has' if n == 1 else 'have'} {kind}"


def _difference(audited: AuditedGroup, unit: UnitViews, queue: MessageQueue) -> str | None:
    """Return how the owners of a queue differ from the expected ones, None if they do not or it is
    not known.
    """
    owners = {unit.client_ids[slot] for slot in audited.reported.owners(unit)[queue]}
    if unit.problem is not None or not _is_expected(audited.group):
        return _NO_OWNER if not owners else _SEVERAL if len(owners) > 1 else None
    due, perhaps = (
        {unit.client_ids[slot] for slot in takers[queue]} for takers in (unit.always, unit.perhaps)
    )
    if owners == due or (due != perhaps and owners and owners <= perhaps):
        return None
    return _NO_OWNER if not owners else _SEVERAL if len(owners) > 1 else _ANOTHER


def _is_expected(group: Group) -> bool:
    """Return whether the strategy of a group says which owners to expect.

    One that is fitted or assumed may be in doubt only because of the owners that are compared with
    it.
    """
    return accepted(group).strategy_doubt is None or group.strategy_source in ("given", "reported")
