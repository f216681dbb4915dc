"""Rollouts in plain Python, client by client and queue by queue: the slow twin that the fleet of
steps is compared with.

Nothing here comes from the rooms of planning. Every client is a dictionary of what it sees (its
strategy, the list of clients and the queues of every topic) and asks its strategy alone. A moment
is a dictionary of such clients. While a step lasts, every set of the clients that hear of it is
tried.
"""

import hashlib
import itertools

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
    elif order == "spread":
        n_batches = -(-len(ids) // size)
        ids = [one for first in range(n_batches) for one in ids[first::n_batches]]
    return [ids[i : i + size] for i in range(0, len(ids), size)]


def queues_of(counts):
    """Queues of every topic, from ``{topic: {broker: n}}``."""
    return {
        topic: sort_queues(
            MessageQueue(topic, broker, i) for broker, n in brokers.items() for i in range(n)
        )
        for topic, brokers in counts.items()
    }


def view(rule, client_ids, queues, reads=True):
    return {
        "rule": rule,
        "clients": sorted(client_ids, key=utf16),
        "queues": queues,
        "reads": reads,
    }


def readers(clients, queues):
    """Which clients read each queue that is there."""
    found = {queue: [] for topic in queues.values() for queue in topic}
    for client_id, sees in clients.items():
        for mq_all in sees["queues"].values() if sees["reads"] else ():
            if mq_all and client_id in sees["clients"]:
                name, params = sees["rule"]
                for queue in strategy(name, **params).allocate(
                    "g", client_id, mq_all, sees["clients"]
                ):
                    if queue in found:
                        found[queue].append(client_id)
    return {queue: sorted(some) for queue, some in found.items()}


def shares(clients, queues):
    """The queues that each client reads, as a row of ones and zeros."""
    found = readers(clients, queues)
    return {one: np.array([one in some for some in found.values()], int) for one in clients}


# How likely it is that a client has heard after so many seconds, on the pieces between these ends.
# One that joins acts after a second.
TIMER = ([0, 1, 20], lambda t: t / 20)
NOTICE = ([0, 1], lambda t: 0.95 + t / 20)
ROUTES = (
    [0, 1, 20, 30, 50],
    lambda t: np.where(
        t < 20, t**2 / 1200, np.where(t < 30, (t - 10) / 30, 1 - (50 - t) ** 2 / 1200)
    ),
)


def notice_of_a_leave(n_brokers):
    """Whoever asks a broker that does not know yet waits for a second."""
    return NOTICE if n_brokers == 1 else ([0, 1], lambda t: np.where(t < 1, 1 / n_brokers, 1.0))


def chances(heard, p):
    """How likely each set is, if each client has heard with that probability; a row for every p."""
    n = heard.sum(axis=1)
    return p[:, None] ** n * (1 - p[:, None]) ** (heard.shape[1] - n)


def drawn_out(heard, alone, joined, hearing, begins_with_one):
    """Expected numbers, seconds and queue-seconds.

    Given every set of those that were there, and which queues are open in each while those that
    join do nothing yet, and then.
    """
    found = {"after": int(joined[-1].sum())}
    if hearing is None:
        by_number = [
            joined[heard.sum(axis=1) == k].sum(axis=1).mean() for k in range(heard.shape[1] + 1)
        ]
        expected = max(by_number[int(begins_with_one and heard.shape[1] > 0) :])
        return found | {"expected": expected, "seconds_worst": None, "queue_seconds": None}
    ends, has_heard = hearing
    at_join, last = float(has_heard(np.array(1.0))), ends[-1]
    early, late = (np.linspace(a, b, 2_001) for a, b in ((0, at_join), (at_join, 1)))
    most = max(
        (chances(heard, p) @ some.sum(axis=1)).max() for p, some in ((early, alone), (late, joined))
    )
    passing = ~joined[-1]
    seconds = np.zeros(alone.shape[1])
    nodes, weights = np.polynomial.legendre.leggauss(12)
    for a, b in itertools.pairwise(ends):
        times = (b - a) / 2 * nodes + (a + b) / 2
        some = alone if b <= 1 else joined
        seconds += (b - a) / 2 * weights @ chances(heard, np.asarray(has_heard(times))) @ some
    # No queue is open for longer than where each client hears at once or last.
    longest = alone + (last - 1) * joined
    return found | {
        "expected": most,
        "seconds_worst": float((longest * passing).max(initial=0)),
        "queue_seconds": seconds @ passing,
    }


def worst(before, after, queues, wet, hears, begins_with_one, hearing=None):
    """Most queues of each kind that lie open at one moment, of all the sets of clients that may
    have heard.
    """
    old, new = shares(before, queues), shares(after, queues)
    who = sorted(hears)
    # Whoever goes is gone from the first; whoever comes reads nothing until it has heard.
    nothing = np.zeros(sum(map(len, queues.values())), int)
    untold = np.array([nothing, *(old.get(one, nothing) for one in who)])[1:]
    told = np.array([nothing, *(new[one] for one in who)])[1:]
    fixed = sum((new[one] for one in after if one not in hears), nothing)
    heard = (np.arange(2 ** len(who))[:, None] >> np.arange(len(who))) & 1
    count = heard @ told + (1 - heard) @ untold + fixed
    is_wet = np.array([queue in wet for topic in queues.values() for queue in topic], bool)
    joins = np.array([one not in before for one in who], bool)
    alone, joined = (heard[:, joins] == 0).all(axis=1), (heard[:, joins] == 1).all(axis=1)
    figures = {
        f"{which}_{name}": value
        for which, is_open in (("unowned", (count == 0) & is_wet), ("double_owned", count == 2))
        for name, value in drawn_out(
            heard[alone][:, ~joins],
            is_open[alone],
            is_open[joined],
            hearing if who else TIMER,
            begins_with_one,
        ).items()
    }
    count = count[int(begins_with_one) :]
    return {
        **figures,
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

    def step(self, clients, queues, written=None, hears=(), begins_with_one=False, hearing=None):
        """One more step: the clients behind it, and those that hear of it one by one."""
        written = queues if written is None else written
        wet = {queue for topic in written.values() for queue in topic}
        after, before = readers(clients, queues), self.before
        loads = {one: [queue for queue, some in after.items() if one in some] for one in clients}
        gains = [
            (set(after.get(queue, [])) ^ set(before.get(queue, [])))
            for queue in after.keys() | before.keys()
        ]
        self.figures.append(
            {
                "n_clients": len(clients),
                "n_queues": len(after),
                "moved": sum(
                    after[queue] != before[queue] for queue in after.keys() & before.keys()
                ),
                "clients_touched": len(set().union(*gains)),
                **worst(self.clients, clients, queues, wet, set(hears), begins_with_one, hearing),
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
    there, leave = set(client_ids), notice_of_a_leave(max(map(len, counts.values())))
    course = Course({one: view(rule, there, queues) for one in there}, queues)
    for turn in turns_of(client_ids, size, order, seed):
        old, new = set(turn), {ids(one) for one in turn}
        for gone, come in ((set(), new), (old, set())) if surge else ((old, set()), (set(), new)):
            there = there - gone | come
            course.step(
                {one: view(rule, there, queues) for one in there},
                queues,
                hears=there,
                hearing=leave if gone else NOTICE,
            )
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
    """Steps of routes: each a pair of what is there and what is written to; ``{topic: {broker:
    n}}``.
    """
    course, seen = None, None
    for counts, written in states:
        queues = queues_of(counts)
        clients = {one: view(rule, client_ids, queues) for one in client_ids}
        if course is None:
            course = Course(clients, queues, queues_of(written))
        else:
            hears = client_ids if queues != seen else ()
            course.step(clients, queues, queues_of(written), hears=hears, hearing=ROUTES)
        seen = queues
    return course.figures
