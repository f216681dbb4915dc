"""ORDINAL/2 against its page, and its promises: whichever slot comes or goes, no queue moves
between the others.
"""

from collections import Counter
from random import Random

import numpy as np
import pytest
import strategy_vectors
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples
from strategy_declarations import Promise

from rmqalloc import Fleet, strategy

PROMISES = [
    Promise(
        "ORDINAL/2",
        "ORDINAL/2",
        spread=1,
        skew=1.25,
        over_least={"leave": 1.0, "2nd leave": 1.4, "3rd leave": 1.4, "walk": 2.2, "scale in": 1.0},
        restart=2.0,
        growth=1.4,
        fleet_time=5.0,
        group_time={"24/4": 1.5, "64/16": 1.5, "192/48": 1.5},
    )
]

TOPICS = st.text(st.characters(codec="utf-16"), max_size=5)


def owners_by_slot(topic, shape, slots, name="ORDINAL/2"):
    """Slots that own the queues of whole brokers; all of the slots are there."""
    queues = strategy_vectors.topic_queues(topic, *shape)
    return np.array(slots)[strategy(name).assign(queues, strategy_vectors.slot_ids(slots)).owners]


@examples(30, nightly=2000)
@given(seed=st.integers(0, 2**32))
def test_a_fleet_of_odd_groups_is_owned_as_the_page_says(seed):
    random = Random(seed)
    cases = [
        strategy_vectors.random_case(random, "ORDINAL/2")._replace(parameters={}) for _ in range(8)
    ]
    made = strategy("ORDINAL/2")
    expected = [one.specified_owners() for one in cases]
    assert [made.assign(one.queues, one.client_ids).owners.tolist() for one in cases] == expected
    fleet = Fleet.from_groups(
        (f"g{i}", one.queues[0].topic, one.queues, one.client_ids) for i, one in enumerate(cases)
    )
    assert made.assign_fleet(fleet).tolist() == [owner for some in expected for owner in some]


@pytest.mark.parametrize(
    ("shape", "n"), [((1, 1), 300), ((1, 3), 90), ((2, 300), 2), ((25, 40), 9), ((5, 8), 130)]
)
def test_sizes_far_from_the_start_of_the_chain_are_those_of_the_page(shape, n):
    case = strategy_vectors.case(
        "ORDINAL/2",
        {},
        strategy_vectors.topic_queues("far", *shape),
        strategy_vectors.slot_ids(range(n)),
    )
    assert (
        strategy("ORDINAL/2").assign(case.queues, case.client_ids).owners.tolist()
        == case.specified_owners()
    )


@examples(60, nightly=5000)
@given(
    topic=TOPICS,
    shape=st.tuples(st.integers(1, 8), st.integers(1, 9)),
    n=st.integers(2, 40) | st.integers(2, 200),
    data=st.data(),
)
def test_a_slot_that_goes_moves_its_own_queues_alone_and_gets_them_back(topic, shape, n, data):
    gone = data.draw(st.just(n - 1) | st.integers(0, n - 1))
    before = owners_by_slot(topic, shape, range(n))
    during = owners_by_slot(topic, shape, [slot for slot in range(n) if slot != gone])
    assert (before != during).tolist() == (before == gone).tolist()
    for owners, size in ((before, n), (during, n - 1)):
        loads = Counter(owners.tolist())
        assert max(loads.values()) - (min(loads.values()) if len(loads) == size else 0) <= 1


def test_a_restart_of_all_slots_moves_every_queue_exactly_twice():
    for shape, n in (((8, 24), 48), ((16, 4), 13), ((3, 8), 5)):
        full, moved = owners_by_slot("T", shape, range(n)), 0
        for gone in range(n):
            during = owners_by_slot("T", shape, [slot for slot in range(n) if slot != gone])
            moved += 2 * int((during != full).sum())
        assert moved == 2 * full.size


def test_a_scale_down_moves_the_queues_of_the_slots_that_go_alone():
    many, few = owners_by_slot("T", (8, 24), range(60)), owners_by_slot("T", (8, 24), range(35))
    assert (many != few).tolist() == (many >= 35).tolist()


def test_brokers_that_are_lost_move_at_most_what_the_page_says():
    """At 64 queues of 16 brokers and 12 to 24 clients, over what AVG moves."""
    moved = Counter()
    for topic in map(str, range(12)):
        for n in range(12, 25):
            kept = np.arange(64) >= 4
            for name in ("ORDINAL/2", "AVG"):
                now = owners_by_slot(topic, (16, 4), range(n), name)[kept]
                queues = strategy_vectors.topic_queues(topic, 16, 4)[4:]
                fewer = strategy(name).assign(queues, strategy_vectors.slot_ids(range(n))).owners
                moved[name] += int((now != fewer).sum())
    assert moved["ORDINAL/2"] <= 0.6 * moved["AVG"]


def test_no_topic_loads_the_first_slots_more_than_others():
    ids, skews = strategy_vectors.slot_ids(range(10)), []
    for names in range(100):
        topics = [f"set-{names}-topic-{i}" for i in range(100)]
        groups = [("g", one, strategy_vectors.topic_queues(one, 1, 4), ids) for one in topics]
        loads = np.bincount(
            strategy("ORDINAL/2").assign_fleet(Fleet.from_groups(groups)), minlength=10
        )
        skews.append(loads.max() / loads.mean())
    assert np.mean(skews) <= 1.25


def test_it_is_meant_only_where_its_version_is_given_and_has_no_tables():
    assert strategy("ORDINAL").get_name() == "ORDINAL/1"
    assert strategy("ORDINAL/2", pattern="pod-#").get_name() == "ORDINAL/2"
    with pytest.raises(TypeError, match="tables"):
        strategy("ORDINAL/2", tables=True)
    with pytest.raises(ValueError, match=r"pattern must have one # and no digit beside it"):
        strategy("ORDINAL/2", pattern="-")
    for name in ("ROTATED-ORDINAL/2", "CANARY-ORDINAL/2"):
        assert (
            strategy(name, **({"share": 0.1} if name.startswith("C") else {}))
            .get_name()
            .endswith("-ORDINAL/2")
        )


def test_why_a_queue_has_its_owner():
    queues, ids = strategy_vectors.topic_queues("T", 1, 8), strategy_vectors.slot_ids([0, 1, 3])
    reasons = strategy("ORDINAL/2").explain(queues, ids, 0)
    assert reasons.facts["missing"] == [2]
    home = strategy("ORDINAL/2").assign(queues, strategy_vectors.slot_ids(range(4))).owners[0]
    assert reasons.facts["home"] == home
