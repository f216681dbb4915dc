"""The planning job as a program, before Spark starts or where it does not: usage, exit codes and
errors in a line.
"""

from types import SimpleNamespace

import pytest
from job_runs import SPECS
from programs import python

from rmqalloc.cli import main
from rmqalloc.evaluation.batch_planning import PlanSpec
from rmqalloc.snapshot.synthetic import write_fleet

A_TO_B = ["-f", "a", "--out", "b"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-f", "a"], "Missing option '--out'"),
        (["--out", "b"], "Missing option '--file'"),
        (["--out", "b", "--format", "parquet"], "give either --file or --table"),
        ([*A_TO_B, "--table", "t"], "give either --file or --table"),
        ([*A_TO_B, "--option", "header"], "give K=V, such as multiLine=true, got 'header'"),
        (
            [*A_TO_B, "--option", "a=1", "--option", "A=2"],
            "is given twice for the same key: a=1, A=2; give each",
        ),
        ([*A_TO_B, "--worst", "many"], "many"),
        ([*A_TO_B, "--max-bad-fraction", "2"], "--max-bad-fraction"),
        ([*A_TO_B, "--show", "all"], "'all' is not one of"),
        ([*A_TO_B, "--threads", "2"], "with Spark, give --master 'local[N]'"),
        ([*A_TO_B, "--master", "m", "--remote", "r"], "exclude each other"),
        ([*A_TO_B, "-s", "BEST"], "unknown strategy 'BEST'"),
        ([*A_TO_B, "-s", "AVG:3"], "'AVG:3' is neither NAME, nor CONSISTENT_HASH:N"),
    ],
)
@pytest.mark.needs("pyspark")
def test_wrong_usage_of_the_job(arguments, said, capsys):
    assert main(["bulk", "--spark", *arguments]) == 64
    assert said in capsys.readouterr().err


def test_an_option_of_spark_without_it_is_named_by_its_flag(capsys):
    for flag, *value in (["--worst", "3"], ["--option", "a=1"], ["--no-file-job"]):
        assert main(["bulk", *A_TO_B, flag, *value]) == 64
        assert f"{flag.replace('--no', '-')} needs --spark" in capsys.readouterr().err


def test_a_catalog_is_the_first_of_several_parts():
    from spark_udfs.job._tables import kind_of_catalog, parse_name

    catalogs = {
        "spark.sql.catalog.plans": "org.Iceberg",
        "spark.sql.catalog.spark_catalog": "io.Delta",
    }
    spark = SimpleNamespace(
        conf=catalogs, catalog=SimpleNamespace(currentCatalog=lambda: "spark_catalog")
    )
    kinds = {
        name: kind_of_catalog(spark, parse_name(name))
        for name in ("plans", "plans.plans", "db.plans")
    }
    assert kinds == {"plans": "delta", "plans.plans": "iceberg", "db.plans": "delta"}


@pytest.mark.needs("pyspark")
def test_wrong_scenarios_are_said_before_spark_starts(tmp_path, capsys):
    path = tmp_path / "s.json"
    assert main(["bulk", "--spark", *A_TO_B, "--scenario", str(path)]) == 1
    assert "No such file" in capsys.readouterr().err
    path.write_text('{"scenarios": []}')
    assert main(["bulk", "--spark", *A_TO_B, "--scenario", str(path)]) == 1
    assert "contains no scenario; give at least one" in capsys.readouterr().err


def test_what_a_plan_is_known_by():
    from spark_udfs.job._plan_table import plan_id_of

    ids = {plan_id_of(spec, [["a", 1, 2]]) for spec in SPECS} | {
        plan_id_of(SPECS[0], [["a", 1, 3]])
    }
    assert len(ids) == 4
    rooms = [
        PlanSpec("MACHINE_ROOM", {"machine_rooms": kind(["hz", "bj"])}) for kind in (set, frozenset)
    ]
    assert len({plan_id_of(spec, None) for spec in rooms}) == 1
    with pytest.raises(TypeError, match="parameters of a job must be plain data"):
        plan_id_of(PlanSpec("CONSISTENT_HASH", {"hash_function": len}), None)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("more", "variables", "said"),
    [
        ([], {"JAVA_HOME": "/nowhere"}, " but no Java was found (JAVA_HOME is /nowhere"),
        (["--master", "nowhere"], {}, "Java gateway process exited"),
    ],
    ids=["no Java", "no master"],
)
def test_a_spark_that_does_not_start_is_said_in_a_line(more, variables, said, tmp_path):
    write_fleet(tmp_path / "fleet", 3, n_files=1)
    paths = ["-f", tmp_path / "fleet", "--out", tmp_path / "o"]
    done = python("-m", "spark_udfs.job", *paths, *more, **variables)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("rmqalloc: ") and said in last
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "o").exists()
