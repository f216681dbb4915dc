"""Groups whose clients differ and changes of them, as hypothesis draws them."""

from dataclasses import replace

import audited
from audited import TOPIC, topics
from hypothesis import strategies as st

from rmqalloc.snapshot.snapshot import Client, Group, Topic

NAMES = ("AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH")


@st.composite
def clients(draw):
    """A client of which it is known what it divides by."""
    name = draw(st.sampled_from(NAMES))
    return Client(
        draw(audited.ids),
        strategy=name,
        virtual_nodes=draw(st.integers(0, 9)) if name == "CONSISTENT_HASH" else None,
        subscriptions=draw(st.none() | st.just((TOPIC,)) | st.just(("other",))),
        sees_read_queue_nums=draw(
            st.none()
            | topics.map(
                lambda one: {TOPIC: {b.broker_name: b.read_queue_nums for b in one.brokers}}
            )
        ),
    )


@st.composite
def groups(draw):
    """A group given by its own strategy, whose clients report others or nothing."""
    made = draw(st.lists(clients() | audited.ids.map(Client), min_size=1, max_size=6))
    name = draw(st.sampled_from(NAMES))
    params = {"virtual_nodes": draw(st.integers(0, 9))} if name == "CONSISTENT_HASH" else {}
    listed = st.lists(st.sampled_from([one.client_id for one in made] + ["c0"]), max_size=7)
    lists = draw(
        st.none()
        | st.dictionaries(st.sampled_from("abc"), listed.map(tuple), min_size=1, max_size=3)
    )
    return Group(
        "g",
        (TOPIC,),
        tuple(made),
        strategy=name,
        strategy_params=params,
        strategy_source="given",
        broker_client_ids=lists,
    )


def changes():
    """A change as data, and what it makes of a topic and a group."""
    return st.one_of(
        st.sampled_from(NAMES[:2]).map(lambda name: {"set_strategy": {"strategy": name}}),
        audited.ids.map(lambda one: {"remove_clients": {"ids": one}}),
        st.sampled_from(["c0", "c11", "z"]).map(lambda one: {"add_clients": {"ids": one}}),
        st.integers(1, 6).map(lambda n: {"set_queues": {"read_queue_nums": n}}),
    )


def changed(change, topic, group):
    """The topic and the group after a change."""
    [(kind, what)] = change.items()
    if kind == "set_strategy":
        alike = (replace(one, strategy=None, virtual_nodes=None) for one in group.clients)
        return topic, replace(
            group, clients=tuple(alike), strategy=what["strategy"], strategy_params={}
        )
    if kind == "remove_clients":
        lists = {
            b: tuple(one for one in ids if one != what["ids"])
            for b, ids in (group.broker_client_ids or {}).items()
        }
        left = tuple(one for one in group.clients if one.client_id != what["ids"])
        return topic, replace(group, clients=left, broker_client_ids=lists or None)
    if kind == "add_clients":
        lists = {b: (*ids, what["ids"]) for b, ids in (group.broker_client_ids or {}).items()}
        return topic, replace(
            group, clients=(*group.clients, Client(what["ids"])), broker_client_ids=lists or None
        )
    n = what["read_queue_nums"]
    stale = [
        one
        if one.sees_read_queue_nums is None
        else replace(
            one, sees_read_queue_nums={TOPIC: dict.fromkeys(one.sees_read_queue_nums[TOPIC], n)}
        )
        for one in group.clients
    ]
    return Topic(
        topic.name, tuple(replace(one, read_queue_nums=n) for one in topic.brokers)
    ), replace(group, clients=tuple(stale))
