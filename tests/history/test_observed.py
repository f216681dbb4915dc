"""Histories of what an `Observer` shows: what was there at the beginning is part of it, and is
reported when it goes.
"""

from rmqalloc import MessageQueue, strategy
from rmqalloc.history import History, Recorder
from rmqalloc.snapshot import Client, Group, Snapshot, Topic, TopicBroker
from rmqalloc.snapshot.live.rereading import ClusterReading, GroupAges
from rmqalloc.watching import Observer

QUEUES = [MessageQueue("T", "b", i) for i in range(4)]
START = 1_700_000_000.0


def reading(at, *ids, said_at=None):
    assigned = strategy("AVG").assign(QUEUES, ids)
    clients = tuple(Client(one, owned=tuple(assigned.queues_of(one))) for one in ids)
    snapshot = Snapshot(
        (Topic("T", (TopicBroker("b", 4),)),), (Group("g", ("T",), clients, strategy="AVG"),)
    )
    return ClusterReading(
        snapshot,
        at - 0.1,
        at,
        {"g": GroupAges(at, at, dict.fromkeys(ids, said_at or at))},
        frozenset(),
        True,
        {},
    )


def test_who_was_there_at_the_beginning_is_told_when_he_leaves(tmp_path):
    path, observer = tmp_path / "history.db", Observer()
    with Recorder(path) as recorder:
        for n in range(8):
            recorder.record(observer.observe(reading(START + n, *(["a", "b"] if n < 4 else ["b"]))))
    rows = History(path).events().events.to_pylist()
    assert [one["client_id"] for one in rows if one["event"] == "left"] == ["a"]
    moved = [one for one in rows if one["event"] == "moved"]
    assert [(one["owners_before"], one["owners_after"]) for one in moved] == [(["a"], ["b"])] * 2
    before = History(path).owners_at("g", START + 2.5)
    assert (set(before.client_ids), before.doubt) == ({"a", "b"}, None)
    assert [before.owners[one] for one in QUEUES] == [("a",), ("a",), ("b",), ("b",)]


def test_owners_are_in_doubt_while_nobody_said_them_whatever_else_was_seen(tmp_path):
    """A client leaves, another joins, and only then clients say again what they own."""
    path, observer = tmp_path / "history.db", Observer()
    with Recorder(path) as recorder:
        for n, ids in enumerate(["ab", "ab", "ab", "b", "b", "bc", "bc", "bc", "bc", "bc"]):
            said_at = START + min(n, 2) if n < 7 else None
            recorder.record(observer.observe(reading(START + n, *ids, said_at=said_at)))
    known = [History(path).owners_at("g", START + n) for n in range(1, 9)]
    assert [n for n, one in enumerate(known, 1) if one.doubt is None] == [1, 2, 7, 8]
    assert "the queues that its clients own were not read; last known at" in known[3].doubt
