"""Figures of a group over all its topics, of clients over topics and groups: sums of what its units say, client by client.

Units have these from `planned` or from `mixed`; what differs between the two is asked of the module that made them.
"""

from collections import Counter
from itertools import product

from bruteforce import mixed, planned
from bruteforce.clusters import queue_key

SUMS = ("unowned", "double_owned", "moved", "least_moves", "cross_room")
FLOWS = ("before", "after", "gained", "lost")
COMPARED = (
    "n_queues", "n_clients", "min_load", "max_load", "skew", "idle", "unowned", "cross_room", "moved", "least_moves",
)  # fmt: skip
"""Figures of a group that are compared under several strategies."""

KEYS = ("consumer_group", "topic", "host", "client_id")


def lags_of(document):
    """Messages not yet consumed by group and queue, where they are known."""
    return {
        (group["name"], queue_key(lag["queue"])): max(0, lag["broker_offset"] - max(0, lag["consumer_offset"]))
        for group in document["groups"]
        for lag in group.get("lags", [])
    }


def _main(state):
    """The unit as the name server and the brokers have it."""
    return getattr(state.unit, "main", state.unit)


def by_group(before, after):
    """Pairs of the states of all units, by group."""
    found = {}
    for pair in zip(before, after, strict=True):
        found.setdefault(_main(pair[1]).group, []).append(pair)
    return found


def groups(before, after, document, known=None):
    """Rows of groups, given the states of all units, and the figures of units where they are known."""
    with_rooms, lags = planned.rooms_known([_main(state) for state in before]), lags_of(document)
    for group, pairs in by_group(before, after).items():
        good = [pair for pair in pairs if not pair[1].error]
        units = [_unit_figures(*pair, with_rooms, known or {}) for pair in good]
        figures = group_figures(good, units) | {"backlog_moved": _backlog(group, good, lags)}
        yield (group,), figures | ({"least_moves": None} if _main(pairs[0][1]).rule == mixed.ALL else {})


def _module(pairs):
    return mixed if any(isinstance(after.unit, mixed.Mixed) for _, after in pairs) else planned


def _unit_figures(before, after, with_rooms, known):
    main = _main(after)
    found = known.get((main.group, main.topic))
    return found or _module([(before, after)]).unit_figures(before, after, with_rooms)


def group_figures(pairs, units):
    """Sums over units, and loads of clients that are added up first: a repeated id counts as often as it is there."""
    of = _module(pairs)
    loads, growth, affected = Counter(), Counter(), set()
    for before, after in pairs:
        seen = Counter()
        for one, load in zip(_main(after).ids, of.loads_of(after), strict=True):
            seen[one] += 1
            loads[one, seen[one]] += load
        gained, lost = of.flows(before, after)
        affected |= gained.keys() | lost.keys()
        growth.update(gained)
        growth.subtract(lost)
    is_shared = any(unit["least_moves"] is None for unit in units)
    n_queues = sum(unit["n_queues"] for unit in units)
    n_loads = sum(loads.values()) if is_shared else n_queues
    return (
        planned.balance(n_loads, list(loads.values()))
        | {name: _added(units, name) for name in SUMS if all(name in unit for unit in units)}
        | {
            "n_topics": len(pairs),
            "n_queues": n_queues,
            "clients_affected": len(affected),
            "clients_gaining": sum(n > 0 for n in growth.values()),
            "clients_losing": sum(n < 0 for n in growth.values()),
        }
        | ({} if units else {"cross_room": None})
    )


def _added(units, name):
    """The sum of a figure, None where no unit has it."""
    return None if any(unit[name] is None for unit in units) else sum(unit[name] for unit in units)


def _backlog(group, pairs, lags):
    """Messages in queues that change owner; None where no lag of the group's queues is known."""
    of = _module(pairs)
    known = any((group, queue) in lags for one, other in pairs for queue in {**one.owners, **other.owners})
    moved = (queue for before, after in pairs for queue in of.moved(before, after))
    return sum(lags.get((group, queue), 0) for queue in moved) if known else None


def client_sums(clients, by):
    """Rows of clients, by group, topic and client id, added up by some of `KEYS`."""
    found = {}
    for (group, topic, client_id), row in clients.items():
        names = dict(zip(KEYS, (group, topic, client_id.split("@")[0], client_id), strict=True))
        sums = found.setdefault(tuple(names[one] for one in by), Counter())
        sums["n_units"] += 1
        sums.update({name: row[name] for name in FLOWS})
    return {key: {name: sums[name] for name in ("n_units", *FLOWS)} for key, sums in found.items()}


WAYS = [tuple(name for name, is_in in zip(KEYS, some, strict=True) if is_in) for some in product((0, 1), repeat=4)][1:]
"""Every choice of keys to add up by."""
