"""ORDINAL against its page, and its promises: balance, least moves when slots go and come back,
tables without any excess.
"""

from collections import Counter
from itertools import combinations
from random import Random

import numpy as np
import pytest
import specified
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples
from strategy_declarations import Promise

from rmqalloc import Fleet, MessageQueue, strategy
from rmqalloc.strategies._ordinal import EVEN, tables

PROMISES = [
    Promise(
        "ORDINAL",
        "ORDINAL",
        spread=1,
        skew=1.25,
        over_least={"leave": 1.0, "2nd leave": 1.4, "3rd leave": 1.4, "walk": 2.2},
        restart=2.02,
        growth=1.0,
        fleet_time=5.0,
        group_time={"24/4": 1.5, "64/16": 1.5, "192/48": 1.5},
    )
]

ODD_IDS = [
    "x",
    "",
    "1@a-01",
    "1@-3",
    "1@b-5@c",
    "2@b-5",
    "@",
    "1@c-1234567890",
    "1@c-999999999",
    "1@ö-2",
    "\ud800@d-4",
]
TOPICS = ["T", "orders", "%RETRY%g", "тема", "😀", "\ud83d"]


def queues_of(random, topic):
    return [
        MessageQueue(topic, f"broker-{broker}", queue_id)
        for broker in range(random.randint(1, 8))
        for queue_id in range(random.randint(1, 9))
    ]


def client_ids_of(random):
    n = random.randint(1, random.choice([3, 20, 60]))
    slots = random.sample(range(random.choice([n, n + 1, 2 * n, 9 * n + 90])), n)
    ids = [f"10.0.0.{i}@web-{slot}" for i, slot in enumerate(slots)]
    ids += random.sample(ODD_IDS, random.choice([0, 0, 1, 3]))
    ids += random.choices(ids, k=random.choice([0, 0, 2]))
    random.shuffle(ids)
    return ids


def slotted(slots):
    return [f"10.0.0.{i}@web-{slot}" for i, slot in enumerate(slots)]


def some_group(random):
    queues = queues_of(random, random.choice(TOPICS) + str(random.randint(0, 99)))
    return "g", queues[0].topic, queues, client_ids_of(random)


@examples(30, nightly=2000)
@given(seed=st.integers(0, 2**32))
def test_a_fleet_of_odd_groups_is_owned_as_the_page_says(seed):
    random = Random(seed)
    groups = [some_group(random) for _ in range(8)]
    expected = [owner for _, _, queues, ids in groups for owner in specified.ordinal(queues, ids)]
    made = strategy("ORDINAL")
    assert made.assign_fleet(Fleet.from_groups(groups)).tolist() == expected
    assert [
        owner for _, _, queues, ids in groups for owner in made.assign(queues, ids).owners.tolist()
    ] == expected


def test_threads_and_a_fleet_of_which_units_are_taken():
    random = Random(7)
    fleet = Fleet.from_groups([some_group(random) for _ in range(400)])
    made = strategy("ORDINAL")
    owners = made.assign_fleet(fleet)
    assert np.array_equal(made.assign_fleet(fleet, threads=3), owners)
    part = fleet.select(np.array([399, 5, 5, 17]))
    rows = [
        owners[fleet.queue_offsets[unit] : fleet.queue_offsets[unit + 1]]
        for unit in (399, 5, 5, 17)
    ]
    assert np.array_equal(made.assign_fleet(part), np.concatenate(rows))


@pytest.mark.parametrize("pattern", ["#", "-#-blue", "worker#", "é#@", "n-#."])
def test_other_patterns(pattern):
    before, after = pattern.split("#")
    ids = [f"1@x{before}{n}{after}" for n in (3, 10, 0)] + [f"1@x{before}07{after}", "1@é", "1@7"]
    queues = queues_of(Random(3), "T")
    expected = specified.ordinal(queues, ids, pattern)
    assert strategy("ORDINAL", pattern=pattern).assign(queues, ids).owners.tolist() == expected
    assert expected != specified.ordinal(queues, ids, "never#") or "@" in after


@pytest.mark.parametrize("pattern", ["", "-", "##", "-#-#", "1#", "#2", "a1#"])
def test_a_pattern_that_cannot_be_is_refused(pattern):
    with pytest.raises(
        ValueError, match=r"pattern must have one # and no digit beside it, such as '-#', got"
    ):
        strategy("ORDINAL", pattern=pattern)


@pytest.mark.parametrize(
    ("given", "said"),
    [({"pattern": 7}, "pattern must be a text"), ({"tables": 1}, "True or False")],
)
def test_a_parameter_of_a_wrong_type_is_refused(given, said):
    with pytest.raises(TypeError, match=said):
        strategy("ORDINAL", **given)


# --- Promises ---


@examples(40, nightly=2000)
@given(seed=st.integers(0, 2**32))
def test_loads_differ_by_one_at_most(seed):
    _, _, queues, ids = some_group(Random(seed))
    loads = Counter(strategy("ORDINAL").assign(queues, ids).owners.tolist())
    taking_part = {ids.index(one) for one in ids if one}
    if taking_part:
        assert loads.keys() <= taking_part
        assert max(loads.values()) - min(loads[one] for one in taking_part) <= 1


@examples(40, nightly=2000)
@given(seed=st.integers(0, 2**32), n=st.integers(2, 40))
def test_a_slot_below_the_highest_moves_its_own_queues_and_gets_them_back(seed, n):
    random = Random(seed)
    queues, gone = queues_of(random, f"T{seed}"), random.randrange(n - 1)
    made, all_ids = strategy("ORDINAL"), slotted(range(n))
    before = made.assign(queues, all_ids).owners
    left = [one for slot, one in enumerate(all_ids) if slot != gone]
    during = np.array([all_ids.index(left[owner]) for owner in made.assign(queues, left).owners])
    assert (before != during).tolist() == (before == gone).tolist()
    # Another address, and another place in the list: the slot alone decides.
    back = sorted([*left, f"9.9.9.9@web-{gone}"])
    after = [back[owner].rpartition("-")[2] for owner in made.assign(queues, back).owners]
    assert after == [str(owner) for owner in before]


def owners_by_slot(topic, n_queues, slots):
    return np.array(slots)[
        strategy("ORDINAL").assign(in_topic(n_queues, topic), slotted(slots)).owners
    ]


def test_the_highest_slot_that_goes_may_move_queues_of_others():
    """Then the base is that of a slot less, and no slot is missing in it; any other slot leaves the
    base as it is.
    """
    disturbed = Counter()
    for topic in map(str, range(40)):
        before = owners_by_slot(topic, 24, range(5))
        for gone in range(5):
            during = owners_by_slot(topic, 24, [slot for slot in range(5) if slot != gone])
            disturbed[gone] += bool(((before != during) & (before != gone)).any())
            if gone == 4:  # as if it had never been there
                assert during.tolist() == owners_by_slot(topic, 24, range(4)).tolist()
    assert [disturbed[gone] for gone in range(4)] == [0] * 4
    assert 10 <= disturbed[4] <= 30


def test_a_restart_of_all_slots_but_the_highest_moves_each_of_their_queues_twice():
    for n in (5, 13, 22):
        before = owners_by_slot("T", 64, range(n))
        moved = 0
        for gone in range(n - 1):
            moved += 2 * int(
                (
                    owners_by_slot("T", 64, [slot for slot in range(n) if slot != gone]) != before
                ).sum()
            )
        assert moved == 2 * int((before != n - 1).sum())


def test_a_rolling_restart_of_48_clients_moves_each_of_192_queues_twice_but_for_the_highest_slot():
    queues = [MessageQueue("T", f"broker-{broker}", i) for broker in range(8) for i in range(24)]
    made, all_ids, moved = strategy("ORDINAL"), slotted(range(48)), 0
    now = made.assign(queues, all_ids).owners
    for gone in range(47, -1, -1):  # as a StatefulSet does it
        left = [slot for slot in range(48) if slot != gone]
        during = np.array(left)[made.assign(queues, [all_ids[slot] for slot in left]).owners]
        moved += int((during != now).sum())
        now = made.assign(queues, all_ids).owners
        moved += int((during != now).sum())
    assert moved / 192 <= 2.02


def test_no_topic_loads_the_first_slots_more_than_others():
    skews = []
    for names in range(200):
        topics = [f"set-{names}-topic-{i}" for i in range(100)]
        groups = [
            ("g", one, [MessageQueue(one, "b", i) for i in range(4)], slotted(range(10)))
            for one in topics
        ]
        loads = np.bincount(
            strategy("ORDINAL").assign_fleet(Fleet.from_groups(groups)), minlength=10
        )
        skews.append(loads.max() / loads.mean())
    assert np.mean(skews) <= 1.25


# --- Tables ---


def in_topic(n_queues, topic="T"):
    return [MessageQueue(topic, "b", i) for i in range(n_queues)]


@pytest.mark.parametrize("n_queues", [1, 2, 3, 5, 8, 16, 17, 24, 50, 51, 59, 60, 61, 83, 110, 120])
def test_tables_move_no_queue_in_excess_whatever_slots_fail(n_queues):
    k = int(tables().slots_for(np.array([n_queues]))[0])
    queues, made = in_topic(n_queues, f"topic of {n_queues}"), strategy("ORDINAL", tables=True)
    owners = {}
    for size in range(1, k + 1):
        for slots in combinations(range(k), size):
            ids = slotted(slots)
            places = made.assign(queues, ids).owners
            assert places.tolist() == specified.ordinal(queues, ids, with_tables=True)
            loads = np.bincount(places, minlength=size)
            assert loads.max() - loads.min() <= 1
            owners[slots] = np.array(slots)[places]
    assert len(owners) == 2**k - 1 > 0
    for slots, before in owners.items():
        for gone in slots if len(slots) > 1 else ():
            after = owners[tuple(slot for slot in slots if slot != gone)]
            assert ((before != after) == (before == gone)).all()


def test_tables_of_a_fleet_and_groups_that_have_none():
    groups = [("g", f"T{n}", in_topic(n, f"T{n}"), slotted(range(5))) for n in (3, 8, 24, 60)]
    fleet, made = Fleet.from_groups(groups), strategy("ORDINAL", tables=True)
    [error] = made.fleet_errors(fleet)
    assert error.reason == "3 queues have a table of 4 slots, the highest is 4"
    owners = made.assign_fleet(fleet, on_error="report")
    assert owners[:3].tolist() == [-1] * 3
    assert owners[3:].tolist() == [
        one for group in groups[1:] for one in specified.ordinal(*group[2:], with_tables=True)
    ]
    with pytest.raises(ValueError, match="3 queues have a table of 4 slots, the highest is 4"):
        made.assign(groups[0][2], groups[0][3])
    with pytest.raises(ValueError, match="24 queues have a table of 6 slots, the highest is 7"):
        made.assign(in_topic(24), slotted([7]))


@pytest.mark.parametrize("n_queues", range(1, EVEN + 1))
def test_every_table_balances_every_subset_of_its_slots(n_queues):
    orders = specified.tables()[n_queues]
    k = len(orders[0])
    assert len(orders) == n_queues
    assert {"".join(sorted(order)) for order in orders} == {"012345"[:k]}
    for size in range(1, k + 1):
        for slots in combinations("012345"[:k], size):
            loads = Counter(next(digit for digit in order if digit in slots) for order in orders)
            assert max(loads.values()) - min(loads[slot] for slot in slots) <= (n_queues < EVEN)


# --- Explanations ---


def test_why_a_queue_has_its_owner():
    queues, ids = in_topic(8), slotted([0, 1, 3])
    made = strategy("ORDINAL")
    owners, full = made.assign(queues, ids).owners, made.assign(queues, slotted(range(4))).owners
    for position, (owner, home) in enumerate(zip(owners, full, strict=True)):
        reasons = made.explain(queues, ids, position)
        assert reasons.facts == {
            "n_numbers": 4,
            "missing": [2],
            "home": home,
            "number": [0, 1, 3][owner],
        }
        assert reasons.steps[-1] == f"number {[0, 1, 3][owner]} is client {ids[owner]}"
        assert ("which is missing" in reasons.steps[1]) == (home == 2)
    assert made.explain(queues, slotted(range(3)), 0).steps[0] == "the clients have numbers 0 to 2"
    assert made.explain(queues, [""], 0).steps == [
        "but the client id is empty, and a client without an id takes no queue"
    ]
