"""How faces that take whole columns and tables of Arrow are called; see `public_faces.called`.

What hands a table on to Arrow (`write_table`, `client_totals`, `sum_loads`) is given no damaged
one: Arrow trusts its own.
"""

import io
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa

from public_faces import arrow, hostile
from public_faces.signs import ANY
from public_faces.world import said
from rmqalloc import Fleet, strategy
from rmqalloc.evaluation import client_load, plan_batch, plan_stream, sum_loads
from rmqalloc.fleet.columns import Strings
from rmqalloc.fleet.lists import ClientLists, QueueLists
from rmqalloc.plans import client_totals
from rmqalloc.report import write_table

# --- Columns made by hand ---


def _exercised(fleet, random_rule):
    """All that kernels do with a fleet."""
    ordered_ = fleet.sorted()
    owners = random_rule.assign_fleet(ordered_, on_error="report")
    ordered_.to_arrow(owners)
    said(ordered_)
    fleet.select(slice(None, None, -1)).own_lists()
    return said(fleet)


def _changed(random, holder, names):
    """Fields of columns, one or two of them replaced."""
    fields = {name: getattr(holder, name) for name in names}
    for name in random.sample(list(fields), random.choice((0, 1, 1, 1, 2))):
        value = fields[name]
        fields[name] = hostile.numbers_like(
            random, np.zeros(2, np.int32) if value is None else value
        )
    return fields


def fleet_called(world, random):
    fleet = random.choice([*(known.fleet for known in world.known), world.rooms])
    rule = random.choice([made for _, made in world.rules if not made.is_shared])
    fields = {name: getattr(fleet, name) for name in Fleet.__dataclass_fields__}
    fields |= _changed(random, fleet, ("unit_topic", "unit_queue_list", "unit_client_list"))
    for name in (
        "consumer_groups",
        "topics",
        "brokers",
        "rooms",
        "queue_lists",
        "client_lists",
        "errors",
    ):
        if random.random() < 0.1:
            other = random.choice(world.known).fleet
            fields[name] = random.choice(
                (getattr(other, name), other.topics, hostile.odd(random, 3), ())
            )
    return lambda: _exercised(Fleet(**fields), rule), ANY


def strings_called(world, random):
    column = random.choice(world.known).fleet.consumer_groups
    values, offsets = _changed(random, column, ("values", "offsets")).values()
    return lambda: _told(Strings(values, offsets)), ANY


def _told(column):
    """All that kernels do with a column of text, which must be what Python reads."""
    ends, data = column.offsets.tolist(), column.values.tobytes()
    right = [data[lo:hi].decode("utf-8", "surrogatepass") for lo, hi in pairwise(ends)]
    assert column.to_list() == right
    assert column.take(slice(None, None, -1)).to_list() == right[::-1]
    whole = np.array([0, len(column)], np.int64)
    assert column.sorted(whole)[0].to_list() == sorted(
        right, key=lambda text: text.encode("utf-16-be", "surrogatepass")
    )
    return column.as_java_bytes.to_list() and None


def queue_lists_called(world, random):
    fleet = random.choice([known.fleet for known in world.known] + [world.rooms])
    names = [name for name in QueueLists.__dataclass_fields__ if name != "route_room"]
    fields = _changed(random, fleet.queue_lists, names)

    def ask():
        made = QueueLists(**fields)
        made.taken(slice(None, None, -1)), made.queue_ids, made.queue_route

        return _exercised(replace(fleet, queue_lists=made), strategy("CONSISTENT_HASH"))

    return ask, ANY


def client_lists_called(world, random):
    lists = random.choice([known.fleet for known in world.known] + [world.rooms]).client_lists
    fields = {"client_ids": lists.client_ids} | _changed(random, lists, ("offsets", "slot_room"))
    if random.random() < 0.1:
        fields["client_ids"] = random.choice((world.known[0].fleet.topics, ["x"], None))

    def ask():
        made = ClientLists(**fields)
        made.taken(slice(None, None, -1)), made.sorted(), made.first

    return ask, ANY


# --- Tables of Arrow ---


def from_arrow_called(world, random):
    table, is_sound = arrow.table(random)
    rule = random.choice([made for _, made in world.rules if not made.is_shared])

    def ask():
        fleet = Fleet.from_arrow(table, on_error="report")
        found = _exercised(fleet, rule)
        if is_sound:
            _check_rows(fleet, found, table.to_pylist())

    return ask, ANY


def _check_rows(fleet, found, rows):
    """Units that are not malformed say what Python reads in their rows."""
    bad = {error.position for error in fleet.errors}
    for number, (row, (group, topic, queues, ids)) in enumerate(zip(rows, found, strict=True)):
        if number in bad:
            continue
        wanted = [(one["broker_name"], one["queue_id"]) for one in row.get("queues") or ()]
        for one in row.get("brokers") or ():
            wanted += [(one["broker_name"], i) for i in range(one["read_queue_nums"])]
        right = row["consumer_group"], row["topic"], wanted, row["client_ids"]
        assert (group, topic, [tuple(queue[1:]) for queue in queues], ids) == right, (
            f"row {number}: {right!r}"
        )


def batched_called(face):
    def called(world, random):
        batch, _ = arrow.batch(random)
        spec = random.choice(world.specs)
        return lambda: face(batch, spec).num_rows and None, ANY

    return called


def plan_batch_called(world, random):
    batch, _ = arrow.batch(random)
    carry = random.choice(
        ((), (), (), ("topic",), [0], [-1], ["client_ids", "queues"], np.array([0]), "topic", None)
    )
    spec = random.choice(world.specs)
    return lambda: plan_batch(batch, spec, carry).num_rows and None, ANY


def plan_stream_called(world, random):
    batches = [arrow.batch(random)[0] for _ in range(random.randrange(3))]
    spec, most = random.choice(world.specs), random.choice((1, 3, 2**24, 0, -1, 2**63, 2**70))
    return lambda: [piece.num_rows for piece in plan_stream(batches, spec, most)] and None, ANY


def sum_loads_called(world, random):
    good = client_load(
        pa.RecordBatch.from_pylist(arrow.ROWS[1:4]).drop_columns(["brokers"]), world.specs[0]
    )
    columns = [random.choice((one, one, one[:1], one.slice(1), pa.nulls(len(one), one.type), pa.nulls(len(one))))
               for one in good.columns]  # fmt: skip
    size = min(map(len, columns))

    def ask():
        parts = [
            good,
            pa.RecordBatch.from_arrays([one[:size] for one in columns], good.schema.names),
        ]
        return sum_loads(parts, random.choice(("host", "client_id"))).num_rows and None

    return ask, ANY


def client_totals_called(world, random):
    clients = world.plan.clients
    kind = random.random()
    if kind < 0.4:
        clients = clients.slice(random.randrange(9), random.randrange(9))
    elif kind < 0.7:
        clients = clients.take(
            pa.array(
                [random.randrange(clients.num_rows) for _ in range(random.randrange(5))], pa.int64()
            )
        )
    by = random.choice((["client_id"], ["host"], ["topic", "consumer_group"], [], ["nothing"], [0]))
    return lambda: client_totals(clients, *by).num_rows and None, ANY


def write_table_called(world, random):
    table, is_sound = arrow.table(random)
    table = table if is_sound else pa.table({"a": [1, None], "b": ["x", "y"]})
    output = random.choice(("table", "wide", "json", "jsonl", "yaml", "csv", "md", "html"))
    top = random.choice((None, 1, hostile.odd(random, 3), hostile.number(random, 3)))
    return lambda: write_table(table, output, io.StringIO(), top=top), ANY
