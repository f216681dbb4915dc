"""Figures of units before and after a scenario, counted queue by queue and client by client."""

from collections import Counter

from bruteforce.matching import least_moves
from bruteforce.mixed import NOBODY


def loads_of(state):
    """Queues of every client; where an id repeats the first has them all."""
    left = Counter(one for owners in state.owners.values() for one in owners)
    return [left.pop(one, 0) for one in state.unit.main.ids]


def balance(n_queues, loads):
    mean = n_queues / len(loads) if loads else 0.0
    return {
        "n_queues": n_queues,
        "n_clients": len(loads),
        "idle": loads.count(0),
        "min_load": min(loads, default=0),
        "max_load": max(loads, default=0),
        "mean_load": mean,
        "skew": max(loads) / mean if mean else 0.0,
    }


def moved(before, after):
    """Queues of both sides with other owners."""
    return [
        queue
        for queue in after.owners
        if queue in before.owners and before.owners[queue] != after.owners[queue]
    ]


def flows(before, after):
    """Queues that every client gains and loses, by client id."""
    gained, lost = Counter(), Counter()
    for queue in {**before.owners, **after.owners}:
        had, has = before.owners.get(queue, NOBODY), after.owners.get(queue, NOBODY)
        gained.update(has - had)
        lost.update(had - has)
    return gained, lost


def cross_room(state):
    """Queues of which an owner is in another room than the broker; where an id repeats the first
    counts.
    """
    brokers, clients = state.unit.main.rooms[0], dict(reversed(state.unit.main.clients))

    def crosses(queue, one):
        rooms = brokers.get(queue[1]), clients.get(one)
        return None not in rooms and rooms[0] != rooms[1]

    return sum(any(crosses(queue, one) for one in owners) for queue, owners in state.owners.items())


def fewest_moves(before, after):
    """The least on the way to one owner each and even loads; a queue that several have must change
    whoever gets it. A client that reports a queue may have it, whatever it subscribes to.
    """
    able = {slot.client_id for slot in after.unit.slots if slot.reads}.union(*after.owners.values())
    if not able:
        return sum(bool(before.owners.get(queue)) for queue in after.owners)
    alone = {
        queue: next(iter(ids)) if len(ids) == 1 else None for queue, ids in before.owners.items()
    }
    return least_moves(
        alone,
        list(after.owners),
        [one for one in dict.fromkeys(after.unit.main.ids) if one in able],
    )


def unit_figures(before, after, with_rooms):
    gained, lost = flows(before, after)
    loads, is_shared = loads_of(after), after.unit.sharing is not None
    return balance(sum(loads) if is_shared else len(after.owners), loads) | {
        "n_queues": len(after.owners),
        "unowned": sum(not ids for ids in after.owners.values()),
        "double_owned": len(after.doubled),
        "moved": len(moved(before, after)),
        "least_moves": None if is_shared else fewest_moves(before, after),
        "clients_affected": len(gained.keys() | lost.keys()),
        "cross_room": cross_room(after) if with_rooms else None,
    }
