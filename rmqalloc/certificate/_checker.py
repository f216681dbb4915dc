"""Proves a saved plan with the standard library and loops of its own: nothing of the planner runs here.

    python _checker.py plan.json [--snapshot snapshot.json] [--key-file FILE]

does it on any machine to which this file, ``_unit_states.py``, ``_loops.py``, ``_plain_rules.py``, ``_named_rules.py`` and
``_form.py`` were copied.
A plan holds what it was made from (``inputs``): routes, client lists and strategies before any change.
All else follows. The scenarios are done to
the inputs again, every queue is given its owners, and the tables that come of it must be those of the file to the letter. So
what is left to believe is the inputs, which a snapshot or a signature proves, and what `Verdict.not_proved` lists.
"""

from __future__ import annotations

import gzip
import hashlib
import hmac
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING or __package__:
    from rmqalloc.certificate import _form as form
    from rmqalloc.certificate import _loops as loops
    from rmqalloc.certificate import _plain_rules as rules
    from rmqalloc.certificate import _unit_states as units
else:
    form, loops, rules, units = map(import_module, ("_form", "_loops", "_plain_rules", "_unit_states"))

MIN_KEY_BYTES = 32
"""Shortest key of a signature."""

SIGNED_BY = "hmac-sha256:"
ROUNDING = 1e-9


class Verdict(NamedTuple):
    """What came out; nothing is wrong if there are no problems."""

    problems: list[str]
    proved: list[str]
    not_proved: list[str]


# --- Tables ---


class Tables:
    """The tables of a plan, written anew unit by unit."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.scenarios = data["scenarios"]
        self.names = ["current", *(one["name"] for one in self.scenarios)]
        self.rows: dict[str, list[list[Any]]] = {name: [[] for _ in self.names] for name in form.TABLES}
        self.groups: list[dict[str, dict[str, Any]]] = [{} for _ in self.names]
        self.taken, self.problems = dict[str, None](), list[str]()
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
            if not state.bad[0]:
                seen = Counter[str]()
                for one, _ in state.row.clients:
                    group["loads"].setdefault((one, seen[one]), 0)
                    seen[one] += 1
            figures: list[Any] = [None] * 12
            if not state.code:
                figures = self._figures(unit, name, number, states[0], group, state)
            elif state.code in (*loops.SPOILED, loops.BAD_STRATEGY):
                self.taken[f"{unit.group} topic {unit.topic}: {state.text}"] = None
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
            if "reason" in one:
                self.taken[f"undo of {scenario!r} has no way back for {unit.group}: {one['reason']}"] = None
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


# --- Gates, signature, snapshot ---


def gates_broken(gates: dict[str, Any], made: Tables) -> Iterator[str]:
    """What does not keep a gate."""
    before, *others = ([dict(zip(form.GROUPS, row, strict=True)) for row in rows] for rows in made.rows["groups"])
    for number, rows in enumerate(others, start=1):
        for was, now in zip(before, rows, strict=True):
            both = [made.groups[i][now["consumer_group"]]["units"] for i in (0, number)]
            cured = sum(b["n_queues"] for a, b in zip(*both, strict=True) if a["err_code"] and not b["err_code"])
            now["moved"] *= now["least_moves"] is not None  # what several read changes no hands
            bounds = [
                ("max_moved", "moved", 1),
                ("max_moved_share", "moved", was["n_queues"] + cured),
                ("max_skew", "skew", 1),
            ]
            broken = [key for key, name, unit in bounds if key in gates and now[name] > gates[key] * unit + ROUNDING]
            if gates.get("fail_if_worse") and not cured:
                worse = (key for key in ("skew", "idle", "unowned", "max_load") if now[key] > was[key] + ROUNDING)
                broken += [f"fail_if_worse ({key})" for key in worse]
            broken += ["any, as a topic cannot be assigned any more"] * (now["n_topics"] < was["n_topics"])
            yield from (f"gate not kept in {now['scenario']!r} by {now['consumer_group']}: {one}" for one in broken)


def verdict(text: str, key: bytes | None = None, snapshot: dict[str, Any] | None = None) -> Verdict:
    """Check the text of a plan's file.

    Parameters
    ----------
    text : str
    key : bytes, optional
        Of its signature.
    snapshot : dict, optional
        Document of the snapshot that it was made from.
    """
    try:
        data = form.read(text)
        units.check_order(data)
        made = Tables(data)
        problems = [*made.problems, *differences(data["tables"], made)]
        gates = data.get("gates", {})
        problems += gates_broken(gates, made) if gates and not problems else ()
        problems += () if snapshot is None else units.snapshot_differs(data, snapshot)
    except (
        ValueError,
        KeyError,
        TypeError,
        IndexError,
        AttributeError,
        OverflowError,
        RecursionError,
        StopIteration,
    ) as error:
        return Verdict([f"it cannot be read as a plan: {type(error).__name__}: {error}"], [], [])
    digest, signature, signed = data.pop("digest"), data.get("signature"), ""
    if hashlib.sha256(form.text_of(data)[:-1].encode()).hexdigest() != digest:
        problems.append("its digest is not that of its content")
    body = form.text_of({name: one for name, one in data.items() if name != "signature"})[:-1].encode()
    if key is not None and len(key) < MIN_KEY_BYTES:
        problems.append(f"the key has {len(key)} bytes; at least {MIN_KEY_BYTES} are needed")
    elif key is not None and (
        signature is None or not hmac.compare_digest(signature.encode(), sign(body, key).encode())
    ):
        problems.append("it is not signed" if signature is None else "its signature is not by this key")
    elif key is not None:
        signed = "the signature is by this key"
    return (
        Verdict(problems, *_said(data, made, signed, snapshot is not None))
        if not problems
        else Verdict(problems, [], [])
    )


def sign(body: bytes, key: bytes) -> str:
    """The signature of a plan's text without its digest."""
    return SIGNED_BY + hmac.new(key, body, hashlib.sha256).hexdigest()


def _said(data: dict[str, Any], made: Tables, signed: str, with_snapshot: bool) -> tuple[list[str], list[str]]:
    """What was proved, and what was not."""
    n_units = sum(row[2] == "current" for row in made.rows["units"][0])
    moved = sum(row[form.UNITS.index("moved")] or 0 for row in made.rows["units"][0])
    gates = {name: one for name, one in data.get("gates", {}).items() if name in form.GATES}
    others = {name: one for name, one in data.get("gates", {}).items() if name not in form.GATES}
    proved = [
        "content: its digest, and every key and value as rmqalloc writes it",
        f"owners: {n_units} units in {len(made.names)} states, recomputed from the inputs",
        f"tables: {', '.join(f'{name} {sum(map(len, rows))}' for name, rows in made.rows.items())} rows follow from the owners",
        f"movement: {moved} queues move; the bound of least_moves is attained in every unit",
        *([f"gates: {', '.join(f'{name} {one:g}' for name, one in gates.items())} hold"] if gates else ()),
        *(
            [f"way back: from {len(made.names) - 1} scenario(s) to the clients, queues and strategies before"]
            if made.names[1:]
            else ()
        ),
        *(["inputs: digest, routes and client lists are those of the snapshot"] if with_snapshot else ()),
        *([signed] if signed else ()),
    ]
    open_ends = [] if with_snapshot else ["inputs: whether they are the cluster's; give the snapshot"]
    open_ends += [f"gate {name} {one}: {form.OPEN_GATES.get(name, 'it is not known')}" for name, one in others.items()]
    open_ends += ["the signature: signed, not checked; give the key"] if "signature" in data and not signed else []
    open_ends += [] if signed else ["toolVersion and warnings, which follow from nothing; a signature covers them"]
    reported = [
        one["name"] for one in data["inputs"]["groups"] for each in one.get("views", {}).values() if "reported" in each
    ]
    open_ends += [f"{name}: its owners before are those that its clients report" for name in dict.fromkeys(reported)]
    return proved, open_ends + list(made.taken)


def main(argv: Sequence[str]) -> int:
    """Check a file; 0 if it is proved, 2 if not."""
    given = dict(zip(argv[1::2], argv[2::2], strict=False))
    if not argv or len(argv) % 2 == 0 or given.keys() - {"--snapshot", "--key-file"}:
        print("usage: _checker.py plan.json [--snapshot snapshot.json] [--key-file FILE]", file=sys.stderr)
        return 64
    with (gzip.open if argv[0].endswith(".gz") else open)(argv[0], "rt", encoding="utf-8") as file:
        text = file.read()
    key = snapshot = None
    if "--key-file" in given:
        with open(given["--key-file"], "rb") as key_file:
            key = key_file.read().strip()
    if "--snapshot" in given:
        with open(given["--snapshot"], encoding="utf-8") as file:
            snapshot = json.load(file)
    found = verdict(text, key, snapshot)
    for what, lines in (("rejected", found.problems), ("proved", found.proved), ("not proved", found.not_proved)):
        print(*(f"{what}: {ascii(line)[1:-1]}" for line in lines), sep="\n", end="\n" * bool(lines))
    return 2 if found.problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
