"""Queues and clients of a plan: what became of each, and that the one are what the others gain and lose."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc

from rmqalloc.invariants._ledger import CheckedRows, Keys, Mask
from rmqalloc.invariants._places import Names, QueueReaders, joined
from rmqalloc.invariants._plan_parts import PlanParts

_CHANGES, _STATUSES = ("kept", "moved", "new", "gone", "unowned"), ("stays", "new", "gone")


def word(rows: CheckedRows, column: str, value: str) -> Mask:
    """CheckedRows that have a word in a column."""
    found: Mask = pc.fill_null(pc.equal(rows.table[column], value), False).to_numpy()
    return found


def queue_rules(parts: PlanParts) -> None:
    """What became of every queue follows from its owners."""
    queues = parts.queues
    of = parts.unit_of_queue
    queues.keep("its unit can be assigned", (of >= 0) & np.append(parts.good, False)[of])
    kept, moved, new, gone, unowned = (word(queues, "change", one) for one in _CHANGES)
    queues.keep("change is one of five words", kept | moved | new | gone | unowned)
    had, has = (queues.known(f"owner_{when}") for when in ("before", "after"))
    owner = [parts.ids.of(queues.table[f"owner_{when}"]) for when in ("before", "after")]
    others = [queues.sized(f"others_{when}") for when in ("before", "after")]
    for when, some, more in (("before", had, others[0]), ("after", has, others[1])):
        queues.keep(f"others are there only beside an owner {when}", some | (more == 0), more)
    queues.keep("a queue that is gone has no owner after", ~gone | ~has)
    queues.keep("a queue is unowned where it has no owner after and is not gone", unowned == (~has & ~gone))
    queues.keep("a new queue had no owner", ~new | ~had)
    alike = (owner[0] == owner[1]) & (others[0] == others[1])
    queues.keep("a queue that is kept has the same owner", ~kept | alike, owner[0], owner[1])
    several = (others[0] > 0) | (others[1] > 0)
    queues.keep("a queue that moved has another owner", ~moved | ~alike | several)
    queues.keep("nothing moved before any change", ~(moved | new | gone) | ~np.append(parts.is_current, False)[of])
    _as_current(parts, owner[0], owner[1])


def _as_current(parts: PlanParts, before: Keys, after: Keys) -> None:
    """The owner before a scenario is the owner before any change."""
    queues, current = parts.queues, parts.before_any_change()
    unit = np.append(current, -1)[parts.unit_of_queue]
    brokers = Names(queues.table["broker_name"])
    name, size = brokers.of(queues.table["broker_name"]), len(brokers)
    ids = queues["queue_id"].astype(np.int64)
    n_ids = int(ids.max(initial=0)) + 1
    keys = joined((unit, 1), (name, size), (ids, n_ids))
    queues.distinct(joined((parts.unit_of_queue, 1), (name, size), (ids, n_ids)))
    is_current = np.append(parts.is_current, False)[parts.unit_of_queue]
    rows = np.flatnonzero(is_current)
    if not rows.size:
        return
    order = rows[np.argsort(keys[rows], kind="stable")]
    at = np.minimum(np.searchsorted(keys[order], keys), order.size - 1)
    found = (keys[order][at] == keys) & (keys >= 0)
    was = np.where(found, after[order][at], -1)
    queues.keep("the owner before is that before any change", ~found | (was == before), before, was)


def client_rules(parts: PlanParts) -> None:
    """Every client gains and loses what queues do."""
    clients = parts.clients
    of = parts.unit_of_client
    clients.distinct(parts.client_key(of, parts.client_of))
    clients.keep("its unit can be assigned", (of >= 0) & np.append(parts.good, False)[of])
    clients.not_negative(("before", "after", "gained", "lost"))
    flow_rules(clients)
    new, gone = (word(clients, "status", one) for one in _STATUSES[1:])
    clients.keep("status is one of three words", word(clients, "status", _STATUSES[0]) | new | gone)
    clients.keep("a client that is new had no queue", ~new | (clients["before"] == 0), clients["before"])
    clients.keep("a client that is gone has no queue", ~gone | (clients["after"] == 0), clients["after"])
    current = np.append(parts.is_current, False)[of]
    clients.keep("every client stays before any change", ~current | ~(new | gone))
    ids = clients.table["client_id"]
    hosts = pc.list_element(pc.split_pattern(pc.unique(ids), pattern="@", max_splits=1), 0)
    told = pc.equal(clients.table["host"], hosts.take(pc.index_in(ids, pc.unique(ids)).combine_chunks()))
    clients.keep("host is what the id begins with", pc.fill_null(told, False).to_numpy())
    _against_queues(parts)


def flow_rules(clients: CheckedRows) -> None:
    """What a client has after is what it had, less what it loses, and what it gains."""
    n = clients["before"] - clients["lost"] + clients["gained"]
    clients.same("before - lost + gained is after", "after", n)
    clients.at_most("lost are queues of before", "lost", "before")
    clients.at_most("gained are queues of after", "gained", "after")


def _against_queues(parts: PlanParts) -> None:
    at = parts.client_at()
    queues = parts.queues

    def flow(readers: QueueReaders) -> Keys:
        rows = at.of(parts.client_key(parts.unit_of_queue[readers.rows], readers.clients))
        queues.keep("every reader is a client of the unit", _of_pairs(queues.n, readers.rows[rows < 0]))
        return at.count(rows)

    had, has = parts.readers("before"), parts.readers("after")
    clients = parts.clients
    clients.same("before are the queues that it reads before", "before", flow(had))
    clients.same("after are the queues that it reads after", "after", flow(has))
    lost, gained = changed(queues, had, has, parts.n_ids)
    clients.same("lost are the queues that it reads before alone", "lost", flow(lost))
    clients.same("gained are the queues that it reads after alone", "gained", flow(gained))


def _of_pairs(n: int, rows: Keys) -> Mask:
    ok = np.ones(n, bool)
    ok[rows] = False
    return ok


def changed(queues: CheckedRows, had: QueueReaders, has: QueueReaders, n_ids: int) -> tuple[QueueReaders, QueueReaders]:
    """QueueReaders of before alone, and of after alone."""
    before, after = (queues.table[f"owner_{when}"] for when in ("before", "after"))
    same = pc.fill_null(pc.equal(before, after), False).to_numpy()
    lists = (queues.sized("others_before") > 0) | (queues.sized("others_after") > 0)
    differ = ~same | lists
    old, new = (QueueReaders(one.rows[some], one.clients[some]) for one in (had, has) for some in (differ[one.rows],))
    if not lists.any():
        return old, new
    return old.without(new, n_ids), new.without(old, n_ids)
