"""What commands of mqadmin print, by release: the first line of each form, and how it is read.

From the format strings of ``org.apache.rocketmq.tools.command`` (``com.alibaba.rocketmq`` in
3.2.6). A form without a head begins with its first row, whose number is 001. The page of snapshots
has the same table; the tests have a file of each form.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

LAST = "5.5.0"
"""The last release whose format strings were compared."""


class Format(NamedTuple):
    """One form of one command."""

    command: str  # with the options that make the form
    since: str  # the first and the last release that print it
    until: str
    kind: str  # how it is read
    head: str  # regular expression of its first line
    note: str = ""  # what is particular about it


_PROGRESS = r"#Topic\s+#Broker Name\s+#QID\s+#Broker Offset\s"
_ALL_GROUPS = r"#Group\s+#Count\s"
_ALL_OFFSETS = r"#Topic\s+#Group\s+#Broker Name\s"

FORMATS = (
    Format("topicRoute", "3.2.6", LAST, "json", r"\{", "JSON"),
    Format("topicRoute -l", "4.9.0", LAST, "routes", r"#ClusterName\s+#BrokerName\s"),
    Format(
        "consumerConnection", "3.2.6", "4.9.2", "connections",
        r"001[ \t]+(?!Topic: )\S.*[ \t]\S+:\d+[ \t]+\w+[ \t]+\S+[ \t]*$",
        "no head; since 4.0.0 the subscriptions begin on the line `Below is subscription:`",
    ),
    Format("consumerConnection", "4.9.3", LAST, "connections", r"#ClientId\s+#ClientAddr\s"),
    Format("consumerStatus", "3.2.6", "4.9.3", "clients", r"001[ \t]+(?!Topic: )\S.*[ \t]\S+[ \t]+\d+/.*$", "no head"),
    Format("consumerStatus", "4.9.4", LAST, "clients", r"#Index\s+#ClientId\s"),
    Format("consumerStatus -i", "3.2.6", LAST, "running info", r"#Consumer Properties#", "also the files of consumerStatus"),
    Format("consumerProgress -g", "3.2.6", "4.0.0", "progress", _PROGRESS, "topics cut at 32 characters"),
    Format("consumerProgress -g", "4.1.0", "4.9.2", "progress", _PROGRESS, "topics cut at 32 characters; `#Client IP`"),
    Format("consumerProgress -g", "4.9.3", "5.0.0", "progress", _PROGRESS, "topics cut at 64 characters"),
    Format("consumerProgress -g", "5.1.0", LAST, "progress", _PROGRESS, "topics cut at 64 characters; `#Inflight`"),
    Format("consumerProgress", "3.2.6", "4.9.2", "all groups", _ALL_GROUPS, "groups cut at 32 characters"),
    Format("consumerProgress", "4.9.3", LAST, "all groups", _ALL_GROUPS, "groups cut at 64 characters"),
    Format("allocateMQ", "4.0.0", LAST, "json", r"\{", "JSON"),
    Format("brokerConsumeStats", "4.0.0", "4.9.2", "broker offsets", _ALL_OFFSETS, "topics cut at 32 characters"),
    Format("brokerConsumeStats", "4.9.3", LAST, "broker offsets", _ALL_OFFSETS, "topics cut at 64 characters"),
    Format(
        "getConsumerStatus", "4.0.0", LAST, "client queues", r"get consumer status from client\. group=",
        "of rocketmq-rust: mqadmin has the class, not the command; client ids cut at 50 characters",
    ),
)  # fmt: skip


class Other(NamedTuple):
    """Output of a command that is not read."""

    command: str
    head: str  # regular expression of its first line
    instead: str  # what to run


ROUTE = "mqadmin topicRoute -t TOPIC shows the brokers and queues of a topic"
CLIENTS = "mqadmin consumerConnection -g GROUP shows the clients of a group"
OWNERS = (
    "mqadmin consumerStatus -g GROUP writes a file for each client, with the queues that it owns"
)
LAG = "mqadmin consumerProgress -g GROUP shows the offsets of a group"

OTHERS = (
    Other("clusterList", r"#Cluster Name\s+#Broker Name\s", ROUTE),
    Other("topicList -c", r"#Cluster Name\s+#Topic\s", ROUTE),
    Other("statsAll", r"#Topic\s+#Consumer Group\s+#Accumulation", LAG),
    Other("topicStatus", r"#Broker Name\s+#QID\s+#Min Offset\s", f"{ROUTE}; {LAG}"),
    Other(
        "producerConnection",
        r"0001[ \t]+\S.*[ \t]\S+:\d+[ \t]+\w+[ \t]+\S+[ \t]*$",
        CLIENTS,
    ),
)

COMMANDS = tuple(dict.fromkeys(form.command.split(" ")[0] for form in (*FORMATS, *OTHERS)))

_HEADS = {
    "topicRoute -l": ("#ClusterName #BrokerName #BrokerAddrs #ReadQueue #WriteQueue #Perm",),
    "consumerConnection": ("#ClientId #ClientAddr #Language #Version", "#Topic #SubExpression"),
    "consumerStatus": ("#Index #ClientId #Version #ConsumerRunningInfoFile",),
    "consumerProgress -g": (
        "#Topic #Broker Name #QID #Broker Offset #Consumer Offset #Diff",
        "#Topic #Broker Name #QID #Broker Offset #Consumer Offset #Diff #LastTime",
        "#Topic #Broker Name #QID #Broker Offset #Consumer Offset #Diff #Inflight #LastTime",
        "#Topic #Broker Name #QID #Broker Offset #Consumer Offset #Client IP #Diff #LastTime",
        "#Topic #Broker Name #QID #Broker Offset #Consumer Offset #Client IP #Diff #Inflight #LastTime",
    ),
    "consumerStatus -i": (
        "#Topic #Broker Name #QID #Consumer Offset",
        "#Topic #Broker Name #QID #ProcessQueueInfo",
        "#Topic #Pull RT #Pull TPS #Consume RT #ConsumeOK TPS #ConsumeFailed TPS #ConsumeFailedMsgsInHour",
    ),
    "consumerProgress": ("#Group #Count #Version #Type #Model #TPS #Diff Total",),
    "brokerConsumeStats": (
        "#Topic #Group #Broker Name #QID #Broker Offset #Consumer Offset #Diff #LastTime",
    ),
    "getConsumerStatus": ("#clientId #brokerName #queueId #offset",),
}  # fmt: skip
_WHOLE_HEADS = {head for heads in _HEADS.values() for head in heads}


def command_of_cut_head(line: str) -> str | None:
    """Return the command whose head a line begins, but does not end; None for any other line.

    Examples
    --------
    >>> command_of_cut_head("#Topic      #Broker Name      #QID  #Broke"), command_of_cut_head("#Topic  #SubExpression")
    ('consumerProgress -g', None)
    """
    head = " ".join(line.split())
    if not head.startswith("#") or head in _WHOLE_HEADS:
        return None
    for command, heads in _HEADS.items():
        if len(head) >= _LEAST_HEAD and any(whole.startswith(head) for whole in heads):
            return command
    return None


_LEAST_HEAD = len("#Topic")
_KINDS_WITH_HEADS = {
    "routes": "topicRoute -l",
    "connections": "consumerConnection",
    "clients": "consumerStatus",
    "progress": "consumerProgress -g",
    "all groups": "consumerProgress",
    "broker offsets": "brokerConsumeStats",
}


def lacks_columns(kind: str, head: str) -> bool:
    """Return whether a head has not all columns that some release prints; it may have more.

    Examples
    --------
    >>> lacks_columns("connections", "#ClientId  #ClientAddr  #Version"), lacks_columns("json", "{")
    (True, False)
    """
    if kind not in _KINDS_WITH_HEADS or not head.startswith("#"):
        return False
    wholes = [_names(whole) for whole in _HEADS[_KINDS_WITH_HEADS[kind]]]
    return not any(_is_within(whole, _names(head)) for whole in wholes)


def _names(head: str) -> list[str]:
    return [" ".join(name.split()) for name in head.split("#")[1:]]


def _is_within(some: Sequence[str], names: Sequence[str]) -> bool:
    """Return whether some names are among all, in the same order."""
    rest = iter(names)
    return all(name in rest for name in some)


BEGINNINGS = {
    kind: re.compile("|".join(dict.fromkeys(form.head for form in FORMATS if form.kind == kind)))
    for kind in dict.fromkeys(form.kind for form in FORMATS)
} | {form.command: re.compile(form.head) for form in OTHERS}
"""First lines by kind of output, and by command of those that are not read."""
BEGINNINGS["json"] = re.compile(r"\{|\[[ \t]*(?:$|[{\]])")
"""JSON of RocketMQ Console may be a list, that of mqadmin is an object."""

_CLASS = r"(?:[A-Za-z_][\w$]*\.)+[A-Z][\w$]*(?:Exception|Error)"
FAILURE = re.compile(rf'(?:Exception in thread "[^"]*" )?{_CLASS}(?::|\s*$)')
"""First line of a stack trace."""
COMMAND_FAILED = re.compile(
    r"(?:\w+\.)+(?:SubCommandException\b|MQ(?:Client|Broker)Exception: CODE\b)"
)
"""That of a command that failed as a whole."""

_FIRST_KEYS = (
    "status", "data", "errMsg", "timestamp",  # the envelope, and that of Spring
    "orderTopicConf", "queueDatas", "brokerDatas", "filterServerTable", "topicQueueMappingByBroker", "result",
    "connectionSet", "subscriptionTable", "consumeType", "messageModel", "consumeFromWhere",
    "properties", "subscriptionSet", "mqTable", "mqPopTable", "statusTable", "userConsumerInfo", "jstack",
    "topic", "diffTotal", "lastTimestamp", "queueStatInfoList",
    "group", "version", "count", "address", "consumeTps", "subGroupType", "updateTime",
)  # fmt: skip
_FIRST_BRACKET = re.compile(r"^[ \t]*+(?:\{|\[[ \t]*+(?:$|[{\]]))", re.MULTILINE)
_FIRST_KEY = re.compile(
    r"\s*+(?:\[\s*+)?+\{\s*+"
    r'(?:"[^"\\\n]*+"\s*+:\s*+\{\s*+)?'  # of a map by group
    rf'"(?:{"|".join(_FIRST_KEYS)})"\s*+:'
)


def is_json_output(text: str) -> bool:
    """Return whether the first JSON of a text is of mqadmin or of RocketMQ Console.

    Examples
    --------
    >>> is_json_output('{"data": [], "errMsg": null, "status": 0}'), is_json_output('[{"group": "g"}]')
    (True, True)
    >>> is_json_output('{"apiVersion": "rmqalloc/v2", "kind": "Snapshot"}')
    False
    """
    found = _FIRST_BRACKET.search(text)
    return found is not None and _FIRST_KEY.match(text, found.start()) is not None
