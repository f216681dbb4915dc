"""What Spark's users see when a name, a column, a jar or a command of docs/data/spark.md is wrong.
No test starts Spark.
"""

import os
import re
import shlex
import subprocess
import sys
import tarfile
import venv

import pyarrow as pa
import pyarrow.parquet
import pytest
from checkout import ROOT

from rmqalloc import Fleet
from rmqalloc.evaluation.batch_planning import PlanSpec, plan_batch
from rmqalloc.evaluation.parquet_plan import plan_files
from rmqalloc.evaluation.unit_files import read_columns
from spark_udfs import _arrow_owners as arrow_owners

SPARK_PAGE = ROOT / "docs" / "data" / "spark.md"


def lists(n_rows):
    """Queues and clients of good rows."""
    queues = [[{"broker_name": "b", "queue_id": i} for i in range(4)]] * n_rows
    return pa.array(queues, arrow_owners.QUEUES), pa.array(
        [["x", "y"]] * n_rows, arrow_owners.CLIENTS
    )


# --- In SQL a wrong strategy or parameter is an error, wrong data is NULL; no worker knows a literal from a column ---

WRONG = [
    pytest.param(
        "AVGG", {}, "unknown strategy 'AVGG'; known are AVG, .*; did you mean AVG\\?", id="AVGG"
    ),
    ("avg", {}, "unknown strategy 'avg'"),
    ("", {}, "unknown strategy ''"),
    ("POP", {}, "strategy POP: missing a required argument"),
    ("CONSISTENT_HASH", {}, "reads the topic of a queue: give topic"),
    (
        "CONSISTENT_HASH",
        {"topic": "T", "virtual_nodes": -1},
        "virtual_nodes must be from 0 to 65536, got -1",
    ),
    (
        "CONSISTENT_HASH",
        {"topic": "T", "virtual_nodes": 65537},
        "virtual_nodes must be from 0 to 65536, got 65537",
    ),
    ("MACHINE_ROOM", {"machine_rooms": ["hz", None]}, "machine_rooms"),
    pytest.param(
        "MACHINE_ROOM",
        {},
        "strategy MACHINE_ROOM needs machine_rooms, as in MACHINE_ROOM\\(machine_rooms=",
        id="MACHINE_ROOM without rooms",
    ),
    pytest.param("A" * 5000, {}, "unknown strategy 'A{98,99}…A{98,99}'; known", id="5000 letters"),
]


@pytest.mark.parametrize(("strategy", "given", "said"), WRONG)
@pytest.mark.parametrize("names", [["{}"], ["{}"] * 3, ["AVG", None, "{}", "AVG"], ["{}", "AVG"]])
def test_a_wrong_strategy_is_raised_whatever_rows_are_beside_it(strategy, given, said, names):
    """As a literal, in a column, and in batches of one row."""
    names = [name and name.format(strategy) for name in names]
    literals = {name: pa.array([value] * len(names)) for name, value in given.items()}
    with pytest.raises(ValueError, match=said):
        arrow_owners.owners(pa.array(names), *lists(len(names)), **literals)
    told = (
        arrow_owners.allocate_arrays(pa.array(names), *lists(len(names)), **literals)
        .field("error")
        .to_pylist()
    )
    every = (
        "virtual_nodes" in given
    )  # a number out of bounds is wrong in rows that have no ring, too
    assert [bool(re.search(said, error or "")) for error in told] == [
        every or name == strategy for name in names
    ]


def test_a_wrong_strategy_is_raised_from_bad_rows_too():
    """Else it would depend on the data whether anybody hears of it."""
    for n_queues, n_clients in ((0, 3), (None, None), (-1, 2)):
        counts = [pa.array([one], pa.int64()) for one in (n_queues, n_clients)]
        with pytest.raises(ValueError, match="unknown strategy 'AVGG'"):
            arrow_owners.owners(pa.array(["AVGG"]), *counts)
    with pytest.raises(
        ValueError, match="CONSISTENT_HASH reads names: give queues and clients, not their numbers"
    ):
        arrow_owners.owners(
            pa.array(["CONSISTENT_HASH"]), pa.array([4]), pa.array([3]), pa.array(["T"])
        )


def test_wrong_data_is_null_in_every_batch():
    good = [0, 0, 1, 1]
    assert arrow_owners.owners(pa.array(["AVG", None]), *lists(2)).to_pylist() == [good, good], (
        "the default"
    )
    assert arrow_owners.owners(pa.nulls(1), *lists(1)).to_pylist() == [good]
    assert arrow_owners.owners(pa.array(["AVG"]), pa.nulls(1), pa.nulls(1)).to_pylist() == [None]
    queues, clients = lists(3)
    holes = pa.array([["x", None], [], ["x", "y"]], arrow_owners.CLIENTS)
    assert arrow_owners.owners(pa.array(["AVG"] * 3), queues, holes).to_pylist() == [
        None,
        None,
        good,
    ]
    assert arrow_owners.owners(pa.array(["AVG"]), queues[:1], holes[:1]).to_pylist() == [None]
    no_topic = arrow_owners.owners(
        pa.array(["CONSISTENT_HASH"]), queues[:1], clients[:1], pa.nulls(1, pa.string())
    )
    assert no_topic.to_pylist() == [None]
    most = {"topic": pa.array(["T"]), "virtual_nodes": pa.array([65536])}
    assert arrow_owners.owners(pa.array(["CONSISTENT_HASH"]), *lists(1), **most)[0].is_valid, (
        "at the bound"
    )
    assert arrow_owners.owners(pa.array([], pa.string()), *lists(0)).to_pylist() == []


# --- Columns ---


def unit(**changes):
    row = {
        "consumer_group": "g",
        "topic": "T",
        "client_ids": ["x"],
        "brokers": [{"broker_name": "b", "read_queue_nums": 2}],
    }
    return pa.Table.from_pylist([row]).rename_columns([changes.get(name, name) for name in row])


@pytest.mark.parametrize(
    ("wanted", "there", "said"),
    [
        pytest.param(
            "client_ids",
            "clients",
            "no column client_ids; it has consumer_group, topic, clients, brokers; did you mean clients?",
            id="client_ids",
        ),
        pytest.param(
            "consumer_group",
            "group",
            "no column consumer_group; it has group, topic, client_ids, brokers; did you mean group?",
            id="consumer_group",
        ),
        pytest.param(
            "brokers",
            "broker",
            "neither a queues nor a brokers column; it has .*broker; did you mean broker",
            id="brokers",
        ),
        ("topic", "zzz", "no column topic; it has consumer_group, zzz, client_ids, brokers$"),
    ],
)
def test_a_renamed_column_is_named_beside_the_one_looked_for(wanted, there, said, tmp_path):
    table = unit(**{wanted: there})
    with pytest.raises(TypeError, match=said):
        read_columns(table.column_names)
    pa.parquet.write_table(table, tmp_path / "fleet.parquet")
    with pytest.raises(TypeError, match=said):
        plan_files(tmp_path / "fleet.parquet", tmp_path / "out", PlanSpec("AVG"), threads=1)


def test_brokers_beside_queues_are_refused():
    queues = pa.array([[{"broker_name": "b", "queue_id": 0}]])
    both = unit().append_column("queues", queues)
    for refused in (
        Fleet.from_arrow,
        lambda table: plan_batch(table.to_batches()[0], PlanSpec("AVG")),
    ):
        with pytest.raises(
            TypeError, match=r"a column queues and a column brokers; drop one of them: brokers if"
        ):
            refused(both)
    assert Fleet.from_arrow(both.drop_columns("brokers")).n_queues.tolist() == [1]
    assert Fleet.from_arrow(both.drop_columns("queues")).n_queues.tolist() == [2]


# --- Errors of Java's ---

AT = "\n\tat org.apache.spark.sql.Dataset.count(Dataset.scala:1)\n\tat java.base/java.lang.Thread.run(Thread.java:840)"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(
            f"An error occurred while calling o61.load.\n: java.lang.NoClassDefFoundError: org/apache/iceberg/Table{AT}"
            f"\nCaused by: java.lang.ClassNotFoundException: org.apache.iceberg.Table{AT}",
            "NoClassDefFoundError: org/apache/iceberg/Table; ClassNotFoundException: org.apache.iceberg.Table; a jar is "
            "missing",
            id="NoClassDefFoundError",
        ),
        pytest.param(
            f"An error occurred while calling o1.load.\n: java.lang.RuntimeException: java.lang.ClassNotFoundException: Class "
            f"a.S3A not found{AT}\nCaused by: java.lang.ClassNotFoundException: Class a.S3A not found{AT}",
            "ClassNotFoundException: Class a.S3A not found; a jar is missing",
            id="ClassNotFoundException",
        ),
        pytest.param(
            f"java.lang.NoSuchMethodError: 'void a.B.c()'{AT}",
            "NoSuchMethodError: 'void a.B.c()'; a jar is missing",
            id="NoSuchMethodError",
        ),
        pytest.param(
            f"An error occurred while calling o1.save.\n: java.io.IOException: No space left on device{AT}",
            "IOException: No space left on device",
            id="IOException",
        ),
        pytest.param(
            f"org.apache.spark.sql.AnalysisException: [PATH_NOT_FOUND] Path does not exist: file:/x.{AT}",
            "[PATH_NOT_FOUND] Path does not exist: file:/x.",
            id="AnalysisException",
        ),
        pytest.param(
            f"Job aborted.\nCaused by: java.io.FileNotFoundException: x{AT}",
            "FileNotFoundException: x",
            id="FileNotFoundException",
        ),
    ],
)
@pytest.mark.needs("pyspark")
def test_an_error_of_java_keeps_the_name_of_its_class(text, said):
    from spark_udfs.job import _spark_errors as spark_errors

    told = spark_errors._cause(RuntimeError(text))
    assert told.startswith(said)
    assert ("a jar is missing" in told) == ("a jar is missing" in said)


# --- The page ---


@pytest.mark.needs("venv-pack")
def test_the_page_packs_an_environment_that_is_not_activated(tmp_path):
    """The command as it stands on the page, but by the venv-pack of this interpreter."""
    (line,) = [one for one in SPARK_PAGE.read_text().splitlines() if "venv-pack -" in one]
    program, *arguments = shlex.split(line)
    assert program == "environment/bin/venv-pack"
    venv.create(tmp_path / "environment", with_pip=False)
    clean = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    command = [sys.executable, "-m", "venv_pack", *arguments]
    done = subprocess.run(
        command, cwd=tmp_path, env=clean, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stderr
    with tarfile.open(tmp_path / "environment.tar.gz") as archive:
        assert "bin/python" in archive.getnames(), "PYSPARK_PYTHON=./environment/bin/python"
