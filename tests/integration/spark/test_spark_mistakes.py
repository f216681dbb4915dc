"""What a user gets wrong on the driver, and names of columns in another case."""

import pytest

from rmqalloc.scenarios import read_scenarios
from rmqalloc.snapshot import examples

pytestmark = pytest.mark.spark

BROKERS = "array<struct<broker_name: string, read_queue_nums: int>>"
WHAT_IF = len(read_scenarios(examples.find("what-if", "scenarios").path))


@pytest.fixture(scope="module")
def fleet(spark):
    """One unit, its columns and fields in any case, beside one that is not read."""
    kind = BROKERS.replace("broker_name", "Broker_Name").replace(
        "read_queue_nums", "READ_QUEUE_NUMS"
    )
    names = f"Consumer_Group string, TOPIC string, Client_IDs array<string>, Brokers {kind}, Region string"
    return spark.createDataFrame([("g", "T", ["c2", "c1"], [("b", 4)], "eu")], names)


def test_names_match_without_regard_to_case(spark, fleet):
    from spark_udfs.transforms import assign, plan

    row = fleet.transform(assign(carry=["region", "Client_IDs"])).first()
    assert (row.strategy, row.owners, row.err_msg, row.Region, row.client_ids) == (
        "AVG",
        [0, 0, 1, 1],
        None,
        "eu",
        ["c2", "c1"],
    )
    assert fleet.transform(plan()).columns[-1] == "Region"
    assert "Client_IDs" not in fleet.transform(plan()).columns, "it is read"
    twice = fleet.selectExpr("*", "TOPIC AS topic")
    with pytest.raises(
        ValueError,
        match="the table has the columns TOPIC and topic, which Spark does not distinguish",
    ):
        twice.transform(assign())
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        with pytest.raises(TypeError, match="no column consumer_group and no column topic"):
            fleet.transform(assign())
        assert twice.selectExpr(
            "Consumer_Group AS consumer_group", "topic", "Client_IDs AS client_ids", "TOPIC"
        ).columns
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


@pytest.mark.thorough
def test_tables_to_join_match_without_regard_to_case(spark):
    from spark_udfs.joins import units

    routes = spark.createDataFrame(
        [("T", "b", 4)], "Topic string, BROKER_NAME string, Read_Queue_Nums int"
    )
    consumers = spark.createDataFrame([("g", "c")], "consumer_Group string, Client_Id string")
    subscriptions = spark.createDataFrame([("g", "T")], "Consumer_group string, TOPIC string")
    assert units(routes, consumers, subscriptions).first().client_ids == ["c"]
    with pytest.raises(ValueError, match="consumers has the columns Client_Id and CLIENT_ID"):
        units(routes, consumers.selectExpr("*", "Client_Id AS CLIENT_ID"), subscriptions)


def test_lists_without_a_type_are_empty_lists(fleet):
    from pyspark.sql import functions as F

    from spark_udfs.transforms import assign

    for name, said in (
        ("Client_IDs", "cidAll is null or cidAll empty"),
        ("Brokers", "mqAll is null or mqAll empty"),
    ):
        row = fleet.withColumn(name, F.array()).transform(assign()).first()
        assert (row.err_code, row.err_msg) == (2, said)


@pytest.mark.thorough
def test_an_example_is_a_file_of_scenarios(fleet):
    from pyspark.sql import functions as F

    import spark_udfs.functions as rf
    from spark_udfs.transforms import plan

    assert fleet.transform(plan("example:what-if")).count() == 1 + WHAT_IF
    made = rf.plan(F.struct("*"), "example:what-if")
    named = fleet.toDF("consumer_group", "topic", "client_ids", "brokers", "region").withColumn(
        "brokers", F.col("brokers").cast(BROKERS)
    )
    assert len(named.select(made).first()[0]) == 1 + WHAT_IF
    with pytest.raises(FileNotFoundError, match="none"):
        plan("none.json")
    with pytest.raises(ValueError, match="there is no example what; did you mean what-if"):
        plan("example:what")


def test_a_mistaken_argument_is_named_at_once(fleet):
    from pyspark.sql import functions as F

    import spark_udfs.functions as rf
    from spark_udfs.transforms import assign, client_load, expand_owners, plan

    for make in (
        assign,
        plan,
        client_load,
        expand_owners,
        lambda strategy: rf.plan("u", strategy=strategy),
    ):
        with pytest.raises(
            TypeError, match="strategy must be a name, got a Column; put it in a column `strategy`"
        ):
            make(strategy=F.col("strategy"))
        with pytest.raises(TypeError, match="strategy must be a name, got None"):
            make(strategy=None)
    with pytest.raises(
        TypeError, match=r"strategy must be a name, got a table; call it: transform\(assign\(\)\)"
    ):
        fleet.transform(assign)
    for make in (plan, client_load, expand_owners):
        with pytest.raises(
            TypeError, match=r"scenarios must be .* got a table; call it: transform\(plan\(\)\)"
        ):
            fleet.transform(make)
        with pytest.raises(
            TypeError, match=r"scenarios must be a file, example:NAME or a list, got 5"
        ):
            make(5)
        with pytest.raises(TypeError, match="got the strategy AVG: give strategy='AVG'"):
            make("AVG")
    for function in (rf.allocate, rf.try_allocate, rf.allocate_or_error, rf.owners, rf.try_owners):
        with pytest.raises(
            TypeError,
            match=r"\(queues, clients, strategy\), got the strategy 'AVG' as queues; .*F.col",
        ):
            function("AVG", "brokers", "client_ids")
    for function in (rf.owners, rf.try_owners):
        with pytest.raises(
            TypeError,
            match="owners returns names, so queues must be a list of them, got 4; use allocate",
        ):
            function(4, 3)


def test_a_wrong_type_is_named_before_the_query_runs(fleet):
    from pyspark.sql import functions as F

    from spark_udfs.transforms import assign

    for name, kind, said in (
        ("TOPIC", "binary", "column topic must hold strings, got binary"),
        (
            "Brokers",
            BROKERS.replace("int", "double"),
            "column brokers.read_queue_nums must hold integers, got double",
        ),
        (
            "Brokers",
            BROKERS.replace("int", "decimal(9,0)"),
            "column brokers.read_queue_nums must hold integers, got dec",
        ),
    ):
        with pytest.raises(TypeError, match=said):
            fleet.withColumn(name, F.col(name).cast(kind)).transform(assign())
