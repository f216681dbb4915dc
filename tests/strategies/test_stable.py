"""STABLE against its page, and its promises: balance to one or two, few moves for random client
ids.
"""

from random import Random

import numpy as np
import pytest
import specified
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples
from instruction_sets import isas_of
from strategy_declarations import Promise

from rmqalloc import Fleet, MessageQueue, strategy
from rmqalloc._engine import preferences

PROMISES = [
    Promise(
        "STABLE",
        "STABLE",
        spread=1,
        leave_and_join={"24/4": 2.5, "64/16": 4.4, "192/48": 5.9, "1024/100": 7.2},
        fleet_time=1.3,
        group_time={"24/4": 1.0, "64/16": 1.0, "192/48": 1.0, "1024/100": 1.3},
    ),
    Promise(
        "STABLE, slack 1",
        "STABLE",
        {"slack": 1},
        spread=2,
        leave_and_join={"24/4": 2.3, "64/16": 3.0, "192/48": 3.9, "1024/100": 4.9},
    ),
]

TWINS = [
    "Aa",
    "BB",
    "AaAa",
    "AaBB",
    "BBAa",
]  # equal to each other by Java's hash, so that every score is a tie


def some_group(random):
    queues = [
        MessageQueue(f"T{random.randint(0, 99)}", f"broker-{broker}", queue_id)
        for broker in range(random.randint(1, 8))
        for queue_id in range(random.randint(1, 9))
    ]
    queues = [queue._replace(topic=queues[0].topic) for queue in queues]
    ids = [
        f"10.0.0.{i}@{random.random()}"
        for i in range(random.randint(1, random.choice([3, 20, 60])))
    ]
    ids += random.sample([*TWINS, "", "id-é-😀", "\ud83d"], random.choice([0, 0, 2, 5]))
    ids += random.choices(ids, k=random.choice([0, 0, 2]))
    random.shuffle(ids)
    return "g", queues[0].topic, queues, ids


isa = isas_of(preferences)


@pytest.mark.thorough(keep=1)
@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("slack", [0, 1])
def test_a_fleet_of_odd_groups_is_owned_as_the_page_says(slack):
    random = Random(11)
    groups = [some_group(random) for _ in range(120)]
    expected = [
        owner for _, _, queues, ids in groups for owner in specified.stable(queues, ids, slack)
    ]
    made = strategy("STABLE", slack=slack)
    fleet = Fleet.from_groups(groups)
    assert made.assign_fleet(fleet).tolist() == expected
    assert made.assign_fleet(fleet, threads=3).tolist() == expected


@pytest.mark.parametrize("slack", [0, 1])
@examples(25, nightly=2000)
@given(seed=st.integers(0, 2**32))
def test_one_group_is_owned_as_the_page_says_and_evenly(seed, slack):
    _, _, queues, ids = some_group(Random(seed))
    owners = strategy("STABLE", slack=slack).assign(queues, ids).owners
    assert owners.tolist() == specified.stable(queues, ids, slack)
    taking_part = sorted({ids.index(one) for one in ids if one})
    loads = np.bincount(owners[owners >= 0], minlength=len(ids))[taking_part]
    if taking_part:
        assert loads.sum() == len(queues)
        assert loads.max() - loads.min() <= 1 + slack
    else:
        assert (owners == -1).all()


@pytest.mark.parametrize("slack", [0, 1])
def test_units_of_very_different_sizes_share_room_to_work_in(slack):
    """The room is made for the most queues and the most clients, which are not those of one unit."""
    sizes = [(192, 47), (192, 48), (192, 49), (1, 500), (3000, 1), (1999, 999), (5, 5)]
    groups = [
        (
            "g",
            f"T{m}",
            [MessageQueue(f"T{m}", "b", i) for i in range(m)],
            [f"c{i:04d}" for i in range(n)],
        )
        for m, n in sizes
    ]
    made = strategy("STABLE", slack=slack)
    alone = [made.assign(queues, ids).owners for _, _, queues, ids in groups]
    assert np.array_equal(made.assign_fleet(Fleet.from_groups(groups)), np.concatenate(alone))


def moves(made, queues, fewer, more):
    """Queues that change owner between two client lists, of which one is the other without some
    clients.
    """
    before, after = (np.array(ids)[made.assign(queues, ids).owners] for ids in (fewer, more))
    return int((before != after).sum())


@pytest.mark.parametrize(("slack", "most"), [(0, 4.4), (1, 3.0)])
def test_a_leave_and_a_join_move_few_queues(slack, most):
    """64 queues and 16 clients with random ids, as multiples of the least."""
    random, made = Random(5), strategy("STABLE", slack=slack)
    multiples = []
    for trial in range(120):
        queues = [MessageQueue(f"T{trial}", f"b{i % 4}", i // 4) for i in range(64)]
        ids = sorted(
            f"10.0.{random.randrange(256)}.{random.randrange(256)}@{random.random()}"
            for _ in range(17)
        )
        without, with_one, leaver = ids[:16], ids, random.randrange(16)
        left = without[:leaver] + without[leaver + 1 :]
        multiples.append(
            moves(made, queues, without, left) / 4
            + moves(made, queues, without, with_one) / (64 / 17)
        )
    assert np.mean(multiples) <= most + 1.96 * np.std(multiples) / len(multiples) ** 0.5


@pytest.mark.parametrize("slack", [2, -1, True, "1", 0.5])
def test_another_slack_is_refused(slack):
    with pytest.raises(ValueError, match="slack must be 0 or 1, got"):
        strategy("STABLE", slack=slack)


def test_why_a_queue_has_its_owner():
    queues, ids = [MessageQueue("T", "b", i) for i in range(12)], ["c1", "c2", "", "c3"]
    made, page = strategy("STABLE"), specified.page("stable")
    for position, owner in enumerate(made.assign(queues, ids).owners.tolist()):
        x = page.number_of_queue("T", "b", position)
        scores = {one: page.fmix32(x ^ page.number_of_client(one)) for one in ids if one}
        reasons = made.explain(queues, ids, position)
        better = sum(score > scores[ids[owner]] for score in scores.values())
        assert reasons.facts == {"score": scores[ids[owner]], "n_better": better}
        assert len(reasons.steps) == 1 + bool(better)
    assert made.explain(queues, [""], 0).steps == [
        "but the client id is empty, and a client without an id takes no queue"
    ]
