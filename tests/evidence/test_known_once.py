"""Strategies, machine rooms and doubts are looked up once, by every command line; no verb looks
that is given them.
"""

import json

import pytest

import rmqalloc
from rmqalloc.cli import main
from rmqalloc.evidence import Known, known, known_snapshot, with_strategies
from rmqalloc.plans import load_plan, undo_plan
from rmqalloc.rollouts import rollout
from rmqalloc.snapshot import Client, Group, Snapshot, Topic, TopicBroker
from rmqalloc.snapshot.files import write_snapshot

SIX = [{"name": "six", "changes": [{"scale_clients": {"to": 6}}]}]
COMMANDS = {
    "plan -f {} --scale 6": 1,
    "plan -f {} --scale 6 --show evidence": 1,
    "plan -f {} --scale 6 --require any": 1,
    "plan -f {} --scale 6 --require fitted": 1,
    "plan -f {} --scale 6 --strategy AVG": 1,
    "check -f {}": 1,
    "check -f {} --require reported": 1,
    "compare -f {}": 1,
    "explain -f {} -g fitted -t T --queue b:1": 1,
    "explain -f {} -g fitted -t T --queue b:1 -s CONSISTENT_HASH": 1,
    "recommend -f {}": 1,
    "rollout restart -f {}": 1,
    "rollout restart -f {} -o html": 1,
    "rollout restart -f {} --best": 1,
    "rollout strategy -f {} --to-strategy AVG_BY_CIRCLE": 1,
    "rollout subscription -f {} -t U": 1,
    "rollout queues -f {} -t T --set-queues 16 --assume-drained": 1,
    "rollout broker -f {} --broker b": 1,
    "diff {} {}": 2,
}
VERBS = {
    "plan": lambda one: rmqalloc.plan(one, SIX).evidence.num_rows,
    "check": lambda one: rmqalloc.check(one).evidence.groups.num_rows,
    "compare": lambda one: rmqalloc.compare(one, ["AVG", "AVG_BY_CIRCLE"]).table.num_rows,
    "recommend": lambda one: rmqalloc.recommend(one).groups.num_rows,
    "diff": lambda one: rmqalloc.diff(one, one).groups.num_rows,
    "restart": lambda one: rollout.restart(one).totals.num_rows,
    "best_restart": lambda one: rollout.best_restart(one).totals.num_rows,
    "strategy": lambda one: rollout.strategy(one, "AVG").totals.num_rows,
    "subscription": lambda one: rollout.subscription(one, "U").totals.num_rows,
    "queues": lambda one: rollout.queues(one, "T", 16, assume_drained=True).totals.num_rows,
    "broker": lambda one: rollout.broker(one, "b").totals.num_rows,
}


def cluster():
    """A group whose strategy is stated, one whose clients own what a strategy gives them, and one
    with a doubt.
    """
    topic = Topic("T", (TopicBroker("b", 12),))
    owning = tuple(Client(f"c{i}", owned=tuple(topic.queues())[i::3]) for i in range(3))
    plain = tuple(Client(f"c{i}") for i in range(3))
    groups = (
        Group("given", ("T",), plain, strategy="AVG"),
        Group("fitted", ("T",), owning),
        Group("open", ("T",), plain),
    )
    return Snapshot((topic, Topic("U", (TopicBroker("b", 4),))), groups)


@pytest.fixture
def looked(monkeypatch):
    """The times that strategies are decided."""
    found, decide = [], known_snapshot.decided

    def counted(*given):
        found.append(given)
        return decide(*given)

    monkeypatch.setattr(known_snapshot, "decided", counted)
    return found


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_line_looks_once(command, looked, tmp_path, capsys):
    path = str(tmp_path / "s.json")
    write_snapshot(cluster(), path)
    assert main(command.replace("{}", path).split()) in (0, 1, 2, 3), capsys.readouterr().err
    assert len(looked) == COMMANDS[command]


@pytest.mark.thorough(keep=2)
@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_looks_once_and_at_what_is_known_never(verb, looked):
    of_snapshot = VERBS[verb](cluster())
    assert len(looked) == (2 if verb == "diff" else 1)
    one = known(cluster())
    assert (one.snapshot, VERBS[verb](one)) == (with_strategies(cluster()), of_snapshot)
    assert len(looked) == (4 if verb == "diff" else 3)  # `with_strategies` has looked, too


def test_the_way_back_and_a_reason_are_looked_for_in_what_is_known(looked, tmp_path):
    path = str(tmp_path / "plan.json")
    stated = known(cluster(), strategy="AVG")
    rmqalloc.plan(
        stated, [{"name": "less", "changes": [{"remove_clients": {"ids": "c0"}}]}], ["given"]
    ).save(path)
    less = Snapshot(
        stated.snapshot.topics,
        tuple(
            Group(one.name, one.subscriptions, one.clients[1:], strategy="AVG")
            for one in stated.snapshot.groups
        ),
    )
    undo_plan(load_plan(path), less)
    of_group = known(cluster(), ["given"])
    before = len(looked)
    assert rmqalloc.explain(of_group, "given", "T", "b", 3).owner == "c0"
    assert len(looked) == before + 1  # what is known is decided when it is first asked for
    rmqalloc.explain(of_group, "given", "T", "b", 4)
    assert len(looked) == before + 1


def test_what_is_known_of_other_groups_is_looked_up_for_those_that_are_asked_for():
    one = known(cluster(), ["given"])
    assert Known.of(one, ["given"]) is one
    others = Known.of(one, ["fitted"])
    assert [group.strategy_source for group in others.snapshot.groups] == [None, "fitted", None]


def test_more_queues_are_no_contradiction_to_what_clients_own_before(tmp_path, capsys):
    path = str(tmp_path / "s.json")
    write_snapshot(cluster(), path)
    words = f"rollout queues -f {path} -g fitted -t T --set-queues 16 --assume-drained --show totals -o json"
    assert main(words.split()) == 0
    out, err = capsys.readouterr()
    assert [row["consumer_group"] for row in json.loads(out)] == ["fitted"]
    assert "in doubt" not in err
