"""The planning job as a program, before Spark starts or where it does not: usage, exit codes and
errors in a line.
"""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from job_runs import SPECS, report
from programs import python

from rmqalloc import ArgumentError
from rmqalloc.evaluation.batch_planning import PlanSpec
from rmqalloc.evaluation.totals import Totals
from rmqalloc.snapshot.synthetic import write_fleet


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "required: --strategy"),
        (["--input", "a", "--strategy", "AVG"], "give --output, --into, or both"),
        (["--output", "b", "--strategy", "AVG"], "give either an input or a table"),
        (
            ["--input", "a", "--table", "t", "--output", "b", "--strategy", "AVG"],
            "give either an input or a table",
        ),
        (["--input", "a", "--output", "b", "--strategy", "BEST"], "unknown strategy 'BEST'"),
        (
            ["--input", "a", "--output", "b", "--strategy", "AVG", "--option", "header"],
            "is K=V, such as",
        ),
        (
            ["--input", "a", "--output", "b", "--strategy", "AVG", "--worst", "many"],
            "invalid int value",
        ),
        (["--input", "a", "--output", "b", "--strategy", "AVG", "--mode", "all"], "invalid choice"),
        (
            [
                "--input",
                "a",
                "--output",
                "b",
                "--strategy",
                "AVG",
                "--master",
                "m",
                "--remote",
                "r",
            ],
            "not allowed with",
        ),
        (
            ["--input", "a", "--output", "b", "--strategy", "AVG:3"],
            "'AVG:3' is neither NAME, nor CONSISTENT_HASH:N",
        ),
        (
            ["--input", "a", "--output", "b", "--strategy", "MACHINE_ROOM"],
            "'MACHINE_ROOM' is neither NAME, nor",
        ),
        (
            ["--input", "a", "--output", "b", "--strategy", "CONFIG"],
            "the lists of CONFIG are not known",
        ),
    ],
)
def test_wrong_usage_of_the_job(arguments, said, capsys):
    from spark_udfs.job.command import main

    with pytest.raises(SystemExit, match="64"):
        main(arguments)
    assert said in capsys.readouterr().err


def test_the_report_of_one_scenario_has_a_row_a_figure_and_of_more_a_table():
    from spark_udfs.job._plan_table import PlanResult
    from spark_udfs.job.command import _report

    totals = Totals(units=7, queues=28, moved=3)._asdict()
    one, two = (
        _report(PlanResult("id", {"totals": dict.fromkeys(names, totals)}, "o"))
        for names in ("a", "ab")
    )
    assert "idle clients" in one and "scenario" not in one
    assert "scenario" in two and two.count(" 28 ") == 2


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


def test_wrong_scenarios_are_said_before_spark_starts(tmp_path, capsys):
    from spark_udfs.job.command import main

    path = tmp_path / "s.json"
    arguments = ["--input", "a", "--output", "b", "--strategy", "AVG", "--scenarios", str(path)]
    assert main(arguments) == 1
    assert "No such file" in capsys.readouterr().err
    path.write_text('{"scenarios": []}')
    assert main(arguments) == 1
    assert "holds no scenario; give at least one" in capsys.readouterr().err


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
def test_the_job_without_java_says_what_to_install(tmp_path):
    write_fleet(tmp_path / "fleet", 3, n_files=1)
    command = [
        "-m",
        "spark_udfs.job",
        "--input",
        str(tmp_path / "fleet"),
        "--output",
        str(tmp_path / "o"),
    ]
    done = python(*command, "--strategy", "AVG", JAVA_HOME=str(tmp_path))
    assert done.returncode == 1
    assert " needs Java 17 or newer, but no Java was found (JAVA_HOME is " in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "o").exists()


@pytest.fixture
def raising(monkeypatch):
    """Let the job raise an error, without a session."""
    from spark_udfs.job import command as program

    def run(error):
        def plan_table(*_arguments, **_how):
            raise error

        monkeypatch.setattr(program, "running_session", lambda _: nullcontext())
        monkeypatch.setattr(program, "plan_table", plan_table)
        return report("fleet", "plans")

    return run


def test_an_interrupted_job_leaves_with_130(raising, capsys):
    assert raising(KeyboardInterrupt()) == 130
    assert (
        capsys.readouterr().err
        == "interrupted; nothing is complete, and the same command starts again\n"
    )


@pytest.mark.parametrize("error", [MemoryError(), OSError("no space"), ArgumentError("v")])
def test_what_a_file_or_server_did_is_said_in_a_line(error, raising, capsys):
    assert raising(error) == 1
    assert capsys.readouterr().err == f"rmqalloc: {str(error) or 'MemoryError'}\n"


@pytest.mark.parametrize("error", [KeyError("x"), ValueError("v"), TypeError("t")])
def test_anything_else_is_a_defect_of_ours_and_says_so(error, raising, capsys):
    with pytest.raises(type(error)):
        raising(error)
    assert "this is a defect of rmqalloc; please report it" in capsys.readouterr().err


@pytest.mark.thorough
def test_a_spark_that_does_not_start_is_said_in_a_line(tmp_path):
    write_fleet(tmp_path / "fleet", 3, n_files=1)
    command = [
        "-m",
        "spark_udfs.job",
        "--input",
        str(tmp_path / "fleet"),
        "--output",
        str(tmp_path / "o"),
    ]
    done = python(*command, "--strategy", "AVG", "--master", "nowhere")
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("rmqalloc: ")
    assert "Traceback" not in done.stderr
