"""A plain session whose workers lack the packages of the driver says so in one sentence."""

import ast
import os
import pickle
import subprocess
import sys
import types
import venv
from pathlib import Path

import pyspark
import pytest
from pyspark import cloudpickle
from pyspark.errors import PySparkException

import spark_udfs
import spark_udfs.functions as rf
from rmqalloc.evaluation import PlanSpec
from rmqalloc.version import __version__
from spark_udfs import _sql_owners as sql_owners
from spark_udfs import plan_table
from spark_udfs._column_functions import sql_function
from spark_udfs._named_owners import OWNERS_DDL
from spark_udfs.job._spark_errors import JobError, explained
from spark_udfs.map_in_arrow import PlanBatches
from spark_udfs.sent import Sent
from spark_udfs.transforms import assign

UNIT = ("g", "T", [("b", 2)], ["x"])
SCHEMA = (
    "consumer_group string, topic string, "
    "brokers array<struct<broker_name: string, read_queue_nums: int>>, client_ids array<string>"
)
HOW = (
    f": install the driver's packages there (rmqalloc {__version__}), or set PYSPARK_PYTHON, before the session starts, "
    f"to a Python that has them; the driver's is {sys.executable}"
)


ARCHIVES = (Path(pyspark.__file__).parent / "python" / "lib").glob("*.zip")
ALONE = {"PYTHONPATH": os.pathsep.join(map(str, ARCHIVES)), "PYTHONSAFEPATH": "1"}
"""Variables of an interpreter that finds PySpark, as workers do, and nothing else of the driver."""


def environment_with(folder, versions):
    """The interpreter of an environment with nothing but packages of these versions."""
    venv.create(folder, with_pip=False, symlinks=True)
    [packages] = folder.glob("lib/python*/site-packages")
    for name, version in versions.items():
        (packages / name).mkdir()
        (packages / name / "__init__.py").touch()
        (packages / name / "version.py").write_text(f"__version__ = {version!r}\n")
    return folder / "bin" / "python"


@pytest.mark.parametrize(
    ("versions", "has"),
    [
        pytest.param({}, "no rmqalloc, no numpy, no pyarrow", id="nothing"),
        pytest.param({"rmqalloc": __version__, "numpy": "2"}, "no pyarrow", id="no pyarrow"),
        pytest.param(
            {"rmqalloc": "0.0.1", "numpy": "2", "pyarrow": "20"}, "rmqalloc 0.0.1", id="older"
        ),
    ],
)
def test_what_an_interpreter_lacks_is_said_before_anything_is_imported(tmp_path, versions, has):
    interpreter = environment_with(tmp_path / "environment", versions)
    done = subprocess.run(
        [interpreter, "-c", "import pickle, sys; pickle.load(sys.stdin.buffer)"],
        input=cloudpickle.dumps(Sent(PlanBatches(PlanSpec("AVG")))),
        env=os.environ | ALONE,
        capture_output=True,
        check=False,
    )
    said = done.stderr.decode().splitlines()
    assert said[-1] == f"ImportError: the workers' Python, {interpreter}, has {has}{HOW}"


@pytest.mark.spark
def test_a_query_and_the_job_end_in_the_sentence_of_the_worker(spark, tmp_path, monkeypatch):
    units = spark.createDataFrame([UNIT], SCHEMA).coalesce(1)
    interpreter = environment_with(tmp_path / "environment", {})
    command = tmp_path / "python-for-spark"
    variables = " ".join(f"{name}={value}" for name, value in ALONE.items())
    command.write_text(f'#!/bin/sh\n{variables} exec {interpreter} "$@"\n')
    command.chmod(0o755)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(command))
    spark.udf.register("allocate_there", sql_function(sql_owners.BODIES["allocate"], OWNERS_DDL))
    sentence = f"the workers' Python, {interpreter}, has no rmqalloc, no numpy, no pyarrow{HOW}"
    for answer in (
        units.transform(assign("AVG")),
        units.select(rf.owners("brokers", "client_ids", "AVG")),
        units.selectExpr("allocate_there(brokers, client_ids, 'AVG')"),
    ):
        with pytest.raises(PySparkException) as raised:
            answer.collect()
        text = str(raised.value)
        lines = [line for line in text.splitlines() if "the workers' Python" in line]
        assert lines == [f"ImportError: {sentence}"], text
        assert explained(text) == sentence
    with pytest.raises(JobError) as raised:
        plan_table(spark, units, PlanSpec("AVG"), out=str(tmp_path / "plans"))
    assert str(raised.value) == sentence


def test_a_worker_with_the_packages_gets_the_function_itself():
    kernel = assign
    assert pickle.loads(cloudpickle.dumps(Sent(kernel))) is kernel
    assert Sent(kernel).__name__ == "assign" and Sent(PlanSpec("AVG")).__name__ == "PlanSpec"


def test_a_missing_module_of_the_caller_is_named_as_python_names_it(monkeypatch):
    module = types.ModuleType("module_of_the_caller")
    exec("def planned(batches): ...", module.__dict__)
    with monkeypatch.context() as there:
        there.setitem(sys.modules, module.__name__, module)
        sent = cloudpickle.dumps(Sent(module.planned))
    with pytest.raises(ModuleNotFoundError, match="'module_of_the_caller'"):
        pickle.loads(sent)


RUN_BY_WORKERS = {"mapInArrow", "arrow_udf", "pandas_udf"}


def test_every_callable_that_workers_run_is_sent():
    """A callable that goes as it is fails in a worker without the package before it can say why."""
    sources = sorted(Path(spark_udfs.__file__).parent.rglob("*.py"))
    calls = [
        node
        for path in sources
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in RUN_BY_WORKERS
    ]
    assert len(calls) > 5
    bare = [
        ast.unparse(node) for node in calls if not ast.unparse(node.args[0]).startswith("Sent(")
    ]
    assert not bare, bare
