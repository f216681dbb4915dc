"""Plans of snapshots: tables that agree among themselves, gates and files; `test_twin` recomputes
the tables.
"""

import dataclasses
import gzip
import json

import drawn_units
import plan_snapshots
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples

from rmqalloc import MessageQueue
from rmqalloc.evaluation.batch_planning import ErrCode, PlanSpec, plan_batch
from rmqalloc.evaluation.expand import client_load, sum_loads
from rmqalloc.evidence import UnansweredError
from rmqalloc.plans import Gates, PlanError, compare, load_plan, plan_snapshot, save_plan
from rmqalloc.plans.plan_totals import client_totals, summaries
from rmqalloc.snapshot.matching import NoMatchError
from rmqalloc.snapshot.snapshot import Client, Group, Lag, Snapshot, Topic, TopicBroker
from rmqalloc.snapshot.units import batch_of, unit_pairs, units_of

GONE = [{"name": "second leaves", "changes": [{"remove_clients": {"ids": "c2"}}]}]


def cluster(n_queues=24, n_clients=4, **more):
    topic = Topic("T", (TopicBroker("b", n_queues),))
    clients = tuple(Client(f"c{i}") for i in range(1, n_clients + 1))
    return Snapshot((topic,), (Group("g", ("T",), clients, **{"strategy": "AVG"} | more),))


def rows(table):
    return table.to_pylist()


# --- Tables ---


@examples(60)
@given(st.data())
def test_the_tables_agree_among_themselves(data):
    snapshot, scenarios = data.draw(plan_snapshots.snapshots()), data.draw(drawn_units.scenarios())
    plan = plan_snapshot(snapshot, scenarios)
    for row in rows(plan.clients):
        assert row["before"] - row["lost"] + row["gained"] == row["after"]
        assert row["host"] == row["client_id"].partition("@")[0]
    moved = plan.queues.filter(
        pc.or_(is_(plan.queues, "moved"), pc.and_(is_(plan.queues, "unowned"), had_owner(plan)))
    )
    counts = client_counts(moved, ["scenario", "consumer_group", "topic"])
    for row in rows(plan.units):
        if row["err_code"] == 0:
            assert (
                counts.get((row["scenario"], row["consumer_group"], row["topic"]), 0)
                == row["moved"]
            )
    batch = units_of(snapshot)
    parts = [client_load(batch, PlanSpec(scenarios=plan.scenarios))]
    wanted = [
        (row["scenario"], row["client_id"], row["n_units"], row["n_queues"])
        for row in rows(sum_loads(parts))
    ]
    there = plan.clients.filter(pc.not_equal(plan.clients["status"], "gone"))
    totals = rows(client_totals(there, "client_id"))
    assert sorted(
        (row["scenario"], row["client_id"], row["n_units"], row["after"]) for row in totals
    ) == sorted(wanted)


def is_(table, change):
    return pc.equal(table["change"], change)


def had_owner(plan):
    return pc.is_valid(plan.queues["owner_before"])


def client_counts(table, keys):
    found = rows(table.group_by(keys).aggregate([([], "count_all")]))
    return {tuple(row[key] for key in keys): row["count_all"] for row in found}


# --- Worked cases ---


def test_the_second_of_four_leaves():
    plan = plan_snapshot(cluster(), GONE)
    after = {row["client_id"]: row for row in rows(plan.clients) if row["scenario"] != "current"}
    assert {name: (row["before"], row["after"], row["gained"], row["lost"]) for name, row in after.items()} == {
        "c1": (6, 8, 2, 0), "c2": (6, 0, 0, 6), "c3": (6, 8, 4, 2), "c4": (6, 8, 2, 0),
    }  # fmt: skip
    moved = [row["queue_id"] for row in rows(plan.queues) if row["change"] == "moved"]
    assert moved == [6, 7, 8, 9, 10, 11, 16, 17]
    assert summaries(plan)[0] == ("second leaves", 1, 0, 0, 0, (), (), 8, 0, 0, 0, 3, 1, 0, 0, 0)


def test_the_remainder_always_lands_on_the_first_clients():
    topics = tuple(Topic(f"T{i:03}", (TopicBroker("b", 4),)) for i in range(100))
    clients = tuple(Client(f"c{i}") for i in range(10))
    snapshot = Snapshot(
        topics, (Group("g", tuple(topic.name for topic in topics), clients, strategy="AVG"),)
    )
    plan = plan_snapshot(snapshot, [])
    totals = client_totals(plan.clients, "client_id")
    assert totals["after"].to_pylist() == [100] * 4 + [0] * 6
    [group] = rows(plan.groups)
    assert (group["n_queues"], group["idle"], group["max_load"], group["skew"]) == (
        400,
        6,
        100,
        2.5,
    )
    assert {row["skew"] for row in rows(plan.units)} == {2.5}


def test_lag_follows_its_queue():
    lags = (
        Lag(MessageQueue("T", "b", 6), 100, 30),
        Lag(MessageQueue("T", "b", 0), 9, -1),
        Lag(MessageQueue("T", "x", 0), 9, 0),
    )
    plan = plan_snapshot(cluster(lags=lags), GONE)
    assert plan.groups["backlog_moved"].to_pylist() == [0, 70]
    assert [row["lag"] for row in rows(plan.queues.slice(24, 8))] == [9, *[None] * 5, 70, None]
    assert plan_snapshot(cluster(), GONE).groups["backlog_moved"].to_pylist() == [None, None]


def test_offsets_beyond_reason_are_no_overflow():
    lags = tuple(Lag(MessageQueue("T", "b", i), 2**63 - 1, 0) for i in range(24))
    assert plan_snapshot(cluster(lags=lags), GONE).groups["backlog_moved"].to_pylist() == [
        0,
        2**63 - 1,
    ]
    lags = tuple(Lag(MessageQueue("T", "b", i), 2**53 + 1, 0) for i in (6, 7))
    assert plan_snapshot(cluster(lags=lags), GONE).groups["backlog_moved"].to_pylist() == [
        0,
        2**54 + 2,
    ]


def test_a_row_that_is_out_of_bounds_or_odd_stands_alone():
    brokers = [
        (TopicBroker("b", 2**62),),
        (TopicBroker("b", 4), TopicBroker("b", 4)),
        (TopicBroker("b", 4),),
    ]
    topics = tuple(Topic(name, of) for name, of in zip("TUV", brokers, strict=True))
    plan = plan_snapshot(
        Snapshot(topics, (Group("g", ("T", "U", "V"), (Client("c"),), strategy="AVG"),)), []
    )
    assert plan.units["err_code"].to_pylist() == [
        ErrCode.MALFORMED,
        ErrCode.DUPLICATE_QUEUE,
        ErrCode.GOOD,
    ]
    assert plan.groups.select(["n_topics", "n_queues", "max_load"]).to_pylist() == [
        {"n_topics": 1, "n_queues": 4, "max_load": None}
    ]


# --- What is planned ---


def test_what_cannot_be_planned_is_told():
    snapshot = cluster()
    [group] = snapshot.groups
    others = [
        dataclasses.replace(group, name="all", message_model="BROADCASTING"),
        dataclasses.replace(group, name="pop", server_assignment="POP"),
        dataclasses.replace(
            group, name="ring", server_assignment="PULL", strategy="CONSISTENT_HASH"
        ),
        dataclasses.replace(group, name="none", clients=()),
        dataclasses.replace(group, name="lost", subscriptions=("T", "U", "V")),
        dataclasses.replace(group, name="odd", strategy_params={"virtual_nodes": "many"}),
        dataclasses.replace(group, name="what", strategy="BEST"),
    ]
    topics = (*snapshot.topics, Topic("V", (TopicBroker("b", 4, perm=2),)))
    plan = plan_snapshot(Snapshot(topics, (group, *others)), GONE)
    assert plan.warnings == (
        "left out: ring: its strategy cannot be computed: brokers do not support CONSISTENT_HASH, only AVG and "
        "AVG_BY_CIRCLE; state another strategy in the snapshot, or with --strategy if clients divide the queues",
        "left out: subscriptions to topics without a readable route: lost to U, lost to V",
    )
    codes = {row["consumer_group"]: row["err_code"] for row in rows(plan.units)}
    bad = {"none": ErrCode.EMPTY, "odd": ErrCode.BAD_STRATEGY, "what": ErrCode.BAD_STRATEGY}
    assert codes == {"g": 0, "all": 0, "pop": 0, "lost": 0} | bad
    assert {row["consumer_group"] for row in rows(plan.queues)} == {
        "g",
        "all",
        "pop",
        "lost",
    }
    assert [row["n_topics"] for row in rows(plan.groups)] == [1, 1, 1, 0, 1, 0, 0] * 2
    messages = [row["err_msg"] for row in rows(plan.units) if row["consumer_group"] == "odd"]
    assert messages[0].startswith(
        "strategy AVG: got an unexpected keyword argument 'virtual_nodes'"
    )


def test_many_names_are_cut_short():
    groups = tuple(Group(f"g{i}", message_model="BROADCASTING", strategy="AVG") for i in range(5))
    with pytest.raises(UnansweredError, match="left out: g0, g1, g2 and 2 more: all its clients"):
        compare(Snapshot((), groups), ["AVG"])


def test_parameters_of_strategies_are_kept():
    topics = (
        Topic(
            "T",
            (TopicBroker("hz@b", 6, machine_room="hz"), TopicBroker("sh@b", 3, machine_room="sh")),
        ),
    )
    clients = (Client("c1", "hz"), Client("c2", "sh"))
    groups = (
        Group(
            "room",
            ("T",),
            clients,
            strategy="MACHINE_ROOM",
            strategy_params={"machine_rooms": ["hz"]},
        ),
        Group(
            "near",
            ("T",),
            clients,
            strategy="MACHINE_ROOM_NEARBY",
            strategy_params={"inner": "AVG"},
        ),
        Group(
            "ring",
            ("T",),
            clients,
            strategy="CONSISTENT_HASH",
            strategy_params={"virtual_nodes": 0},
        ),
        Group("plain", ("T",), clients, strategy="AVG"),
    )
    plan = plan_snapshot(Snapshot(topics, groups), [])
    found = [
        (row["consumer_group"], row["strategy"], row["unowned"], row["cross_room"])
        for row in rows(plan.units)
    ]
    assert found == [
        ("room", "MACHINE_ROOM", 3, 3),
        ("near", "MACHINE_ROOM_NEARBY-AVG", 0, 0),
        ("ring", "CONSISTENT_HASH", 9, 0),
        ("plain", "AVG", 0, 1),
    ]
    assert {row["machine_room"] for row in rows(plan.clients)} == {"hz", "sh"}


def with_retry_topics(snapshot):
    return batch_of(unit_pairs(snapshot, with_retry=True).pairs)


def test_retry_topics_where_they_are_not_listed():
    snapshot = cluster()
    made = with_retry_topics(snapshot).to_pylist()
    assert [(row["topic"], [b["read_queue_nums"] for b in row["brokers"]]) for row in made] == [
        ("T", [24]),
        ("%RETRY%g", [1]),
    ]
    known = dataclasses.replace(
        snapshot, topics=(*snapshot.topics, Topic("%RETRY%g", (TopicBroker("b", 3),)))
    )
    assert with_retry_topics(known).to_pylist()[1]["brokers"][0]["read_queue_nums"] == 3
    [group] = known.groups
    listed = dataclasses.replace(
        known, groups=(dataclasses.replace(group, subscriptions=("T", "%RETRY%g")),)
    )
    assert with_retry_topics(listed) == units_of(listed)
    plan = plan_snapshot(snapshot, [], with_retry=True)
    assert plan.groups["max_load"].to_pylist() == [7]


def test_patterns_choose_and_must_match():
    topics = tuple(Topic(name, (TopicBroker("b", 2),)) for name in ("orders", "bills", "alone"))
    groups = tuple(
        Group(name, ("orders", "bills"), (Client("c"),), strategy="AVG")
        for name in ("order-svc", "bill-svc")
    )
    snapshot = Snapshot(topics, groups)
    batch = units_of(snapshot, ["order*", "nothing", "bill-sv?"][::2], ["bills"])
    assert [(row["consumer_group"], row["topic"]) for row in batch.to_pylist()] == [
        ("order-svc", "bills"),
        ("bill-svc", "bills"),
    ]
    assert units_of(snapshot, topics=["alone"]).num_rows == 0
    with pytest.raises(
        NoMatchError, match="no consumer group matches 'ordersvc'; near it is 'order-svc'"
    ):
        units_of(snapshot, ["bill*", "ordersvc"])
    with pytest.raises(NoMatchError, match="no topic matches '77'; the snapshot has 3"):
        units_of(snapshot, topics=["77"])
    with pytest.raises(
        ValueError, match="two consumer groups of the snapshot are named 'order-svc'"
    ):
        units_of(Snapshot(topics, (groups[0], groups[0])))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"remove_clients": {"ids": ["c1", "d2"]}},
            "no client of the planned groups matches 'd2'; near it is 'c2'",
        ),
        ({"remove_clients": {"pattern": "d*"}}, "no client of the planned groups matches 'd*'"),
        (
            {"remove_broker": {"brokers": "bb"}},
            "no broker of the planned groups matches 'bb'; near it is 'b'",
        ),
        (
            {"set_queues": {"read_queue_nums": 2, "topics": "U"}},
            "no topic of the planned groups matches 'U'",
        ),
        (
            {"lose_machine_room": {"machine_room": "hz"}},
            "no machine room of the planned groups matches 'hz'",
        ),
    ],
)
def test_names_that_nothing_has(change, said):
    scenario = [{"name": "x", "changes": [change]}]
    with pytest.raises(NoMatchError) as error:
        plan_snapshot(cluster(), scenario, strict=True)
    assert str(error.value).startswith(said)
    if "lose" not in next(iter(change)):
        assert plan_snapshot(cluster(), scenario).warnings[0].startswith(said)


def test_queues_of_one_topic_alone():
    topics = tuple(Topic(name, (TopicBroker("b", 4),)) for name in ("T", "U"))
    snapshot = Snapshot(topics, (Group("g", ("T", "U"), (Client("c"),), strategy="AVG"),))
    changes = [{"set_queues": {"read_queue_nums": 7, "topics": "U"}}, {"scale_clients": {"to": 2}}]
    plan = plan_snapshot(snapshot, [{"name": "x", "changes": changes}])
    after = [
        (row["topic"], row["n_queues"], row["n_clients"])
        for row in rows(plan.units)
        if row["scenario"] == "x"
    ]
    assert after == [("T", 4, 2), ("U", 7, 2)]


def test_nothing_to_plan():
    plan = plan_snapshot(Snapshot(), GONE[:0])
    assert [table.num_rows for table in (plan.units, plan.groups, plan.clients, plan.queues)] == [
        0
    ] * 4
    assert plan_snapshot(Snapshot(groups=(Group("g", strategy="AVG"),)), GONE).queues.num_rows == 0


def test_ten_thousand_groups_as_plan_batch_says():
    groups, topics = [], []
    for i in range(10_000):
        topics.append(Topic(f"t{i}", tuple(TopicBroker(f"b{b}", 4) for b in range(4))))
        clients = tuple(Client(f"10.0.{i % 256}.{c}@{i}") for c in range(10))
        groups.append(
            Group(f"g{i}", (f"t{i}",), clients, strategy=("AVG", "CONSISTENT_HASH")[i % 2])
        )
    snapshot = Snapshot(tuple(topics), tuple(groups))
    scenarios = [
        {"name": "12", "changes": [{"scale_clients": {"to": 12}}]},
        {"name": "less", "changes": [{"remove_clients": {"count": 1, "which": "spread"}}]},
        {"name": "ring", "changes": [{"set_strategy": {"strategy": "CONSISTENT_HASH"}}]},
        {"name": "broker", "changes": [{"remove_broker": {"brokers": "b1"}}]},
        {"name": "queues", "changes": [{"set_queues": {"read_queue_nums": 8}}]},
    ]
    plan = plan_snapshot(snapshot, scenarios, with_retry=True)
    batch = with_retry_topics(snapshot)
    assert batch.num_rows == 20_000
    made = pa.Table.from_batches([plan_batch(batch, PlanSpec(scenarios=scenarios))])
    assert plan.units.drop_columns(["double_owned"]).equals(made)
    assert plan.groups.num_rows == 60_000
    assert pc.sum(plan.groups["moved"]).as_py() == pc.sum(plan.units["moved"]).as_py()


# --- Gates ---


@pytest.mark.parametrize(
    ("gates", "said"),
    [
        (Gates(max_moved=8), []),
        (Gates(max_moved=7), ["8 queues change owner; the limit is 7"]),
        (Gates(max_moved_share=0.334), []),
        (Gates(max_moved_share=0.2), ["33.3 % of the queues change owner; the limit is 20 %"]),
        (Gates(max_skew=1), []),
        (Gates(max_skew=0.9), ["the skew is 1.00; the limit is 0.9"]),
        (Gates(fail_if_worse=True), ["max_load grows from 6 to 8"]),
        (
            Gates(max_moved=1, max_skew=0.5),
            ["8 queues change owner; the limit is 1", "the skew is 1.00; the limit is 0.5"],
        ),
    ],
)
def test_gates(gates, said):
    broken = gates.broken(plan_snapshot(cluster(), GONE))
    assert [(one.scenario, one.consumer_group, one.text) for one in broken] == [
        ("second leaves", "g", text) for text in said
    ]


def test_worse_in_every_way():
    changes = [
        {"scale_clients": {"to": 30}},
        {"set_strategy": {"strategy": "CONSISTENT_HASH", "params": {"virtual_nodes": 0}}},
    ]
    [*broken] = Gates(fail_if_worse=True).broken(
        plan_snapshot(cluster(), [{"name": "x", "changes": changes}])
    )
    assert [one.text for one in broken] == ["unowned grows from 0 to 24", "idle grows from 0 to 30"]
    assert str(broken[1]) == "scenario x: group g: idle grows from 0 to 30"


def test_what_cannot_be_assigned_any_more_is_worse():
    topic = Topic("T", (TopicBroker("b", 2, machine_room="hz"),))
    snapshot = Snapshot((topic,), (Group("g", ("T",), (Client("c"),), strategy="AVG"),))
    near = [
        {"name": "near", "changes": [{"set_strategy": {"strategy": "MACHINE_ROOM_NEARBY-AVG"}}]}
    ]
    plan = plan_snapshot(snapshot, near)
    assert [one.text for one in Gates(fail_if_worse=True).broken(plan)] == [
        "1 of its 1 topics can no longer be assigned"
    ]
    assert pc.unique(plan.clients["scenario"]).to_pylist() == ["current"]


# --- Files and hashes ---


@pytest.mark.parametrize("name", ["plan.json", "plan.json.gz"])
def test_a_plan_is_read_as_it_was_written(tmp_path, name):
    snapshot = cluster(lags=(Lag(MessageQueue("T", "b", 6), 100, 30),))
    plan = plan_snapshot(snapshot, GONE, with_retry=True)
    save_plan(plan, tmp_path / name)
    read = load_plan(tmp_path / name)
    for table in ("units", "groups", "clients", "queues"):
        assert getattr(read, table).equals(getattr(plan, table))
    assert (read.scenarios, read.warnings, read.digest) == (
        plan.scenarios,
        plan.warnings,
        plan.digest,
    )
    assert (read.input_digest, read.tool_version) == (plan.input_digest, plan.tool_version)
    first = (tmp_path / name).read_bytes()
    save_plan(plan_snapshot(snapshot, GONE, with_retry=True), tmp_path / name)
    assert (tmp_path / name).read_bytes() == first


def test_the_order_of_columns_in_a_file_is_no_content(tmp_path):
    path = tmp_path / "plan.json"
    plan = plan_snapshot(cluster(), GONE)
    save_plan(plan, path)
    document = json.loads(path.read_text())
    tables = reversed(document["tables"].items())
    document["tables"] = {name: dict(reversed(columns.items())) for name, columns in tables}
    path.write_text(json.dumps(document))
    assert load_plan(path).digest == plan.digest


def test_what_is_not_the_same_has_another_hash():
    plan = plan_snapshot(cluster(), GONE)
    assert plan_snapshot(cluster(), GONE).digest == plan.digest
    others = [
        plan_snapshot(cluster(n_clients=5), GONE),
        plan_snapshot(cluster(consume_tps=1.0), GONE),
        plan_snapshot(cluster(), [GONE[0] | {"name": "another"}]),
        plan_snapshot(cluster(), GONE, with_retry=True),
        dataclasses.replace(plan, tool_version="0"),
    ]
    assert len({plan.digest, *(other.digest for other in others)}) == 6


def changed_file(text, moved=0):
    document = json.loads(text)
    document["tables"]["units"]["moved"][1] = moved
    return json.dumps(document)


def other_table(text):
    document = json.loads(text)
    document["tables"]["more"] = {"b": [1], "a": [2]}
    return json.dumps(document)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (changed_file, "was changed after it was written"),
        pytest.param(
            lambda text: changed_file(text, -1),
            r"tables\.units\.moved is negative in row 1",
            id="a negative figure",
        ),
        (other_table, "tables must be units, groups, clients, queues, got"),
        pytest.param(lambda text: text[:100], "is not a plan", id="cut"),
        pytest.param(lambda text: "[]", "must be a mapping, got", id="a list"),
        pytest.param(
            lambda text: text.replace('"Plan"', '"Snapshot"'),
            "kind must be one of Plan, got",
            id="another kind",
        ),
        pytest.param(
            lambda text: text.replace("rmqalloc/v3", "rmqalloc/v9"),
            "apiVersion must be one of rmqalloc/v3, got",
            id="another version",
        ),
        pytest.param(lambda text: "[" * 100_000, "is not a plan", id="100000 lists"),
        pytest.param(
            lambda text: text.replace('"warnings":[]', '"warnings":[7]'),
            "must be text, got 7",
            id="a warning that is no text",
        ),
        pytest.param(
            lambda text: text.replace('"rows":[0,0]', '"rows":[0,9]'),
            "is not a plan",
            id="a row that is not there",
        ),
    ],
)
def test_a_file_that_is_not_as_written_is_refused(tmp_path, change, said):
    path = tmp_path / "plan.json"
    save_plan(plan_snapshot(cluster(), GONE), path)
    path.write_text(change(path.read_text()))
    with pytest.raises(PlanError, match=said):
        load_plan(path)


def test_a_packed_file_that_is_cut_is_refused(tmp_path):
    (tmp_path / "plan.gz").write_bytes(gzip.compress(b"{}")[:-9])
    with pytest.raises(PlanError, match="is not a plan"):
        load_plan(tmp_path / "plan.gz")
    with pytest.raises(FileNotFoundError):
        load_plan(tmp_path / "none")


# --- Faces ---


def test_a_plan_shows_itself():
    snapshot = Snapshot(
        cluster().topics, (dataclasses.replace(cluster().groups[0], name="<script>"),)
    )
    plan = plan_snapshot(snapshot, [GONE[0] | {"name": "x&y"}])
    assert repr(plan) == "<Plan of 1 group, scenarios: x&y>"
    html = plan._repr_html_()
    assert "<script" not in html
    assert "&lt;script&gt;" in html
    assert "x&amp;y" in html
    assert pa.table(plan).equals(plan.units)


def test_of_very_many_clients_that_change_fifty_are_shown():
    plan = plan_snapshot(
        cluster(n_clients=90),
        [{"name": "more", "changes": [{"set_queues": {"read_queue_nums": 90}}]}],
    )
    text = str(plan)
    assert sum(line.startswith("~ c") for line in text.splitlines()) == 50
    assert "  and 40 more clients" in text.splitlines()


def test_totals_by_nothing_are_refused():
    clients = plan_snapshot(cluster(), []).clients
    for by in ((), ("beauty",)):
        with pytest.raises(
            ValueError, match="by must be some of consumer_group, topic, host, client_id"
        ):
            client_totals(clients, *by)
