"""Changes of one group done in every possible way, in plain Python: the slow twin of the search for
the best ways.

Strategies are those of `reference`. Every permutation of the clients is tried with every batch,
however many come to the same; while a step lasts, every set of the clients that hear of it is
tried.
"""

from functools import cache
from itertools import combinations, pairwise, permutations, product

from reference import owners, sorted_client_ids, sorted_queues

NEW = "#900000000000001"


def queues_of(topic, counts):
    """The first queues of every broker."""
    return frozenset((topic, broker, i) for broker, n in counts.items() for i in range(n))


@cache
def shares(rule, queues, ids):
    """What each client of a group reads, as ``{client_id: queues}``."""
    queues, ids = list(queues), list(ids)
    queues = [queues[i] for i in sorted_queues(queues)]
    ids = [ids[i] for i in sorted_client_ids(ids)]
    given = owners(rule, queues, ids) if ids and queues else []
    return {
        one: frozenset(queue for queue, owner in zip(queues, given, strict=True) if owner == i)
        for i, one in enumerate(ids)
    }


class Moment:
    """The group after a step: who reads what, which queues are there, and which are written to."""

    def __init__(
        self, reads, there, written, hears=(), begins_with_one=False, begins_batch=False, wait=0
    ):
        self.reads, self.there, self.written = reads, there, written
        self.hears, self.begins_with_one, self.begins_batch = (
            frozenset(hears),
            begins_with_one,
            begins_batch,
        )
        self.wait = wait  # seconds until the last client has heard, where timers say that
        self.key = (frozenset(reads.items()), there, written, self.hears, begins_with_one)

    def __hash__(self):
        return hash(self.key)

    def __eq__(self, other):
        return self.key == other.key


@cache
def worst(before, after):
    """Most written queues without an owner, most queues with two, of all sets of clients that have
    heard.

    And whether one is without an owner in some set that has one at the end.
    """
    unowned, double, waits = 0, 0, False
    kept = frozenset().union(*after.reads.values()) & after.written & after.there
    for size in range(int(after.begins_with_one), len(after.hears) + 1):
        for heard in combinations(sorted(after.hears), size):
            counts = dict.fromkeys(after.there, 0)
            for one, mine in after.reads.items():
                if one in after.hears and one not in heard:
                    mine = before.reads.get(one, ())
                for queue in mine:
                    if queue in counts:
                        counts[queue] += 1
            unowned = max(unowned, sum(not counts[queue] for queue in after.written & after.there))
            double = max(double, sum(n == 2 for n in counts.values()))
            waits = waits or any(not counts[queue] for queue in kept)
    return unowned, double, waits


def readers(moment, queue):
    return frozenset(one for one, mine in moment.reads.items() if queue in mine)


def figures(moments, goals, step_seconds):
    """The figures of one way."""
    pairs = list(pairwise(moments))
    worsts = [worst(*pair) for pair in pairs]
    last = moments[-1]
    loads = [len(mine & last.there) for mine in last.reads.values()]
    found = {
        "moves": sum(readers(a, q) != readers(b, q) for a, b in pairs for q in a.there & b.there),
        "idle": loads.count(0),
        "unowned": max((one for one, _, _ in worsts), default=0),
        "double_owned": max((two for _, two, _ in worsts), default=0),
        "duration": step_seconds * len(pairs)
        + sum(b.wait * of[2] for (_, b), of in zip(pairs, worsts, strict=True)),
        "batches": sum(one.begins_batch for one in moments),
        "load": max(loads),
        "clients": len(loads),
        "queues": len(last.there),
    }
    return tuple(found[name] for name in goals)


def batches(ids, size):
    return [ids[i : i + size] for i in range(0, len(ids), size)] if size else []


class Course:
    """A group that is changed step by step."""

    def __init__(self, ids, rule, counts):
        self.now, self.rule = frozenset(ids), rule
        self.see = self.written = queues_of("T", counts)
        self.moments = []
        self.step()

    def step(self, hears=(), reads=None, **more):
        reads = shares(self.rule, self.see, self.now) if reads is None else reads
        self.moments.append(Moment(reads, self.see, self.written, hears, **more))

    def switch(self, turns, rule):
        gone_over = set()
        for turn in turns:
            gone_over |= set(turn)
            reads = {
                one: shares(rule if one in gone_over else self.rule, self.see, self.now)[one]
                for one in self.now
            }
            self.step(turn, reads, begins_with_one=True, begins_batch=True)
        self.rule = rule

    def come_and_go(self, come=(), go=(), begins_batch=True):
        self.now = self.now - frozenset(go) | frozenset(come)
        self.step(self.now, begins_batch=begins_batch, wait=1)


def moments_of(ids, rule, counts, way, restart, stable):
    """A change done in one way.

    ``way``: ``order`` of the ids, ``batch``, ``surge``, ``rule`` to come or None, ``n_clients``,
    and ``queues`` of each broker to come or None.
    """
    course, order, batch = Course(ids, rule, counts), list(way["order"]), way["batch"]
    old = course.see
    new = old if way["queues"] is None else queues_of("T", dict.fromkeys(counts, way["queues"]))
    if new > old:
        course.see = new
        course.step(hears=course.now, wait=50)
        course.written = new
        course.step()
    if way["rule"] is not None:
        course.switch(batches(order, batch), way["rule"])
    for turn in batches(
        [f"what-if-{i:06d}" for i in range(1, way["n_clients"] - len(ids) + 1)], batch
    ):
        course.come_and_go(come=turn)
    leaving = max(0, len(ids) - way["n_clients"])
    for turn in batches(order[leaving:], batch) if restart else []:
        back = [one if stable else one.partition("#")[0] + NEW for one in turn]
        halves = [{"go": turn}, {"come": back}]
        for place, half in enumerate(halves[::-1] if way["surge"] else halves):
            course.come_and_go(**half, begins_batch=not place)
    for turn in batches(order[:leaving], batch):
        course.come_and_go(go=turn)
    if new < old:
        course.written = new
        course.step()
        course.see = new
        course.step(hears=course.now, wait=50)
    return course.moments


def all_ways(ids, rules, clients, queues, restart, stable):
    """Every way, many of them alike."""
    surges = (False, True) if restart and not stable else (False,)
    for rule, n, q, surge in product(rules, clients, queues, surges):
        leaving = max(0, len(ids) - n)
        going = max(
            len(ids) if rule is not None else 0,
            abs(n - len(ids)),
            len(ids) - leaving if restart else 0,
        )
        for batch, order in product(range(min(1, going), going + 1), permutations(ids)):
            yield {
                "rule": rule,
                "n_clients": n,
                "queues": q,
                "surge": surge,
                "batch": batch,
                "order": order,
            }


def pareto(points):
    """The points that no other betters."""
    points = set(points)
    return sorted(
        one
        for one in points
        if not any(
            other != one and all(a <= b for a, b in zip(other, one, strict=True))
            for other in points
        )
    )
