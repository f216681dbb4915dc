"""A strategy that only this file knows works in every room: what the others ask about a strategy
stands on its class.
"""

import json

import numpy as np
import pyarrow as pa
import pytest

import rmqalloc
from rmqalloc import Fleet, MessageQueue, strategy
from rmqalloc.audit._check import check_snapshot
from rmqalloc.cli import main
from rmqalloc.evaluation.batch_planning import PlanSpec, plan_batch
from rmqalloc.evidence import with_strategies
from rmqalloc.evidence.inferred_strategies import candidates
from rmqalloc.evidence.method import Rooms
from rmqalloc.plans import plan_snapshot
from rmqalloc.plans._explain import explain
from rmqalloc.plans.comparison import Candidate, compare
from rmqalloc.scenarios import RemoveClients, Scenario, SetStrategy
from rmqalloc.snapshot.plain_data import to_document
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker
from rmqalloc.strategies import STRATEGIES, Averagely, ExclusiveStrategy
from rmqalloc.strategies._reasons import Reasons
from rmqalloc.strategies.formula import Formula
from rmqalloc.strategies.parameters import Parameter
from spark_udfs import _arrow_owners as arrow_owners

NAME = "AVG_BACKWARDS"


def backwards(arithmetic, queue, n_queues, n_clients):
    """The position by AVG, counted from the end."""
    return n_clients - 1 - Averagely.formula.owner(arithmetic, queue, n_queues, n_clients)


class Backwards(ExclusiveStrategy):
    """AVG from the last client on."""

    decided_by = "counts"
    formula = Formula(backwards)
    reads_topic = False
    guesses = ({},)
    parameters = (Parameter("salt", "count", "Ignored", default=0),)

    def __init__(self, salt=0):
        self.salt = salt

    def get_name(self):
        return NAME

    def _owners(self, fleet, out, threads=1):
        self._owners_by_count(fleet.queue_offsets, fleet.n_clients, out)

    def _explain(self, queues, client_ids, position):
        return Reasons(["AVG, counted from the end"], {})


def twin(n_queues, n_clients):
    """The same as a list."""
    size, extra = divmod(n_queues, n_clients)
    return [
        m for m in reversed(range(n_clients)) for _ in range(size + (n_clients - 1 - m < extra))
    ]


@pytest.fixture(autouse=True)
def known(monkeypatch):
    monkeypatch.setitem(STRATEGIES, NAME, Backwards)


IDS = ("c1", "c2", "c3")
TOPIC = Topic("T", (TopicBroker("b", 11, machine_room="hz"),))
QUEUES = list(TOPIC.queues())


def snapshot_of(name=NAME, owned=((), (), ()), room="hz"):
    clients = tuple(
        Client(one, room, owned=mine or None) for one, mine in zip(IDS, owned, strict=True)
    )
    return Snapshot((TOPIC,), (Group("g", ("T",), clients, strategy=name),))


def owners_of(plan, scenario="current"):
    rows = [row for row in plan.queues.to_pylist() if row["scenario"] == scenario]
    return [IDS.index(row["owner_after"]) for row in sorted(rows, key=lambda row: row["queue_id"])]


@pytest.mark.parametrize(("n_queues", "n_clients"), [(11, 3), (2, 3), (6, 3), (1, 1)])
def test_for_one_client_a_group_and_a_fleet(n_queues, n_clients):
    made, queues, ids = strategy(NAME), QUEUES[:n_queues], list(IDS[:n_clients])
    expected = twin(n_queues, n_clients)
    assert made.assign(queues, ids).owners.tolist() == expected
    assert made.assign_fleet(Fleet.from_groups([("g", "T", queues, ids)])).tolist() == expected
    for i, one in enumerate(ids):
        assert made.allocate("g", one, queues, ids) == [
            q for q, m in zip(queues, expected, strict=True) if m == i
        ]


@pytest.mark.parametrize("name", [NAME, f"MACHINE_ROOM_NEARBY-{NAME}"])
def test_planned_explained_and_compared(name):
    snapshot = snapshot_of(name)
    less = Scenario("less", [RemoveClients(count=1, which="last")])
    plan = plan_snapshot(snapshot, [less, Scenario("avg", [SetStrategy("AVG")])])
    assert owners_of(plan, "less") == twin(11, 2)
    assert owners_of(plan, "avg") == [2 - position for position in twin(11, 3)]
    found = explain(snapshot, "g", "T", "b", 0)
    assert (found.owner, found.steps[-1]) == ("c3", "AVG, counted from the end")
    [row] = compare(snapshot, [Candidate("it", name, {})]).table.to_pylist()
    departures = [plan_snapshot(snapshot, [Scenario("s", [RemoveClients(ids=one)])]) for one in IDS]
    moved = [plan.groups.to_pylist()[1]["moved"] for plan in departures]
    assert (row["departure_mean"], row["departure_worst"]) == (sum(moved) / 3, max(moved))


def test_checked_and_found_out():
    expected = twin(11, 3)
    owned = [tuple(q for q, m in zip(QUEUES, expected, strict=True) if m == i) for i in range(3)]
    assert [one.rule for one in check_snapshot(snapshot_of(owned=owned))] == []
    assert [
        one.rule
        for one in check_snapshot(snapshot_of("AVG", owned), rules=["differs-from-expected"])
    ] != []
    assert NAME in [one.name for one in candidates(Rooms({}, {}))]
    [group] = with_strategies(snapshot_of(None, owned, room=None)).groups
    assert (group.strategy, group.strategy_source, group.strategy_explains) == (NAME, "fitted", 1.0)


def test_in_bulk_and_in_arrow():
    row = {
        "consumer_group": "g",
        "topic": "T",
        "brokers": [{"broker_name": "b", "read_queue_nums": 11}],
        "client_ids": ["c2", "c1", "c3"],
    }
    batch = pa.RecordBatch.from_pylist([row, row | {"strategy": NAME}])
    answers = plan_batch(batch, PlanSpec(NAME, output="owners")).to_pylist()
    assert [one["owners"] for one in answers] == [twin(11, 3)] * 2
    numbers = arrow_owners.allocate_arrays(NAME, pa.array([11, 0]), pa.array([3, 3])).to_pylist()
    assert [one["owners"] for one in numbers] == [twin(11, 3), None]
    lists = pa.array([[queue._asdict() for queue in QUEUES]]), pa.array([list(IDS)])
    assert arrow_owners.allocate_arrays(pa.array([NAME]), *lists).to_pylist()[0]["owners"] == twin(
        11, 3
    )
    with_formula = [name for name, made in STRATEGIES.items() if made.formula is not None]
    assert list(arrow_owners.by_count()) == with_formula
    assert {"AVG", "AVG_BY_CIRCLE", NAME} <= {*with_formula}


def test_on_the_command_line(tmp_path, capsys):
    path = tmp_path / "s.json"
    path.write_text(json.dumps(to_document(snapshot_of("AVG"))))
    assert (
        main(
            ["explain", "-f", str(path), "-g", "g", "-t", "T", "--queue", "b:0", "-s", f"{NAME}:7"]
        )
        == 0
    )
    assert capsys.readouterr().out.endswith("AVG, counted from the end\nSo client c3 owns it.\n")
    assert main(["compare", "-f", str(path), "--to-strategy", f"AVG,{NAME}:7", "-o", "json"]) == 0
    assert [row["strategy"] for row in json.loads(capsys.readouterr().out)] == ["AVG", f"{NAME}:7"]


# --- What holds of every strategy ---


@pytest.mark.parametrize("made", STRATEGIES.values())
def test_formulas_are_the_kernels(made):
    assert (made.formula is not None) == (made.decided_by == "counts")
    if made.formula is None:
        return
    counts = [(n, m) for n in (1, 2, 3, 7, 64) for m in (1, 2, 3, 5, 70)]
    n_queues, n_clients = (np.array(column, np.int32) for column in zip(*counts, strict=True))
    offsets = np.append(0, np.cumsum(n_queues, dtype=np.int64))
    by_kernel, by_formula = np.empty((2, int(offsets[-1])), np.int32)
    made()._owners_by_count(offsets, n_clients, by_kernel)
    rmqalloc.Strategy._owners_by_count(made(), offsets, n_clients, by_formula)
    assert by_kernel.tolist() == by_formula.tolist()


@pytest.mark.parametrize("made", STRATEGIES.values())
def test_parameters_are_those_of_the_constructor(made):
    import inspect

    assert [one.name for one in made.parameters] == list(inspect.signature(made).parameters)
    for one in made.parameters:
        assert one.default in (None, inspect.signature(made).parameters[one.name].default)


def test_wrappers_forward_what_the_inner_strategy_knows():
    ring = strategy("CONSISTENT_HASH", virtual_nodes=7)
    over = strategy("MACHINE_ROOM_NEARBY", inner=ring)
    assert (over.virtual_nodes, over.decided_by, over.reads_rooms, over.is_shared) == (
        7,
        "ids",
        True,
        False,
    )
    assert over.with_virtual_nodes(9).inner.virtual_nodes == 9
    assert strategy("MACHINE_ROOM_NEARBY", inner=over).decided_by == "ids"
    rooms = strategy("MACHINE_ROOM_NEARBY", inner=strategy("AVG"))
    assert rooms.decided_by == "positions in rooms"
    assert strategy("MACHINE_ROOM_NEARBY", inner=rooms).decided_by == "anything"
    both = strategy("MACHINE_ROOM_NEARBY", inner=rooms).with_rooms({"b": "hz"}, {"c1": "hz"})
    assert both.allocate("g", "c1", [MessageQueue("T", "b", 0)], ["c1"]) == [
        MessageQueue("T", "b", 0)
    ]
    pop = strategy("POP", inner=over, pop_share_queue_num=2).with_virtual_nodes(3)
    assert (pop.virtual_nodes, pop.pop_share_queue_num, pop.is_shared, pop.reads_rooms) == (
        3,
        2,
        True,
        True,
    )
    lists = strategy("MACHINE_ROOM_NEARBY", inner=strategy("CONFIG", message_queues=[]))
    assert (lists.is_listed, lists.is_shared) == (True, True)
