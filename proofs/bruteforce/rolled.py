"""What a rollout should say of every step: clients as sets of queues that they read, before and
behind it.

While a step lasts, every client that hears of it reads what it had until it has heard, and then
what it gets. Any set of them may have heard, so the worst is looked for among all sets.
"""

import hashlib
from fnmatch import fnmatchcase
from itertools import pairwise, product
from random import Random
from typing import NamedTuple

from bruteforce import java
from bruteforce.clusters import queue_key
from bruteforce.tally import AtLeast

TRIED_AT_MOST = 10
"""Clients that hear of a step up to which all sets of them are tried."""

EXPOSURES = ("unowned", "unowned_written", "unowned_dry", "double_owned")
"""Figures of which every step has its worst."""


class Moment(NamedTuple):
    """Clients that are there, the queues that each reads, the queues that there are and those that
    are written.
    """

    present: list
    reads: dict
    there: frozenset
    written: frozenset

    def readers(self, queue):
        return {one for one, queues in self.reads.items() if queue in queues}


class Step(NamedTuple):
    """What is done: ``lasting`` holds for every client what it may read while the step lasts, None
    if nothing is heard.
    """

    action: str
    behind: Moment
    lasting: dict | None = None
    begins_with_one: bool = False


class Crew:
    """A group whose clients come and go, with the units that it reads."""

    def __init__(self, advised, written):
        self.units, self.ids, self._written = advised.units, advised.ids, written
        self.room_of = dict(advised.clients)
        self._language_of = {
            one["client_id"]: one.get("language") for one in advised.group["clients"]
        }
        self._owners = {}

    @property
    def queues(self):
        return frozenset(queue for unit in self.units for queue in unit.queues)

    def written(self, queues):
        return frozenset(queue for queue in queues if self._written(queue))

    def owned(self, ids, rule=None, queues=None):
        """Queues of every client of a list, over all topics: each client asked alone."""
        ids = tuple(sorted(ids, key=java.utf16))
        key = ids, repr(rule), queues
        if key not in self._owners:
            found = {one: set() for one in ids}
            for unit in self.units:
                mine = [queue for queue in unit.queues if queues is None or queue in queues]
                rooms = unit.rooms[0], self.room_of
                for one in ids if mine else ():
                    found[one].update(
                        java.allocate(self._rule(one, unit, rule), one, mine, ids, rooms)
                    )
            self._owners[key] = {one: frozenset(some) for one, some in found.items()}
        return self._owners[key]

    def _rule(self, client_id, unit, rule):
        """What a client divides by, as its language has it; those that join are of the language
        that all have.
        """
        language = self._language_of.get(client_id) or unit.language
        return java.spoken(rule or unit.rule, language)

    def settled(self, ids, queues=None, written=None):
        queues = self.queues if queues is None else queues
        return Moment(
            list(ids),
            self.owned(ids, queues=queues),
            queues,
            self.written(queues) if written is None else written,
        )


def turns(ids, batch, order, seed):
    """Clients of every batch."""
    ids = sorted(ids, key=java.utf16)
    if order == "reversed":
        ids.reverse()
    elif order == "shuffled":
        ids.sort(key=lambda one: hashlib.sha256(f"{seed}/{one}".encode()).digest())
    size = batch if isinstance(batch, int) else max(1, len(ids) * int(batch.rstrip("%")) // 100)
    if order == "spread":
        n_turns = -(-len(ids) // size)
        ids = [one for first in range(n_turns) for one in ids[first::n_turns]]
    return [ids[start : start + size] for start in range(0, len(ids), size)]


# --- The verbs ---


def restart(crew, batch, surge, ids, order, seed):
    """Every batch stops and starts, or starts under other ids and stops."""
    new = _new_ids(crew, ids)
    there = list(crew.ids)
    steps = [Step("before", crew.settled(there))]
    for turn in turns(crew.ids, batch, order, seed):
        stop, start = (turn, []), ([], [new[one] for one in turn])
        for gone, come in (start, stop) if surge else (stop, start):
            after = [one for one in there if one not in gone] + come
            had, has = crew.owned(there), crew.owned(after)
            lasting = {one: [had.get(one, frozenset()), has[one]] for one in after}
            steps.append(Step("", crew.settled(after), lasting))
            there = after
    return steps


def _new_ids(crew, kind):
    """Ids with which clients come back, in Java's order of the old ones."""
    new, taken = {}, set(crew.ids)
    for one in crew.ids:
        stem = one.rpartition("#")[0] if "#" in one else one
        if kind == "address":
            digest = hashlib.sha256(one.encode()).digest()
            _, at, rest = stem.partition("@")
            stem = "10." + ".".join(str(byte) for byte in digest[:3]) + at + rest
        number = 900_000_000_000_001
        while f"{stem}#{number}" in taken:
            number += 1
        new[one] = one if kind == "stable" else f"{stem}#{number}"
        taken.add(new[one])
        crew.room_of[new[one]] = crew.room_of[one]
    return new


def change_strategy(crew, rule, batch, order, seed):
    """Clients go over batch by batch, all on the list of all."""
    old, new = crew.owned(crew.ids), crew.owned(crew.ids, rule)
    switched = set()

    def reads():
        return {one: new[one] if one in switched else old[one] for one in crew.ids}

    still = crew.settled(crew.ids)
    steps = [Step("before", still)]
    for turn in turns(crew.ids, batch, order, seed):
        had = reads()
        switched |= set(turn)
        lasting = {one: [had[one], new[one]] if one in turn else [had[one]] for one in crew.ids}
        steps.append(Step("", still._replace(reads=reads()), lasting, begins_with_one=True))
    return steps


def change_subscription(crew, remove, batch, order, seed):
    """Clients subscribe or leave batch by batch, and all count for the others all the time."""
    mine = crew.owned(crew.ids)
    reading = set(crew.ids) if remove else set()

    def reads():
        return {one: mine[one] if one in reading else frozenset() for one in crew.ids}

    still = crew.settled(crew.ids)
    steps = [Step("before", still._replace(reads=reads()))]
    for turn in turns(crew.ids, batch, order, seed):
        had = reads()
        reading = reading - set(turn) if remove else reading | set(turn)
        has = reads()
        lasting = {one: [had[one], has[one]] if one in turn else [had[one]] for one in crew.ids}
        steps.append(Step("", still._replace(reads=has), lasting, begins_with_one=True))
    return steps


def maintain_broker(crew, broker):
    """A broker is read-only, gone, back, writable: routes change for one client after the other."""
    every = crew.queues
    others = frozenset(queue for queue in every if queue[1] != broker)
    wet, written = crew.written(others), crew.written(every)
    before, without = crew.owned(crew.ids, queues=every), crew.owned(crew.ids, queues=others)
    gone = {one: [before[one] & others, without[one]] for one in crew.ids}
    back = {one: [without[one], before[one]] for one in crew.ids}
    return [
        Step("before", crew.settled(crew.ids, every, written)),
        Step("read-only", crew.settled(crew.ids, every, wet)),
        Step("gone", crew.settled(crew.ids, others, wet), gone),
        Step("back, read-only", crew.settled(crew.ids, every, wet), back),
        Step("writable", crew.settled(crew.ids, every, written)),
    ]


class Resize:
    """A topic whose brokers are given ``to`` queues each, to read and to write.

    ``wrong`` says that this is not one thing to do; ``route`` is the topic with all queues that
    there are before or after.
    """

    def __init__(self, topic, to, brokers):
        self.topic, self.to, self.brokers = (
            topic,
            to,
            [one for one in topic["brokers"] if one.get("perm", 6) & 4],
        )
        self.changed = [one for one in self.brokers if fnmatchcase(one["broker_name"], brokers)]
        reads = [one["read_queue_nums"] for one in self.changed]
        same = all(
            one["read_queue_nums"] == to == one.get("write_queue_nums", to) for one in self.changed
        )
        self.grows = any(n < to for n in reads) or not list(self.dropped)
        self.wrong = not self.changed or same or (self.grows and any(n > to for n in reads))
        self.route = topic | {"brokers": [self._widest(one) for one in topic["brokers"]]}

    def _widest(self, broker):
        return (
            broker | {"read_queue_nums": max(broker["read_queue_nums"], self.to)}
            if broker in self.changed
            else broker
        )

    def numbers(self, read=None, write=None):
        """Queues of every readable broker that are there, and that are written."""
        there, written = set(), set()
        for one in self.brokers:
            n = one["read_queue_nums"] if read is None or one not in self.changed else read
            wet = one.get("write_queue_nums", one["read_queue_nums"])
            wet = (
                0
                if not one.get("perm", 6) & 2
                else wet
                if write is None or one not in self.changed
                else write
            )
            there |= {(self.topic["name"], one["broker_name"], i) for i in range(n)}
            written |= {(self.topic["name"], one["broker_name"], i) for i in range(wet)}
        return frozenset(there), frozenset(there & written)

    @property
    def dropped(self):
        """Queues that may hold messages and will be no more."""
        for one in self.changed:
            holds = max(one["read_queue_nums"], one.get("write_queue_nums", 0))
            yield from ((self.topic["name"], one["broker_name"], i) for i in range(self.to, holds))

    def refused(self, document, assume_drained):
        """Queues that go in which groups have messages, and in which it is not known, by the
        group's name.
        """
        behind, unknown, dropped = {}, {}, set(self.dropped)
        for group in document["groups"]:
            lags = {queue_key(one["queue"]): one for one in group.get("lags", [])}
            mine = {queue: one for queue, one in lags.items() if queue[0] == self.topic["name"]}
            if not mine and self.topic["name"] not in group["subscriptions"]:
                continue
            left = {
                q
                for q, one in mine.items()
                if one["broker_offset"] > max(0, one["consumer_offset"])
            }
            if left & dropped:
                behind[group["name"]] = len(left & dropped)
            if dropped - mine.keys() and not assume_drained:
                unknown[group["name"]] = len(dropped - mine.keys())
        return behind, unknown

    def steps(self, crew):
        """Read, routes, write; or write, drain, read, routes."""

        def moment(read, write):
            there, written = self.numbers(read, write)
            return crew.settled(crew.ids, there, written)

        first, last = moment(None, None), moment(self.to, self.to)
        between = moment(self.to, None) if self.grows else moment(None, self.to)
        heard = between if self.grows else last
        lasting = {one: [first.reads[one] & heard.there, heard.reads[one]] for one in crew.ids}
        if self.grows:
            return [Step("before", first), Step("read", between, lasting), Step("write", last)]
        return [Step("before", first), Step("write", between), Step("read", last, lasting)]


# --- Figures ---


def figures(steps, only=None):
    """Figures of every step; of the queues ``only`` if they are given."""
    rows, before = [], None
    for step in steps:
        behind = _of(step.behind, only)
        rows.append(_row(step, behind, _of(before.behind, only) if before else None, only))
        before = step
    return rows


def _of(moment, only):
    if only is None:
        return moment
    reads = {one: queues & only for one, queues in moment.reads.items()}
    return Moment(moment.present, reads, moment.there & only, moment.written & only)


def _row(step, now, before, only):
    loads = {one: now.reads.get(one, frozenset()) & now.there for one in now.present}
    sizes = [len(queues) for queues in loads.values()]
    row = {
        "n_clients": len(now.present),
        "n_queues": len(now.there),
        "moved": 0,
        "clients_touched": 0,
        "min_load": min(sizes, default=0),
        "max_load": max(sizes, default=0),
        "idle": sizes.count(0),
        "only_dry": sum(bool(queues) and not queues & now.written for queues in loads.values()),
    }
    if before is not None:
        row["moved"] = sum(
            before.readers(queue) != now.readers(queue) for queue in now.there & before.there
        )
        ids = before.reads.keys() | now.reads.keys()
        row["clients_touched"] = sum(
            before.reads.get(one, frozenset()) & before.there
            != now.reads.get(one, frozenset()) & now.there
            for one in ids
        )
    return row | _worst(step, now, only)


def _worst(step, now, only):
    """The worst over all sets of clients that may have heard; over some of them where there are
    many.
    """
    options = [tuple(dict.fromkeys(some)) for some in (step.lasting or {}).values()]
    if step.lasting is None:
        options = [(queues,) for queues in now.reads.values()]
    bits = {queue: 1 << i for i, queue in enumerate(now.there)}
    there, written = (sum(bits[queue] for queue in some) for some in (now.there, now.written))
    masks = [[sum(bits.get(queue, 0) for queue in queues) for queues in some] for some in options]
    n_hearing = sum(len(some) > 1 for some in (step.lasting or {}).values())
    worst = dict.fromkeys(EXPOSURES, 0)
    for heard in _sets_of(masks):
        if (
            step.begins_with_one
            and n_hearing == sum(len(some) > 1 for some in options)
            and not any(heard)
        ):
            continue
        found = _exposed(heard, masks, there, written)
        worst = {name: max(n, worst[name]) for name, n in found.items()}
    exact = sum(len(some) > 1 for some in masks) <= TRIED_AT_MOST
    return worst if exact else {name: AtLeast(n) for name, n in worst.items()}


def _sets_of(masks):
    """For every client which of its options it reads: all choices, or some of very many."""
    if sum(len(some) > 1 for some in masks) <= TRIED_AT_MOST:
        yield from product(*(range(len(some)) for some in masks))
        return
    random = Random(len(masks))
    for _ in range(1 << TRIED_AT_MOST - 3):
        share = random.random()
        yield tuple(random.random() < share if len(some) > 1 else 0 for some in masks)


def _exposed(heard, masks, there, written):
    once = twice = 0
    for at, some in zip(heard, masks, strict=True):
        twice |= once & some[at]
        once |= some[at]
    unowned = there & ~once
    numbers = (unowned, unowned & written, unowned & ~written, twice & there)
    return {name: mask.bit_count() for name, mask in zip(EXPOSURES, numbers, strict=True)}


def moves_per_queue(steps):
    """Queues that pass to other readers over all steps, over the queues at the start."""
    moved = sum(
        a.behind.readers(q) != b.behind.readers(q)
        for a, b in pairwise(steps)
        for q in a.behind.there & b.behind.there
    )
    return moved / len(steps[0].behind.there)


def totals(rows):
    """Figures of a whole rollout, from those of its steps."""
    moved = sum(row["moved"] for row in rows)
    found = {
        "n_steps": len(rows) - 1,
        "n_queues": rows[0]["n_queues"],
        "n_clients": rows[0]["n_clients"],
        "moved": moved,
        "moved_per_queue": moved / max(rows[0]["n_queues"], 1),
        "clients_touched": sum(row["clients_touched"] for row in rows),
        "min_load": min(row["min_load"] for row in rows),
        "max_load": max(row["max_load"] for row in rows),
    }
    for name in EXPOSURES:
        worst = max(row[name] for row in rows)
        exact = not any(isinstance(row[name], AtLeast) for row in rows)
        found[f"max_{name}"] = worst if exact else AtLeast(worst)
    return found


def exposed_of(table, group):
    """Queues that lie open at one moment of every step, by what is the matter with them."""
    found = {}
    for row in table.to_pylist():
        if row["consumer_group"] == group:
            kinds = found.setdefault(row["step"], {})
            kinds[row["exposure"]] = kinds.get(row["exposure"], 0) + 1
    return found


def written_of(document):
    """Whether producers write to a queue, as far as the snapshot knows."""
    routes = {
        (topic["name"], one["broker_name"]): one
        for topic in document["topics"]
        for one in topic["brokers"]
    }

    def is_written(queue):
        route = routes[queue[:2]]
        return bool(route.get("perm", 6) & 2) and queue[2] < route.get(
            "write_queue_nums", queue[2] + 1
        )

    return is_written


def crews(document, groups):
    return {name: Crew(group, written_of(document)) for name, group in groups.items()}


EXACT = ("unowned_is_exact", "double_owned_is_exact")
"""Columns that say whether others are exact; groups as small as these leave no doubt."""


def compare(tally, kind, where, expected, got):
    """A row of figures."""
    for name, value in expected.items():
        tally.same(f"{kind}.{name}", where, value, got.get(name, value))
    if not any(isinstance(value, AtLeast) for value in expected.values()):
        for name in EXACT:
            for column in (name, f"max_{name}"):
                tally.same(f"{kind}.{column}", where, True, got.get(column, True))
