"""Clients that join and leave, queues that move, groups that settle, findings that last: reading by
reading.
"""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples

from rmqalloc.model import MessageQueue
from rmqalloc.snapshot import Client, Group, Snapshot, SourceError, Topic, TopicBroker
from rmqalloc.snapshot.live.rereading import ClusterReading, GroupAges
from rmqalloc.watching import Observer


def topic(n=2, name="T"):
    return Topic(name, (TopicBroker("b", n),))


def group(*ids, name="g", owned=None, topics=("T",), **more):
    """A group; ``owned`` has by client id what it reports, None where it reports nothing."""
    clients = tuple(Client(one, owned=(owned or {}).get(one)) for one in ids)
    return Group(name, topics, clients, strategy="AVG", **more)


def reading(
    at,
    *groups,
    topics=None,
    not_read=(),
    is_whole=True,
    owned_at=None,
    listed_at=None,
    took=0.0,
    **more,
):
    """A reading that ends at a moment, all read then: clients at ``listed_at``, reports by client
    id at ``owned_at``.
    """
    began = at - took
    ages = {
        one.name: GroupAges(
            began if listed_at is None else listed_at,
            None,
            {
                c.client_id: (owned_at or {}).get(c.client_id, at)
                for c in one.clients
                if c.owned is not None
            },
        )
        for one in groups
    }
    snapshot = Snapshot(topics or (topic(),), groups, **more)
    return ClusterReading(snapshot, began, at, ages, frozenset(not_read), is_whole, {})


def members(seen):
    return [
        (one.key[1], one.before, one.after, one.last_seen_before, one.first_seen_after)
        for one in seen.members
    ]


def moves(seen):
    return [
        (one.key[1].queue_id, one.before, one.after, one.last_seen_before, one.first_seen_after)
        for one in seen.moves
    ]


Q = [MessageQueue("T", "b", i) for i in range(4)]


def observed(*readings, **how):
    observer = Observer(**how)
    return [observer.observe(one) for one in readings]


def told(seen, what):
    return [line for one in seen for line in what(one)]


def test_clients_that_stay_join_and_leave():
    seen = observed(
        *(
            reading(at, group(*ids))
            for at, ids in enumerate(["a", "a", "ab", "ab", "b", "b", "b"], 1)
        )
    )
    assert told(seen, members) == [
        ("a", None, 1, None, 1),
        ("b", None, 1, 2, 3),
        ("a", 1, None, 4, 5),
    ]


def test_the_moments_hold_lists_that_were_read_one_after_the_other():
    seen = observed(
        *(reading(10 * at, group(*ids), took=5) for at, ids in enumerate(["a", "a", "ab", "ab"], 1))
    )
    assert told(seen, members)[1:] == [("b", None, 1, 15, 30)]
    assert [one[3:] for one in told(seen, moves)[2:]] == [(15, 30)]


def test_lists_that_were_not_read_again_are_no_sighting():
    a, ab = group("a"), group("a", "b")
    looks = [(a, 1), (a, 2), (ab, 3), (ab, 3), (ab, 3), (ab, 6)]
    seen = observed(
        *(reading(at, one, listed_at=listed) for at, (one, listed) in enumerate(looks, 1))
    )
    assert [len(one.members) for one in seen] == [0, 1, 0, 0, 0, 1]
    assert [len(one.moves) for one in seen] == [0, 2, 0, 0, 0, 1]


def test_the_moments_at_which_a_group_goes_hold_the_whole_reading():
    other = group("x", name="other")
    looks = enumerate([(other, group("a"))] * 2 + [(other,)] * 2 + [(other, group("a"))] * 2, 1)
    seen = observed(*(reading(10 * at, *groups, took=5) for at, groups in looks))
    assert members(seen[3]) == [("a", 1, None, 15, 30)]
    assert members(seen[5]) == [("a", None, 1, 35, 50)]
    assert {one[3:] for one in moves(seen[3])} == {(15, 30)}


def test_an_id_that_is_listed_twice_is_a_state_of_its_own():
    seen = observed(
        *(reading(at, group(*ids)) for at, ids in enumerate(["a", "a", "aa", "aa", "a", "a"], 1))
    )
    assert told(seen, members)[1:] == [("a", 1, 2, 2, 3), ("a", 2, 1, 4, 5)]


def test_nothing_is_concluded_of_groups_that_were_not_read():
    empty = reading(3, group(), not_read=["g"]), reading(4, group(), not_read=["g"])
    observer = Observer()
    seen = [
        observer.observe(one)
        for one in (reading(1, group("a")), reading(2, group("a")), *empty, reading(5, group("a")))
    ]
    assert told(seen, members) == [("a", None, 1, None, 1)]
    assert len(told(seen, moves)) == 2
    assert not any(one.unsettled or one.settled for one in seen)


@pytest.mark.parametrize("is_whole", [True, False])
def test_a_group_is_gone_only_if_all_brokers_say_so(is_whole):
    rest = [reading(at, group("x", name="other"), is_whole=is_whole) for at in (3, 4)]
    both = [reading(at, group("a"), group("x", name="other")) for at in (1, 2)]
    seen = observed(*both, *rest)
    gone = [("a", 1, None, 2, 3)] if is_whole else []
    assert members(seen[3]) == gone
    assert moves(seen[3]) == ([(i, ("a",), None, 2, 3) for i in (0, 1)] if is_whole else [])


def test_what_is_gone_is_forgotten():
    observer, keep = Observer(), group("x", name="keep")
    for i in range(20):
        for at in range(2):
            observer.observe(
                reading(10 * i + at, keep, group(f"c{i}", name=f"g{i}"), topics=[topic()])
            )
    for at in (1000, 1001):
        observer.observe(reading(at, keep))
    assert (
        len(observer._members._states)
        == len(observer._members._ids)
        == len(observer._members._read_at)
        == 1
    )
    assert observer._moves._groups.keys() == {"keep"}
    assert observer._settling._marks.keys() == {"keep"}


def test_clients_and_queues_that_come_and_go_leave_nothing_behind():
    observer = Observer()
    for i in range(10):
        for at in range(2):
            observer.observe(reading(10 * i + at, group(f"c{i}"), topics=[topic(2 + i % 3)]))
    assert len(observer._members._states) == 1
    assert len(observer._moves._groups["g"].states) == len(observer._moves._groups["g"].keys) == 2


def test_a_group_that_comes_had_no_clients_at_the_reading_before():
    other = group("x", name="other")
    seen = observed(
        reading(1, other),
        reading(2, other),
        reading(3, other, group("a")),
        reading(4, other, group("a")),
    )
    assert members(seen[3]) == [("a", None, 1, 2, 3)]
    seen = observed(
        reading(1, other),
        reading(2, other, is_whole=False),
        reading(3, other, group("a")),
        reading(4, other, group("a")),
    )
    assert members(seen[3]) == [("a", None, 1, 1, 3)]


def test_queues_that_are_added_and_removed():
    seen = observed(
        *(reading(at, group("a"), topics=[topic(n)]) for at, n in enumerate([1, 1, 2, 2, 1, 1], 1))
    )
    assert told(seen, moves)[1:] == [(1, None, ("a",), 2, 3), (1, ("a",), None, 4, 5)]


@pytest.mark.parametrize("topics", [("T",), ()], ids=["committed", "nobody says what it reads"])
@pytest.mark.parametrize("is_reported", [True, False])
def test_queues_of_a_group_whose_last_client_leaves_have_no_owner(topics, is_reported):
    full = group("a", owned={"a": tuple(Q[:2])} if is_reported else None)
    seen = observed(
        *(
            reading(at, one)
            for at, one in enumerate([full, full, *[group(topics=topics)] * 2, full, full], 1)
        )
    )
    assert moves(seen[3]) == [(i, ("a",), (), 2, 3) for i in (0, 1)]
    assert moves(seen[5]) == [(i, (), ("a",), 4, 5) for i in (0, 1)]


def owning(a, b):
    return group("a", "b", owned={"a": tuple(Q[i] for i in a), "b": tuple(Q[i] for i in b)})


def test_reports_that_fail_to_come_are_no_move():
    both, none = owning([1], [0]), group("a", "b")
    one = group("a", "b", owned={"a": (Q[1],)})
    seen = observed(
        *(
            reading(at, it)
            for at, it in enumerate([both, both, none, none, none, one, one, both, both], 1)
        )
    )
    assert [len(moves(it)) for it in seen] == [0, 2, 0, 0, 0, 0, 0, 0, 0]


def test_reports_count_as_seen_once_all_were_read_since():
    before, after = owning([0, 1], []), owning([0], [1])
    looks = [(before, {"a": 1, "b": 1}), (before, {"a": 2, "b": 2}), (after, {"a": 3, "b": 2}), (after, {"a": 3, "b": 4}),
             (after, {"a": 5, "b": 4}), (after, {"a": 5, "b": 6})]  # fmt: skip
    seen = observed(*(reading(at, it, owned_at=ages) for at, (it, ages) in enumerate(looks, 1)))
    assert [len(moves(it)) for it in seen] == [0, 2, 0, 0, 0, 1]
    assert moves(seen[5]) == [(1, ("a",), ("b",), 2, 4)]
    stale = [reading(at, it, owned_at={"a": 1, "b": 1}) for at, it in enumerate([before] * 6, 1)]
    assert told(observed(*stale), moves) == []


def test_a_clock_that_goes_back_begins_again():
    a, b = group("a"), group("a", "b")
    seen = observed(
        *(reading(at, it) for at, it in [(100, a), (101, a), (50, b), (51, b), (52, b)])
    )
    assert members(seen[3]) == [("a", None, 1, None, 50), ("b", None, 1, None, 50)]
    assert {one[3] for one in moves(seen[3])} == {None}
    assert seen[4].members == seen[4].moves == ()


def test_only_groups_that_are_looked_at():
    seen = observed(
        *(
            reading(at, group(*ids), group(*ids, name="h"))
            for at, ids in enumerate(["a", "a", "ab", "ab"], 1)
        ),
        groups=["h"],
    )
    assert {one.key[0] for it in seen for one in (*it.members, *it.moves)} == {"h"}
    assert {name for it in seen for name in it.unsettled} <= {"h"}


# --- settling ---


def test_a_group_settles_once_every_queue_has_its_owner_by_reports_from_after_the_change():
    alone = group("a", owned={"a": tuple(Q[:2])})
    moving = group("a", "b", owned={"a": tuple(Q[:2]), "b": ()})
    done = owning([0], [1])
    looks = [(alone, {}), (alone, {}), (moving, {}), (done, {"a": 28}), (done, {})]
    seen = observed(
        *(reading(10 * at, it, owned_at=ages, took=1) for at, (it, ages) in enumerate(looks, 1))
    )
    assert [dict(it.unsettled) for it in seen] == [{}, {}, {"g": 29}, {"g": 29}, {}]
    assert [dict(it.settled) for it in seen] == [{}, {}, {}, {}, {"g": 21}]


def test_of_a_group_that_reports_nothing_it_is_not_known():
    seen = observed(*(reading(at, group(*ids)) for at, ids in enumerate(["a", "a", "ab", "ab"], 1)))
    assert not any(it.unsettled or it.settled for it in seen)
    later = observed(
        reading(1, group("a")),
        reading(2, group("a", "b")),
        reading(3, owning([0, 1], [])),
        reading(4, owning([0], [1])),
    )
    assert [dict(it.unsettled) for it in later] == [{}, {}, {"g": 2}, {}]
    assert later[3].settled == {"g": 2}


# --- findings ---


def test_findings_are_raised_and_cleared_between_moments():
    idle, busy = group("a", "b", "c"), group("a", "b")
    seen = observed(
        *(reading(10 * at, it, took=1) for at, it in enumerate([busy, busy, idle, idle, busy], 1))
    )
    raised, cleared = (
        [one for it in seen for one in it.raised],
        [one for it in seen for one in it.cleared],
    )
    assert [
        (one.key[0], one.before, one.last_seen_before, one.first_seen_after) for one in raised
    ] == [("idle-client", None, 19, 30)]
    assert [(one.before, one.last_seen_before, one.first_seen_after) for one in cleared] == [
        (raised[0].after, 39, 50)
    ]
    assert [it.lasting for it in seen] == [(), (), (), (raised[0].after,), ()]


def test_what_a_look_lacks_is_not_cleared_and_its_moments_stay_true():
    idle, busy = group("a", "b", "c"), group("a", "b")
    lack = {"errors": (SourceError("b", "x", "no answer"),)}
    looks = [(busy, lack), (idle, {}), (idle, {}), (busy, lack), (busy, {})]
    seen = observed(*(reading(at, it, **more) for at, (it, more) in enumerate(looks, 1)))
    assert [(len(it.raised), len(it.cleared)) for it in seen] == [
        (0, 0),
        (0, 0),
        (1, 0),
        (0, 0),
        (0, 1),
    ]
    assert (seen[2].raised[0].last_seen_before, seen[2].raised[0].first_seen_after) == (None, 2)
    assert (seen[4].cleared[0].last_seen_before, seen[4].cleared[0].first_seen_after) == (3, 5)


# --- against the truth ---


@examples(40, nightly=1000)
@given(
    st.lists(
        st.tuples(
            st.sets(st.sampled_from("abc")),
            st.sampled_from(["read", "not read", "gone", "part gone"]),
        ),
        max_size=14,
    )
)
def test_members_are_told_as_they_were(looks):
    observer, other = Observer(), group("x", name="other")
    lists, told_ones = [], []
    for at, (ids, how) in enumerate(looks, 1):
        groups = (other,) if "gone" in how else (group(*sorted(ids)), other)
        seen = observer.observe(
            reading(
                at,
                *groups,
                not_read=["g"] if how == "not read" else [],
                is_whole=how != "part gone",
            )
        )
        told_ones += [one for one in seen.members if one.key[0] == "g"]
        if how in ("read", "gone"):
            lists.append((at, ids if how == "read" else set()))
    for client_id in "abc":
        mine = [one for one in told_ones if one.key[1] == client_id]
        assert [one.after for one in mine] == [1, None] * (len(mine) // 2) + [1] * (len(mine) % 2)
        for one in mine:
            states = {at: client_id in ids for at, ids in lists}
            assert states[one.first_seen_after] is (one.after is not None)
            if one.last_seen_before is not None:
                assert states.get(one.last_seen_before, False) is (one.before is not None)
        for (_, one), (at, two) in pairwise(lists):
            if client_id in one & two:
                assert any(it.after == 1 and it.first_seen_after <= at for it in mine)
