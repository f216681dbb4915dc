"""Plans of groups that share their queues, beside the twin that asks every client on its own what
it may read.
"""

import json
from random import Random

import pytest
from bruteforce.twin import checked

from rmqalloc.plans import Gates, load_plan, plan_snapshot
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker

IDS = [f"c{n}" for n in range(9)]


def shared_case(random):
    """A group that shares its queues: its kind, clients with the topics and routes that they see,
    and POP's share.
    """
    kind = random.choice(("POP", "BROADCASTING", "PROXY"))
    topic = Topic(
        "T", tuple(TopicBroker(name, random.randint(1, 4)) for name in "ab"[: random.randint(1, 2)])
    )
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


def change_of(random, group):
    """A client joins or leaves."""
    new = random.choice([one for one in IDS if one not in group.client_ids])
    gone = random.choice(group.client_ids)
    return random.choice(({"add_clients": {"ids": new}}, {"remove_clients": {"ids": gone}}))


@pytest.mark.parametrize("seed", range(120))
def test_who_may_read_what_and_the_figures_of_it(seed):
    random = Random(seed)
    kind, topic, group = shared_case(random)
    plan, problems = checked(
        Snapshot((topic,), (group,)), [{"name": "x", "changes": [change_of(random, group)]}]
    )
    to_other = "left out: subscriptions to topics without a readable route: g to other"
    assert plan.warnings == ((to_other,) if "other" in group.all_subscriptions else ())
    assert plan.units["strategy"].to_pylist() == [kind, kind]
    assert problems == []


BROADCASTING = Group("g", ("T",), (Client("c1"), Client("c2")), message_model="BROADCASTING")
TOPIC = Topic("T", (TopicBroker("b", 3),))
JOIN = [
    {
        "name": "x",
        "changes": [{"add_clients": {"count": 1}}, {"set_strategy": {"strategy": "AVG_BY_CIRCLE"}}],
    }
]


def test_a_strategy_that_is_set_is_none_of_clients_that_read_everything():
    plan = plan_snapshot(Snapshot((TOPIC,), (BROADCASTING,)), JOIN)
    alone = plan_snapshot(
        Snapshot((TOPIC,), (BROADCASTING,)), [{"name": "y", "changes": JOIN[0]["changes"][1:]}]
    )
    assert plan.units["moved"].to_pylist() == [0, 3]
    assert alone.units["moved"].to_pylist() == [0, 0]
    assert set(plan.units["strategy"].to_pylist()) == {"BROADCASTING"}


def test_the_text_says_by_how_many_queues_are_shared():
    pop = Group(
        "g", ("T",), tuple(map(Client, IDS[:4])), server_assignment="POP", pop_share_queue_num=1
    )
    text = str(plan_snapshot(Snapshot((Topic("T", (TopicBroker("b", 8),)),), (pop,)), JOIN))
    assert "Group g  topic T  8 queues  POP, shared by 2  clients 4 → 5" in text
    assert "Other clients read " in text and "double" not in text


def test_gates_count_no_queue_that_is_only_read_by_more(tmp_path):
    plan = plan_snapshot(Snapshot((TOPIC,), (BROADCASTING,)), JOIN)
    assert (
        Gates(max_moved=0, max_moved_share=0, max_skew=1.0, fail_if_worse=True).broken(plan) == ()
    )
    plan.save(tmp_path / "plan.json")
    assert load_plan(tmp_path / "plan.json").units.equals(plan.units)
    assert json.loads((tmp_path / "plan.json").read_text())["tables"]["groups"]["least_moves"] == [
        None,
        None,
    ]
