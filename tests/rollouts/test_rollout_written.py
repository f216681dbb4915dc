"""What producers write to in rollouts: against a brute force of random brokers with any perm, write
and read queues.

The brute force asks `rmqalloc.strategy` for one client at a time and nothing else: which queues
there are, which are written to and which clients have heard is worked out here from the numbers of
the snapshot.
"""

import itertools
import json
import random

import pytest

from rmqalloc import MessageQueue, sort_queues, strategy
from rmqalloc.cli import main
from rmqalloc.rollouts._maintain import maintain_broker
from rmqalloc.rollouts._subscribe import change_subscription
from rmqalloc.rollouts.resize import resize_queues
from rmqalloc.rollouts.restart import restart
from rmqalloc.rollouts.rollout_gates import violated_gates
from rmqalloc.rollouts.switch import change_strategy
from rmqalloc.snapshot.plain_data import to_document
from rmqalloc.snapshot.snapshot import Client, Group, Lag, Snapshot, Topic, TopicBroker

KINDS = ("restart", "strategy", "subscription", "broker", "queues")


def random_snapshot(rng):
    """A group of up to five clients and a topic whose brokers have any numbers of queues and any
    perm.
    """
    brokers = [
        TopicBroker(
            name,
            rng.randint(0, 4),
            rng.choice([None, 0, 1, 2, 3, 4, 6]),
            rng.choice([6, 6, 6, 4, 2, 0]),
        )
        for name in "abc"[: rng.randint(1, 3)]
    ]
    brokers.append(
        TopicBroker("d", rng.randint(1, 4), rng.choice([None, 0, 1, 3, 6]), rng.choice([6, 4]))
    )
    clients = tuple(Client(f"10.0.0.{i}@1#1") for i in rng.sample(range(9), rng.randint(1, 5)))
    rule = rng.choice(["AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH"])
    return Snapshot((Topic("T", tuple(brokers)),), (Group("g", ("T",), clients, strategy=rule),))


def ids_of(numbers):
    return {(name, i) for name, n in numbers.items() for i in range(n)}


def read_of(brokers):
    return ids_of({one.broker_name: one.read_queue_nums for one in brokers if one.perm & 4})


def written_of(brokers):
    numbers = {}
    for one in brokers:
        write = one.read_queue_nums if one.write_queue_nums is None else one.write_queue_nums
        numbers[one.broker_name] = write if one.perm & 2 else 0
    return ids_of(numbers)


def share(rule, client_id, ids, there):
    """The queues that one client gives itself."""
    queues = sort_queues(MessageQueue("T", name, i) for name, i in there)
    if client_id not in ids or not queues:
        return set()
    return {
        (q.broker_name, q.queue_id)
        for q in strategy(rule).allocate("g", client_id, queues, sorted(ids))
    }


def figures(before, after, there, written, hears, begins_with_one=False):
    """What the table says of one step; ``before`` and ``after`` are the queues of each client in
    the group.
    """
    wet = there & written
    worst = [0, 0, 0]
    for heard in itertools.product([False, True], repeat=len(hears)):
        if begins_with_one and not any(heard):
            continue
        told = dict(zip(hears, heard, strict=True))
        read = set().union(
            *(after[one] if told.get(one, True) else before.get(one, set()) for one in after)
        )
        for place, some in enumerate((there, wet, there - wet)):
            worst[place] = max(worst[place], len(some - read))
    only_dry = sum(bool(queues & there) and not queues & wet for queues in after.values())
    return {
        "n_queues": len(there),
        "unowned": worst[0],
        "unowned_written": worst[1],
        "unowned_dry": worst[2],
        "only_dry": only_dry,
        "unowned_is_exact": True,
    }


def wanted(kind, snapshot, batch, to):
    """The steps of a rollout by brute force, in the order of client ids."""
    brokers, group = snapshot.topics[0].brokers, snapshot.groups[0]
    ids, rule = sorted(one.client_id for one in group.clients), group.strategy
    there, written = read_of(brokers), written_of(brokers)

    def given(members, queues=there):
        return {one: share(rule, one, members, queues) for one in members}

    rows = [figures(given(ids), given(ids), there, written, [])]
    if kind in ("broker", "queues"):
        for queues, wet, hear in STATES[kind](brokers, there, written, to):
            rows.append(
                figures(given(ids, there), given(ids, queues), queues, wet, ids if hear else [])
            )
            there = queues
        return rows
    new = strategy_shares(ids, there) if kind == "strategy" else {one: set() for one in ids}
    seen = given(ids)
    for start in range(0, len(ids), batch):
        turn = ids[start : start + batch]
        if kind == "restart":
            for members in ([one for one in ids if one not in turn], ids):
                rows.append(figures(seen, given(members), there, written, members))
                seen = given(members)
        else:
            after = seen | {one: new[one] for one in turn}
            rows.append(figures(seen, after, there, written, turn, True))
            seen = after
    return rows


def strategy_shares(ids, there):
    return {one: share("AVG_BY_CIRCLE", one, ids, there) for one in ids}


def broker_states(brokers, there, written, to):
    rest, less = ({one for one in some if one[0] != "d"} for some in (there, written))
    return [(there, less, False), (rest, less, True), (there, less, True), (there, written, False)]


def queue_states(brokers, there, written, to):
    changed = [one for one in brokers if one.perm & 4]
    new = ids_of({one.broker_name: to for one in changed})
    wet = ids_of({one.broker_name: to for one in changed if one.perm & 2})
    wet |= written_of([one for one in brokers if not one.perm & 4])
    holds = max(max(one.read_queue_nums, one.write_queue_nums or 0) for one in changed)
    more = any(one.read_queue_nums < to for one in changed)
    if more or holds <= to:
        return [(new, written, True), (new, wet, False)]
    return [(there, wet, False), (new, wet, True)]


STATES = {"broker": broker_states, "queues": queue_states}


def played(kind, snapshot, batch, to):
    how = {"order": "sorted"}
    match kind:
        case "restart":
            return restart(snapshot, batch=batch, ids="stable", **how)
        case "strategy":
            return change_strategy(snapshot, "AVG_BY_CIRCLE", batch=batch, **how)
        case "subscription":
            return change_subscription(snapshot, "T", remove=True, batch=batch, **how)
        case "broker":
            return maintain_broker(snapshot, "d", **how)
        case "queues":
            return resize_queues(snapshot, "T", to, **how)


def fits(snapshot, to):
    """Whether a number of queues changes something, and in one direction."""
    readable = [one for one in snapshot.topics[0].brokers if one.perm & 4]
    same = all(one.read_queue_nums == to and one.write_queue_nums in (None, to) for one in readable)
    return (
        not same
        and len({one.read_queue_nums < to for one in readable if one.read_queue_nums != to}) <= 1
    )


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_is_that_of_the_brokers(kind):
    rng = random.Random(KINDS.index(kind))
    n_compared = n_dry = 0
    while n_compared < 75:
        snapshot, to = random_snapshot(rng), rng.randint(1, 6)
        if kind == "queues" and not fits(snapshot, to):
            continue
        batch = rng.randint(1, len(snapshot.groups[0].clients))
        found, want = (
            played(kind, snapshot, batch, to).steps.to_pylist(),
            wanted(kind, snapshot, batch, to),
        )
        assert len(found) == len(want)
        for row, one in zip(found, want, strict=True):
            assert {name: row[name] for name in one} == one, (snapshot, batch, to, row["action"])
            n_dry += one["unowned_dry"] > 0 or one["only_dry"] > 0
        n_compared += 1
    assert n_dry > 15


# --- What stood wrong ---


def cluster(*brokers, n_clients=4, lags=()):
    lags = tuple(Lag(MessageQueue("T", name, i), messages, 0) for name, i, messages in lags)
    clients = tuple(Client(f"10.0.0.{i}@1#{i}") for i in range(n_clients))
    return Snapshot(
        (Topic("T", brokers),), (Group("g", ("T",), clients, lags=lags, strategy="AVG"),)
    )


def test_the_gate_counts_written_queues_alone():
    snapshot = cluster(TopicBroker("a", 12, 5), n_clients=1)
    assert list(violated_gates(restart(snapshot), max_unowned=5)) == []
    [said] = violated_gates(restart(snapshot), max_unowned=4)
    assert ": 5 queues without a reader" in said


@pytest.mark.parametrize("write", [None, 4])
def test_queues_of_a_broker_without_the_write_bit_are_dry(write):
    steps = restart(cluster(TopicBroker("a", 4, write, perm=4), TopicBroker("b", 4)), batch=4).steps
    assert steps["unowned_dry"].to_pylist()[1] == steps["unowned_written"].to_pylist()[1] == 4
    assert steps["only_dry"].to_pylist()[0] == 2


def test_untouched_and_read_only_brokers_stay_as_they_are():
    brokers = TopicBroker("a", 4, 4, perm=4), TopicBroker("b", 4, 0), TopicBroker("c", 4, 4)
    one = resize_queues(cluster(*brokers, n_clients=16), "T", 8, brokers=["c"])
    # Sixteen queues, of which half are on a broker to which nobody writes or to none of whose
    # queues.
    assert one.steps["only_dry"].to_pylist() == [8, 12, 8]
    both = resize_queues(cluster(*brokers[::2], n_clients=16), "T", 8)
    assert (
        both.steps["only_dry"].to_pylist()[-1] == 8
    )  # a has eight queues, and nobody writes to them still


BEHIND = [("a", i, 7 if i == 5 else 0) for i in range(8)]


@pytest.mark.parametrize(
    ("to", "refused", "steps"),
    [
        (
            2,
            True,
            ["before", "write queues to 2, backlog drains", "read queues to 2, routes refresh"],
        ),
        (
            4,
            True,
            ["before", "write queues to 4, backlog drains", "read queues to 4, routes refresh"],
        ),
        (5, True, ["before", "read queues to 5, routes refresh", "write queues to 5"]),
        (6, False, ["before", "read queues to 6, routes refresh", "write queues to 6"]),
        (8, False, ["before", "read queues to 8, routes refresh", "write queues to 8"]),
    ],
)
def test_queues_that_are_written_and_not_read_hold_a_backlog(to, refused, steps):
    rollout = resize_queues(cluster(TopicBroker("a", 4, 8), lags=BEHIND), "T", to)
    said = (
        "consumer group 'g' has 7 unconsumed messages in 1 queue of topic 'T': a:5; no client reads a:5, so raise the read "
        "queues first"
    )
    assert rollout.refusals == ((said,) if refused else ())
    assert rollout.steps["action"].to_pylist() == steps
    assert rollout.steps["unowned_dry"].to_pylist() == [0, 0, 0]


def test_a_backlog_that_nobody_reads_may_be_there_where_it_is_not_known():
    known = [("a", i, 0) for i in range(4)]
    [said] = resize_queues(cluster(TopicBroker("a", 4, 6), lags=known), "T", 4).refusals
    assert (
        said == "the backlog of consumer group 'g' is not known in 2 queues of topic 'T': a:4, a:5"
    )
    assert (
        resize_queues(
            cluster(TopicBroker("a", 4, 6), lags=known), "T", 4, assume_drained=True
        ).refusals
        == ()
    )
    assert (
        resize_queues(
            cluster(TopicBroker("a", 4, 6), TopicBroker("b", 2)), "T", 6, brokers=["b"]
        ).refusals
        == ()
    )


def test_fewer_write_than_read_queues_can_be_raised_alone():
    steps = resize_queues(cluster(TopicBroker("a", 8, 2)), "T", 8).steps
    assert steps["action"].to_pylist() == [
        "before",
        "read queues to 8, routes refresh",
        "write queues to 8",
    ]
    assert steps["only_dry"].to_pylist() == [3, 3, 0]
    with pytest.raises(ValueError, match="nothing would change: a has 8, and 8 are requested"):
        resize_queues(cluster(TopicBroker("a", 8, 8)), "T", 8)


def test_a_readable_broker_without_queues_gets_some_in_a_plan_and_in_a_rollout(tmp_path, capsys):
    path = tmp_path / "cluster.json"
    path.write_text(
        json.dumps(
            to_document(
                cluster(TopicBroker("a", 4), TopicBroker("b", 0), TopicBroker("c", 0, perm=2))
            )
        )
    )
    shown = ["-f", str(path), "--columns", "n_queues", "-o", "json"]
    assert main(["plan", "--set-queues", "8", *shown]) == 0
    planned = json.loads(capsys.readouterr().out)
    assert main(["rollout", "queues", "-t", "T", "--set-queues", "8", *shown]) == 0
    rolled = json.loads(capsys.readouterr().out)
    assert planned == [rolled[0], rolled[-1]] == [{"n_queues": 4}, {"n_queues": 16}]
