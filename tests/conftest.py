"""The one Spark session and the one real cluster of a test run."""

import os
import signal
import sys

import cache
import package_under_test
import pytest

pytest_plugins = [
    "selected",
    "invariants_kept",
    "leaks",
    "skips",
    "time_limits",
]

# Where tests are started in the background, Ctrl-C is ignored, by every program that they start,
# too: some tests send one.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config):
    """Refuse to test another package than the one meant, once and not in every worker."""
    if not hasattr(config, "workerinput") and (problem := package_under_test.problem()):
        raise pytest.UsageError(problem)
    from programs import QUICK_START

    # Every program that a test starts takes these over: the driver of a Spark session is one of
    # them.
    os.environ["SPARK_SUBMIT_OPTS"] = QUICK_START
    os.environ["XDG_CONFIG_HOME"] = str(
        cache.HOME / "no-configuration"
    )  # not that of whoever runs the tests
    for name in (
        "RMQALLOC_CONTEXT",
        "NAMESRV_ADDR",
        "COLUMNS",
    ):  # text in tests is as wide as in a pipe
        os.environ.pop(name, None)


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items):
    """Tests that start servers are marked."""
    for item in items:
        if {"spark", "cluster", "java"} & {
            one.name for one in item.iter_markers()
        } or "spark" in item.fixturenames:
            item.add_marker("servers")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item, nextitem):
    """End the cluster with the last test that needs it: idle brokers take a quarter of a processor."""
    result = yield
    fixtures = item._fixtureinfo.name2fixturedefs if hasattr(item, "_fixtureinfo") else {}
    if "cluster" in fixtures and nextitem is not None and "cluster" not in nextitem.fixturenames:
        fixtures["cluster"][-1].finish(item._request)
    return result


@pytest.fixture(scope="session")
def spark():
    """One classic session, or a Spark Connect one if RMQALLOC_TEST_CONNECT is set: a session takes
    seconds to start.
    """
    os.environ.update(
        PYSPARK_PYTHON=sys.executable,
        PYSPARK_DRIVER_PYTHON=sys.executable,
        SPARK_LOCAL_IP="127.0.0.1",
    )
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("rmqalloc-tests")
    builder = (
        builder.remote("local[2]")
        if os.environ.get("RMQALLOC_TEST_CONNECT")
        else builder.master("local[2]")
    )
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        "spark.driver.memory": "2g",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.validateSchema.enabled": "true",
        "spark.sql.execution.arrow.pythonUDF.columnarInput.enabled": "false",
    }.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def cluster():
    """A real RocketMQ; its servers take about ten seconds to start."""
    from live_cluster import LiveCluster

    with LiveCluster() as live:
        yield live


@pytest.fixture(scope="session")
def java(cluster):
    """A process of Java consumers at the real cluster."""
    from live_consumers import Consumers

    with Consumers(cluster.name_server) as process:
        yield process


COMPARED = pytest.StashKey[list[str]]()


@pytest.fixture(scope="session")
def tally(pytestconfig):
    """Counts of what the live tests compared, shown at the end of the run."""
    from live_proofs import Tally

    counts = Tally()
    yield counts
    pytestconfig.stash[COMPARED] = [str(counts)]


def pytest_sessionfinish(session):
    """A process that runs tests for another one hands its counts over."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["compared"] = session.config.stash.get(COMPARED, [])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    compared = getattr(node, "workeroutput", {}).get("compared", [])
    node.config.stash[COMPARED] = node.config.stash.get(COMPARED, []) + compared


def pytest_terminal_summary(terminalreporter, config):
    for compared in config.stash.get(COMPARED, []):
        terminalreporter.write_line(f"compared at a real cluster:\n{compared}")
