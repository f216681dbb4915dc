"""The chaos search: what is known is explained, defects that are planted are found and made small,
and its judges can fail.
"""

import pytest
from chaos import rules, schedules
from chaos.__main__ import reported, script_text
from chaos.recording import Interval, Record, Stored, play
from chaos.searching import Kind, kinds_of, search, smallest
from proof import Report

from rmqalloc import MessageQueue, simulate
from rmqalloc.broker import RebalanceLockManager
from rmqalloc.broker._broker import ConsumerOffsetManager
from rmqalloc.simulation import Flow, Script, read_script
from rmqalloc.simulation._messages import Reading

QUEUE = MessageQueue("t", "broker-a", 0)


def quiet(**group):
    """A script of two clients on two queues, without events."""
    known = {
        "start_every": "0s",
        "strategy": "AVG",
        "listener_time": "0s",
        "server_assignment": False,
    }
    known |= {
        "name": "g",
        "topics": ["t"],
        "clients": 2,
        "ordered": True,
        "consumed_per_second": 100,
    }
    data = {
        "name": "quiet",
        "brokers": ["broker-a"],
        "topics": [{"name": "t", "read_queue_nums": 2, "produced_per_second": 10}],
        "groups": [known | group],
        "events": [],
        "seed": 0,
        "profile": "5.5",
        "latency": "1ms",
    }
    return schedules.with_duration(data)


def with_events(*events, **group):
    return schedules.with_duration(quiet(**group) | {"events": list(events)})


def made(intervals=(), readings=(), stored=(), answered=(), is_ordered=True, alive=(0,)):
    """A record of one queue that somebody made up; it settles at 1,000 ms and ends at 2,000."""
    return Record(
        script=Script.of(quiet()),
        is_ordered=is_ordered,
        flow=Flow(10, 10),
        queues=[QUEUE],
        names=["x", "y"],
        intervals=[Interval(QUEUE, *one) for one in intervals],
        readings={QUEUE: [Reading(0, *one) for one in readings]},
        alive=set(alive),
        settled=1_000,
        until=2_000,
        stored={QUEUE: [Stored(*one) for one in stored]},
        answered={QUEUE: [Stored(*one) for one in answered]},
    )


@pytest.mark.parametrize(
    ("record", "broken"),
    [
        (made([(0, 0, 2_000)]), set()),
        (made([(0, 0, 900), (1, 900, 2_000)]), set()),
        (made([(0, 0, 900), (1, 899, 2_000)]), {"two-owners"}),
        (made([(0, 0, 900), (1, 800, 2_000)], is_ordered=False), set()),
        (made([(0, 0, 2_000), (1, 1_500, 1_600)], is_ordered=False), {"double"}),
        (made([(0, 0, 1_500), (1, 1_501, 2_000)]), {"unowned"}),
        (made(), {"unowned"}),
        (made(alive=()), set()),
        (made([(0, 0, 2_000)], [(0, 0, 500), (3, 700, 2_000)], answered=[(700, 3)]), set()),
        (made([(0, 0, 2_000)], [(0, 0, 500), (3, 700, 2_000)], answered=[(100, 3)]), {"order"}),
        (made([(0, 0, 2_000)], [(0, 0, 500), (3, 700, 2_000)], is_ordered=False), set()),
        (made([(0, 0, 2_000)], [(0, 0, 500), (6, 700, 2_000)]), {"skip"}),
        (made([(0, 0, 2_000)], [(0, 0, 2_000)], stored=[(500, 5)]), set()),
        (made([(0, 0, 2_000)], [(0, 0, 2_000)], stored=[(500, 6)]), {"stored-ahead"}),
    ],
)
def test_judges_find_what_is_wrong_in_a_record_and_nothing_else(record, broken):
    assert {one.rule for one in rules.violations(record)} == broken


def test_a_search_explains_whatever_it_meets():
    totals = search([*range(10), 140, 145, 202])
    assert totals.failed == [] and totals.n_schedules == 13
    assert {kind.finding for kind in totals.seen} >= {
        "kept-messages",
        "forgotten-locks",
        "late-unlock",
    }


def always_locks(manager, consumer_group, queue, client_id):
    return True


def commits_ahead(manager, consumer_group, offsets, real=ConsumerOffsetManager.commit_offsets):
    real(manager, consumer_group, {queue: offset + 7 for queue, offset in offsets.items()})


def never_expires(manager, lock, now):
    return False


CRASH = {"at": "20s", "crash": {"clients": ["g-0"]}}
SHUTDOWN = {"at": "20s", "shutdown": {"clients": ["g-0"]}}
DEAF = [
    {"at": "10s", "notices": {"enabled": False}},
    {"at": "15s", "join": {"group": "g", "clients": ["a"]}},
]


@pytest.mark.parametrize(
    ("owner", "name", "defect", "events", "rule"),
    [
        (RebalanceLockManager, "try_lock", always_locks, DEAF, "two-owners"),
        (RebalanceLockManager, "_is_expired", never_expires, [CRASH], "unowned"),
        (ConsumerOffsetManager, "commit_offsets", commits_ahead, [SHUTDOWN], "skip"),
    ],
)
def test_a_planted_defect_is_found(monkeypatch, owner, name, defect, events, rule):
    data = with_events(*events)
    assert kinds_of(play(data)) == {}
    monkeypatch.setattr(owner, name, defect)
    assert Kind(rule, None) in kinds_of(play(data))


def test_a_planted_defect_is_found_by_the_search_and_made_small_enough_to_read(
    monkeypatch, tmp_path
):
    monkeypatch.setattr(RebalanceLockManager, "_is_expired", never_expires)
    kind = Kind("unowned", None)
    totals = next(
        totals for totals in (search([seed]) for seed in range(40)) if kind in totals.failed
    )
    small = smallest(kind, totals.first[kind][:1])
    assert (
        len(small.data["events"]) <= 2
        and small.data["latency"] == "1ms"
        and small.data["seed"] == 0
    )
    path = tmp_path / "small.yaml"
    path.write_text(script_text(small.data))
    script = read_script(path)
    assert script == Script.of(small.data) and kinds_of(play(small.data))[kind] == small.violation
    assert simulate(path).events[-1].unowned > 0
    report = Report("chaos")
    reported(report, totals)
    assert any("unowned" in text for text in report.wrong) and report.end() == 1
