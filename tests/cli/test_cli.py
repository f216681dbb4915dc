"""The command line: what it prints, where, and the code it leaves with."""

import csv
import io
import json
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import random_units as units
import tied
from cli_commands import runner
from programs import environment, python

import rmqalloc
from rmqalloc import MessageQueue, sort_client_ids, sort_queues, strategy
from rmqalloc.cli import main
from rmqalloc.cli._app import app
from rmqalloc.cli._bulk_command import ProgressLine
from rmqalloc.cli._verbs import VERBS
from rmqalloc.evaluation.batch_planning import PlanSpec, plan_stream
from rmqalloc.results.renderer import text_table
from rmqalloc.snapshot.synthetic import write_fleet
from rmqalloc.text import printable

OF_QUEUES = ["allocate", "-t", "orders", "--clients", "c1", "--queues"]
GROUP = ["allocate", "-t", "orders", "--queues", "broker-b:2,broker-a:3", "--clients", "c2,c10,c1"]
POOL = "ARROW_DEFAULT_MEMORY_POOL"
DELETED = "\x1b[2J\u202e\n\x9b\ud800"


@pytest.fixture
def run(capsys):
    return runner(capsys)


# --- allocate ---


def owners_of(topic, counts, client_ids, s):
    mq_all = sort_queues(MessageQueue(topic, b, i) for b, n in counts.items() for i in range(n))
    cid_all = sort_client_ids(client_ids)
    return [
        (*queue, cid_all[i] if i >= 0 else None)
        for queue, i in zip(mq_all, s.assign(mq_all, cid_all).owners, strict=True)
    ]


@pytest.mark.parametrize(
    ("flags", "s"),
    [
        ([], strategy("AVG")),
        (["-s", "AVG_BY_CIRCLE"], strategy("AVG_BY_CIRCLE")),
        (
            ["-s", "CONSISTENT_HASH:160"],
            strategy("CONSISTENT_HASH", virtual_nodes=160),
        ),
        (["-s", "CONSISTENT_HASH(virtual_nodes=0)"], strategy("CONSISTENT_HASH", virtual_nodes=0)),
    ],
)
def test_owners_are_the_engines_topic_by_topic(run, flags, s):
    code, out, err = run(*GROUP, "-t", "bills", "-o", "json", *flags)
    answer = json.loads(out)
    want = [
        one
        for topic in ("orders", "bills")
        for one in owners_of(topic, {"broker-a": 3, "broker-b": 2}, ["c1", "c2", "c10"], s)
    ]
    assert [tuple(one.values()) for one in answer["queues"]] == want
    assert list(answer["queues"][0]) == ["topic", "broker_name", "queue_id", "client_id"]
    assert answer["strategy"] == s.get_name()
    assert answer["client_ids"] == ["c1", "c10", "c2"]
    assert (code, err) == (0, "")


def test_machine_rooms(run):
    rooms = ["-s", "MACHINE_ROOM:hz+bj"]
    code, out, _ = run(
        "allocate", "-t", "T", "--queues", "hz@b:2,sh@b:1", "--clients", "x", *rooms, "-o", "csv"
    )
    assert code == 0
    assert list(csv.reader(io.StringIO(out)))[1:] == [
        ["T", "hz@b", "0", "x"],
        ["T", "hz@b", "1", "x"],
        ["T", "sh@b", "0", ""],
    ]


def test_the_table(run):
    assert run(*GROUP)[1] == (
        "AVG  3 clients  5 queues\n\n"
        "Topic orders\n"
        "queue       owner\n"
        "broker-a:0  c1\n"
        "broker-a:1  c1\n"
        "broker-a:2  c10\n"
        "broker-b:0  c10\n"
        "broker-b:1  c2\n\n"
        "client  queues\n"
        "c1      2\n"
        "c10     2\n"
        "c2      1\n"
    )


def test_one_client(run):
    code, out, _ = run(*GROUP, "--client", "c10", "-o", "csv")
    assert code == 0
    assert (
        out
        == "topic,broker_name,queue_id,client_id\norders,broker-a,2,c10\norders,broker-b,0,c10\n"
    )


def test_clients_from_a_file(run, tmp_path):
    ids = ["10.0.0.1@1", "with,comma", "\u2028line", "😀"]
    (tmp_path / "ids").write_text("\r\n".join([*ids, "", ""]), encoding="utf-8", newline="")
    code, out, _ = run(*GROUP[:-1], f"@{tmp_path / 'ids'}", "-o", "json")
    assert code == 0
    assert json.loads(out)["client_ids"] == sort_client_ids(ids)


def test_a_repeated_client_is_noted(run):
    code, out, err = run(*GROUP[:-1], "a,b,a", "-o", "json")
    assert code == 0
    assert err.startswith("note: a client id is given more than once")
    assert [one["client_id"] for one in json.loads(out)["queues"]] == ["a", "a", None, None, "b"]


@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_names_cannot_command_the_terminal(form, tmp_path, monkeypatch, capsys):
    (tmp_path / "ids").write_bytes(
        f"ok\nevil{DELETED}".replace("\n\x9b", "\x9b").encode("utf-8", "surrogatepass")
    )
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    code = main([*GROUP[:-1], f"@{tmp_path / 'ids'}", "-t", f"t{DELETED}", "-o", form])
    out, _ = capsys.readouterr()
    assert code == 0
    assert "evil" in out
    assert all(c == "\n" or c.isprintable() for c in out)


def test_csv_for_a_program_keeps_names(run):
    _, out, _ = run(*GROUP[:-1], 'tab\there,a"b,\ud800', "-o", "csv")
    assert {row[3] for row in list(csv.reader(io.StringIO(out)))[1:]} == {
        "tab\there",
        'a"b',
        "\\ud800",
    }


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Usage: rmqalloc"),
        (["frobnicate"], "No such command 'frobnicate'"),
        (["allocate"], "Missing option"),
        ([*GROUP, "--frob"], "No such option"),
        ([*GROUP, "-s", "BEST"], "unknown strategy 'BEST'"),
        ([*GROUP, "-s", "AVG:3"], "'AVG:3' is neither NAME, nor CONSISTENT_HASH:N"),
        (
            [*GROUP, "-s", "CONSISTENT_HASH:-1"],
            "'CONSISTENT_HASH:-1' is not NAME:N, such as CONSISTENT_HASH:160",
        ),
        ([*GROUP, "-s", "MACHINE_ROOM"], "'MACHINE_ROOM' is neither NAME, nor"),
        (
            [*GROUP, "-s", "MACHINE_ROOM_NEARBY-AVG"],
            "needs machine rooms, and allocate has no option for them",
        ),
        ([*GROUP, "--client", "c3\x1b"], "none of the 3 clients matches 'c3\\x1b'"),
        ([*OF_QUEUES, "broker-a"], "'broker-a' is not BROKER:N, such as broker-a:8"),
        ([*OF_QUEUES, "b:1,b:2"], "broker 'b' is given twice"),
        ([*OF_QUEUES, "b:²"], "'b:²' is not BROKER:N"),
        ([*OF_QUEUES, "b:0"], "0 queues; from 1 to 1048576"),
        ([*OF_QUEUES, "b:9999999999"], "from 1 to 1048576"),
        ([*GROUP[:-1], ","], "--clients ',' holds no client id"),
        (["bulk", "-f", "x", "--out", "y", "--master", "local"], "--master needs --spark"),
        (
            ["bulk", "-f", "x", "--out", "y", "--spark", "--threads", "2"],
            "--threads is for a run without --spark",
        ),
        (
            ["bulk", "-f", "x", "--out", "y", "--max-bad-fraction", "0.1"],
            "--max-bad-fraction needs --spark",
        ),
        (["bulk", "-f", "x", "--out", "y", "--option", "a=b"], "--option needs --spark"),
        (["bulk", "-f", "x", "--out", "y", "--no-file-job"], "--file-job needs --spark"),
        (
            ["bulk", "-f", "x", "--out", "y", "--spark", "--max-bad-fraction", "2"],
            "2.0 is not in the range",
        ),
        (
            ["bulk", "-f", "x", "--out", "y", "--spark", "--option", "header"],
            "give K=V, such as multiLine=true",
        ),
        (
            [
                "bulk",
                "-f",
                "x",
                "--out",
                "y",
                "--spark",
                "--option",
                "sep=;",
                "--option",
                "SEP=,",
            ],
            "--option is given twice for the same key: sep=;, SEP=,; give each key once",
        ),
        (
            ["bulk", "-f", "x", "--out", "y", "--spark", "--table", "t"],
            "give either --file or --table",
        ),
        (["bulk", "--out", "y"], "Missing option '--file'"),
        (["bulk", "--out", "y", "--spark"], "Missing option '--file'"),
        (
            [
                "bulk",
                "-f",
                "x",
                "--out",
                "y",
                "--spark",
                "--master",
                "local",
                "--remote",
                "sc://h",
            ],
            "--master and --remote exclude each other",
        ),
        (["generate", "--out", "x", "--units", "-1"], "-1 is not in the range x>=0"),
        pytest.param(
            ["serve"],
            "nothing to serve: give -n HOST:PORT or --context NAME of a running cluster, or -f FILE",
            id="nothing to serve",
        ),
    ],
)
def test_wrong_usage_leaves_with_64(run, arguments, said):
    code, out, err = run(*arguments)
    assert (code, out) == (64, "")
    assert said in err


# --- generate and bulk ---


def read(path):
    return ds.dataset(path, format="parquet").to_table()


def test_generate_then_bulk(run, tmp_path):
    code, out, err = run(
        "generate", "--units", 300, "--seed", 9, "--files", 3, "--out", tmp_path / "fleet"
    )
    assert (code, err) == (0, "")
    assert out.startswith(f"Parquet of 300 units: {tmp_path / 'fleet'} (3 files, ")
    assert read(tmp_path / "fleet").equals(units.synthetic(300, seed=9))
    paths = ["-f", tmp_path / "fleet", "--out", tmp_path / "owners"]
    arguments = ["bulk", *paths, "-s", "CONSISTENT_HASH:7"]
    code, out, _ = run(*arguments, "--threads", 2)
    assert code == 0
    assert out.splitlines()[-1] == f"Parquet of CONSISTENT_HASH owners: {tmp_path / 'owners'}"
    assert out.splitlines()[0].split() == ["units", "300"]
    s = strategy("CONSISTENT_HASH", virtual_nodes=7)
    rows = read(tmp_path / "owners").to_pylist()
    units.assert_assigned(rows, read(tmp_path / "fleet").to_pylist(), [None] * 300, s)


def test_bulk_counts_bad_rows_and_goes_on(run, tmp_path):
    pq.write_table(pa.table(units.mixed()[0]), tmp_path / "fleet.parquet")
    code, out, _ = run(
        "bulk", "-f", tmp_path / "fleet.parquet", "--out", tmp_path / "owners", "-s", "AVG"
    )
    assert code == 0
    assert out.splitlines()[1].split() == ["bad", "units", str(len(units.BAD))]


SCENARIOS = {
    "scenarios": [
        {"name": "eight", "changes": [{"scale_clients": {"to": 8}}]},
        {
            "name": "ring",
            "changes": [{"set_strategy": {"strategy": "CONSISTENT_HASH"}}],
            "groups": "*order*",
        },
    ]
}


def test_bulk_tries_scenarios(run, tmp_path):
    run("generate", "--units", 40, "--files", 2, "--out", tmp_path / "fleet")
    (tmp_path / "s.json").write_text(json.dumps(SCENARIOS))
    arguments = ["bulk", "-f", tmp_path / "fleet", "--scenario", tmp_path / "s.json", "--out"]
    code, out, _ = run(*arguments, tmp_path / "plan")
    assert code == 0
    header, *lines, last = out.splitlines()
    assert header.split()[:3] == ["scenario", "units", "bad"]
    assert header.index("units") + len("units") == lines[0].index(" 40 ") + len(
        " 40"
    )  # figures end where their names end
    assert [line.split()[:3] for line in lines] == [
        [name, "40", "0"] for name in ("current", "eight", "ring")
    ]
    assert last == f"Parquet of AVG metrics: {tmp_path / 'plan'}"
    spec = PlanSpec("AVG", scenarios=SCENARIOS["scenarios"])
    wanted = pa.Table.from_batches(plan_stream(read(tmp_path / "fleet").to_batches(), spec))
    assert read(tmp_path / "plan").equals(wanted)
    assert run(*arguments, tmp_path / "plan", "--show", "best")[0] == 0
    assert read(tmp_path / "plan").num_rows == 40


def test_bulk_says_what_is_wrong_with_scenarios(run, tmp_path):
    run("generate", "--units", 3, "--files", 1, "--out", tmp_path / "fleet")
    path = tmp_path / "s.json"
    arguments = [
        "bulk",
        "-f",
        tmp_path / "fleet",
        "--out",
        tmp_path / "plan",
        "--scenario",
        path,
    ]
    for text, said in (
        (None, "No such file or directory"),
        ('{"scenarios": []}', f"{path}:1:15: contains no scenario; give at least one"),
        (
            json.dumps(SCENARIOS).replace("to", "too"),
            ": scenario 'eight': changes[0].scale_clients.",
        ),
        (
            json.dumps(SCENARIOS).replace("CONSISTENT_HASH", "MACHINE_ROOM_NEARBY-AVG"),
            "bring the column broker_rooms",
        ),
    ):
        if text is not None:
            path.write_text(text)
        code, out, err = run(*arguments)
        assert (code, out) == (1, "")
        assert err.startswith("rmqalloc: ")
        assert said in err
        assert not (tmp_path / "plan").exists()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        pytest.param(lambda path: None, "does not exist", id="nothing"),
        pytest.param(lambda path: path.mkdir(), "holds no Parquet file", id="an empty folder"),
        pytest.param(lambda path: path.write_text("no"), "arquet", id="a text"),
        pytest.param(
            lambda path: pq.write_table(pa.table({"topic": ["T"]}), path),
            "the table has no column consumer_group",
            id="a table of one column",
        ),
    ],
)
def test_bulk_fails_in_one_message(run, tmp_path, make, said):
    make(tmp_path / "fleet")
    code, out, err = run("bulk", "-f", tmp_path / "fleet", "--out", tmp_path / "owners")
    assert (code, out) == (1, "")
    assert err.startswith("rmqalloc: ")
    assert said in err
    assert err.count("\n") == 1
    assert not (tmp_path / "owners").exists()


def test_foreign_files_are_never_replaced(run, tmp_path):
    run("generate", "--units", 3, "--files", 1, "--out", tmp_path / "fleet")
    (tmp_path / "thesis.txt").write_text("the only copy")
    for arguments in (
        ("generate", "--units", 3, "--out", tmp_path),
        ("bulk", "-f", tmp_path / "fleet", "--out", tmp_path),
        ("bulk", "-f", tmp_path / "fleet", "--out", tmp_path / "fleet"),
    ):
        code, _, err = run(*arguments)
        assert code == 1
        assert "give " in err
    assert (tmp_path / "thesis.txt").read_text() == "the only copy"
    assert read(tmp_path / "fleet").num_rows == 3


# --- The rest ---


def test_version_and_help(run):
    assert run("--version") == (0, f"rmqalloc {rmqalloc.__version__}\n", "")
    assert "-h" in app.context_settings["help_option_names"]
    for verb in VERBS:
        code, out, err = run(verb, "-h")
        assert (code, err) == (0, "")
        assert out.startswith(f"Usage: rmqalloc {verb}")
        assert verb in run("--help")[1]


def test_doctor(run, monkeypatch, tmp_path):
    code, out, err = run("doctor")
    assert (code, err) == (0, "")
    found = dict(line.split(maxsplit=1) for line in out.splitlines())
    assert found["rmqalloc"] == rmqalloc.__version__
    assert found["pyarrow"] == pa.__version__
    assert "instruction" in found
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert "Java 17 or newer" in run("doctor")[1]

    def version(package):
        raise PackageNotFoundError(package)

    monkeypatch.setattr("rmqalloc.cli._doctor_command.version", version)
    assert re.search(r"^numpy +not installed$", run("doctor")[1], re.MULTILINE)


def test_each_verb_imports_only_what_it_needs():
    script = "import sys; from rmqalloc.cli import main; main(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    done = python("-c", script, *GROUP)
    imported = set(done.stderr.split())
    assert "click" in imported
    assert not imported & {
        "pyarrow",
        "pyspark",
        "pandas",
        "spark_udfs",
        "rmqalloc.cli._bulk_command",
    }


_UNUSED_OF_A_FILE = {
    *("asyncio", "csv", "hashlib", "logging", "pandas", "pydoc", "sqlite3", "ssl"),
    *("numpy.polynomial", "pyarrow.acero", "pyarrow.compute", "pyarrow.dataset", "pyarrow.parquet"),
    *("rmqalloc.history", "rmqalloc.remoting.bodies", "rmqalloc.report.html", "rmqalloc.rollouts"),
    *("rmqalloc.service", "rmqalloc.simulation", "rmqalloc.snapshot.live", "rmqalloc.watching"),
}


@pytest.mark.parametrize(
    ("verb", "unused"),
    [
        (("plan", "--scale", "3"), {"rmqalloc.audit", "rmqalloc.report"}),
        (("show",), {"rmqalloc.audit._check", "rmqalloc.plans._plan", "rmqalloc.report"}),
        (("check",), {"rmqalloc.audit.owner_tables", "rmqalloc.plans._plan"}),
        (("groups",), {"rmqalloc.audit.owner_tables", "rmqalloc.plans._plan", "rmqalloc.report"}),
    ],
)
def test_a_verb_on_a_small_file_imports_what_it_needs(verb, unused):
    script = (
        "import sys; from rmqalloc.cli import main; main(); print(*sys.modules, file=sys.stderr)"
    )
    done = python("-c", script, *verb, "-f", "example:orders")
    imported = set(done.stderr.split())
    assert "pyarrow" in imported
    assert not imported & (_UNUSED_OF_A_FILE | unused)


def test_a_result_draws_itself_in_a_command():
    """Though nothing has imported the module that draws it."""
    script = (
        "import sys; from rmqalloc import lazy; lazy.is_command = True; import rmqalloc;"
        "made = rmqalloc.groups(rmqalloc.read('example:seed')); print(made); print(*sys.modules, file=sys.stderr)"
    )
    done = python("-c", script)
    assert done.stdout.startswith("2 groups: "), done.stdout
    assert "rmqalloc.audit.group_table_text" in done.stderr.split()


def test_bulk_imports_what_its_input_needs(tmp_path):
    script = "import sys; from rmqalloc.cli import main; code = main(); print(*sys.modules, file=sys.stderr); sys.exit(code)"
    write_fleet(tmp_path / "fleet", 10)
    done = python(
        "-c", script, "bulk", "-f", str(tmp_path / "fleet"), "--out", str(tmp_path / "out")
    )
    assert done.returncode == 0, done.stderr
    imported = set(done.stderr.split())
    assert "rmqalloc.evaluation.parquet_plan" in imported
    assert not imported & {
        "pandas",
        "pyarrow.compute",
        "pyarrow.acero",
        "rmqalloc.scenarios.scenario",
        "rmqalloc.documents.document",
    }


def test_without_click_it_says_how_to_get_it():
    script = (
        "import sys; sys.modules['click'] = None; from rmqalloc.cli import main; sys.exit(main())"
    )
    done = python("-c", script, "doctor")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        'rmqalloc: click is not installed: install rmqalloc with the extra [cli], or pip install "click"\n'
    )


@pytest.mark.parametrize(
    ("missing", "flags", "extra"), [("pyarrow", [], "arrow"), ("pyspark", ["--spark"], "spark")]
)
def test_without_a_library_it_says_how_to_get_it(missing, flags, extra):
    script = f"import sys; sys.modules['{missing}'] = None; from rmqalloc.cli import main; sys.exit(main(sys.argv[1:]))"
    done = python("-c", script, "bulk", "-f", "x", "--out", "y", *flags)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"rmqalloc: {missing} is not installed: "
        f'install rmqalloc with the extra [{extra}], or pip install "{missing}"\n'
    )


@pytest.mark.parametrize(("chosen", "used"), [({}, "system"), ({POOL: "mimalloc"}, "mimalloc")])
def test_bulk_has_arrow_take_memory_from_the_c_library_unless_told_otherwise(
    tmp_path, chosen, used
):
    script = (
        "from rmqalloc.cli import main; main()\n"
        "import pyarrow; print(pyarrow.default_memory_pool().backend_name)"
    )
    write_fleet(tmp_path / "fleet", 1)
    files = ("-f", str(tmp_path / "fleet"), "--out", str(tmp_path / "plan"))
    done = python("-c", script, "bulk", *files, **chosen)
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, [used])


@pytest.mark.parametrize("given", ["", "['--version']"])
def test_the_end_of_a_command_searches_for_no_cycles(given):
    script = (
        f"import gc; from rmqalloc.cli import main; main({given}); print(gc.get_freeze_count() > 0)"
    )
    assert python("-c", script, "--version").stdout.splitlines()[-1] == str(not given)


@pytest.mark.thorough
def test_as_a_module_and_into_a_closed_pipe():
    done = python("-m", "rmqalloc", *GROUP, PYTHONWARNINGS="error")
    assert (done.returncode, done.stderr) == (0, "")
    assert "broker-a:0  c1" in done.stdout
    command = [sys.executable, "-m", "rmqalloc", *GROUP[:4], "b:100000", "--clients", "x"]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with tied.popen(command, env=environment(), **streams) as pipe:
        pipe.stdout.readline()
        pipe.stdout.close()
        assert pipe.stderr.read() == b""
        assert pipe.wait(60) in (0, 1)


def test_printable_is_unambiguous():
    assert printable("10.0.0.1@1#2 😀 é 中") == "10.0.0.1@1#2 😀 é 中"
    assert printable(DELETED) == r"\x1b[2J\u202e\n\x9b\ud800"
    assert printable("\x1b") != printable(r"\x1b")
    assert text_table(("a", "b"), [("\n", "x")]) == ["a   b", "\\n  x"]


@pytest.mark.parametrize("on_terminal", [True, False])
def test_progress(monkeypatch, capsys, on_terminal):
    monkeypatch.setattr("sys.stderr.isatty", lambda: on_terminal, raising=False)
    clock = iter([0, 1, 5, 6, 10, 11])
    monkeypatch.setattr("rmqalloc.cli._sink.time", SimpleNamespace(monotonic=lambda: next(clock)))
    show = ProgressLine()
    for done in (1, 2, 3, 4):
        show(done, 4)
    lines = capsys.readouterr().err
    if on_terminal:
        assert lines.count("\r") == 4
        assert lines.endswith("100 %  4 of 4 pieces  10 s\n")
    else:
        assert lines == " 50 %  2 of 4 pieces  5 s\n100 %  4 of 4 pieces  10 s\n"
