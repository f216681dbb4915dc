"""What advice should say of every group: its figures now, with other numbers of clients or virtual
nodes, and even lists.
"""

from itertools import pairwise

from bruteforce import clusters, figures, java, mixed, planned
from bruteforce.clusters import RETRY, queue_key
from bruteforce.matching import least_moves


class Advised:
    """One group with the units that can be assigned, and its document."""

    def __init__(self, group, units, dry):
        self.group, self.units, self.dry = group, units, dry
        self.clients = units[0].clients
        self.ids = units[0].ids

    def states(self, clients=None, nodes=None):
        """All units with these clients, and with so many virtual nodes."""
        made = (unit if clients is None else unit._replace(clients=clients) for unit in self.units)
        return [
            _state_of(u if nodes is None else u._replace(rule=java.with_nodes(u.rule, nodes)))
            for u in made
        ]

    def figures(self, states):
        loads = [sum(some) for some in zip(*map(figures.loads_of, states), strict=True)]
        n_queues = sum(len(state.owners) for state in states)
        return figures.balance(n_queues, loads) | {"loads": loads}

    def working(self, states):
        """Clients with a queue that is written, of any topic but the retry topic."""
        states = [state for state in states if not state.unit.main.topic.startswith(RETRY)]
        owned = {queue: owner for state in states for queue, owner in state.owner_of.items()}
        return {owner for queue, owner in owned.items() if queue not in self.dry}

    def with_clients(self, n):
        """As many clients: the last go, or others come behind all, over the rooms as those that are
        there.
        """
        clients, number = list(self.clients[:n]), 0
        while len(clients) < n:
            number += 1
            if f"what-if-{number:06}" not in self.ids:
                room = self.clients[len(clients) % len(self.clients)][1]
                clients.append((f"what-if-{number:06}", room))
        return planned.in_order(clients)

    def now(self):
        """Owners to begin lists with: what clients say they own if all of them say it, or if what
        some say leaves no queue open; else what they should own.
        """
        should = {
            queue: owner for state in self.states() for queue, owner in state.owner_of.items()
        }
        said = {}
        for client in sorted(self.group["clients"], key=lambda one: java.utf16(one["client_id"])):
            for queue in map(queue_key, client.get("owned") or ()):
                said.setdefault(queue, client["client_id"])
        spoken_of = {queue[0] for queue in said}
        told = {q for q in should if not q[0].startswith(RETRY) or q[0] in spoken_of}
        is_silent = any(client.get("owned") is None for client in self.group["clients"])
        if not told or (is_silent and told - said.keys()):
            return should, False
        return {q: said.get(q) if q in told else should[q] for q in should}, True


def advised_groups(document):
    """Groups that advice is given on, by name: no id is empty or there twice, and some unit can be
    assigned.
    """
    found = {}
    for state in mixed.current(
        [mixed.alike(unit) for unit in planned.units_of(document)], document
    ):
        unit, ids = state.unit.main, state.unit.main.ids
        if not state.error and "" not in ids and len(set(ids)) == len(ids):
            found.setdefault(unit.group, []).append(unit)
    groups = {group["name"]: group for group in document["groups"]}
    dry = {queue for topic in document["topics"] for queue in clusters.dry_queues(topic)}
    return {name: Advised(groups[name], mine, dry) for name, mine in found.items()}


def _state_of(unit):
    return mixed.state_of(mixed.alike(unit))


def moved(before, after):
    return sum(len(figures.moved(one, other)) for one, other in zip(before, after, strict=True))


def check_group(advised, row, tally):
    """The figures as it is."""
    found = advised.figures(advised.states())
    name, loads = row["consumer_group"], found["loads"]
    for key in ("n_queues", "n_clients", "min_load", "max_load", "skew"):
        tally.same(f"recommend {key}", name, found[key], row[key])
    working = advised.working(advised.states())
    idle = [one for one in advised.ids if one not in working]
    tally.same("recommend idle", name, len(idle), row["idle"])
    tally.same("recommend idle_ids", name, idle, row["idle_ids"])
    tally.same("recommend unowned", name, found["n_queues"] - sum(loads), row["unowned"])
    tally.same("recommend n_topics", name, len(advised.units), row["n_topics"])
    tally.same(
        "recommend most_useful",
        name,
        max(len(unit.queues) for unit in advised.units),
        row["most_useful"],
    )
    tally.same("recommend strategy", name, java.title(advised.units[0].rule), row["strategy"])


BY_NUMBER = ("AVG", "AVG_BY_CIRCLE", "MACHINE_ROOM")
"""Rules that read no ids."""


def check_replicas(document, row, tally):
    """The numbers of clients that have work: every number tried, each client asked by itself."""
    name = row["consumer_group"]
    dry = {queue for topic in document["topics"] for queue in clusters.dry_queues(topic)}
    units = [
        one
        for one in planned.units_of(document)
        if one.group == name and not one.topic.startswith(RETRY)
    ]
    if not units:
        return
    queues = [queue for unit in units for queue in unit.queues]
    tally.same("recommend written_queues", name, len(set(queues) - dry), row["written_queues"])
    by_number = [
        _loads_of(units, dry, n) for n in range(1, max(len(one.queues) for one in units) + 3)
    ]
    useful = even = None
    if all(one is not None for one in by_number) and units[0].rule["name"] in BY_NUMBER:
        found = [(n, loads) for n, (loads, work) in enumerate(by_number, 1) if 0 not in work]
        useful, even = (
            max((n for n, _ in found), default=0),
            [n for n, loads in found if len(set(loads)) == 1],
        )
    tally.same("recommend useful_clients", name, useful, row["useful_clients"])
    tally.same("recommend even_clients", name, even, row["even_clients"])
    tally.same("recommend reason", name, useful is None, row["reason"] is not None)


def _loads_of(units, dry, n):
    """Queues of each of so many clients, and those of them that are written; None where the rule
    refuses.
    """
    clients = [(f"{i:03}", None) for i in range(n)]
    states = [_state_of(unit._replace(clients=clients)) for unit in units]
    if any(state.error for state in states):
        return None
    owned = [(queue, owner) for state in states for queue, owner in state.owner_of.items()]
    loads = [sum(owner == one for _, owner in owned) for one, _ in clients]
    return loads, [
        sum(owner == one and queue not in dry for queue, owner in owned) for one, _ in clients
    ]


def check_counts(advised, rows, even, tally):
    """Figures with other numbers of clients, and those that are even."""
    now, name = advised.states(), advised.group["name"]
    states = {
        row["n_clients"]: advised.states(advised.with_clients(row["n_clients"])) for row in rows
    }
    for row in rows:
        n = row["n_clients"]
        found = advised.figures(states[n])
        for key in ("idle", "min_load", "max_load", "skew"):
            tally.same(f"recommend counts.{key}", (name, n), found[key], row[key])
        tally.same(
            "recommend counts.moved_from_now",
            (name, n),
            moved(now, states[n]),
            row["moved_from_now"],
        )
        tally.same(
            "recommend counts.is_even",
            (name, n),
            found["min_load"] == found["max_load"],
            row["is_even"],
        )
        tally.same("recommend counts.is_now", (name, n), n == len(advised.ids), row["is_now"])
    tally.same("recommend counts of now", name, True, len(advised.ids) in states)
    tally.same(
        "recommend even_counts", name, [row["n_clients"] for row in rows if row["is_even"]], even
    )
    for one, other in pairwise(rows):
        expected = moved(states[one["n_clients"]], states[other["n_clients"]])
        tally.same(
            "recommend counts.moved_from_row_above", name, expected, other["moved_from_row_above"]
        )


def check_rings(advised, rows, tally):
    """Figures with other numbers of virtual nodes."""
    now, name = advised.states(), advised.group["name"]
    for row in rows:
        nodes = row["virtual_nodes"]
        if nodes > 200:
            continue  # many points, and nothing new
        states = advised.states(nodes=nodes)
        found = advised.figures(states)
        for key in ("idle", "min_load", "max_load", "skew"):
            tally.same(f"recommend rings.{key}", (name, nodes), found[key], row[key])
        tally.same(
            "recommend rings.moved_from_now",
            (name, nodes),
            moved(now, states),
            row["moved_from_now"],
        )
    has_ring = java.title(advised.units[0].rule).endswith("CONSISTENT_HASH")
    tally.same("recommend rings", name, has_ring, bool(rows))


def check_rooms(advised, rows, tally):
    """Queues in rooms without a client, topic by topic."""
    expected = {}
    for state in advised.states() if advised.units[0].rule["name"] == java.NEARBY else ():
        brokers, clients = state.unit.main.rooms
        orphan = [queue for queue in state.owners if brokers[queue[1]] not in clients.values()]
        if orphan:
            loads = figures.loads_of(state)
            rooms = {brokers[queue[1]] for queue in orphan}
            expected[state.unit.main.topic] = [len(orphan), min(loads), max(loads), rooms]
    got = {
        row["topic"]: [row["n_queues"], row["min_load"], row["max_load"], set(row["machine_rooms"])]
        for row in rows
    }
    tally.same("recommend rooms", advised.group["name"], expected, got)


def check_lists(advised, lists, balance, config_moves, tally):
    """Lists for CONFIG: every queue once, even, and with as few moves as that can have."""
    name = advised.group["name"]
    now, from_actual = advised.now()
    owners = {
        tuple(q): lists.client_ids[at] for q, at in zip(lists.queues, lists.owners, strict=True)
    }
    tally.same("recommend lists.queues", name, set(now), set(owners))
    tally.same("recommend lists.from_actual", name, from_actual, lists.from_actual)
    was = {
        tuple(q): lists.client_ids[at] if at >= 0 else None
        for q, at in zip(lists.queues, lists.owners_now, strict=True)
    }
    tally.same("recommend lists.now", name, now, was)
    parts = [list(now)] if balance == "total" else [unit.queues for unit in advised.units]
    total = least = 0
    for queues in parts:
        loads = [sum(owners[queue] == one for queue in queues) for one in advised.ids]
        tally.same("recommend lists.even", name, True, max(loads) - min(loads) <= 1)
        least += least_moves({queue: now[queue] for queue in queues}, queues, advised.ids)
        total += sum(owners[queue] != now[queue] for queue in queues)
    tally.same("recommend lists.moved", name, least, total)
    tally.same("recommend config_moves", name, least, config_moves)
