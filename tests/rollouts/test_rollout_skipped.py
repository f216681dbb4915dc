"""Rollouts over whole fleets: a group to which one does not apply is skipped and named, and refuses
no other.
"""

import json
import re

import pytest

from rmqalloc.cli import main
from rmqalloc.evaluation import assigner
from rmqalloc.evidence import Known, known
from rmqalloc.rollouts import replay_groups as play
from rmqalloc.rollouts._subscribe import _in_found_rooms, change_subscription
from rmqalloc.rollouts.advice._recommend import advise
from rmqalloc.rollouts.planned_groups import planned_groups_of
from rmqalloc.rollouts.restart import restart
from rmqalloc.rollouts.switch import change_strategy
from rmqalloc.snapshot.plain_data import to_document
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker

SIZES = {"two": 2, "one": 1, "three": 3}


def fleet(sizes=None, subscriptions=("T",)):
    topics = tuple(Topic(name, (TopicBroker("a", 4, machine_room="hz"),)) for name in "TU")
    groups = tuple(
        Group(
            name,
            subscriptions,
            tuple(Client(f"{name}{i}@1#1", machine_room="hz") for i in range(n)),
            strategy="AVG",
        )
        for name, n in (sizes or SIZES).items()
    )
    return Snapshot(topics, groups)


def with_topic(snapshot, *names, topics=("T", "U")):
    """The snapshot in which some groups subscribe to other topics."""
    changed = (
        Group(
            one.name,
            topics if one.name in names else one.subscriptions,
            one.clients,
            strategy=one.strategy,
        )
        for one in snapshot.groups
    )
    return Snapshot(snapshot.topics, tuple(changed))


def without_room(snapshot, *names):
    bare = (
        Group(
            one.name,
            one.subscriptions,
            (*one.clients, *(Client("bare") for n in names if n == one.name)),
            strategy="AVG",
        )
        for one in snapshot.groups
    )
    return Snapshot(snapshot.topics, tuple(bare))


def played(rollout):
    return rollout.totals["consumer_group"].to_pylist()


def skipped(rollout):
    return [(row["consumer_group"], row["reason"]) for row in rollout.skipped.to_pylist()]


def test_owners_go_along_with_the_groups_that_are_left():
    lists = {"message_queues": {"listed0@1#1": [{"topic": "T", "broker_name": "a", "queue_id": 3}]}}
    listed = Group(
        "listed", ("T",), (Client("listed0@1#1"),), strategy="CONFIG", strategy_params=lists
    )
    snapshot = fleet(subscriptions=("T", "U"))
    snapshot = Snapshot(snapshot.topics, (snapshot.groups[0], listed, *snapshot.groups[1:]))
    found = known(snapshot)
    whole = planned_groups_of(found, ("*",), stable_ids=True)
    left = planned_groups_of(found, ("*",), stable_ids=False)
    assert [one.consumer_group for one in whole.groups] == ["two", "listed", "one", "three"]
    assert [one.consumer_group for one in left.groups] == list(SIZES)
    for planned in (whole, left, whole.part([1, 3]), left.part([2])):
        anew, _ = assigner.Assigner(planned.fleet).owners(planned.fleet, planned.rules)
        assert planned.owners.tolist() == anew.tolist()
    assert whole.part([1]).owners.tolist() == [-1, -1, -1, 0]


@pytest.mark.parametrize(
    ("batch", "left"), [(1, ["two", "one", "three"]), (2, ["two", "three"]), (3, ["three"])]
)
def test_a_batch_that_is_more_than_a_group_has_skips_the_group(batch, left):
    rollout = restart(fleet(), batch=batch, detail=True)
    assert played(rollout) == left
    assert [name for name, _ in skipped(rollout)] == [name for name in SIZES if name not in left]
    for table in (rollout.steps, rollout.topics, rollout.exposed):
        assert set(table["consumer_group"].to_pylist()) == set(left)
    alone = [restart(fleet({name: SIZES[name]}), batch=batch, detail=True) for name in left]
    for name in ("steps", "totals", "topics", "exposed"):  # as if the others were not there
        assert getattr(rollout, name).to_pylist() == [
            row for one in alone for row in getattr(one, name).to_pylist()
        ]


def test_the_reason_is_the_one_that_a_group_alone_gets():
    (one, reason), (_, other) = skipped(restart(fleet(), batch=3))
    assert one == "two"
    assert (
        reason
        == "a batch of 3 is more than the 2 clients of consumer group 'two'; give at most 2, or a share such as 25%"
    )
    assert (
        other
        == "a batch of 3 is more than the 1 client of consumer group 'one'; give at most 1, or a share such as 25%"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(reason)}$"):
        restart(fleet(), ["two"], batch=3)


def test_where_no_group_is_left_it_is_an_error():
    with pytest.raises(
        ValueError,
        match=r"a batch of 4 is more than .* 'two'.*; nor does the rollout apply to 2 more groups$",
    ):
        restart(fleet(), batch=4)
    with pytest.raises(
        ValueError, match="a batch must be a number of clients from 1"
    ):  # wrong for every group
        restart(fleet(), batch=0)


@pytest.mark.parametrize("cells", [1, 1 << 22])
def test_pieces_skip_the_same(monkeypatch, cells):
    monkeypatch.setattr(play, "CELLS_AT_ONCE", cells)
    rollout = restart(fleet({"a": 1, "b": 2, "c": 1, "d": 3, "e": 1}), batch=2)
    assert played(rollout) == ["b", "d"]
    assert [name for name, _ in skipped(rollout)] == ["a", "c", "e"]
    assert rollout.totals["n_clients"].to_pylist() == [2, 3]


@pytest.mark.parametrize("remove", [False, True])
def test_groups_that_subscribe_already_or_do_not_are_skipped(remove):
    rollout = change_subscription(with_topic(fleet(), "two"), "U", remove=remove)
    what = "does not subscribe" if remove else "subscribes already"
    assert played(rollout) == (["two"] if remove else ["one", "three"])
    names = ["one", "three"] if remove else ["two"]
    assert skipped(rollout) == [
        (name, f"consumer group {name!r} {what} to topic 'U'") for name in names
    ]


def test_a_topic_that_all_have_is_an_error():
    with pytest.raises(
        ValueError,
        match=r"^consumer group 'two' subscribes already to topic 'T'; nor .* to 2 more groups$",
    ):
        change_subscription(fleet(), "T")
    with pytest.raises(ValueError, match="'nobody'"):
        change_subscription(fleet(), "T", ["nobody"])


@pytest.mark.parametrize(("room", "of_new"), [("hz", "hz"), ("sh", None)])
def test_a_broker_found_in_one_room_stands_there_for_a_new_topic_too(room, of_new):
    def routes(*rooms):
        return tuple(
            Topic(name, (TopicBroker("a", 4, machine_room=one),))
            for name, one in zip("TUV", rooms, strict=True)
        )

    known = Known(Snapshot(routes(None, None, None)), _decided=Snapshot(routes("hz", room, None)))
    assert _in_found_rooms(known, "V").topics == routes("hz", room, of_new)


def test_skips_of_both_kinds_add_up():
    rollout = change_subscription(with_topic(fleet(), "two"), "U", batch=2)
    assert played(rollout) == ["three"]
    assert [name for name, _ in skipped(rollout)] == ["two", "one"]


def test_a_strategy_that_refuses_one_group_is_played_for_the_others():
    rollout = change_strategy(without_room(fleet(), "two"), "MACHINE_ROOM_NEARBY-AVG")
    assert played(rollout) == ["one", "three"]
    said = "MACHINE_ROOM_NEARBY-AVG cannot assign topic 'T' of consumer group 'two': Machine room is null for consumer id bare"
    assert skipped(rollout) == [("two", said)]
    with pytest.raises(ValueError, match=re.escape(said)):
        change_strategy(without_room(fleet(), "two"), "MACHINE_ROOM_NEARBY-AVG", ["two"])


def test_a_ring_of_too_many_points_is_skipped(monkeypatch):
    monkeypatch.setattr(assigner, "MAX_POINTS", 20)
    rollout = change_strategy(fleet(), "CONSISTENT_HASH")
    assert played(rollout) == ["two", "one"]  # 20 points are not too many
    assert "the ring would have 30 points; at most 20 can be planned" in skipped(rollout)[0][1]


def test_a_group_that_is_too_large_is_skipped(monkeypatch):
    monkeypatch.setattr(
        play, "MOST_CELLS", 5 * 8
    )  # two: 5 moments of twice 4 ids that are ever there
    rollout = restart(fleet())
    assert played(rollout) == ["two", "one"]
    assert "the rollout of consumer group 'three' has 7 moments" in skipped(rollout)[0][1]
    monkeypatch.setattr(play, "MOST_CELLS", 5 * 8 - 1)
    assert played(restart(fleet())) == ["one"]


def test_advice_says_which_groups_are_too_large(monkeypatch):
    whole = advise(fleet())
    assert whole.warnings == ()
    monkeypatch.setattr(play, "MOST_CELLS", 120)
    advice = advise(fleet({"small": 1, "large": 40}))
    assert advice.groups["consumer_group"].to_pylist() == ["small", "large"]
    assert set(advice.counts["consumer_group"].to_pylist()) == {"small"}
    assert advice.warnings[0] == "too large to try other numbers of clients: large"
    assert advice.churn.num_rows == 0
    [said] = advice.warnings[1:]
    assert said.startswith(
        "too large to compare strategies (more than 134,217,728 moments times queues or clients)"
    )
    assert said.endswith(", 2 of 2 groups: small, large")
    monkeypatch.setattr(play, "MOST_CELLS", 5_000)
    advice = advise(fleet({"small": 1, "large": 40}))
    assert set(advice.churn["consumer_group"].to_pylist()) == {"small"}
    assert advice.warnings[-1].endswith("moments times queues or clients), 1 of 2 groups: large")


def test_advice_on_the_command_line_says_which_groups_are_too_large(monkeypatch, capsys, tmp_path):
    (tmp_path / "cluster.json").write_text(json.dumps(to_document(fleet())))
    monkeypatch.setattr(play, "MOST_CELLS", 50)
    assert (
        main(["recommend", "-f", str(tmp_path / "cluster.json"), "--show", "churn", "-o", "json"])
        == 0
    )
    out, err = capsys.readouterr()
    assert json.loads(out) == []
    assert "too large to compare strategies" in err and "3 of 3 groups: " in err


# --- On the command line ---


@pytest.fixture
def run(capsys, tmp_path):
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(to_document(fleet())))

    def run(verb, *flags):
        code = main(["rollout", verb, "-f", str(path), *flags])
        return code, *capsys.readouterr()

    return run


REASON = "a batch of 2 is more than the 1 client of consumer group 'one'; give at most 1, or a share such as 25%"


def test_text_names_them_and_why(run):
    code, out, err = run("restart", "-b", "2")
    said = " ".join(out.rpartition("\n\n")[2].split())
    assert (code, err) == (0, "")
    assert said.startswith(f"Skipped: {REASON} Rollout: ") and ", 1 group skipped; " in said
    assert "Skipped" not in run("restart")[1]
    assert (
        run("restart", "-b", "2", "-o", "wide")[1]
        .rpartition("\n\n")[2]
        .startswith("Skipped\nconsumer_group  reason\none ")
    )


def test_programs_get_the_reason(run):
    code, out, err = run("restart", "-b", "2", "-o", "json", "--show", "skipped")
    assert (code, err, json.loads(out)) == (0, "", [{"consumer_group": "one", "reason": REASON}])
    code, out, err = run("restart", "-b", "2", "-o", "json")
    assert (code, err) == (0, f"skipped: {REASON}\n")
    assert {row["consumer_group"] for row in json.loads(out)} == {"two", "three"}
    assert run("restart", "-b", "4")[0] == 1


def test_many_are_counted(capsys, tmp_path):
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(to_document(fleet({"big": 2} | {f"g{i}": 1 for i in range(21)}))))
    assert main(["rollout", "restart", "-f", str(path), "-b", "2", "-o", "csv"]) == 0
    told = capsys.readouterr().err.splitlines()
    assert (len(told), told[-1]) == (21, "skipped: and 1 more (--show skipped)")
