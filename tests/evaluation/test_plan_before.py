"""Units that cannot be assigned before any change: what a scenario cures and what none does; units
without clients.
"""

import csv
import io
import shlex

import drawn_units
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bruteforce import rows as rows_twin
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples
from plan_rows import assert_same, batch_of, good_row

from rmqalloc.cli import main
from rmqalloc.evaluation.batch_planning import ErrCode, PlanSpec, plan_batch
from rmqalloc.evaluation.expand import client_load, expand_owners
from rmqalloc.evaluation.parquet_plan import plan_files
from rmqalloc.plans import Gates, plan_snapshot
from rmqalloc.plans.comparison import Candidate, compare
from rmqalloc.report.html import report
from rmqalloc.snapshot.files import write_snapshot
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker

NO_CLIENTS = "cidAll is null or cidAll empty"
THREE = {"name": "three", "changes": [{"scale_clients": {"to": 3}}]}
AVG = {"name": "avg", "changes": [{"set_strategy": {"strategy": "AVG"}}]}
BROKER = {"name": "broker", "changes": [{"add_broker": {"broker_name": "z", "read_queue_nums": 4}}]}
NEAR = "MACHINE_ROOM_NEARBY-AVG"
LOST = good_row(client_rooms=["hz", None], broker_rooms=["hz", "sh"], strategy=NEAR)


def codes(row, *scenarios):
    spec = PlanSpec("AVG", scenarios=scenarios)
    batch = batch_of(
        [row],
        "strategy",
        "virtual_nodes",
        *(["broker_rooms", "client_rooms"] if "client_rooms" in row else []),
    )
    return plan_batch(batch, spec)["err_code"].to_pylist()


@examples(30, nightly=2000)
@given(st.data())
def test_the_twin_says_the_same_of_units_that_cannot_be_assigned(data):
    rooms = data.draw(st.booleans())
    rows = data.draw(st.lists(drawn_units.units("brokers", rooms), min_size=1, max_size=5))
    for row in rows:
        for name, beside in data.draw(
            st.sampled_from([(), [("client_ids", "client_rooms")], [("brokers", "broker_rooms")]])
        ):
            row |= {name: []} | ({beside: []} if rooms else {})
    rule = data.draw(
        st.sampled_from(drawn_units.STRATEGIES + (drawn_units.NEARBY if rooms else []))
    )
    scenarios = data.draw(drawn_units.scenarios(rooms))
    wanted = [found for row in rows for found in rows_twin.plan(row, rule, scenarios, rooms)]
    spec = PlanSpec(*rule, scenarios=scenarios, output="owners")
    assert_same(plan_batch(batch_of(rows), spec).to_pylist(), wanted)


@pytest.mark.parametrize(
    ("row", "wanted"),
    [
        (good_row(client_ids=[]), [ErrCode.EMPTY, 0, ErrCode.EMPTY, ErrCode.EMPTY]),
        (good_row(brokers=[]), [ErrCode.EMPTY, ErrCode.EMPTY, ErrCode.EMPTY, 0]),
        (good_row(client_ids=[], brokers=[]), [ErrCode.EMPTY] * 4),
        (
            good_row(strategy="BEST"),
            [ErrCode.BAD_STRATEGY, ErrCode.BAD_STRATEGY, 0, ErrCode.BAD_STRATEGY],
        ),
        (
            good_row(virtual_nodes=-1),
            [ErrCode.BAD_STRATEGY, ErrCode.BAD_STRATEGY, 0, ErrCode.BAD_STRATEGY],
        ),
        (
            good_row(strategy="BEST", client_ids=[]),
            [ErrCode.EMPTY, ErrCode.BAD_STRATEGY, ErrCode.EMPTY, ErrCode.EMPTY],
        ),
        (LOST, [ErrCode.REFUSED, ErrCode.REFUSED, 0, ErrCode.REFUSED]),
        (
            good_row(
                client_ids=[f"c{i}" for i in range(300)],
                strategy="CONSISTENT_HASH",
                virtual_nodes=65536,
            ),
            [ErrCode.TOO_LARGE, 0, 0, ErrCode.TOO_LARGE],
        ),
        (good_row(client_ids=["c", None]), [ErrCode.MALFORMED] * 4),
        (good_row(consumer_group=None, client_ids=[]), [ErrCode.MALFORMED] * 4),
        (good_row(client_ids=["c" * 70_000]), [ErrCode.TOO_LARGE] * 4),
        (
            good_row(brokers=[{"broker_name": "b", "read_queue_nums": 1}] * 2, client_ids=[]),
            [ErrCode.DUPLICATE_QUEUE] * 4,
        ),
    ],
)
def test_what_a_scenario_cures_and_what_it_does_not(row, wanted):
    assert codes(row, THREE, AVG, BROKER) == wanted
    assert codes(row) == wanted[:1]


def test_before_a_cure_nobody_owns_anything():
    rows = [good_row(client_ids=[]), good_row(), good_row(client_ids=["c", "c", "d"])]
    spec = PlanSpec("AVG", scenarios=[THREE, {**BROKER, "groups": "nothing"}], output="owners")
    cured, *others = (
        rows[i : i + 3]
        for rows in [plan_batch(batch_of(rows), spec).to_pylist()]
        for i in (0, 3, 6)
    )
    assert [row["err_msg"] for row in cured] == [NO_CLIENTS, None, NO_CLIENTS]
    names = (
        "n_queues",
        "n_clients",
        "owners",
        "unowned",
        "moved",
        "least_moves",
        "clients_affected",
        "mean_load",
        "skew",
    )
    assert [cured[1][name] for name in names] == [
        5,
        3,
        [0, 0, 1, 1, 2],
        0,
        5,
        5,
        3,
        pytest.approx(5 / 3),
        pytest.approx(1.2),
    ]
    alone = [plan_batch(batch_of([row]), spec).to_pylist() for row in rows[1:]]
    assert others == alone, "good units do not notice"
    best = plan_batch(
        batch_of(rows[:1]), PlanSpec("AVG", scenarios=[BROKER, THREE], output="best")
    ).to_pylist()
    assert [(row["scenario"], row["err_code"]) for row in best] == [("three", 0)]


def test_names_and_loads_of_a_cured_unit():
    batch, spec = batch_of([good_row(client_ids=[])]), PlanSpec("AVG", scenarios=[THREE])
    rows = expand_owners(batch, spec).to_pylist()
    assert [(row["scenario"], row["err_msg"], row["client_id"]) for row in rows] == [
        ("current", NO_CLIENTS, None),
        *(("three", None, f"what-if-00000{i}") for i in (1, 1, 2, 2, 3)),
    ]
    loads = [(row["scenario"], row["n_queues"]) for row in client_load(batch, spec).to_pylist()]
    assert loads == [("three", 2), ("three", 2), ("three", 1)]


def test_files_have_the_rows_of_the_kernel(tmp_path):
    batch = batch_of([good_row(client_ids=[]), good_row()])
    pq.write_table(pa.Table.from_batches([batch]), tmp_path / "in.parquet")
    spec = PlanSpec("AVG", scenarios=[THREE])
    totals = plan_files(tmp_path / "in.parquet", tmp_path / "out", spec, threads=1)
    assert {name: (one.units, one.bad_units, one.moved) for name, one in totals.items()} == {
        "current": (2, 1, 0), "three": (2, 0, 7),
    }  # fmt: skip
    assert pq.read_table(tmp_path / "out").to_pylist() == plan_batch(batch, spec).to_pylist()


# --- Units without clients ---


def test_without_clients_nobody_has_a_mean_load():
    none = {"name": "none", "changes": [{"scale_clients": {"to": 0}}]}
    rows = plan_batch(batch_of([good_row()]), PlanSpec("AVG", scenarios=[none])).to_pylist()
    assert [(row["mean_load"], row["max_load"], row["skew"]) for row in rows] == [
        (2.5, 3, 1.2),
        (0.0, 0, 0.0),
    ]
    routes = Topic("T", (TopicBroker("b", 6),))
    plan = plan_snapshot(
        Snapshot((routes,), (Group("g", ("T",), (Client("c"),), strategy="AVG"),)), [none]
    )
    assert plan.groups.select(["mean_load", "max_load", "skew", "unowned"]).to_pylist()[1] == {
        "mean_load": 0.0, "max_load": 0, "skew": 0.0, "unowned": 6,
    }  # fmt: skip


def test_the_figures_of_columns_have_no_mean_load_without_clients_either():
    from spark_udfs._arrow_figures import assignment_metrics

    [found] = assignment_metrics(pa.array([[-1, -1]]), pa.array([0])).to_pylist()
    assert (found["mean_load"], found["max_load"], found["skew"], found["unowned"]) == (
        0.0,
        0,
        0.0,
        2,
    )


# --- Snapshots ---


def cluster():
    """An empty group, a broken one of which one topic of two can be assigned, and a good one."""
    routes = (
        Topic(
            "T", (TopicBroker("a", 6, machine_room="hz"), TopicBroker("b", 6, machine_room="sh"))
        ),
        Topic("U", (TopicBroker("a", 2, machine_room="hz"), TopicBroker("b", 2))),
    )
    near = {"strategy": "MACHINE_ROOM_NEARBY", "strategy_params": {"inner": "AVG"}}
    clients = Client("c1", "hz"), Client("c2", "sh")
    return Snapshot(
        routes,
        (
            Group("empty", ("T",), (), strategy="AVG"),
            Group("near", ("T", "U"), clients, **{"strategy": "AVG"} | near),
            Group("good", ("T",), clients, strategy="AVG"),
        ),
    )


def test_tables_of_a_snapshot_have_what_a_scenario_cures():
    plan = plan_snapshot(
        cluster(), [{"name": "cure", "changes": [*THREE["changes"], *AVG["changes"]]}]
    )
    key = ("scenario", "consumer_group")
    groups = {tuple(row[name] for name in key): row for row in plan.groups.to_pylist()}
    shown = (
        "n_topics",
        "n_queues",
        "n_clients",
        "max_load",
        "moved",
        "clients_affected",
        "clients_gaining",
    )
    found = {of: [row[name] for name in shown] for of, row in groups.items()}
    assert found == {
        ("current", "empty"): [0, 0, 0, None, 0, 0, 0],
        ("current", "near"): [1, 12, 2, None, 0, 0, 0],
        ("current", "good"): [1, 12, 2, 6, 0, 0, 0],
        ("cure", "empty"): [1, 12, 3, 4, 12, 3, 3],
        ("cure", "near"): [2, 16, 3, 6, 10, 3, 1],
        ("cure", "good"): [1, 12, 3, 4, 6, 3, 1],
    }
    for name in ("moved", "n_queues"):
        by_unit = sum(row[name] or 0 for row in plan.units.to_pylist() if row["scenario"] == "cure")
        assert by_unit == sum(row[name] for of, row in groups.items() if of[0] == "cure")
    clients = [row for row in plan.clients.to_pylist() if row["consumer_group"] == "empty"]
    assert {(row["scenario"], row["status"], row["before"], row["after"]) for row in clients} == {
        ("cure", "new", 0, 4)
    }
    queues = [
        row
        for row in plan.queues.to_pylist()
        if (row["consumer_group"], row["topic"]) == ("near", "U")
    ]
    assert {(row["scenario"], row["owner_before"], row["change"]) for row in queues} == {
        ("cure", None, "moved")
    }
    assert len(queues) == 4
    assert {
        row["scenario"] for row in plan.queues.to_pylist() if row["consumer_group"] == "good"
    } == {
        "current",
        "cure",
    }


def test_clients_count_nothing_where_their_group_cannot_be_assigned():
    plan = plan_snapshot(cluster(), [AVG], ["near"], ["U"])
    shown = ("n_topics", "n_queues", "n_clients", "idle", "min_load", "mean_load", "max_load")
    found = [[row[name] for name in shown] for row in plan.groups.to_pylist()]
    assert found == [[0, 0, 0, None, None, None, None], [1, 4, 2, 0, 2, 2.0, 2]]


def test_gates_know_what_moves_from_nobody():
    plan = plan_snapshot(
        cluster(), [{"name": "cure", "changes": [*THREE["changes"], *AVG["changes"]]}]
    )
    assert Gates(max_moved_share=1.0).broken(plan) == ()
    assert [str(one) for one in Gates(max_moved_share=0.62).broken(plan)] == [
        "scenario cure: group empty: 100.0 % of the queues change owner; the limit is 62 %",
        "scenario cure: group near: 62.5 % of the queues change owner; the limit is 62 %",
    ]
    assert Gates(fail_if_worse=True).broken(plan) == ()
    worse = plan_snapshot(cluster(), [{"name": "ten", "changes": [{"scale_clients": {"to": 14}}]}])
    assert {one.consumer_group for one in Gates(fail_if_worse=True).broken(worse)} == {
        "good",
        "near",
    }


def test_departures_of_a_group_of_which_a_topic_is_cured():
    [avg] = compare(cluster(), [Candidate("avg", "AVG", {})], groups=["near"]).table.to_pylist()
    # Two clients share 12 + 4 queues; when one leaves, its 8 go to the other.
    assert (avg["departure_mean"], avg["departure_worst"], avg["moved"]) == (8, 8, 4)


@pytest.fixture
def run(capsys, tmp_path):
    path = str(tmp_path / "cluster.json")
    write_snapshot(cluster(), path)

    def run(line):
        code = main(["plan", "-f", path, *shlex.split(line)])
        return code, *capsys.readouterr()

    return run


def test_the_command_shows_what_is_cured(run):
    code, out, _ = run("-g empty --scale 3")
    assert code == 0
    assert "Group empty  topic T  – → 12 queues  – → AVG  clients – → 3\n" in out
    assert (
        "Moved 12 of 12 queues (100.0 %; the least possible is 12).  min/max – → 4/4  skew – → 1.00\n  idle – → 0"
        in out
    )
    assert f"! cannot be assigned before any change: empty topic T: {NO_CLIENTS}\n" in out
    out = run("-g near --to-strategy AVG")[1]
    assert "Moved 4 of 16 queues (25.0 %" in out
    assert "Group near  topic U  – → 4 queues  – → AVG  clients – → 2\n" in out
    rows = list(
        csv.DictReader(
            io.StringIO(
                run("-g empty --scale 3 --show units -o csv --columns scenario,moved,err_msg")[1]
            )
        )
    )
    assert [(row["moved"], row["err_msg"]) for row in rows] == [("", NO_CLIENTS), ("12", "")]
    code, out, err = run("-g empty --add-broker z:3")
    assert (code, NO_CLIENTS in err) == (1, True)


def test_reports_show_what_is_cured(run):
    page = run("--scale 3 --to-strategy AVG -o html")[1]
    assert "empty" in page
    assert "what-if-000003" in page
    assert page.count(f"<bdi>{NO_CLIENTS}</bdi>") == 1, "of the current state alone"
    assert report(plan_snapshot(cluster(), [AVG])).count(f"<bdi>{NO_CLIENTS}</bdi>") == 2
