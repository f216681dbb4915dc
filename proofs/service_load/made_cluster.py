"""A made snapshot: groups of 16 queues and 4 clients that say what they own, with lags; some of
them wrong.
"""

import random

from rmqalloc.model import MessageQueue
from rmqalloc.snapshot.snapshot import Broker, Client, Group, Lag, Snapshot, Topic, TopicBroker

BROKERS = tuple(f"broker-{letter}" for letter in "abcd")
QUEUES_EACH, CLIENTS = 4, 4


def made_cluster(n_groups, seed=1):
    """A snapshot of so many groups, each on a topic of its own."""
    rng = random.Random(seed)
    topics = tuple(
        Topic(f"topic-{i}", tuple(TopicBroker(one, QUEUES_EACH) for one in BROKERS))
        for i in range(n_groups)
    )
    groups = tuple(_group(rng, i) for i in range(n_groups))
    brokers = tuple(Broker(name, f"10.0.9.{i}:10911") for i, name in enumerate(BROKERS))
    return Snapshot(topics, groups, brokers=brokers)


def _group(rng, i):
    topic = f"topic-{i}"
    queues = [MessageQueue(topic, broker, n) for broker in BROKERS for n in range(QUEUES_EACH)]
    share = len(queues) // CLIENTS
    lacks = rng.random() < 0.05  # one that has not taken a queue
    clients = tuple(
        Client(
            f"10.{i >> 8}.{i & 255}.{n}@{1000 + n}",
            owned=tuple(queues[n * share : (n + 1) * share - (lacks and n == 0)]),
        )
        for n in range(CLIENTS)
    )
    lags = tuple(Lag(queue, rng.randrange(1000), 0) for queue in queues)
    return Group(
        f"group-{i}", (topic,), clients, strategy="AVG", strategy_source="given", lags=lags
    )
