"""The tables that a plan should have, from its units before and after, to the letter."""

from itertools import combinations

from bruteforce import java, planned, totals
from bruteforce.figures import flows, unit_figures
from bruteforce.mixed import NOBODY
from bruteforce.states import States

KEYS = {
    "units": ("consumer_group", "topic"),
    "groups": ("consumer_group",),
    "clients": ("consumer_group", "topic", "client_id"),
    "queues": ("consumer_group", "topic", "broker_name", "queue_id"),
}
"""Columns that name a row of each table, beside the scenario."""

FIGURES = (
    "n_queues", "n_clients", "idle", "unowned", "double_owned", "min_load", "mean_load", "max_load", "skew", "moved",
    "least_moves", "clients_affected", "cross_room",
)  # fmt: skip
"""Figures of a unit; one that cannot be assigned has none."""


def tables(before, after, document):
    """Rows of all tables by their keys, in the order of a plan; `compared` compares them."""
    found = {kind: {} for kind in KEYS}
    with_rooms, lags = (
        planned.rooms_known([state.unit.main for state in before]),
        totals.lags_of(document),
    )
    for one, other in zip(before, after, strict=True):
        key = other.unit.main.group, other.unit.main.topic
        found["units"][key] = _unit(one, other, with_rooms)
        if not other.error:
            found["clients"] |= {(*key, who): row for who, row in _clients(one, other)}
            found["queues"] |= {(key[0], *queue): row for queue, row in _queues(one, other, lags)}
    found["groups"] = dict(totals.groups(before, after, document, found["units"]))
    return found


def _unit(before, after, with_rooms):
    code, text = after.error or (0, None)
    if not code:
        return unit_figures(before, after, with_rooms) | {
            "err_code": 0,
            "err_msg": None,
            "strategies": names_of(after),
        }
    said = {"err_msg": text} if code in (planned.EMPTY, planned.REFUSED) else {}
    return {**dict.fromkeys(FIGURES), "err_code": code, **said, "strategies": (set(),)}


def _clients(before, after):
    gained, lost = flows(before, after)
    rooms = {
        one: room for state in (after, before) for one, room in state.unit.main.clients if room
    }
    was, now = before.unit.main.ids, after.unit.main.ids
    for one in sorted({*was, *now}, key=java.utf16):
        owned = [sum(one in ids for ids in state.owners.values()) for state in (before, after)]
        status = "gone" if one not in now else "stays" if one in was else "new"
        row = {
            "before": owned[0],
            "after": owned[1],
            "gained": gained[one],
            "lost": lost[one],
            "status": status,
        }
        yield one, row | {"host": one.split("@")[0], "machine_room": rooms.get(one)}


def _queues(before, after, lags):
    for queue in sorted({**before.owners, **after.owners}, key=java.queue_order):
        had, has = (
            sorted(state.owners.get(queue, NOBODY), key=java.utf16) for state in (before, after)
        )
        change = "moved" if had != has else "kept"
        if queue not in after.owners:
            change = "gone"
        elif not has:
            change = "unowned"
        elif queue not in before.owners:
            change = "new"
        row = {"change": change, "lag": lags.get((after.unit.main.group, queue))}
        for when, ids in (("before", had), ("after", has)):
            row |= {f"owner_{when}": ids[0] if ids else None, f"others_{when}": ids[1:] or None}
        yield queue, row


def names_of(state):
    """Sets of names of the strategies by which clients divide queues; who has nothing to divide may
    be left out.

    Where nobody has anything to divide, any of the names will do.
    """
    unit = state.unit
    if unit.sharing is not None:
        return ({unit.sharing.name},)
    reading = [slot for slot in unit.slots if slot.reads]
    dividing = [slot for slot in reading if any(unit.lists) and _sees(unit, slot)]
    names = {java.title(slot.rule) for slot in reading}
    if not dividing:
        some_of_them = [
            set(some) for n in range(1, len(names) + 1) for some in combinations(sorted(names), n)
        ]
        return ({java.title(unit.main.rule)}, *some_of_them)
    return {java.title(slot.rule) for slot in dividing}, names


def _sees(unit, slot):
    """Whether a client sees any queue."""
    return any(len(ids) for _, ids, _ in (unit.main.brokers if slot.seen is None else slot.seen))


OF_OWNERS = (
    "idle", "unowned", "double_owned", "min_load", "mean_load", "max_load", "skew", "cross_room",
)  # fmt: skip
"""Figures that nobody knows where it is not known who owns what."""


def without_present(expected, document):
    """Take out figures of the present that are not known."""
    states = {group["name"]: States(document, group) for group in document["groups"]}
    nothing = dict.fromkeys(OF_OWNERS)
    for (group, topic), row in expected["units"].items():
        is_listed = states[group].lists(topic)
        if row["err_code"] or (is_listed and states[group].is_open(topic)):
            row |= nothing
            expected["groups"][(group,)] |= nothing


def compared(tally, what, expected, rows):
    """Compare tables by kind with the rows of one scenario, order and columns included."""
    for kind, wanted in expected.items():
        keys = [tuple(row[name] for name in KEYS[kind]) for row in rows[kind]]
        tally.same(f"{what} {kind} order", "", list(wanted), keys)
        for row, columns in zip(rows[kind][:1], wanted.values(), strict=False):
            known = {"scenario", *KEYS[kind], *columns} | (
                {"strategy", "err_msg"} if kind == "units" else set()
            )
            tally.same(
                f"{what} {kind} columns",
                "",
                known,
                {*row, *({"strategies"} if kind == "units" else ())},
            )
        got = dict(zip(keys, rows[kind], strict=True))
        if kind == "units":
            got = {key: row | {"strategies": _names(row["strategy"])} for key, row in got.items()}
        tally.rows(f"{what} {kind}", wanted, got)


def _names(strategy):
    return set() if strategy is None else set(strategy.split("+"))


def of_scenario(table, name):
    """Rows of a scenario."""
    return [row for row in table if row["scenario"] == name]
