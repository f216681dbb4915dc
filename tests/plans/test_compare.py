"""Strategies side by side: the slow twin's answers, departures among them."""

import csv
import io
import shlex

import drawn_units
import plan_snapshots
import pytest
import yaml
from bruteforce import figures, mixed
from bruteforce.planned import changed, units_of
from checkout import ROOT
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis_budget import examples

from rmqalloc import Fleet, strategy
from rmqalloc.cli import main
from rmqalloc.plans import _departures as departing
from rmqalloc.plans import plan_snapshot
from rmqalloc.plans._departures import departures
from rmqalloc.plans.comparison import COMPARISON_SCHEMA, Candidate, compare
from rmqalloc.scenarios import RemoveClients, ordered, scenarios_of
from rmqalloc.scenarios.subfleet import Rules
from rmqalloc.snapshot.files import read_snapshot, write_snapshot
from rmqalloc.snapshot.matching import NoMatchError
from rmqalloc.snapshot.plain_data import to_document
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker

SEED = ROOT / "examples" / "snapshots" / "seed.yaml"
RULES = [
    ("AVG", {}),
    ("AVG_BY_CIRCLE", {}),
    ("CONSISTENT_HASH", {}),
    ("CONSISTENT_HASH", {"virtual_nodes": 3}),
]
CANDIDATES = [Candidate(f"{name}{i}", name, params) for i, (name, params) in enumerate(RULES)]


def costs_of(snapshot, one, changes):
    """By the twin: what the departure of each client moves, over all topics, by group, client id
    and which of that id it is.
    """
    costs = {}
    set_rule = {"set_strategy": {"strategy": one.strategy, "params": one.params}}
    for unit in units_of(to_document(snapshot)):
        unit = changed(unit, {"changes": [*changes, set_rule]})
        state = mixed.state_of(mixed.alike(unit))
        for i, (client_id, _) in enumerate(unit.clients):
            left = mixed.state_of(
                mixed.alike(unit._replace(clients=unit.clients[:i] + unit.clients[i + 1 :]))
            )
            holder = client_id, unit.ids[:i].count(client_id)
            moved, least = costs.setdefault(unit.group, {}).get(holder, (0, 0))
            costs[unit.group][holder] = (
                moved + len(figures.moved(state, left)),
                least + figures.fewest_moves(state, left),
            )
    return costs


@examples(30)
@given(st.data())
def test_departures_cost_what_the_twin_says(data):
    snapshot = data.draw(plan_snapshots.snapshots())
    changes = data.draw(st.lists(drawn_units.changes(), max_size=2))
    read = scenarios_of([{"name": "x", "changes": changes}])[0].changes if changes else ()
    scenarios = [{"name": c.label, "changes": [*changes, set_strategy(c)]} for c in CANDIDATES]
    try:
        table = compare(snapshot, CANDIDATES, read).table.to_pylist()
    except NoMatchError:
        assume(False)
    after = [
        row
        for row in plan_snapshot(snapshot, scenarios).groups.to_pylist()
        if row["scenario"] != "current"
    ]
    figures = {(row["consumer_group"], row["scenario"]): row for row in after}
    assert [row["consumer_group"] for row in table[::4]] == [
        group.name for group in snapshot.groups
    ]
    for one in CANDIDATES:
        wanted = costs_of(snapshot, one, changes)
        for row in table:
            if row["strategy"] == one.label:
                key = row["consumer_group"], row["strategy"]
                assert {name: row[name] for name in COMPARISON_SCHEMA.names[2:12]} == {
                    name: figures[key][name] for name in COMPARISON_SCHEMA.names[2:12]
                }
                assert_costs(row, wanted.get(row["consumer_group"], {}))


def set_strategy(one):
    return {"set_strategy": {"strategy": one.strategy, "params": one.params}}


def assert_costs(row, costs):
    if not costs:
        assert (
            row["departure_mean"] is row["departure_worst"] is row["departure_worst_client"] is None
        )
        return
    moved, least = zip(*costs.values(), strict=True)
    assert row["departure_mean"] == pytest.approx(sum(moved) / len(moved))
    assert row["departure_least_mean"] == pytest.approx(sum(least) / len(least))
    assert row["departure_worst"] == max(moved)
    assert max(moved) in [
        cost[0] for holder, cost in costs.items() if holder[0] == row["departure_worst_client"]
    ]


def test_the_seed():
    table = compare(
        read_snapshot(str(SEED)), CANDIDATES[:3], groups=["by-average"]
    ).table.to_pylist()
    assert [(row["moved"], row["departure_mean"], row["departure_worst"], row["departure_least_mean"]) for row in table] == [
        (0, 10, 12, 6), (18, 18, 18, 6), (22, 6, 6, 6),
    ]  # fmt: skip
    gone = [RemoveClients(ids="10.0.0.11@1009")]
    table = compare(read_snapshot(str(SEED)), CANDIDATES[:1], gone, ["by-*"]).table.to_pylist()
    assert [(row["n_clients"], row["moved"], row["least_moves"]) for row in table] == [
        (3, 8, 6),
        (3, 20, 6),
    ]


def test_what_a_candidate_cannot_assign():
    topic = Topic("T", (TopicBroker("b", 2, machine_room="hz"),))
    groups = tuple(
        Group(name, ("T",), (Client("c", room),), strategy="AVG")
        for name, room in (("with", "hz"), ("without", None))
    )
    near = [Candidate("near", "MACHINE_ROOM_NEARBY-AVG", {}), Candidate("avg", "AVG", {})]
    with_room, _, without, plain = compare(Snapshot((topic,), groups), near).table.to_pylist()
    assert (with_room["max_load"], with_room["departure_mean"]) == (2, 2)
    assert set(without.values()) == {"without", "near", None}
    assert (plain["max_load"], plain["cross_room"]) == (2, 0)


def test_of_clients_with_one_id_one_leaves_at_a_time():
    rows = compare(
        read_snapshot(str(SEED.parent / "duplicate-id.yaml")), CANDIDATES[:3]
    ).table.to_pylist()
    assert [(row["n_clients"], row["n_queues"]) for row in rows] == [(10, 40)] * 3
    assert [(row["departure_mean"], row["departure_worst"]) for row in rows] == [
        (15.1, 30),
        (35.4, 40),
        (3.7, 9),
    ]
    assert [row["departure_least_mean"] for row in rows] == [7.2, 7.2, 8.9]


def test_the_holders_of_an_id_leave_all_their_topics():
    topics = tuple(Topic(name, (TopicBroker("b", 12),)) for name in "TU")
    twice = tuple(map(Client, ["a", "b", "b"]))
    [row] = compare(
        Snapshot(topics, (Group("g", ("T", "U"), twice, strategy="AVG"),)), CANDIDATES[:1]
    ).table.to_pylist()
    # Of either topic a has 4 queues, b 4, nobody 4. Without a, 4 go to b and 2 to nobody; without
    # one b, 2 go to a and 4 to b.
    assert (row["departure_worst"], row["departure_mean"]) == (12, 12)


def test_the_departure_of_an_empty_id_gives_its_queues_to_the_other_client_of_a_ring():
    clients = (Client("10.0.0.7@3#881944", language="GO"), Client("", language="GO"))
    group = Group("g", ("T",), clients, strategy="MACHINE_ROOM")
    snapshot = Snapshot((Topic("T", (TopicBroker("-b", 1),)),), (group,))
    [row] = compare(
        snapshot, [Candidate("ring", "CONSISTENT_HASH", {"virtual_nodes": 16})]
    ).table.to_pylist()
    # The empty id has the queue, which nobody owns then, until it leaves.
    assert (
        row["unowned"],
        row["departure_worst"],
        row["departure_worst_client"],
        row["departure_mean"],
    ) == (
        1,
        1,
        "",
        0.5,
    )


def test_departures_are_done_so_many_at_a_time(monkeypatch):
    groups = [
        ("g", "T", [("b", i) for i in range(20)], [f"c{i}" for i in range(n)]) for n in (7, 1, 12)
    ]
    fleet, ring = ordered(Fleet.from_groups(groups)), strategy("CONSISTENT_HASH")
    owners = ring.assign_fleet(fleet)
    wanted = departures(fleet, Rules.same(ring, 3), owners)
    monkeypatch.setattr(departing, "_MOST_SLOTS", 30)
    found = departures(fleet, Rules.same(ring, 3), owners)
    assert all((one == other).all() for one, other in zip(found, wanted, strict=True))
    assert found.units.tolist() == [0] * 7 + [1] + [2] * 12
    assert found.moved[:7].sum() == found.moved[8:].sum() == 20


# --- rmqalloc compare ---


@pytest.fixture
def run(capsys):
    def run(line):
        code = main(["compare", "-f", str(SEED), *shlex.split(line)])
        return code, *capsys.readouterr()

    return run


def leaving(tmp_path, client_id):
    """A file of the scenario that a client leaves."""
    changes = [{"remove_clients": {"ids": [client_id]}}]
    path = tmp_path / "leaving.yaml"
    path.write_text(yaml.safe_dump({"scenarios": [{"name": "leaving", "changes": changes}]}))
    return path


def test_side_by_side(run, tmp_path):
    code, out, err = run(
        f"-g by-average --scenario {leaving(tmp_path, '10.0.0.11@1009')}"
        " --to-strategy AVG,AVG_BY_CIRCLE,CONSISTENT_HASH:10,MACHINE_ROOM:hz"
    )
    assert (code, err) == (0, "")
    assert out == (
        "Group by-average  24 queues  3 clients\n"
        "strategy            moved  even  min  max  skew  idle  unowned  leaves  worst\n"
        "AVG                     8     6    8    8  1.00     0        0    10.7     12\n"
        "AVG_BY_CIRCLE          18     6    8    8  1.00     0        0    16.0     16\n"
        "CONSISTENT_HASH:10     20     6    7    9  1.12     0        0     8.0      9\n"
        "MACHINE_ROOM:hz        24     6    0    0  0.00     3       24     0.0      0\n\n"
        "even: the fewest moves to loads that differ by at most 1. leaves, worst: queues that move if a\n"
        "  client leaves, the mean over all clients and the maximum.\n"
    )


def test_for_programs(run):
    rows = list(csv.DictReader(io.StringIO(run("--to-strategy AVG,CONSISTENT_HASH:160 -o csv")[1])))
    assert [(row["consumer_group"], row["strategy"], row["departure_worst"]) for row in rows] == [
        ("by-average", "AVG", "12"),
        ("by-average", "CONSISTENT_HASH:160", "7"),
        ("by-ring", "AVG", "12"),
        ("by-ring", "CONSISTENT_HASH:160", "7"),
    ]
    assert "and 1 more group (--top)" in run("--top 1")[1]
    assert (
        run("-o csv --columns strategy,moved --sort moved --top 1")[1] == "strategy,moved\nAVG,0\n"
    )


def test_what_is_left_out_is_told(capsys, tmp_path):
    topic, clients = Topic("T", (TopicBroker("b", 4),)), (Client("c1"),)
    groups = [
        Group("all", ("T",), clients, message_model="BROADCASTING", strategy="AVG"),
        Group("none", ("T",), (), strategy="AVG"),
    ]
    path = str(tmp_path / "cluster.json")
    write_snapshot(Snapshot((topic,), (*groups, Group("g", ("T",), clients, strategy="AVG"))), path)
    assert main(["compare", "-f", path, "--to-strategy", "AVG"]) == 0
    out, err = capsys.readouterr()
    assert "Group g  4 queues  1 client\n" in out
    assert "note: left out: all: all its clients read every queue (BROADCASTING)\n" in err
    assert "note: cannot be assigned: none topic T: cidAll is null or cidAll empty\n" in err
    assert main(["compare", "-f", path, "-g", "all"]) == 1
    assert (
        "no group can be planned: left out: all: all its clients read every queue"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("--to-strategy AVG,BEST", 64, "unknown strategy 'BEST'"),
        ("--to-strategy avg_by_circle", 64, "did you mean AVG_BY_CIRCLE?"),
        ("--to-strategy AVG,AVG", 64, "a strategy is given twice in 'AVG,AVG'"),
        ("--to-strategy CONSISTENT_HASH:lots", 64, "'CONSISTENT_HASH:lots' is not NAME:N"),
        ("--to-strategy MACHINE_ROOM", 64, "nor MACHINE_ROOM:ROOM+ROOM"),
        ("--to-strategy POP", 64, "POP"),
        ("--to-strategy MACHINE_ROOM_NEARBY-AVG", 1, "the snapshot has no machine rooms"),
        ("-g nothing", 1, "no consumer group matches 'nothing'"),
    ],
)
def test_a_slip_is_told(run, line, code, said):
    found, out, err = run(line)
    assert (found, out) == (code, "")
    assert said in err


def test_only_one_scenario(run, tmp_path):
    scenarios = [{"name": f"{n}", "changes": [{"scale_clients": {"to": n}}]} for n in (3, 5)]
    for some, name in (
        (scenarios, "two"),
        ([scenarios[0] | {"groups": "by-ring"}], "scoped"),
        (scenarios[:1], "one"),
    ):
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump({"scenarios": some}))
    to_ring = [{"set_strategy": {"strategy": "CONSISTENT_HASH"}}]
    strategy = {"scenarios": [{"name": "ring", "changes": to_ring}]}
    (tmp_path / "strategy.yaml").write_text(yaml.safe_dump(strategy))
    code, _, err = run(f"--scenario {tmp_path / 'strategy.yaml'}")
    assert (code, "compare sets the strategy" in err) == (64, True)
    for name in ("two", "scoped"):
        code, _, err = run(f"--scenario {tmp_path / name}.yaml")
        assert code == 64
        assert "compare takes one scenario for all groups and topics" in err
    assert "24 queues  3 clients" in run(f"--scenario {tmp_path / 'one.yaml'}")[1]


def test_nobody_is_left_near_the_rooms():
    """A fleet without a single client has no lists to cut by room."""
    topic = Topic("t", (TopicBroker("a", 2, machine_room="x"),))
    snapshot = Snapshot(
        (topic,), (Group("g", ("t",), (Client("c", machine_room="x"),), strategy="AVG"),)
    )
    nearby = Candidate("nearby", "MACHINE_ROOM_NEARBY-AVG", {})
    (row,) = compare(
        snapshot,
        [nearby],
        scenarios_of([{"name": "s", "changes": [{"remove_clients": {"count": 1}}]}])[0].changes,
    ).table.to_pylist()
    assert (row["n_clients"], row["unowned"], row["departure_worst_client"]) == (0, 2, None)


def test_a_group_whose_clients_differ_moves_from_what_it_is_to_one_strategy_for_all():
    topic = Topic("T", (TopicBroker("b", 12),))
    own = [("c1", "AVG"), ("c2", "AVG_BY_CIRCLE"), ("c3", "AVG")]
    mixed, alike = (
        Snapshot(
            (topic,),
            (
                Group(
                    "g",
                    ("T",),
                    tuple(Client(one, strategy=name) for one, name in each),
                    strategy="AVG",
                ),
            ),
        )
        for each in (own, [(one, "AVG") for one, _ in own])
    )
    names = ["AVG", "AVG_BY_CIRCLE"]
    found, beside = (compare(one, names).table.to_pylist() for one in (mixed, alike))
    scenarios = [{"name": one, "changes": [{"set_strategy": {"strategy": one}}]} for one in names]
    assert (
        [row["moved"] for row in found]
        == plan_snapshot(mixed, scenarios).units["moved"].to_pylist()[1:]
        == [4, 6]
    )
    departures = [name for name in beside[0] if name.startswith("departure")]
    assert [[row[name] for name in departures] for row in found] == [
        [row[name] for name in departures] for row in beside
    ]
