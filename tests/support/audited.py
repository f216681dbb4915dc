"""Snapshots to audit, and the plain twin of an audit: every client asked on its own, as RocketMQ
asks it.
"""

from hypothesis import strategies as st

from rmqalloc import sort_client_ids, sort_queues, strategy
from rmqalloc.model import MessageQueue
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker

TOPIC = "orders"


def topic(name=TOPIC, **counts):
    """A topic with so many read queues on each broker."""
    return Topic(
        name, tuple(TopicBroker(broker, n) for broker, n in (counts or {"a": 4, "b": 4}).items())
    )


def group(*clients, name="g", **fields):
    """A group of clients, which may be given by id alone."""
    made = tuple(one if isinstance(one, Client) else Client(one) for one in clients)
    return Group(name, **{"subscriptions": (TOPIC,), "clients": made, "strategy": "AVG"} | fields)


def snapshot(*groups, topics=None, errors=()):
    return Snapshot((topic(),) if topics is None else topics, groups, errors)


def queues(ids, broker="a", name=TOPIC):
    return tuple(MessageQueue(name, broker, i) for i in ids)


def of_rule(findings, rule):
    """The findings of one rule."""
    return [one for one in findings if one.rule == rule]


def only(findings, rule):
    """The one finding of a rule."""
    (one,) = of_rule(findings, rule)
    return one


# --- The twin ---


def own_strategy(group, client):
    """What a client divides by, made as the strategies' own face makes it."""
    name = client.strategy or group.strategy
    params = dict(group.strategy_params) if name == group.strategy else {}
    nodes = client.virtual_nodes if client.virtual_nodes is not None else agreed_nodes(group)
    if name == "CONSISTENT_HASH" and nodes is not None:
        params["virtual_nodes"] = nodes
    return strategy(name, **params)


def agreed_nodes(group):
    """The one number of virtual nodes that clients report, where the group's ring is known from its
    clients alone.
    """
    reported = {client.virtual_nodes for client in group.clients} - {None}
    is_reported = (
        all(client.strategy == group.strategy for client in group.clients)
        and not group.strategy_params
    )
    return min(reported) if is_reported and len(reported) == 1 else None


def seen(client, topic):
    """The queues of a topic as a client sees them."""
    counts = (client.sees_read_queue_nums or {}).get(topic.name)
    if counts is None:
        return sort_queues(topic.queues())
    return sort_queues(
        MessageQueue(topic.name, broker, n)
        for broker, count in counts.items()
        for n in range(count)
    )


def share(group, client, topic, client_ids):
    """What one client takes if it is given that client list."""
    if client.subscriptions is not None and topic.name not in client.subscriptions:
        return set()
    mq_all, ids = seen(client, topic), sort_client_ids(client_ids)
    if not mq_all or not client.client_id or client.client_id not in ids:
        return set()
    return set(own_strategy(group, client).allocate(group.name, client.client_id, mq_all, ids))


def takers(group, topic):
    """How many clients take each queue."""
    shares = [share(group, client, topic, group.client_ids) for client in group.clients]
    return {queue: sum(queue in one for one in shares) for queue in sort_queues(topic.queues())}


def with_owned(group, topics):
    """The group whose clients own what their strategy gives them."""
    clients = []
    for client in group.clients:
        owned = [
            queue for topic in topics for queue in share(group, client, topic, group.client_ids)
        ]
        fields = {name: getattr(client, name) for name in Client.__slots__}
        clients.append(Client(**fields | {"owned": tuple(sort_queues(owned))}))
    return Group(
        group.name,
        group.subscriptions,
        tuple(clients),
        strategy=group.strategy,
        strategy_params=group.strategy_params,
    )


# --- Random snapshots ---

NAMES = ("AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH")
counts = st.dictionaries(st.sampled_from("abc"), st.integers(0, 6), min_size=1, max_size=3)
topics = counts.map(
    lambda n: Topic(TOPIC, tuple(TopicBroker(broker, k) for broker, k in n.items()))
)
ids = st.sampled_from(["c1", "c2", "c3", "c4", "c10", "c1@x", "\U0001f600", "\uffff"])
odd_clients = st.builds(
    Client,
    ids,
    strategy=st.none() | st.sampled_from(NAMES),
    virtual_nodes=st.none() | st.integers(0, 20),
    subscriptions=st.none() | st.just((TOPIC,)) | st.just(("other",)),
    sees_read_queue_nums=st.none() | counts.map(lambda n: {TOPIC: n}),
)
odd_groups = st.builds(
    Group,
    st.just("g"),
    st.just((TOPIC,)),
    st.lists(odd_clients, min_size=1, max_size=6).map(tuple),
    strategy=st.sampled_from(NAMES),
)
plain_clients = st.lists(ids, min_size=1, max_size=6, unique=True).map(
    lambda names: tuple(map(Client, names))
)
plain_groups = st.builds(
    Group, st.just("g"), st.just((TOPIC,)), plain_clients, strategy=st.sampled_from(NAMES)
)
