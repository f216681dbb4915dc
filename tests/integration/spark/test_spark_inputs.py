"""Units and scenarios from the tables that people keep."""

import pyarrow as pa
import pytest
from checkout import ROOT
from page_blocks import blocks_of

import rmqalloc
from rmqalloc.evaluation.batch_planning import PlanSpec, plan_batch
from rmqalloc.evidence import Known, Verb, with_strategies
from rmqalloc.scenarios import ScenarioError, scenarios_of
from rmqalloc.snapshot import Client, Group, Snapshot, Topic, TopicBroker
from rmqalloc.snapshot.files import write_snapshot
from rmqalloc.snapshot.units import batch_of, unit_pairs

pytestmark = pytest.mark.spark

ROUTES = [("T1", "b2", 2), ("T1", "b1", 3), ("T1", "b1", 3), ("T2", "b1", 1), ("unread", "b1", 4)]
CONSUMERS = [("g1", "c2"), ("g1", "c10"), ("g1", "c1"), ("g2", "x"), ("g2", "x"), ("lonely", "y")]
SUBSCRIPTIONS = [
    ("g1", "T1"),
    ("g1", "T2"),
    ("g2", "T1"),
    ("g1", "T1"),
    ("g2", "no route"),
    ("gone", "T1"),
    (None, "T2"),
]


def frames(spark, routes=ROUTES, consumers=CONSUMERS, subscriptions=SUBSCRIPTIONS, rooms=False):
    room = ", machine_room string" if rooms else ""
    return (
        spark.createDataFrame(
            routes, "topic string, broker_name string, read_queue_nums int" + room
        ),
        spark.createDataFrame(consumers, "consumer_group string, client_id string" + room),
        spark.createDataFrame(subscriptions, "consumer_group string, topic string"),
    )


def by_unit(frame):
    return {(row["consumer_group"], row["topic"]): row for row in frame.toArrow().to_pylist()}


def brokers(*pairs):
    return [{"broker_name": name, "read_queue_nums": n} for name, n in pairs]


def test_tables_become_units(spark):
    from spark_udfs.joins import units

    frame = units(*frames(spark))
    assert frame.columns == ["consumer_group", "topic", "brokers", "client_ids"]
    rows = by_unit(frame)
    both = brokers(("b1", 3), ("b2", 2))
    found = {key: (row["brokers"], row["client_ids"]) for key, row in rows.items()}
    assert found == {
        ("g1", "T1"): (both, ["c1", "c10", "c2"]),
        ("g1", "T2"): (brokers(("b1", 1)), ["c1", "c10", "c2"]),
        ("g2", "T1"): (both, ["x", "x"]),
        ("g2", "no route"): ([], ["x", "x"]),
        ("gone", "T1"): (both, []),
        (None, "T2"): (brokers(("b1", 1)), []),
    }
    turned = units(*[table.orderBy(*table.columns[::-1]) for table in frames(spark)])
    assert by_unit(turned) == rows


@pytest.mark.thorough
def test_two_processes_of_one_client_id_are_seen(spark):
    """Java has an id once for each channel: the queues of the second place are nobody's, and the
    plan says so.
    """
    from spark_udfs.joins import units
    from spark_udfs.transforms import plan

    rows = [("g", "a"), ("g", "a"), ("g", "b"), ("once", "a"), ("once", "b")]
    tables = frames(spark, consumers=rows, subscriptions=[("g", "T1"), ("once", "T1")])
    planned = by_unit(units(*tables).transform(plan()))
    assert planned["g", "T1"]["unowned"] == 2
    assert planned["once", "T1"]["unowned"] == 0
    counted = spark.createDataFrame(
        [("g", "a", 2), ("g", "b", None), ("once", "a", 1), ("once", "b", 1)],
        "consumer_group string, client_id string, channels bigint",
    )
    assert by_unit(units(tables[0], counted, tables[2]).drop("unit_err_msg")) == by_unit(
        units(*tables)
    )


@pytest.mark.thorough
def test_a_number_of_channels_that_no_client_has_is_a_bad_row_and_no_list(spark):
    """An array of two thousand million entries ended the JVM of the driver."""
    from spark_udfs.joins import units
    from spark_udfs.transforms import assign, client_load, expand_owners

    numbers = {
        "good": 1,
        "most": 1024,
        "more": 1025,
        "none": 0,
        "negative": -1,
        "huge": 2**31 - 1,
        "wraps": 2**32 + 1,
    }
    tables = frames(spark, subscriptions=[(name, "T1") for name in numbers])
    rows = [(name, "c1", 1) for name in numbers] + [(name, "c2", n) for name, n in numbers.items()]
    counted = spark.createDataFrame(
        rows, "consumer_group string, client_id string, channels bigint"
    )
    frame = units(tables[0], counted, tables[2])
    made = {group: row for (group, _), row in by_unit(frame).items()}
    assert [len(made[name]["client_ids"]) for name in ("good", "most")] == [2, 1025]
    assert {name for name, row in made.items() if row["client_ids"] is None} == {*numbers} - {
        "good",
        "most",
    }
    planned = {
        group: row
        for (group, _), row in by_unit(frame.transform(assign("AVG", carry=False))).items()
    }
    assert {name: row["err_msg"] for name, row in planned.items()} == {
        name: None if 1 <= n <= 1024 else f"channels must be from 1 to 1024, got {n} of client c2"
        for name, n in numbers.items()
    }
    assert {row["err_code"] for row in planned.values()} == {0, 1}
    owned = frame.transform(expand_owners(strategy="AVG", carry=False))
    assert {row["consumer_group"] for row in owned.toArrow().to_pylist()} >= {"good", "most"}
    assert {row["n_units"] for row in frame.transform(client_load()).toArrow().to_pylist()} == {2}


@pytest.mark.thorough
def test_what_matches_nothing_is_told_and_bad_in_the_plan(spark):
    from spark_udfs.joins import units, unmatched
    from spark_udfs.transforms import plan

    tables = frames(spark)
    found = sorted(
        tuple(row.values()) for row in unmatched(*tables).fillna("-").toArrow().to_pylist()
    )
    assert found == [
        ("consumers", "lonely", "-", "the consumer group subscribes to no topic"),
        ("routes", "-", "unread", "no consumer group subscribes to the topic"),
        ("subscriptions", "-", "T2", "the consumer group has no client"),
        ("subscriptions", "g2", "no route", "the topic has no route that can be read"),
        ("subscriptions", "gone", "T1", "the consumer group has no client"),
    ]
    errors = {key: row["err_msg"] for key, row in by_unit(units(*tables).transform(plan())).items()}
    assert errors.pop(("g2", "no route")) == "mqAll is null or mqAll empty"
    assert errors.pop(("gone", "T1")) == "cidAll is null or cidAll empty"
    assert errors.pop((None, "T2")) == "consumer_group is null; it must be a string"
    assert set(errors.values()) == {None}


def test_machine_rooms_stand_beside_what_they_are_of(spark):
    from spark_udfs.joins import units
    from spark_udfs.transforms import plan

    routes = [("T", "b2", 2, "sh"), ("T", "b1", 2, "hz")]
    consumers = [("g", "c2", "hz"), ("g", "c1", "sh"), ("g", "c3", None)]
    frame = units(*frames(spark, routes, consumers, [("g", "T"), ("no", "T")], rooms=True))
    row = by_unit(frame)["g", "T"]
    assert row["broker_rooms"] == ["hz", "sh"]
    assert row["client_ids"] == ["c1", "c2", "c3"]
    assert row["client_rooms"] == ["sh", "hz", None]
    assert by_unit(frame)["no", "T"]["client_rooms"] == []
    lost = [{"name": "lost", "changes": [{"lose_machine_room": {"machine_room": "hz"}}]}]
    spec = PlanSpec("AVG", scenarios=lost)
    wanted = plan_batch(
        pa.RecordBatch.from_pylist([row], schema=frame.toArrow().schema), spec
    ).to_pylist()
    got = [
        one
        for one in frame.transform(plan(lost)).toArrow().to_pylist()
        if one["consumer_group"] == "g"
    ]
    assert got == wanted
    assert [one["n_queues"] for one in wanted] == [4, 2]


@pytest.mark.thorough
def test_brokers_that_may_not_be_read_have_no_queues(spark):
    from spark_udfs.joins import units, unmatched

    routes = [
        ("T", "rw", 1, 6),
        ("T", "r", 1, 4),
        ("T", "w", 1, 2),
        ("T", "inherit", 1, 7),
        ("T", "unknown", 1, None),
    ]
    routes += [("W", "w", 1, 2)]
    schema = "topic string, broker_name string, read_queue_nums bigint, perm int"
    tables = (
        spark.createDataFrame(routes, schema),
        *frames(spark, subscriptions=[("g1", "T"), ("g1", "W")])[1:],
    )
    rows = by_unit(units(*tables))
    assert [one["broker_name"] for one in rows["g1", "T"]["brokers"]] == [
        "inherit",
        "r",
        "rw",
        "unknown",
    ]
    assert rows["g1", "W"]["brokers"] == []
    assert ("subscriptions", "W") in {
        (row["table"], row["topic"]) for row in unmatched(*tables).collect()
    }


def test_wrong_tables_are_refused_at_once(spark):
    from spark_udfs.joins import units, unmatched

    routes, consumers, subscriptions = frames(spark)
    for make in (units, unmatched):
        with pytest.raises(
            TypeError, match=r"consumers has no column client_id \(strings\); it has consumer_group"
        ):
            make(routes, consumers.drop("client_id"), subscriptions)
        with pytest.raises(
            TypeError, match="column read_queue_nums of routes must hold integers, got string"
        ):
            make(routes.withColumn("read_queue_nums", routes.topic), consumers, subscriptions)
        with pytest.raises(TypeError, match="column perm of routes must hold integers, got string"):
            make(routes.withColumn("perm", routes.topic), consumers, subscriptions)


def test_scenarios_are_rows(spark):
    from spark_udfs.joins import scenarios_of_frame

    rows = [
        ("b", '[{"scale_clients": {"to": 8}}]', ["g*"]),
        ("a", '[{"remove_clients": {"count": 1, "which": "first"}}]', None),
    ]
    frame = spark.createDataFrame(rows, "name string, changes string, groups array<string>")
    wanted = [
        {"name": "a", "changes": [{"remove_clients": {"count": 1, "which": "first"}}]},
        {"name": "b", "changes": [{"scale_clients": {"to": 8}}], "groups": ["g*"]},
    ]
    assert scenarios_of_frame(frame) == scenarios_of(wanted)
    structs = (
        "array<struct<scale_clients:struct<to:int>,set_virtual_nodes:struct<virtual_nodes:int>>>"
    )
    nested = spark.createDataFrame(
        [("n", [((8,), None), (None, (5,))])], f"name string, changes {structs}"
    )
    [one] = scenarios_of_frame(nested)
    assert one.to_data()["changes"] == [
        {"scale_clients": {"to": 8}},
        {"set_virtual_nodes": {"virtual_nodes": 5}},
    ]


def test_wrong_scenarios_name_the_table(spark):
    from spark_udfs.joins import scenarios_of_frame

    with pytest.raises(ScenarioError, match="table of scenarios: scenario 'x'"):
        scenarios_of_frame(spark.createDataFrame([("x", "[]")], "name string, changes string"))
    with pytest.raises(ScenarioError, match="holds no scenario"):
        scenarios_of_frame(spark.createDataFrame([], "name string, changes string"))


# --- A snapshot ---

SNAPSHOTS = [rmqalloc.read(path) for path in sorted((ROOT / "examples" / "snapshots").iterdir())]
IN_GROUP = {"subscriptions": ("T",), "clients": (Client("c1"), Client("c2"))}
SNAPSHOTS += [
    Snapshot(
        (Topic("T", (TopicBroker("b", 4),)),),
        (
            Group("planned", **IN_GROUP, strategy="AVG"),
            Group("broadcasting", **IN_GROUP, strategy="AVG", message_model="BROADCASTING"),
            Group("pop", **IN_GROUP, strategy="AVG", server_assignment="POP"),
            Group("behind a proxy", **IN_GROUP, strategy="AVG", is_shared=True),
            Group("unknown", **IN_GROUP),
            Group("in doubt", **IN_GROUP, strategy="AVG", strategy_doubt="explains 3 of 8 queues"),
        ),
    )
]
[OF_SNAPSHOT] = [
    block.text
    for block in blocks_of((ROOT / "docs" / "spark.md").read_text())
    if block.language == "python" and "orders.parquet" in block.text
]


@pytest.mark.parametrize("snapshot", SNAPSHOTS)
def test_the_page_makes_units_of_a_snapshot_as_rmqalloc_does(spark, tmp_path, snapshot):
    known, written = with_strategies(snapshot), tmp_path / "written.parquet"
    write_snapshot(known, written)
    names = {"spark": spark}
    exec(OF_SNAPSHOT.replace("orders.parquet", str(written)), names)
    deciding = Known.already(known).deciding(Verb.RECOMMEND)
    read = unit_pairs(known, is_answered=deciding.is_answered)
    wanted = plan_batch(batch_of(read.pairs), PlanSpec(output="owners"))
    answers = [
        {
            (row["consumer_group"], row["topic"]): (row["strategy"], row["owners"])
            for row in rows.to_pylist()
        }
        for rows in (names["assigned"].toArrow(), wanted)
    ]
    assert answers[0] == answers[1]
    assert answers[1]


def test_tables_that_are_streams_are_refused_at_once(spark):
    from spark_udfs.joins import units

    rates = spark.readStream.format("rate").load()
    with pytest.raises(TypeError, match=r"routes is a stream.*foreachBatch"):
        units(rates, rates, rates)
