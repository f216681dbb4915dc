"""Plans in plain Python, row by row and scenario by scenario: the slow twin that the kernel is compared with.

Nothing here comes from the rooms of planning: scenarios are the plain data of a file, a unit is a row of a table, clients and
queues are lists, owners come from the strategies asked group by group.
"""

from collections import Counter
from fnmatch import fnmatchcase

from reference import utf16

from rmqalloc import MessageQueue, strategy

COUNTED = ["n_queues", "n_clients", "idle", "unowned", "min_load", "mean_load", "max_load", "skew"]
RETRY = "%RETRY%"
MOVES = ["moved", "least_moves", "clients_affected"]


class State:
    """One unit at one moment: clients with their rooms, queues (broker, id) with theirs, and a strategy.

    ``empty`` are brokers on the route that have no queues, with their rooms.
    """

    def __init__(self, topic, clients, queues, rule, empty=None):
        self.topic, self.rule, self.empty = topic, rule, empty or {}
        self.clients = sorted(clients, key=lambda client: utf16(client[0]))
        self.queues = sorted(queues, key=lambda queue: (utf16(queue[0]), queue[1]))

    def owners(self):
        """Position of the owner of each queue, -1 for nobody."""
        if not self.queues or not self.clients:
            return [-1] * len(self.queues)
        queues = [MessageQueue(self.topic, broker, number) for broker, number, _ in self.queues]
        return self.made().assign(queues, [client_id for client_id, _ in self.clients]).owners.tolist()

    def made(self):
        """The strategy; NEARBY is told the rooms of the lists."""
        name, params = self.rule
        if not name.startswith("MACHINE_ROOM_NEARBY-"):
            return strategy(name, **params)
        brokers = {broker: room for broker, _, room in self.queues}
        inner = strategy(name.removeprefix("MACHINE_ROOM_NEARBY-"), **params)
        rooms = {"broker_room": lambda queue: brokers[queue.broker_name], "client_room": dict(self.clients).get}
        return strategy("MACHINE_ROOM_NEARBY", inner=inner, **rooms)


def changed(state, changes):
    """The state after changes, one by one."""
    for [(verb, fields)] in (change.items() for change in changes):
        clients, queues, rule = CHANGES[verb](state, fields)
        state = State(state.topic, clients, queues, rule, still_empty(state, verb, fields, queues))
    return state


def rooms_of(state):
    """Rooms of all brokers on the route, those without queues included."""
    rooms = {}
    for broker, _, room in state.queues:
        rooms.setdefault(broker, room)
    return rooms | state.empty


def still_empty(state, verb, fields, queues):
    """Brokers that stay on the route after a change and have no queues."""
    gone = set()
    for broker, room in rooms_of(state).items():
        if verb == "remove_broker" and matches(fields["brokers"], broker):
            gone.add(broker)
        if verb == "lose_machine_room" and fields.get("what", "both") != "clients" and room == fields["machine_room"]:
            gone.add(broker)
    full = {broker for broker, _, _ in queues}
    return {broker: room for broker, room in rooms_of(state).items() if broker not in full | gone}


def listed(texts):
    return [texts] if isinstance(texts, str) else texts


def matches(patterns, name):
    return any(fnmatchcase(name, pattern) for pattern in listed(patterns))


def remove_clients(state, fields):
    n = len(state.clients)
    count = min(fields.get("count", 0), n)
    which = fields.get("which", "last")
    if "ids" in fields:
        gone = [i for i, (client_id, _) in enumerate(state.clients) if client_id in listed(fields["ids"])]
    elif "pattern" in fields:
        gone = [i for i, (client_id, _) in enumerate(state.clients) if matches(fields["pattern"], client_id)]
    elif "machine_room" in fields:
        gone = [i for i, (_, room) in enumerate(state.clients) if room == fields["machine_room"]]
    elif which == "spread":
        gone = []
        for i in range(n):
            if ((i + 1) * count + n // 2) // n > len(gone):
                gone.append(i)
    else:
        gone = range(count) if which == "first" else range(n - count, n)
    return [client for i, client in enumerate(state.clients) if i not in gone], state.queues, state.rule


def generated(state, fields, count):
    """So many new clients with numbers that are free."""
    names, number = [], 0
    while len(names) < count:
        number += 1
        name = fields.get("name", "what-if-{n}").replace("{n}", f"{number:06}")
        if name not in dict(state.clients):
            names.append(name)
    return [(name, fields.get("machine_room")) for name in names]


def add_clients(state, fields):
    if "ids" in fields:
        new = [(client_id, fields.get("machine_room")) for client_id in listed(fields["ids"])]
    else:
        new = generated(state, fields, fields["count"])
    return state.clients + new, state.queues, state.rule


def scale_clients(state, fields):
    new = generated(state, fields, max(fields["to"] - len(state.clients), 0))
    return state.clients[: fields["to"]] + new, state.queues, state.rule


def set_strategy(state, fields):
    return state.clients, state.queues, (fields["strategy"], fields.get("params", {}))


def set_virtual_nodes(state, fields):
    name, params = state.rule
    has_ring = name.endswith("CONSISTENT_HASH")
    return state.clients, state.queues, (name, {**params, **fields} if has_ring else params)


def set_queues(state, fields):
    rooms = rooms_of(state)
    patterns = [
        one for one in listed(fields.get("topics", "*")) if one.startswith(RETRY) == state.topic.startswith(RETRY)
    ]
    chosen = [b for b in rooms if matches(fields.get("brokers", "*"), b) and matches(patterns, state.topic)]
    queues = [queue for queue in state.queues if queue[0] not in chosen]
    queues += [(broker, i, rooms[broker]) for broker in chosen for i in range(fields["read_queue_nums"])]
    return state.clients, queues, state.rule


def remove_broker(state, fields):
    return state.clients, [q for q in state.queues if not matches(fields["brokers"], q[0])], state.rule


def add_broker(state, fields):
    queues = list(state.queues)
    brokers = [broker for broker, _, _ in queues]
    if fields["broker_name"] not in brokers:
        room, n = fields.get("machine_room"), fields["read_queue_nums"]
        if state.topic.startswith(RETRY):
            counts = set(Counter(brokers).values())
            n = counts.pop() if len(counts) == 1 else 1
        queues += [(fields["broker_name"], i, room) for i in range(n)]
    return state.clients, queues, state.rule


def lose_machine_room(state, fields):
    room, what = fields["machine_room"], fields.get("what", "both")
    clients = [client for client in state.clients if what == "brokers" or client[1] != room]
    queues = [queue for queue in state.queues if what == "clients" or queue[2] != room]
    return clients, queues, state.rule


CHANGES = {
    function.__name__: function
    for function in (
        remove_clients, add_clients, scale_clients, set_strategy, set_virtual_nodes, set_queues, remove_broker, add_broker,
        lose_machine_room,
    )
}  # fmt: skip


def counted(state, owners):
    """Figures of one allocation."""
    n_queues, n_clients = len(state.queues), len(state.clients)
    loads = [owners.count(i) for i in range(n_clients)]
    mean = n_queues / n_clients if n_clients else 0.0
    least, most = min(loads, default=0), max(loads, default=0)
    skew = most * n_clients / max(n_queues, 1)
    return dict(
        zip(COUNTED, [n_queues, n_clients, loads.count(0), owners.count(-1), least, mean, most, skew], strict=True)
    )


def owned(state, owners):
    """Owner by client id of every queue, None for nobody."""
    ids = [client_id for client_id, _ in state.clients]
    return {queue[:2]: None if i < 0 else ids[i] for queue, i in zip(state.queues, owners, strict=True)}


def moves(before, owners_before, after, owners_after):
    """Figures of a change; of queues, those that are there before and after count."""
    old, new = owned(before, owners_before), owned(after, owners_after)
    both = old.keys() & new.keys()
    moved = sum(old[queue] != new[queue] for queue in both)
    shares = [{c: {q for q in own if own[q] == c} for c in own.values() if c is not None} for own in (old, new)]
    affected = [c for c in shares[0] | shares[1] if shares[0].get(c) != shares[1].get(c)]
    stay = most_that_stay([old[queue] for queue in both], dict(after.clients), len(new))
    return dict(zip(MOVES, [moved, len(both) - stay, len(affected)], strict=True))


def most_that_stay(owners, clients, n_queues):
    """Queues that can stay where they are if all are owned and the loads of the clients differ by one at most."""
    if not clients:
        return owners.count(None)
    share, extra = divmod(n_queues, len(clients))
    loads = [owners.count(client_id) for client_id in clients]
    return sum(min(load, share) for load in loads) + min(extra, sum(load > share for load in loads))


def cross_room(state, owners):
    """Queues whose room and whose owner's room are known and differ."""
    pairs = [(queue[2], state.clients[i][1]) for queue, i in zip(state.queues, owners, strict=True) if i >= 0]
    return sum(None not in pair and pair[0] != pair[1] for pair in pairs)


def figures(before, after):
    """All figures of one state, and of what it changes of another; where that cannot be assigned nobody owns its queues."""
    owners = after.owners()
    owners_before = [-1] * len(before.queues) if why_not(before) else before.owners()
    return {**counted(after, owners), **moves(before, owners_before, after, owners), "owners": owners}


def why_not(state):
    """Why a state before any change cannot be assigned, None if it can."""
    if not state.queues:
        return "mqAll is null or mqAll empty"
    if not state.clients:
        return "cidAll is null or cidAll empty"
    try:
        state.owners()
    except ValueError as error:
        return str(error)


# --- Whole batches ---


def state_of(row, rule):
    """The unit of a row; the strategy it names takes the place of the given one."""
    client_rooms = row.get("client_rooms") or [None] * len(row["client_ids"])
    clients = list(zip(row["client_ids"], client_rooms, strict=True))
    entries = row["queues"] if "queues" in row else row["brokers"]
    rooms = row.get("broker_rooms") or [None] * len(entries)
    queues, empty = [], {}
    for entry, room in zip(entries, rooms, strict=True):
        if entry.get("read_queue_nums") == 0:
            empty[entry["broker_name"]] = room
        numbers = [entry["queue_id"]] if "queue_id" in entry else range(entry["read_queue_nums"])
        queues += [(entry["broker_name"], i, room) for i in numbers]
    name, params = rule
    if row.get("strategy") not in (None, name):
        name, params = row["strategy"], {}
    if row.get("virtual_nodes") is not None and name.endswith("CONSISTENT_HASH"):
        params = {**params, "virtual_nodes": row["virtual_nodes"]}
    return State(row["topic"], clients, queues, (name, params), empty)


def plan(row, rule, scenarios, rooms_known=False):
    """Rows of one unit: the state before any change and after every scenario; ``err_msg`` is the strategy's, or of empty lists.

    A scenario may leave a good unit without queues or clients; one that could not be assigned before needs both.
    """
    before = state_of(row, rule)
    wrong = why_not(before)
    rows = [bad_row(row, "current", wrong) if wrong else made_row(row, "current", before, before, rooms_known)]
    for one in scenarios:
        fits = matches(one.get("groups", "*"), row["consumer_group"]) and matches(one.get("topics", "*"), row["topic"])
        after = changed(before, one["changes"] if fits else [])
        refused = why_not(after) if wrong or (after.queues and after.clients) else None
        made = bad_row(row, one["name"], refused) if refused else made_row(row, one["name"], before, after, rooms_known)
        rows.append(made)
    return rows


def made_row(row, scenario, before, after, rooms_known):
    names = {
        "consumer_group": row["consumer_group"],
        "topic": row["topic"],
        "scenario": scenario,
        "strategy": after.rule[0],
    }
    found = figures(before, after)
    crossing = {"cross_room": cross_room(after, found["owners"]) if rooms_known else None}
    return {**names, **found, **crossing, "err_msg": None}


def bad_row(row, scenario, message):
    """A row without figures."""
    names = {"consumer_group": row["consumer_group"], "topic": row["topic"], "scenario": scenario, "strategy": None}
    nothing = dict.fromkeys([*COUNTED, *MOVES, "owners", "cross_room"])
    return {**names, **nothing, "err_msg": message}


def best(rows, best_by):
    """The row that comes first by the criteria, of those that are not bad; the first of equals."""
    tried = rows[1:] or rows
    good = [row for row in tried if row["err_msg"] is None]
    return min(good, key=lambda row: [row[name] or 0 for name in best_by]) if good else {**tried[0], "scenario": None}
