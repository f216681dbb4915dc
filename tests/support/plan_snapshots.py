"""Snapshots as hypothesis draws them."""

import drawn_units
from hypothesis import strategies as st

from rmqalloc.snapshot.snapshot import Client, Group, Lag, Snapshot, Topic, TopicBroker

TOPICS = ("T1", "T2", "t3", "%RETRY%g1")
RULES = [*drawn_units.STRATEGIES, ("CONSISTENT_HASH", {"virtual_nodes": 7})]


@st.composite
def snapshots(draw, rooms=False):
    """A few topics, and groups that each subscribe to some of them."""
    topics = tuple(draw(topic(name, rooms)) for name in TOPICS)
    groups = tuple(
        draw(group(name, topics, rooms))
        for name in draw(st.sampled_from([["g1"], ["g1", "other", "g2"]]))
    )
    return Snapshot(topics, groups)


@st.composite
def topic(draw, name, rooms):
    names = draw(
        st.lists(st.sampled_from(drawn_units.BROKERS), min_size=1, max_size=4, unique=True)
    )
    room = drawn_units.room_of if rooms else lambda _: None
    counts = [draw(st.integers(0 if i else 1, 4)) for i in range(len(names))]
    return Topic(
        name,
        tuple(TopicBroker(b, n, machine_room=room(b)) for b, n in zip(names, counts, strict=True)),
    )


@st.composite
def group(draw, name, topics, rooms):
    ids = draw(
        st.lists(
            st.sampled_from(drawn_units.CLIENTS), min_size=1, max_size=6, unique=draw(st.booleans())
        )
    )
    rule, params = draw(st.sampled_from(RULES + (drawn_units.NEARBY if rooms else [])))
    room = drawn_units.room_of if rooms else lambda _: None
    subscriptions = tuple(
        draw(st.lists(st.sampled_from(TOPICS), min_size=1, max_size=3, unique=True))
    )
    queues = [queue for one in topics if one.name in subscriptions for queue in one.queues()]
    some = draw(st.lists(st.sampled_from(queues), max_size=5, unique=True))
    lags = tuple(Lag(queue, draw(st.integers(0, 50)), 0) for queue in some)
    return Group(
        name,
        subscriptions,
        tuple(Client(one, room(one)) for one in ids),
        "CLUSTERING",
        rule,
        params,
        lags=lags,
    )
