"""Arrow rows of units: random ones, good and bad, and what a plan of all of them at once should
say.
"""

import pyarrow as pa

from bruteforce import clusters, java, planned, random_changes, rows
from bruteforce.clusters import chance, some
from rmqalloc.evaluation.batch_planning import PlanSpec, plan_batch

TEXTS_KNOWN = (0, planned.EMPTY, planned.REFUSED)
"""Codes of errors whose words are Java's."""

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
    # As many clients with other ids: such units come to the same as long as nobody looks at the
    # ids.
    lists += [
        [one | {"client_id": f"{prefix}{one['client_id']}"} for one in lists[0]]
        for prefix in ("1", "~")
    ]
    made = []
    for number in range(random.choice((1, 4, 12, 25))):
        topic = random.choice(document["topics"])
        row = {"consumer_group": f"group-{number % 3}", "topic": topic["name"]}
        clients = random.choice(lists)
        row["clients"] = [[one["client_id"], one.get("machine_room")] for one in clients]
        row["brokers"] = [_broker(random, broker, form) for broker in topic["brokers"]]
        _own_strategy(random, row, with_rooms)
        if chance(random, 0.04):
            row["clients"] = None
        made.append(row)
    name, params = clusters.rule(random)
    while name.startswith(java.NEARBY) and not with_rooms:
        name, params = clusters.rule(random)
    return {
        "form": form,
        "rooms": with_rooms,
        "rows": made,
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
    if (
        chance(random, 0.5)
        and not set(params) - {"virtual_nodes"}
        and (with_rooms or not name.startswith(java.NEARBY))
    ):
        row["strategy"] = name
    elif chance(random, 0.05):
        row["strategy"] = random.choice(rows.UNUSABLE)
    if chance(random, 0.3):
        row["virtual_nodes"] = random.choice((*clusters.NODES, 0, -3 if chance(random, 0.1) else 2))


def batch_of(case):
    made, form = case["rows"], case["form"]
    columns = {
        name: pa.array([row[name] for row in made], pa.string())
        for name in ("consumer_group", "topic")
    }
    columns["strategy"] = pa.array([row.get("strategy") for row in made], pa.string())
    columns["virtual_nodes"] = pa.array([row.get("virtual_nodes") for row in made], pa.int64())
    columns[form] = pa.array([_entries(row, form) for row in made], FORMS[form])
    columns["client_ids"] = pa.array([_column(row["clients"], 0) for row in made], TEXTS)
    if case["rooms"]:
        rooms = [
            [room for _, ids, room in row["brokers"] for _ in (ids if form == "queues" else "1")]
            for row in made
        ]
        columns["broker_rooms"] = pa.array(rooms, TEXTS)
        columns["client_rooms"] = pa.array([_column(row["clients"], 1) for row in made], TEXTS)
    return pa.RecordBatch.from_pydict(columns)


def _entries(row, form):
    if form == "brokers":
        return [
            {"broker_name": name, "read_queue_nums": len(ids)} for name, ids, _ in row["brokers"]
        ]
    return [
        {"broker_name": name, "queue_id": one} for name, ids, _ in row["brokers"] for one in ids
    ]


def _column(clients, place):
    return None if clients is None else [client[place] for client in clients]


def compare(case, tally):
    """Every row of the plan."""
    batch, rule, scenarios = batch_of(case), case["strategy"], case["scenarios"]
    got = plan_batch(batch, PlanSpec(*rule, scenarios=scenarios, output=case["output"])).to_pylist()
    units = [rows.plan(row, rule, scenarios, case["rooms"]) for row in batch.to_pylist()]
    is_best = case["output"] == "best"
    expected = [row for unit in units for row in ([rows.best(unit, BEST_BY)] if is_best else unit)]
    tally.same("bulk rows", "", len(expected), len(got))
    for number, (should, row) in enumerate(zip(expected, got, strict=True)):
        for name in row.keys() - ({} if should["err_code"] in TEXTS_KNOWN else {"err_msg"}):
            tally.same(f"bulk {case['output']}.{name}", number, should[name], row[name])
