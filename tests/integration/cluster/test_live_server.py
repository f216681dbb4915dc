"""Queues that brokers assign (code 400), pulled and popped: the real broker, its Java clients and
our broker half.
"""

import asyncio
import json

import pytest
from little_cluster import VirtualClock
from live_proofs import make_topic, settled

from rmqalloc import MessageQueue, strategy
from rmqalloc.broker._query_assignment import (
    BrokerRouteViews,
    QueryAssignment,
    RequestMode,
    RequestModes,
)
from rmqalloc.remoting import MessageModel, MessageRequestMode, QueueData, TopicRouteData
from rmqalloc.remoting.client import Remote
from rmqalloc.remoting.read_codes import ReadCode

pytestmark = [pytest.mark.cluster, pytest.mark.java]

GROUP, TOPIC, QUEUES = "served", "served-orders", 6
PULL, POP = MessageRequestMode.PULL, MessageRequestMode.POP
MODES = [
    RequestMode(PULL),
    RequestMode(POP, -1),
    RequestMode(POP, 1),
    RequestMode(POP, 0),
    RequestMode(POP, 7),
]
STRATEGIES = ("AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH")


def shares_of(mode):
    """By AVG; what is popped is shared, and retry topics are always pulled."""
    rule = strategy("AVG")
    pop = strategy("POP", inner=rule, pop_share_queue_num=mode.pop_share_queue_num)

    def shares(queues, client_ids):
        by = pop if mode.mode is POP and not queues[0].topic.startswith("%RETRY%") else rule
        return {one: by.allocate(GROUP, one, queues, client_ids) for one in client_ids}

    return shares


async def asked(cluster, snapshot):
    """What every broker answers for every client, topic and strategy; and the client ids it knows."""
    (group,) = snapshot.groups
    async with Remote([cluster.name_server]) as remote:
        found = {}
        for name, address in cluster.brokers.items():
            listed, _ = await remote.ask(
                address, ReadCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": GROUP}
            )
            for topic in group.subscriptions:
                for one in group.client_ids:
                    for rule in STRATEGIES:
                        content = {
                            "topic": topic,
                            "consumerGroup": GROUP,
                            "clientId": one,
                            "strategyName": rule,
                        }
                        body = json.dumps(content | {"messageModel": "CLUSTERING"}).encode()
                        answer, _ = await remote.ask(address, ReadCode.QUERY_ASSIGNMENT, {}, body)
                        found[name, topic, one, rule] = (
                            assignments_in(answer),
                            listed["consumerIdList"],
                        )
        return found


def assignments_in(answer):
    given = (answer or {}).get("messageQueueAssignments")
    if given is None:
        return None
    queues = [(one["messageQueue"], one["mode"]) for one in given]
    return sorted(
        (MessageQueue(q["topic"], q["brokerName"], q["queueId"]), mode) for q, mode in queues
    )


def ours(snapshot, mode, broker, topic, client_id, rule, listed):
    def route(name):
        brokers = snapshot.topic(name).brokers
        return TopicRouteData(
            tuple(QueueData(b.broker_name, b.read_queue_nums, b.write_queue_nums) for b in brokers)
        )

    modes = RequestModes()
    modes.set(TOPIC, GROUP, mode)
    half = QueryAssignment(
        broker, modes, BrokerRouteViews(VirtualClock(), route), lambda _group: list(listed)
    )
    given = half.query(topic, GROUP, client_id, rule, MessageModel.CLUSTERING)
    return None if given is None else sorted((one.queue, one.mode.name) for one in given)


def test_assignments_of_real_brokers_are_those_of_our_broker_half(cluster, java, tally):
    make_topic(cluster, java, TOPIC, QUEUES)
    for member in ("s-1", "s-2", "s-3", "s-4"):
        java.join(GROUP, member, [TOPIC], strategy="AVG", server_assignment=True)
    for mode in MODES:
        for address in cluster.brokers.values():
            told = {"topic": TOPIC, "group": GROUP, "broker": address, "mode": mode.mode.name}
            java.do("mode", share=mode.pop_share_queue_num, **told)
        snapshot = settled(cluster, [java], GROUP, 4, shares_of(mode), tally)
        assert snapshot.groups[0].server_assignment == mode.mode.name
        for (broker, topic, one, rule), (real, listed) in asyncio.run(
            asked(cluster, snapshot)
        ).items():
            assert ours(snapshot, mode, broker, topic, one, rule, listed) == real, (
                mode,
                broker,
                topic,
                one,
                rule,
            )
            tally.add(
                "queues as brokers assign (code 400) and our broker half answers", len(real or ())
            )
    java.leave_all()
