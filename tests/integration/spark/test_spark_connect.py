"""Spark Connect gives the answers of a classic session and of no Spark at all."""

import json
import os
import sys

import pytest
from checkout import SUPPORT
from interpreter import PLACES
from programs import python
from spark_answers import SHOWN, assigned_in, owners_in, transformed, without_spark, write_units
from spark_standalone import connect_server

pytestmark = [pytest.mark.spark, pytest.mark.needs("grpc")]

ANSWERS = SUPPORT / "spark_answers.py"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    return write_units(tmp_path_factory.mktemp("connect") / "fleet")


@pytest.fixture(scope="module")
def answers(fleet):
    here = {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join(map(str, PLACES))}
    with connect_server(fleet.parent / "server", "local[2]", {}, **here) as server:
        done = python(ANSWERS, server, fleet, fleet.parent / "written", "{}")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_connect_answers_as_classic_and_as_no_spark(answers, spark, fleet):
    assert answers["kind"].startswith("pyspark.sql.connect")
    expected = without_spark(fleet)
    assert transformed(spark, fleet) == expected
    assert answers["transformed"] == expected
    assert answers["columns"] == owners_in(expected)


def test_functions_have_their_names_on_connect(answers):
    assert answers["shown"] == SHOWN


def test_the_job_on_connect_writes_the_same(answers, fleet):
    assert answers["written"] == assigned_in(without_spark(fleet))
