"""Rows keep their columns through the transforms, of every type that Spark has."""

import pytest

pytestmark = pytest.mark.spark

TYPES = """
    CAST(id AS DECIMAL(38, 18)) / 3 AS decimal_, CAST(id / 7 AS FLOAT) AS float_,
    CAST(CAST(id AS STRING) AS BINARY) AS binary_,
    timestamp_seconds(id * 1000003) AS timestamp_,
    TIMESTAMP_NTZ'0001-01-01 00:00:01' AS without_zone, date_add(DATE'1999-12-31', CAST(id AS INT)) AS date_,
    map('k', array(id, NULL)) AS map_, map(id, named_struct('t', timestamp_seconds(id), 'n', CAST(NULL AS STRING))) AS nested,
    NULL AS void, array(NULL) AS voids, make_dt_interval(id) AS interval_, array(INTERVAL '1' DAY) AS days,
    CASE WHEN id % 2 = 0 THEN 'even' END AS nullable, 'x' COLLATE UNICODE_CI AS collated,
    map('k' COLLATE UTF8_LCASE, id) AS collations,
    parse_json(concat('{"a": ', id, '}')) AS variant_, id AS `a.b``c d`, id AS `carried_0`"""


@pytest.fixture(scope="module")
def units(spark):
    """Four units with columns of all types, the third without clients."""
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Kathmandu")
    yield spark.sql(f"""SELECT concat('g', id) AS consumer_group, id AS row_id, 'T' AS topic, {TYPES},
        array(named_struct('broker_name', 'b', 'read_queue_nums', 8)) AS brokers, 'AVG_BY_CIRCLE' AS strategy,
        CASE WHEN id = 2 THEN array() ELSE array('c1', 'c2', 'c3') END AS client_ids FROM range(4)""")
    spark.conf.set("spark.sql.session.timeZone", zone)


def texts(frame, columns):
    """Rows of columns as JSON, in order; Spark writes a key that is a struct in its own way, so
    there are none.
    """
    from pyspark.sql import functions as F

    quoted = [F.col("`" + name.replace("`", "``") + "`") for name in columns]
    return sorted(row[0] for row in frame.select(F.to_json(F.struct(*quoted))).collect())


ONE_LESS = [{"name": "one less", "changes": [{"remove_clients": {"count": 1}}]}]


@pytest.mark.thorough
def test_every_column_that_is_not_read_stands_in_every_row(units):
    from spark_udfs.transforms import assign, expand_owners, plan

    read = {"consumer_group", "topic", "brokers", "client_ids", "strategy"}
    kept = [name for name in units.columns if name not in read]
    assert len(kept) == 19
    wanted = texts(units, kept)
    for transform, n_rows in (
        (plan(ONE_LESS), 2),
        (assign("AVG"), 1),
        (plan(ONE_LESS, output="best"), 1),
    ):
        result = units.transform(transform)
        assert result.schema.fields[-len(kept) :] == [units.schema[name] for name in kept]
        assert texts(result, kept) == sorted(wanted * n_rows)
        assert {row.strategy for row in result.where("err_code = 0").collect()} == {"AVG_BY_CIRCLE"}
        assert {row.row_id for row in result.where("err_code <> 0").collect()} == {2}
    named = units.transform(expand_owners())
    assert texts(named.where("queue_id = 0 OR queue_id IS NULL"), kept) == wanted


def test_columns_to_carry_are_chosen_by_name(units):
    from spark_udfs.transforms import assign, client_load

    own = units.transform(assign("AVG", carry=False)).columns
    assert not {"row_id", "variant_"} & {*own}
    chosen = units.transform(assign("AVG", carry=["client_ids", "a.b`c d", "client_ids"]))
    assert chosen.columns == [*own, "a.b`c d", "client_ids"]
    assert chosen.where("consumer_group = 'g3'").first()[-2:] == (3, ["c1", "c2", "c3"])
    assert units.transform(client_load()).columns == [
        "scenario",
        "host",
        "client_id",
        "n_units",
        "n_queues",
    ]


@pytest.mark.parametrize(
    ("column", "carry", "error", "words"),
    [
        pytest.param("1 AS Owners", True, ValueError,
                     "has a column owners of its own, so Owners cannot be carried: rename it",
                     id="a column of the result"),
        pytest.param("1 AS row_id", True, ValueError,
                     "has two columns row_id: rename one, or leave them out with carry=", id="one column twice"),
        pytest.param("1 AS x", ["rowid"], TypeError,
                     "no column rowid to carry; it has .*; did you mean row_id?", id="no such column"),
        pytest.param("INTERVAL '1' MONTH AS m", True, TypeError,
                     "column m cannot be carried, because Arrow for Python has no interval month", id="a month"),
        pytest.param("array(make_interval(1)) AS m", True, TypeError,
                     "column m cannot be carried, because Arrow for Python has no interval", id="an interval"),
        pytest.param("named_struct('a', 1, 'a', 2) AS m", True, TypeError,
                     "column m cannot be carried, because Arrow for Python has no struct<a:int,", id="a struct"),
    ],
)  # fmt: skip
def test_what_cannot_be_carried_is_said_when_the_query_is_made(units, column, carry, error, words):
    from spark_udfs.transforms import assign

    table = units.selectExpr("consumer_group", "topic", "brokers", "client_ids", "row_id", column)
    with pytest.raises(error, match=words):
        table.transform(assign("AVG", carry=carry))
    assert table.transform(assign("AVG", carry=False)).count() == 4


def test_a_name_alone_is_not_taken_for_a_list():
    from spark_udfs.transforms import assign, plan

    for carry in ("row_id", None, [1]):
        for make in (assign, plan):
            with pytest.raises(
                TypeError, match="carry must be True, False or a list of names of columns, got"
            ):
                make(carry=carry)
