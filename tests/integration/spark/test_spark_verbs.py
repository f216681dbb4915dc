"""The verb `bulk` in a session."""

import json

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import random_units as units

from rmqalloc.cli import main

pytestmark = pytest.mark.spark

THREE = {"name": "three", "changes": [{"scale_clients": {"to": 3}}]}
AVG = {"name": "avg", "changes": [{"set_strategy": {"strategy": "AVG"}}]}


@pytest.fixture
def run(capsys):
    """Run one command; gives exit code, standard output and standard error."""

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return run


def read(path):
    return ds.dataset(path, format="parquet").to_table()


def test_bulk_on_spark(spark, run, tmp_path):
    run("generate", "--units", 50, "--files", 2, "--out", tmp_path / "fleet")
    (tmp_path / "s.json").write_text(json.dumps({"scenarios": [THREE, AVG]}))
    arguments = ["bulk", "--spark", "-f", tmp_path / "fleet", "--out", tmp_path / "plans"]
    code, out, _ = run(*arguments, "-s", "AVG")
    assert code == 0
    lines = out.splitlines()
    assert lines[0].split() == ["units", "50"]
    assert lines[-1] == f"Parquet of owners, AVG unless a row names another: {tmp_path / 'plans'}"
    assert read(tmp_path / "plans").num_rows == 50
    more = ["--scenario", tmp_path / "s.json", "--worst", 2, "--no-file-job", "--show", "best"]
    code, out, err = run(*arguments, *more)
    assert (code, "replace it with --overwrite" in err) == (1, True)
    code, out, _ = run(*arguments, *more, "--overwrite")
    assert code == 0
    assert out.splitlines()[-1].startswith("Parquet of best, AVG unless a row names another: ")
    assert read(tmp_path / "plans").num_rows == 50
    assert out.splitlines()[0].split()[:4] == ["scenario", "units", "bad", "units"]
    pq.write_table(pa.table(units.mixed()[0]), tmp_path / "bad.parquet")
    arguments[3] = tmp_path / "bad.parquet"
    code, out, err = run(*arguments, "--overwrite", "--max-bad-fraction", 0)
    assert (code, out) == (1, "")
    assert f"rmqalloc: {len(units.BAD)} rows of the plan (" in err
    assert read(tmp_path / "plans").num_rows == 50, "the plan that was there is there"
