"""Strategies that RocketMQ does not ship, in all of Spark that takes a strategy: the engine's
answers, group by group.
"""

import json

import pyarrow as pa
import pytest
import random_units as units
from strategy_declarations import named_alone

from rmqalloc import MessageQueue, sort_client_ids, sort_queues, strategy
from rmqalloc.evaluation.batch_planning import PlanSpec, plan_batch
from rmqalloc.snapshot.synthetic import FLEET_SCHEMA
from rmqalloc.strategies.by_name import reads_rooms
from rmqalloc.strategies.spelled import spelled
from spark_udfs import _arrow_owners as arrow_owners

on_spark = pytest.mark.spark

IDS = ["c1@gray", "c2", "c3", "c4"]
QUEUES = [MessageQueue("orders", "b", i) for i in range(7)]
LISTS = pa.array([[{"broker_name": "b", "queue_id": i} for i in range(7)]]), pa.array([IDS])


# --- On Arrow arrays as Spark's workers get them ---


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("ROTATED", {}),
        ("ROTATED/1-CONSISTENT_HASH", {"virtual_nodes": 3}),
        ("CONSISTENT_HASH_BOUNDED", {"virtual_nodes": 2}),
        ("CANARY-ROTATED-AVG", {"share": "0.5"}),
        ("WEIGHTED", {}),
        *((name, {}) for name in named_alone() if not reads_rooms(name)),
    ],
)
def test_a_name_is_enough(name, params):
    expected = strategy(name, **params).assign(QUEUES, IDS).owners.tolist()
    for given in (name, pa.array([name])):
        found = arrow_owners.allocate_arrays(given, *LISTS, topic=pa.array(["orders"]), **params)
        assert found.to_pylist() == [{"owners": expected, "error": None}]


@pytest.mark.parametrize(
    ("name", "params", "error"),
    [
        ("ROTATED-AVG", {}, "strategy ROTATED-AVG reads the topic of a queue: give topic"),
        pytest.param(
            "ROTATED/2",
            {},
            "unknown version of strategy ROTATED: ROTATED/2; known is ROTATED/1",
            id="ROTATED/2",
        ),
        pytest.param(
            "CANARY",
            {},
            "strategy CANARY: missing a required argument: 'share'; it takes share, pattern, inner",
            id="CANARY",
        ),
        pytest.param(
            "CANARY(share=0.1)",
            {"share": 0.2},
            "'CANARY(share=0.1)': share is also given as a parameter; give it once",
            id="CANARY(share=0.1) and share",
        ),
        pytest.param(
            "STABLE(slak=1)",
            {},
            "'STABLE(slak=1)': STABLE takes slack, got slak; did you mean slack?",
            id="STABLE(slak=1)",
        ),
        pytest.param(
            "CANARY(share=0.1",
            {},
            "'CANARY(share=0.1' does not end with the parenthesis that it opens",
            id="CANARY(share=0.1",
        ),
    ],
)
def test_what_is_missing_or_wrong_is_said(name, params, error):
    for given in (name, pa.array([name])):
        [row] = arrow_owners.allocate_arrays(given, *LISTS, **params).to_pylist()
        assert row["owners"] is None and row["error"].startswith(error)


# --- On Spark ---

SPELLED = [
    "ORDINAL/1",
    "ORDINAL(tables=true)",
    'ORDINAL(pattern="@c#")',
    "ORDINAL/2",
    "STABLE/1",
    "STABLE(slack=1)",
    "ROTATED/1",
    "ROTATED-CONSISTENT_HASH(virtual_nodes=3)",
    "CONSISTENT_HASH_BOUNDED/1(load_factor=1.1, virtual_nodes=4)",
    "WEIGHTED/1",
    "CANARY/1(share=0.3)",
    "CANARY-ROTATED-AVG_BY_CIRCLE(share=0.5,pattern=*1)",
    "MACHINE_ROOM_NEARBY_POOLED/1",
    "MACHINE_ROOM_NEARBY_POOLED-STABLE(slack=1)",
    "ROTATED-MACHINE_ROOM_NEARBY_POOLED-AVG",
]
SPELLED += [name for name in named_alone() if name not in SPELLED]
ODD = [
    units.row(
        "stateful", "orders", [("a", 4), ("b", 3)], [f"10.0.0.{9 - i}@web-{i}" for i in (0, 1, 3)]
    ),
    units.row("cs", "t", [("b", 5)], ["x@c2", "y@c0", "y@c1", "z"]),
    units.row("canary", "orders", [("a", 4), ("b", 4)], ["c1@gray", "c2", "c3"]),
    units.row("all canary", "orders", [("a", 4)], ["c1@gray", "c2@gray"]),
    units.row("retry", "%RETRY%g", [("a", 1), ("b", 1)], ["c1@gray", "c2", "c21"]),
    units.row("empty id", "t", [("a", 5)], ["", "c1", "c2"]),
    units.row(
        "hostile",
        "t\n'\"\u202e",
        [("b\t;--", 3), ("", 2)],
        ["a'b\"", "\x00", "*@gray", "(share=1)", "x" * 300],
    ),
    units.row("many", "t", [("a", 130)], [f"c-{i}" for i in range(7)]),
]


@pytest.fixture(scope="module")
def fleet():
    """Good, odd and bad units in a table with brokers, queues and machine rooms; and whether each
    is good.
    """
    batch, words = units.mixed()
    mixed = [
        (row, word is None)
        for row, word in zip(batch.to_pylist(), words, strict=True)
        if row["consumer_group"] is not None  # which the column functions do not read
    ]
    rows = [*ODD, *(row for row, _ in mixed), *units.synthetic(30, seed=5).to_pylist()]
    is_good = [True] * len(ODD) + [good for _, good in mixed] + [True] * 30
    queues = [
        [{"broker_name": q.broker_name, "queue_id": q.queue_id} for q in units.queues_of(row)]
        if good
        else None
        for row, good in zip(rows, is_good, strict=True)
    ]
    texts = pa.list_(pa.string())
    table = pa.Table.from_pylist(rows, schema=FLEET_SCHEMA)
    table = table.append_column(
        "queues",
        pa.array(
            queues, pa.list_(pa.struct([("broker_name", pa.string()), ("queue_id", pa.int32())]))
        ),
    )
    of_brokers = [[room(b and b["broker_name"]) for b in row["brokers"] or ()] for row in rows]
    table = table.append_column("broker_rooms", pa.array(of_brokers, texts))
    of_queues = [[room(queue["broker_name"]) for queue in one or ()] for one in queues]
    table = table.append_column("queue_rooms", pa.array(of_queues, texts))
    of_clients = [[room(one) for one in row["client_ids"] or ()] for row in rows]
    return table.append_column("client_rooms", pa.array(of_clients, texts)), is_good


def room(name):
    """One of three machine rooms; there are clients in two of them at most."""
    return f"r{sum(map(ord, name or '')) % 3}"


def by_engine(text, row):
    """Owners of one good unit, or the reason for which the strategy refuses it."""
    name, params = spelled(text)
    made = strategy(name, **params)
    if made.reads_rooms:
        made = made.with_rooms(
            {b["broker_name"]: room(b["broker_name"]) for b in row["brokers"]},
            {c: room(c) for c in row["client_ids"]},
        )
    try:
        return made.assign(
            sort_queues(units.queues_of(row)), sort_client_ids(row["client_ids"])
        ).owners.tolist()
    except ValueError as error:
        return str(error)


@pytest.fixture(scope="module")
def answers(fleet):
    """What the engine says by strategy, None for bad units."""
    table, is_good = fleet
    rows = table.to_pylist()
    found = {
        text: [
            by_engine(text, row) if good else None for row, good in zip(rows, is_good, strict=True)
        ]
        for text in SPELLED
    }
    lists = {text: [one for one in said if isinstance(one, list)] for text, said in found.items()}
    assert all(len(some) > 30 for some in lists.values())
    assert len({json.dumps(said) for said in found.values()}) == len(SPELLED), (
        "no two strategies say the same"
    )
    assert any("have a table of" in str(one) for one in found["ORDINAL(tables=true)"])
    return found


def rooms_of(text, of="queue"):
    """The columns of rooms beside queues, or beside brokers, for those that read them."""
    return (
        {"broker_rooms": f"{of}_rooms", "client_rooms": "client_rooms"}
        if reads_rooms(spelled(text)[0])
        else {}
    )


def assert_said(got, said):
    """Owners where the engine has owners, its reason where it refuses a unit, any reason for bad
    units.
    """
    for row, expected in zip(got, said, strict=True):
        if isinstance(expected, list):
            assert row == {"owners": expected, "error": None}
        else:
            assert row["owners"] is None and (expected or "") in row["error"]


@pytest.mark.thorough
@on_spark
def test_column_functions(spark, fleet, answers):
    """With parameters in the text, of queues; and in turn beside the name, of brokers."""
    import spark_udfs.functions as rf

    columns = []
    for i, text in enumerate(SPELLED):
        name, beside = (text, {}) if i % 2 else spelled(text)
        of = "queue" if i % 2 else "broker"
        given = {"topic": "topic", **rooms_of(text, of), **beside}
        columns.append(rf.allocate_or_error(f"{of}s", "client_ids", name, **given).alias(text))
    got = spark.createDataFrame(fleet[0]).select(*columns).toArrow()
    for text in SPELLED:
        assert_said(got[text].to_pylist(), answers[text])


@on_spark
def test_objects_and_columns_as_parameters(spark):
    """Mappings travel to the workers; numbers, texts and switches may be columns."""
    from pyspark.sql import functions as F

    import spark_udfs.functions as rf

    row = units.row("g", "orders", [("a", 6)], ["c1@b", "c2", "c-3"])
    frame = spark.createDataFrame(pa.Table.from_pylist([row], schema=FLEET_SCHEMA))
    weighted = {"capacities": {"c2": 3}, "weights": {("a", 0): 5, ("orders", "a", 3): 2}}
    sticky = {"owners": {("orders", "a", i): "c2" for i in range(6)}}
    of_columns = {
        "CANARY": {"share": 0.5, "pattern": "*@b"},
        "ORDINAL": {"pattern": "-#", "tables": True},
        "STABLE": {"slack": 1},
        "CONSISTENT_HASH_BOUNDED": {"load_factor": 1.5, "virtual_nodes": 3},
    }
    cases = {
        "WEIGHTED": (weighted, weighted),
        "STICKY": (sticky, sticky),
        "ROTATED": ({"inner": strategy("STABLE")},) * 2,
    }
    for name, params in of_columns.items():
        cases[name] = (params, {key: F.lit(value) for key, value in params.items()})
    made = [
        rf.allocate("brokers", "client_ids", name, topic="topic", **given).alias(name)
        for name, (_, given) in cases.items()
    ]
    [got] = frame.select(*made).toArrow().to_pylist()
    queues, ids = sort_queues(units.queues_of(row)), sort_client_ids(row["client_ids"])
    assert got == {
        name: strategy(name, **plain).assign(queues, ids).owners.tolist()
        for name, (plain, _) in cases.items()
    }


@on_spark
def test_sql_and_strategies_in_a_column(spark, fleet, answers):
    """The text with its parameters is all that SQL needs; no strategy needs the columns of rooms
    but those that read them.
    """
    from spark_udfs import register_all

    register_all(spark)
    texts = [text for text in SPELLED if not rooms_of(text)]
    chosen = [texts[i % len(texts)] for i in range(fleet[0].num_rows)]
    table = fleet[0].append_column("chosen", pa.array(chosen))
    call = "rmq_allocate_or_error({}, client_ids, {}, topic)"
    got = spark.sql(
        f"SELECT {call.format('brokers', 'chosen')} AS c, {call.format('queues', repr(SPELLED[1]))} AS t FROM {{own}}",
        own=spark.createDataFrame(table),
    ).toArrow()
    assert_said(got["t"].to_pylist(), answers[SPELLED[1]])
    assert_said(got["c"].to_pylist(), [answers[text][row] for row, text in enumerate(chosen)])
    with pytest.raises(Exception, match="STABLE takes slack, got slak; did you mean slack"):
        spark.sql("SELECT rmq_allocate(4, 3, 'STABLE(slak=1)')").collect()


def checked(rows, fleet, said):
    """Rows of `assign` in the order of the units."""
    assert [row["consumer_group"] for row in rows] == fleet["consumer_group"].to_pylist()
    assert_said([{"owners": row["owners"], "error": row["err_msg"]} for row in rows], said)


@pytest.mark.thorough
@on_spark
def test_transforms(spark, fleet, answers):
    """Each row names its strategy, in the text or beside the name; or one text is for all."""
    from spark_udfs.transforms import assign, client_load

    table = fleet[0].drop_columns(["queues", "queue_rooms"])
    frame = spark.createDataFrame(table)
    rows = (
        frame.transform(assign("CANARY-ROTATED-AVG_BY_CIRCLE(share=0.5,pattern=*1)"))
        .toArrow()
        .to_pylist()
    )
    checked(rows, table, answers["CANARY-ROTATED-AVG_BY_CIRCLE(share=0.5,pattern=*1)"])
    loads = frame.transform(client_load(strategy="STABLE", slack=1)).toArrow()
    assert sum(loads["n_queues"].to_pylist()) == sum(
        sum(owner >= 0 for owner in one)
        for one in answers["STABLE(slack=1)"]
        if isinstance(one, list)
    )
    chosen = [SPELLED[i % len(SPELLED)] for i in range(table.num_rows)]
    said = [answers[text][row] for row, text in enumerate(chosen)]
    in_text = table.append_column("strategy", pa.array(chosen))
    names, params = zip(*map(spelled, chosen), strict=True)
    beside = table.append_column("strategy", pa.array(names)).append_column(
        "strategy_params", pa.array([json.dumps(one) if one else None for one in params])
    )
    for given in (in_text, beside):
        checked(
            spark.createDataFrame(given).transform(assign("AVG")).toArrow().to_pylist(), table, said
        )


@pytest.mark.thorough
@on_spark
def test_scenarios_and_rooms_from_tables(spark):
    """Rooms come out of the tables of routes and consumers; a scenario names a strategy as a text
    does.
    """
    from spark_udfs.joins import units as joined
    from spark_udfs.transforms import plan

    routes = spark.createDataFrame(
        [("t", "a", 3, "r0"), ("t", "b", 3, "r1"), ("t", "c", 4, "r2")],
        "topic string, broker_name string, read_queue_nums int, machine_room string",
    )
    consumers = spark.createDataFrame(
        [("g", f"c{i}@gray" if i < 2 else f"c-{i}", "r2") for i in range(4)],
        "consumer_group string, client_id string, machine_room string",
    )
    subscriptions = spark.createDataFrame([("g", "t")], "consumer_group string, topic string")
    tried = [
        {
            "name": text,
            "changes": [
                {"set_strategy": dict(zip(("strategy", "params"), spelled(text), strict=True))}
            ],
        }
        for text in SPELLED
    ]
    found = joined(routes, consumers, subscriptions).transform(
        plan(tried, "MACHINE_ROOM_NEARBY_POOLED-AVG", output="owners")
    )
    rows = found.toArrow().to_pylist()
    of_rooms = (
        {"a": "r0", "b": "r1", "c": "r2"},
        dict.fromkeys(["c0@gray", "c1@gray", "c-2", "c-3"], "r2"),
    )
    queues = sort_queues(
        [MessageQueue("t", name, i) for name, n in (("a", 3), ("b", 3), ("c", 4)) for i in range(n)]
    )
    assert [row["scenario"] for row in rows] == ["current", *SPELLED]
    for row, text in zip(rows, ("MACHINE_ROOM_NEARBY_POOLED-AVG", *SPELLED), strict=True):
        name, params = spelled(text)
        made = strategy(name, **params).with_rooms(*of_rooms)
        assert (row["owners"], row["err_msg"]) == (
            made.assign(queues, sort_client_ids(of_rooms[1])).owners.tolist(),
            None,
        )


@on_spark
@pytest.mark.usefixtures("spark")
def test_the_job(fleet, tmp_path, capsys):
    """What the job writes is what one process says of the same units."""
    import pyarrow.parquet as pq

    from rmqalloc.cli import main

    columns = ["consumer_group", "topic", "strategy", "owners"]
    table = fleet[0].select(["consumer_group", "topic", "brokers", "client_ids"])
    (tmp_path / "fleet").mkdir()
    pq.write_table(table, tmp_path / "fleet" / "part-0.parquet")
    text = "CANARY-CONSISTENT_HASH(share=0.3,virtual_nodes=3)"
    paths = ["-f", str(tmp_path / "fleet"), "--out", str(tmp_path / "plans")]
    assert main(["bulk", "--spark", *paths, "-s", text, "--master", "local[2]"]) == 0
    assert (
        "Parquet of owners, CANARY-CONSISTENT_HASH unless a row names another"
        in capsys.readouterr().out
    )
    found = pq.read_table(tmp_path / "plans").select(columns)
    wanted = plan_batch(
        table.combine_chunks().to_batches()[0], PlanSpec(text, output="owners")
    ).select(columns)
    assert set(wanted["strategy"].to_pylist()) == {"CANARY/1-CONSISTENT_HASH", None}
    assert sorted(map(str, found.to_pylist())) == sorted(map(str, wanted.to_pylist()))
