"""A plan as a column, in Python and in SQL: the answers of the transform, beside the columns of the
row.
"""

import json

import pyarrow as pa
import pytest
import random_units as units

from rmqalloc.evaluation.batch_planning import ErrCode, PlanSpec, plan_batch
from rmqalloc.scenarios import ScenarioError
from rmqalloc.scenarios.scenario_files import scenarios_of_text
from spark_udfs._arrow_plan import plan_array, plan_rows

TRIED = [
    {"name": "four", "changes": [{"scale_clients": {"to": 4}}]},
    {
        "name": "ring",
        "changes": [{"set_strategy": {"strategy": "CONSISTENT_HASH"}}],
        "topics": "*0",
    },
]
TEXT = json.dumps(TRIED)
YAML = "scenarios:\n- {name: four, changes: [{scale_clients: {to: 4}}]}\n"


GOOD = 40
"""Rows of the table that are good, the first ones."""


def table():
    """Good and bad units, one of them without a struct at all."""
    return pa.concat_tables(
        [units.synthetic(GOOD, seed=4), pa.table(units.mixed()[0])]
    ).combine_chunks()


def unmade():
    """The table, of which some rows say themselves why they could not be made."""
    given = table()
    why = [
        "channels must be from 1 to 1024" if i % 3 == 0 and i < GOOD else None
        for i in range(given.num_rows)
    ]
    return given.append_column("unit_err_msg", pa.array(why, pa.string()))


def structs(given):
    """The rows of a table as one array, and a null behind them."""
    [batch] = given.to_batches()
    return pa.concat_arrays(
        [
            pa.StructArray.from_arrays(batch.columns, names=batch.schema.names),
            pa.nulls(1, pa.struct(list(batch.schema))),
        ]
    )


def planned(given, spec):
    """What the plan of a table says, a list for every row."""
    rows = plan_batch(given.to_batches()[0], spec).to_pylist()
    n = 1 if spec.output == "best" else len(spec.names)
    kept = [
        {name: value for name, value in row.items() if name not in ("consumer_group", "topic")}
        for row in rows
    ]
    return [kept[start : start + n] for start in range(0, len(kept), n)]


# --- Without Spark ---


@pytest.mark.parametrize("output", ["metrics", "owners", "best"])
def test_the_column_says_what_the_plan_says(output):
    spec = PlanSpec("AVG", scenarios=TRIED, output=output)
    *rows, null = plan_array(structs(table()), spec).to_pylist()
    assert rows == planned(table(), spec)
    assert {one["err_msg"] for one in null} == {"consumer_group is null; it must be a string"}
    assert plan_array(structs(table()).slice(0, 0), spec).to_pylist() == []


@pytest.mark.parametrize("output", ["metrics", "owners", "best"])
def test_a_row_that_could_not_be_made_says_so_in_the_column(output):
    spec, given = PlanSpec("AVG", scenarios=TRIED, output=output), unmade()
    *rows, _ = plan_array(structs(given), spec).to_pylist()
    assert rows == planned(given, spec)
    assert {one["err_msg"] for row in rows[:GOOD:3] for one in row} == {
        "channels must be from 1 to 1024"
    }
    assert {one["err_code"] for row in rows[:GOOD:3] for one in row} == {ErrCode.MALFORMED}
    assert rows[1] == planned(table(), spec)[1]
    if output == "metrics":
        assert (
            plan_rows(structs(given), pa.array([TEXT] * (len(rows) + 1))).to_pylist()[:-1] == rows
        )
    numbers = given.set_column(
        given.num_columns - 1, "unit_err_msg", pa.array([None] * given.num_rows, pa.int64())
    )
    with pytest.raises(TypeError, match="column unit_err_msg must hold strings, got int64"):
        plan_array(structs(numbers), spec)


def test_arguments_that_differ_from_row_to_row():
    given = structs(table()).slice(0, 5)
    tried = pa.array([TEXT, YAML, None, TEXT, YAML])
    made = plan_rows(
        given, tried, pa.array(["AVG", "CONSISTENT_HASH", "AVG", None, "AVG"])
    ).to_pylist()
    assert made[2] is None
    for row, text, strategy in (
        (0, TEXT, "AVG"),
        (1, YAML, "CONSISTENT_HASH"),
        (3, TEXT, "AVG"),
        (4, YAML, "AVG"),
    ):
        assert (
            made[row]
            == planned(
                table().slice(row, 1).combine_chunks(),
                PlanSpec(strategy, scenarios=scenarios_of_text(text)),
            )[0]
        )
    assert plan_rows(given.slice(0, 0), tried.slice(0, 0)).to_pylist() == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["[{]"], r"scenarios:1:3: "),
        (["[]"], "contains no scenario"),
        (["scenarios:\n- {name: x, changes: [{scale: 3}]}"], "scenarios:2:.* scenario 'x'"),
        ([TEXT, "AVGG"], "unknown strategy 'AVGG'; .*did you mean AVG?"),
        pytest.param(
            [TEXT, "AVG", "owners"],
            "output must be one of metrics, best, got 'owners'; for owners use allocate",
            id="output owners",
        ),
    ],
)
def test_wrong_arguments_are_errors(arguments, words):
    with pytest.raises(ValueError, match=words):
        plan_rows(structs(table()).slice(0, 1), *(pa.array([text]) for text in arguments))


def test_wrong_types_are_errors():
    given = structs(table())
    with pytest.raises(
        TypeError, match="unit must be a struct with the columns of a table, got int64"
    ):
        plan_array(pa.array([1]), PlanSpec())
    with pytest.raises(
        TypeError, match="the table has no column client_ids; it has topic, brokers, consumer_group"
    ):
        plan_array(
            pa.StructArray.from_arrays(
                [given.field(n) for n in ("topic", "brokers", "consumer_group")],
                ["topic", "brokers", "consumer_group"],
            ),
            PlanSpec(),
        )
    with pytest.raises(TypeError, match="column scenarios must hold strings, got int64"):
        plan_rows(given.slice(0, 1), pa.array([1]))
    with pytest.raises(ScenarioError, match="must be a mapping with the one key scenarios"):
        scenarios_of_text("")


# --- On Spark ---


@pytest.fixture(scope="module")
def frame(spark):
    """The table with a column that is not read, as a view too."""
    from spark_udfs import register_all

    register_all(spark)
    made = (
        spark.createDataFrame(table())
        .selectExpr("*", "monotonically_increasing_id() AS row_id")
        .cache()
    )
    made.createOrReplaceTempView("units_with_id")
    yield made
    spark.catalog.dropTempView("units_with_id")
    made.unpersist()


def rows_of(frame):
    """Rows as plain data, in order."""
    return sorted(
        (row.asDict(recursive=True) for row in frame.collect()),
        key=lambda row: (row["row_id"], row["scenario"]),
    )


@pytest.mark.thorough(keep=1)
@pytest.mark.spark
@pytest.mark.parametrize("output", ["metrics", "owners", "best"])
def test_column_and_transform_agree(frame, output):
    from pyspark.sql import functions as F

    import spark_udfs.functions as rf
    from spark_udfs.transforms import plan

    wanted = rows_of(frame.transform(plan(TRIED, "AVG", output)))
    read = ["consumer_group", "topic", "brokers", "client_ids"]
    for unit in (F.struct("*"), read):
        made = frame.select(
            "consumer_group", "topic", F.inline(rf.plan(unit, TRIED, "AVG", output)), "row_id"
        )
        assert rows_of(made) == wanted


@pytest.mark.spark
def test_sql_and_transform_agree(spark, frame):
    from spark_udfs.transforms import plan

    for output in ("metrics", "best"):
        made = spark.sql(
            "SELECT consumer_group, topic, inline(rmq_plan("
            f"scenarios => '{TEXT}', unit => struct(*), output => '{output}')), row_id FROM units_with_id"
        )
        assert rows_of(made) == rows_of(frame.transform(plan(TRIED, "AVG", output)))


@pytest.mark.spark
def test_a_plan_is_evaluated_once_however_often_it_is_read(spark, frame):
    query = (
        f"SELECT p[0].skew, p[1].skew, p[2] FROM (SELECT rmq_plan(struct(*), '{TEXT}') AS p, row_id FROM units_with_id) "
        "WHERE row_id >= 0"
    )
    assert spark.sql(f"EXPLAIN {query}").first()[0].count("ArrowEvalPython") == 1
    assert spark.sql(query).count() > 0


@pytest.mark.spark
def test_what_is_wrong_is_said_at_once_where_it_can_be(spark, frame):
    import spark_udfs.functions as rf

    with pytest.raises(ValueError, match="unknown strategy 'AVGG'"):
        rf.plan("unit", TRIED, "AVGG")
    with pytest.raises(
        TypeError, match="no column client_ids; it has consumer_group, topic, brokers"
    ):
        rf.plan(["consumer_group", "topic", "brokers"], TRIED)
    with pytest.raises(Exception, match="ScenarioError: scenarios:1:3: "):
        spark.sql("SELECT rmq_plan(struct(*), '[{]') FROM units_with_id").collect()
