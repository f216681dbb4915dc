"""``rmqalloc plan``: what it prints, what it saves, the code it leaves with, and what it says to a
slip of the hand.
"""

import csv
import dataclasses
import io
import json
import shlex
from functools import partial

import pytest
import yaml
from checkout import ROOT
from cli_commands import saved_snapshot
from programs import python

from rmqalloc.cli import main
from rmqalloc.plans import load_plan, plan_snapshot
from rmqalloc.snapshot.files import read_snapshot
from rmqalloc.snapshot.snapshot import (
    Client,
    Group,
    Lag,
    MessageQueue,
    Snapshot,
    SourceError,
    Topic,
    TopicBroker,
)

SEED = ROOT / "examples" / "snapshots" / "seed.yaml"
LEAVES = "--remove-client 10.0.0.11@1009"

BY_AVERAGE = """\
Group by-average  topic TopicTest  24 queues  AVG  clients 4 → 3
  client          before  after  gained  lost
~ 10.0.0.10@1009       6      8       2     0
- 10.0.0.11@1009       6      0       0     6
~ 10.0.0.12@1009       6      8       4     2
~ 10.0.0.13@1009       6      8       2     0
Moved 8 of 24 queues (33.3 %; the least possible is 6).  min/max 6/6 → 8/8  skew 1.00 → 1.00  idle 0  unowned 0

Until all clients follow (by notice), at the worst moment: unowned 6 (6.0 expected, 1 s at most); \
double-owned 2 (0.5 expected, 1 s at most).

"""
BY_RING = """\
Group by-ring  topic TopicTest  24 queues  CONSISTENT_HASH  clients 4 → 3
  client          before  after  gained  lost
~ 10.0.0.10@1009       6      7       1     0
- 10.0.0.11@1009       6      0       0     6
~ 10.0.0.12@1009       6      8       2     0
~ 10.0.0.13@1009       6      9       3     0
Moved 6 of 24 queues (25.0 %; the least possible is 6).  min/max 6/6 → 7/9  skew 1.00 → 1.12  idle 0  unowned 0

Until all clients follow (by notice), at the worst moment: unowned 6 (6.0 expected, 1 s at most).

"""


@pytest.fixture
def run(capsys, monkeypatch):
    """Run one command, given as one line; gives exit code, standard output and standard error. No
    line is broken.
    """
    monkeypatch.setenv("COLUMNS", "200")

    def run(line, snapshot=SEED):
        code = main(["plan", "-f", str(snapshot), *shlex.split(line)])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def saved(tmp_path):
    """Write a snapshot to a file and give its path."""
    return partial(saved_snapshot, tmp_path / "cluster.json")


def cluster(n_groups=1, topics=("T",), n_clients=2, **more):
    routes = tuple(Topic(name, (TopicBroker("b", 4),)) for name in topics)
    clients = tuple(Client(f"h{i}@1") for i in range(n_clients))
    return Snapshot(
        routes,
        tuple(
            Group(f"g{i}", tuple(topics), clients, **{"strategy": "AVG"} | more)
            for i in range(n_groups)
        ),
    )


def with_retry_topic():
    """A group of 8 queues of a topic and of one of its retry topic, all on broker a."""
    routes = Topic("orders", (TopicBroker("a", 8),)), Topic("%RETRY%g", (TopicBroker("a", 1),))
    return Snapshot(
        routes, (Group("g", ("orders", "%RETRY%g"), (Client("c1"), Client("c2")), strategy="AVG"),)
    )


@pytest.mark.parametrize(
    ("flag", "orders", "retry"),
    [
        ("--add-broker b:8", 16, 2),
        ("--set-queues 4", 4, 1),
        ("--set-queues '*=4'", 4, 1),
        ("--set-queues '%RETRY%*=4'", 8, 4),
        ("--set-queues 4 --set-queues %RETRY%g=2 --add-broker b:8", 12, 4),
    ],
)
def test_retry_topics_have_a_rule_of_their_own(run, saved, flag, orders, retry):
    code, out, _ = run(
        f"{flag} --show units -o csv --columns topic,scenario,n_queues", saved(with_retry_topic())
    )
    found = {
        row["topic"]: int(row["n_queues"])
        for row in csv.DictReader(io.StringIO(out))
        if row["scenario"] != "current"
    }
    assert (code, found) == (0, {"orders": orders, "%RETRY%g": retry})


@pytest.mark.parametrize("flags", ["-t '%RETRY%*' --set-queues 4", "--set-queues '*g=4'"])
def test_queues_of_retry_topics_alone_are_not_set_by_the_way(run, saved, flags):
    code, _, err = run(flags, saved(with_retry_topic()))
    assert code == 1
    assert "set_queues does not change retry topics" in err
    assert "a pattern that begins with %RETRY%" in err


# --- For people ---


def test_the_departure_of_the_second_of_four(run):
    code, out, err = run(LEAVES)
    sentence = (
        "Plan: 14 queues change owner in 2 of 2 groups, 6 clients gain, 2 lose; unowned 0, idle 0; "
    )
    assert out == f"{BY_AVERAGE}{BY_RING}{sentence}1 of 2 groups gets worse (skew 1).\n"
    assert (code, err) == (0, "")
    sentence = "Plan: 6 queues change owner, 3 clients gain, 1 loses; unowned 0, idle 0; "
    assert run(f"{LEAVES} -g '*ring'")[1] == f"{BY_RING}{sentence}worse: skew 1.00 → 1.12.\n"


def test_several_topics_come_together_first(run, saved):
    lags = (Lag(MessageQueue("T", "b", 3), 1_234_567, 0),)
    path = saved(cluster(topics=("T", "U", "V"), n_clients=3, lags=lags))
    out = run("--remove-client h2@1 --top 2 --to-strategy AVG_BY_CIRCLE", path)[1]
    assert out.startswith(
        "Group g0  all 3 topics  12 queues  AVG → AVG_BY_CIRCLE  clients 3 → 2\n"
        "  client  before  after  gained  lost\n"
        "~ h0@1         6      6       3     3\n"
        "~ h1@1         3      6       6     3\n"
        "- h2@1         3      0       0     3\n"
        "Moved 9 of 12 queues (75.0 %; the least possible is 3).  min/max 3/6 → 6/6  skew 1.50 → 1.00  idle 0  unowned 0"
    )
    assert "backlog moved 1.23 M messages" in out
    assert [line.split()[2:4] for line in out.splitlines() if "  topic " in line] == [
        ["topic", "T"],
        ["topic", "U"],
    ]
    assert "\nand 1 more topic (--top)\n" in out


def test_what_becomes_worse_is_marked(run, saved):
    out = run("--scale 6", saved(cluster()))[1]
    assert "! 2 clients own no queue: 4 queues, 6 clients\n" in out
    assert "+ what-if-000004       0      0       0     0\n" in out
    assert "Group g0  topic T  4 → 7 queues" in run("--set-queues T=7", saved(cluster()))[1]
    assert "! 4 queues are unowned\n" in run("--scale 0", saved(cluster()))[1]


def test_a_ring_may_move_less_than_even_loads_would(run, saved):
    path = saved(cluster(n_clients=6, strategy="CONSISTENT_HASH"))
    assert (
        "Moved 1 of 4 queues (25.0 %; even loads need 2)." in run("--remove-client h3@1", path)[1]
    )


def test_very_many_clients_are_cut_to_those_that_change(run, saved):
    path = saved(cluster(n_clients=90))
    lines = run("--remove-client h0@1", path)[1].splitlines()
    shown = ["-", "h0@1"], ["~", "h10@1"], ["~", "h11@1"], ["~", "h12@1"], ["~", "h13@1"]
    assert [line.split()[:2] for line in lines[2:7]] == list(shown)
    assert lines[7] == "  and 85 more clients"


def test_many_groups_are_ranked(run, saved):
    snapshot = cluster(5, n_clients=2)
    big = dataclasses.replace(snapshot.groups[0], name="biggest", subscriptions=("T", "U"))
    topics = (*snapshot.topics, Topic("U", (TopicBroker("b", 40),)))
    out = run("--scale 3 --top 2", saved(Snapshot(topics, (*snapshot.groups, big))))[1].splitlines()
    assert out[0].split() == [
        "group",
        "topics",
        "queues",
        "clients",
        "moved",
        "even",
        "skew",
        "idle",
        "unowned",
    ]
    assert out[1].split()[:8] == ["!", "g0", "1", "4", "2", "→", "3", "1"], "its skew grows most"
    assert (len(out), out[3]) == (5, "  and 4 more groups (--top)")
    assert out[4].startswith(
        "Plan: 25 queues change owner in 6 of 6 groups, 6 clients gain, 7 lose; unowned 0, idle 0; "
    )


def test_the_first_rows_of_a_table_are_the_worst_unless_it_is_sorted(run, saved):
    small = cluster(1, n_clients=40).groups[0]
    groups = [
        dataclasses.replace(small, name=name, clients=small.clients[:n])
        for name, n in (("a", 40), ("b", 2))
    ]
    path = saved(dataclasses.replace(cluster(1), groups=tuple(groups)))

    def first(flags):
        return next(csv.DictReader(io.StringIO(run(f"--scale 40 -o csv {flags}", path)[1])))

    for flags in ("--show groups --top 1", "--top 1", "--show units --top 1"):
        assert (first(flags)["consumer_group"], first(flags)["scenario"]) == ("b", "scale 40")
    assert first("--show groups")["scenario"] == "current"
    assert first("--show groups --top 1 --sort consumer_group")["consumer_group"] == "a"


def test_scenarios_of_a_file(run, tmp_path):
    scenarios = [
        {"name": f"{n} clients", "changes": [{"scale_clients": {"to": n}}]} for n in (3, 5)
    ]
    (tmp_path / "many.yaml").write_text(yaml.safe_dump({"scenarios": scenarios}))
    out = run(f"--scenario {tmp_path / 'many.yaml'} -g by-ring")[1]
    assert [line for line in out.splitlines() if line.startswith("Scenario")] == [
        "Scenario 3 clients",
        "Scenario 5 clients",
    ]
    assert out.count("Plan: ") == 2


def test_what_cannot_be_assigned_is_said(run, saved, tmp_path, monkeypatch):
    snapshot = cluster(2)
    bad = dataclasses.replace(snapshot.groups[1], clients=())
    path = saved(dataclasses.replace(snapshot, groups=(snapshot.groups[0], bad)))
    nodes = {"name": "nodes", "changes": [{"set_virtual_nodes": {"virtual_nodes": 3}}]}
    (tmp_path / "nodes.json").write_text(json.dumps({"scenarios": [nodes]}))
    monkeypatch.chdir(tmp_path)
    for change, when in (("--scenario nodes.json", ""), ("--scale 3", " before any change")):
        code, out, err = run(change, path)
        assert code == 0
        assert out.endswith(
            f"! cannot be assigned{when}: g1 topic T: cidAll is null or cidAll empty\n"
        )
    warned = dataclasses.replace(snapshot.groups[1], subscriptions=("U",))
    code, out, err = run(
        "--scale 3", saved(dataclasses.replace(snapshot, groups=(snapshot.groups[0], warned)))
    )
    assert err == "note: left out: subscriptions to topics without a readable route: g1 to U\n"


# --- For programs ---


def test_every_table_in_every_form(run):
    code, out, _ = run(f"{LEAVES} -o json")
    plan = plan_snapshot(
        read_snapshot(str(SEED)),
        [{"name": "x", "changes": [{"remove_clients": {"ids": "10.0.0.11@1009"}}]}],
    )
    wanted = [
        row | {"scenario": row["scenario"].replace("x", LEAVES[2:])}
        for row in plan.units.to_pylist()
    ]
    assert (code, json.loads(out)) == (0, wanted)
    found = list(csv.DictReader(io.StringIO(run(f"{LEAVES} -o csv --show queues")[1])))
    assert len(found) == plan.queues.num_rows
    assert sum(row["change"] == "moved" for row in found) == 14
    lines = run(f"{LEAVES} -o jsonl --show clients")[1].splitlines()
    assert [json.loads(line)["after"] for line in lines[-4:]] == [7, 0, 8, 9]
    assert run(f"{LEAVES} -o html")[1].startswith("<!DOCTYPE html>")
    assert run(f"{LEAVES} -o md --show groups")[1].startswith("| scenario ")


def test_clients_and_hosts_over_all_groups(run):
    lines = run(
        f"{LEAVES} --show totals --columns client_id,n_units,before,after --sort -after -o csv"
    )[1].splitlines()
    assert lines[:4] == [
        "client_id,n_units,before,after",
        "10.0.0.13@1009,2,12,17",
        "10.0.0.12@1009,2,12,16",
        "10.0.0.10@1009,2,12,15",
    ]
    hosts = [json.loads(line) for line in run(f"{LEAVES} --show hosts -o jsonl")[1].splitlines()]
    assert [(row["host"], row["after"]) for row in hosts[4:]] == [
        ("10.0.0.10", 15), ("10.0.0.11", 0), ("10.0.0.12", 16), ("10.0.0.13", 17),
    ]  # fmt: skip
    code, _, err = run(f"{LEAVES} --show hosts --sort beauty")
    assert (code, "there is no column 'beauty'; there are scenario, host" in err) == (64, True)


def test_a_saved_plan(run, tmp_path):
    path = tmp_path / "plan.json"
    code, _, err = run(f"{LEAVES} --out {path}")
    plan = load_plan(path)
    assert (code, err) == (0, f"note: plan {plan.digest[:12]} saved: {path}\n")
    assert plan.groups["moved"].to_pylist() == [0, 0, 8, 6]
    first = path.read_bytes()
    run(f"{LEAVES} --out {path}")
    assert path.read_bytes() == first


def test_a_snapshot_from_standard_input():
    done = python("-m", "rmqalloc", "plan", "-f", SEED, "--scale", 4, "-g", "by-ring", NO_COLOR="1")
    assert done.returncode == 0
    assert "Moved 0 of 24 queues (0.0 %; the least possible is 0)" in done.stdout


# --- Exit codes ---


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("--detailed-exitcode", 2, ""),
        ("--max-moved 8", 0, ""),
        ("--max-moved 7", 3, "group by-average: 8 queues change owner; the limit is 7"),
        pytest.param("--max-moved 30% --detailed-exitcode", 3,
                     "group by-average: 33.3 % of the queues change owner; the limit is 30 %",
                     id="--max-moved 30% --detailed-exitcode"),
        ("--gates even.yaml", 0, ""),
        ("--gates more-even.yaml", 3, "group by-ring: the skew is 1.12; the limit is 1.1"),
        ("--fail-if-worse", 3, "group by-ring: skew grows from 1.00 to 1.12"),
        ("--max-moved 200%", 0, ""),
    ],
)  # fmt: skip
def test_gates_and_differences(run, line, code, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "even.yaml").write_text("max_moved_share: 0.34\nmax_skew: 1.2\n")
    (tmp_path / "more-even.yaml").write_text("max_skew: 1.1\n")
    found, out, err = run(f"{LEAVES} {line}")
    assert found == code
    assert said in err
    assert out.startswith(BY_AVERAGE)


def test_nothing_moves(run):
    assert run("--scale 4 --detailed-exitcode")[0] == 0


def test_queues_that_go_away_are_a_difference(run):
    code, out, _ = run("--remove-broker 'broker-*' --detailed-exitcode")
    assert (
        code,
        "Plan: 0 queues change owner in 0 of 2 groups, 0 clients gain, 8 lose" in out,
    ) == (2, True)


@pytest.mark.parametrize("gate", ["--max-moved 0", "--max-unowned 9", "--fail-if-worse"])
def test_what_cannot_be_assigned_any_more_keeps_no_gate(run, saved, gate):
    path = saved(cluster(n_clients=2000))
    code, _, err = run(f"--to-strategy CONSISTENT_HASH:65536 {gate}", path)
    assert (code, "group g0: 1 of its 1 topics can no longer be assigned" in err) == (3, True)


@pytest.mark.parametrize(
    ("snapshot", "said"),
    [
        (Snapshot(), "the snapshot has none"),
        (dataclasses.replace(cluster(), topics=()), "without a readable route"),
        (cluster(n_clients=0), "cidAll empty"),
    ],
)
def test_nothing_to_plan_is_no_success(run, saved, snapshot, said):
    code, out, err = run("--to-strategy CONSISTENT_HASH:3 --max-moved 0", saved(snapshot))
    assert (code, out) == (1, "")
    assert "no group can be planned: " in err and said in err


def test_gates_are_in_the_page(run):
    assert "bound is not kept" in run(f"{LEAVES} --max-moved 7 -o html")[1]


def test_partial_data(run, saved):
    lags = "GET_CONSUME_STATS g0"
    errors = tuple(SourceError(f"broker-{i}", lags, "timed out") for i in range(7))
    errors += tuple(
        SourceError("broker-7", f"GET_CONSUME_STATS g{i}", f"reason {i}") for i in range(7)
    )
    path = saved(dataclasses.replace(cluster(), errors=errors))
    code, out, err = run("--scale 3 --max-moved 0", path)
    assert code == 4
    assert "Plan: " in out
    partial, by_time, *_, concerned = err.splitlines()
    assert partial.startswith("note: the snapshot is partial")
    sources = ", ".join(f"{lags} of broker-{i}" for i in range(7))
    assert by_time == f"note: the snapshot lacks {sources}: timed out"
    assert all(f"GET_CONSUME_STATS g{i} of broker-7: reason {i}" in err for i in range(7))
    assert concerned == "note: data missing from the snapshot affects g0"
    assert run("--scale 3 --allow-partial", path)[0] == 0
    assert run("--scale 3 --allow-partial --detailed-exitcode", path)[0] == 2


def test_what_lacks_a_client_list_is_left_out_unless_that_will_do(run, saved):
    failed = SourceError("broker-0", "GET_CONSUMER_CONNECTION_LIST g0", "timed out")
    path = saved(dataclasses.replace(cluster(), errors=(failed,)))
    code, out, err = run("--scale 3", path)
    assert (code, out) == (
        4,
        "",
    ) and "--allow-partial answers with the known clients" in err
    code, out, err = run("--scale 3 --allow-partial", path)
    assert code == 0 and "Plan: " in out
    assert "note: g0: its client list is not known (broker-0: " in err


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("", 64, "there is no change to plan; give one, such as --scale 6"),
        ("--scale many", 64, "'many' is not a whole number"),
        ("--scale -1", 64, "-1 is not in the range"),
        ("--scale 9999999", 64, "--scale: must be a whole number from 0 to 100000, got 9999999"),
        ("--add-client ''", 64, "--add-client: must be text that is not empty"),
        ("--add-broker broker-d", 64, "'broker-d' is not NAME:Q, such as broker-c:8"),
        ("--add-broker broker-d:0", 64, "must be a whole number from 1 to 65536, got 0"),
        ("--set-queues T=x", 64, "'T=x' is not N or TOPIC=N, such as orders=16"),
        ("--set-queues =4", 64, "'=4' is not N or TOPIC=N"),
        ("--to-strategy consistent-hash", 64, "did you mean CONSISTENT_HASH?"),
        ("--to-strategy CONFIG", 64, "the lists of CONFIG are not known"),
        ("--scale 3 --scenario x.yaml", 64, "--scenario is given together with --scale"),
        pytest.param("--scale 3 --max-moved many", 64,
                     "'many' is not a limit: give a number of queues or a share, such as 20 or 20%",
                     id="--scale 3 --max-moved many"),
        ("--scale 3 --max-unowned nan", 64, "'nan' is not a whole number"),
        ("--scale 3 --out -", 64, "'-' is not a file: standard output carries the result; give a path"),
        pytest.param("--add-broker broker-a:3", 1,
                     "all topics of the planned groups are already on broker 'broker-a'", id="--add-broker broker-a:3"),
        pytest.param("--to-strategy MACHINE_ROOM", 64,
                     "--to-strategy: 'MACHINE_ROOM' is neither NAME, nor CONSISTENT_HASH:N",
                     id="--to-strategy MACHINE_ROOM"),
        ("--scale 3 --max-unowned -1", 64, "-1 is not in the range"),
        ("--scale 3 -o xml", 64, "'xml' is not one of 'table', 'wide'"),
        pytest.param("--scale 3 --show pods", 64,
                     "'pods' is not one of 'units', 'groups', 'clients', 'queues'", id="--scale 3 --show pods"),
        ("--scenario none.yaml", 1, "none.yaml"),
        pytest.param("--remove-client 10.0.0.1@1009", 1,
                     "no client of the planned groups matches '10.0.0.1@1009'; near it are",
                     id="--remove-client 10.0.0.1@1009"),
        pytest.param("--remove-broker 'broker-x*'", 1,
                     "no broker of the planned groups matches 'broker-x*'", id="--remove-broker 'broker-x*'"),
        pytest.param("--set-queues TopicTst=4", 1,
                     "no topic of the planned groups matches 'TopicTst'; near it is 'TopicTest'",
                     id="--set-queues TopicTst=4"),
        pytest.param("--to-strategy MACHINE_ROOM_NEARBY-AVG", 1,
                     "the snapshot has no machine rooms: set machine_room of every broker and client",
                     id="--to-strategy MACHINE_ROOM_NEARBY-AVG"),
        ("--scale 3 -t Topic", 1, "no topic matches 'Topic'"),
    ],
)  # fmt: skip
def test_a_slip_is_told(run, line, code, said):
    found, out, err = run(line)
    assert (found, out) == (code, "")
    assert said in err
    assert "Traceback" not in err


def test_strategies_with_parameters(run):
    shown = "-g by-average -o csv --columns moved,skew"
    short, spelled = "CONSISTENT_HASH:160", "'CONSISTENT_HASH(virtual_nodes=160)'"
    assert run(f"--to-strategy {short} {shown}")[1] == run(f"--to-strategy {spelled} {shown}")[1]
    assert "unowned 0 → 24" in run("--to-strategy MACHINE_ROOM:hz+sh -g by-average")[1]


def test_a_broker_of_a_name_may_go_and_come(run):
    out = run("--remove-broker broker-a --add-broker broker-a:16 -g by-average")[1]
    assert "topic TopicTest  24 → 32 queues" in out


def test_top_cuts_tables_too(run):
    out = run(
        "--scale 3 -o csv --show groups --columns consumer_group,scenario,moved --sort -moved --top 1"
    )[1]
    assert out == 'consumer_group,scenario,moved\nby-average,"scale 3",12\n'


def test_flags_together_are_one_change(run):
    line = "--scale 3 --add-client a@1 --remove-client '*.13@*' --add-broker d:5 --remove-broker broker-a --set-queues 2"
    code, out, _ = run(f"{line} --to-strategy CONSISTENT_HASH:160 -g by-average -o json")
    _, after = json.loads(out)
    assert code == 0
    assert (after["n_queues"], after["n_clients"], after["strategy"]) == (9, 3, "CONSISTENT_HASH")
    assert after["scenario"].startswith(
        "remove-broker broker-a set-queues 2 add-broker d:5 remove-client *.13@* "
    )


# --- On a terminal ---


def test_long_names_lose_their_middle_on_a_terminal_alone(run, saved, monkeypatch):
    snapshot = cluster()
    long = Client("order-service-7d9f8b-x2kq9-and-so-on-and-on@4121")
    path = saved(
        dataclasses.replace(
            snapshot, groups=(dataclasses.replace(snapshot.groups[0], clients=(long,)),)
        )
    )
    monkeypatch.setenv("COLUMNS", "60")
    assert f"~ {long.client_id}" in run("--scale 2", path)[1]
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    lines = run("--scale 2", path)[1].splitlines()
    assert lines[2].startswith("~ order-service-…")
    assert lines[2].endswith("2       0     2")
    assert "…" in lines[2]
    assert max(map(len, lines[1:4])) == 60


def test_marks_have_colours_where_a_terminal_has():
    done = python(
        "-m",
        "rmqalloc",
        "plan",
        "-f",
        SEED,
        "--scale",
        3,
        "-g",
        "by-ring",
        FORCE_COLOR="1",
        NO_COLOR="",
    )
    assert done.returncode == 0
    assert "\x1b[31m- 10.0.0.13@1009       6      0       0     6\x1b[0m" in done.stdout
