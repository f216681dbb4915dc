"""SQL's arguments in Python's order, strict and trying functions, owners by name, errors of
workers. No Spark starts.
"""

from types import SimpleNamespace

import pyarrow as pa
import pytest
import random_units as units

from rmqalloc.evaluation.batch_planning import PlanSpec
from rmqalloc.evaluation.expand import expand_owners
from spark_udfs import _arrow_owners as arrow_owners
from spark_udfs import _named_owners as named_owners
from spark_udfs import _sql_owners as sql_owners
from spark_udfs.job._spark_errors import explained

LISTS = pa.array([["c2", "c1"], ["c1"]])
BROKERS = pa.array([[{"broker_name": "b", "read_queue_nums": 3}]] * 2)


# --- Arguments of SQL ---


def test_the_order_is_that_of_python_and_avg_is_the_default():
    for strategy in ((), (pa.array(["AVG"] * 2),), (pa.nulls(2),), (pa.array([None, "AVG"]),)):
        assert sql_owners.BODIES["allocate"](BROKERS, LISTS, *strategy).to_pylist() == [
            [0, 0, 1],
            [0, 0, 0],
        ]
    circle = pa.array(["AVG_BY_CIRCLE"] * 2)
    for function in (sql_owners.BODIES["allocate"], sql_owners.BODIES["try_allocate"]):
        assert function(BROKERS, LISTS, circle).to_pylist() == [[0, 1, 0], [0, 0, 0]]
    assert sql_owners.BODIES["allocate_or_error"](BROKERS, LISTS, circle).field(
        "owners"
    ).to_pylist() == [
        [0, 1, 0],
        [0, 0, 0],
    ]
    nodes = pa.array([3, 3])
    assert sql_owners.BODIES["allocate"](BROKERS, LISTS, virtual_nodes=nodes).to_pylist() == [
        [0, 0, 1],
        [0, 0, 0],
    ], "not read"


def test_a_strategy_in_place_of_queues_is_refused():
    functions = (
        sql_owners.BODIES["allocate"],
        sql_owners.BODIES["allocate_or_error"],
        sql_owners.BODIES["try_allocate"],
        sql_owners.BODIES["owners"],
        sql_owners.BODIES["try_owners"],
    )
    for function in functions:
        with pytest.raises(
            TypeError,
            match=r"queues must be a list or a number, got string; the arguments are \(queues, c",
        ):
            function(pa.array(["AVG"] * 2), BROKERS, LISTS)


def test_numbers_in_workers_are_what_they_are_in_sql():
    n, m = pa.array([4, 4]), pa.array([3, 0])
    assert sql_owners.try_allocate_by_count(n, m).to_pylist() == [[0, 0, 1, 2], None]
    with pytest.raises(
        ValueError, match=r"row 2 of 2 in its batch \(queues 4, clients 0\): cidAll is null"
    ):
        sql_owners.allocate_by_count(n, m)
    assert sql_owners.try_allocate_by_count(pa.nulls(2), m).to_pylist() == [None, None]
    for wrong in (pa.array([4.0, 4.0]), pa.array(["AVG", "AVG"])):
        for function in (sql_owners.allocate_by_count, sql_owners.try_allocate_by_count):
            with pytest.raises(
                TypeError,
                match=r"numbers must be integers, got .*; the strategy is the last argument",
            ):
                function(wrong, m)
    with pytest.raises(ValueError, match="suffice only for AVG, AVG_BY_CIRCLE, got 'POP'"):
        sql_owners.allocate_by_count(n, m, pa.array(["POP", "AVG"]))


# --- Strict ---


def test_a_bad_row_is_named_with_its_place():
    clients = pa.array([["c1"], [], None])
    queues = pa.array([BROKERS[0].as_py()] * 3)
    topics = pa.array(["orders", "payments", "x"])
    said = r"row 2 of 3 in its batch \(clients \[\], topic 'payments'\): cidAll is null or cidAll empty; "
    with pytest.raises(
        ValueError,
        match=said + "try_allocate returns NULL for a bad row, allocate_or_error its reason",
    ):
        named_owners.allocate("AVG", queues, clients, topic=topics)
    with pytest.raises(ValueError, match=said + "try_owners returns NULL"):
        named_owners.owners("AVG", queues, clients, topic=topics)
    assert named_owners.try_allocate("AVG", queues, clients, topic=topics).to_pylist() == [
        [0, 0, 0],
        None,
        None,
    ]
    assert [row is None for row in named_owners.try_owners("AVG", queues, clients).to_pylist()] == [
        False,
        True,
        True,
    ]
    assert named_owners.try_owners("AVG", queues[1:], clients[1:]).to_pylist() == [None, None]


def test_a_long_row_is_cut_in_the_message():
    ids = pa.array([[f"client-{i}" for i in range(10_000)]])
    with pytest.raises(ValueError, match="mqAll is null") as raised:
        named_owners.allocate("AVG", pa.array([[]], arrow_owners.QUEUES), ids)
    assert len(str(raised.value)) < 400


# --- Owners by name ---


@pytest.mark.parametrize("name", ["AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH"])
def test_owners_by_name_are_those_of_the_plan(name):
    batch, words = units.mixed()
    table = pa.concat_tables([units.synthetic(60, seed=9), pa.table(batch)]).combine_chunks()
    [whole] = table.to_batches()
    columns = [whole.column(column) for column in ("brokers", "client_ids")]
    named = named_owners.try_owners(name, *columns, topic=whole.column("topic")).to_pylist()
    rows = [table.slice(i, 1).combine_chunks().to_batches()[0] for i in range(table.num_rows)]
    for one, row in zip(named, rows, strict=True):
        planned = expand_owners(row, PlanSpec(name)).to_pylist()
        if one is not None and row["consumer_group"][0].is_valid:
            assert one == [
                {key: each[key] for key in ("broker_name", "queue_id", "client_id")}
                for each in planned
            ]
    assert sum(one is not None for one in named) >= 60 + words.count(None)


def test_queues_that_nobody_owns_and_single_queues_have_names_too():
    queues = pa.array(
        [[{"broker_name": "hz@b", "queue_id": 7}, {"broker_name": "sh@b", "queue_id": 0}]]
    )
    named = named_owners.owners("MACHINE_ROOM", queues, pa.array([["c"]]), machine_rooms=["hz"])
    assert named.to_pylist() == [
        [
            {"broker_name": "hz@b", "queue_id": 7, "client_id": "c"},
            {"broker_name": "sh@b", "queue_id": 0, "client_id": None},
        ]
    ]
    id_first = pa.array([[{"queue_id": 7, "broker_name": "b"}]])
    assert named_owners.owners("AVG", id_first, pa.array([["c"]])).to_pylist() == [
        [{"broker_name": "b", "queue_id": 7, "client_id": "c"}]
    ]
    for numbers in (
        (pa.array([4]), pa.array([["c"]])),
        (queues, pa.array([4])),
        (4, "client_ids"),
        ("brokers", 3),
    ):
        with pytest.raises(
            TypeError,
            match=r"owners returns names, so .* must be a list of them, got .*; use allocate",
        ):
            named_owners.refuse_counts(*numbers)


# --- Errors of workers ---


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(
            "ImportError: the workers' Python, /opt/python, has no numpy: install it",
            "the workers' Python, /opt/python, has no numpy: install it",
            id="a package is missing",
        ),
        pytest.param(
            "Python in worker has different version: 3.9 than that in driver: 3.11, PySpark cannot run",
            "workers run Python 3.9 and the driver 3.11, but PySpark needs the same: set PYSPARK_PYTHON",
            id="another Python",
        ),
        pytest.param(
            'java.io.IOException: Cannot run program "/no/python": error=2, No',
            "no Python at /no/python on a worker",
            id="no Python",
        ),
        pytest.param(
            "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)",
            "a lack of memory",
            id="crashed",
        ),
    ],
)
def test_what_stopped_a_worker_is_one_line(text, said):
    made = explained(
        f"An exception was thrown from the Python worker:\nTraceback (most recent call last):\n{text}\n  at x"
    )
    assert said in made and "\n" not in made


def test_other_errors_are_not_explained_away():
    for text in (
        "ModuleNotFoundError: No module named 'their_udf'",
        "ValueError: bad",
        "AttributeError: 'x' of another package",
    ):
        assert explained(text) == ""


# --- What a job is given, and what it says ---


@pytest.mark.needs("pyspark")
@pytest.mark.parametrize(
    ("path", "master", "seen"),
    [
        ("/data/out", "local[2]", "/data/out"),
        ("/data/out", "spark://host:7077", None),
        ("file:/data/a%20b", "spark://host:7077", "/data/a b"),
        ("s3a://bucket/out", "local[2]", None),
    ],
)
def test_workers_see_a_path_of_one_machine_and_what_all_share(path, master, seen):
    from spark_udfs.job._on_worker import worker_path

    assert worker_path(path, SimpleNamespace(conf={"spark.master": master})) == seen


@pytest.mark.needs("pyspark")
def test_a_pinned_table_says_which_version_is_there_now(monkeypatch):
    from spark_udfs.job import _versions as versions

    there = [(3, "of version 3")]
    monkeypatch.setattr(versions, "_delta", lambda *_: there[-1])
    spark = SimpleNamespace(read=SimpleNamespace(options=lambda **_: None))
    pin = versions.pin(spark, "", "/table", "delta", {})
    assert pin.identity == pin.now() == "of version 3"
    there.append((4, "of version 4"))
    assert (pin.identity, pin.now()) == ("of version 3", "of version 4")


@pytest.mark.needs("pyspark")
def test_the_summary_of_a_job_ends_its_last_line():
    from spark_udfs.job._plan_summary import as_text

    text = as_text(
        {
            "plan": "p",
            "strategy": "AVG",
            "output": "metrics",
            "totals": {},
            "worst": {},
            "worst_by": [],
        }
    )
    assert text.startswith("plan p: AVG, metrics\n\nscenario") and text.endswith("\n")
