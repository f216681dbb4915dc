"""Who reads what in a group on a topic: every client asked alone, by what it itself goes by.

A queue has the owners that may take it: by one of the client lists that a broker may hand out.
Clients may differ in strategy, language, subscriptions and routes; or they share the queues, and
read all that they see, or what the broker lets each pop.
"""

from collections import Counter
from typing import NamedTuple

from bruteforce import clusters, java, own_strategies, planned
from bruteforce.clusters import RETRY, queue_key

NOBODY = frozenset()
POP = "POP"


class Slot(NamedTuple):
    """A client: ``rule`` is None where nobody can tell it, ``seen`` its own (broker name, queue
    ids, machine room)s.
    """

    client_id: str
    room: str | None
    rule: dict | None
    reads: bool
    seen: list | None
    language: str | None = None


class Sharing(NamedTuple):
    """How clients share queues, so that none has an owner: all read what they see, or those of POP
    so many shares.
    """

    name: str
    share: int | None = None


class Mixed(NamedTuple):
    """A group on a topic: ``main`` as brokers and joining clients have it, and all ``lists`` of
    client ids.
    """

    main: planned.Unit
    slots: list
    lists: list
    sharing: Sharing | None = None

    @property
    def rooms(self):
        """Machine rooms of brokers and of clients, those of the first where an id repeats."""
        of_broker = {name: room for slot in self.slots for name, _, room in slot.seen or ()}
        known = [(slot.client_id, slot.room) for slot in self.slots if slot.room is not None]
        return of_broker | self.main.rooms[0], dict(reversed(known))

    @property
    def is_read_by_all(self):
        """Whether every client reads every queue that it sees, whatever strategy is set."""
        return self.sharing is not None and self.sharing.name != POP


class State(NamedTuple):
    """A unit before or after a scenario: sets of owners by queue, the doubly owned, or why there
    are none.

    ``processes`` are the readers of every queue as (client id, number among those that share it).
    """

    unit: Mixed
    owners: dict
    doubled: set
    error: tuple | None
    processes: dict

    @property
    def owner_of(self):
        """The one owner of every queue, None for nobody."""
        return {queue: next(iter(ids), None) for queue, ids in self.owners.items()}


# --- Units ---


def units_of(document, groups=None, with_retry=False):
    """Units that are planned, in the order of the document."""
    for group in document["groups"] if groups is None else groups:
        if is_known(document, group):
            sharing = sharing_of(group)
            avg = {"strategy": "AVG", "strategy_params": {}}
            divided = group | avg if is_read_by_all(group) else avg | group
            for main in planned.units_of_group(document, divided, with_retry):
                own = (
                    None if not is_read_by_all(group) and main.topic.startswith(RETRY) else sharing
                )
                slots = [
                    _slot(divided, client, main)
                    for client in [*group.get("clients", []), *_listed_alone(group)]
                ]
                clients = planned.in_order((slot.client_id, slot.room) for slot in slots)
                yield Mixed(
                    main._replace(clients=clients),
                    slots,
                    _lists(document, group, main.topic, slots),
                    own,
                )


def alike(unit):
    """A unit whose clients all have the one view of it."""
    slots = [Slot(one, room, unit.rule, True, None, unit.language) for one, room in unit.clients]
    return Mixed(unit, slots, [unit.ids])


def sharing_of(group):
    """How the clients of a group share its queues, None where they divide them."""
    if is_broadcast(group):
        return Sharing("BROADCASTING")
    if group.get("is_shared"):
        return Sharing("PROXY")
    if group.get("server_assignment") == POP and planned.is_served(group):
        return Sharing(POP, group.get("pop_share_queue_num", 0))
    return None


def is_broadcast(group):
    return group.get("message_model") == "BROADCASTING"


def is_read_by_all(group):
    """Whether clients read every queue that they see."""
    sharing = sharing_of(group)
    return sharing is not None and sharing.name != POP


def is_known(document, group):
    """Whether it is known what every client divides by: told of each, or one strategy that nothing
    it owns contradicts.
    """
    if sharing_of(group) is not None:
        return True
    main = rule_of(group, {})
    if _language(group, {}) == "CPP" and group["strategy"] != "AVG":
        return False
    rules = [rule_of(group, client) for client in group.get("clients", [])]
    if None in rules:
        return False
    return any(rule != main for rule in rules) or _explains(document, group, main)


def _explains(document, group, rule):
    """Whether a strategy gives every queue that just one client reports to that client.

    Of several the one counts whose strategy is not stated.
    """
    stated = {client["client_id"] for client in group.get("clients", []) if "strategy" in client}
    holders = {}
    for client in group.get("clients", []):
        for queue in client.get("owned", []):
            holders.setdefault(queue_key(queue), set()).add(client["client_id"])
    ids = sorted((client["client_id"] for client in group.get("clients", [])), key=java.utf16)
    for topic in document["topics"]:
        queues = clusters.queues_of(topic)
        telling = {
            queue: holders.get(queue, set()) - stated or holders.get(queue, set())
            for queue in queues
        }
        alone = [queue for queue in queues if len(telling[queue]) == 1]
        if alone:
            try:
                owners = java.owners(rule, queues, ids, clusters.rooms_of([topic], group))
            except java.Refused:
                return False
            if any(telling[queue] != {owners[queue]} for queue in alone):
                return False
    return True


def rule_of(group, client):
    """What a client divides by; None where it is said to use what clients of its language do not
    have.
    """
    name, language = client.get("strategy"), _language(group, client)
    same = name is None or name == group["strategy"]
    rule = (
        java.rule_of(group["strategy"], group.get("strategy_params", {}))
        if same
        else java.rule_of(name, {})
    )
    if language == "CPP" and name not in (None, "AVG"):
        return None
    rule = java.spoken(rule, language)
    return java.with_nodes(rule, client["virtual_nodes"]) if "virtual_nodes" in client else rule


def _language(group, client):
    """The language by whose rules a client divides, None for Java's."""
    if planned.is_served(group):
        return None
    return planned.language_of(client) or planned.language_of_all(group)


def _listed_alone(group):
    """Clients that only single brokers list."""
    have, found = Counter(client["client_id"] for client in group.get("clients", [])), []
    for ids in group.get("broker_client_ids", {}).values():
        more = Counter(ids) - have
        have += more
        found += [{"client_id": one} for one in more.elements()]
    return found


def _lists(document, group, topic, slots):
    """Client lists that a client of the topic may be given."""
    by_broker = group.get("broker_client_ids") or {}
    if is_read_by_all(group):
        return [[slot.client_id for slot in slots]]
    brokers = [
        one["broker_name"]
        for each in document["topics"]
        if each["name"] == topic
        for one in each["brokers"]
    ]
    asked = [by_broker[name] for name in brokers if name in by_broker] or list(by_broker.values())
    return asked or [[client["client_id"] for client in group.get("clients", [])]]


def _slot(group, client, unit):
    reads = (
        "subscriptions" not in client
        or unit.topic in client["subscriptions"]
        or unit.topic.startswith(RETRY)
    )
    seen = client.get("sees_read_queue_nums", {}).get(unit.topic)
    if planned.is_served(group) and not is_read_by_all(group):
        seen = None
    if seen is not None:
        rooms = unit.rooms[0]
        seen = [(name, range(n), rooms.get(name)) for name, n in seen.items()]
        # Who sees the very queues of the route follows it, be there brokers without queues or not.
        if unit._replace(brokers=seen).queues == unit.queues:
            seen = None
    rule = unit.rule if is_read_by_all(group) else rule_of(group, client)
    return Slot(
        client["client_id"], client.get("machine_room"), rule, reads, seen, _language(group, client)
    )


# --- States ---


def state_of(unit, with_rooms=True):
    """Who may take what, every client asked with every list."""
    asked = Asked(unit, with_rooms)
    errors = [error] if (error := asked.error()) else []
    readers, processes = ({queue: [] for queue in unit.main.queues} for _ in range(2))
    for process, slot in zip(numbered(unit), unit.slots, strict=True) if unit.main.queues else ():
        if slot.reads:
            try:
                shares = [asked.share(slot, ids) for ids in unit.lists]
            except (java.Refused, java.Unknown) as error:
                errors.append(_code(error))
                continue
            for queue in set().union(*shares) & readers.keys():
                readers[queue].append((slot.client_id, all(queue in one for one in shares)))
                processes[queue].append(process)
    if errors:
        return State(unit, dict.fromkeys(readers, NOBODY), set(), errors[0], {})
    owners = {queue: frozenset(one for one, _ in found) for queue, found in readers.items()}
    doubled = {queue for queue, found in readers.items() if sum(sure for _, sure in found) > 1}
    return State(unit, owners, doubled if unit.sharing is None else set(), None, processes)


def _code(error):
    return planned.REFUSED if isinstance(error, java.Refused) else planned.BAD_STRATEGY, str(error)


class Asked:
    """Shares of the clients of a unit; what several of them divide alike is divided once."""

    def __init__(self, unit, with_rooms):
        self.unit, self.with_rooms, self.rooms = unit, with_rooms, unit.rooms
        self._owners = {}

    def error(self):
        """Why the queues cannot be divided as brokers and most clients have them, None if they can."""
        main = self.unit.main
        try:
            self._check(main.rule)
            if main.queues and main.clients:
                self._divided(main.rule, main.queues, main.ids, main.rooms)
        except (java.Refused, java.Unknown) as error:
            return _code(error)
        return None

    def _check(self, rule):
        if java.reads_rooms(rule) and not self.with_rooms:
            raise java.Unknown("machineRoomResolver is null")
        if rule["name"] != "CONFIG" and not own_strategies.is_known(rule):
            raise java.Unknown(java.title(rule))

    def _divided(self, rule, queues, ids, rooms):
        """Owners by queue; a list or a route that lacks rooms is refused whoever asks."""
        key = repr(rule), tuple(queues), tuple(ids), repr(rooms)
        if key not in self._owners:
            self._owners[key] = java.owners(rule, queues, ids, rooms)
        return self._owners[key]

    def share(self, slot, ids):
        """Queues that one client takes if it is given these ids."""
        unit = self.unit
        brokers = unit.main.brokers if slot.seen is None else slot.seen
        queues, ids = unit.main._replace(brokers=brokers).queues, sorted(ids, key=java.utf16)
        if unit.is_read_by_all:
            return set(queues)
        self._check(slot.rule)
        if not queues or not ids:
            return set()
        if unit.sharing is not None:
            return self._popped(slot, queues, ids)
        owners = self._divided(slot.rule, queues, ids, self.rooms)
        if (
            slot.rule["name"] == "CONFIG" and slot.client_id
        ):  # its list is taken whole, whatever the client sees
            return set(java.allocate(slot.rule, slot.client_id, queues, ids, self.rooms))
        return {queue for queue, one in owners.items() if one == slot.client_id}

    def _popped(self, slot, queues, ids):
        if slot.client_id not in ids:
            return set()  # a broker hands whole brokers out to clients that it does not list, too, which is not planned
        try:
            return set(java.popped(slot.rule, slot.client_id, queues, ids, self.unit.sharing.share))
        except java.Refused:
            return set()  # the broker answers nothing


def numbered(unit):
    """Processes of a unit, those that share an id numbered in the order in which the group lists
    them.
    """
    seen = Counter()
    for slot in unit.slots:
        yield slot.client_id, seen[slot.client_id]
        seen[slot.client_id] += 1


def reported(state, document):
    """The state that all clients report, the same state if some do not.

    Of several clients of one id, one reports for all: a silent one reads what it takes of the queues
    that its id reports.
    """
    [group] = [one for one in document["groups"] if one["name"] == state.unit.main.group]
    clients = group.get("clients", [])
    topic = state.unit.main.topic
    said = [
        (client["client_id"], {queue_key(one) for one in client.get("owned", [])})
        for client in clients
    ]
    answered = {client["client_id"] for client in clients if "owned" in client}
    if (
        state.error
        or state.unit.sharing is not None
        or not clients
        or any(client["client_id"] not in answered for client in clients)
        or _listed_alone(group)
    ):
        return state
    if topic.startswith(RETRY) and not any(
        queue[0] == topic for _, queues in said for queue in queues
    ):
        return state
    reading = list(zip(numbered(state.unit), (queues for _, queues in said), strict=True))
    silent = {
        process
        for process, client in zip(numbered(state.unit), clients, strict=True)
        if "owned" not in client
    }
    processes = {}
    for queue in state.owners:
        processes[queue] = [process for process, queues in reading if queue in queues]
        ids = {client_id for client_id, _ in processes[queue]}
        twins = silent.intersection(state.processes[queue])
        processes[queue] += [process for process in sorted(twins) if process[0] in ids]
    takers = {queue: [client_id for client_id, _ in mine] for queue, mine in processes.items()}
    doubled = {queue for queue, ids in takers.items() if len(ids) > 1}
    return State(
        state.unit,
        {queue: frozenset(ids) for queue, ids in takers.items()},
        doubled,
        None,
        processes,
    )


def current(units, document):
    """States before any change."""
    with_rooms = planned.rooms_known([unit.main for unit in units])
    states = [state_of(unit, with_rooms) for unit in units]
    return [
        reported(state, document)
        if state.unit.slots
        else state._replace(error=(planned.EMPTY, java.NO_CLIENTS))
        for state in states
    ]


def behind(before, scenario):
    """States behind a scenario; a unit that it leaves as it was is as before."""
    with_rooms = planned.rooms_known([state.unit.main for state in before])
    return [after(state, scenario, with_rooms) for state in before]


def after(before, scenario, with_rooms):
    """The state behind a scenario; one that could not be divided before and has still nothing to
    divide is bad as before.
    """
    unit = changed(before.unit, scenario)
    if unit == before.unit and before.error:
        return before
    if before.error and not (unit.main.clients and unit.main.queues):
        text = java.NO_CLIENTS if unit.main.queues else java.NO_QUEUES
        return State(
            unit, dict.fromkeys(unit.main.queues, NOBODY), set(), (planned.EMPTY, text), {}
        )
    return state_of(unit, with_rooms)


def in_rooms(scenario, main):
    """A scenario for clients that do not see a broker of their topic: it stands where it stands,
    whatever is added.
    """
    rooms = {name: room for name, _, room in main.brokers if room is not None}
    changes = []
    for change in scenario["changes"]:
        added = change.get("add_broker", {})
        room = rooms.get(added.get("broker_name"))
        changes.append(change if room is None else {"add_broker": {**added, "machine_room": room}})
    return scenario | {"changes": changes}


def without_strategies(scenario):
    """A scenario for clients that read everything: they read it whatever strategy is set."""
    kept = [
        one for one in scenario["changes"] if not one.keys() & {"set_strategy", "set_virtual_nodes"}
    ]
    return scenario | {"changes": kept}


def changed(unit, scenario):
    """The unit after a scenario: what goes is chosen among all clients and leaves every list, what
    comes joins each.
    """
    if unit.is_read_by_all:
        scenario = without_strategies(scenario)
    main = planned.changed(unit.main, scenario)
    if not planned.matches(scenario.get("groups", "*"), main.group):
        return unit
    slots = []
    for slot, mine in zip(unit.slots, alone(unit, in_rooms(scenario, unit.main)), strict=True):
        slots.append(
            slot._replace(rule=mine.rule, seen=None if slot.seen is None else mine.brokers)
        )
    before, after = Counter(unit.main.ids), Counter(main.ids)
    kept, left = [], after.copy()
    for slot in slots:  # of those that share an id the last leave first
        if left[slot.client_id]:
            left[slot.client_id] -= 1
            kept.append(slot)
    come = after - before
    for place, (one, room) in enumerate(main.clients):
        if main.ids[:place].count(one) >= after[one] - come[one]:
            kept.append(Slot(one, room, main.rule, True, None, main.language))
    return unit._replace(
        main=main, slots=kept, lists=[_list_after(ids, before, after) for ids in unit.lists]
    )


def alone(unit, scenario):
    """The unit as each client has it, changed."""
    for slot in unit.slots:
        brokers = unit.main.brokers if slot.seen is None else slot.seen
        yield planned.changed(
            unit.main._replace(rule=slot.rule, brokers=brokers, language=slot.language), scenario
        )


def _list_after(ids, before, after):
    """A list of ids without those that left, and with those that joined."""
    had = Counter(ids)
    stay = Counter({one: min(n, max(0, n - before[one] + after[one])) for one, n in had.items()})
    return sorted([*stay.elements(), *(after - before).elements()])
