"""Readings of clusters that are not there, for tests of what is watched."""

from rmqalloc.snapshot import Client, Group, Snapshot, Topic, TopicBroker
from rmqalloc.snapshot.live.rereading import ClusterReading, GroupAges


def topic(n=2, name="T"):
    return Topic(name, (TopicBroker("b", n),))


def group(*ids, name="g", owned=None, topics=("T",), **more):
    """A group; ``owned`` has by client id what it reports, None where it reports nothing."""
    clients = tuple(Client(one, owned=(owned or {}).get(one)) for one in ids)
    return Group(name, topics, clients, strategy="AVG", **more)


def reading(at, *groups, topics=None, not_read=(), is_whole=True, owned_at=None, listed_at=None, took=0.0, **more):
    """A reading that ends at a moment, all read then: clients at ``listed_at``, reports by client id at ``owned_at``."""
    began = at - took
    ages = {
        one.name: GroupAges(
            began if listed_at is None else listed_at,
            None,
            {c.client_id: (owned_at or {}).get(c.client_id, at) for c in one.clients if c.owned is not None},
        )
        for one in groups
    }
    snapshot = Snapshot(topics or (topic(),), groups, **more)
    return ClusterReading(snapshot, began, at, ages, frozenset(not_read), is_whole, {})


def members(seen):
    return [(one.key[1], one.before, one.after, one.last_seen_before, one.first_seen_after) for one in seen.members]


def moves(seen):
    return [
        (one.key[1].queue_id, one.before, one.after, one.last_seen_before, one.first_seen_after) for one in seen.moves
    ]
