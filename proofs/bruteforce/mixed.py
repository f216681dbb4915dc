"""What a plan of groups whose clients differ should say: every client asked alone, by what it itself goes by.

A queue has the owners that may take it: by one of the client lists that a broker may hand out. What is random here on top of
`clusters`: strategies, SDKs, subscriptions, stale routes, lists of brokers, ids that repeat, what clients report that they own.
"""

from collections import Counter
from itertools import combinations
from typing import NamedTuple

from bruteforce import clusters, java, planned
from bruteforce.clusters import RETRY, chance, queue_key, some
from bruteforce.matching import least_moves

NOBODY = frozenset()
ALL = {"name": "BROADCASTING"}
"""The rule of clients that read every queue that they see, whatever strategy is set."""


class Slot(NamedTuple):
    """A client: ``rule`` is None where nobody can tell it, ``seen`` its own (broker name, queue ids, machine room)s."""

    client_id: str
    room: str | None
    rule: dict | None
    reads: bool
    seen: list | None
    language: str | None = None


class Mixed(NamedTuple):
    """A group on a topic: ``main`` as brokers and joining clients have it, and all ``lists`` of client ids."""

    main: planned.Unit
    slots: list
    lists: list

    @property
    def rooms(self):
        """Machine rooms of brokers and of clients, those of the first where an id repeats."""
        of_broker = {name: room for slot in self.slots for name, _, room in slot.seen or ()}
        known = [(slot.client_id, slot.room) for slot in self.slots if slot.room is not None]
        return of_broker | self.main.rooms[0], dict(reversed(known))


class State(NamedTuple):
    """A mixed unit before or after a scenario: sets of owners by queue, the doubly owned, or why there are none.

    ``processes`` are the readers of every queue as (client id, number among those that share it).
    """

    unit: Mixed
    owners: dict
    doubled: set
    error: tuple | None
    processes: dict


# --- Cases ---


def case(random):
    """Groups of which it is known of every client what it divides by, or of which it surely is not."""
    document = clusters.snapshot(random, tame=chance(random, 0.6))
    for group in document["groups"]:
        rule = group.get("strategy_params", {}).get("inner", group["strategy"])
        if "CONSISTENT_HASH" in rule:
            group["strategy_params"] = {"virtual_nodes": java.DEFAULT_NODES} | group.get("strategy_params", {})
        _give_views(random, group, document["topics"])
        if chance(random, 0.15):
            _give_owned(random, document, group)
    return document


def _give_views(random, group, topics):
    clients = group.get("clients", [])
    kinds = some(random, ("strategies", "go", "subscriptions", "routes", "lists", "repeats"), 0, 3)
    for client in clients:
        if "strategies" in kinds and chance(random, 0.4):
            client["strategy"] = random.choice(("AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH"))
            if client["strategy"] == "CONSISTENT_HASH":
                client["virtual_nodes"] = random.choice(clusters.NODES)
        if "go" in kinds and chance(random, 0.3):
            client["language"] = random.choice(("GO", "GO", "GO", "CPP", "JAVA"))
        if "subscriptions" in kinds and chance(random, 0.7):
            client["subscriptions"] = [name for name in group["subscriptions"] if chance(random, 0.7)]
    if "routes" in kinds and clients:
        for client in some(random, clients, 1):
            client["sees_read_queue_nums"] = clusters._seen(random, topics)
    if "lists" in kinds and clients:
        group["broker_client_ids"] = clusters._lists_of_brokers(random, clients, topics)
    if "repeats" in kinds and clients:
        one = random.choice(clients)
        clients.insert(random.randint(0, len(clients)), {name: one[name] for name in one if name != "strategy"})


def _give_owned(random, document, group):
    """What clients report: what they take, or not quite."""
    rooms = planned.rooms_known([unit.main for unit in units_of(document, [group])])
    states = [state_of(unit, rooms) for unit in units_of(document, [group])]
    for client in group.get("clients", []):
        mine = [q for state in states for q in state.owners if client["client_id"] in state.owners[q]]
        if mine and chance(random, 0.2):
            mine.pop(random.randrange(len(mine)))
        # What a client that reports no strategy owns beside one that does tells of its strategy, and puts that in doubt.
        is_told = "strategy" in client or not any("strategy" in one for one in group["clients"])
        if mine and chance(random, 0.1) and is_told:
            everything = [queue for state in states for queue in state.owners]
            mine.append(random.choice(everything))
        if chance(random, 0.98):
            client["owned"] = [clusters.plain_queue(queue) for queue in dict.fromkeys(mine)]


# --- Units ---


def units_of(document, groups=None):
    """Units that are planned, in the order of the document."""
    groups = [group for group in groups or document["groups"] if is_known(document, group)]
    by_name = {group["name"]: group for group in groups}
    whatever = {"message_model": "CLUSTERING", "strategy": "AVG", "strategy_params": {}}
    divided = [group | whatever if is_broadcast(group) else group for group in groups]
    for unit in planned.units_of(document | {"groups": divided}):
        group = by_name[unit.group]
        own = group.get("clients", [])
        rule = ALL if is_broadcast(group) else rule_of(group, {})
        unit = unit._replace(rule=rule)
        slots = [_slot(group, client, unit) for client in [*own, *_listed_alone(group)]]
        main = unit._replace(clients=planned.in_order((slot.client_id, slot.room) for slot in slots))
        yield Mixed(main, slots, _lists(document, group, unit.topic))


def is_broadcast(group):
    return group.get("message_model") == "BROADCASTING"


def is_known(document, group):
    """Whether it is known what every client divides by: told of each, or one strategy that nothing it owns contradicts."""
    if is_broadcast(group):
        return True
    main = rule_of(group, {})
    if planned.language_of_all(group) == "CPP" and group["strategy"] != "AVG":
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
        telling = {queue: holders.get(queue, set()) - stated or holders.get(queue, set()) for queue in queues}
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
    """What a client divides by; None where it is said to use what clients of its language do not have."""
    name, language = client.get("strategy"), client.get("language") or planned.language_of_all(group)
    same = name is None or name == group["strategy"]
    rule = java.rule_of(group["strategy"], group.get("strategy_params", {})) if same else java.rule_of(name, {})
    if language == "CPP" and name not in (None, "AVG"):
        return None
    rule = java.spoken(rule, language)
    return java.with_nodes(rule, client["virtual_nodes"]) if "virtual_nodes" in client else rule


def _listed_alone(group):
    """Clients that only single brokers list."""
    have, found = Counter(client["client_id"] for client in group.get("clients", [])), []
    for ids in group.get("broker_client_ids", {}).values():
        more = Counter(ids) - have
        have += more
        found += [{"client_id": one} for one in more.elements()]
    return found


def _lists(document, group, topic):
    """Client lists that a client of the topic may be given."""
    by_broker = group.get("broker_client_ids") or {} if not is_broadcast(group) else {}
    brokers = [one["broker_name"] for each in document["topics"] if each["name"] == topic for one in each["brokers"]]
    asked = [by_broker[name] for name in brokers if name in by_broker] or list(by_broker.values())
    return asked or [[client["client_id"] for client in group.get("clients", [])]]


def _slot(group, client, unit):
    reads = "subscriptions" not in client or unit.topic in client["subscriptions"] or unit.topic.startswith(RETRY)
    seen = client.get("sees_read_queue_nums", {}).get(unit.topic)
    if seen is not None:
        rooms = unit.rooms[0]
        seen = [(name, range(n), rooms.get(name)) for name, n in seen.items()]
        # Who sees the very queues of the route follows it, be there brokers without queues or not.
        if unit._replace(brokers=seen).queues == unit.queues:
            seen = None
    rule = ALL if is_broadcast(group) else rule_of(group, client)
    language = client.get("language") or planned.language_of_all(group)
    return Slot(client["client_id"], client.get("machine_room"), rule, reads, seen, language)


# --- States ---


def state_of(unit, with_rooms):
    """Who may take what, every client asked with every list."""
    main = None if unit.main.rule == ALL else planned._without_rooms(planned.state_of(unit.main), with_rooms)
    errors = [main.error] if main is not None and main.error else []
    readers, processes = ({queue: [] for queue in unit.main.queues} for _ in range(2))
    for process, slot in zip(numbered(unit), unit.slots, strict=True) if unit.main.queues else ():
        if slot.reads:
            try:
                shares = [_share(unit, slot, ids, with_rooms) for ids in unit.lists]
            except (java.Refused, java.Unknown) as error:
                refused = isinstance(error, java.Refused)
                errors.append((planned.REFUSED if refused else planned.BAD_STRATEGY, str(error)))
                continue
            for queue in set().union(*shares) & readers.keys():
                readers[queue].append((slot.client_id, all(queue in one for one in shares)))
                processes[queue].append(process)
    if errors:
        return State(unit, dict.fromkeys(readers, NOBODY), set(), errors[0], {})
    owners = {queue: frozenset(one for one, _ in found) for queue, found in readers.items()}
    doubled = {queue for queue, found in readers.items() if sum(sure for _, sure in found) > 1}
    return State(unit, owners, doubled if unit.main.rule != ALL else set(), None, processes)


def numbered(unit):
    """Processes of a unit, those that share an id numbered in the order in which the group lists them."""
    seen = Counter()
    for slot in unit.slots:
        yield slot.client_id, seen[slot.client_id]
        seen[slot.client_id] += 1


def _share(unit, slot, ids, with_rooms):
    """Queues that one client takes if it is given these ids."""
    brokers = unit.main.brokers if slot.seen is None else slot.seen
    queues = unit.main._replace(brokers=brokers).queues
    ids = sorted(ids, key=java.utf16)
    if slot.rule == ALL:
        return set(queues)
    if slot.rule["name"] == java.NEARBY and not with_rooms:
        raise java.Unknown("machineRoomResolver is null")
    if not queues or not ids:
        return set()
    # A list or a route that lacks rooms is refused whoever asks.
    java.owners(slot.rule, queues, ids, unit.rooms)
    return set(java.allocate(slot.rule, slot.client_id, queues, ids, unit.rooms)) if slot.client_id else set()


def reported(state, document):
    """The state that all clients report, the same state if some do not."""
    [group] = [one for one in document["groups"] if one["name"] == state.unit.main.group]
    clients = group.get("clients", [])
    topic = state.unit.main.topic
    said = [(client["client_id"], {queue_key(one) for one in client.get("owned", [])}) for client in clients]
    if (
        state.error
        or is_broadcast(group)
        or not clients
        or any("owned" not in one for one in clients)
        or _listed_alone(group)
    ):
        return state
    if topic.startswith(RETRY) and not any(queue[0] == topic for _, queues in said for queue in queues):
        return state
    takers = {queue: [one for one, queues in said if queue in queues] for queue in state.owners}
    doubled = {queue for queue, ids in takers.items() if len(ids) > 1}
    reading = list(zip(numbered(state.unit), (queues for _, queues in said), strict=True))
    processes = {queue: [one for one, queues in reading if queue in queues] for queue in takers}
    return State(state.unit, {queue: frozenset(ids) for queue, ids in takers.items()}, doubled, None, processes)


def current(units, document):
    """States before any change."""
    with_rooms = planned.rooms_known([unit.main for unit in units])
    states = [state_of(unit, with_rooms) for unit in units]
    return [
        reported(state, document) if state.unit.slots else state._replace(error=(planned.EMPTY, java.NO_CLIENTS))
        for state in states
    ]


def behind(before, scenario):
    """States behind a scenario; a unit that it leaves as it was is as before."""
    with_rooms = planned.rooms_known([state.unit.main for state in before])
    return [_behind(state, scenario, with_rooms) for state in before]


def _behind(before, scenario, with_rooms):
    unit = changed(before.unit, scenario)
    if unit == before.unit and before.error:
        return before
    if before.error and not (unit.main.clients and unit.main.queues):
        text = java.NO_CLIENTS if unit.main.queues else java.NO_QUEUES
        return State(unit, dict.fromkeys(unit.main.queues, NOBODY), set(), (planned.EMPTY, text), {})
    return state_of(unit, with_rooms)


def _in_rooms(scenario, main):
    """A scenario for clients that do not see a broker of their topic: it stands where it stands, whatever is added."""
    rooms = {name: room for name, _, room in main.brokers if room is not None}
    changes = []
    for change in scenario["changes"]:
        added = change.get("add_broker", {})
        room = rooms.get(added.get("broker_name"))
        changes.append(change if room is None else {"add_broker": {**added, "machine_room": room}})
    return scenario | {"changes": changes}


def changed(unit, scenario):
    """The unit after a scenario: what goes is chosen among all clients and leaves every list, what comes joins each."""
    if unit.main.rule == ALL:
        kept = [one for one in scenario["changes"] if not one.keys() & {"set_strategy", "set_virtual_nodes"}]
        scenario = scenario | {"changes": kept}
    main = planned.changed(unit.main, scenario)
    if not planned.matches(scenario.get("groups", "*"), main.group):
        return unit
    slots = []
    for slot, mine in zip(unit.slots, _alone(unit, _in_rooms(scenario, unit.main)), strict=True):
        slots.append(slot._replace(rule=mine.rule, seen=None if slot.seen is None else mine.brokers))
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
    return Mixed(main, kept, [_list_after(ids, before, after) for ids in unit.lists])


def _alone(unit, scenario):
    """The unit as each client has it, changed."""
    for slot in unit.slots:
        brokers = unit.main.brokers if slot.seen is None else slot.seen
        yield planned.changed(unit.main._replace(rule=slot.rule, brokers=brokers, language=slot.language), scenario)


def _list_after(ids, before, after):
    """A list of ids without those that left, and with those that joined."""
    had = Counter(ids)
    stay = Counter({one: min(n, max(0, n - before[one] + after[one])) for one, n in had.items()})
    return sorted([*stay.elements(), *(after - before).elements()])


# --- Figures ---


def loads_of(state):
    """Queues of every client; where an id repeats the first has them all."""
    left = Counter(one for owners in state.owners.values() for one in owners)
    return [left.pop(one, 0) for one in state.unit.main.ids]


def moved(before, after):
    return [queue for queue in after.owners if queue in before.owners and before.owners[queue] != after.owners[queue]]


def flows(before, after):
    """Queues that every client gains and loses."""
    gained, lost = Counter(), Counter()
    for queue in {**before.owners, **after.owners}:
        had, has = before.owners.get(queue, NOBODY), after.owners.get(queue, NOBODY)
        gained.update(has - had)
        lost.update(had - has)
    return gained, lost


def cross_room(state):
    """Queues of which an owner is in another room than the broker."""
    brokers, clients = state.unit.rooms

    def crosses(queue, one):
        rooms = brokers.get(queue[1]), clients.get(one)
        return None not in rooms and rooms[0] != rooms[1]

    return sum(any(crosses(queue, one) for one in owners) for queue, owners in state.owners.items())


def fewest_moves(before, after):
    """The least on the way to one owner each and even loads; a queue that several have must change whoever gets it."""
    able = {slot.client_id for slot in after.unit.slots if slot.reads}
    if not able:
        return sum(bool(before.owners.get(queue)) for queue in after.owners)
    alone = {queue: next(iter(ids)) if len(ids) == 1 else None for queue, ids in before.owners.items()}
    return least_moves(alone, list(after.owners), [one for one in dict.fromkeys(after.unit.main.ids) if one in able])


def unit_figures(before, after, with_rooms):
    gained, lost = flows(before, after)
    loads, is_shared = loads_of(after), after.unit.main.rule == ALL
    balance = planned.balance(sum(loads) if is_shared else len(after.owners), loads) | {"n_queues": len(after.owners)}
    return balance | {
        "unowned": sum(not ids for ids in after.owners.values()),
        "double_owned": len(after.doubled),
        "moved": len(moved(before, after)),
        "least_moves": None if is_shared else fewest_moves(before, after),
        "clients_affected": len(gained.keys() | lost.keys()),
        "cross_room": cross_room(after) if with_rooms else None,
    }


def tables(before, after):
    """Rows of units, clients and queues by their keys."""
    found = {"units": {}, "clients": {}, "queues": {}}
    with_rooms = planned.rooms_known([state.unit.main for state in before])
    for one, other in zip(before, after, strict=True):
        key = other.unit.main.group, other.unit.main.topic
        code, text = other.error or (0, None)
        found["units"][key] = {"err_code": code} | (
            {"err_msg": text} if code in (planned.EMPTY, planned.REFUSED) else {}
        )
        if not other.error:
            found["units"][key] |= unit_figures(one, other, with_rooms) | {"strategies": strategies_of(other)}
            found["clients"] |= {(*key, who): row for who, row in _clients(one, other)}
            found["queues"] |= {(key[0], *queue): row for queue, row in _queues(one, other)}
    return found


def _clients(before, after):
    gained, lost = flows(before, after)
    rooms = after.unit.rooms[1] | before.unit.rooms[1]
    for one in dict.fromkeys([*before.unit.main.ids, *after.unit.main.ids]):
        had, has = one in before.unit.main.ids, one in after.unit.main.ids
        owned = [sum(one in ids for ids in state.owners.values()) for state in (before, after)]
        status = "stays" if had and has else "new" if has else "gone"
        row = {"before": owned[0], "after": owned[1], "gained": gained[one], "lost": lost[one], "status": status}
        yield one, row | {"host": one.split("@")[0], "machine_room": rooms.get(one)}


def _queues(before, after):
    for queue in {**before.owners, **after.owners}:
        had, has = (state.owners.get(queue, NOBODY) for state in (before, after))
        change = "moved" if had != has else "kept"
        if queue not in after.owners:
            change = "gone"
        elif not has:
            change = "unowned"
        elif queue not in before.owners:
            change = "new"
        yield queue, {"owners_before": _named(had), "owners_after": _named(has), "change": change}


def _named(ids):
    return sorted(ids, key=java.utf16)


def named_in(row, when):
    """Owners of a row of the table of queues."""
    first, others = row[f"owner_{when}"], row[f"others_{when}"] or []
    return ([] if first is None else [first]) + others


def strategies_of(state):
    """Sets of names of the strategies by which clients divide queues; who has nothing to divide may be left out.

    Where nobody has anything to divide, any of the names will do.
    """
    unit = state.unit
    if unit.main.rule == ALL:
        return {"BROADCASTING"}
    reading = [slot for slot in unit.slots if slot.reads]
    dividing = [slot for slot in reading if any(unit.lists) and _sees(unit, slot)]
    names = {java.title(slot.rule) for slot in reading}
    if not dividing:
        some_of_them = [set(some) for n in range(1, len(names) + 1) for some in combinations(sorted(names), n)]
        return ({java.title(unit.main.rule)}, *some_of_them)
    return {java.title(slot.rule) for slot in dividing}, names


def _sees(unit, slot):
    """Whether a client sees any queue."""
    return any(len(ids) for _, ids, _ in (unit.main.brokers if slot.seen is None else slot.seen))
