"""Rollouts in plain Python, client by client and queue by queue: the slow twin that the fleet of steps is compared with.

Nothing here comes from the rooms of planning. Every client is a dictionary of what it sees (its strategy, the list
of clients and
the queues of every topic) and asks its strategy alone. A moment is a dictionary of such clients. While a step lasts, every set
of the clients that hear of it is tried.
"""

import hashlib

import numpy as np
from reference import utf16

from rmqalloc import MessageQueue, sort_queues, strategy


def turns_of(client_ids, size, order, seed):
    """Batches of clients."""
    ids = sorted(client_ids, key=utf16)
    if order == "reversed":
        ids.reverse()
    elif order == "shuffled":
        ids.sort(key=lambda one: hashlib.sha256(f"{seed}/{one}".encode()).digest())
    return [ids[i : i + size] for i in range(0, len(ids), size)]


def queues_of(counts):
    """Queues of every topic, from ``{topic: {broker: n}}``."""
    return {
        topic: sort_queues(MessageQueue(topic, broker, i) for broker, n in brokers.items() for i in range(n))
        for topic, brokers in counts.items()
    }


def view(rule, client_ids, queues, reads=True):
    return {"rule": rule, "clients": sorted(client_ids, key=utf16), "queues": queues, "reads": reads}


def readers(clients, queues):
    """Which clients read each queue that is there."""
    found = {queue: [] for topic in queues.values() for queue in topic}
    for client_id, sees in clients.items():
        for mq_all in sees["queues"].values() if sees["reads"] else ():
            if mq_all and client_id in sees["clients"]:
                name, params = sees["rule"]
                for queue in strategy(name, **params).allocate("g", client_id, mq_all, sees["clients"]):
                    if queue in found:
                        found[queue].append(client_id)
    return {queue: sorted(some) for queue, some in found.items()}


def shares(clients, queues):
    """The queues that each client reads, as a row of ones and zeros."""
    found = readers(clients, queues)
    return {one: np.array([one in some for some in found.values()], int) for one in clients}


def worst(before, after, queues, wet, hears, begins_with_one):
    """Most queues of each kind that lie open at one moment, of all the sets of clients that may have heard."""
    old, new = shares(before, queues), shares(after, queues)
    who = sorted(hears)
    # Whoever goes is gone from the first; whoever comes reads nothing until it has heard.
    nothing = np.zeros(sum(map(len, queues.values())), int)
    untold = np.array([nothing, *(old.get(one, nothing) for one in who)])[1:]
    told = np.array([nothing, *(new[one] for one in who)])[1:]
    fixed = sum((new[one] for one in after if one not in hears), nothing)
    heard = (np.arange(begins_with_one, 2 ** len(who))[:, None] >> np.arange(len(who))) & 1
    count = heard @ told + (1 - heard) @ untold + fixed
    is_wet = np.array([queue in wet for topic in queues.values() for queue in topic], bool)
    return {
        "unowned": int((count == 0).sum(axis=1).max()),
        "unowned_written": int((count == 0)[:, is_wet].sum(axis=1).max()),
        "unowned_dry": int((count == 0)[:, ~is_wet].sum(axis=1).max()),
        "unowned_is_exact": True,
        "double_owned": int((count == 2).sum(axis=1).max()),
        "double_owned_is_exact": True,
    }


class Course:
    """Steps as they are done, and the figures of each."""

    def __init__(self, clients, queues, written=None):
        self.figures = []
        self.clients, self.before = clients, readers(clients, queues)
        self.step(clients, queues, written)

    def step(self, clients, queues, written=None, hears=(), begins_with_one=False):
        """One more step: the clients behind it, and those that hear of it one by one."""
        written = queues if written is None else written
        wet = {queue for topic in written.values() for queue in topic}
        after, before = readers(clients, queues), self.before
        loads = {one: [queue for queue, some in after.items() if one in some] for one in clients}
        gains = [(set(after.get(queue, [])) ^ set(before.get(queue, []))) for queue in after.keys() | before.keys()]
        self.figures.append(
            {
                "n_clients": len(clients),
                "n_queues": len(after),
                "moved": sum(after[queue] != before[queue] for queue in after.keys() & before.keys()),
                "clients_touched": len(set().union(*gains)),
                **worst(self.clients, clients, queues, wet, set(hears), begins_with_one),
                "min_load": min(map(len, loads.values()), default=0),
                "max_load": max(map(len, loads.values()), default=0),
                "idle": sum(not some for some in loads.values()),
                "only_dry": sum(bool(some) and not wet & set(some) for some in loads.values()),
            }
        )
        self.before, self.clients = after, clients


def restart(client_ids, counts, rule, size, surge, ids, order, seed):
    """A rolling restart; ``ids`` gives the id under which a client comes back."""
    queues = queues_of(counts)
    there = set(client_ids)
    course = Course({one: view(rule, there, queues) for one in there}, queues)
    for turn in turns_of(client_ids, size, order, seed):
        old, new = set(turn), {ids(one) for one in turn}
        for gone, come in ((set(), new), (old, set())) if surge else ((old, set()), (set(), new)):
            there = there - gone | come
            course.step({one: view(rule, there, queues) for one in there}, queues, hears=there)
    return course.figures


def change_strategy(client_ids, counts, rule, new_rule, size, order, seed):
    queues = queues_of(counts)
    clients = {one: view(rule, client_ids, queues) for one in client_ids}
    course = Course(clients, queues)
    for turn in turns_of(client_ids, size, order, seed):
        clients = clients | {one: view(new_rule, client_ids, queues) for one in turn}
        course.step(clients, queues, hears=turn, begins_with_one=True)
    return course.figures


def change_subscription(client_ids, counts, rule, remove, size, order, seed):
    queues = queues_of(counts)
    clients = {one: view(rule, client_ids, queues, remove) for one in client_ids}
    course = Course(clients, queues)
    for turn in turns_of(client_ids, size, order, seed):
        clients = clients | {one: view(rule, client_ids, queues, not remove) for one in turn}
        course.step(clients, queues, hears=turn, begins_with_one=True)
    return course.figures


def route_steps(client_ids, rule, states):
    """Steps of routes: each a pair of what is there and what is written to; ``{topic: {broker: n}}``."""
    course, seen = None, None
    for counts, written in states:
        queues = queues_of(counts)
        clients = {one: view(rule, client_ids, queues) for one in client_ids}
        if course is None:
            course = Course(clients, queues, queues_of(written))
        else:
            course.step(clients, queues, queues_of(written), hears=client_ids if queues != seen else ())
        seen = queues
    return course.figures
