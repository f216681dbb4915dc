"""A real cluster of two workers gives the answers of one machine, with nothing on the executors but
what was shipped.
"""

import json
import shutil
import subprocess
import sys
import venv
from importlib.metadata import distribution
from pathlib import Path

import pyarrow.dataset as ds
import pytest
from checkout import ROOT, SUPPORT
from programs import QUICK_START, python
from programs import environment as variables
from spark_answers import assigned_in, in_order, owners_in, transformed, without_spark, write_units
from spark_standalone import SPARK_HOME, connect_server, standalone

import rmqalloc

NEEDED = ("numpy", "pyarrow")
"""All that our code needs in a Python worker; Spark brings its own part of PySpark along."""


def packed_environment(where: Path) -> Path:
    """Make a virtual environment, install the wheel into it, pack it, and return the archive.

    What the wheel needs is taken from the environment of the tests, so that no network is asked.
    """
    import venv_pack

    environment = where / "environment"
    venv.create(environment, with_pip=False)
    site_packages = next(environment.glob("lib/python*/site-packages"))
    for name in NEEDED:
        _copy(name, site_packages)
    _pip("--python", environment, "install", "--no-index", wheel(where))
    archive = where / "environment.tar.gz"
    venv_pack.pack(prefix=str(environment), output=str(archive), compress_level=0)
    shutil.rmtree(environment)
    return archive


def wheel(where: Path) -> Path:
    """The wheel that the tests run against; one made from this tree where they run against the tree
    itself.
    """
    if Path(rmqalloc.__file__).parents[1] != ROOT:
        return next((ROOT / "build" / "wheel").glob("*.whl"))
    tree = where / "tree"
    for name in ("pyx", "rmqalloc", "spark_udfs"):
        shutil.copytree(
            ROOT / name, tree / name, ignore=shutil.ignore_patterns("*.so", "__pycache__")
        )
    for name in ("setup.py", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    _pip("wheel", "--no-build-isolation", "--no-deps", "-w", where, tree)
    return next(where.glob("*.whl"))


def _copy(name: str, site_packages: Path) -> None:
    """Copy an installed distribution, file by file, without what no program imports: it is unpacked
    by every executor.
    """
    found = distribution(name)
    for file in found.files or []:
        if not {"..", "__pycache__", "tests", "include"} & set(file.parts):
            target = site_packages / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(str(found.locate_file(file)), target)


def _pip(*arguments: object) -> None:
    """Run pip; its output is seen only if it fails."""
    command = [sys.executable, "-m", "pip", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stdout + done.stderr


pytestmark = [pytest.mark.spark, pytest.mark.cluster, pytest.mark.needs("venv-pack")]

NEEDED_BYTES = 4_000_000_000
"""Disk for the archive and the six environments that executors unpack: 3.1 GB, measured."""
ANSWERS = SUPPORT / "spark_answers.py"
SHIPPED = {"PYSPARK_PYTHON": "./environment/bin/python", "PYSPARK_DRIVER_PYTHON": sys.executable}
SETTINGS = {
    "spark.executor.extraJavaOptions": QUICK_START,
    "spark.executor.memory": "512m",
    "spark.scheduler.minRegisteredResourcesRatio": "1",
    "spark.sql.session.timeZone": "UTC",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Where everything happens; each executor unpacks the environment anew, so it is not kept."""
    place = tmp_path_factory.mktemp("cluster")
    free = shutil.disk_usage(place).free
    assert free >= NEEDED_BYTES, (
        f"{place} has {free:,} bytes of disk free; executors need {NEEDED_BYTES:,}"
    )
    yield place
    shutil.rmtree(place)


@pytest.fixture(scope="module")
def fleet(place):
    return write_units(place / "fleet")


@pytest.fixture(scope="module")
def archive(place):
    (place / "packed").mkdir()
    return packed_environment(place / "packed")


@pytest.fixture(scope="module")
def master(place, archive):
    with standalone(place / "daemons") as master:
        if sys.platform == "linux":
            assert len(processes_in(place)) == 3, "the master and two workers are seen"
        yield master
    assert processes_in(place) == [], "a stopped cluster leaves nothing behind"


def processes_in(place):
    """Processes that work in a directory or below it."""
    found = []
    for link in Path("/proc").glob("[0-9]*/cwd"):
        try:
            if link.readlink().is_relative_to(place):
                found.append((link.parent / "cmdline").read_bytes())
        except OSError:
            continue  # ended while we looked
    return found


@pytest.fixture(scope="module")
def answers(master, fleet, archive, place):
    done = python(
        ANSWERS, master, fleet, place / "written", json.dumps(SETTINGS), archive, **SHIPPED
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_executors_have_what_was_shipped_and_nothing_else(answers, place):
    assert len(answers["workers"]) == 2, "one Python on each executor"
    for worker in answers["workers"]:
        assert Path(worker["place"]).is_relative_to(place / "daemons")
        assert Path(worker["prefix"]) == Path(worker["place"]) / "environment"
        assert Path(worker["package"]).is_relative_to(worker["prefix"])


def test_a_cluster_answers_as_one_machine_and_as_no_spark(answers, spark, fleet):
    expected = without_spark(fleet)
    assert transformed(spark, fleet) == expected
    assert answers["transformed"] == expected
    assert answers["columns"] == owners_in(expected)


def test_the_job_on_a_cluster_writes_the_same(answers, fleet):
    assert answers["written"] == assigned_in(without_spark(fleet))


def test_the_job_is_submitted_with_its_environment(master, fleet, archive, place):
    from spark_udfs.job import __main__ as job

    settings = [f"--conf={key}={value}" for key, value in SETTINGS.items()]
    submit = [
        str(SPARK_HOME / "bin" / "spark-submit"),
        "--master",
        master,
        "--archives",
        f"{archive}#environment",
    ]
    paths = ["-f", str(fleet), "--out", str(place / "submitted")]
    options = [*paths, "-s", "AVG", "--master", master]
    command = [*submit, *settings, job.__file__, *options]
    done = subprocess.run(
        command, env=variables(**SHIPPED), capture_output=True, text=True, timeout=1800
    )
    assert done.returncode == 0, done.stderr
    plan = ds.dataset(place / "submitted", format="parquet").to_table().drop_columns("plan_id")
    assert in_order(plan.to_pylist()) == without_spark(fleet)["AVG"]


@pytest.fixture(scope="module")
def answers_by_connect(master, fleet, archive, place):
    """From a Spark Connect server that works on the cluster; the client ships the environment."""
    with connect_server(place / "connect", master, SETTINGS) as server:
        done = python(ANSWERS, server, fleet, place / "written-by-connect", "{}", archive)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.needs("grpc")
def test_connect_on_the_cluster_answers_the_same(answers_by_connect, place, fleet):
    assert answers_by_connect["kind"].startswith("pyspark.sql.connect")
    assert len(answers_by_connect["workers"]) == 2
    for worker in answers_by_connect["workers"]:
        assert Path(worker["prefix"]).is_relative_to(place / "daemons")
        assert Path(worker["package"]).is_relative_to(worker["prefix"])
    expected = without_spark(fleet)
    assert answers_by_connect["transformed"] == expected
    assert answers_by_connect["written"] == assigned_in(expected)
    assert answers_by_connect["columns"] == owners_in(expected)
