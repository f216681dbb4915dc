"""A subclass that overrides `_owners` has that answer everywhere: no shortcut of its base stays."""

import pyarrow as pa
import pytest

from rmqalloc import Fleet, MessageQueue, strategy
from rmqalloc.evaluation.batch_planning import PlanSpec, plan_batch
from rmqalloc.plans import plan_snapshot
from rmqalloc.plans.comparison import Candidate, compare
from rmqalloc.scenarios import RemoveClients, Scenario
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker
from rmqalloc.snapshot.units import units_of
from rmqalloc.strategies import STRATEGIES, ConfigByClient, GoConsistentHash, GoMachineRoom
from rmqalloc.strategies.by_name import server_side
from spark_udfs import _arrow_owners as arrow_owners

ROUTE = (TopicBroker("hz@a", 5, machine_room="hz"), TopicBroker("sh@b", 6, machine_room="sh"))
ROOM_OF = {broker.broker_name: broker.machine_room for broker in ROUTE}
TOPICS = (Topic("orders", ROUTE), Topic("T", ROUTE[:1]))
QUEUES = [MessageQueue("orders", broker.broker_name, i) for broker in ROUTE for i in range(5)]
CLIENTS = {"10.0.0.1@c-0": "hz", "10.0.0.2@c-1": "hz", "10.0.0.3@c-3": "sh", "x@gray": "hz"}
IDS = list(CLIENTS)

NEEDED = {
    "strategy": strategy("AVG"),
    "decimal": "0.3",
    "names": ["hz", "sh"],
    "queues": QUEUES[:2],
    "owners": dict.fromkeys(QUEUES, IDS[-1]),
}
"""What a parameter may be that a strategy needs, by its kind."""
LISTS = {IDS[0]: QUEUES[:3], IDS[2]: QUEUES[5:9]}

FAMILIES = {
    **STRATEGIES,
    "Go's CONSISTENT_HASH": GoConsistentHash,
    "Go's MACHINE_ROOM": GoMachineRoom,
    "CONFIG by client": ConfigByClient,
}
every_family = pytest.mark.parametrize(
    "made", [pytest.param(made, id=name) for name, made in FAMILIES.items()]
)


def parameters_of(made):
    if made is ConfigByClient:
        return {"message_queues": LISTS}
    needed = {given.name: NEEDED[given.kind] for given in made.parameters if given.is_needed}
    rooms = {"broker_room": lambda queue: ROOM_OF[queue[1]], "client_room": CLIENTS.get}
    return needed | {
        given.name: rooms[given.name] for given in made.parameters if given.name in rooms
    }


def reversed_class(made):
    """A subclass by which the last queue of a unit has the owner of the first, and so on; of a
    strategy without owners the first client has all.
    """

    class Reversed(made):
        def get_name(self):
            return "REVERSED"

        def _owners(self, fleet, out, threads=1):
            if made.is_shared:
                out.fill(0)
                return
            super()._owners(fleet, out, threads)
            for unit in range(fleet.n_units):
                mine = slice(*fleet.queue_offsets[unit : unit + 2])
                out[mine] = out[mine][::-1].copy()

    return Reversed


def three_ways(made, queues, ids):
    """Owners of a group by the calls of all its clients, of the whole group, and in a fleet."""
    by_client = {}
    for client in dict.fromkeys(filter(None, ids)):
        for queue in made.allocate("g", client, queues, ids):
            by_client[id(queue)] = ids.index(client)
    fleet = Fleet.from_groups([("g", "orders", queues, ids), ("h", "orders", queues[:3], ids)])
    return [
        [by_client.get(id(queue), -1) for queue in queues],
        made.assign(queues, ids).owners.tolist(),
        made.assign_fleet(fleet)[: len(queues)].tolist(),
    ]


def assert_three_ways(made, queues, ids, expected):
    assert three_ways(made, queues, ids) == [expected] * 3


@pytest.mark.parametrize("ids", [IDS, [IDS[1], IDS[0], *IDS[1:], ""]], ids=["plain", "odd"])
@every_family
def test_one_client_a_group_and_a_fleet_agree(made, ids):
    parameters = parameters_of(made)
    if "client_room" in parameters:
        parameters["client_room"] = lambda client_id: CLIENTS.get(client_id, "hz")
    backwards = reversed_class(made)(**parameters)
    expected = [0] * len(QUEUES)
    if not made.is_shared:
        expected = made(**parameters).assign(QUEUES, ids).owners.tolist()[::-1]
        assert len(set(expected)) > 1
    assert_three_ways(backwards, QUEUES, ids, expected)
    again = backwards.with_virtual_nodes(backwards.virtual_nodes)
    assert_three_ways(again, QUEUES, ids, expected)


@every_family
def test_so_do_strategies_over_it(made):
    inner = reversed_class(made)(**parameters_of(made))
    outer = [kind for kind in STRATEGIES.values() if kind.names_inner]
    assert len(outer) >= 4
    for kind in outer:
        over = kind(**{**parameters_of(kind), "inner": inner})
        ways = three_ways(over, QUEUES, IDS)
        assert ways == [ways[0]] * 3
        assert over.decided_by == "anything"
        assert type(over.with_rooms(ROOM_OF, CLIENTS).inner) is type(inner)


@every_family
def test_nothing_is_known_of_its_owners(made):
    backwards = reversed_class(made)(**parameters_of(made))
    known = backwards.decided_by, backwards.formula, backwards.has_shared_points
    assert known == ("anything", None, False)
    assert not (backwards.is_server_side or backwards.is_shared or backwards.is_listed)
    assert backwards.reads_topic
    assert backwards.explain(QUEUES, IDS, 0).steps == []


def test_a_subclass_may_know_more_again():
    class ByPosition(reversed_class(STRATEGIES["ROTATED/1"])):
        decided_by = "positions"

    assert ByPosition().decided_by == "positions"
    assert STRATEGIES["ROTATED/1"]().decided_by == "positions"
    assert STRATEGIES["AVG"].formula is not None


PLANNED = {
    name: made
    for name, made in STRATEGIES.items()
    if not made.is_shared
    and all(given.kind not in ("owners", "queues") for given in made.parameters)
}


@pytest.mark.parametrize("name", PLANNED)
def test_planned_compared_and_in_bulk(name, monkeypatch):
    made = reversed_class(STRATEGIES[name])
    monkeypatch.setitem(STRATEGIES, "REVERSED", made)
    used = "REVERSED-AVG" if made.names_inner else "REVERSED"
    needed = [given for given in made.parameters if given.is_needed and given.kind != "strategy"]
    params = {given.name: NEEDED[given.kind] for given in needed}
    clients = tuple(Client(client_id, room) for client_id, room in CLIENTS.items())
    group = Group("g", ("orders", "T"), clients, strategy=used, strategy_params=params)
    snapshot = Snapshot(TOPICS, (group,))
    leaves = [Scenario(client_id, [RemoveClients(ids=client_id)]) for client_id in IDS]
    plan = plan_snapshot(snapshot, leaves)

    rooms = {"broker_room": ROOM_OF, "client_room": CLIENTS} if made.reads_rooms else {}
    given = params | ({"inner": strategy("AVG")} if made.names_inner else {})
    rows = [row for row in plan.queues.to_pylist() if row["topic"] == "orders"]
    for scenario, gone in [("current", None), *zip(IDS, IDS, strict=True)]:
        mine = [row for row in rows if row["scenario"] == scenario]
        queues = [MessageQueue("orders", row["broker_name"], row["queue_id"]) for row in mine]
        ids = [client_id for client_id in IDS if client_id != gone]
        expected = made(**given, **rooms).assign(queues, ids).owners.tolist()
        assert [row["owner_after"] for row in mine] == [ids[i] for i in expected]

    [row] = compare(snapshot, [Candidate("it", used, params)]).table.to_pylist()
    moved = [row["moved"] for row in plan.groups.to_pylist()[1:]]
    assert (row["departure_mean"], row["departure_worst"]) == (sum(moved) / len(IDS), max(moved))

    batch = plan_batch(units_of(snapshot), PlanSpec("AVG", output="owners")).to_pylist()
    planned = {topic.name: [] for topic in TOPICS}
    for row in plan.queues.to_pylist():
        if row["scenario"] == "current":
            planned[row["topic"]].append(IDS.index(row["owner_after"]))
    assert {row["topic"]: row["owners"] for row in batch} == planned
    assert "REVERSED" not in arrow_owners.by_count()
    assert "REVERSED" not in server_side()
    [numbers] = arrow_owners.allocate_arrays(used, pa.array([3]), pa.array([2])).to_pylist()
    assert numbers["owners"] is None
