"""A second planner: what a plan says is recomputed by the standard library and loops written from RocketMQ's Java classes.

Nothing of the planner runs here but the reading of snapshots into views (`plan_checker.inputs`). The scenarios are done to the
routes, client lists and strategies before any change, every queue is given its owners, and the tables and ways back that come
of it must be those of the plan to the letter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from plan_checker import form, loops
from plan_checker import plain_rules as rules
from plan_checker import unit_states as units

# --- Tables ---


class Tables:
    """The tables of a plan, written anew unit by unit."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.scenarios = data["scenarios"]
        self.names = ["current", *(one["name"] for one in self.scenarios)]
        self.rows: dict[str, list[list[Any]]] = {name: [[] for _ in self.names] for name in form.TABLES}
        self.groups: list[dict[str, dict[str, Any]]] = [{} for _ in self.names]
        self.problems = list[str]()
        self.backs = {name: _by_group(data["undo"].get(name, ())) for name in self.names[1:]}
        if list(data["undo"]) != self.names[1:]:
            self.problems.append("undo is not of the scenarios")
        errors = data["tables"]["units"]["err_code"], _decoded(data["tables"]["units"]["err_msg"])
        told = iter(zip(*errors, strict=True))
        read = list(units.units_of(data["inputs"]))
        places = (one for unit in read for row in unit.rows for one in (*row.clients, *row.brokers))
        with_rooms = any(one[-1] is not None for one in places)
        for unit in read:
            self._add(unit, [next(told) for _ in self.names], with_rooms)
        for number, name in enumerate(self.names):
            self.rows["groups"][number] = [_group_row(name, *one) for one in self.groups[number].items()]

    def _add(self, unit: units.Unit, told: list[tuple[int, str | None]], with_rooms: bool) -> None:
        states = [units.state_of(unit, unit.rows, None, told[0], with_rooms)]
        for scenario, said in zip(self.scenarios, told[1:], strict=True):
            rows = units.rows_after(scenario, unit)
            self._go_back(unit, scenario["name"], rows)
            states.append(units.state_of(unit, rows, states[0], said, with_rooms))
        for number, (name, state) in enumerate(zip(self.names, states, strict=True)):
            group = self.groups[number].setdefault(unit.group, {"units": [], "loads": {}, "grown": {}, "lags": []})
            group["shared"] = group.get("shared") or unit.shared
            if not state.code:
                seen = Counter[str]()
                for one, _ in state.row.clients:
                    group["loads"].setdefault((one, seen[one]), 0)
                    seen[one] += 1
            figures: list[Any] = [None] * 12
            if not state.code:
                figures = self._figures(unit, name, number, states[0], group, state)
            row = [unit.group, unit.topic, name, state.strategy, *figures, state.cross_room, state.code, state.text]
            group["units"].append(dict(zip(form.UNITS, row, strict=True)))
            self.rows["units"][0].append(row)

    def _go_back(self, unit: units.Unit, scenario: str, rows: list[loops.Row]) -> None:
        """Note if the way back does not lead to the rows before, or there is none where something changes."""
        entries = [
            one for one in self.backs[scenario].get(unit.group, ()) if unit.topic in one.get("topics", [unit.topic])
        ]
        if len(entries) != (loops.in_use(rows) != loops.in_use(unit.rows)):
            self.problems.append(
                f"undo of {scenario!r} has {len(entries)} ways back for {unit.group} topic {unit.topic}"
            )
        for one in entries:
            if "reason" in one and _can_go_back(unit):
                self.problems.append(f"undo of {scenario!r} has no changes for {unit.group} topic {unit.topic}")
            back = [loops.changed(row, unit.topic, one.get("changes", ())) for row in rows]
            if ("reason" in one) == ("changes" in one) or (
                loops.in_use(back) != loops.in_use(unit.rows) and "changes" in one
            ):
                self.problems.append(f"undo of {scenario!r} does not bring back {unit.group} topic {unit.topic}")

    def _figures(
        self, unit: units.Unit, name: str, number: int, before: units.State, group: dict[str, Any], after: units.State
    ) -> list[Any]:
        """Figures of a unit, its rows of clients and queues, and what they add to its group."""
        was, now, lost, gained = before.readers, after.readers, Counter[str](), Counter[str]()
        head, moved = (name, unit.group, unit.topic), 0
        for queue in sorted({**was, **now}, key=lambda one: (rules.utf16(one[0]), one[1])):
            old, new, lag = was.get(queue, ()), now.get(queue, ()), unit.lags.get(queue)
            change = "new" if queue not in was else "kept" if old == new else "moved"
            change = "gone" if queue not in now else change if new else "unowned"
            is_moved = queue in was and queue in now and old != new
            if old != new:
                lost.update(set(old) - set(new))
                gained.update(set(new) - set(old))
            group["loads"].update({(one, 0): group["loads"].get((one, 0), 0) + 1 for one in new})
            moved += is_moved
            group["lags"] += [] if lag is None else [lag * is_moved]
            owners = (one for each in (old, new) for one in (each[0] if each else None, list(each[1:]) or None))
            self.rows["queues"][number].append([*head, *queue, *owners, change, lag])
        touched = lost.keys() | gained.keys()
        group["grown"].update({one: group["grown"].get(one, 0) + gained[one] - lost[one] for one in touched})
        self.rows["clients"][number] += _client_rows(head, before, after, lost, gained)
        loads = Counter(one for each in now.values() for one in each)
        slots = Counter(one for one, _ in after.row.clients)
        each = [loads[one] * (not again) for one, n in slots.items() for again in range(n)]
        n, m, most = len(now), len(each), max(each, default=0)
        balance = [each.count(0), list(now.values()).count(()), after.double_owned, min(each, default=0)]
        subscribed = units.slots_left(unit, after.row).intersection(unit.views["subscribed"])
        able = {unit.client_ids[slot] for slot in subscribed} | units.joined(unit, after.row).keys()
        n_loads = sum(each) if unit.shared else n  # a shared queue counts for each reader
        spread = [n_loads / m if m else 0.0, most, most * m / max(n_loads, 1)]
        return [n, m, *balance, *spread, moved, None if unit.shared else _least(was, now, able), len(touched)]


def _can_go_back(unit: units.Unit) -> bool:
    """Whether some changes surely lead back to a unit: it has one view, of distinct clients, and a strategy that can be set."""
    row, *others = unit.rows
    ids = [one for one, _ in row.clients]
    is_set = loops.is_known(row.strategy, row.params) and row.strategy != loops.CONFIG
    return not others and len(set(ids)) == len(ids) and is_set


def _client_rows(
    head: tuple[str, str, str], before: units.State, after: units.State, lost: Counter[str], gained: Counter[str]
) -> Iterator[list[Any]]:
    """Rows of the table of clients; where both states know the machine room, that before counts."""
    rooms = {one: room for state in (after, before) for one, room in state.row.clients if room}
    was, now = ({one for one, _ in state.row.clients} for state in (before, after))
    loads = [Counter(one for each in state.readers.values() for one in each) for state in (before, after)]
    for one in sorted(was | now, key=rules.utf16):
        status = "gone" if one not in now else "stays" if one in was else "new"
        counts = loads[0][one], loads[1][one], gained[one], lost[one]
        yield [*head, one, one.partition("@")[0], rooms.get(one), *counts, status]


def _least(was: dict[Any, rules.Ids], now: dict[Any, rules.Ids], able: set[str]) -> int:
    """Fewest queues that change on the way to any state with one owner each and loads that differ by one at most.

    The bound: such a state gives ``extra`` clients ``size + 1`` queues and the others ``size``, so a client keeps at most
    ``size`` of those that it alone has, and at most ``extra`` clients one more. It is attained where those with most get most.
    """
    both = [queue for queue in now if queue in was]
    if not able:
        return sum(bool(was[queue]) for queue in both)
    loads = Counter(was[queue][0] for queue in both if len(was[queue]) == 1 and was[queue][0] in able).values()
    size, extra = divmod(len(now), len(able))
    bound = sum(min(load, size) for load in loads) + min(extra, sum(load > size for load in loads))
    attained = sum(min(load, size + (i < extra)) for i, load in enumerate(sorted(loads, reverse=True)))
    if bound != attained:
        raise ValueError("the bound of least_moves is not attained")
    return len(both) - bound


def _group_row(scenario: str, name: str, group: dict[str, Any]) -> list[Any]:
    """A row of the table of groups."""
    rows, loads, grown = group["units"], list(group["loads"].values()), group["grown"].values()
    total = {
        key: sum(one[key] or 0 for one in rows)
        for key in ("n_queues", "unowned", "double_owned", "moved", "least_moves")
    }
    crossing = [one["cross_room"] for one in rows if one["cross_room"] is not None]
    most, n_loads = max(loads, default=0), sum(loads) if group["shared"] else total["n_queues"]
    mean = n_loads / len(loads) if loads else 0.0
    return [
        scenario, name, sum(not one["err_code"] for one in rows), total["n_queues"], len(loads), loads.count(0),
        total["unowned"], total["double_owned"], min(loads, default=0), mean, most, most / (mean or 1), total["moved"],
        None if group["shared"] else total["least_moves"], len(grown), sum(crossing) if crossing else None,
        min(sum(group["lags"]), 2**63 - 1) if group["lags"] else None, sum(n > 0 for n in grown), sum(n < 0 for n in grown),
    ]  # fmt: skip


def _decoded(column: dict[str, Any]) -> list[str | None]:
    """Texts of a column."""
    return [None if row is None else column["words"][row] for row in column["rows"]]


def _encoded(name: str, values: Sequence[Any]) -> Any:
    """A column as the file has it."""
    if name not in form.TEXTS:
        return list(values)
    place = {one: i for i, one in enumerate(dict.fromkeys(one for one in values if one is not None))}
    return {"rows": [None if one is None else place[one] for one in values], "words": list(place)}


def differences(given: dict[str, Any], made: Tables) -> Iterator[str]:
    """Columns of tables that are not what follows from the inputs."""
    if list(given) != list(form.TABLES):
        yield f"its tables are {', '.join(given)}, not {', '.join(form.TABLES)}"
        return
    for table, columns in form.TABLES.items():
        if list(given[table]) != columns:
            yield f"the columns of {table} are {', '.join(given[table])}, not {', '.join(columns)}"
            continue
        rows = [row for part in made.rows[table] for row in part]
        for name, values in zip(columns, [*zip(*rows, strict=True)] or [()] * len(columns), strict=True):
            if form.text_of(wanted := _encoded(name, values)) != form.text_of(given[table][name]):
                yield f"{table}.{name} is not what follows from the inputs{_first(name, wanted, given[table][name], rows)}"


def _first(name: str, wanted: Any, given: Any, rows: list[list[Any]]) -> str:
    """Where a column differs first, if it can be read."""
    try:
        pairs = zip(*(_decoded(one) if name in form.TEXTS else one for one in (wanted, given)), strict=True)
        row, (right, is_) = next(
            (i, both) for i, both in enumerate(pairs) if form.text_of(both[0]) != form.text_of(both[1])
        )
    except (ValueError, KeyError, TypeError, IndexError, StopIteration):
        return ""
    return f": row {row} has {form.text_of(is_)[:60]}, {form.text_of(right)[:60]} is right"


def _by_group(entries: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Ways back of every group."""
    found: dict[str, list[dict[str, Any]]] = {}
    for one in entries:
        for group in one["groups"]:
            found.setdefault(group, []).append(one)
    return found


def problems_of(data: dict[str, Any], snapshot: dict[str, Any] | None = None) -> list[str]:
    """Return what is wrong with a plan.

    Parameters
    ----------
    data : dict
        ``scenarios``, ``tables`` and ``undo`` of its document, and its ``inputs`` as `plan_checker.inputs` makes them.
    snapshot : dict, optional
        Document of the snapshot that it was made from.
    """
    made = Tables(data)
    found = [*made.problems, *differences(data["tables"], made)]
    return found if snapshot is None else [*found, *units.snapshot_differs(data, snapshot)]
