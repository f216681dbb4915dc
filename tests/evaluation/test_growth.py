"""What grows with the square of a group is told at once, and answers what laying it out one by one
does.
"""

import random
import zlib
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from cliffs import inputs
from cliffs.operations import operations

from rmqalloc import Fleet, MessageQueue, strategy
from rmqalloc.audit import check_snapshot
from rmqalloc.audit._signed_groups import SignedGroups
from rmqalloc.evaluation.assigner import Assigner
from rmqalloc.evidence import Known
from rmqalloc.fleet import groups as from_groups
from rmqalloc.plans import _departures as departing
from rmqalloc.plans import plan_snapshot, plan_totals, unmatched
from rmqalloc.plans.comparison import Candidate, compare
from rmqalloc.report.html import _scenario_section as scenario_page
from rmqalloc.report.html import report
from rmqalloc.rollouts.resize import resize_queues
from rmqalloc.scenarios import RemoveClients, Scenario, ordered
from rmqalloc.scenarios.subfleet import Rules
from rmqalloc.snapshot.snapshot import Client, Group, Lag, Snapshot, Topic, TopicBroker
from rmqalloc.snapshot.units import units_of
from rmqalloc.strategies.by_name import rule
from rmqalloc.text import matcher

NEARBY = [f"MACHINE_ROOM_NEARBY-{inner}" for inner in ("AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH")]
STRATEGIES = ["AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH", "MACHINE_ROOM", "CONFIG", *NEARBY]


def made_up(rng):
    """A fleet of some groups and topics, and strategies of its units."""
    rows = []
    for group in range(rng.randint(1, 3)):
        ids = [f"c{i}" for i in range(rng.choice([1, 2, 3, 5, 8]))]
        ids = ["", *ids] if rng.random() < 0.1 else ids
        ids += rng.choices(ids, k=rng.randint(1, 4)) if rng.random() < 0.4 else []
        rooms = [rng.choice("xy") for _ in ids]
        for topic in range(rng.randint(1, 4)):
            brokers = [
                (f"{rng.choice('xyz')}@b{i}", rng.choice([1, 2, 3, 7]))
                for i in range(rng.randint(1, 3))
            ]
            rows.append({
                "consumer_group": f"g{group}", "topic": f"T{group}{topic}", "client_ids": ids, "client_rooms": rooms,
                "brokers": [{"broker_name": name, "read_queue_nums": n} for name, n in brokers],
                "broker_rooms": [name[0] for name, _ in brokers],
            })  # fmt: skip
    fleet = ordered(Fleet.from_arrow(pa.Table.from_pylist(rows)))
    lists = {}
    for queue in sorted(
        {queue for unit in range(fleet.n_units) for queue in fleet.queues_of(unit)}
    ):
        lists.setdefault(f"c{rng.randrange(6)}", []).append(list(queue))
    params = {"MACHINE_ROOM": {"machine_rooms": ["x", "y"]}, "CONFIG": {"message_queues": lists}}
    table = tuple(rule(name, **params.get(name, {})) for name in STRATEGIES)
    return fleet, Rules(
        table, np.array([rng.randrange(len(table)) for _ in range(fleet.n_units)], np.int32)
    )


@pytest.mark.thorough(keep=4)
@pytest.mark.parametrize("seed", range(40))
def test_departures_told_at_once_are_those_laid_out(seed, monkeypatch):
    fleet, rules = made_up(random.Random(seed))
    owners, bad = Assigner(fleet).owners(fleet, rules)
    assert not bad
    found = departing.departures(fleet, rules, owners)
    for s in rules.table:
        monkeypatch.setattr(s, "decided_by", "anything")
    for column, wanted in zip(found, departing.departures(fleet, rules, owners), strict=True):
        assert column.tolist() == wanted.tolist()


def mixed(n):
    """A group of n clients, each with a topic of its own and a backlog in a queue that is not in
    the route.
    """
    topics = tuple(Topic(f"t{i:04}", (TopicBroker("b", 2),)) for i in range(n))
    clients = tuple(
        Client(f"c{i:04}", subscriptions=(topic.name,)) for i, topic in enumerate(topics)
    )
    lags = tuple(Lag(MessageQueue(topic.name, "b", 5), 9, 0) for topic in topics)
    names = tuple(topic.name for topic in topics)
    return Snapshot(
        topics, (Group("g", names, clients, strategy="AVG", strategy_source="given", lags=lags),)
    )


def test_no_departure_of_a_regular_group_is_laid_out(monkeypatch):
    laid_out = []
    plain = departing._one_by_one
    monkeypatch.setattr(
        departing, "_one_by_one", lambda *given: laid_out.append(given[3].size) or plain(*given)
    )
    candidates = [Candidate(name, name, {}) for name in ("AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH")]
    compare(mixed(20), candidates)
    assert laid_out == []


@pytest.mark.parametrize(
    ("strategy", "copies"),
    [*((name, 0) for name in STRATEGIES[:3]), *((name, 1) for name in NEARBY)],
)
def test_of_repeated_and_empty_ids_in_rooms_an_empty_one_alone_is_laid_out(
    strategy, copies, monkeypatch
):
    laid_out = []
    plain = departing._one_by_one
    monkeypatch.setattr(
        departing, "_one_by_one", lambda *given: laid_out.append(given[3].size) or plain(*given)
    )
    ids = ["", *(f"c{i}" for i in range(20)), "c7", "c7"]
    brokers = [{"broker_name": "b", "read_queue_nums": 64}]
    row = {"consumer_group": "g", "topic": "T", "client_ids": ids, "brokers": brokers}
    rooms = {"client_rooms": ["x"] * len(ids), "broker_rooms": ["x"]}
    fleet = ordered(Fleet.from_arrow(pa.Table.from_pylist([row | rooms])))
    rules = Rules.same(rule(strategy), 1)
    departing.departures(fleet, rules, Assigner(fleet).owners(fleet, rules)[0])
    assert sum(laid_out) == copies


def test_a_unit_of_an_audit_holds_its_subscribers_alone():
    [case] = SignedGroups(Known.of(mixed(30)), lambda group: True).all
    assert [[slots for _, slots in unit.options] for unit in case.audited.units] == [
        [[i]] for i in range(30)
    ]
    assert len({id(view.client_ids) for unit in case.audited.units for view in unit.views}) == 1


def test_a_shared_client_list_is_looked_at_once(monkeypatch):
    checked = []
    monkeypatch.setattr(from_groups, "check_client_ids", lambda ids: checked.append(ids))
    ids = ("c1", "c2")
    Fleet.from_groups([("g", f"t{i}", [("b", 0)], ids) for i in range(9)])
    assert len(checked) == 1


def test_each_stranded_backlog_is_found_once():
    found = [one for one in check_snapshot(mixed(12)) if one.rule == "stranded-backlog"]
    assert [(one.topic, len(one.queues)) for one in found] == [(f"t{i:04}", 1) for i in range(12)]


def test_the_retry_topic_is_read_by_all_clients():
    snapshot = mixed(3)
    retry = Topic("%RETRY%g", (TopicBroker("b", 1),))
    group = replace(
        snapshot.groups[0], subscriptions=(*snapshot.groups[0].subscriptions, retry.name)
    )
    known = Known.of(Snapshot((*snapshot.topics, retry), (group,)))
    [case] = SignedGroups(known, lambda group: True).all
    assert [
        [slots for _, slots in unit.options] for unit in case.audited.units if unit.is_retry
    ] == [[[0, 1, 2]]]


def test_points_of_a_repeated_id_go_on_where_it_ended():
    ring = strategy("CONSISTENT_HASH", virtual_nodes=3)._points_of(["a", "b", "a", "a"])
    assert sorted(number for name, number in ring.values() if name == "a") == list(range(9))
    assert sum(name == "b" for name, _ in ring.values()) == 3


def test_names_that_are_no_patterns_are_looked_up(monkeypatch):
    tried = []
    monkeypatch.setattr(
        unmatched, "matcher", lambda patterns: tried.append(patterns) or matcher(patterns)
    )
    ids = (*(f"lost{i}" for i in range(9)), "c000*", "c0[0]00", "c00?0", "c0001")
    leaving = Scenario("s", [RemoveClients(pattern=ids)])
    told = list(unmatched.missing_names(units_of(mixed(3)), [leaving], mixed(3)))
    assert [one.split("matches ")[1].split("'")[1] for one in told] == [
        f"lost{i}" for i in range(9)
    ]
    assert sorted(tried) == [("c000*",), ("c00?0",), ("c0[0]00",)]


def test_a_report_adds_up_each_scenario_once(monkeypatch):
    added = []
    monkeypatch.setattr(
        scenario_page,
        "scenario_summary",
        lambda plan, number: added.append(number) or plan_totals.scenario_summary(plan, number),
    )
    made = plan_snapshot(mixed(3), [Scenario(f"s{i}", [RemoveClients(count=1)]) for i in range(5)])
    report(made)
    assert added == [1, 2, 3, 4, 5]


def test_points_that_another_id_takes_over_count_no_longer():
    def hashed(key):
        return zlib.crc32(key.encode()) % 13  # so that many fall together

    ids = ["a", "b", "c", "a", "b", "a"]
    java = {}
    for client_id in ids:
        held = sum(name == client_id for name, _ in java.values())
        java |= {hashed(f"{client_id}-{held + i}"): (client_id, held + i) for i in range(4)}
    assert (
        strategy("CONSISTENT_HASH", virtual_nodes=4, hash_function=hashed)._points_of(ids) == java
    )


def doubling(call, n):
    """Operations of a call on twice as much over those on as much; a call before has imported what
    it needs.
    """
    call(2)
    one, two = (operations(lambda size=size: call(size)) for size in (n, 2 * n))
    return two / one


@pytest.mark.thorough
def test_operations_are_lines_and_memory_written():
    def loop(n):
        return [i for i in range(n) if i < 0]

    assert doubling(loop, 2000) == pytest.approx(2, rel=0.05)
    assert doubling(lambda n: np.zeros((n, n)), 100) == pytest.approx(4, rel=0.05)
    assert doubling(lambda n: [np.zeros(n) for _ in range(n)], 200) > 3
    # Memory that another thread of the run asks for meanwhile counts, too.
    assert operations(lambda: loop(500)) == pytest.approx(operations(lambda: loop(500)), rel=0.05)


@pytest.mark.thorough
def test_clients_of_a_group_are_looked_at_once_for_all_of_its_topics():
    snapshots = {n: mixed(n) for n in (2, 100, 200)}
    assert doubling(lambda n: units_of(snapshots[n]), 100) < 2.3


@pytest.mark.thorough
@pytest.mark.parametrize("to", [2, 8])
def test_resizing_a_topic_of_many_brokers_reads_its_route_once(to):
    snapshots = {n: inputs.many_brokers(n) for n in (2, 200, 400)}
    assert doubling(lambda n: resize_queues(snapshots[n], "topic", to), 200) < 2.3


def test_rooms_of_the_clients_of_one_group_alone_are_read():
    routes = tuple(Topic(name, (TopicBroker("b", 2),)) for name in ("T", "U"))
    clients = {"T": (Client("c1"),), "U": (Client("c2", machine_room="x"),)}
    groups = tuple(Group(name, (name,), clients[name], strategy="AVG") for name in ("T", "U"))
    for some in (groups, groups[::-1]):
        rooms = units_of(Snapshot(routes, some)).to_pylist()
        assert {row["topic"]: row["client_rooms"] for row in rooms} == {"T": [None], "U": ["x"]}
    assert "client_rooms" not in units_of(Snapshot(routes, groups[:1])).schema.names
