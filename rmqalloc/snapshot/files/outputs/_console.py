"""Answers of RocketMQ Console, since 2021 RocketMQ Dashboard, and what each of them states.

The console answers with JSON, ``{"status": 0, "data": ..., "errMsg": null}``. Its data are objects
of its own (``GroupConsumeInfo``, ``TopicConsumerInfo``) or RocketMQ's, as Jackson writes them: a
queue that is a key is the text ``MessageQueue [topic=orders, brokerName=broker-a, queueId=0]``. An
answer is recognised by its keys, in any order, and also without its envelope (``jq .data``). The
forms are those of rocketmq-console-ng 1.0.0 to RocketMQ Dashboard 2.1.0.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from sys import maxsize
from typing import Any, NamedTuple

from rmqalloc.model import RETRY_PREFIX, MessageQueue
from rmqalloc.remoting.body_fields import (
    INT,
    LONG,
    AnswerError,
    list_of,
    object_of,
    shown,
    text_of,
    whole_of,
)
from rmqalloc.remoting.loose_json import Pairs
from rmqalloc.snapshot.files.outputs import _mqadmin_tables as tables
from rmqalloc.snapshot.files.outputs._mqadmin_tables import (
    ClientFile,
    Connected,
    ListedGroup,
    Progress,
)
from rmqalloc.snapshot.files.outputs._sections import Section
from rmqalloc.snapshot.live import _answers as answers
from rmqalloc.snapshot.snapshot import Lag
from rmqalloc.text import printable, shortened

ROUTE, ALLOCATION = "route", "allocation"
"""Kinds of JSON that mqadmin prints, too."""
CONNECTIONS = "console connections"
PROGRESS, PROGRESS_OF_GROUPS = "console progress", "console progress of groups"
GROUPS, RUNNING_INFO = "console groups", "console running info"
ERROR, OTHER = "an error of the console", "other JSON"

_KIND_OF_KEY = {
    "queueDatas": ROUTE,
    "result": ALLOCATION,
    "connectionSet": CONNECTIONS,
    "mqTable": RUNNING_INFO,
    "queueStatInfoList": PROGRESS,
    "diffTotal": GROUPS,
}
"""Kinds by a key that no other kind has; ``queueStatInfoList`` comes before ``diffTotal``, which
both kinds have.
"""
_KIND_OF_QUERY = {"queryTopicByConsumer": PROGRESS, "groupList": GROUPS}
"""Kinds of answers that may be empty lists."""
_QUERY_OF_KEY = {
    "offsetTable": "topic/stats.query",
    "topicList": "topic/list.query",
    "groupList": "topic/queryTopicConsumerInfo.query",
    "brokerServer": "cluster/list.query",
    "subscriptionGroupConfig": "consumer/examineSubscriptionGroupConfig.query",
}
"""Answers that are not read, by a key that they have."""

_QUEUE = re.compile(r"MessageQueue \[topic=([^,]*+), brokerName=(.*), queueId=(-?[0-9]{1,10})\]")
_OF_SYSTEM = "%SYS%"
_ONE_BROKER = (
    "queryTopicByConsumer shows one broker; the remaining brokers may not have been queried"
)


def classified(found: Sequence[Section]) -> list[Section]:
    """Return sections, of those of JSON with the content and the kind that the content has."""
    kinds = [_of_json(section) if section.kind == "json" else section for section in found]
    counts = Counter((id(section.asked), section.kind) for section in kinds)
    return [replace(part, n_alike=counts[id(part.asked), part.kind]) for part in kinds]


def _of_json(section: Section) -> Section:
    kind, content = _kind_of(tables.json_content(section), section.asked.command)
    return replace(section, kind=kind, content=content)


def _kind_of(content: Any, command: str | None) -> tuple[str, Any]:
    """Return the kind of an answer, and what is in its envelope."""
    if isinstance(content, dict) and "status" in content:
        if content["status"] != 0 or content.get("errMsg"):
            return ERROR, content
        content = content.get("data")
    first: Any = content
    if isinstance(content, list) and content:
        first = content[0]
    if not content:
        return _KIND_OF_QUERY.get((command or "").removesuffix(".query"), OTHER), content
    if not isinstance(first, dict):
        return OTHER, content
    kind = next((kind for key, kind in _KIND_OF_KEY.items() if key in first), OTHER)
    if kind == OTHER and first is content and all(map(_is_progress, first.values())):
        return PROGRESS_OF_GROUPS, content
    if first is not content and kind not in (PROGRESS, GROUPS):
        return OTHER, content
    return kind, content


def _is_progress(value: Any) -> bool:
    return isinstance(value, dict) and "queueStatInfoList" in value


def refusal(section: Section) -> str:
    """Return why an answer is not read: its error, or which answer it is."""
    content = section.content
    if section.kind == ERROR:
        said = content.get("errMsg") or content.get("error") or f"status {shown(content['status'])}"
        words = said if isinstance(said, str) else shown(said)
        return f"this is an error of RocketMQ Console: {printable(shortened(words, 300))}"
    first = content[0] if isinstance(content, list) and content else content
    keys = first if isinstance(first, dict) else {}
    query = next((query for key, query in _QUERY_OF_KEY.items() if key in keys), None)
    if query is not None:
        return (
            f"this is the answer of RocketMQ Console to {query}, which is not read; topic/route.query shows the queues "
            "of a topic, consumer/queryTopicByConsumer.query the offsets of a group"
        )
    return (
        "JSON of neither topicRoute (queueDatas), allocateMQ (result) nor an answer of RocketMQ Console that is read"
        f"{'' if content else ': it is empty'}"
    )


# --- Lists of groups, clients ---


def groups(section: Section) -> list[ListedGroup]:
    """Return the answer to ``groupList.query`` or ``group.query``."""
    content = section.content
    rows = content if isinstance(content, list) else [content]
    return [_group(section, object_of(row, "group")) for row in list_of(rows, "groups")]


def _group(section: Section, row: Mapping[str, Any]) -> ListedGroup:
    model = row.get("messageModel")
    return ListedGroup(
        text_of(row.get("group"), "group").removeprefix(_OF_SYSTEM),
        whole_of(row.get("count") or 0, 0, INT),
        None if model is None else text_of(model, "messageModel"),
        whole_of(row.get("consumeTps") or 0, -INT, INT),
        whole_of(row.get("diffTotal"), -LONG, LONG),
        False,
        section.place(),
        "groupList",
        "having count 0",
    )


def connections(section: Section) -> Connected:
    """Return the answer to ``consumerConnection.query``."""
    found = answers.connections(section.content)
    return Connected(
        list(found.connections),
        sorted(found.subscriptions),
        found.message_model if section.content.get("messageModel") else None,
        section.place(),
        is_lite=found.is_lite,
    )


def running_info(section: Section) -> ClientFile:
    """Return the answer to ``consumerRunningInfo.query``."""
    content = dict(object_of(section.content, "running info"))
    for name in ("mqTable", "mqPopTable"):
        if content.get(name) is not None:
            content[name] = _by_queue(object_of(content[name], name))
    info = answers.running_info(content)
    given = object_of(content.get("properties") or {}, "properties")
    properties = {name: value for name, value in given.items() if isinstance(value, str)}
    wrong = {}
    if not info.client_rebalance and "mqPopTable" not in content:
        wrong["owners"] = (
            "brokers assign its queues, and this console does not show those that it pops"
        )
        info = info._replace(owned=None)
    return ClientFile(properties, info, wrong)


def _by_queue(table: Mapping[str, Any]) -> Pairs:
    """Return a table whose keys are message queues as RocketMQ's own JSON has it."""
    pairs = Pairs()
    for key, value in table.items():
        found = _QUEUE.fullmatch(key)
        if found is None:
            raise AnswerError(f"a message queue was expected, got {shown(key)}")
        topic, broker, number = found.groups()
        pairs.append(({"topic": topic, "brokerName": broker, "queueId": int(number)}, value))
    return pairs


# --- Offsets of groups ---


class _TopicOffsets(NamedTuple):
    """The queues of one topic, and their sum of messages that wait as it is printed."""

    topic: str
    total: int | None
    queues: list[Any]


def progress(section: Section) -> Progress:
    """Return the answer to ``queryTopicByConsumer.query``: offsets of a group, with clients."""
    content = section.content
    rows = content if isinstance(content, list) else [content] if content else []
    topics = [_topic_offsets(row) for row in list_of(rows, "topics")]
    found = _progress(section, topics, _queue_lines(section, topics))
    brokers = {lag.queue.broker_name for lag in found.lags}
    return found if len(brokers) > 1 else found._replace(in_part=_ONE_BROKER)


def progress_of_groups(section: Section) -> dict[str, Progress]:
    """Return the answer to ``queryConsumerByTopic.query``: offsets of groups, each of one topic.

    A group has no queues there if the console could not get its offsets; it is left out.
    """
    topics = {text_of(name, "group"): _topic_offsets(row) for name, row in section.content.items()}
    lines = _queue_lines(section, topics.values())
    found = {name: _progress(section, [topic], lines) for name, topic in topics.items()}
    command = "queryConsumerByTopic"
    return {
        name: progress._replace(command=command)
        for name, progress in found.items()
        if progress.lags
    }


def _topic_offsets(row: Any) -> _TopicOffsets:
    fields = object_of(row, "topic")
    total = fields.get("diffTotal")
    return _TopicOffsets(
        text_of(fields.get("topic"), "topic"),
        None if total is None else whole_of(total, -LONG, LONG),
        list_of(fields.get("queueStatInfoList"), "queueStatInfoList"),
    )


def _queue_lines(section: Section, topics: Iterable[_TopicOffsets]) -> Iterator[int]:
    """Return the line of each queue, counted from the first of the answer; 0 if that is not known."""
    key = '"brokerOffset"'  # once in each queue, in whatever order its keys are
    numbered = enumerate(section.lines)
    found = list(chain.from_iterable([offset] * line.count(key) for offset, line in numbered))
    n_queues = sum(len(topic.queues) for topic in topics)
    return iter(found if len(found) == n_queues else [0] * n_queues)


def _progress(section: Section, topics: Iterable[_TopicOffsets], lines: Iterator[int]) -> Progress:
    lags: dict[MessageQueue, Lag] = {}
    offsets: list[int] = []
    owners: dict[MessageQueue, str] = {}
    wrong = None
    for topic in topics:
        n_waiting = 0
        for row in topic.queues:
            fields, line = object_of(row, "queue"), next(lines)
            lag = _lag(topic.topic, fields)
            n_waiting += lag.broker_offset - lag.consumer_offset
            before = lags.setdefault(lag.queue, lag)
            if before != lag:
                raise section.error(
                    f"the offsets of {_name(lag.queue)} appear twice with different values", line
                )
            if len(offsets) < len(lags):
                offsets.append(line)
            if client_id := fields.get("clientInfo"):
                owners[lag.queue] = text_of(client_id, "clientInfo")
        if topic.total not in (None, n_waiting) and wrong is None:
            wrong = (
                f"{section.place()} has diffTotal {topic.total:,} of topic {printable(topic.topic)}, its queues have "
                f"{n_waiting:,}"
            )
    divided = [queue for queue in lags if not queue.topic.startswith(RETRY_PREFIX)]
    return Progress(
        section,
        list(lags.values()),
        offsets,
        owners,
        shows_owners=True,
        is_whole=all(queue in owners for queue in divided),
        consume_tps=None,
        topic_width=maxsize,
        broker_width=maxsize,
        wrong_total=wrong,
        command="queryTopicByConsumer",
        by_id=True,
    )


def _lag(topic: str, fields: Mapping[str, Any]) -> Lag:
    broker = text_of(fields.get("brokerName"), "brokerName")
    queue = MessageQueue(topic, broker, whole_of(fields.get("queueId"), -INT, INT))
    end, at = (
        whole_of(fields.get(name), -LONG, LONG) for name in ("brokerOffset", "consumerOffset")
    )
    return Lag(queue, end, at, whole_of(fields.get("lastTimestamp") or 0, -LONG, LONG))


def _name(queue: MessageQueue) -> str:
    return printable(f"{queue.topic}/{queue.broker_name}:{queue.queue_id}")
