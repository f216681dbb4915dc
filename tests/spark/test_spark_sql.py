"""What SQL says of the functions and of wrong strategies: literals, columns, batches of any size,
and DESCRIBE FUNCTION.
"""

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


@pytest.mark.parametrize(
    "function", ["try_allocate_by_count(n, 3, {})", "moved_by_count(n, 3, 4, {})"]
)
def test_a_wrong_strategy_by_count_fails_the_query(sql, function):
    for strategy in ("'AVGG'", "strategy"):
        query = f"SELECT rmq_{function.format(strategy)} IS NULL FROM {{}}"
        with pytest.raises(
            Exception, match="suffice for AVG, AVG_BY_CIRCLE alone, got 'AVGG'; use allocate"
        ):
            sql(query.format(ROWS.format("AVGG")))
    query = f"SELECT rmq_{function.format('strategy')} IS NULL FROM {ROWS.format('AVG_BY_CIRCLE')}"
    assert sql(query) == [False, False, True, False]


# --- DESCRIBE FUNCTION ---

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
    "metrics_by_count": "rmq_metrics_by_count(n_queues, n_clients) - ",
    "moved_by_count": "rmq_moved_by_count(n_queues, n_clients_before, n_clients_after [, strategy]) - ",
}


@pytest.fixture
def classic(spark):
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        pytest.skip("Spark Connect takes no description of a Python function")
    return spark


@pytest.mark.usefixtures("classic")
def test_python_functions_are_described_and_their_examples_hold(sql):
    from spark_udfs import _sql as functions

    assert functions._FUNCTIONS.keys() == PYTHON.keys()
    for name, usage in PYTHON.items():
        said = "\n".join(sql(f"DESCRIBE FUNCTION EXTENDED rmq_{name}"))
        assert f"Usage: {usage}" in said
        assert "N/A" not in said
        description = functions._FUNCTIONS[name]
        assert all(
            f"* {argument} - {what}" in said for argument, what in description.arguments.items()
        )
        (example,) = (line.strip(" >;") for line in said.splitlines() if "> SELECT" in line)
        assert sql(f"SELECT to_json(struct(({example}) AS a))") == [f'{{"a":{description.answer}}}']


def test_a_table_function_says_the_same_in_every_session(spark, sql):
    rows = {row.name: row for row in spark.sql("SELECT * FROM rmq_functions()").collect()}
    assert list(rows) == [f"rmq_{name}" for name in PYTHON | COUNTED]
    for name, usage in (PYTHON | COUNTED).items():
        row = rows[f"rmq_{name}"]
        assert row.usage.startswith(usage)
        query, answer = row.example.removeprefix("> ").split(";\n")
        assert sql(f"SELECT to_json(struct(({query}) AS a))") == [f'{{"a":{answer.strip()}}}']
    assert "'CANARY(share=0.05)'" in rows["rmq_allocate"].arguments


def test_sql_functions_are_described(sql):
    for name in COUNTED:
        assert "AVG or AVG_BY_CIRCLE" in "".join(
            sql(f"DESCRIBE FUNCTION EXTENDED rmq_{name}")
        ).replace(" and ", " or ")


@pytest.mark.usefixtures("sql")
def test_functions_registered_again_are_described_and_work(classic, sql):
    from spark_udfs import register_all

    register_all(classic)
    assert "N/A" not in "".join(sql("DESCRIBE FUNCTION rmq_allocate"))
    assert sql("SELECT rmq_allocate(4, 3, 'AVG')") == [[0, 0, 1, 2]]


class Unlike:
    """A registry of a release in which one of the calls is another."""

    def __init__(self, registry, wrong):
        self._registry, self._wrong = registry, wrong

    def __getattr__(self, name):
        if name == self._wrong:
            raise TypeError(f"no method {name}")
        return getattr(self._registry, name)


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize(
    "wrong", ["listFunction", "lookupFunction", "lookupFunctionBuilder", "registerFunction"]
)
def test_where_spark_takes_no_description_the_functions_work(classic, sql, monkeypatch, wrong):
    from spark_udfs import _sql as described
    from spark_udfs import register_all

    whole = described._identifiers
    monkeypatch.setattr(
        described, "_identifiers", lambda registry, names: whole(Unlike(registry, wrong), names)
    )
    describe_one = described._describe
    monkeypatch.setattr(
        described,
        "_describe",
        lambda jvm, registry, *rest: describe_one(jvm, Unlike(registry, wrong), *rest),
    )
    prefix = f"no_{wrong}_"
    register_all(classic, prefix)
    for name in PYTHON:
        assert "N/A" in "".join(sql(f"DESCRIBE FUNCTION {prefix}{name}"))
    assert sql(f"SELECT {prefix}allocate(4, 3, 'AVG')") == [[0, 0, 1, 2]]


def test_a_session_without_a_registry_is_left_as_it_is():
    from spark_udfs import _sql as described

    assert not described._describe_all(
        object(), {"f": described._Function(len, "int", "()", {}, "()", "1")}, new=True
    )
