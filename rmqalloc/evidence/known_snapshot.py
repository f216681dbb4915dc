"""A snapshot known once: every strategy, machine room and doubt of it decided, so that nobody has
to look again.

Every verb takes what `known` returns, or a plain snapshot, of which it asks `known` at its door.
What was given and what was found stand side by side: a plan bears the hash of what it follows from,
and that is what was given.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from rmqalloc.evidence._decide_strategies import decided
from rmqalloc.evidence.client_method import known_by_client
from rmqalloc.evidence.evidence import evidence_of
from rmqalloc.evidence.given_rooms import GivenRooms, with_rooms
from rmqalloc.globs import matcher
from rmqalloc.lazy import lazy_property
from rmqalloc.snapshot.matching import ALL
from rmqalloc.snapshot.snapshot import Group, Snapshot

T = TypeVar("T")

Stated = tuple[str, dict[str, Any]]


@dataclass(frozen=True, eq=False)
class Known:
    """A snapshot with everything decided about its groups; `known` makes it.

    Attributes
    ----------
    given : Snapshot
        What it follows from: as it was read, with what was stated of it, accepted, or left out.
    groups : tuple of str
        Patterns of the groups that were looked at.
    snapshot : Snapshot
        The same with the strategy of every group, and how it is known; see `with_strategies`.
    found : Known
        What it was before anything in doubt was accepted or left out.
    weak : tuple of str
        Groups that rest on less than was asked for; nothing is computed of them.
    stated : (str, dict) or None
        Strategy and parameters that were stated of all these groups.
    is_assumed : bool
        Whether strategies in doubt were accepted.
    """

    given: Snapshot
    groups: tuple[str, ...] = ALL
    weak: tuple[str, ...] = ()
    stated: Stated | None = None
    is_assumed: bool = False
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
        """Return what is known of these groups: what is there already if it is of them, else
        `known`.
        """
        if not isinstance(snapshot, Known):
            return known(snapshot, groups, strategy=strategy, params=params)
        is_same = snapshot.groups == tuple(groups)
        if is_same and (strategy is None or snapshot.stated == (strategy, dict(params or {}))):
            return snapshot
        return known(snapshot.given, groups, strategy=strategy, params=params)

    @classmethod
    def already(cls, snapshot: Snapshot) -> Known:
        """Return a snapshot that holds all that was decided of it."""
        return cls(snapshot, _decided=snapshot)

    @lazy_property
    def snapshot(self) -> Snapshot:
        """The snapshot with its strategies, looked up when they are first asked for."""
        return self._decided or decided(self.given, self.groups).snapshot

    def client_ids(self) -> Iterator[str]:
        """Yield the ids of all clients of the groups that were looked at."""
        is_wanted = matcher(self.groups)
        for group in self.given.groups:
            if is_wanted(group.name):
                yield from (client.client_id for client in group.clients)

    @property
    def found(self) -> Known:
        """What it was before anything in doubt was accepted or left out."""
        return self._before or self

    @lazy_property
    def _answers(self) -> dict[tuple[Any, ...], Any]:
        return {}

    def once(self, question: Callable[..., T], *given: Hashable) -> T:
        """Return the answer to a question about this snapshot, worked out when it is first asked.

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

    def _in_doubt(self, topics: Sequence[str], with_empty: bool = False) -> list[Group]:
        return doubtful(self.found.snapshot, self.groups, topics, with_empty)

    def doubts(self, topics: Sequence[str] = ALL, most: int = 5) -> Iterator[str]:
        """Yield what is in doubt about the strategies of groups that read some topics, a line each;
        of the first few.
        """
        accepted = " and accepted" if self.is_assumed else ""
        for one in self._in_doubt(topics)[:most]:
            if known_by_client(one):
                yield f"the clients of {one.name} divide by different strategies: {one.strategy_doubt}"
            else:
                yield f"the strategy of {one.name} is in doubt{accepted}: {one.strategy_doubt}"

    def left_out(
        self, topics: Sequence[str] = ALL, clients_join: bool = False, by_client: bool = False
    ) -> list[str]:
        """Return groups of which nothing is computed because their strategies are in doubt; `weak`
        ones are not among them.

        With ``clients_join`` also groups without clients; ``by_client`` if what is asked takes each
        client's own strategy.
        """
        if self.is_assumed:
            return []
        found = (one for one in self._in_doubt(topics, clients_join) if one.name not in self.weak)
        return [one.name for one in found if not (by_client and known_by_client(one))]


def known(
    snapshot: Snapshot,
    groups: Sequence[str] = ALL,
    *,
    strategy: str | None = None,
    params: Mapping[str, Any] | None = None,
    assume: bool = False,
    rooms: GivenRooms | None = None,
    require: str | None = None,
) -> Known:
    """Decide every strategy, machine room and doubt of the groups of a snapshot.

    Parameters
    ----------
    snapshot : Snapshot
    groups : sequence of str
        Patterns of the groups to look at, as `fnmatch.fnmatchcase` has them.
    strategy : str, optional
        The strategy of all these groups, whatever is known of them.
    params : mapping, optional
        Its parameters.
    assume : bool
        Accept every strategy that is in doubt.
    rooms : GivenRooms, optional
        Machine rooms given by hand, see `with_rooms`.
    require : {"given", "reported", "fitted", "assumed"}, optional
        The least that strategies must rest on; groups with less are left out.

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
    >>> [group.strategy_source for group in found.snapshot.groups], found.left_out()
    (['given', 'assumed'], ['h'])
    >>> known(cluster, require="reported").weak, known(cluster, assume=True).left_out()
    (('h',), [])
    """
    given, groups = snapshot if rooms is None else with_rooms(snapshot, rooms), tuple(groups)
    if strategy is None and not assume and require is None:
        return Known(given, groups)
    stated = None if strategy is None else (strategy, dict(params or {}))
    made = decided(given, groups, stated)
    found = Known(
        given if stated is None else made.snapshot, groups, (), stated, assume, made.snapshot
    )
    weak = () if require is None else tuple(evidence_of(made.snapshot, groups).weaker(require))
    if not (assume or weak):
        return found
    taken = made.accepted() if assume and stated is None else made.snapshot
    taken = left_out(taken, weak, f"it rests on less than --require {require}") if weak else taken
    return Known(taken, groups, weak, stated, assume, taken, found)


def with_strategies(
    snapshot: Snapshot,
    groups: Sequence[str] = ALL,
    assume: bool = False,
    strategy: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> Snapshot:
    """Return the same snapshot with the strategy of every group that divides its queues, and how it
    is known.

    Parameters
    ----------
    snapshot : Snapshot
        Groups whose ``strategy_source`` is set are left as they are, but for the arguments below.
    groups : sequence of str
        Patterns of the groups to look at, as `fnmatch.fnmatchcase` has them.
    assume : bool
        Accept every strategy that is in doubt.
    strategy : str, optional
        The strategy of all these groups, whatever is known of them.
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
    """Return the same snapshot with some groups in doubt for a reason of the caller's, so that
    nothing is computed of them.
    """
    weak = set(names)

    def held(group: Group) -> Group:
        if group.name not in weak:
            return group
        return replace(
            group, strategy_doubt="; ".join(filter(None, (group.strategy_doubt, reason)))
        )

    return replace(snapshot, groups=tuple(map(held, snapshot.groups)))


def doubtful(
    snapshot: Snapshot,
    groups: Sequence[str] = ALL,
    topics: Sequence[str] = ALL,
    with_empty: bool = False,
) -> list[Group]:
    """Return groups whose strategy is in doubt.

    Parameters
    ----------
    snapshot : Snapshot
        With its strategies, see `with_strategies`.
    groups, topics : sequence of str
        Patterns; a group counts that matches and reads a topic that does.
    with_empty : bool
        Also groups without clients, of which nothing is computed unless clients join.
    """
    has_name, has_topic = matcher(tuple(groups)), matcher(tuple(topics))

    def is_meant(group: Group) -> bool:
        reads = tuple(topics) == ALL or any(map(has_topic, group.subscriptions))
        return reads and bool(has_name(group.name)) and bool(with_empty or group.clients)

    return [one for one in snapshot.groups if one.strategy_doubt is not None and is_meant(one)]
