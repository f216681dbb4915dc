"""The lines that ``plan --undo`` prints, copied into a file of scenarios as they stand, lead the
changed cluster back to what it was; what a change does to a cluster is written here a second time.
"""

import json
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from fnmatch import fnmatchcase
from io import StringIO

from drawn_units import NEARBY, ROOMS, STRATEGIES, room_of, verb
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples

from rmqalloc import sort_client_ids
from rmqalloc.cli import main
from rmqalloc.plans import plan_snapshot, save_plan
from rmqalloc.scenarios import Scenario, read_scenarios
from rmqalloc.scenarios.scenario import DEPLOYMENT, MEMBERS
from rmqalloc.snapshot.files import write_snapshot
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker

TOPICS = ("T1", "T2", "t[3]")
GROUPS = ("g1", "g 2", "g, 3*")
BROKERS = ("hz@a", "hz@b", "sh@a", "b*")
IDS = ("c1", "c2", "c=3", "é", "\uffff", "😀", "c\u20284", "a" * 1_200)


# --- Clusters and changes ---


@st.composite
def clusters(draw, with_rooms):
    """Some topics, and groups that each subscribe to some of them."""
    room = room_of if with_rooms else lambda _: None
    topics = []
    for name in TOPICS:
        brokers = draw(st.lists(st.sampled_from(BROKERS), min_size=1, max_size=3, unique=True))
        numbers = [draw(st.integers(0 if place else 1, 4)) for place in range(len(brokers))]
        routes = zip(brokers, numbers, strict=True)
        topics.append(
            Topic(name, tuple(TopicBroker(b, n, machine_room=room(b)) for b, n in routes))
        )
    rules = [*STRATEGIES, *(NEARBY if with_rooms else [])]
    groups = []
    for name in GROUPS[: draw(st.integers(1, 3))]:
        ids = draw(st.lists(st.sampled_from(IDS), min_size=1, max_size=5, unique=True))
        subscriptions = draw(st.lists(st.sampled_from(TOPICS), min_size=1, unique=True))
        strategy, params = draw(st.sampled_from(rules))
        clients = tuple(Client(client_id, room(client_id)) for client_id in ids)
        group = Group(name, tuple(subscriptions), clients, "CLUSTERING", strategy, params)
        groups.append(replace(group, strategy_source="given"))
    return Snapshot(tuple(topics), tuple(groups))


def changes(with_rooms):
    """A change of the whole cluster."""
    where = {"machine_room": st.sampled_from(ROOMS)} if with_rooms else {}
    rules = st.sampled_from([*STRATEGIES, *(NEARBY if with_rooms else [])])
    topics = st.sampled_from(["*", "T?", ["T2", "t[[]3]"]])
    brokers = st.sampled_from(["*", "hz@*", ["b[*]", "sh@a"]])
    ids = st.lists(st.sampled_from(IDS), min_size=1, max_size=3, unique=True)
    joining = st.lists(st.sampled_from(["new1", "new2=", "ü"]), min_size=1, unique=True)
    return st.one_of(
        verb("remove_clients", ids=ids),
        verb("add_clients", ids=joining, **where),
        verb("scale_clients", to=st.integers(1, 7), **where),
        verb("set_queues", read_queue_nums=st.integers(0, 5), brokers=brokers, topics=topics),
        verb("set_queues", read_queue_nums=st.integers(1, 5)),
        verb("remove_broker", brokers=brokers.filter(lambda given: given != "*")),
        verb("add_broker", broker_name=st.sampled_from([*BROKERS, "n,1"]), read_queue_nums=st.integers(1, 4), **where),
        rules.map(lambda rule: {"set_strategy": {"strategy": rule[0], "params": rule[1]}}),
    )  # fmt: skip


@st.composite
def changed_clusters(draw):
    """A cluster, a scenario, and the topics that the plan is of."""
    with_rooms = draw(st.booleans())
    cluster = draw(clusters(with_rooms))
    scenario = {"name": "s", "changes": draw(st.lists(changes(with_rooms), min_size=1, max_size=4))}
    followed = {change.followed_by for change in Scenario.of(scenario).changes}
    if followed <= {MEMBERS, DEPLOYMENT}:  # a route is of all groups that read a topic
        scenario["groups"] = draw(st.sampled_from(["*", "g1", ["g 2", "g, 3[*]"]]))
    read = sorted({topic for group in cluster.groups for topic in group.subscriptions})
    chosen = draw(st.sampled_from([("*",), ("*",), (read[0].replace("[", "[[]"),)]))
    return cluster, scenario, chosen


# --- What a change does ---


def is_any(name, patterns):
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def applied(cluster, scenario):
    """The cluster after a scenario, as an operator would carry it out."""
    groups, topics = list(cluster.groups), list(cluster.topics)
    reached = [at for at, group in enumerate(groups) if is_any(group.name, scenario.groups)]
    read = {topic for at in reached for topic in groups[at].subscriptions}
    for change in scenario.changes:
        for at in reached:
            groups[at] = group_after(groups[at], change)
        for at, topic in enumerate(topics):
            if topic.name in read and is_any(topic.name, scenario.topics):
                topics[at] = topic_after(topic, change)
    return replace(cluster, topics=tuple(topics), groups=tuple(groups))


def group_after(group, change):
    clients, room = group.clients, getattr(change, "machine_room", None)
    match type(change).__name__:
        case "RemoveClients":
            clients = tuple(client for client in clients if client.client_id not in change.ids)
        case "AddClients":
            clients += tuple(Client(client_id, room) for client_id in change.ids)
        case "ScaleClients":
            ids = sort_client_ids([client.client_id for client in clients])
            leaving = ids[change.to :]
            clients = tuple(client for client in clients if client.client_id not in leaving)
            free = (f"what-if-{number:06}" for number in range(1, 99))
            free = [client_id for client_id in free if client_id not in ids]
            missing = max(0, change.to - len(clients))
            clients += tuple(Client(client_id, room) for client_id in free[:missing])
        case "SetStrategy":
            params = change.params or {}
            return replace(group, strategy=change.strategy, strategy_params=dict(params))
    return replace(group, clients=clients)


def topic_after(topic, change):
    brokers = topic.brokers
    match type(change).__name__:
        case "SetQueues" if is_any(topic.name, change.topics):
            number = change.read_queue_nums
            brokers = tuple(
                replace(broker, read_queue_nums=number)
                if is_any(broker.broker_name, change.brokers)
                else broker
                for broker in brokers
            )
        case "RemoveBroker":
            brokers = tuple(
                broker for broker in brokers if not is_any(broker.broker_name, change.brokers)
            )
        case "AddBroker":
            # A broker without queues of the topic counts as not there.
            at = [broker.broker_name for broker in brokers if broker.read_queue_nums]
            if change.broker_name not in at:
                joining = TopicBroker(change.broker_name, change.read_queue_nums)
                rest = [broker for broker in brokers if broker.broker_name != joining.broker_name]
                brokers = (*rest, replace(joining, machine_room=change.machine_room))
    return replace(topic, brokers=brokers)


def state(cluster, topics=("*",)):
    """What a plan of some topics reads of a cluster: queues, and clients and strategies of the
    groups that read these.
    """
    found, read = {}, set()
    for group in cluster.groups:
        chosen = {topic for topic in group.subscriptions if is_any(topic, topics)}
        if not chosen:
            continue
        read |= chosen
        params = dict(group.strategy_params)
        if group.strategy.endswith("CONSISTENT_HASH"):
            params.setdefault("virtual_nodes", 10)
        clients = Counter((client.client_id, client.machine_room) for client in group.clients)
        found[group.name] = clients, group.strategy, params
    for topic in cluster.topics:
        if topic.name in read:
            brokers = [
                (broker.broker_name, broker.read_queue_nums, broker.machine_room)
                for broker in topic.brokers
            ]
            found[topic.name] = {broker for broker in brokers if broker[1]}
    return found


def n_queues_left(cluster, name):
    """How many queues a topic has."""
    [brokers] = [topic.brokers for topic in cluster.topics if topic.name == name]
    return sum(broker.read_queue_nums for broker in brokers)


# --- The way back ---


def undone(folder, now, plan, *flags):
    """Exit code of the command line, and the lines that it prints of the way back."""
    write_snapshot(now, folder / "now.json")
    save_plan(plan, folder / "plan.json")
    words = ["plan", "-f", str(folder / "now.json"), "--undo", str(folder / "plan.json")]
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()) as said:
        code = main([*words, *flags])
    return code, said.getvalue().split("\n")


@examples(40, nightly=1_000)
@given(drawn=changed_clusters())
def test_printed_lines_lead_back(drawn, tmp_path_factory):
    before, scenario, topics = drawn
    now = applied(before, Scenario.of(scenario))
    folder = tmp_path_factory.mktemp("undo")
    plan = plan_snapshot(before, [scenario], topics=topics)
    code, lines = undone(folder, now, plan)
    prefix = "way back: "
    if state(now, topics) == state(before, topics):
        assert code == 3 and lines[0].startswith(
            ("refused: nothing was applied", "refused: the scenario changes nothing")
        )
        return
    if any(n_queues_left(now, name) == 0 for name in state(before, topics) if name in TOPICS):
        assert code == 3 and "and a plan starts from queues" in lines[0]
        return
    assert code != 3, lines
    printed = [line.removeprefix(prefix) for line in lines if line.startswith(prefix + "{")]
    (folder / "back.json").write_text(f'{{"scenarios": [{", ".join(printed)}]}}')
    again = now
    for way in read_scenarios(folder / "back.json"):
        again = applied(again, way)
    assert state(again, topics) == state(before, topics)
    # Nothing is known of topics that were not planned.
    for topic in (name for name in TOPICS if not is_any(name, topics)):
        assert state(again, [topic]).get(topic) == state(now, [topic]).get(topic), topic


def two_topics():
    topics = tuple(
        Topic(name, (TopicBroker("a", n), TopicBroker("b", 2)))
        for name, n in (("T1", 4), ("T2", 2))
    )
    group = Group("g", ("T1", "T2"), (Client("c1"), Client("c2")), "CLUSTERING", "AVG")
    return Snapshot(topics, (replace(group, strategy_source="given"),))


def scenarios_printed(folder, changes, topics=("*",)):
    """What the command line prints of the way back from changes of two topics."""
    scenario = {"name": "s", "changes": changes}
    plan = plan_snapshot(two_topics(), [scenario], topics=topics)
    code, lines = undone(folder, applied(two_topics(), Scenario.of(scenario)), plan)
    assert code == 0
    return [json.loads(line.removeprefix("way back: ")) for line in lines if "{" in line]


SIX = {"set_queues": {"read_queue_nums": 6}}


def test_queues_of_each_topic_go_back_by_themselves_and_clients_once(tmp_path):
    made = scenarios_printed(tmp_path, [SIX, {"remove_clients": {"ids": "c2"}}])
    four = {"set_queues": {"read_queue_nums": 4, "brokers": "a"}}
    rest = {"set_queues": {"read_queue_nums": 2, "brokers": "b"}}
    name = "way back, step {} of 3"
    assert made == [
        {"name": name.format(1), "changes": [{"add_clients": {"ids": "c2"}}], "groups": "g"},
        {"name": name.format(2), "changes": [four, rest], "groups": "g", "topics": "T1"},
        {"name": name.format(3), "changes": [{"set_queues": {"read_queue_nums": 2}}], "groups": "g", "topics": "T2"},
    ]  # fmt: skip


def test_a_plan_of_some_topics_names_them_in_its_way_back(tmp_path):
    """Of the group's other topics it knows nothing; clients are of all topics."""
    changes = [{"set_queues": {"read_queue_nums": 6, "topics": "T2"}}]
    [queues] = scenarios_printed(tmp_path, changes, ["T2"])
    assert (queues["groups"], queues["topics"]) == ("g", "T2")
    [clients] = scenarios_printed(tmp_path, [{"remove_clients": {"ids": "c2"}}], ["T2"])
    assert (clients["groups"], "topics" in clients) == ("g", False)
