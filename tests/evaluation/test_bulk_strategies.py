"""Tables of units that name strategies with parameters: in bulk, on Spark's workers and in plans
they come to the same.
"""

import json

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples

from rmqalloc import Fleet
from rmqalloc.cli import main
from rmqalloc.evaluation.batch_planning import ErrCode, PlanSpec, plan_batch
from rmqalloc.evaluation.parquet_plan import strategies_of
from rmqalloc.evaluation.row_strategies import OF_TABLES, Unusable, rules_of_rows
from rmqalloc.plans import plan_snapshot
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker
from rmqalloc.snapshot.units import units_of
from spark_udfs.map_in_arrow import PlanBatches

ROUTE = Topic(
    "T",
    (TopicBroker("hz@a", 3, 3, machine_room="hz"), TopicBroker("sh@b", 3, 3, machine_room="sh")),
)
CLIENTS = (Client("c1", "hz"), Client("c2", "sh"), Client("c3", "hz"))
RULES = [
    ("AVG", {}),
    ("AVG_BY_CIRCLE", {}),
    ("CONSISTENT_HASH", {"virtual_nodes": 33}),
    ("MACHINE_ROOM", {"machine_rooms": ["hz"]}),
    ("MACHINE_ROOM_NEARBY", {"inner": "AVG_BY_CIRCLE"}),
    ("MACHINE_ROOM_NEARBY-CONSISTENT_HASH", {"virtual_nodes": 7}),
    (
        "CONFIG",
        {"message_queues": {"c1": [["T", "hz@a", 0]], "c3": [["T", "sh@b", 2], ["T", "sh@b", 1]]}},
    ),
]


def cluster(rules):
    groups = [
        Group(f"g{i:02}", ("T",), CLIENTS, strategy=name, strategy_params=params)
        for i, (name, params) in enumerate(rules)
    ]
    return Snapshot((ROUTE,), tuple(groups))


def owners_of_plan(whole):
    """Owners of each group, as positions in its clients."""
    position = {client.client_id: i for i, client in enumerate(CLIENTS)}
    found = {}
    for row in plan_snapshot(whole, []).queues.to_pylist():
        found.setdefault(row["consumer_group"], []).append(position.get(row["owner_after"], -1))
    return [found[name] for name in sorted(found)]


@examples(40)
@given(st.lists(st.sampled_from(RULES), min_size=1, max_size=6))
def test_rows_bring_the_parameters_of_their_strategies(rules):
    whole = cluster(rules)
    batch, spec = (
        units_of(whole),
        PlanSpec("CONSISTENT_HASH", {"virtual_nodes": 5}, output="owners"),
    )
    made = plan_batch(batch, spec)
    assert made.column("err_msg").to_pylist() == [None] * len(rules)
    assert made.column("owners").to_pylist() == owners_of_plan(whole)
    assert next(PlanBatches(spec)([batch])).equals(made)


def test_bulk_reads_them_and_says_which_strategies_there_were(tmp_path, capsys):
    source, target = tmp_path / "units.parquet", tmp_path / "owners"
    whole = cluster([*RULES, ("CONFIG", {"message_queues": {"c2": [["T", "hz@a", 1]]}})])
    pq.write_table(pa.Table.from_batches([units_of(whole)]), source)
    assert main(["bulk", "-f", str(source), "--out", str(target), "-s", "AVG"]) == 0
    assert ds.dataset(target, format="parquet").to_table()["owners"].to_pylist() == owners_of_plan(
        whole
    )
    last = capsys.readouterr().out.splitlines()[-1]
    names = [
        "CONFIG",
        "AVG",
        "AVG_BY_CIRCLE",
        "CONSISTENT_HASH",
        "MACHINE_ROOM",
        "MACHINE_ROOM_NEARBY-AVG_BY_CIRCLE",
    ]
    assert (
        last
        == f"Parquet of {', '.join([*names, 'MACHINE_ROOM_NEARBY-CONSISTENT_HASH'])} owners: {target}"
    )


def test_rows_without_a_strategy_have_that_of_the_call(tmp_path):
    row = units_of(cluster(RULES[:1])).select(["consumer_group", "topic", "brokers", "client_ids"])
    rows = pa.Table.from_batches([row] * 3)
    pq.write_table(rows, tmp_path / "a.parquet")
    assert strategies_of(tmp_path, "CONSISTENT_HASH") == ["CONSISTENT_HASH"]
    named = rows.append_column("strategy", pa.array([None, "AVG", "AVG"]).dictionary_encode())
    pq.write_table(named, tmp_path / "a.parquet")
    pq.write_table(rows.append_column("strategy", pa.nulls(3)), tmp_path / "b.parquet")
    assert strategies_of(tmp_path, "CONSISTENT_HASH") == ["CONSISTENT_HASH", "AVG"]
    assert strategies_of(tmp_path / "a.parquet", "X") == ["AVG", "X"]
    pq.write_table(named.slice(0, 0), tmp_path / "a.parquet")
    assert strategies_of(tmp_path / "a.parquet", "X") == ["X"]


def one_row(**columns):
    made = units_of(cluster(RULES[:1])).to_pylist()[0] | columns
    return pa.RecordBatch.from_pylist([made])


@pytest.mark.parametrize(
    ("name", "params", "said"),
    [
        ("AVG", "[1]", "strategy_params must be a JSON object, got '[1]'"),
        ("AVG", "{", "strategy_params must be a JSON object, got '{'"),
        ("AVG", '{"x": 1}', "strategy AVG: got an unexpected keyword argument 'x'"),
        ("CONSISTENT_HASH", '{"virtual_nodes": "many"}', "virtual_nodes"),
        ("CONFIG", '{"message_queues": [["T", "b", 0]]}', "gives every client the same list"),
    ],
)
def test_wrong_parameters_are_a_bad_row(name, params, said):
    [row] = plan_batch(one_row(strategy=name, strategy_params=params), PlanSpec("AVG")).to_pylist()
    assert row["err_code"] == ErrCode.BAD_STRATEGY
    assert said in row["err_msg"]


def test_parameters_without_a_name_are_those_of_the_default():
    batch = one_row(strategy=None, strategy_params=json.dumps({"machine_rooms": ["sh"]}))
    made = plan_batch(batch, PlanSpec("MACHINE_ROOM", {"machine_rooms": ["hz"]}, output="owners"))
    assert made.column("owners").to_pylist() == [[-1, -1, -1, 0, 1, 2]]


def test_a_default_that_cannot_be_used_makes_every_row_wrong():
    batch = one_row()
    batch = batch.select([name for name in batch.schema.names if name not in OF_TABLES.kinds])
    _, wrong = rules_of_rows(batch, Fleet.from_arrow(batch), Unusable("why not"), OF_TABLES)
    assert wrong == dict.fromkeys(range(batch.num_rows), "why not")


def test_the_column_holds_text():
    batch = (
        one_row().drop_columns(["strategy_params"]).append_column("strategy_params", pa.array([7]))
    )
    with pytest.raises(TypeError, match="column strategy_params must hold strings, got int64"):
        plan_batch(batch, PlanSpec("AVG"))


def test_two_damaged_lists_keep_their_own_reasons():
    whole = cluster([("CONFIG", {"message_queues": {"c1": 5}}), ("MACHINE_ROOM", {}), ("AVG", {})])
    made = plan_batch(units_of(whole), PlanSpec("AVG")).column("err_msg").to_pylist()
    assert "must be a list of queues, got 5" in made[0]
    assert "strategy MACHINE_ROOM needs machine_rooms" in made[1]
    assert made[2] is None
