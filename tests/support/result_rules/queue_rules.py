"""Queues and clients of a plan: what became of each, and that the one are what the others gain and
lose.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from result_rules.ledger import CheckedRows, Keys, Mask
from result_rules.places import Names, Places, QueueReaders, joined, readers_of
from result_rules.plan_parts import PlanParts

_READER = "every reader is a client of the unit"
_CHANGES = ("kept", "moved", "new", "gone", "unowned")


def word(rows: CheckedRows, column: str, *values: str) -> Mask:
    """Return True for the rows that have one of some words in a column."""
    found: Mask = pc.is_in(rows.table[column], pa.array(values, pa.string())).to_numpy()
    return found


def queue_rules(parts: PlanParts) -> None:
    """Check that the change of every queue follows from its owners."""
    queues = parts.queues
    of = parts.unit_of_queue
    queues.keep("its unit can be assigned", (of >= 0) & np.append(parts.good, False)[of])
    kept, moved, new, gone, unowned = (word(queues, "change", one) for one in _CHANGES)
    queues.keep("change is one of five words", word(queues, "change", *_CHANGES))
    had, has = (queues.known(f"owner_{when}") for when in ("before", "after"))
    owner = [parts.ids.of(queues.table[f"owner_{when}"]) for when in ("before", "after")]
    others = [queues.sized(f"others_{when}") for when in ("before", "after")]
    for when, some, more in (("before", had, others[0]), ("after", has, others[1])):
        queues.keep(f"others are there only beside an owner {when}", some | (more == 0), more)
    queues.keep("a queue that is gone has no owner after", ~gone | ~has)
    queues.keep(
        "a queue is unowned where it has no owner after and is not gone", unowned == (~has & ~gone)
    )
    queues.keep("a new queue had no owner", ~new | ~had)
    alike = (owner[0] == owner[1]) & (others[0] == others[1])
    queues.keep("a queue that is kept has the same owner", ~kept | alike, owner[0], owner[1])
    several = (others[0] > 0) | (others[1] > 0)
    queues.keep("a queue that moved has another owner", ~moved | ~alike | several)
    queues.keep(
        "nothing moved before any change",
        ~(moved | new | gone) | ~np.append(parts.is_current, False)[of],
    )
    _as_current(parts, owner[0], owner[1])


def _as_current(parts: PlanParts, before: Keys, after: Keys) -> None:
    """Check that the owner before a scenario is the owner before any change."""
    queues, current = parts.queues, parts.before_any_change()
    unit = np.append(current, -1)[parts.unit_of_queue]
    brokers = Names(queues.table["broker_name"])
    name, size = brokers.of(queues.table["broker_name"]), len(brokers)
    ids = queues["queue_id"].astype(np.int64)
    n_ids = int(ids.max(initial=0)) + 1
    keys = joined((unit, 1), (name, size), (ids, n_ids))
    queues.distinct(joined((parts.unit_of_queue, 1), (name, size), (ids, n_ids)))
    rows = np.flatnonzero(np.append(parts.is_current, False)[parts.unit_of_queue])
    if not rows.size:
        return
    found = Places(keys[rows]).of(keys)
    was = np.where(found >= 0, after[rows][found], -1)
    queues.keep(
        "the owner before is that before any change",
        (found < 0) | (keys < 0) | (was == before),
        before,
        was,
    )


def client_rules(parts: PlanParts) -> None:
    """Check that every client gains and loses what queues do."""
    clients = parts.clients
    of = parts.unit_of_client
    key = joined((of, 1), (parts.client_of, parts.n_ids))
    clients.distinct(key)
    clients.keep("its unit can be assigned", (of >= 0) & np.append(parts.good, False)[of])
    clients.not_negative(("before", "after", "gained", "lost"))
    flow_rules(clients)
    new, gone = (word(clients, "status", one) for one in ("new", "gone"))
    clients.keep("status is one of three words", word(clients, "status", "stays", "new", "gone"))
    clients.keep(
        "a client that is new had no queue", ~new | (clients["before"] == 0), clients["before"]
    )
    clients.keep(
        "a client that is gone has no queue", ~gone | (clients["after"] == 0), clients["after"]
    )
    current = np.append(parts.is_current, False)[of]
    clients.keep("every client stays before any change", ~current | ~(new | gone))
    ids = clients.table["client_id"]
    hosts = pc.list_element(pc.split_pattern(pc.unique(ids), pattern="@", max_splits=1), 0)
    told = pc.equal(
        clients.table["host"], hosts.take(pc.index_in(ids, pc.unique(ids)).combine_chunks())
    )
    clients.keep("host is what the id begins with", pc.fill_null(told, False).to_numpy())
    had, has = (readers_of(parts.queues.table, when, parts.ids) for when in ("before", "after"))
    at = Places(key)
    for name, readers in (("before", had), ("after", has)):
        read = flow(parts.queues, _READER, at, parts.unit_of_queue, readers, parts.n_ids)
        clients.same(f"{name} are the queues that it reads {name}", name, read)
    change_rules(clients, parts.queues, _READER, at, parts.unit_of_queue, had, has, parts.n_ids)


def flow_rules(clients: CheckedRows) -> None:
    """Check that a client has after what it had, less what it loses, and what it gains."""
    n = clients["before"] - clients["lost"] + clients["gained"]
    clients.same("before - lost + gained is after", "after", n)
    clients.at_most("lost are queues of before", "lost", "before")
    clients.at_most("gained are queues of after", "gained", "after")


def flow(
    queues: CheckedRows, rule: str, at: Places, units: Keys, readers: QueueReaders, n_ids: int
) -> Keys:
    """Count readers by their row among clients, given the unit of every queue; each must have a
    row.
    """
    rows = at.of(joined((units[readers.rows], 1), (readers.clients, n_ids)))
    queues.keep(rule, np.bincount(readers.rows[rows < 0], minlength=queues.n) == 0)
    return at.count(rows)


def change_rules(
    clients: CheckedRows, queues: CheckedRows, rule: str, at: Places, units: Keys,
    had: QueueReaders, has: QueueReaders, n_ids: int,
) -> None:  # fmt: skip
    """Check what clients lose and gain against the readers of queues before and after."""
    for name, when, readers in zip(
        ("lost", "gained"), ("before", "after"), _changed(queues, had, has, n_ids), strict=True
    ):
        clients.same(
            f"{name} are the queues that it reads {when} alone",
            name,
            flow(queues, rule, at, units, readers, n_ids),
        )


def _changed(
    queues: CheckedRows, had: QueueReaders, has: QueueReaders, n_ids: int
) -> tuple[QueueReaders, QueueReaders]:
    """Return the readers of before alone, and of after alone."""
    before, after = (queues.table[f"owner_{when}"] for when in ("before", "after"))
    same = pc.fill_null(pc.equal(before, after), False).to_numpy()
    lists = (queues.sized("others_before") > 0) | (queues.sized("others_after") > 0)
    differ = ~same | lists
    old, new = (
        QueueReaders(one.rows[some], one.clients[some])
        for one in (had, has)
        for some in (differ[one.rows],)
    )
    if not lists.any():
        return old, new
    return old.without(new, n_ids), new.without(old, n_ids)
