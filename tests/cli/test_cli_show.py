"""`rmqalloc show` and `rmqalloc groups`: rows by condition, every form, exit codes, and the verbs
that others have for them.
"""

import csv
import io
import json

import pytest
from audited import group, queues, snapshot, topic
from loopback import TOPIC, Loopback, SimulatedLoopback

import rmqalloc
from rmqalloc.cli import main
from rmqalloc.snapshot.plain_data import to_document
from rmqalloc.snapshot.snapshot import Client, Lag, SourceError

CLUSTER = snapshot(
    group("10.0.0.1@a", "10.0.0.1@a", "10.0.0.2@b", name="twice"),
    group(
        *(f"10.0.0.{i}@c" for i in range(1, 5)),
        name="idle",
        lags=(Lag(queues([1])[0], 500, 10, 1_795_250_051_509),),
    ),
    group(
        Client("10.0.0.9@d"),
        name="doubt",
        strategy_source="assumed",
        strategy_doubt="nothing shows it",
    ),
    topics=(topic(a=3),),
)


@pytest.fixture
def run(tmp_path, capsys):
    """The exit code and what a command prints on standard output and standard error, of a snapshot."""

    def run(*arguments, cluster=CLUSTER):
        (tmp_path / "s.json").write_text(json.dumps(to_document(cluster)))
        verb, *options = arguments
        code = main([verb, "-f", str(tmp_path / "s.json"), *options])
        return code, *capsys.readouterr()

    return run


def rows(run, *arguments):
    code, out, _ = run(*arguments, "-o", "json")
    assert code == 0
    return json.loads(out)


def test_text_and_tables_are_those_of_the_doors(run, tmp_path):
    run("groups")
    read = rmqalloc.read(tmp_path / "s.json")
    assert run("show")[1] == f"{rmqalloc.show(read)}\n"
    assert run("groups")[1] == f"{rmqalloc.groups(read)}\n"
    for by, table in (("queue", "queues"), ("client", "clients"), ("host", "hosts")):
        assert rows(run, "show", "--by", by) == getattr(rmqalloc.show(read), table).to_pylist()
    assert rows(run, "groups") == rmqalloc.groups(read).groups.to_pylist()


@pytest.mark.parametrize("verb", ["show", "groups"])
def test_every_form_is_written(verb, run):
    n = len(rows(run, verb))
    code, out, _ = run(verb, "-o", "csv")
    assert code == 0 and len(list(csv.reader(io.StringIO(out)))) == n + 1
    assert len(run(verb, "-o", "jsonl")[1].splitlines()) == n
    assert run(verb, "-o", "html")[1].startswith("<!")
    for form in ("wide", "yaml", "md"):
        assert "consumer_group" in run(verb, "-o", form)[1].replace("\\", "")


def test_rows_are_chosen_ordered_and_bounded(run):
    assert [row["consumer_group"] for row in rows(run, "groups", "--where", "idle>0")] == [
        "twice",
        "idle",
    ]
    assert rows(run, "groups", "--where", "idle>0", "--where", "consumer_group~id*")[0]["idle"] == 1
    code, out, _ = run("groups", "--where", "idle>0")
    assert code == 0 and out.startswith("2 groups: 1 with errors")
    code, out, _ = run(
        "groups", "--sort", "-messages", "--columns", "consumer_group,messages", "--top", "1"
    )
    assert out.splitlines() == [
        "consumer_group  messages",
        "idle                 490",
        "(1 of 3 rows)",
    ]
    assert {row["state"] for row in rows(run, "show", "--where", "state=unread")} == {"unread"}
    assert [
        row["client_id"] for row in rows(run, "show", "--by", "client", "--where", "is_idle=yes")
    ] == ["10.0.0.4@c"]
    assert run("show", "--where", "owners=nobody-has-this")[1] == "No queue.\n"


def test_one_queue_and_one_client(run):
    assert {row["queue_id"] for row in rows(run, "show", "--queue", "1")} == {1}
    assert len(rows(run, "show", "--queue", "a:1")) == 3
    assert {row["client_id"] for row in rows(run, "show", "--by", "client", "-c", "10.0.0.2")} == {
        "10.0.0.2@b",
        "10.0.0.2@c",
    }
    text = run("show", "-g", "idle", "-c", "10.0.0.2@*")[1]
    assert (
        "10.0.0.2@c" in text
        and "490" in text
        and "11-21 08:34:11" in text
        and "10.0.0.1@c" not in text
    )


@pytest.mark.parametrize(("arguments", "said"), [
    (["show", "--where", "idle>0"], "there is no column 'idle'; there are consumer_group"),
    (["groups", "--where", "idel>0"], "did you mean idle?"),
    (["groups", "--where", "idle"], "'idle' is not a condition"),
    (["groups", "--where", "idle>many"], "idle holds numbers, got 'many'"),
    (["show", "--queue", "seven"], "'seven' is not a queue: give ID, BROKER:ID or"),
    (["show", "--queue", "b:x"], "'b:x' is not a queue: give ID, BROKER:ID or"),
    (["show", "--by", "host", "--queue", "7"], "--queue selects rows of queues"),
    (["show", "--columns", "ownr"], "did you mean owner?"),
    (["plan", "--scale", "2", "--show", "groups", "--where", "movd>0"], "did you mean moved?"),
])  # fmt: skip
def test_wrong_usage_says_what_would_be_right(run, arguments, said):
    code, out, err = run(*arguments)
    assert (code, out) == (64, "") and said in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--queue", "z:1"], "no broker matches 'z'; "),
        (["--queue", "a:77"], "no queue matches a:77; queue ids are 0 to 2"),
        (["--queue", "x/a:0"], "no topic matches 'x'; "),
        (["-c", "idle"], "no client matches 'idle'; idle is a consumer group"),
        (["-g", "10.0.0.9@d"], "10.0.0.9@d is a client of group doubt"),
    ],
)
def test_a_name_of_nothing_ends_with_1(run, words, said):
    code, out, err = run("show", *words)
    assert (code, out) == (1, "") and said in " ".join(err.split())


def test_a_queue_without_a_row_for_another_reason_is_no_wrong_name(run):
    code, out, _ = run("show", "--queue", "a:0", "--where", "messages>999999")
    assert (code, out) == (0, "No queue.\n")


def test_conditions_that_no_row_meets_are_said_on_standard_error(run):
    code, out, err = run("groups", "--where", "group=nobody", "-o", "json")
    assert (code, json.loads(out)) == (0, [])
    assert "no row of 3 matches --where" in err


def test_conditions_are_of_every_table(run):
    code, out, _ = run(
        "plan",
        "-g",
        "idle",
        "--scale",
        "2",
        "--show",
        "clients",
        "--where",
        "status=gone",
        "-o",
        "jsonl",
    )
    assert code == 0 and {json.loads(line)["status"] for line in out.splitlines()} == {"gone"}
    assert run("plan", "-g", "idle", "--scale", "2", "--where", "moved>0")[1].startswith(
        "consumer_group"
    )


def test_what_is_not_known_is_no_failure_and_can_be_stated(run):
    code, out, err = run("groups", "-g", "doubt")
    assert code == 0 and "1 with unknown owners" in out and "in doubt" in err
    for given in (["--require", "any"], ["--strategy", "AVG"]):
        assert rows(run, "groups", "-g", "doubt", *given)[0]["unowned"] == 0
        assert rows(run, "show", "-g", "doubt", *given)[0]["owners"] == ["10.0.0.9@d"]


@pytest.mark.parametrize("verb", ["show", "groups"])
def test_a_partial_snapshot_ends_with_4_and_a_weak_strategy_with_3(run, verb):
    lost = SourceError("broker a", "GET_CONSUMER_CONNECTION_LIST twice", "timeout")
    part = snapshot(*CLUSTER.groups, topics=CLUSTER.topics, errors=(lost,))
    code, out, err = run(verb, cluster=part)
    assert code == 4 and "twice" in out and "GET_CONSUMER_CONNECTION_LIST twice" in out + err
    assert run(verb, "--allow-partial", cluster=part)[0] == 0
    code, out, err = run(verb, "-g", "doubt", "--require", "fitted")
    assert code == 3 and "doubt" in out and "--require fitted not kept" in err


@pytest.mark.parametrize(("verb", "meant"), [
    ("list", "rmqalloc groups"), ("ls", "rmqalloc groups"), ("get", "rmqalloc groups"), ("top", "rmqalloc groups"),
    ("status", "rmqalloc groups"), ("describe", "rmqalloc show"), ("lag", "rmqalloc show"),
])  # fmt: skip
def test_verbs_of_other_tools_name_the_one_that_is_meant(capsys, verb, meant):
    assert main([verb]) == 64
    err = capsys.readouterr().err
    assert f"No such command {verb!r}; `{meant}`" in err and "rmqalloc show" in err


def test_a_running_cluster_is_shown_and_one_that_answers_in_part_ends_with_4(capsys):
    with Loopback() as cluster:
        code = main(["show", "-n", cluster.name_server, "-o", "json"])
        rows = json.loads(capsys.readouterr().out)
        assert code == 0 and {row["topic"] for row in rows} >= {TOPIC}
        assert main(["groups", "-n", cluster.name_server]) == 0
        assert capsys.readouterr().out.startswith("1 group: ")
    with SimulatedLoopback(frozen=("broker-1",)) as cluster:
        for verb in ("show", "groups"):
            code = main([verb, "-n", cluster.name_server, "-o", "json"])
            rows, err = json.loads(capsys.readouterr().out), capsys.readouterr().err
            assert code == 4 and {row["consumer_group"] for row in rows} == {"g"}
            if verb == "show":
                frozen = [row for row in rows if row["broker_name"] == "broker-1"]
                assert frozen and {row["known"] for row in frozen} == {"unknown"}
            else:
                assert rows[0]["unowned"] is None or "brokers" in rows[0]["not_known"], err
