"""Units and scenarios from the tables that people keep."""

import pyarrow as pa
import pytest
from checkout import ROOT
from page_blocks import blocks_of

import rmqalloc
from rmqalloc.evaluation.batch_planning import PlanSpec, plan_batch
from rmqalloc.evidence import Known, Verb, with_strategies
from rmqalloc.scenarios import scenarios_of
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
def test_what_matches_nothing_is_bad_in_the_plan(spark):
    from spark_udfs.joins import units
    from spark_udfs.transforms import plan

    tables = frames(spark)
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
    from spark_udfs.joins import units

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


def test_wrong_tables_are_refused_at_once(spark):
    from spark_udfs.joins import units

    routes, consumers, subscriptions = frames(spark)
    with pytest.raises(
        TypeError, match=r"consumers has no column client_id \(strings\); it has consumer_group"
    ):
        units(routes, consumers.drop("client_id"), subscriptions)
    with pytest.raises(
        TypeError, match="column read_queue_nums of routes must hold integers, got string"
    ):
        units(routes.withColumn("read_queue_nums", routes.topic), consumers, subscriptions)
    with pytest.raises(TypeError, match="column perm of routes must hold integers, got string"):
        units(routes.withColumn("perm", routes.topic), consumers, subscriptions)


# --- Tables of one row for a queue or a client, lists as text, scenarios as rows: the page's programs ---


def run_of_page(spark, word, **tables):
    """Run the program of the page in which a word is, with other tables; returns its names."""
    [text] = [
        block.text
        for block in blocks_of((ROOT / "docs" / "data" / "spark.md").read_text())
        if block.language == "python" and word in block.text
    ]
    names = {"spark": spark}
    parts = text.split(
        "\n\n"
    )  # what the page makes its tables of comes before what it makes of them
    for number, part in enumerate(parts):
        if number == len(parts) - 1:
            names |= tables
        exec(part, names)
    return names


def planned(frame):
    from spark_udfs.transforms import assign

    rows = frame.transform(assign("AVG")).collect()
    return {row["consumer_group"]: (row["err_code"], row["owners"]) for row in rows}


def test_rows_of_queues_and_of_clients_become_units(spark):
    assert planned(run_of_page(spark, "collect_list")["units"]) == {"billing": (0, [0, 0, 1, 1])}
    queues = [("T", "b", i) for i in (1, 0, 2, 3)]
    queues += [("twice", "b", 0), ("twice", "b", 0), ("null", "b", None)]
    clients = [("good", "T", "c2"), ("good", "T", "c1")]
    clients += [("same id", "T", "c1"), ("same id", "T", "c1"), ("same id", "T", "c2")]
    clients += [(topic, topic, "c1") for topic in ("twice", "null", "no route")]
    clients += [("no id", "T", "c1"), ("no id", "T", None)]
    units = run_of_page(
        spark,
        "collect_list",
        queues=spark.createDataFrame(queues, "topic string, broker_name string, queue_id int"),
        clients=spark.createDataFrame(
            clients, "consumer_group string, topic string, client_id string"
        ),
    )["units"]
    rows = planned(units)
    assert rows.pop("good") == (0, [0, 0, 1, 1])
    assert rows.pop("same id") == (0, [0, 0, -1, 2])
    assert {group: code for group, (code, _) in rows.items()} == {
        "twice": 3,
        "null": 1,
        "no route": 1,
        "no id": 1,
    }


def test_lists_as_text_become_units(spark):
    assert planned(run_of_page(spark, "split_part")["units"])["billing"] == (0, [0] * 4 + [1] * 4)
    texts = [
        ("good", "c1 ,  c2,", " a:1, b : 3 "),
        ("same id", "c1,c1,c2", "a:4"),
        ("no client", "", "a:4"),
        ("blank", " , ", "a:4"),
        ("null", None, "a:4"),
        ("no number", "c1", "a"),
        ("wrong number", "c1", "a:x"),
        ("broker twice", "c1", "a:1,a:2"),
        ("no broker", "c1", ""),
    ]
    table = spark.createDataFrame(texts, "consumer_group string, client_ids string, brokers string")
    rows = planned(
        run_of_page(spark, "split_part", texts=table.selectExpr("*", "'T' AS topic"))["units"]
    )
    assert rows.pop("good") == (0, [0, 0, 1, 1])
    assert rows.pop("same id") == (0, [0, 0, -1, 2])
    assert {group: code for group, (code, _) in rows.items()} == {
        "no client": 2,
        "blank": 2,
        "null": 1,
        "no number": 1,
        "wrong number": 1,
        "broker twice": 3,
        "no broker": 2,
    }


def test_scenarios_are_rows(spark):
    found = run_of_page(spark, "import scenarios_of")["scenarios"]
    assert found == scenarios_of([{"name": "8 pods", "changes": [{"scale_clients": {"to": 8}}]}])


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
    for block in blocks_of((ROOT / "docs" / "data" / "spark.md").read_text())
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
