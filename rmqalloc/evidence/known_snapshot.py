"""A snapshot with every strategy, machine room and doubt decided once.

Every verb accepts the result of `known`, or a plain snapshot, for which it calls `known`. The given
and the decided snapshot are kept side by side: a plan has the hash of its input, which is the given
snapshot.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from rmqalloc.dataclass import dataclass
from rmqalloc.evidence._decide_strategies import decided
from rmqalloc.evidence.decisions import Decisions, Verb
from rmqalloc.evidence.evidence import evidence_of
from rmqalloc.evidence.given_rooms import GivenRooms, with_rooms
from rmqalloc.lazy import lazy_property
from rmqalloc.snapshot.matching import ALL
from rmqalloc.snapshot.snapshot import Group, Snapshot
from rmqalloc.snapshot.unknown import Unknowns
from rmqalloc.text import matcher

T = TypeVar("T")

Stated = tuple[str, dict[str, Any]]


@dataclass(frozen=True, eq=False)
class Known:
    """A snapshot with all decisions about its groups; the result of `known`.

    Attributes
    ----------
    given : Snapshot
        Its input: the snapshot as read, with the strategies that were stated, accepted or left out.
    groups : tuple of str
        Patterns of the decided groups.
    snapshot : Snapshot
        The snapshot with the strategy of every group and its source; see `with_strategies`.
    found : Known
        The result before strategies in doubt were accepted or left out.
    weak : tuple of str
        Groups with weaker evidence than required; nothing is computed for them.
    stated : (str, dict) or None
        Strategy and parameters that were stated for all these groups.
    is_assumed : bool
        True if strategies in doubt were accepted.
    allow_partial : bool
        True if planning verbs answer from the known facts if a fact is missing.
    """

    given: Snapshot
    groups: tuple[str, ...] = ALL
    weak: tuple[str, ...] = ()
    stated: Stated | None = None
    is_assumed: bool = False
    allow_partial: bool = False
    _decided: Snapshot | None = None
    _before: Known | None = None

    @classmethod
    def of(
        cls,
        snapshot: Snapshot | Known,
        groups: Sequence[str] = ALL,
        strategy: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> Known:
        """Return the decisions about these groups: the existing decisions if they match, else the
        decisions of `known`.
        """
        if not isinstance(snapshot, Known):
            return known(snapshot, groups, strategy=strategy, params=params)
        is_same = snapshot.groups == tuple(groups)
        if is_same and (strategy is None or snapshot.stated == (strategy, dict(params or {}))):
            return snapshot
        found = known(snapshot.given, groups, strategy=strategy, params=params)
        return replace(found, allow_partial=snapshot.allow_partial)

    @classmethod
    def already(cls, snapshot: Snapshot) -> Known:
        """Return a snapshot that holds all that was decided of it; what is computed of it takes what
        is known.
        """
        return cls(snapshot, allow_partial=True, _decided=snapshot)

    def with_changed(self, snapshot: Snapshot) -> Known:
        """Return the same with another snapshot that has the decided strategies."""
        return replace(self, given=snapshot, _decided=snapshot)

    @lazy_property
    def snapshot(self) -> Snapshot:
        """The snapshot with its strategies, decided on first access."""
        return self._decided or decided(self.given, self.groups).snapshot

    def client_ids(self) -> Iterator[str]:
        """Yield the ids of all clients of the decided groups."""
        is_wanted = matcher(self.groups)
        for group in self.given.groups:
            if is_wanted(group.name):
                yield from (client.client_id for client in group.clients)

    @property
    def found(self) -> Known:
        """The result before strategies in doubt were accepted or left out."""
        return self._before or self

    @lazy_property
    def _answers(self) -> dict[tuple[Any, ...], Any]:
        return {}

    def once(self, question: Callable[..., T], *given: Hashable) -> T:
        """Return the cached result of a function of this snapshot.

        Parameters
        ----------
        question : callable
            Takes this and what is given.
        """
        key = (question, *given)
        if (
            key not in self._answers
        ):  # threads that ask at once all get the answer that was kept first
            self._answers.setdefault(key, question(self, *given))
        answer: T = self._answers[key]
        return answer

    def looked_at(self, topics: Sequence[str]) -> Iterator[Group]:
        """Yield the groups that were looked at and read some topics, before anything in doubt was
        accepted.
        """
        is_wanted, is_read = matcher(self.groups), matcher(tuple(topics))
        for group in self.found.snapshot.groups:
            reads = tuple(topics) == ALL or any(map(is_read, group.all_subscriptions))
            if reads and is_wanted(group.name):
                yield group

    def decisions(
        self, verb: Verb, topics: Sequence[str] = ALL, clients_join: bool = False
    ) -> Decisions:
        """Return the outcome of a verb for each group that reads some topics; see
        `rmqalloc.evidence.decisions.decide`.
        """
        is_wanted, is_read = matcher(self.groups), matcher(tuple(topics))
        found, is_all = self.deciding(verb, clients_join), tuple(topics) == ALL
        for group in self.snapshot.groups:
            if is_wanted(group.name):
                names = group.all_subscriptions
                read = names if is_all else [name for name in names if is_read(name)]
                if read or is_all:
                    found.is_answered(group, read)
        return found

    def deciding(self, verb: Verb, clients_join: bool = False) -> Decisions:
        """Return decisions without groups; the caller adds the groups."""
        return Decisions(verb, self.once(_unknowns_of), self.allow_partial, clients_join)


def _unknowns_of(known: Known) -> Unknowns:
    return Unknowns(known.snapshot)


def known(
    snapshot: Snapshot,
    groups: Sequence[str] = ALL,
    *,
    strategy: str | None = None,
    params: Mapping[str, Any] | None = None,
    assume: bool = False,
    rooms: GivenRooms | None = None,
    require: str | None = None,
    allow_partial: bool = False,
) -> Known:
    """Decide every strategy, machine room and doubt of the groups of a snapshot.

    Parameters
    ----------
    snapshot : Snapshot
    groups : sequence of str
        Patterns of the groups for `fnmatch.fnmatchcase`.
    strategy : str, optional
        The strategy of all these groups, which replaces all evidence.
    params : mapping, optional
        Its parameters.
    assume : bool
        Accept every strategy that is in doubt.
    rooms : GivenRooms, optional
        Given machine rooms, see `with_rooms`.
    require : {"given", "reported", "fitted", "assumed"}, optional
        The weakest accepted source of strategies; groups with weaker evidence are left out.
    allow_partial : bool
        True if planning verbs use the known facts of a group whose clients, subscriptions or routes
        are not fully known; otherwise such a group is left out.

    Raises
    ------
    RoomConflictError
        That of `with_rooms`.
    ValueError
        There is no such source, or no such strategy.

    Examples
    --------
    >>> from rmqalloc.snapshot import Client
    >>> cluster = Snapshot(groups=(Group("g", clients=(Client("c"),), strategy="AVG"), Group("h", clients=(Client("c"),))))
    >>> found = known(cluster)
    >>> [group.strategy_source for group in found.snapshot.groups]
    ['given', 'assumed']
    >>> [found.decisions(Verb.PLAN).by_group["h"].outcome.name, known(cluster, require="reported").weak]
    ['REFUSED', ('h',)]
    """
    given, groups = snapshot if rooms is None else with_rooms(snapshot, rooms), tuple(groups)
    if strategy is None and not assume and require is None:
        return Known(given, groups, allow_partial=allow_partial)
    stated = None if strategy is None else (strategy, dict(params or {}))
    made = decided(given, groups, stated)
    taken = given if stated is None else made.snapshot
    found = Known(taken, groups, (), stated, assume, allow_partial, made.snapshot)
    weak = () if require is None else tuple(evidence_of(made.snapshot, groups).weaker(require))
    if not (assume or weak):
        return found
    taken = made.accepted() if assume and stated is None else made.snapshot
    taken = (
        left_out(taken, weak, f"its evidence is weaker than --require {require}") if weak else taken
    )
    return Known(taken, groups, weak, stated, assume, allow_partial, taken, found)


def with_strategies(
    snapshot: Snapshot,
    groups: Sequence[str] = ALL,
    assume: bool = False,
    strategy: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> Snapshot:
    """Return the snapshot with the strategy, and its source, of every group that divides its
    queues.

    Parameters
    ----------
    snapshot : Snapshot
        Groups whose ``strategy_source`` is set do not change, except by the arguments below.
    groups : sequence of str
        Patterns of the groups for `fnmatch.fnmatchcase`.
    assume : bool
        Accept every strategy that is in doubt.
    strategy : str, optional
        The strategy of all these groups, which replaces all evidence.
    params : mapping, optional
        Its parameters.

    Examples
    --------
    >>> from rmqalloc.snapshot import Client, Topic, TopicBroker
    >>> topic = Topic("T", (TopicBroker("b", 12),))
    >>> clients = tuple(Client(f"c{i}", owned=tuple(topic.queues())[i::3]) for i in range(3))
    >>> [known] = with_strategies(Snapshot((topic,), (Group("g", ("T",), clients),))).groups
    >>> known.strategy, known.strategy_source, known.strategy_explains
    ('AVG_BY_CIRCLE', 'fitted', 1.0)
    """
    made = decided(
        snapshot, groups, None if strategy is None else (strategy, dict(params or {})), assume
    )
    return made.accepted() if assume else made.snapshot


def left_out(snapshot: Snapshot, names: Collection[str], reason: str) -> Snapshot:
    """Return the snapshot with some groups marked as in doubt for a given reason, so that nothing
    is computed for them.
    """
    weak = set(names)

    def held(group: Group) -> Group:
        if group.name not in weak:
            return group
        return replace(
            group, strategy_doubt="; ".join(filter(None, (group.strategy_doubt, reason)))
        )

    return replace(snapshot, groups=tuple(map(held, snapshot.groups)))
