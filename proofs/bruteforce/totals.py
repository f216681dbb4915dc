"""Figures of a group over all its topics, of clients over topics and groups: sums of what its units
say, client by client.
"""

from collections import Counter
from itertools import product

from bruteforce import planned
from bruteforce.clusters import queue_key
from bruteforce.figures import balance, flows, loads_of, moved, unit_figures

SUMS = ("unowned", "double_owned", "moved", "least_moves")
FLOWS = ("before", "after", "gained", "lost")
COMPARED = (
    "n_queues", "n_clients", "min_load", "max_load", "skew", "idle", "unowned", "cross_room", "moved", "least_moves",
)  # fmt: skip
"""Figures of a group that are compared under several strategies."""

KEYS = ("consumer_group", "topic", "host", "client_id")


def lags_of(document):
    """Messages not yet consumed by group and queue, where they are known."""
    return {
        (group["name"], queue_key(lag["queue"])): max(
            0, lag["broker_offset"] - max(0, lag["consumer_offset"])
        )
        for group in document["groups"]
        for lag in group.get("lags", [])
    }


def by_group(before, after):
    """Pairs of the states of all units, by group."""
    found = {}
    for pair in zip(before, after, strict=True):
        found.setdefault(pair[1].unit.main.group, []).append(pair)
    return found


def groups(before, after, document, known=None):
    """Rows of groups, given the states of all units, and the figures of units where they are known."""
    with_rooms, lags = planned.rooms_known([state.unit.main for state in before]), lags_of(document)
    for group, pairs in by_group(before, after).items():
        good = [pair for pair in pairs if not pair[1].error]
        mains = [(group, after.unit.main.topic) for _, after in good]
        units = [
            (known or {}).get(key) or unit_figures(*pair, with_rooms)
            for key, pair in zip(mains, good, strict=True)
        ]
        is_shared = any(after.unit.sharing is not None for _, after in pairs)
        yield (
            (group,),
            group_figures(good, units, is_shared) | {"backlog_moved": _backlog(group, good, lags)},
        )


def group_figures(pairs, units, is_shared=False):
    """Sums over units, and loads of clients that are added up first: a repeated id counts as often
    as it is there.
    """
    loads, growth, affected = Counter(), Counter(), set()
    for before, after in pairs:
        seen = Counter()
        for one, load in zip(after.unit.main.ids, loads_of(after), strict=True):
            seen[one] += 1
            loads[one, seen[one]] += load
        gained, lost = flows(before, after)
        affected |= gained.keys() | lost.keys()
        growth.update(gained)
        growth.subtract(lost)
    n_queues = sum(unit["n_queues"] for unit in units)
    crossing = [unit["cross_room"] for unit in units if unit["cross_room"] is not None]
    return (
        balance(sum(loads.values()) if is_shared else n_queues, list(loads.values()))
        | {name: sum(unit[name] or 0 for unit in units) for name in SUMS}
        | ({"least_moves": None} if is_shared else {})
        | {
            "n_topics": len(pairs),
            "n_queues": n_queues,
            "clients_affected": len(affected),
            "clients_gaining": sum(n > 0 for n in growth.values()),
            "clients_losing": sum(n < 0 for n in growth.values()),
            "cross_room": sum(crossing) if crossing else None,
        }
    )


def _backlog(group, pairs, lags):
    """Messages in queues that change owner; None where no lag of the group's queues is known."""
    known = any(
        (group, queue) in lags for one, other in pairs for queue in {**one.owners, **other.owners}
    )
    changed = (queue for before, after in pairs for queue in moved(before, after))
    return sum(lags.get((group, queue), 0) for queue in changed) if known else None


def client_sums(clients, by):
    """Rows of clients, by group, topic and client id, added up by some of `KEYS`."""
    found = {}
    for (group, topic, client_id), row in clients.items():
        names = dict(zip(KEYS, (group, topic, client_id.split("@")[0], client_id), strict=True))
        sums = found.setdefault(tuple(names[one] for one in by), Counter())
        sums["n_units"] += 1
        sums.update({name: row[name] for name in FLOWS})
    return {key: {name: sums[name] for name in ("n_units", *FLOWS)} for key, sums in found.items()}


WAYS = [
    tuple(name for name, is_in in zip(KEYS, some, strict=True) if is_in)
    for some in product((0, 1), repeat=4)
][1:]
"""Every choice of keys to add up by."""
