"""A group as logs of its clients leave it: what each client owns, and what is not known.

A client prints nothing while its queues stay, and nothing if it is killed. So logs show who is there
only where they are as many as each client counts; and of a queue that two clients claim, only there
both are taken to have it. Lines that name no client count for one where nothing else in its log may
be meant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from math import inf

from rmqalloc.model import MessageQueue
from rmqalloc.results.and_more import named
from rmqalloc.snapshot.files.outputs._client_log import ADDED, FAILED, REMOVED
from rmqalloc.snapshot.files.outputs._contradictions import CountedClients
from rmqalloc.snapshot.files.outputs._gathered import LoggedGroup
from rmqalloc.snapshot.files.outputs._group_logs import Change, GroupLogs, LoggedClient, State
from rmqalloc.snapshot.live._answers import ClientConnection, RunningInfo
from rmqalloc.strategies import Strategy
from rmqalloc.strategies.by_name import inner_class_of
from rmqalloc.text import counted, printable

_IN_PART = "logs name only topics of which a client got queues"

IN_PART = {
    "clients": "logs do not show all of them",
    "owners": "logs do not show what all clients own",
    "subscriptions": _IN_PART,
}
"""Why facts of a group are not known, whatever the lines."""


class GroupLeft:
    """One group, as its logs leave it."""

    def __init__(
        self,
        group: GroupLogs,
        started: Mapping[str, str],
        cuts: Sequence[State],
        alive: Collection[str],  # clients that are heard of later
    ) -> None:
        self.warnings: list[str] = []
        self._group, self._started, self._cuts, self._alive = group, started, cuts, alive
        self._clients = group.present()
        self._why: dict[str, str] = {}  # why it is not known what a client owns

    def group(self) -> LoggedGroup:
        """Return what is known of it; warns of the rest."""
        infos = {client.client_id: self._info(client) for client in self._clients}
        connections = {}
        for client_id in infos:
            release = self._started.get(client_id) or None
            connections[client_id] = ClientConnection(client_id, "JAVA", release)
        for client_id in self._listed():
            connections.setdefault(client_id, ClientConnection(client_id, None, None))
        counts = self._counts(infos)
        unknown = {}
        if why := self._why_more(len(connections), counts):
            unknown = {"clients": why}
            infos = self._unclaimed(infos)
        if why or not infos.keys() <= self._started.keys():
            unknown["subscriptions"] = _IN_PART
        if self._why:
            unknown["owners"] = next(iter(self._why.values()))
        self._warn_of_open()
        return LoggedGroup(
            infos,
            connections,
            self._places(connections),
            set(self._group.topics),
            counts,
            unknown,
            self._group.first.file,
            self._group.first.line,
        )

    def _places(self, client_ids: Iterable[str]) -> dict[str, str]:
        """Return where each client is named last; those that others list, where these do."""
        places = {client.client_id: str(client.last.place) for client in self._clients}
        last = next(iter(places.values()), "")
        return {client_id: places.get(client_id, last) for client_id in client_ids}

    def _info(self, client: LoggedClient) -> RunningInfo:
        """Return what a client says of itself."""
        owned: set[MessageQueue] = set()
        popped: set[MessageQueue] = set()
        is_alone = self._group.is_alone(client)
        changes = self._changes(client)
        for topic, state in client.states.items():
            mine = {queue: change for queue, change in changes.items() if queue.topic == topic}
            queues = _printed(state, mine, is_alone)
            if queues is None:
                self._leave_open(client, _why_unread(state))
                continue
            lost, got = _corrections(state, mine)
            if is_alone:
                owned |= {*queues, *got} - lost
                popped |= {*state.result.popped} - lost
            else:
                owned |= {*queues}
                popped |= {*state.result.popped}
                if unsure := lost.intersection(state.queues):
                    queue = min(unsure)
                    why = f"{mine[queue].place}: some client of it lacks queue {_shown(queue)}"
                    self._leave_open(client, why)
        if cut := self._cut(client):
            self._leave_open(client, f"{cut.place}: the line is not whole: {cut.result.cut}")
        result, is_open = client.last.result, client.client_id in self._why
        return RunningInfo(
            owned=None if is_open else tuple(sorted(owned)),
            popped=() if is_open else tuple(sorted(popped)),
            subscriptions=tuple(sorted(client.states)),
            strategy=result.strategy if _is_known(result.strategy) else None,
            is_ordered=self._group.is_ordered,
            client_rebalance=not result.is_served,
        )

    def _leave_open(self, client: LoggedClient, why: str) -> None:
        if self._why.setdefault(client.client_id, why) == why:
            who = printable(client.client_id)
            self.warnings.append(f"{self._group}: {why}; what {who} owns is not known")

    def _changes(self, client: LoggedClient) -> dict[MessageQueue, Change]:
        """Return the last change of each queue in a client's logs."""
        found: dict[MessageQueue, Change] = {}
        for file in client.files:
            for queue, change in self._group.changes.get(file, {}).items():
                if queue not in found or found[queue].place.rank < change.place.rank:
                    found[queue] = change
        return found

    def _cut(self, client: LoggedClient) -> State | None:
        """Return a cut line that may be a later result of a client."""
        oldest = min(state.place.rank for state in client.states.values())
        for cut in self._cuts:
            state = client.states.get(cut.result.topic)
            rank = oldest if state is None else state.place.rank
            if cut.place.file in client.files and cut.place.rank > rank:
                return cut
        return None

    def _listed(self) -> Sequence[str]:
        """Return the clients that all clients of 3.2.6 print alike; nothing if they do not."""
        divided = [client.last.divided for client in self._clients]
        lists = {found and found.client_ids for found in divided}
        return (lists.pop() or ()) if len(lists) == 1 else ()

    def _counts(self, infos: Mapping[str, RunningInfo]) -> list[CountedClients]:
        """Return how many clients each saw last; without counts that were right when they were
        printed, where all that is owned fits the last.
        """
        counts = []
        latest: tuple[float, int] | None = (-inf, 0)
        for client in self._clients:
            if (n := client.n_clients) is not None:
                who = f"the log of {printable(client.client_id)}"
                counts.append(CountedClients(n, who, str(client.last.place)))
                at = client.last.place.at
                latest = max(latest, (at, n)) if latest and at is not None else None
        if latest and latest[1] == len(self._clients) and self._fit(infos):
            return [count for count in counts if count.n == latest[1]]
        return counts

    def _fit(self, infos: Mapping[str, RunningInfo]) -> bool:
        """Check whether every queue of every topic has one owner."""
        n_owned = Counter[str]()
        distinct: set[MessageQueue] = set()
        for info in infos.values():
            if info.owned is None:
                return False
            n_owned.update(queue.topic for queue in info.owned)
            distinct.update(info.owned)
        n_queues: dict[str, int] = {}
        for state in chain.from_iterable(client.states.values() for client in self._clients):
            topic = state.result.topic
            n_queues[topic] = max(n_queues.get(topic, 0), state.result.n_queues or 0)
        return n_owned.total() == len(distinct) and n_owned == Counter(n_queues)

    def _why_more(self, n_known: int, counts: Sequence[CountedClients]) -> str | None:
        """Return why the group may have other clients than logs show; warn where they contradict
        each other.
        """
        if not self._clients:
            return "all of its clients whose logs are given have ended"
        if not counts:
            return "only those whose logs are given are known; brokers that assign queues count no clients"
        first = counts[0]
        different = next((count for count in counts if count.n != first.n), None)
        if different:
            self.warnings.append(
                f"{self._group}: {_counting(first)}, {_counting(different)}: they have different "
                "lists of clients, one of them has ended, or the queues of one have not changed "
                "since, which is not logged"
            )
            return f"{_counting(first)}, {_counting(different)}"
        given = f"logs of {counted(n_known, 'client')} are given"
        if n_known > first.n:
            self.warnings.append(
                f"{self._group}: {given}, and {_counting(first)}, as the remaining logs: some have "
                "ended, or they have different lists of clients"
            )
        if n_known != first.n or self._group.ends:
            return f"{given}, each of which counts {first.n}"
        return None

    def _unclaimed(self, infos: Mapping[str, RunningInfo]) -> dict[str, RunningInfo]:
        """Return what clients say, without the queues of those of which a later one claims some:
        they may have ended.
        """
        claims: dict[MessageQueue, LoggedClient] = {}
        found = dict(infos)
        for client in sorted(self._clients, key=_recency, reverse=True):
            mine = found[client.client_id].owned or ()
            taken = next((queue for queue in mine if queue in claims), None)
            if taken is not None and client.client_id not in self._alive:
                later = claims[taken].states[taken.topic].place
                here = client.states[taken.topic].place
                who = printable(claims[taken].client_id)
                self._leave_open(
                    client,
                    f"queue {_shown(taken)} is its own at {here}, and that of {who} at {later}",
                )
                info = found[client.client_id]
                found[client.client_id] = info._replace(owned=None, popped=())
            else:
                claims.update(dict.fromkeys(mine, client))
        return found

    def _warn_of_open(self) -> None:
        """Warn of what lines without a client id leave open, and of clients taken to have ended."""
        group = self._group
        clients = group.clients.values()
        followed = [client for client in clients if client.followed and client.states]
        if followed:
            who = named([printable(client.client_id) for client in followed])
            client = followed[-1]
            self.warnings.append(
                f"{group}: {who} taken to have ended: no result after {client.last.place}, and another process begins at "
                f"{client.followed}"
            )
        if group.ends and self._clients:
            self.warnings.append(
                f"{group}: {group.ends[-1]}: a consumer was shut down; it is not known which client's it was"
            )
        last = max((client.last.place.rank for client in self._clients), default=inf)
        failed = [place for place in group.no_list if place.rank > last]
        if failed:
            self.warnings.append(
                f"{group}: {failed[-1]}: a client could not get the list of clients, {counted(len(failed), 'time')} since "
                "the last result, and kept its queues"
            )


def _printed(
    state: State, changes: Mapping[MessageQueue, Change], is_alone: bool
) -> tuple[MessageQueue, ...] | None:
    """Return the queues of a result; 3.2.6 prints them above it alone."""
    result = state.result
    if result.queues is not None or result.cut is not None or not is_alone:
        return result.queues
    queues = tuple(queue for queue, found in changes.items() if found.change == ADDED)
    return queues if len(queues) == result.n_given else None


def _corrections(
    state: State, changes: Mapping[MessageQueue, Change]
) -> tuple[set[MessageQueue], set[MessageQueue]]:
    """Return queues that a client has not, and has, whatever its last result says."""
    lost, got = set(), set()
    for queue, found in changes.items():
        is_later = found.place.rank > state.place.rank
        if found.change == FAILED or (found.change == REMOVED and is_later):
            lost.add(queue)
        elif found.change == ADDED and is_later:
            got.add(queue)
    return lost, got


def _why_unread(state: State) -> str:
    if state.result.cut:
        return f"{state.place}: the line is not whole: {state.result.cut}"
    return f"{state.place}: a result of 3.2.6, which prints no queues; the lines above it do not show all"


def _is_known(strategy: str) -> bool:
    """Check whether a name is that of a strategy here; users name their own as they like."""
    return inner_class_of(strategy) is not Strategy


def _recency(client: LoggedClient) -> tuple[float, int]:
    place = client.last.place
    return (-inf if place.at is None else place.at), place.rank


def _counting(count: CountedClients) -> str:
    return f"{count} counts {counted(count.n, 'client')}"


def _shown(queue: MessageQueue) -> str:
    return printable(f"{queue.topic} {queue.broker_name}:{queue.queue_id}")
