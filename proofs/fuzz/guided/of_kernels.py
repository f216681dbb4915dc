"""The kernels behind their faces in Python as targets, with slow twins as oracles.

What is fuzzed are whole calls: one group as plain objects, fleets, columns of text, counts,
weights. So every loop of pyx/ that Cython compiles is reached as users reach it. They are run with
extensions that were compiled with sanitizers.
"""

from itertools import pairwise

import numpy as np
import reference
import reference_own
import specified
from random_groups import BROKERS, TOPICS
from strategy_cases import ONE_OWNER, RULES, outcome, same_objects

from fuzz.guided.given import Given
from fuzz.guided.target import Target
from rmqalloc import Fleet, MessageQueue, strategy
from rmqalloc.evaluation.balance import balance, loads
from rmqalloc.evaluation.movement import movement
from rmqalloc.fleet.columns import Strings, distinct_rows, distinct_strings, order_keys, runs
from rmqalloc.model import joined

_RULES = {rule.label: (rule.make(), rule.reference) for rule in RULES}
_FOR_FLEETS = [
    rule.label
    for rule in ONE_OWNER
    if "crowded" not in rule.label and "scattered" not in rule.label
]
_OWN = {
    "ORDINAL": (strategy("ORDINAL"), specified.ordinal),
    "STABLE": (strategy("STABLE"), specified.stable),
    "STABLE-1": (strategy("STABLE", slack=1), lambda queues, ids: specified.stable(queues, ids, 1)),
}


def same(mine, twin, what):
    """A difference is a finding."""
    if mine != twin:
        raise AssertionError(f"{what}: {mine!r}, and the twin says {twin!r}")


# --- One group as plain objects ---


def client_id(given):
    """As people have them, with a slot at times, or as nobody should."""
    kind = given.number() % 4
    if kind == 0:
        return f"10.0.0.{given.below(4)}@{given.below(4)}"
    return f"10.0.0.{given.below(9)}@web-{given.below(40)}" if kind == 1 else given.text()


def queue_of(given, nulls=True):
    """A queue of few topics and many kinds of brokers; repeats are likely.

    Names are spelled as Java's strings are: what the rules call with them (a room's function, a
    hash) may look at each character, and a pair of halves would be two to it in a group and one in
    a fleet.
    """
    nothing = [None] if nulls else []
    topic = given.one_of([*TOPICS, *nothing]) if given.number() % 4 else joined(given.text())
    broker = given.one_of([*BROKERS, *nothing]) if given.number() % 4 else joined(given.text())
    number = given.number()
    return MessageQueue(topic, broker, number % 5 - 1 if number < 200 else given.number(4) - 2**31)


def one_group(data):
    """A rule's answers for a whole group and for some of its clients."""
    given = Given(data)
    label = given.one_of(list(_RULES))
    made, twin = _RULES[label]
    mq_all = given.many(40, lambda: queue_of(given))
    cid_all = given.many(20, lambda: client_id(given))
    for current in [*cid_all[:3], given.one_of(["", " ", None, "x"])]:
        answers = (outcome(one.allocate, "g", current, mq_all, cid_all) for one in (made, twin))
        same(*(same_objects(answer, mq_all) for answer in answers), f"{label} for {current!r}")
    # What only an empty id would run into in its own room, nobody runs into.
    is_asked = any(cid_all) or not cid_all
    if label == "NEARBY-MACHINE_ROOM":
        is_asked = is_asked and all(queue.broker_name is not None for queue in mq_all)
    if label in {rule.label for rule in ONE_OWNER} and is_asked:
        mine = outcome(lambda: made.assign(mq_all, cid_all).owners.tolist())
        same(mine, outcome(reference.owners, twin, mq_all, cid_all), label)


def own_strategies(data):
    """ORDINAL and STABLE, as their pages say."""
    given = Given(data)
    label = given.one_of(list(_OWN))
    made, twin = _OWN[label]
    topic, brokers = given.text(), given.many(6, given.text) or ["b"]
    queues = [
        MessageQueue(topic, given.one_of(brokers), given.number())
        for _ in range(1 + given.size(70))
    ]
    ids = [client_id(given) for _ in range(1 + given.size(40))]
    # Halves of a character and the character are one id to the package and two to the page, which
    # begins with Java's strings.
    ids = list(map(joined, ids))
    same(made.assign(queues, ids).owners.tolist(), twin(queues, ids), label)


def odd_group(data):
    """Numbers beyond what Java has, other types in a queue, odd virtual nodes: an answer, or a
    refusal with its reason.
    """
    given = Given(data)
    odd = [2**31, -(2**31) - 1, 2**63, 2**80, True, None, "7", 1.5, np.int32(7)]
    queues = []
    for _ in range(given.size(9)):
        queue = queue_of(given)
        number = given.one_of(odd) if given.number() % 2 else queue.queue_id
        kind = given.number() % 4
        queues.append(
            [
                queue._replace(queue_id=number),
                (queue.topic, queue.broker_name, number),
                queue,
                list(queue),
            ][kind]
        )
    ids = [
        given.one_of([None, 7, b"x", "x"]) if given.number() % 4 == 0 else client_id(given)
        for _ in range(given.size(6))
    ]
    try:
        made = strategy(
            "CONSISTENT_HASH", virtual_nodes=given.one_of([0, 1, 10, 300, -1, 2**31, True])
        )
        owners = made.assign(queues, ids).owners
    except (TypeError, ValueError, OverflowError) as error:
        str(error)
    else:
        same((len(owners), bool((owners < max(len(ids), 1)).all())), (len(queues), True), "owners")


# --- Fleets ---


def fleets(data):
    """Units that share lists, all at once and one by one, by threads and in part."""
    given = Given(data)
    label = given.one_of(_FOR_FLEETS)
    made, twin = _RULES[label]
    lists = given.many(3, lambda: given.many(30, lambda: queue_of(given, nulls=False))) or [[]]
    ids = given.many(3, lambda: given.many(12, lambda: client_id(given))) or [[]]
    units = [(given.one_of(lists), given.one_of(ids)) for _ in range(given.size(9))]
    fleet = Fleet.from_groups(
        [(f"g{u}", "t", *unit) for u, unit in enumerate(units)], on_error="report"
    )
    owners = made.assign_fleet(fleet, on_error="report", threads=1 + given.below(3))
    cuts = list(pairwise(fleet.queue_offsets.tolist()))
    for (lo, hi), (queues, cids) in zip(cuts, units, strict=True):
        alone = outcome(lambda queues=queues, cids=cids: made.assign(queues, cids).owners.tolist())
        same(
            owners[lo:hi].tolist(),
            [-1] * (hi - lo) if isinstance(alone, tuple) else alone,
            f"{label} in a fleet",
        )
        if any(cids) and not isinstance(alone, tuple):
            same(alone, outcome(reference.owners, twin, queues, cids), f"{label} alone")
    if units:
        part = np.array([given.below(len(units)) for _ in range(given.size(5))], np.int64)
        taken = [owner for unit in part for owner in owners[slice(*cuts[unit])].tolist()]
        same(
            made.assign_fleet(fleet.select(part), on_error="report").tolist(),
            taken,
            f"{label} in part",
        )


# --- Columns ---


def columns(data):
    """Text taken, sorted and told apart, and lists cut and ordered."""
    given = Given(data)
    texts = [
        joined(text)
        for text in given.many(60, lambda: given.text(40 if given.number() < 16 else 9))
    ]
    column = Strings.from_list(texts)
    column = Strings(column.values.copy(), column.offsets)
    same(column.to_list(), texts, "what was put in")
    rows = [given.below(len(texts)) for _ in range(given.size(40))] if texts else []
    same(
        column.take(np.array(rows, np.int32)).to_list(), [texts[row] for row in rows], "rows taken"
    )
    cuts = sorted([0, *(given.below(len(texts) + 1) for _ in range(given.size(6))), len(texts)])
    lists = [texts[a:b] for a, b in pairwise(cuts)]
    offsets = np.array(cuts, np.int64)
    some = [given.below(len(lists)) for _ in range(given.size(6))]
    same(
        column.take_lists(np.array(some, np.int32), offsets).to_list(),
        [t for k in some for t in lists[k]],
        "lists taken",
    )
    in_order, odd = column.sorted(offsets)
    keyed = [
        sorted(one, key=lambda text: text.encode("utf-16-be", "surrogatepass")) for one in lists
    ]
    same(in_order.to_list(), [text for one in keyed for text in one], "sorted")
    same(
        [bool(one) for one in odd],
        ["" in one or len(set(one)) < len(one) for one in lists],
        "odd lists",
    )
    numbers = {}
    same(
        distinct_rows(column.values, column.offsets)[0].tolist(),
        [numbers.setdefault(t, len(numbers)) for t in texts],
        "kinds",
    )
    same(distinct_strings(column)[1].to_list(), list(numbers), "distinct")
    java = ["".join("?" if "\ud800" <= c <= "\udfff" else c for c in text) for text in texts]
    same(column.as_java_bytes.to_list(), java, "Java's bytes")
    keys = [given.number() % 5 if given.number() % 2 else given.number(8) for _ in texts]
    order = order_keys(np.array(keys, np.uint64), offsets).tolist()
    same(
        order,
        [
            i
            for a, b in pairwise(cuts)
            for i in sorted(range(b - a), key=lambda i, a=a: keys[a + i])
        ],
        "order of keys",
    )
    starts = [i for a, b in pairwise(cuts) for i in range(a, b) if i == a or keys[i] != keys[i - 1]]
    same(runs(offsets, [np.array(keys, np.uint64)])[1].tolist()[:-1], starts, "runs")


# --- Counts ---


def _held(queues, ids, owners):
    """Owner's id, or None, of every queue; repeats of a queue are told apart by their number."""
    seen, found = {}, {}
    for queue, owner in zip(queues, owners, strict=True):
        seen[queue] = seen.get(queue, 0) + 1
        found[queue, seen[queue]] = ids[owner] if owner >= 0 else None
    return found


def _moves(before, after):
    """Moved, least moves and affected of one unit."""
    had, has = _held(*before), _held(*after)
    both, clients = had.keys() & has.keys(), {*after[1]}
    kept = sorted((sum(had[q] == client for q in both) for client in clients), reverse=True)
    share, more = divmod(len(has), len(clients)) if clients else (0, 0)
    stay = sum(min(n, share + (i < more)) for i, n in enumerate(kept))
    stay = stay if clients else sum(had[q] is None for q in both)
    names = {*before[1], *after[1]}
    differ = sum({q for q in had if had[q] == c} != {q for q in has if has[q] == c} for c in names)
    return [sum(had[q] != has[q] for q in both), len(both) - stay, differ]


def counts(data):
    """Balance, loads and movement of two sides of a fleet."""
    given = Given(data)

    def side(old=None):
        queues = (
            old[0]
            if old and given.number() % 2
            else given.many(40, lambda: (given.one_of("TU"), given.one_of("ab"), given.below(6)))
        )
        ids = (
            old[1]
            if old and given.number() % 2
            else given.many(20, lambda: given.one_of("abcdefgh"))
        )
        if old and given.number() % 4 == 0:
            queues, ids = queues[::-1], ids[::-1]
        return queues, ids, [given.below(len(ids) + 1) - 1 for _ in queues]

    units = []
    for _ in range(given.size(12)):
        before = side()
        units.append((before, side(before)))
    made = [
        Fleet.from_groups([(f"g{u}", "T", unit[i][0], unit[i][1]) for u, unit in enumerate(units)])
        for i in (0, 1)
    ]
    owners = [np.array([o for unit in units for o in unit[i][2]], np.int32) for i in (0, 1)]
    figures = movement(made[0], owners[0], made[1], owners[1])
    same(np.stack(figures, axis=1).tolist(), [_moves(*unit) for unit in units], "movement")
    of_clients = [[unit[0][2].count(c) for c in range(len(unit[0][1]))] for unit in units]
    same(loads(made[0], owners[0]).tolist(), [n for unit in of_clients for n in unit], "loads")
    found = balance(made[0], owners[0])
    same(found.unowned.tolist(), [unit[0][2].count(-1) for unit in units], "unowned")
    same(found.max_load.tolist(), [max(one, default=0) for one in of_clients], "the most")
    same(found.min_load.tolist(), [min(one, default=0) for one in of_clients], "the least")


def weights(data):
    """WEIGHTED, moves and swaps included."""
    given = Given(data)
    wide = 1 + given.number() % 4
    weighed = [given.number(wide) % (2**31 - 1) + 1 for _ in range(1 + given.size(14))]
    capacities = [given.number(1 + given.number() % 3) + 1 for _ in range(1 + given.size(6))]
    queues = [MessageQueue("T", "b", i) for i in range(len(weighed))]
    ids = [f"c{i}" for i in range(len(capacities))]
    made = strategy(
        "WEIGHTED", capacities=dict(zip(ids, capacities, strict=True)),
        weights={("T", "b", i): one for i, one in enumerate(weighed)},
    )  # fmt: skip
    same(
        made.assign(queues, ids).owners.tolist(),
        reference_own.weighted(weighed, capacities),
        "WEIGHTED",
    )


def _bytes():
    """Any bytes will do: a few of each length, with all values."""
    return {
        f"bytes-{n}": bytes((i * 37 + n * 11) % 256 for i in range(n))
        for n in (0, 8, 40, 120, 400, 1200)
    }


TARGETS = [
    Target(name, one, _bytes, about=about, of_kernels=True)
    for name, one, about in (
        (
            "one-group",
            one_group,
            "every strategy of RocketMQ over one group of plain objects (`group`, all others)",
        ),
        ("odd-group", odd_group, "one group of what is not plain (`group`)"),
        ("own-strategies", own_strategies, "ORDINAL and STABLE (`names`, `slots`, `preferences`)"),
        (
            "fleets",
            fleets,
            "every strategy over fleets (`md5`, `ring`, `crc32`, `split`, `ragged`)",
        ),
        ("columns", columns, "columns of text and lists (`strings`, `ragged`)"),
        ("counts", counts, "balance and movement (`tally`)"),
        ("weights", weights, "WEIGHTED (`weigh`)"),
    )
]
