"""Real brokers and Java consumers: what they own, what a snapshot shows, and what the engine
answers are the same.
"""

import os
from typing import Any, NamedTuple

import pytest
from live_consumers import Consumers
from live_proofs import Shares, allocated, assigned, everything, make_topic, settled

from rmqalloc import strategy

pytestmark = [pytest.mark.cluster, pytest.mark.java]

IS_LONG = bool(os.environ.get("RMQALLOC_LIVE_LONG"))
QUEUES = 8
TOPICS = ("orders", "payments")


def room_of_broker(queue):
    return queue.broker_name.partition("@")[0]


def room_of_client(client_id):
    return client_id.split("@")[1].partition("-")[0]


def nearby(inner):
    return assigned(
        strategy(
            "MACHINE_ROOM_NEARBY",
            inner=inner,
            broker_room=room_of_broker,
            client_room=room_of_client,
        )
    )


CONFIGURED = {
    name: [["orders", "hz@broker-a", i], ["orders", "sh@broker-b", i + 1]]
    for i, name in enumerate("abcde")
}
"""Lists for CONFIG; neighbours share a queue of no one, and 'e' of 8 queues still has queue 5."""


def configured(client_id):
    from rmqalloc import MessageQueue

    return strategy(
        "CONFIG", message_queues=[MessageQueue(*one) for one in CONFIGURED[client_id[-1]]]
    )


class Case(NamedTuple):
    """A rule as Java is told it, and as the engine has it."""

    told: dict[str, Any]
    shares: Shares


AVG = {"strategy": "AVG"}
RING = {"strategy": "CONSISTENT_HASH"}
CASES = {
    "avg": Case(AVG, assigned(strategy("AVG"))),
    "circle": Case({"strategy": "AVG_BY_CIRCLE"}, assigned(strategy("AVG_BY_CIRCLE"))),
    "ring": Case(RING, assigned(strategy("CONSISTENT_HASH"))),
    "config": Case({"strategy": "CONFIG"}, allocated(configured)),
    "room": Case(
        {"strategy": "MACHINE_ROOM", "machine_rooms": ["hz"]},
        assigned(strategy("MACHINE_ROOM", machine_rooms={"hz"})),
    ),
    "nearby": Case({"strategy": "MACHINE_ROOM_NEARBY"}, nearby(strategy("AVG"))),
    "ordered": Case(AVG | {"orderly": True}, assigned(strategy("AVG"))),
    "pull": Case(AVG | {"kind": "lite_pull"}, assigned(strategy("AVG"))),
    "broadcast": Case(AVG | {"broadcasting": True}, everything),
}
LONG_CASES = {
    "ring160": Case(
        RING | {"virtual_nodes": 160}, assigned(strategy("CONSISTENT_HASH", virtual_nodes=160))
    ),
    "nearbyring": Case(
        {"strategy": "MACHINE_ROOM_NEARBY", "inner": "CONSISTENT_HASH"},
        nearby(strategy("CONSISTENT_HASH")),
    ),
    "pullring": Case(RING | {"kind": "lite_pull"}, assigned(strategy("CONSISTENT_HASH"))),
    "orderedring": Case(RING | {"orderly": True}, assigned(strategy("CONSISTENT_HASH"))),
    "broadcastpull": Case(AVG | {"kind": "lite_pull", "broadcasting": True}, everything),
}


@pytest.fixture(scope="module", autouse=True)
def topics(cluster, java):
    for topic in TOPICS:
        make_topic(cluster, java, topic, QUEUES)


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("group", CASES | LONG_CASES if IS_LONG else CASES)
def test_owners_as_clients_join_leave_and_die(cluster, java, tally, group):
    told, shares = (CASES | LONG_CASES)[group]

    def join(process, member):
        config = {"message_queues": CONFIGURED[member[-1]]} if group == "config" else {}
        process.join(group, member, TOPICS, **told, **config)

    def look(processes, n_clients):
        settled(cluster, processes, group, n_clients, shares, tally)

    join(java, "hz-a")
    look([java], 1)
    join(java, "sh-b")
    look([java], 2)
    with Consumers(cluster.name_server) as doomed:
        join(doomed, "hz-c")
        join(doomed, "sh-d")
        look([java, doomed], 4)
        java.leave(group, "hz-a")
        look([java, doomed], 3)
        doomed.kill()
    look([java], 1)
    join(java, "hz-e")
    look([java], 2)
    java.leave_all()
