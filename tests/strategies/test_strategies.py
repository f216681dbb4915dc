"""One contract for every strategy.

Answers are compared as positions of objects, so that two equal queues are not mistaken for each
other, and errors as Java's class and text.
"""

import copy
import itertools
import random
from types import SimpleNamespace

import numpy as np
import pytest
import random_groups as inputs
import reference
from hypothesis import assume, given
from hypothesis import strategies as st
from strategy_cases import (
    CONFIGURED,
    RULES,
    client_names,
    every_rule,
    numbered,
    one_owner_rule,
    outcome,
    pairs,
    pop_rule,
    same_objects,
    shared_rule,
)

from rmqalloc import Fleet, MessageQueue, sort_client_ids, sort_queues, strategy

groups = st.tuples(inputs.queue_lists(min_size=0), st.lists(inputs.client_ids, max_size=7))


@every_rule
class TestContract:
    """What holds for every strategy."""

    @given(group=groups, stranger=inputs.client_ids)
    def test_allocate_is_java_s(self, rule, group, stranger):
        mq_all, cid_all = group
        mine = rule.make()
        for current in [*cid_all, stranger, "", " ", None]:
            answer = same_objects(outcome(mine.allocate, "g", current, mq_all, cid_all), mq_all)
            assert answer == same_objects(
                outcome(rule.reference.allocate, "g", current, mq_all, cid_all), mq_all
            )

    @pytest.mark.thorough(keep=6)
    @given(group=groups)
    def test_inputs_are_left_as_they_were(self, rule, group):
        mq_all, cid_all = group
        queues_before, clients_before = list(map(id, mq_all)), copy.deepcopy(cid_all)
        mine = rule.make()
        outcome(mine.assign, mq_all, cid_all)
        for current in cid_all:
            result = outcome(mine.allocate, "g", current, mq_all, cid_all)
            assert result is not mq_all
        assert list(map(id, mq_all)) == queues_before
        assert cid_all == clients_before

    def test_the_name_is_java_s(self, rule):
        assert rule.make().get_name() == rule.reference.name

    def test_tuples_and_other_sequences_will_do(self, rule):
        mq_all = [MessageQueue("T", "hz@b1", i) for i in range(7)]
        answer = rule.make().allocate("g", "x", mq_all, ["x", "y"])
        assert rule.make().allocate("g", "x", tuple(mq_all), ("x", "y")) == answer

    def test_a_client_id_is_the_same_however_it_is_spelled(self, rule):
        """Two halves of a character are the character: to Java they are one string."""
        mq_all = [MessageQueue("T", "hz@b1", i) for i in range(8)]
        joined, halves = "x\U0001f600", "x\ud83d\ude00"
        assert joined != halves
        expected = same_objects(
            outcome(rule.reference.allocate, "g", joined, mq_all, ["a", joined]), mq_all
        )
        for current, member in [(joined, halves), (halves, joined), (halves, halves)]:
            answer = outcome(rule.make().allocate, "g", current, mq_all, ["a", member])
            assert same_objects(answer, mq_all) == expected


@one_owner_rule
class TestWholeGroup:
    """What holds for every strategy that gives a queue to one client."""

    @pytest.mark.thorough(keep=4)
    @given(group=groups)
    def test_assign_asks_every_client_at_once(self, rule, group):
        mq_all, cid_all = group
        assume(any(cid_all) or not cid_all)
        # What only an empty id would run into in its own room, nobody runs into; the group as a
        # whole may still refuse.
        assume(
            rule.label != "NEARBY-MACHINE_ROOM"
            or all(queue.broker_name is not None for queue in mq_all)
        )
        mine = outcome(lambda: rule.make().assign(mq_all, cid_all).owners.tolist())
        assert mine == outcome(reference.owners, rule.reference, mq_all, cid_all)

    @pytest.mark.thorough(keep=4)
    @given(group=groups)
    def test_every_client_s_allocate_agrees_with_assign(self, rule, group):
        mq_all, cid_all = group
        mine = rule.make()
        assigned = outcome(mine.assign, mq_all, cid_all)
        assert hasattr(assigned, "owners") or isinstance(assigned, tuple)
        for client in (
            cid_all if not isinstance(assigned, tuple) or hasattr(assigned, "owners") else ()
        ):
            first = list(map(reference.java_string, cid_all)).index(reference.java_string(client))
            expected = np.flatnonzero(assigned.owners == first).tolist()
            answer = same_objects(outcome(mine.allocate, "g", client, mq_all, cid_all), mq_all)
            nobody_s = [] if mine.dialect == "go" else (ValueError, "currentCID is empty")
            assert (sorted(answer) == expected) if client else answer == nobody_s

    def test_nobody_can_ask_as_the_empty_id(self, rule):
        """Its slot counts, its share has no owner; in a group of nobody else, nothing has."""
        mq_all = [MessageQueue("T", "hz@b1", i) for i in range(6)]
        assert rule.make().assign(mq_all, ["", ""]).owners.tolist() == [-1] * 6

    @pytest.mark.thorough(keep=4)
    @given(group=groups)
    def test_owners_are_positions_of_clients(self, rule, group):
        assigned = outcome(rule.make().assign, *group)
        if hasattr(assigned, "owners"):
            assert assigned.owners.dtype == np.int32
            assert assigned.owners.shape == (len(group[0]),)
            assert assigned.owners.min(initial=-1) >= -1
            assert assigned.owners.max(initial=-1) < len(group[1])

    @pytest.mark.thorough(keep=4)
    @given(group=groups)
    def test_assign_sorts_if_told_to(self, rule, group):
        mq_all, cid_all = group
        by_hand = outcome(lambda: rule.make().assign(sort_queues(mq_all), sort_client_ids(cid_all)))
        assert pairs(outcome(lambda: rule.make().assign(mq_all, cid_all, sort=True))) == pairs(
            by_hand
        )

    @pytest.mark.thorough(keep=4)
    @given(units=inputs.units())
    def test_a_fleet_is_assigned_unit_by_unit(self, rule, units):
        fleet, mine = fleet_of(units), rule.make()
        owners = mine.assign_fleet(fleet, on_error="report")
        reasons = {error.position: error.reason for error in mine.fleet_errors(fleet)}
        assert owners.shape == (fleet.queue_offsets[-1],)
        for u, group in enumerate(units):
            alone = outcome(lambda group=group: mine.assign(*group).owners.tolist())
            of_unit = owners[fleet.queue_offsets[u] : fleet.queue_offsets[u + 1]].tolist()
            assert of_unit == ([-1] * len(of_unit) if isinstance(alone, tuple) else alone)
            assert reasons.get(u) == (alone[1] if isinstance(alone, tuple) else None)

    @pytest.mark.thorough(keep=4)
    def test_a_big_group(self, rule):
        """Sizes that examples do not reach: long lists, full rings, many rooms."""
        draw = random.Random(20210316)
        mq_all = [
            MessageQueue("T", f"{draw.choice(['hz', 'sh', 'a'])}@b{draw.randrange(9)}", i)
            for i in range(700)
        ]
        cid_all = [
            f"10.{draw.randrange(9)}.0.{draw.randrange(30)}@{'7' * draw.randrange(9)}"
            for _ in range(150)
        ]
        assert len(set(cid_all)) < 150
        owners = rule.make().assign(mq_all, cid_all).owners.tolist()
        assert owners == reference.owners(rule.reference, mq_all, cid_all)
        assert len(set(owners)) > 3 or rule.label in (
            "CONSISTENT_HASH-0",
            "CONSISTENT_HASH-crowded",
        )

    @pytest.mark.thorough(keep=4)
    def test_a_big_fleet(self, rule):
        """Units of all sizes, neighbours and strangers sharing lists of clients and of queues."""
        draw = random.Random(738357521064)
        client_lists = [
            [f"10.0.{m}.{i}@{draw.randrange(99)}" for i in range(m)] for m in (1, 2, 5, 17, 60)
        ]
        queue_lists = [
            [MessageQueue(f"t{n}", f"hz@b{i % 3}", i // 3) for i in range(n)]
            for n in (1, 3, 16, 48)
        ]
        units = [(mq_all, cid_all) for cid_all in client_lists for mq_all in queue_lists]
        units += draw.sample(units, len(units))
        fleet = fleet_of(units)
        owners = np.split(rule.make().assign_fleet(fleet), fleet.queue_offsets[1:-1])
        assert [one.tolist() for one in owners] == [
            reference.owners(rule.reference, *unit) for unit in units
        ]


@shared_rule
@given(group=groups)
def test_assign_asks_every_client_where_queues_are_shared(rule, group):
    mq_all, cid_all = group
    shared = outcome(rule.make().assign, mq_all, cid_all)
    assert hasattr(shared, "queues") or isinstance(shared, tuple)
    for i, client in enumerate(cid_all):
        expected = same_objects(
            outcome(rule.reference.allocate, "g", client, mq_all, cid_all), mq_all
        )
        if not hasattr(shared, "queues"):  # nobody escapes it, but for who cannot ask at all
            assert expected in (shared, (ValueError, "currentCID is empty"))
        elif i in shared.errors:
            assert shared.queues[i] is None
            assert isinstance(expected, tuple)
            assert shared.errors[i] in expected or expected == (TypeError,)
        else:
            assert same_objects(shared.queues[i], mq_all) == expected


@pop_rule
@given(units=inputs.units())
def test_a_fleet_is_shared_unit_by_unit(rule, units):
    fleet, mine = fleet_of(units), rule.make()
    shares = mine.share_fleet(fleet, on_error="report")
    bad = {error.position for error in mine.fleet_errors(fleet)}
    assert shares.whole_broker.size == len(units)
    for u, (mq_all, cid_all) in enumerate(units):
        for slot, client in enumerate(cid_all, start=fleet.client_offsets[u]):
            expected = same_objects(
                outcome(rule.reference.allocate, "g", client, mq_all, cid_all), mq_all
            )
            mine_are = shares.queues[shares.offsets[slot] : shares.offsets[slot + 1]].tolist()
            if shares.whole_broker[u]:
                assert (mine_are, expected) == ([], [(*queue[:2], -1) for queue in mq_all])
            elif u in bad or shares.refused[slot]:
                assert (mine_are, type(expected)) == ([], tuple)
                assert u in bad or expected == (ValueError, "currentCID is empty")
            else:
                assert mine_are == expected


@given(units=inputs.units())
def test_a_fleet_sorts_unit_by_unit(units):
    fleet = fleet_of(units).sorted()
    assert [fleet.queues_of(u) for u in range(fleet.n_units)] == [
        sort_queues(mq_all) for mq_all, _ in units
    ]
    ids = [list(map(reference.java_string, sort_client_ids(cid_all))) for _, cid_all in units]
    assert [fleet.client_ids_of(u) for u in range(fleet.n_units)] == ids


def fleet_of(units):
    return Fleet.from_groups([("g", "T", *unit) for unit in units])


def test_rooms_without_clients_follow_in_java_s_order():
    """Own room first, then the others by UTF-16: U+1F600 before U+FFFD, though its code point is
    higher.
    """
    room_of = {"b0": "\ufffd", "b1": "z", "b2": "\U0001f600", "b3": "own"}
    rule = strategy(
        "MACHINE_ROOM_NEARBY", inner=strategy("AVG"), broker_room=room_of, client_room={"x": "own"}
    )
    answer = rule.allocate(
        "g", "x", [MessageQueue("T", broker_name, 0) for broker_name in room_of], ["x"]
    )
    assert [queue.broker_name for queue in answer] == ["b3", "b1", "b2", "b0"]


# --- The caller's own objects ---


class JavaQueue:
    """A queue as a Java bridge would show it."""

    def __init__(self, topic, broker_name, queue_id):
        self.topic, self.brokerName, self.queueId = topic, broker_name, queue_id

    def __iter__(self):
        return iter((self.topic, self.brokerName, self.queueId))


FORMS = {
    "MessageQueue": MessageQueue,
    "3-tuple": lambda topic, broker_name, queue_id: (topic, broker_name, queue_id),
    "object": lambda topic, broker_name, queue_id: SimpleNamespace(
        topic=topic, broker_name=broker_name, queue_id=queue_id
    ),
    "Java's object": JavaQueue,
    "mapping": lambda topic, broker_name, queue_id: {
        "topic": topic,
        "broker_name": broker_name,
        "queue_id": queue_id,
    },
    "Java's mapping": lambda topic, broker_name, queue_id: {
        "topic": topic,
        "brokerName": broker_name,
        "queueId": queue_id,
    },
    "numpy's number": lambda topic, broker_name, queue_id: MessageQueue(
        topic, broker_name, np.int32(queue_id)
    ),
}
PLAIN_RULES = [
    rule
    for rule in RULES
    if "NEARBY" not in rule.label and "CONFIG" not in rule.label and rule.label != "POP-0"
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("rule", PLAIN_RULES, ids=str)
def test_answers_hold_the_caller_s_own_objects(rule, form):
    plain = [MessageQueue("T", f"hz@b{i % 2}", i) for i in range(9)]
    mine = [FORMS[form](*queue) for queue in plain]
    clients = ["x", "y", "z"]
    n_dealt = 0
    for client in clients:
        expected = same_objects(rule.reference.allocate("g", client, plain, clients), plain)
        answer = rule.make().allocate("g", client, mine, clients)
        assert same_objects(answer, mine) == expected
        n_dealt += len(answer)
    assert n_dealt or rule.label in ("CONSISTENT_HASH-0", "MACHINE_ROOM-odd")


def test_config_answers_its_own_objects():
    answer = strategy("CONFIG", message_queues=CONFIGURED).allocate("g", "anyone", [], [])
    assert list(map(id, answer)) == list(map(id, CONFIGURED))
    assert strategy("CONFIG", message_queues=None).allocate("g", None, None, None) is None


# --- Strings ---


@given(mq_all=inputs.queue_lists(min_size=0))
def test_queues_sort_as_in_java(mq_all):
    mine = outcome(lambda: same_objects(list(sort_queues(mq_all)), mq_all))
    assert mine == outcome(reference.sorted_queues, mq_all)


@given(cid_all=st.lists(st.one_of(inputs.client_ids, inputs.odd_texts), max_size=30))
def test_client_ids_sort_as_in_java(cid_all):
    expected = [cid_all[i] for i in reference.sorted_client_ids(cid_all)]
    assert sort_client_ids(cid_all) == expected


def short_texts():
    """Every text of up to two characters, of those that Java orders unlike Python or UTF-8 and of
    some others.
    """
    letters = "a@\xe9\uffff\ue000\ud800\udbff\udc00\U00010000\U0001f600"
    return [
        "".join(text) for length in range(3) for text in itertools.product(letters, repeat=length)
    ]


def test_every_two_short_ids_sort_as_in_java():
    two_ids = list(itertools.product(short_texts(), repeat=2))
    assert two_ids
    fleet = Fleet.from_groups(("g", "T", [("b", 0)], pair) for pair in two_ids).sorted()
    for u, pair in enumerate(two_ids):
        assert fleet.client_ids_of(u) == sorted(
            map(reference.java_string, pair), key=reference.utf16
        ), pair


@pytest.mark.parametrize("prefix", ["", "x", "10.0.0.1@12345#", "\ud800", "\U0001f600"])
def test_a_long_list_of_ids_sorts_as_in_java(prefix):
    """Longer than the runs that are sorted by insertion, and with a common beginning of any length."""
    ids = [prefix + text for text in short_texts()] * 2
    random.Random(1).shuffle(ids)
    expected = [ids[i] for i in reference.sorted_client_ids(ids)]
    fleet = Fleet.from_groups([("g", "T", [("b", 0)], ids)]).sorted()
    assert fleet.client_ids_of(0) == list(map(reference.java_string, expected))
    assert sort_client_ids(ids) == expected


@given(names=st.lists(st.tuples(inputs.odd_texts, inputs.odd_texts), max_size=20))
def test_names_of_queues_sort_as_in_java(names):
    mq_all = [
        MessageQueue(*map(reference.java_string, pair), i % 3 - 1) for i, pair in enumerate(names)
    ]
    expected = [mq_all[i] for i in reference.sorted_queues(mq_all)]
    assert sort_queues(mq_all) == expected
    assert Fleet.from_groups([("g", "T", mq_all, ["c"])]).sorted().queues_of(0) == expected


def test_ids_that_hash_alike_are_three_clients():
    """A lone half of a character is hashed as a question mark, so the last of the three has the
    whole ring.
    """
    clients = ["x\ud800", "x\udfff", "x?"]
    assert set(strategy("CONSISTENT_HASH").assign(numbered(30), clients).owners) == {2}
    assert set(strategy("AVG").assign(numbered(30), clients).owners) == {0, 1, 2}


@pytest.mark.parametrize(
    ("key", "point"),
    [
        ("c1-0", 3886541579),
        ("10.0.0.1@1-9", 1910767523),
        ("é-0", 795419618),
        ("\U0001f600-0", 1552967531),
        ("\ud83d\ude00-0", 1552967531),
        ("\ud800-0", 118126210),
        ("MessageQueue [topic=TopicTest, brokerName=broker-a, queueId=3]", 3652785994),
    ],
)
def test_the_reference_hashes_as_java_does(key, point):
    assert reference.md5_hash(key) == point


def test_ring_keys_that_read_alike_go_to_one_client():
    """The text of a queue is ambiguous, and null reads like "null"."""
    queues = [
        MessageQueue("T, brokerName=b", "c", 1),
        MessageQueue("T", "b, brokerName=c", 1),
        MessageQueue(None, "b", 1),
        MessageQueue("null", "b", 1),
    ]
    for n_clients in range(2, 20):
        owners = strategy("CONSISTENT_HASH").assign(queues, client_names(n_clients)).owners
        assert owners[0] == owners[1]
        assert owners[2] == owners[3]
