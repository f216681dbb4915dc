"""Rows of a table of units, each planned alone: what `plan_batch` should say before any change and
after every scenario.
"""

from bruteforce import java, mixed, planned
from bruteforce.figures import unit_figures

MALFORMED, DUPLICATE_QUEUE = 1, 3
UNUSABLE = ("NO_SUCH", "CONFIG", "POP")
"""Strategies that give no queue one owner, or that there are not."""

FIGURES = (
    "n_queues", "n_clients", "idle", "unowned", "min_load", "mean_load", "max_load", "skew", "moved", "least_moves",
    "clients_affected", "cross_room",
)  # fmt: skip


def unit_of(row, rule):
    """The unit of a row; the strategy that it names takes the place of the given one, by name and
    parameters.
    """
    default = java.rule_of(*rule)
    name, nodes = row.get("strategy"), row.get("virtual_nodes")
    own = default if name in (None, java.title(default)) else java.rule_of(name, {})
    if nodes is not None:
        own = java.with_nodes(own, nodes)
    if name in UNUSABLE or (nodes or 0) < 0:
        own = {"name": "none that there is"}
    clients = row["client_ids"] or []
    rooms = row.get("client_rooms") or [None] * len(clients)
    clients = planned.in_order(zip(clients, rooms, strict=True))
    return planned.Unit(row["consumer_group"], row["topic"], _brokers(row), clients, own)


def _brokers(row):
    """Brokers with their queue ids and rooms, from whole brokers or from single queues."""
    entries = row["queues"] if "queues" in row else row["brokers"]
    rooms = row.get("broker_rooms") or [None] * len(entries)
    if "brokers" in row:
        return [
            (b["broker_name"], range(b["read_queue_nums"]), room)
            for b, room in zip(entries, rooms, strict=True)
        ]
    ids, room_of = {}, {}
    for queue, room in zip(entries, rooms, strict=True):
        ids.setdefault(queue["broker_name"], []).append(queue["queue_id"])
        room_of.setdefault(queue["broker_name"], room)
    return [(name, mine, room_of[name]) for name, mine in ids.items()]


def state_before(row, rule, with_rooms):
    """The state of a row before any change, or why it is bad."""
    unit = unit_of(row, rule)
    state = mixed.state_of(mixed.alike(unit), with_rooms)
    if row["client_ids"] is None:
        return state._replace(error=(MALFORMED, None))
    if len(set(unit.queues)) < len(unit.queues):
        return state._replace(error=(DUPLICATE_QUEUE, None))
    if not unit.queues or not unit.clients:
        return state._replace(
            error=(planned.EMPTY, java.NO_CLIENTS if unit.queues else java.NO_QUEUES)
        )
    return state


def state_after(before, scenario, with_rooms):
    """What is wrong with the table itself no scenario cures."""
    if before.error and before.error[0] in (MALFORMED, DUPLICATE_QUEUE):
        return before
    return mixed.after(before, scenario, with_rooms)


def plan(row, rule, scenarios, with_rooms=False):
    """Rows of one unit: that before any change, and one of every scenario."""
    before = state_before(row, rule, with_rooms)
    states = {"current": before} | {
        one["name"]: state_after(before, one, with_rooms) for one in scenarios
    }
    return [_row(name, before, after, with_rooms) for name, after in states.items()]


def _row(name, before, after, with_rooms):
    unit, (code, text) = after.unit.main, after.error or (0, None)
    row = {
        "consumer_group": unit.group,
        "topic": unit.topic,
        "scenario": name,
        "strategy": None,
        "owners": None,
    }
    row |= {**dict.fromkeys(FIGURES), "err_code": code, "err_msg": text}
    if code:
        return row
    figures = unit_figures(before, after, with_rooms)
    owners = [-1 if owner is None else unit.ids.index(owner) for owner in after.owner_of.values()]
    return (
        row
        | {one: figures[one] for one in FIGURES}
        | {"strategy": java.title(unit.rule), "owners": owners}
    )


def best(rows, best_by):
    """The row that comes first by the figures, of those that are not bad; the first of equals."""
    tried = rows[1:] or rows
    good = [row for row in tried if not row["err_code"]]
    return (
        min(good, key=lambda row: [round(row[one] or 0, 9) for one in best_by])
        if good
        else {**tried[0], "scenario": None}
    )
