"""Closed forms in Spark's own expressions: the same as the kernels, and no Python worker takes
part.
"""

import random

import pyarrow as pa
import pytest

from rmqalloc.strategies import Averagely
from rmqalloc.strategies.formula import Formula
from spark_udfs import _closed_form as closed_form

pytestmark = pytest.mark.spark

STRATEGIES = ("AVG", "AVG_BY_CIRCLE")
ODD = [None, 0, -1, 1, 2**24 + 1, 2**31, 2**63 - 1, -(2**63)]


@pytest.fixture(scope="module")
def rf(spark):
    import spark_udfs.functions
    from spark_udfs import register_all

    register_all(spark)
    return spark_udfs.functions


@pytest.fixture(scope="module")
def numbers(spark):
    """Every small case, odd numbers against one another, and larger ones at random."""
    rng = random.Random(7)
    rows = [(n, a, b) for n in range(12) for a in range(6) for b in (0, 1, 2, 3, 5, 8)]
    rows += [(n, a, 3) for n in ODD for a in ODD] + [(5, a, b) for a in ODD for b in ODD]
    rows += [tuple(int(2 ** rng.uniform(0, 11)) for _ in range(3)) for _ in range(300)]
    table = pa.table(
        [pa.array(column, pa.int64()) for column in zip(*rows, strict=True)], names=["n", "a", "b"]
    )
    return spark.createDataFrame(table).repartition(2)


def differing(frame, one, other):
    """Rows in which two columns are not the same, null being the same as null."""
    pair = frame.select("*", one.alias("one"), other.alias("other"))
    return pair.where("NOT one <=> other").limit(3).toArrow().to_pylist()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_owners_are_those_of_the_kernel(rf, numbers, strategy):
    from pyspark.sql import functions as F

    kernel = rf.try_allocate_by_count("n", "a", strategy, engine="kernel")
    assert (
        differing(numbers, rf.try_allocate_by_count("n", "a", strategy, engine="sql"), kernel) == []
    )
    assert (
        differing(numbers, F.expr(f"rmq_try_allocate_by_count(n, a, '{strategy}')"), kernel) == []
    )
    assert differing(numbers, rf.try_allocate_by_count("n", "a", F.lit(strategy)), kernel) == []
    good = numbers.where("n BETWEEN 1 AND 4096 AND a BETWEEN 1 AND 4096")
    assert differing(good, rf.allocate_by_count("n", "a", strategy), kernel) == []
    assert differing(good, F.expr(f"rmq_allocate_by_count(n, a, '{strategy}')"), kernel) == []


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("number", [None, 0, -1, 2**24 + 1, 2**63 - 1])
def test_both_engines_fail_where_owners_would_be_null(spark, rf, number):
    from pyspark.sql import functions as F

    n = F.lit(number).cast("bigint")
    for engine in ("sql", "kernel"):
        for numbers in ((n, 3), (3, n)):
            with pytest.raises(
                Exception, match=r"must be from [01] to 16777216, got|mqAll empty|cidAll empty"
            ):
                spark.range(1).select(rf.allocate_by_count(*numbers, engine=engine)).collect()
            assert (
                spark.range(1).select(rf.try_allocate_by_count(*numbers, engine=engine)).first()[0]
                is None
            )


@pytest.mark.thorough
@pytest.mark.parametrize("engine", ["sql", "kernel"])
def test_both_engines_refuse_what_is_no_integer(spark, rf, engine):
    from pyspark.sql import functions as F

    for number in (F.lit(4.7), F.lit(4.0), F.lit("4"), F.lit(4).cast("decimal(3,0)")):
        for ask in (rf.allocate_by_count, rf.try_allocate_by_count, rf.metrics_by_count):
            with pytest.raises(
                Exception, match=r"must be integers, got|must hold numbers or lists, got"
            ):
                spark.range(1).select(ask(number, F.lit(3), engine=engine)).collect()
        with pytest.raises(
            Exception, match=r"must be integers, got|must hold numbers or lists, got"
        ):
            spark.range(1).select(
                rf.moved_by_count(F.lit(3), F.lit(3), number, engine=engine)
            ).collect()


@pytest.mark.thorough
def test_metrics_are_those_of_the_kernel(rf, numbers):
    from pyspark.sql import functions as F

    kernel = rf.metrics_by_count("n", "a", engine="kernel")
    assert differing(numbers, rf.metrics_by_count("n", "a"), kernel) == []
    assert differing(numbers, F.expr("rmq_metrics_by_count(n, a)"), kernel) == []
    circle = rf.assignment_metrics(rf.try_allocate_by_count("n", "a", "AVG_BY_CIRCLE"), "a")
    assert differing(numbers, rf.metrics_by_count("n", "a"), circle) == []


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_moved_is_that_of_the_kernel(rf, numbers, strategy):
    from pyspark.sql import functions as F

    kernel = rf.moved_by_count("n", "a", "b", strategy, engine="kernel")
    assert (
        differing(numbers, rf.moved_by_count("n", "a", "b", strategy, engine="sql"), kernel) == []
    )
    assert differing(numbers, F.expr(f"rmq_moved_by_count(n, a, b, '{strategy}')"), kernel) == []
    assert numbers.where(rf.moved_by_count("n", "a", "b", strategy) > 0).count() > 100


def test_a_formula_without_rounds(numbers, rf):
    from pyspark.sql import functions as F

    each = closed_form.owners_expression(F.col("n"), F.col("a"), Formula(Averagely.formula.owner))
    assert differing(numbers, each, rf.try_allocate_by_count("n", "a")) == []


def test_columns_of_any_integers_and_literals(spark, rf):
    frame = spark.range(1).selectExpr("tinyint(7) AS t", "smallint(3) AS s", "int(2) AS i")
    answers = [
        rf.allocate_by_count("t", "s"),
        rf.allocate_by_count(7, "i", "AVG_BY_CIRCLE"),
        rf.metrics_by_count("t", 2).getField("max_load"),
        rf.moved_by_count("t", "s", 2),
        rf.try_allocate_by_count(0, 3),
        rf.try_allocate_by_count(3, 0),
        rf.metrics_by_count(2**24, 2**24).getField("skew"),
        rf.metrics_by_count(2**24 + 1, 1),
    ]
    row = (
        frame.select(*[answer.alias(f"a{i}") for i, answer in enumerate(answers)])
        .toArrow()
        .to_pylist()[0]
    )
    assert list(row.values()) == [
        [0, 0, 0, 1, 1, 2, 2],
        [0, 1, 0, 1, 0, 1, 0],
        4,
        3,
        None,
        None,
        1.0,
        None,
    ]


def test_the_types_are_those_of_the_kernel(rf, numbers):
    for function, columns in (
        ("allocate", "na"),
        ("try_allocate", "na"),
        ("metrics", "na"),
        ("moved", "nab"),
    ):
        ask = getattr(rf, f"{function}_by_count")
        frame = numbers.select(
            *[ask(*columns, engine=engine).alias(engine) for engine in ("sql", "kernel")]
        )
        types = [field.dataType.simpleString() for field in frame.schema]
        assert types[0] == types[1]


def test_spark_does_it_alone(rf, numbers, capsys):
    def plan(engine):
        numbers.select(
            rf.allocate_by_count("n", "a", engine=engine),
            rf.metrics_by_count("n", "a", engine=engine),
            rf.moved_by_count("n", "a", "b", engine=engine),
        ).explain()
        return capsys.readouterr().out

    assert "Python" not in plan("auto")
    assert "ArrowEvalPython" in plan("kernel")


def test_the_engine_is_chosen_or_refused(rf):
    from pyspark.sql import functions as F

    for ask, arguments in ((rf.allocate_by_count, "na"), (rf.moved_by_count, "nab")):
        with pytest.raises(ValueError, match="engine must be one of auto, kernel, sql, got 'jvm'"):
            ask(*arguments, engine="jvm")
        for engine in rf.ENGINES:
            with pytest.raises(
                ValueError, match="suffice for AVG, AVG_BY_CIRCLE alone, got 'CONSISTENT_HASH'"
            ):
                ask(*arguments, "CONSISTENT_HASH", engine=engine)
        with pytest.raises(
            ValueError, match='engine="sql" needs the name of one strategy, got a Column'
        ):
            ask(*arguments, F.col("strategy"), engine="sql")


def test_sql_functions_can_be_created_again(spark):
    for statement in closed_form.sql_functions("again_") * 2:
        spark.sql(statement)
    assert spark.sql("SELECT again_allocate_by_count(2, 2, 'AVG') AS a").toArrow()[
        "a"
    ].to_pylist() == [[0, 1]]
    assert spark.sql("SELECT again_allocate_by_count(2, 2, NULL) AS a").toArrow()[
        "a"
    ].to_pylist() == [[0, 1]]
    with pytest.raises(Exception, match="suffice for AVG, AVG_BY_CIRCLE alone, got 'POP'"):
        spark.sql("SELECT again_allocate_by_count(2, 2, 'POP') AS a").toArrow()
