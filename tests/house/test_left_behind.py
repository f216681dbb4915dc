"""A run of tests leaves no program behind, however it ends: Spark, brokers, name servers, browsers."""

import os
import signal
import sys
import time
from pathlib import Path
from uuid import uuid4

import chromium
import pytest
import tied
from checkout import ROOT
from programs import environment

pytestmark = [pytest.mark.cluster, pytest.mark.java, pytest.mark.spark]

MARK = "RMQALLOC_TEST_RUN"
ENDS_WITHIN = 600

RUN = """
import contextlib, pathlib, time
import pytest
from chromium import Chromium, find
from live_cluster import LiveCluster
from spark_standalone import standalone

@pytest.fixture
def name_server():
    live = LiveCluster()
    live.start_name_server()
    yield live
    live.stop()

def test_x(spark, name_server, tmp_path):
    assert spark.range(3).count() == 3
    browser = Chromium(tmp_path / "profile") if find() else contextlib.nullcontext()
    with browser, standalone(tmp_path / "spark", n_workers=1):
        pathlib.Path(ready).touch()
        END
"""
SERVERS = [b"NamesrvStartup", b"deploy.master", b"deploy.worker", b"SparkSubmit"] + [
    b"chrom"
] * bool(chromium.find())
ENDS = {"fails": "raise AssertionError", "waits": "time.sleep(600)"}


def run_of_tests(folder, mark, end, *options):
    """A run of one test that has one of every server, at the point where all of them serve."""
    ready, file = folder / "ready", folder / "test_x.py"
    file.write_text(
        RUN.replace("ready)", f"{str(ready)!r})").replace("END", ENDS[end]), encoding="utf-8"
    )
    settings = [
        "-p",
        "conftest",
        "-p",
        "no:cacheprovider",
        "-c",
        ROOT / "pyproject.toml",
        "--rootdir",
        folder,
    ]
    command = [sys.executable, "-m", "pytest", "-q", *map(str, settings), *options, str(file)]
    out = (folder / "out").open("wb")
    with out:
        return tied.popen(
            command, env=environment(**{MARK: mark}), cwd=folder, stdout=out, stderr=out
        ), ready


def programs(mark):
    """Command lines of all processes that the run has started, or that those have."""
    found = {}
    for one in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (one / "environ").read_bytes():
                found[one.name] = (one / "cmdline").read_bytes().replace(b"\0", b" ")
        except OSError:  # it has ended, or is somebody else's
            continue
    return found


def wait_until(what, says, within=1200):
    until = time.monotonic() + within
    while not what():
        assert time.monotonic() < until, says()
        time.sleep(0.1)


@pytest.mark.skipif(
    sys.platform != "linux", reason="no other system ends programs with the one that started them"
)
@pytest.mark.parametrize(
    ("end", "how", "options"),
    [
        ("fails", None, []),
        ("waits", signal.SIGINT, []),
        ("waits", signal.SIGTERM, []),
        ("waits", signal.SIGKILL, ["-n", "1"]),
    ],
    ids=["fails", "interrupted", "terminated", "killed with its workers at work"],
)
def test_nothing_is_left(tmp_path, end, how, options):
    mark = uuid4().hex
    run, ready = run_of_tests(tmp_path, mark, end, *options)
    wait_until(
        lambda: ready.exists() or run.poll() is not None, lambda: (tmp_path / "out").read_text()
    )
    assert ready.exists(), (tmp_path / "out").read_text()
    if how is not None:
        served = b" ".join(programs(mark).values())
        assert all(one in served for one in SERVERS)
        os.kill(run.pid, how)
    run.wait(ENDS_WITHIN)
    wait_until(lambda: not programs(mark), lambda: programs(mark), ENDS_WITHIN)
