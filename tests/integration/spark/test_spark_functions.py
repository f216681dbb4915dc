"""The column functions on Spark's columns and in SQL: they say what their Arrow bodies say
(``test_spark_columns.py``).
"""

import re

import pyarrow as pa
import pytest
import random_units as units

from rmqalloc import strategy
from rmqalloc.snapshot.synthetic import FLEET_SCHEMA
from spark_udfs import (
    _arrow_figures as arrow_figures,
)
from spark_udfs import (
    _arrow_owners as arrow_owners,
)

pytestmark = pytest.mark.spark

CALLS = {
    "AVG": {},
    "AVG_BY_CIRCLE": {},
    "CONSISTENT_HASH": {"topic": "topic", "virtual_nodes": 7},
    "MACHINE_ROOM": {"machine_rooms": {"hz"}},
}


@pytest.fixture(scope="module")
def rf(spark):
    import spark_udfs.functions

    return spark_udfs.functions


@pytest.fixture(scope="module")
def fleet():
    """Synthetic units, and good and bad ones of every kind, with single queues beside the brokers
    of the good ones.
    """
    batch, words = units.mixed()
    table = pa.concat_tables([units.synthetic(150, seed=4), pa.table(batch)]).combine_chunks()
    kind = pa.list_(pa.struct([("broker_name", pa.string()), ("queue_id", pa.int32())]))
    queues = [
        None if said else [queue[1:] for queue in units.queues_of(unit)]
        for unit, said in zip(table.to_pylist(), [None] * 150 + words, strict=True)
    ]
    return table.append_column("queues", pa.array(queues, kind))


def arrays_of(table):
    """Columns as arrays, by name."""
    return {name: table[name].combine_chunks() for name in table.column_names}


def of_column(frame, column):
    """Values of a column, row by row."""
    return frame.select(column.alias("answer")).toArrow()["answer"].to_pylist()


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("name", CALLS)
def test_a_column_says_what_its_body_says(spark, rf, fleet, name):
    given, frame, read = CALLS[name], spark.createDataFrame(fleet), arrays_of(fleet)
    topic = {"topic": read["topic"]} if "topic" in given else {}
    for queues in ("queues", "brokers"):
        expected = arrow_owners.allocate_arrays(
            name, read[queues], read["client_ids"], **(given | topic)
        ).to_pylist()
        assert {row["owners"] is None for row in expected} == {True, False}
        assert (
            of_column(frame, rf.allocate_or_error(queues, "client_ids", name, **given)) == expected
        )
        owners = [row["owners"] for row in expected]
        assert of_column(frame, rf.try_allocate(queues, "client_ids", name, **given)) == owners


def test_strategies_and_parameters_may_be_columns(spark, rf, fleet):
    from pyspark.sql import functions as F

    names = [
        ("AVG", "CONSISTENT_HASH", "MACHINE_ROOM", "none")[i % 4] for i in range(fleet.num_rows)
    ]
    table = fleet.append_column("strategy", pa.array(names)).append_column(
        "v", pa.array(range(fleet.num_rows))
    )
    given = {"topic": "topic", "virtual_nodes": F.col("v"), "machine_rooms": F.array(F.lit("hz"))}
    got = of_column(
        spark.createDataFrame(table),
        rf.try_allocate("queues", "client_ids", F.col("strategy"), **given),
    )
    read = {name: table[name].combine_chunks() for name in table.column_names}
    rooms = pa.array([["hz"]] * table.num_rows)
    assert (
        got
        == arrow_owners.allocate_arrays(
            read["strategy"], read["queues"], read["client_ids"], read["topic"], read["v"], rooms
        )
        .field("owners")
        .to_pylist()
    )


def test_rooms_and_functions_travel_along(spark, rf):
    from pyspark.sql import functions as F

    frame = spark.createDataFrame(pa.Table.from_pylist(units.GOOD, schema=FLEET_SCHEMA))
    hashed = {"hash_function": lambda key: len(key) % 5}
    got = of_column(
        frame, rf.allocate("brokers", "client_ids", "CONSISTENT_HASH", topic="topic", **hashed)
    )
    made = strategy("CONSISTENT_HASH", **hashed)
    assert got == [units.expected(unit, made)["owners"] for unit in units.GOOD]
    queues = F.expr(
        "array(named_struct('broker_name', 'a', 'queue_id', 0), named_struct('broker_name', 'b', 'queue_id', 0))"
    )
    rooms = {"broker_rooms": F.expr("array('r', 's')"), "client_rooms": F.expr("array('s', 'r')")}
    near = rf.allocate(
        queues,
        F.expr("array('x', 'y')"),
        "MACHINE_ROOM_NEARBY",
        topic=F.lit("T"),
        inner=strategy("AVG"),
        **rooms,
    )
    assert of_column(spark.range(1), near) == [[1, 0]]


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"strategy": "best"}, ValueError, "unknown strategy 'best'"),
        ({"strategy": "CONSISTENT_HASH"}, TypeError, "reads the topic of a queue: give topic"),
        (
            {"strategy": "CONSISTENT_HASH", "topic": "t", "virtual_nodes": -1},
            ValueError,
            "illegal virtualNodeCnt",
        ),
        ({"virtual_nodes": 3}, TypeError, "unexpected keyword argument 'virtual_nodes'"),
        ({"virtual_node": 3}, TypeError, "unexpected keyword argument 'virtual_node'"),
        ({"strategy": "POP", "inner": strategy("AVG")}, TypeError, "POP"),
        ({"strategy": "MACHINE_ROOM", "machine_rooms": "hz"}, TypeError, "got the string 'hz'"),
    ],
)
def test_what_no_row_can_be_allocated_with_is_refused_at_once(rf, options, error, said):
    for function in (rf.allocate, rf.try_allocate, rf.allocate_or_error, rf.owners, rf.try_owners):
        with pytest.raises(error, match=said):
            function("queues", "client_ids", **options)


def test_unknown_parameters_are_refused_whatever_the_strategy(spark, rf):
    from pyspark.sql import functions as F

    with pytest.raises(TypeError, match="no strategy takes virtual_node; strategies take "):
        rf.allocate("queues", "client_ids", F.col("strategy"), virtual_node=3)
    with pytest.raises(TypeError, match="unexpected keyword argument 'virtual_nodes'"):
        rf.allocate("queues", "client_ids", "AVG", virtual_nodes=F.col("v"))


def test_figures_of_owners(spark, rf, fleet):
    from pyspark.sql import functions as F

    frame = spark.createDataFrame(fleet).withColumn(
        "rest", F.expr("filter(client_ids, id -> id <> get(client_ids, 0))")
    )
    frame = frame.withColumns(
        {
            "before": rf.try_allocate("queues", "client_ids"),
            "after": rf.try_allocate("queues", "rest"),
        }
    )
    sides = ("before", "client_ids", "after", "rest")
    answers = {
        "metrics": rf.assignment_metrics("before", F.size("client_ids")),
        "moved": rf.moved(*sides),
        "least": rf.least_moves(*sides),
    }
    got = frame.select(*sides, *[column.alias(name) for name, column in answers.items()]).toArrow()
    assert got.num_rows == fleet.num_rows
    read = arrays_of(got)
    n_clients = pa.compute.list_value_length(read["client_ids"])
    assert (
        got["metrics"].to_pylist()
        == arrow_figures.assignment_metrics(read["before"], n_clients).to_pylist()
    )
    for name, body in (("moved", arrow_figures.moved), ("least", arrow_figures.least_moves)):
        expected = body(*(read[side] for side in sides))
        assert got[name].to_pylist() == expected.to_pylist()
        assert expected.null_count and pa.compute.sum(expected).as_py()


# --- What Spark shows, and how often it calls ---


@pytest.fixture
def explained(capsys):
    """A function from a frame to its plan's text."""

    def of(frame):
        frame.explain()
        return capsys.readouterr().out

    return of


NAMED = {
    "allocate": lambda rf: rf.allocate("brokers", "client_ids", topic="topic"),
    "try_allocate": lambda rf: rf.try_allocate("brokers", "client_ids"),
    "allocate_or_error": lambda rf: rf.allocate_or_error("brokers", "client_ids"),
    "owners": lambda rf: rf.owners("brokers", "client_ids"),
    "try_owners": lambda rf: rf.try_owners("brokers", "client_ids"),
    "assignment_metrics": lambda rf: rf.assignment_metrics("owners", 3),
    "moved": lambda rf: rf.moved("owners", 3, "owners", "client_ids"),
    "least_moves": lambda rf: rf.least_moves("owners", 3, "owners", 3),
    "plan": lambda rf: rf.plan("unit"),
}
ARGUMENTS = {
    "allocate": "brokers, client_ids, topic",
    "assignment_metrics": "owners, 3",
    "moved": "owners, 3, owners, client_ids",
    "least_moves": "owners, 3, owners, 3",
    "plan": "unit",
}


@pytest.fixture(scope="module")
def units_frame(spark, rf, fleet):
    from pyspark.sql import functions as F

    frame = spark.createDataFrame(fleet).withColumn("unit", F.struct("*"))
    return frame.withColumn("owners", F.array(F.lit(0), F.lit(1)))


def test_functions_are_shown_by_their_names(rf, units_frame, explained):
    from pyspark.sql import functions as F

    made = units_frame.select(*[call(rf) for call in NAMED.values()])
    shown = {name: f"{name}({ARGUMENTS.get(name, 'brokers, client_ids')})" for name in NAMED}
    assert made.columns == list(shown.values())
    plan = explained(made)
    assert all(re.search(rf"ArrowEvalPython \[.*\b{name}\(", plan) for name in NAMED)
    with pytest.raises(Exception, match=r"sum\(owners\(brokers, client_ids\)\)"):
        units_frame.agg(F.sum(rf.owners("brokers", "client_ids"))).collect()


def test_closed_forms_have_short_names_too(spark, rf):
    from pyspark.sql import functions as F

    numbers = spark.range(1).selectExpr("4 AS n", "array(1, 2) AS ids")
    made = numbers.select(
        rf.allocate_by_count("n", F.size("ids")),
        rf.try_allocate_by_count("n", 3, "AVG_BY_CIRCLE"),
        F.size(rf.allocate_by_count("n", 2)).alias("size"),
    )
    assert made.columns == [
        "allocate_by_count(n, size(ids))",
        "try_allocate_by_count(n, 3)",
        "size",
    ]
    assert list(made.first()) == [[0, 0, 1, 1], [0, 1, 2, 0], 4]


@pytest.mark.parametrize("name", ["assign", "plan", "expand_owners", "client_load"])
def test_transforms_are_shown_by_their_names(spark, fleet, explained, name):
    from spark_udfs import transforms

    units = spark.createDataFrame(fleet.drop_columns("queues"))
    made = units.transform(getattr(transforms, name)())
    assert f"MapInArrow {name}(" in explained(made)


def test_structs_may_stand_in_aggregates_and_joins(rf, units_frame):
    from pyspark.sql import functions as F

    answer = rf.allocate_or_error("brokers", "client_ids")
    errors = of_column(units_frame, answer["error"])
    last = max(filter(None, errors))
    assert of_column(units_frame, F.max(answer["error"])) == [last]
    reason = units_frame.sparkSession.createDataFrame([(last,)], "reason string")
    joined = units_frame.join(reason, answer["error"] == F.col("reason"))
    assert joined.count() == errors.count(last)


def test_how_often_a_function_is_called(rf, units_frame, explained):
    """The numbers of the page: filters by a result run before the projection that has it."""
    from pyspark.sql import functions as F

    def calls(frame):
        return explained(frame).count("ArrowEvalPython [")

    answer = rf.allocate_or_error("brokers", "client_ids")
    selected = units_frame.select("topic", answer.alias("a"))
    assert calls(selected.select("a.*")) == 1
    assert calls(units_frame.select(answer["owners"], answer["error"])) == 1
    assert calls(selected.orderBy("a.error").select("a.*")) == 1
    assert calls(selected.groupBy("a.error").agg(F.max("a.owners"))) == 1
    assert calls(selected.where("a.error IS NULL")) == 2
    fields = units_frame.select("topic", F.inline(F.array(answer)))
    assert calls(fields.where("error IS NULL").select("owners")) == 1
    named = rf.try_owners("brokers", "client_ids")
    assert calls(units_frame.select(F.inline(named)).groupBy("client_id").count()) == 1
    assert calls(units_frame.select(named.alias("o")).select(F.inline("o"))) == 2


def test_a_column_of_the_wrong_type_fails_with_a_word(spark, rf, fleet):
    frame = spark.createDataFrame(fleet)
    with pytest.raises(Exception, match="column queues must be a list, got string"):
        of_column(frame, rf.allocate("topic", "client_ids"))


# --- In SQL ---


@pytest.fixture(scope="module")
def sql(spark, fleet):
    """A function from SQL over the view ``units`` to the values of its only column."""
    from spark_udfs import register_all

    register_all(spark)
    spark.createDataFrame(fleet).createOrReplaceTempView("units")
    yield lambda expression: of_column(spark.table("units"), spark_expr(expression))
    spark.catalog.dropTempView("units")


def spark_expr(expression):
    from pyspark.sql import functions as F

    return F.expr(expression)


@pytest.mark.parametrize(
    ("expression", "name", "params"),
    [
        ("rmq_try_allocate(queues, client_ids)", "AVG", {}),
        pytest.param(
            "rmq_try_allocate(clients => client_ids, queues => brokers, strategy => 'AVG_BY_CIRCLE')",
            "AVG_BY_CIRCLE",
            {},
            id="AVG_BY_CIRCLE",
        ),
        pytest.param(
            "rmq_try_allocate(queues, client_ids, 'CONSISTENT_HASH', topic, 7)",
            "CONSISTENT_HASH",
            {"virtual_nodes": 7},
            id="CONSISTENT_HASH of 7 nodes",
        ),
        pytest.param(
            "rmq_try_allocate(brokers, client_ids, 'CONSISTENT_HASH', topic => topic)",
            "CONSISTENT_HASH",
            {},
            id="CONSISTENT_HASH of brokers",
        ),
        pytest.param(
            "rmq_allocate_or_error(queues, client_ids, 'MACHINE_ROOM', machine_rooms => array('hz')).owners",
            "MACHINE_ROOM",
            {"machine_rooms": {"hz"}},
            id="MACHINE_ROOM",
        ),
    ],
)
def test_sql_says_what_columns_say(sql, fleet, expression, name, params):
    read = arrays_of(fleet)
    topic = read["topic"] if "topic" in expression else None
    queues = read["brokers" if "brokers" in expression else "queues"]
    expected = arrow_owners.allocate_arrays(name, queues, read["client_ids"], topic=topic, **params)
    assert sql(expression) == expected.field("owners").to_pylist()


@pytest.mark.usefixtures("sql")
@pytest.mark.parametrize(
    ("expression", "answer"),
    [
        ("rmq_allocate(4, 3)", [0, 0, 1, 2]),
        ("rmq_try_allocate(NULL, array('x'), 'AVG')", None),
        ("rmq_allocate_or_error(4, 3, 'best').error LIKE 'unknown strategy%'", True),
        ("rmq_allocate_by_count(4, 3, 'AVG_BY_CIRCLE')", [0, 1, 2, 0]),
        ("rmq_allocate_by_count(n_clients => 3, n_queues => 4)", [0, 0, 1, 2]),
        ("rmq_try_allocate_by_count(NULL, 3)", None),
    ],
)
def test_sql_functions_answer_beyond_their_examples(spark, expression, answer):
    assert of_column(spark.range(1), spark_expr(expression)) == [answer]


@pytest.mark.thorough(keep=1)
@pytest.mark.usefixtures("sql")
@pytest.mark.parametrize(
    ("expression", "said"),
    [
        pytest.param(
            "rmq_allocate(0, 3)",
            "row 1 of 1 in its batch .queues 0, clients 3.: mqAll is null or mqAll empty",
            id="rmq_allocate(0, 3)",
        ),
        pytest.param(
            "rmq_allocate_by_count('AVG', 4, 3)",
            "got '3'; use allocate; the arguments are .n_queues, n_clients ",
            id="rmq_allocate_by_count('AVG', 4, 3)",
        ),
        pytest.param(
            "rmq_allocate_by_count(4, 'AVG')",
            "must be integers, got AVG; the arguments are .n_queues, n_clients .,",
            id="rmq_allocate_by_count(4, 'AVG')",
        ),
        ("rmq_try_allocate_by_count(4.7, 3)", "must be integers, got 4.7; the arguments are"),
        pytest.param(
            "rmq_allocate_by_count(NULL, 3)",
            "must be from 1 to 16777216, got null and 3; try_allocate_by_count returns NULL",
            id="rmq_allocate_by_count(NULL, 3)",
        ),
    ],
)
def test_what_sql_refuses(spark, expression, said):
    with pytest.raises(Exception, match=said):
        of_column(spark.range(1), spark_expr(expression))


def test_a_bad_row_fails_and_owners_have_names(spark, rf, fleet):
    frame = spark.createDataFrame(fleet)
    for function in (rf.allocate, rf.owners):
        with pytest.raises(
            Exception,
            match=r"in its batch .*returns NULL for a bad row, allocate_or_error its reason",
        ):
            of_column(frame, function("queues", "client_ids"))
    named = of_column(frame, rf.try_owners("brokers", "client_ids"))
    answers = of_column(frame, rf.allocate_or_error("brokers", "client_ids"))
    assert [row is None for row in named] == [answer["owners"] is None for answer in answers]
    good = frame.where("topic IS NOT NULL").limit(100)
    assert of_column(good, rf.owners("brokers", "client_ids"))[0][0].keys() == {
        "broker_name",
        "queue_id",
        "client_id",
    }


def test_sql_shows_registered_names(spark, sql, explained):
    call = "rmq_assignment_metrics(rmq_try_allocate(brokers, client_ids), 3)"
    made = spark.sql(f"SELECT {call}, rmq_owners(brokers, client_ids, 'AVG') FROM units")
    assert made.columns == [call, "rmq_owners(brokers, client_ids, AVG)"]
    assert "ArrowEvalPython [rmq_assignment_metrics(" in explained(made)
    query = (
        "SELECT region, avg({}.skew), max({}) FROM (SELECT *, 'eu' AS region FROM units) GROUP BY 1"
    )
    assert spark.sql(query.format(call, call)).first()[1] > 1


def test_another_prefix(spark):
    from spark_udfs import register_all

    register_all(spark, prefix="")
    assert of_column(spark.range(1), spark_expr("allocate_by_count(2, 2, 'AVG')")) == [[0, 1]]
    for prefix in ("a b", "1a", "rmq.", "é_", "x;"):
        with pytest.raises(ValueError, match="prefix must be letters, digits and underscores"):
            register_all(spark, prefix=prefix)
