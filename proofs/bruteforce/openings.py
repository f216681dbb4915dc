"""What is open while clients follow a scenario one by one: every set of informed clients is tried.

Clients are processes: two that share an id are informed each on its own. One that is not informed
reads what it read before, one that is reads what it gets, and one that joins reads nothing until it
acts. Queues that are new are there from the start.
"""

from collections import Counter
from functools import lru_cache
from itertools import combinations
from math import comb
from typing import NamedTuple

from bruteforce import mixed

MOST_CLIENTS = 7
"""Clients after a scenario up to which all sets of them are tried."""

WAYS = ("notice", "timer", "scan", "crash")
AT_JOIN = {
    "notice": 1.0,
    "crash": 1.0,
    "timer": 1 / 20,
    "scan": 1 / 20,
    "routes": 1 / 1200,
    "deployment": 1.0,
}
"""How likely a client is informed when one that joins acts, a second after it starts."""

PARTS = 64
"""A range of probabilities is cut into so many parts, and those about its highest points into as many once more."""

WHICH = ("unowned", "double_owned")


class Opening(NamedTuple):
    """A group while it follows a scenario.

    ``kinds`` are numbers of queues by (readers before, readers after, whether they are written to),
    readers as bits of ``n`` processes; ``joins`` are those that were not there before.
    """

    n: int
    joins: int
    kinds: frozenset

    @property
    def has_several(self):
        return any(one & (one - 1) for kind, _ in self.kinds for one in kind[:2])


# --- Who reads what ---


def followed(scenario, informed_by):
    """How clients learn of a scenario: by the slowest of its changes."""
    kinds = {kind for change in scenario["changes"] for kind in change}
    if kinds & {"set_strategy", "set_virtual_nodes"}:
        return "deployment"
    return (
        "routes"
        if kinds & {"set_queues", "add_broker", "remove_broker", "lose_machine_room"}
        else informed_by
    )


def opening(pairs, document, by_id=False):
    """A group on its way, given the states of its units.

    ``by_id``: every process reads whatever any that shares its id does.
    """
    present = sorted(
        {one for _, after in pairs if not after.error for one in mixed.numbered(after.unit)}
    )
    old = {one for before, _ in pairs for one in mixed.numbered(before.unit)}
    bit = {one: 1 << place for place, one in enumerate(present)}
    kinds = Counter()
    for before, after in pairs:
        is_written = written_of(before, document)
        for queue in () if after.error else after.owners:
            readers = (
                sum(bit.get(one, 0) for one in _readers(side, queue, by_id))
                for side in (before, after)
            )
            kinds[(*readers, is_written(queue))] += 1
    return Opening(
        len(present), sum(bit[one] for one in present if one not in old), frozenset(kinds.items())
    )


def ways(pairs, document):
    """What a group may go through; two where processes of one id differ, for it is open whether
    each reads its own share.

    None of groups that share their queues, and of groups of too many clients.
    """
    if pairs[0][1].unit.sharing is not None:
        return []
    own, of_id = (opening(pairs, document, by_id) for by_id in (False, True))
    return [own, of_id][: 1 if own == of_id else 2] if own.n <= MOST_CLIENTS else []


def _readers(state, queue, by_id):
    if by_id:
        ids = state.owners.get(queue, ())
        return [one for one in mixed.numbered(state.unit) if one[0] in ids]
    return state.processes.get(queue, ())


def written_of(before, document):
    """Tells whether producers write to a queue: of those that are new, to all of a broker that they
    may write to.
    """
    [brokers] = [
        topic["brokers"] for topic in document["topics"] if topic["name"] == before.unit.main.topic
    ]
    by_name = {one["broker_name"]: one for one in brokers}

    def is_written(queue):
        broker = by_name.get(queue[1], {})
        is_open = bool(broker.get("perm", 6) & 2)
        if not broker or queue not in before.owners:
            return is_open
        return is_open and queue[2] < broker.get("write_queue_nums", broker["read_queue_nums"])

    return is_written


# --- Every set of informed clients ---


class Tried(NamedTuple):
    """Queues without a reader that are written to, and with several, by the set of informed
    clients.
    """

    by_set: list
    of: Opening

    def worst(self, which):
        return max(one[which] for one in self.by_set)

    def by_number(self, which, joiners_act):
        """Sums over the sets of so many informed clients that were there before."""
        late = [1 << bit for bit in range(self.of.n) if not self.of.joins >> bit & 1]
        acting = self.of.joins if joiners_act else 0
        return [
            sum(self.by_set[acting + sum(some)][which] for some in combinations(late, k))
            for k in range(len(late) + 1)
        ]

    def expected(self, which, at_join):
        """The most that are open at any time, expected."""
        ranges = ((False, 0.0, at_join), (True, at_join, 1.0))
        return max(highest(self.by_number(which, acts), *bounds) for acts, *bounds in ranges)

    def expected_by_number(self, which):
        """The same where all sets of so many clients are as likely."""
        sums = self.by_number(which, True)
        return max(total / comb(len(sums) - 1, k) for k, total in enumerate(sums))


@lru_cache(64)
def tried(of, lasting=True):
    """Every set; without queues that stay open for good if not ``lasting``."""
    by_set = []
    for informed in range(1 << of.n):
        unowned = double = 0
        for (old, new, written), n in of.kinds:
            readers = old & ~informed | new & informed
            unowned += n * (not readers and written and bool(lasting or new))
            double += n * (readers & (readers - 1) != 0 and bool(lasting or not new & (new - 1)))
        by_set.append((unowned, double))
    return Tried(by_set, of)


def mean(sums, p):
    """The expected number if each client is informed with probability ``p``."""
    n = len(sums) - 1
    return sum(total * p**k * (1 - p) ** (n - k) for k, total in enumerate(sums) if total)


def highest(sums, least, most):
    """The highest expected number on a fine grid, looked for about the highest points of a coarse
    one.
    """
    if not any(sums):
        return 0.0
    step = (most - least) / PARTS
    coarse = [mean(sums, least + step * place) for place in range(PARTS + 1)]
    tops = [
        place
        for place, value in enumerate(coarse)
        if value >= max(coarse[max(0, place - 1)], coarse[min(PARTS, place + 1)])
    ]
    fine = (
        mean(sums, min(most, max(least, least + step * (top + (2 * part / PARTS - 1)))))
        for top in sorted(tops, key=lambda top: -coarse[top])[:2]
        for part in range(PARTS + 1)
    )
    return max(*coarse, *fine)


def after(of):
    """Queues that are open when all have followed."""
    unowned = sum(n for (_, new, written), n in of.kinds if written and not new)
    return unowned, sum(n for (_, new, _), n in of.kinds if new & (new - 1))
