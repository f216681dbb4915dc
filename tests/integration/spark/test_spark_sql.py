"""What SQL says of the functions and of wrong strategies: literals, columns, batches of any size."""

import pytest

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def sql(spark):
    """The values of a query's only column."""
    from spark_udfs import register_all

    register_all(spark)
    return lambda query: [row[0] for row in spark.sql(query).collect()]


@pytest.fixture
def batches(spark):
    """Set how many rows a batch has."""
    name = "spark.sql.execution.arrow.maxRecordsPerBatch"
    yield lambda n_rows: spark.conf.set(name, n_rows)
    spark.conf.unset(name)


ROWS = "(VALUES ('AVG', 4), ('{}', 4), ('AVG', 0), (NULL, 4)) AS t(strategy, n)"


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("n_rows", [1, 2, 10_000])
def test_a_wrong_strategy_fails_the_query_and_wrong_data_does_not(sql, batches, n_rows):
    batches(n_rows)
    wrong = ROWS.format("AVGG")
    for query in (
        f"SELECT rmq_try_allocate(n, 3, strategy) FROM {wrong}",
        f"SELECT rmq_try_allocate(n, 3, 'AVGG') FROM {wrong}",
        f"SELECT rmq_allocate(n, 3, 'AVGG') FROM {wrong} WHERE n > 0",  # of two bad batches either may be named
    ):
        with pytest.raises(
            Exception, match=r"unknown strategy 'AVGG'; known are AVG, .*; did you mean AVG\?"
        ):
            sql(query)
    right = ROWS.format("AVG_BY_CIRCLE")
    assert sql(f"SELECT rmq_try_allocate(n, 3, strategy) FROM {right}") == [
        [0, 0, 1, 2],
        [0, 1, 2, 0],
        None,
        [0, 0, 1, 2],
    ]
    told = sql(f"SELECT rmq_allocate_or_error(n, 3, strategy).error FROM {wrong}")
    assert [None if error is None else error[:16] for error in told] == [
        None,
        "unknown strategy",
        "mqAll is null or",
        None,
    ]
    with pytest.raises(
        Exception, match="mqAll is null or mqAll empty; try_allocate returns NULL for a bad row"
    ):
        sql(f"SELECT rmq_allocate(n, 3, strategy) FROM {right}")


def test_a_wrong_strategy_by_count_fails_the_query(sql):
    for strategy in ("'AVGG'", "strategy"):
        query = f"SELECT rmq_try_allocate_by_count(n, 3, {strategy}) IS NULL FROM {{}}"
        with pytest.raises(
            Exception, match="suffice only for AVG, AVG_BY_CIRCLE, got 'AVGG'; use allocate"
        ):
            sql(query.format(ROWS.format("AVGG")))
    query = "SELECT rmq_try_allocate_by_count(n, 3, strategy) IS NULL FROM {}"
    assert sql(query.format(ROWS.format("AVG_BY_CIRCLE"))) == [False, False, True, False]


PYTHON = {
    "allocate": "rmq_allocate(queues, clients [, strategy [, topic [, virtual_nodes [, machine_rooms]]]]) - ",
    "try_allocate": "rmq_try_allocate(queues, clients [, strategy [, topic ",
    "allocate_or_error": "rmq_allocate_or_error(queues, clients [, strategy [, topic ",
    "owners": "rmq_owners(queues, clients [, strategy [, topic ",
    "try_owners": "rmq_try_owners(queues, clients [, strategy [, topic ",
    "plan": "rmq_plan(unit, scenarios [, strategy [, output]]) - ",
    "assignment_metrics": "rmq_assignment_metrics(owners, n_clients) - ",
    "moved": "rmq_moved(owners_before, clients_before, owners_after, clients_after) - ",
    "least_moves": "rmq_least_moves(owners_before, clients_before, owners_after, clients_after) - ",
}


COUNTED = {
    "allocate_by_count": "rmq_allocate_by_count(n_queues, n_clients [, strategy]) - ",
    "try_allocate_by_count": "rmq_try_allocate_by_count(n_queues, n_clients [, strategy]) - ",
}


def test_a_table_function_says_the_same_in_every_session(spark, sql):
    rows = {row.name: row for row in spark.sql("SELECT * FROM rmq_functions()").collect()}
    assert list(rows) == [f"rmq_{name}" for name in PYTHON | COUNTED]
    for name, usage in (PYTHON | COUNTED).items():
        row = rows[f"rmq_{name}"]
        assert row.usage.startswith(usage)
        query, answer = row.example.removeprefix("> ").split(";\n")
        assert sql(f"SELECT to_json(struct(({query}) AS a))") == [f'{{"a":{answer.strip()}}}']
    assert "'CANARY(share=0.05)'" in rows["rmq_allocate"].arguments
