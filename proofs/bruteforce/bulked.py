"""Arrow rows of units: random ones, good and bad, and what a plan of all of them at once should say."""

import pyarrow as pa

from bruteforce import clusters, java, planned, random_changes
from bruteforce.clusters import chance, some
from rmqalloc.evaluation.batch_planning import PlanSpec, plan_batch

MALFORMED, DUPLICATE_QUEUE = 1, 3
UNUSABLE = ("NO_SUCH", "CONFIG", "POP")
"""Strategies that give no queue one owner, or that there are not."""

BEST_BY = ("unowned", "idle", "skew", "moved")
FORMS = {
    "brokers": pa.list_(pa.struct([("broker_name", pa.string()), ("read_queue_nums", pa.int32())])),
    "queues": pa.list_(pa.struct([("broker_name", pa.string()), ("queue_id", pa.int32())])),
}
TEXTS = pa.list_(pa.string())


def case(random):
    """Rows that share client lists and sizes, as real fleets do, and a specification."""
    document = clusters.snapshot(random, tame=chance(random, 0.5))
    form, with_rooms = random.choice(("brokers", "queues")), random_changes.rooms_known(document)
    lists = [group.get("clients", []) for group in document["groups"]]
    # As many clients with other ids: such units come to the same as long as nobody looks at the ids.
    lists += [[one | {"client_id": f"{prefix}{one['client_id']}"} for one in lists[0]] for prefix in ("1", "~")]
    rows = []
    for number in range(random.choice((1, 4, 12, 25))):
        topic = random.choice(document["topics"])
        row = {"consumer_group": f"group-{number % 3}", "topic": topic["name"]}
        clients = random.choice(lists)
        row["clients"] = [[one["client_id"], one.get("machine_room")] for one in clients]
        row["brokers"] = [_broker(random, broker, form) for broker in topic["brokers"]]
        _own_strategy(random, row, with_rooms)
        if chance(random, 0.04):
            row["clients"] = None
        rows.append(row)
    name, params = clusters.rule(random)
    while name.startswith(java.NEARBY) and not with_rooms:
        name, params = clusters.rule(random)
    return {
        "form": form,
        "rooms": with_rooms,
        "rows": rows,
        "strategy": [name, params],
        "scenarios": random_changes.scenarios(random, document),
        "output": random.choice(("metrics", "owners", "best")),
    }


def _broker(random, broker, form):
    n = random.choice((broker["read_queue_nums"], broker["read_queue_nums"], 3))
    ids = list(range(n))
    if form == "queues" and chance(random, 0.3):
        ids = some(random, range(-1, 12), 1, n + 1)
        ids += [ids[0]] if chance(random, 0.05) else []
    return [broker["broker_name"], ids, broker.get("machine_room")]


def _own_strategy(random, row, with_rooms):
    name, params = clusters.rule(random)
    if chance(random, 0.5) and not set(params) - {"virtual_nodes"} and (with_rooms or not name.startswith(java.NEARBY)):
        row["strategy"] = name
    elif chance(random, 0.05):
        row["strategy"] = random.choice(UNUSABLE)
    if chance(random, 0.3):
        row["virtual_nodes"] = random.choice((*clusters.NODES, 0, -3 if chance(random, 0.1) else 2))


def batch_of(case):
    rows, form = case["rows"], case["form"]
    columns = {name: pa.array([row[name] for row in rows], pa.string()) for name in ("consumer_group", "topic")}
    columns["strategy"] = pa.array([row.get("strategy") for row in rows], pa.string())
    columns["virtual_nodes"] = pa.array([row.get("virtual_nodes") for row in rows], pa.int64())
    columns[form] = pa.array([_entries(row, form) for row in rows], FORMS[form])
    columns["client_ids"] = pa.array([_column(row["clients"], 0) for row in rows], TEXTS)
    if case["rooms"]:
        rooms = [[room for _, ids, room in row["brokers"] for _ in (ids if form == "queues" else "1")] for row in rows]
        columns["broker_rooms"] = pa.array(rooms, TEXTS)
        columns["client_rooms"] = pa.array([_column(row["clients"], 1) for row in rows], TEXTS)
    return pa.RecordBatch.from_pydict(columns)


def _entries(row, form):
    if form == "brokers":
        return [{"broker_name": name, "read_queue_nums": len(ids)} for name, ids, _ in row["brokers"]]
    return [{"broker_name": name, "queue_id": one} for name, ids, _ in row["brokers"] for one in ids]


def _column(clients, place):
    return None if clients is None else [client[place] for client in clients]


def state_before(row, case):
    """A row before any change, or why it is bad."""
    default = java.rule_of(*case["strategy"])
    name = row.get("strategy")
    rule = default if name in (None, java.title(default)) else java.rule_of(name, {})
    if name in UNUSABLE or row.get("virtual_nodes", 0) < 0:
        rule = {"name": "none that there is"}
    # A list of queues does not have the brokers without any.
    brokers = [tuple(broker) for broker in row["brokers"] if broker[1] or case["form"] == "brokers"]
    clients = planned.in_order(map(tuple, row["clients"] or []))
    unit = planned.Unit(row["consumer_group"], row["topic"], brokers, clients, rule)
    error = _error(row, unit)
    if "virtual_nodes" in row:
        unit = unit._replace(rule=java.with_nodes(unit.rule, row["virtual_nodes"]))
    return planned.State(unit, dict.fromkeys(unit.queues), (error, None)) if error else planned.state_of(unit)


def _error(row, unit):
    if row["clients"] is None:
        return MALFORMED
    if len(set(unit.queues)) < len(unit.queues):
        return DUPLICATE_QUEUE
    if not unit.queues or not unit.clients:
        return planned.EMPTY
    if unit.rule["name"] == "none that there is":
        return planned.BAD_STRATEGY
    return 0


def _after(before, scenario, with_rooms):
    """What is wrong with the table itself no scenario cures."""
    code, _ = before.error or (0, None)
    return before if code in (MALFORMED, DUPLICATE_QUEUE) else planned.after(before, scenario, with_rooms)


def compare(case, tally):
    """Every row of the plan."""
    spec = PlanSpec(*case["strategy"], scenarios=case["scenarios"], output=case["output"])
    got = plan_batch(batch_of(case), spec).to_pylist()
    expected = []
    for row in case["rows"]:
        before = state_before(row, case)
        found = [_figures(before, before, "current", case)]
        found += [_figures(before, _after(before, one, case["rooms"]), one["name"], case) for one in case["scenarios"]]
        expected += [_best(found[1:])] if case["output"] == "best" else found
    tally.same("bulk rows", "", len(expected), len(got))
    for number, (should, row) in enumerate(zip(expected, got, strict=True)):
        for name, value in should.items():
            tally.same(f"bulk {case['output']}.{name}", number, value, row[name])


def _figures(before, after, name, case):
    unit, (code, _) = after.unit, after.error or (0, None)
    row = {"consumer_group": unit.group, "topic": unit.topic, "scenario": name, "err_code": code}
    if code:
        return row
    row |= planned.unit_figures(before, after, case["rooms"]) | {"strategy": java.title(unit.rule)}
    if case["output"] == "owners":
        row["owners"] = [-1 if owner is None else unit.ids.index(owner) for owner in after.owners.values()]
    return row


def _best(rows):
    good = [row for row in rows if not row["err_code"]]
    if good:
        return min(good, key=lambda row: [round(row[name], 9) for name in BEST_BY])
    return {name: value for name, value in rows[0].items() if name != "scenario"}
