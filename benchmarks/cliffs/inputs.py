"""Snapshots of the shapes that are worst for one verb or another; `n` is what is doubled."""

from dataclasses import replace
from typing import Any

from rmqalloc.model import MessageQueue
from rmqalloc.snapshot.snapshot import Broker, Client, Group, Lag, Snapshot, Topic, TopicBroker


def topics(n: int, n_queues: int = 4) -> tuple[Topic, ...]:
    """Topics on one broker."""
    return tuple(Topic(f"topic-{i:06}", (TopicBroker("broker-a", n_queues),)) for i in range(n))


def client_id(number: int) -> str:
    """A client id as RocketMQ spells them."""
    return f"10.1.{number // 250}.{number % 250}@{number * 7919 % 99991}#{number * 104729}"


def clients(n: int) -> tuple[Client, ...]:
    """Clients of which nothing is known but their ids."""
    return tuple(Client(client_id(i)) for i in range(n))


def plain(n: int) -> Snapshot:
    """One group of `n` clients on one topic of 1,000 queues."""
    routes = topics(1, 1000)
    return Snapshot(
        routes,
        (Group("g", (routes[0].name,), clients(n), strategy="AVG", strategy_source="given"),),
    )


def ring(n: int) -> Snapshot:
    """The same group on a ring."""
    made = plain(n)
    params = {"virtual_nodes": 10}
    groups = (
        replace(one, strategy="CONSISTENT_HASH", strategy_params=params) for one in made.groups
    )
    return replace(made, groups=tuple(groups))


def own_topics(n: int) -> Snapshot:
    """One group of `n` clients and `n` topics, every client subscribing to a topic of its own."""
    routes = topics(n)
    mixed = tuple(
        Client(client_id(i), subscriptions=(topic.name,)) for i, topic in enumerate(routes)
    )
    names = tuple(topic.name for topic in routes)
    return Snapshot(routes, (Group("g", names, mixed, strategy="AVG", strategy_source="given"),))


def many_groups(n: int) -> Snapshot:
    """`n` groups of two clients on topics of their own, each with another number of virtual nodes."""
    routes = topics(n)
    groups = tuple(
        Group(
            f"group-{i:06}",
            (topic.name,),
            (Client(client_id(2 * i)), Client(client_id(2 * i + 1))),
            strategy="CONSISTENT_HASH",
            strategy_params={"virtual_nodes": 1 + i % 997},
            strategy_source="given",
        )
        for i, topic in enumerate(routes)
    )
    return Snapshot(routes, groups)


def one_group(n: int) -> Snapshot:
    """One group of two clients on `n` topics, with a backlog in a queue of each that is not in its
    route.
    """
    routes = topics(n)
    lags = tuple(Lag(MessageQueue(topic.name, "broker-a", 7), 100, 0) for topic in routes)
    names = tuple(topic.name for topic in routes)
    return Snapshot(
        routes, (Group("g", names, clients(2), strategy="AVG", strategy_source="given", lags=lags),)
    )


def one_topic(n: int) -> Snapshot:
    """`n` groups of two clients on one topic."""
    [route] = topics(1, 16)
    groups = tuple(
        Group(f"group-{i:06}", (route.name,), clients(2), strategy="AVG", strategy_source="given")
        for i in range(n)
    )
    return Snapshot((route,), groups)


def odd_clients(n: int) -> Snapshot:
    """One group of `n` clients, each with a release and a route of its own, that own queues which
    are not there.
    """
    [route] = topics(1, 1000)
    odd = tuple(
        Client(
            client_id(i),
            version=f"{i}.0",
            owned=(MessageQueue(route.name, f"gone-{i}", 0),),
            sees_read_queue_nums={route.name: {"broker-a": i % 7}},
        )
        for i in range(n)
    )
    return Snapshot(
        (route,), (Group("g", (route.name,), odd, strategy="AVG", strategy_source="given"),)
    )


def listed(n: int) -> Snapshot:
    """One group of `n` clients by CONFIG, each with the queues of a topic of its own."""
    routes = topics(n)
    lists = {
        client_id(i): [list(queue) for queue in topic.queues()] for i, topic in enumerate(routes)
    }
    group = Group(
        "g",
        tuple(topic.name for topic in routes),
        clients(n),
        strategy="CONFIG",
        strategy_params={"message_queues": lists},
        strategy_source="given",
    )
    return Snapshot(routes, (group,))


def slaves(n: int) -> Snapshot:
    """One group on a topic of `n` brokers of which a slave alone is left."""
    route = Topic("topic", tuple(TopicBroker(f"broker-{i:06}", 2) for i in range(n)))
    brokers = tuple(Broker(one.broker_name, "h:1", "SLAVE") for one in route.brokers)
    group = Group("g", (route.name,), clients(2), strategy="AVG", strategy_source="given")
    return Snapshot((route,), (group,), brokers=brokers)


def twice(n: int) -> Snapshot:
    """One group of `n` clients by AVG on one topic of 1,000 queues, every id given twice."""
    routes = topics(1, 1000)
    names = (routes[0].name,)
    return Snapshot(
        routes, (Group("g", names, clients(n // 2) * 2, strategy="AVG", strategy_source="given"),)
    )


def nearby(n: int) -> Snapshot:
    """One group of `n` clients in four machine rooms, every id given twice, on one topic of 1,000
    queues in these rooms.
    """
    rooms = [f"room-{i}" for i in range(4)]
    route = Topic(
        "topic", tuple(TopicBroker(f"broker-{room}", 250, machine_room=room) for room in rooms)
    )
    ids = (
        tuple(replace(one, machine_room=rooms[i % 4]) for i, one in enumerate(clients(n // 2))) * 2
    )
    group = Group(
        "g", (route.name,), ids, strategy="MACHINE_ROOM_NEARBY-AVG", strategy_source="given"
    )
    return Snapshot((route,), (group,))


def square(n: int) -> Snapshot:
    """One group of `n` clients on `n` topics, of whose clients it is not known what they subscribe
    to.
    """
    routes = topics(n)
    names = tuple(topic.name for topic in routes)
    return Snapshot(
        routes, (Group("g", names, clients(n), strategy="AVG", strategy_source="given"),)
    )


def silent(n: int) -> Snapshot:
    """One group of `n` clients on one topic of `n` queues, of which every other one reports a queue
    that another one has.
    """
    routes = topics(1, n)
    ids = sorted(client_id(i) for i in range(n))
    queues = list(routes[0].queues())
    odd = tuple(Client(one, owned=(queues[i - 1],) if i % 2 else None) for i, one in enumerate(ids))
    return Snapshot(
        routes, (Group("g", (routes[0].name,), odd, strategy="AVG", strategy_source="given"),)
    )


def paused(n: int) -> Snapshot:
    """One group on a topic of `n` brokers, all of which pause it."""
    made = many_brokers(n)
    names = tuple(one.broker_name for one in made.topics[0].brokers)
    brokers = tuple(Broker(name, f"h{i}:1") for i, name in enumerate(names))
    return replace(made, groups=(replace(made.groups[0], paused_brokers=names),), brokers=brokers)


def repeated(n: int) -> Snapshot:
    """One group of `n` clients on a ring, every id given twice."""
    routes = topics(1, 8)
    ids = clients(n // 2) * 2
    params = {"virtual_nodes": 10}
    group = Group("g", (routes[0].name,), ids, strategy="CONSISTENT_HASH", strategy_params=params)
    return Snapshot(routes, (group,))


def many_brokers(n: int) -> Snapshot:
    """One group of four clients on a topic of `n` brokers, with a lag of every queue, of which none
    waits.
    """
    route = Topic("topic", tuple(TopicBroker(f"broker-{i:06}", 4) for i in range(n)))
    lags = tuple(Lag(queue, 5, 5) for queue in route.queues())
    return Snapshot(
        (route,),
        (
            Group(
                "g", (route.name,), clients(4), strategy="AVG", strategy_source="given", lags=lags
            ),
        ),
    )


def script(n: int) -> dict[str, Any]:
    """A simulation of one group of `n` clients."""
    return {
        "duration": "3m",
        "brokers": ["broker-a"],
        "topics": [{"name": "topic", "read_queue_nums": 16}],
        "groups": [{"name": "g", "topics": "topic", "clients": n, "start_every": "1s"}],
    }
