"""Two clients that ask at once: one stop of a group at a time."""

import threading
from dataclasses import replace

from audited import group, snapshot, topic, with_owned

from rmqalloc.watching.guard import GuardLeases

IDS = ("a@1", "b@1", "c@1")
OTHERS = ("x@1", "y@1")


def cluster(*ids, name="g"):
    made = with_owned(group(*ids, name=name), [topic()])
    return snapshot(made, with_owned(group(*OTHERS, name="h"), [topic()]))


def leases(at=0.0, **more):
    """Leases with a clock that the test sets."""
    clock = [at]
    return GuardLeases(clock=lambda: clock[0], **more), clock


def test_one_stop_of_a_group_at_a_time():
    granted, clock = leases(seconds=100)
    assert granted.may_stop(cluster(*IDS), "a@1").verdict == "yes"
    clock[0] = 7
    second = granted.may_stop(cluster(*IDS), "b@1")
    assert second.verdict == "no"
    assert (
        second.reason
        == "a@1 of g was allowed to stop 7 s ago; wait until it has left, 93 s at most"
    )
    assert granted.may_stop(cluster(*IDS), "x@1").verdict == "yes"
    assert granted.may_stop(cluster(*IDS), "a@1").verdict == "yes"


def test_the_next_may_once_the_first_has_left_and_the_group_has_settled():
    granted, _ = leases()
    whole = cluster(*IDS)
    granted.may_stop(whole, "a@1")
    left = snapshot(group(*whole.groups[0].clients[1:]))
    assert granted.may_stop(left, "b@1").reason.startswith(
        "the previous change of g has not settled"
    )
    assert len(granted) == 1
    assert granted.may_stop(cluster(*IDS[1:]), "b@1").verdict == "yes"


def test_who_started_again_under_the_same_id_has_left():
    granted, _ = leases()
    [made] = snapshot(with_owned(group(*IDS), [topic()])).groups

    def started(at):
        return snapshot(
            replace(made, clients=tuple(replace(one, start_timestamp=at) for one in made.clients))
        )

    assert granted.may_stop(started(1), "a@1").verdict == "yes"
    assert granted.may_stop(started(1), "b@1").verdict == "no"
    assert granted.may_stop(started(2), "b@1").verdict == "yes"


def test_a_lease_expires():
    granted, clock = leases(seconds=100)
    granted.may_stop(cluster(*IDS), "a@1")
    clock[0] = 100
    assert granted.may_stop(cluster(*IDS), "b@1").verdict == "yes"


def test_who_asks_again_has_the_whole_time_again():
    granted, clock = leases(seconds=100)
    granted.may_stop(cluster(*IDS), "a@1")
    clock[0] = 90
    granted.may_stop(cluster(*IDS), "a@1")
    clock[0] = 120
    assert granted.may_stop(cluster(*IDS), "b@1").verdict == "no"


def test_a_refusal_is_no_lease_and_leases_are_bounded():
    granted, _ = leases(most=1)
    assert granted.may_stop(cluster("a@1"), "a@1").verdict == "no"
    assert len(granted) == 0
    assert granted.may_stop(cluster(*IDS), "a@1").verdict == "yes"
    assert (
        granted.may_stop(cluster(*IDS), "x@1").reason
        == "1 other stop under way already; no further stop is granted"
    )
    assert len(granted) == 1


def test_of_many_threads_one_is_granted():
    granted, whole = GuardLeases(), cluster(*map("{}@1".format, range(8)))
    verdicts = []
    ids = whole.groups[0].client_ids
    threads = [
        threading.Thread(
            target=lambda one=one: verdicts.append(granted.may_stop(whole, one).verdict)
        )
        for one in ids
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(verdicts) == ["no"] * 7 + ["yes"]
