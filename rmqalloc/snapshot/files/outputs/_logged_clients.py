"""Logs of clients, taken line by line: `ClientLogs`.

The last result that a client prints for a topic is its state. Lines around it name the group and no
client (a lock that was not had, a queue that was removed, a consumer that was shut down); they are
kept by log, and `rmqalloc.snapshot.files.outputs._logged_groups` decides what they are about.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from math import inf

from rmqalloc.snapshot.files.outputs._client_log import (
    REMOVED,
    Absent,
    ClientState,
    ConsumerState,
    Divided,
    Event,
    ListFailed,
    Ordered,
    QueueChange,
    Result,
    events,
)
from rmqalloc.snapshot.files.outputs._gathered import CountedQueues, LoggedGroup
from rmqalloc.snapshot.files.outputs._group_logs import (
    Change,
    GroupLogs,
    LoggedClient,
    Place,
    State,
)
from rmqalloc.snapshot.files.outputs._logged_groups import GroupLeft
from rmqalloc.snapshot.files.outputs._mqadmin_tables import version
from rmqalloc.snapshot.files.outputs._sections import Section

_SOON = 20
"""Lines within which a consumer says that it is shut down, after its client has said so."""


def clients_of(sections: Sequence[Section]) -> ClientLogs:
    """Return what logs leave; those that go on with one another are put in the order of their times.

    Raises
    ------
    DocumentError
        None of the results in a log is whole.
    """
    logs, begins = ClientLogs(), []
    for number, section in enumerate(sections):
        first = next((event.at for event in events_of(section) if event.at is not None), inf)
        begins.append((first, number))
    for _, number in sorted(begins):
        section, is_whole, cuts = sections[number], False, dict[int, str]()
        for event in events_of(section):
            logs.take(section.source.name, event)
            if isinstance(event.fact, Result):
                if event.fact.cut is None:
                    is_whole = True
                elif not cuts:
                    cuts[event.line] = event.fact.cut
        for line, cut in cuts.items():
            if not is_whole:
                raise section.source.error(f"this line of a client's log is not whole: {cut}", line)
    return logs


def events_of(section: Section) -> Iterator[Event]:
    """Yield what a log states, with lines of its file."""
    before = section.line - 1
    text = text_of(section)
    for line, at, fact in events(text, section.source.path):
        yield Event(line + before, at, fact)


def text_of(section: Section) -> str:
    """Return the text of a log, of a file that has nothing else as it stands there."""
    return "\n".join(section.lines) if section.lines else section.source.text()


class ClientLogs:
    """Takes what logs state, in the order of time as far as that is known.

    Attributes
    ----------
    warnings : list of str
        What `groups` found that contradicts itself or is left open.
    n_results : mapping of str to int
        Results by log.
    """

    def __init__(self, whole: ClientLogs | None = None) -> None:
        self.warnings: list[str] = []
        self.n_results = Counter[str]()
        self._whole = whole  # what the same logs leave at their end
        self._groups: dict[str, GroupLogs] = {}
        self._cuts: list[State] = []  # results without a group
        self._started: dict[str, str] = {}  # releases of clients whose start is logged
        self._processes: dict[str, Place] = {}  # where the last process of a log begins
        self._shut: dict[str, list[tuple[str, int]]] = defaultdict(list)
        self._named: dict[tuple[str, int | None], dict[str, int]] = whole._named if whole else {}
        self._rank = 0

    def take(self, file: str, event: Event) -> Sequence[str]:
        """Take the next event; those of one file come in the order of its lines. Return the groups
        that it changes.
        """
        self._rank += 1
        place, fact = Place(file, event.line, self._rank, event.at), event.fact
        self.n_results[file] += isinstance(fact, Result)
        if isinstance(fact, ClientState):
            return self._take_client(fact, place)
        if isinstance(fact, Result) and not fact.group:
            self._cuts.append(State(fact, place))
            return tuple(self._groups)
        group = self._groups.get(fact.group)
        if group is None:
            group = self._groups[fact.group] = GroupLogs(fact.group, place)
        return (fact.group,) if self._take_of_group(fact, place, group) else ()

    def _take_of_group(self, fact: object, place: Place, group: GroupLogs) -> bool:
        """Take an event of one group; return whether it changes what is known of it."""
        match fact:
            case Result():
                self._take_result(State(fact, place), group)
            case QueueChange(_, queue, change):
                changes = group.changes.setdefault(place.file, {})
                before = changes.get(queue)
                changes[queue] = Change(change, place)
                return before is None or before.change != change
            case Divided(_, topic):
                group.divided[place.file, topic] = fact
                return False
            case Absent(_, topic):
                is_new = topic not in group.topics
                group.topics[topic] = None
                return is_new
            case ListFailed():
                group.no_list.append(place)
                return False
            case Ordered():
                group.is_ordered = True
                return False
            case ConsumerState(_, is_end=False):
                group.n_started[place.file] += 1
                return False
            case ConsumerState():
                self._end_consumer(place, group)
        return True

    def _take_result(self, state: State, group: GroupLogs) -> None:
        result, place = state.result, state.place
        if not result.client_id or not result.topic:
            group.cuts.append(state)
            return
        group.topics[result.topic] = None
        client = group.clients.setdefault(result.client_id, LoggedClient(result.client_id))
        self._end_removals(group, client, state)
        state = state._replace(divided=group.divided.pop((place.file, result.topic), None))
        client.states[result.topic] = state
        client.ended = client.followed = None
        client.heard = max(client.heard, -inf if place.at is None else place.at)
        there = group.there.setdefault(place.file, {})
        if result.client_id not in there:
            client.files.add(place.file)
            self._follow(group, place.file)
            there[result.client_id] = client
        self._name_queues(state)

    def _end_removals(self, group: GroupLogs, client: LoggedClient, state: State) -> None:
        """Forget removals that this result shows to have been the client's."""
        before = client.states.get(state.result.topic)
        changes = group.changes.get(state.place.file)
        if before is None or not changes:
            return
        for queue in {*before.queues}.difference(state.queues):
            if queue in changes and changes[queue].change == REMOVED:
                del changes[queue]

    def _follow(self, group: GroupLogs, file: str) -> None:
        """Take clients that printed nothing since a process began in their log to have ended, as
        that has a client of the group.
        """
        begun = self._processes.get(file)
        for client in list(group.there[file].values()) if begun else ():
            if begun and client.last.place.rank < begun.rank:
                client.followed = begun
                group.leave(client)

    def _name_queues(self, state: State) -> None:
        """Keep queues that a line names, by how many there were of the topic."""
        result = state.result
        brokers = self._named.setdefault((result.topic, result.n_queues), {})
        all_queues = (state.divided and state.divided.queues) or result.queues or ()
        for queue in all_queues:
            brokers[queue.broker_name] = max(brokers.get(queue.broker_name, 0), queue.queue_id + 1)

    def _take_client(self, fact: ClientState, place: Place) -> Sequence[str]:
        if fact.is_first:
            self._processes[place.file] = place
            for group in self._groups.values():
                group.changes.pop(place.file, None)
                group.n_started.pop(place.file, None)
        if fact.is_end:
            self._shut[place.file].append((fact.client_id, place.line))
        elif fact.version is None:
            self._started.setdefault(fact.client_id, "")
            return ()
        else:
            self._started[fact.client_id] = version(fact.version)
        found = []
        for name, group in self._groups.items():
            if client := group.clients.get(fact.client_id):
                found.append(name)
                group.leave(client)
                if fact.is_end:
                    client.ended = place
                    client.heard = max(client.heard, -inf if place.at is None else place.at)
                else:  # the client is new, and owns nothing
                    client.states.clear()
        return found

    def _end_consumer(self, place: Place, group: GroupLogs) -> None:
        """Take that a consumer was shut down: that of a client that has just said so, else the only
        one.
        """
        shut = self._shut[place.file]
        for number, (client_id, line) in enumerate(shut):
            is_of_group = client_id in group.clients or not self._is_named(client_id)
            if is_of_group and place.line - line <= _SOON:
                del shut[number]
                return
        there = list(group.there.get(place.file, {}).values())
        if len(there) == 1 and group.is_alone(there[0]):
            there[0].ended = place
            group.leave(there[0])
        elif there:
            group.ends.append(place)

    def _is_named(self, client_id: str) -> bool:
        return any(client_id in group.clients for group in self._groups.values())

    def groups(self) -> Iterator[tuple[str, LoggedGroup]]:
        """Yield groups by name, as the logs leave them; adds to the warnings."""
        for name in self._groups:
            if found := self.group(name):
                yield name, found

    def group(self, name: str, at: float = inf) -> LoggedGroup | None:
        """Return a group as the logs leave it at a moment, None if no client of it is known; adds
        to the warnings.
        """
        group = self._groups[name]
        if not group.clients:
            return None
        later = self._whole._groups[name].clients.values() if self._whole else ()
        alive = {client.client_id for client in later if client.heard > at}
        left = GroupLeft(group, self._started, (*group.cuts, *self._cuts), alive)
        found = left.group()
        self.warnings += left.warnings
        return found

    def queues(self) -> Mapping[str, Sequence[CountedQueues]]:
        """Return by topic how many queues clients divided last."""
        found: dict[str, list[CountedQueues]] = defaultdict(list)
        for group in self._groups.values():
            for state in chain.from_iterable(client.states.values() for client in group.present()):
                result = state.result
                if result.n_queues is not None:
                    brokers = self._named.get((result.topic, result.n_queues), {})
                    count = CountedQueues(result.n_queues, str(state.place), brokers)
                    found[result.topic].append(count)
        return found
