"""A change of strategy in groups of several languages: every step beside every client asked alone
in its own language.
"""

from itertools import chain, combinations
from math import comb

import pytest
from dialect_twins import SET, taken

import rmqalloc
from rmqalloc.snapshot import Client, Group, Snapshot, Topic, TopicBroker

TOPIC = Topic(
    "T",
    (TopicBroker("a@b", 5), TopicBroker("hz@b1", 4, write_queue_nums=2), TopicBroker("hz@b2", 4)),
)


def snapshot_of(languages, key):
    name, params = SET[key]
    clients = tuple(
        Client(f"10.0.0.{i}@1", language=language) for i, language in enumerate(languages)
    )
    return Snapshot((TOPIC,), (Group("g", ("T",), clients, strategy=name, strategy_params=params),))


def shares(key, language_of):
    """Queues of every client."""
    takers = taken(key, TOPIC, language_of)
    return {one: {queue for queue, ids in takers.items() if one in ids} for one in language_of}


def is_open(reads):
    """Queues that nobody reads, those of them that are written to, and queues that several read."""
    written = {
        queue for queue in TOPIC.queues() if queue.broker_name != "hz@b1" or queue.queue_id < 2
    }
    n_readers = {queue: sum(queue in mine for mine in reads.values()) for queue in TOPIC.queues()}
    unowned = {queue for queue, n in n_readers.items() if not n}
    return len(unowned), len(unowned & written), sum(n > 1 for n in n_readers.values())


def expected_steps(languages, was, to, batch):
    """Of every step the worst over all sets of informed clients, the greatest mean over sets of one
    size, and the end.
    """
    language_of = {f"10.0.0.{i}@1": language for i, language in enumerate(languages)}
    old, new = shares(was, language_of), shares(to, language_of)
    ids, done = sorted(language_of), set()
    nobody = is_open(old)
    yield *nobody, float(nobody[1]), float(nobody[2]), nobody[2]
    for start in range(0, len(ids), batch):
        turn = ids[start : start + batch]
        found = {k: [] for k in range(1, len(turn) + 1)}
        for some in chain.from_iterable(combinations(turn, k) for k in found):
            told = done | {*some}
            found[len(some)].append(
                is_open({one: new[one] if one in told else old[one] for one in ids})
            )
        assert all(len(each) == comb(len(turn), k) for k, each in found.items())
        worst = (max(one[i] for each in found.values() for one in each) for i in range(3))
        means = (
            max(sum(one[i] for one in each) / len(each) for each in found.values()) for i in (1, 2)
        )
        done |= {*turn}
        yield *worst, *means, found[len(turn)][0][2]


STEP = (
    "unowned", "unowned_written", "double_owned", "unowned_expected", "double_owned_expected", "double_owned_after",
)  # fmt: skip


@pytest.mark.thorough(keep=4)
@pytest.mark.parametrize("batch", [2, 5])
@pytest.mark.parametrize(
    ("was", "to"), [("average", "ring"), ("ring", "average"), ("ring", "rooms"), ("circle", "ring")]
)
@pytest.mark.parametrize(
    "languages", ["JAVA GO GO JAVA GO", "GO GO GO GO GO", "JAVA CPP GO CPP JAVA"]
)
def test_every_step_is_what_every_client_computes_for_itself(languages, was, to, batch):
    languages = languages.split()
    name, params = SET[to]
    rollout = rmqalloc.rollout.strategy(
        snapshot_of(languages, was), name, params=params, order="sorted", batch=batch, detail=True
    )
    rows = rollout.steps.to_pylist()
    assert all(row["unowned_is_exact"] and row["double_owned_is_exact"] for row in rows)
    expected = list(expected_steps(languages, was, to, batch))
    assert [tuple(row[name] for name in STEP) for row in rows] == [
        pytest.approx(one) for one in expected
    ]
    assert rollout.topics.select(STEP).to_pylist() == rollout.steps.select(STEP).to_pylist()
    final = taken(to, TOPIC, {f"10.0.0.{i}@1": language for i, language in enumerate(languages)})
    exposed = [row for row in rollout.exposed.to_pylist() if row["step"] == len(rows) - 1]
    assert {
        (row["broker_name"], row["queue_id"]): sorted(row["client_ids"]) for row in exposed
    } == {(queue.broker_name, queue.queue_id): ids for queue, ids in final.items() if len(ids) != 1}


def test_many_clients_at_once_have_bounds_and_exact_means():
    languages = ["JAVA", "GO"] * 7
    rollout = rmqalloc.rollout.strategy(snapshot_of(languages, "average"), "CONSISTENT_HASH", params={"virtual_nodes": 20},
                                        order="sorted", batch="100%")  # fmt: skip
    _, row = rollout.steps.to_pylist()
    _, expected = expected_steps(languages, "average", "ring", 14)
    worst, end = dict(zip(STEP, expected, strict=True)), expected[-1]
    for name in ("unowned", "double_owned"):
        assert row[name] >= worst[name]
        assert not row[f"{name}_is_exact"]
        assert row[f"{name}_expected"] == pytest.approx(worst[f"{name}_expected"])
    assert row["double_owned_after"] == end


def test_rooms_are_asked_for_only_by_clients_that_read_them():
    rollout = rmqalloc.rollout.strategy(snapshot_of(["GO", "GO"], "circle"), SET["nearby"][0])
    assert rollout.steps["double_owned"].to_pylist()[-1] == 0
    with pytest.raises(TypeError, match="machineRoomResolver is null"):
        rmqalloc.rollout.strategy(snapshot_of(["GO", "JAVA"], "circle"), SET["nearby"][0])


def test_a_rule_that_one_language_refuses_leaves_the_group_out():
    """Client-go divides by zero where Java's ring is empty."""
    for languages in (["GO", "GO"], ["JAVA", "GO"]):
        with pytest.raises(
            ValueError, match=r"CONSISTENT_HASH cannot assign topic 'T'.*client-go panics"
        ):
            rmqalloc.rollout.strategy(
                snapshot_of(languages, "average"), "CONSISTENT_HASH", params={"virtual_nodes": 0}
            )
    assert rmqalloc.rollout.strategy(
        snapshot_of(["JAVA", "JAVA"], "average"), "CONSISTENT_HASH", params={"virtual_nodes": 0}
    ).steps.num_rows
