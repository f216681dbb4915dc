"""What the frames of the files say: requests of a member, and answers and notices that reach it, in
RocketMQ's own names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

Content = Mapping[str, Any]


class Specimen(NamedTuple):
    """A frame by what it says.

    Attributes
    ----------
    name : str
        What it is.
    kind : str
        ``request``, ``oneway`` or ``answer``.
    code : int
        Request code, or response code of an answer.
    header, body_class : str or None
        Java classes, without the package that differs by release.
    fields : mapping
        Content of the header.
    body : object
        Content of the body.
    remark : str or None
        Text beside an error.
    """

    name: str
    kind: str
    code: int
    header: str | None = None
    fields: Content = {}  # noqa: RUF012 (never changed)
    body_class: str | None = None
    body: Any = None
    remark: str | None = None


GROUP, CLIENT, OTHER = "order-svc", "10.0.0.1@4121#99", "10.0.0.2@3982#7"
SUBSCRIPTION = {
    "topic": "orders",
    "subString": "paid || open",
    "subVersion": 1_700_000_000_123,
    "expressionType": "TAG",
    "classFilterMode": False,
    "tagsSet": ["open", "paid"],
    "codeSet": [3417674, 3433164],
}
ALL = SUBSCRIPTION | {"topic": "%RETRY%order-svc", "subString": "*", "tagsSet": [], "codeSet": []}
OF_QUEUE = {"topic": "orders", "queueId": 3}


def queue(queue_id: int, broker_name: str = "broker-a", topic: str = "orders") -> dict[str, Any]:
    """Return a queue as JSON has it."""
    return {"topic": topic, "brokerName": broker_name, "queueId": queue_id}


def _heartbeats() -> Iterator[Specimen]:
    consumer = {
        "groupName": GROUP,
        "consumeType": "CONSUME_PASSIVELY",
        "messageModel": "CLUSTERING",
        "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET",
        "unitMode": False,
        "subscriptionDataSet": [SUBSCRIPTION],
    }
    first = {"clientID": CLIENT, "producerDataSet": [], "consumerDataSet": [consumer]}
    retry = first | {
        "consumerDataSet": [
            consumer | {"consumeType": "CONSUME_ACTIVELY", "subscriptionDataSet": [ALL]}
        ]
    }
    heart = "heartbeat.HeartbeatData"
    yield Specimen("heartbeat", "request", 34, body_class=heart, body=first)
    yield Specimen("heartbeat-pull", "request", 34, body_class=heart, body=retry)
    yield Specimen("heartbeat-answer", "answer", 0)
    yield Specimen(
        "unregister",
        "request",
        35,
        "header.UnregisterClientRequestHeader",
        {"clientID": CLIENT, "consumerGroup": GROUP},
    )
    yield Specimen(
        "notice",
        "oneway",
        40,
        "header.NotifyConsumerIdsChangedRequestHeader",
        {"consumerGroup": GROUP},
    )


def _groups() -> Iterator[Specimen]:
    listed = "header.GetConsumerListByGroupRe"
    yield Specimen("client-ids", "request", 38, f"{listed}questHeader", {"consumerGroup": GROUP})
    for name, ids in (("two", [CLIENT, OTHER]), ("none", []), ("odd", ["é中😀@1", 'a"b\\c', ""])):
        body = {"consumerIdList": ids}
        yield Specimen(
            f"client-ids-answer-{name}", "answer", 0, None, {}, f"{listed}sponseBody", body
        )
    remark = "no consumer for this group"
    yield Specimen("client-ids-answer-error", "answer", 1, remark=remark)


def _locks() -> Iterator[Specimen]:
    queues = [queue(0), queue(1), queue(0, "broker-b")]
    asked = {"consumerGroup": GROUP, "clientId": CLIENT, "mqSet": queues}
    yield Specimen("lock", "request", 41, body_class="body.LockBatchRequestBody", body=asked)
    held = {"lockOKMQSet": queues[:2]}
    yield Specimen("lock-answer", "answer", 0, body_class="body.LockBatchResponseBody", body=held)
    yield Specimen(
        "lock-answer-none",
        "answer",
        0,
        body_class="body.LockBatchResponseBody",
        body={"lockOKMQSet": []},
    )
    yield Specimen("unlock", "request", 42, body_class="body.UnlockBatchRequestBody", body=asked)
    yield Specimen(
        "unlock-oneway", "oneway", 42, body_class="body.UnlockBatchRequestBody", body=asked
    )


def _offsets() -> Iterator[Specimen]:
    of_group = {"consumerGroup": GROUP, **OF_QUEUE}
    yield Specimen(
        "query-offset", "request", 14, "header.QueryConsumerOffsetRequestHeader", of_group
    )
    yield Specimen(
        "query-offset-answer",
        "answer",
        0,
        "header.QueryConsumerOffsetResponseHeader",
        {"offset": 10**12},
    )
    yield Specimen(
        "query-offset-not-found",
        "answer",
        22,
        remark="Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first",
    )
    commit = of_group | {"commitOffset": 41}
    yield Specimen(
        "update-offset", "oneway", 15, "header.UpdateConsumerOffsetRequestHeader", commit
    )
    yield Specimen("max-offset", "request", 30, "header.GetMaxOffsetRequestHeader", OF_QUEUE)
    yield Specimen(
        "max-offset-answer", "answer", 0, "header.GetMaxOffsetResponseHeader", {"offset": 0}
    )
    search = OF_QUEUE | {"timestamp": 1_700_000_000_000}
    yield Specimen("search-offset", "request", 29, "header.SearchOffsetRequestHeader", search)
    yield Specimen(
        "search-offset-answer", "answer", 0, "header.SearchOffsetResponseHeader", {"offset": 77}
    )


def _routes() -> Iterator[Specimen]:
    data = {
        "brokerName": "broker-a",
        "readQueueNums": 4,
        "writeQueueNums": 8,
        "perm": 6,
        "topicSysFlag": 0,
    }
    other = data | {"brokerName": "broker-b", "perm": 4}
    addresses = {"0": "10.0.0.1:10911", "1": "10.0.0.2:10911"}
    brokers = [
        {"brokerName": "broker-a", "cluster": "c", "brokerAddrs": addresses},
        {"brokerName": "broker-b", "cluster": "c", "brokerAddrs": {"1": "10.0.0.3:10911"}},
    ]
    route = {"queueDatas": [data, other], "brokerDatas": brokers, "filterServerTable": {}}
    yield Specimen(
        "route", "request", 105, "header.namesrv.GetRouteInfoRequestHeader", {"topic": "orders"}
    )
    yield Specimen("route-answer", "answer", 0, body_class="route.TopicRouteData", body=route)
    yield Specimen(
        "route-not-found",
        "answer",
        17,
        remark="No topic route info in name server for the topic: orders",
    )


def _assignments() -> Iterator[Specimen]:
    asked = {
        "topic": "orders",
        "consumerGroup": GROUP,
        "clientId": CLIENT,
        "strategyName": "AVG",
        "messageModel": "CLUSTERING",
    }
    yield Specimen(
        "assignment", "request", 400, body_class="body.QueryAssignmentRequestBody", body=asked
    )
    found = [
        {"messageQueue": queue(2), "mode": "PULL"},
        {"messageQueue": queue(-1, "broker-b"), "mode": "POP"},
    ]
    for name, one in (("pull-and-pop", found), ("none", [])):
        body = {"messageQueueAssignments": one}
        yield Specimen(
            f"assignment-answer-{name}",
            "answer",
            0,
            None,
            {},
            "body.QueryAssignmentResponseBody",
            body,
        )


def _pulls() -> Iterator[Specimen]:
    pull = {
        "consumerGroup": GROUP,
        "queueOffset": 40,
        "maxMsgNums": 32,
        "sysFlag": 3,
        "commitOffset": 38,
        "suspendTimeoutMillis": 15_000,
        "subVersion": 1_700_000_000_123,
        "expressionType": "TAG",
        **OF_QUEUE,
    }
    yield Specimen("pull", "request", 11, "header.PullMessageRequestHeader", pull)
    answer = {"suggestWhichBrokerId": 0, "nextBeginOffset": 42, "minOffset": 0, "maxOffset": 50}
    message = {
        "topic": "orders",
        "body": "é one",
        "properties": {
            "TAGS": "paid",
            "KEYS": "k1 k2",
            "UNIQ_KEY": "0A000009000118B4AAC2000000000000",
        },
        "queueId": 3,
        "queueOffset": 40,
        "commitLogOffset": 4_096,
        "reconsumeTimes": 0,
        "bornTimestamp": 1_700_000_000_100,
        "storeTimestamp": 1_700_000_000_101,
    }
    messages = [
        message,
        message | {"body": "two", "queueOffset": 41, "commitLogOffset": 4_352, "reconsumeTimes": 2},
    ]
    header = "header.PullMessageResponseHeader"
    yield Specimen("pull-answer", "answer", 0, header, answer, "messages", messages)
    empty = answer | {"nextBeginOffset": 50}
    yield Specimen(
        "pull-answer-nothing-new", "answer", 19, header, empty, remark="NO_MATCHED_LOGIC_QUEUE"
    )
    yield Specimen("pull-answer-moved", "answer", 21, header, answer | {"minOffset": 42})


BEFORE_5 = tuple(
    one for group in (_heartbeats, _groups, _locks, _offsets, _routes, _pulls) for one in group()
)
"""What all releases have."""

SPECIMENS = {"4.9.8": BEFORE_5, "5.5.0": (*BEFORE_5, *_assignments())}
"""By the release whose classes make the frames."""
