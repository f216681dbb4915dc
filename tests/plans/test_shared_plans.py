"""Plans of groups that share their queues, beside a plain twin that asks every client on its own what it may read."""

import json
from random import Random

import pytest
from bruteforce import java
from bruteforce.audited import popped

from rmqalloc.plans import Gates, load_plan, plan_snapshot
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker

IDS = [f"c{n}" for n in range(9)]


def shared_case(random):
    """A group that shares its queues: its kind, clients with the topics and routes that they see, and POP's share."""
    kind = random.choice(("POP", "BROADCASTING", "PROXY"))
    topic = Topic("T", tuple(TopicBroker(name, random.randint(1, 4)) for name in "ab"[: random.randint(1, 2)]))
    clients = tuple(
        Client(
            one,
            strategy=random.choice((None, None, "AVG", "AVG_BY_CIRCLE")),
            subscriptions=random.choice((None, ("T",), ("T",), ("other",))),
            sees_read_queue_nums=random.choice((None, None, {"T": {"a": random.randint(0, 5)}})),
        )
        for one in random.sample(IDS, random.randint(1, 7))
    )
    fields = {
        "POP": {"server_assignment": "POP"},
        "BROADCASTING": {"message_model": kind},
        "PROXY": {"is_shared": True},
    }
    group = Group("g", ("T",), clients, pop_share_queue_num=random.randint(-1, 4), **fields[kind])
    return kind, topic, group


def scenario_of(random, group):
    """A change as data, and the clients after it."""
    ids = group.client_ids
    new = random.choice([one for one in IDS if one not in ids])
    gone = random.choice(ids)
    return random.choice(
        (
            ({"add_clients": {"ids": new}}, (*group.clients, Client(new))),
            ({"remove_clients": {"ids": gone}}, tuple(one for one in group.clients if one.client_id != gone)),
        )
    )


def readers(kind, topic, group, clients):
    """Ids that may read each queue."""
    queues = sorted(((one.topic, one.broker_name, one.queue_id) for one in topic.queues()), key=java.queue_order)
    ids = sorted(one.client_id for one in clients)
    found = {queue: set() for queue in queues}
    for client in clients:
        if client.subscriptions is not None and "T" not in client.subscriptions:
            continue
        seen = None if kind == "POP" else (client.sees_read_queue_nums or {}).get("T")
        mine = queues if seen is None else [("T", name, i) for name, n in seen.items() for i in range(n)]
        if kind == "POP":
            rule = {"name": client.strategy or "AVG"}
            mine = popped(rule, client.client_id, queues, ids, group.pop_share_queue_num)
        for queue in set(mine) & set(queues):
            found[queue].add(client.client_id)
    return found


def named(row, when):
    return {name for name in (row[f"owner_{when}"], *(row[f"others_{when}"] or ())) if name is not None}


@pytest.mark.parametrize("seed", range(120))
def test_who_may_read_what_and_the_figures_of_it(seed):
    random = Random(seed)
    kind, topic, group = shared_case(random)
    change, clients = scenario_of(random, group)
    plan = plan_snapshot(Snapshot((topic,), (group,)), [{"name": "x", "changes": [change]}])
    assert plan.warnings == ()
    before, after = readers(kind, topic, group, group.clients), readers(kind, topic, group, clients)
    rows = {(row["broker_name"], row["queue_id"]): row for row in plan.queues.to_pylist() if row["scenario"] == "x"}
    assert {key: [named(row, "before"), named(row, "after")] for key, row in rows.items()} == {
        queue[1:]: [before[queue], after[queue]] for queue in before
    }
    row = plan.units.to_pylist()[1]
    loads = [sum(one.client_id in ids for ids in after.values()) for one in clients]
    expected = {
        "strategy": kind,
        "n_queues": len(after),
        "n_clients": len(clients),
        "idle": loads.count(0),
        "unowned": sum(not ids for ids in after.values()),
        "double_owned": 0,
        "min_load": min(loads, default=0),
        "max_load": max(loads, default=0),
        "moved": sum(before[queue] != after[queue] for queue in after),
        "least_moves": None,
        "clients_affected": len({one for queue in after for one in before[queue] ^ after[queue]}),
        "mean_load": pytest.approx(sum(loads) / max(len(clients), 1)),
        "skew": pytest.approx(max(loads, default=0) * len(clients) / max(sum(loads), 1)),
    }
    assert {name: row[name] for name in expected} == expected
    total = plan.groups.to_pylist()[1]
    same = ("idle", "moved", "least_moves", "mean_load", "min_load", "max_load", "unowned")
    assert {name: total[name] for name in same} == {name: expected[name] for name in same}


BROADCASTING = Group("g", ("T",), (Client("c1"), Client("c2")), message_model="BROADCASTING")
TOPIC = Topic("T", (TopicBroker("b", 3),))
JOIN = [{"name": "x", "changes": [{"add_clients": {"count": 1}}, {"set_strategy": {"strategy": "AVG_BY_CIRCLE"}}]}]


def test_a_strategy_that_is_set_is_none_of_clients_that_read_everything():
    plan = plan_snapshot(Snapshot((TOPIC,), (BROADCASTING,)), JOIN)
    alone = plan_snapshot(Snapshot((TOPIC,), (BROADCASTING,)), [{"name": "y", "changes": JOIN[0]["changes"][1:]}])
    assert plan.units["moved"].to_pylist() == [0, 3]
    assert alone.units["moved"].to_pylist() == [0, 0]
    assert set(plan.units["strategy"].to_pylist()) == {"BROADCASTING"}


def test_the_text_says_by_how_many_queues_are_shared():
    pop = Group("g", ("T",), tuple(map(Client, IDS[:4])), server_assignment="POP", pop_share_queue_num=1)
    text = str(plan_snapshot(Snapshot((Topic("T", (TopicBroker("b", 8),)),), (pop,)), JOIN))
    assert "Group g  topic T  8 queues  POP, shared by 2  clients 4 → 5" in text
    assert "Other clients read " in text and "double" not in text


def test_gates_count_no_queue_that_is_only_read_by_more(tmp_path):
    plan = plan_snapshot(Snapshot((TOPIC,), (BROADCASTING,)), JOIN)
    assert Gates(max_moved=0, max_moved_share=0, max_skew=1.0, fail_if_worse=True).broken(plan) == ()
    plan.save(tmp_path / "plan.json")
    assert load_plan(tmp_path / "plan.json").units.equals(plan.units)
    assert json.loads((tmp_path / "plan.json").read_text())["tables"]["groups"]["least_moves"] == [None, None]
