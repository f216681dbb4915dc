"""Frames that RocketMQ's own classes make, with what they say, and the product's codecs under them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import java_driver
from checkout import ROOT

from differential.client_world import route
from differential.comparing import PROJECT
from differential.conformance.files import Line
from differential.conformance.wire_specimens import SPECIMENS, Specimen
from rmqalloc.model import MessageQueue
from rmqalloc.remoting import (
    ConsumeFromWhere,
    ConsumerData,
    ConsumeType,
    HeartbeatData,
    MessageModel,
    SubscriptionData,
    assignment_body,
    decode_messages,
    group_fields,
    heartbeat_body,
    lock_body,
    pull_fields,
    query_offset_fields,
    queue_request_fields,
    read_assignments,
    read_client_ids,
    read_locked,
    read_offset,
    read_pull_answer,
    read_topic_route,
    search_offset_fields,
    topic_route_fields,
    unregister_fields,
    update_offset_fields,
)
from rmqalloc.remoting.frames import ONEWAY, RESPONSE, Command, decode, encode

NAME = "wire"
FORMS = ("JSON", "ROCKETMQ")
FLAGS = {"request": 0, "oneway": ONEWAY, "answer": RESPONSE}
PROGRAM = ROOT / "tests" / "support" / "java" / "conformance" / "Frames.java"


def recorded() -> Iterator[Line]:
    """Return every specimen with its frames by the real classes; JavaFailed or JavaMissing if they
    cannot be asked.
    """
    for version, specimens in SPECIMENS.items():
        for form in FORMS:
            asked = [_request(one, opaque, form) for opaque, one in enumerate(specimens, 1)]
            for specimen, request, said in zip(
                specimens, asked, _frames(PROGRAM, version, asked), strict=True
            ):
                yield {
                    "release": version,
                    "name": specimen.name,
                    "kind": specimen.kind,
                    "form": form,
                    "code": specimen.code,
                    "opaque": request["opaque"],
                    "flag": said["flag"],
                    "remark": specimen.remark,
                    "fields": dict(sorted(said["fields"].items())),
                    "body": specimen.body,
                    "frame": said["frame"],
                }


def _request(one: Specimen, opaque: int, form: str) -> Line:
    return {
        "kind": one.kind,
        "code": one.code,
        "opaque": opaque,
        "form": form,
        "remark": one.remark,
        "header": one.header,
        "header content": json.dumps(dict(one.fields)),
        "body class": one.body_class,
        "body content": None if one.body is None else json.dumps(one.body),
    }


def _frames(program: Path, version: str, asked: list[Line]) -> list[Line]:
    classpath = java_driver.maven_classpath(PROJECT, version)
    text = "".join(json.dumps(one) + "\n" for one in asked)
    printed = java_driver.run(
        [java_driver.command("java"), "-cp", classpath, str(program)],
        f"making frames with {version}",
        text,
    )
    return [json.loads(line) for line in printed.splitlines()]


# --- The product ---


def wrong_of_product(line: Line) -> str | None:
    """Return what the product reads or writes otherwise; None if nothing."""
    frame = bytes.fromhex(line["frame"])
    if int.from_bytes(frame[:4]) != len(frame) - 4:
        return "the length in front is not that of the frame"
    command = decode(frame[4:])
    said = (command.code, command.opaque, command.flag, command.remark, dict(command.ext_fields))
    if said != (line["code"], line["opaque"], FLAGS[line["kind"]], line["remark"], line["fields"]):
        return f"the frame is read as {said}"
    if decode(encode(command)[4:]) != command:
        return "the product's own frame is read otherwise"
    return _wrong_content(line, command)


def _wrong_content(line: Line, command: Command) -> str | None:
    name = line["name"]
    if name in WRITTEN_FIELDS:
        fields = WRITTEN_FIELDS[name](command.ext_fields)
        wrong = {
            key for key, value in fields.items() if command.ext_fields.get(key, value) != value
        }
        lacking = command.ext_fields.keys() - fields.keys() - NOT_NEEDED
        return (
            f"fields are written otherwise: {sorted(wrong | lacking)}" if wrong | lacking else None
        )
    if name in WRITTEN_BODIES:
        written = json.loads(WRITTEN_BODIES[name](line["body"]))
        wrong = {
            key for key, value in line["body"].items() if _plain(written.get(key)) != _plain(value)
        }
        return f"a body is written otherwise: {sorted(wrong)}" if wrong else None
    if name in READ and not READ[name](command, line["body"]):
        return "the content is read otherwise"
    return None


def _plain(value: Any) -> Any:
    """Return content that can be compared: objects of a list of objects in one order, for Java
    keeps them in sets.
    """
    if isinstance(value, list):
        return sorted(
            (_plain(one) for one in value), key=lambda one: json.dumps(one, sort_keys=True)
        )
    return {key: _plain(one) for key, one in value.items()} if isinstance(value, dict) else value


def _queue(content: Line) -> MessageQueue:
    return MessageQueue(content["topic"], content["brokerName"], content["queueId"])


def _of(fields: Any) -> MessageQueue:
    return MessageQueue(fields["topic"], fields.get("bname", "broker-a"), int(fields["queueId"]))


def _heartbeat(body: Line) -> bytes:
    consumers = tuple(
        ConsumerData(
            one["groupName"],
            ConsumeType(one["consumeType"]),
            MessageModel(one["messageModel"]),
            ConsumeFromWhere(one["consumeFromWhere"]),
            tuple(_subscription(each) for each in one["subscriptionDataSet"]),
            one["unitMode"],
        )
        for one in body["consumerDataSet"]
    )
    return heartbeat_body(HeartbeatData(body["clientID"], consumers))


def _subscription(content: Line) -> SubscriptionData:
    return SubscriptionData(
        content["topic"], content["subString"], content["subVersion"], content["expressionType"]
    )


def _lock(body: Line) -> bytes:
    return lock_body(body["consumerGroup"], body["clientId"], map(_queue, body["mqSet"]))


def _pull(fields: Any) -> dict[str, str]:
    subscription = SubscriptionData(
        "orders", "*", int(fields["subVersion"]), fields["expressionType"]
    )
    commit, offset = int(fields["commitOffset"]), int(fields["queueOffset"])
    return pull_fields(
        fields["consumerGroup"], _of(fields), offset, subscription, commit_offset=commit
    )


def _same_messages(command: Command, said: list[Line]) -> bool:
    messages = decode_messages(read_pull_answer(command).body)
    return len(messages) == len(said) and all(
        (one.topic, one.body.decode(), dict(one.properties), one.queue_id, one.queue_offset)
        == (each["topic"], each["body"], each["properties"], each["queueId"], each["queueOffset"])
        and (one.commit_log_offset, one.reconsume_times)
        == (each["commitLogOffset"], each["reconsumeTimes"])
        and (one.born_timestamp, one.store_timestamp)
        == (each["bornTimestamp"], each["storeTimestamp"])
        and (one.born_host, one.store_host) == ("10.0.0.9:4321", "10.0.0.1:10911")
        for one, each in zip(messages, said, strict=True)
    )


def _same_assignments(command: Command, body: Line) -> bool:
    said = [(_queue(one["messageQueue"]), one["mode"]) for one in body["messageQueueAssignments"]]
    return [(one.queue, one.mode.value) for one in read_assignments(command.body) or []] == said


def _same_offset(command: Command, _body: object) -> bool:
    return read_offset(command.ext_fields) == int(command.ext_fields["offset"])


def _same_pull(command: Command, _body: object) -> bool:
    answer, fields = read_pull_answer(command), command.ext_fields
    ends = (answer.next_begin_offset, answer.min_offset, answer.max_offset)
    return ends == tuple(
        int(fields[name]) for name in ("nextBeginOffset", "minOffset", "maxOffset")
    )


NOT_NEEDED = {
    "bname",
    "setZeroIfNotFound",
    "committed",
    "requestSource",
    "maxMsgBytes",
    "proxyForwardClientId",
}
"""Fields that Java's classes have and that brokers do without."""

WRITTEN_FIELDS: dict[str, Callable[[Any], dict[str, str]]] = {
    "unregister": lambda fields: unregister_fields(fields["clientID"], fields["consumerGroup"]),
    "client-ids": lambda fields: group_fields(fields["consumerGroup"]),
    "query-offset": lambda fields: query_offset_fields(fields["consumerGroup"], _of(fields)),
    "update-offset": lambda fields: update_offset_fields(
        fields["consumerGroup"], _of(fields), int(fields["commitOffset"])
    ),
    "max-offset": lambda fields: queue_request_fields(_of(fields)),
    "search-offset": lambda fields: search_offset_fields(_of(fields), int(fields["timestamp"])),
    "route": lambda fields: topic_route_fields(fields["topic"]),
    "pull": _pull,
}
"""Requests that the product writes, from the fields that Java's hold."""

WRITTEN_BODIES: dict[str, Callable[[Line], bytes]] = {
    "heartbeat": _heartbeat,
    "heartbeat-pull": _heartbeat,
    "lock": _lock,
    "unlock": _lock,
    "unlock-oneway": _lock,
    "assignment": lambda body: assignment_body(
        body["topic"],
        body["consumerGroup"],
        body["clientId"],
        body["strategyName"],
        MessageModel(body["messageModel"]),
    ),
}

READ: dict[str, Callable[[Command, Any], bool]] = {
    "client-ids-answer-two": lambda command, body: (
        read_client_ids(command.body) == body["consumerIdList"]
    ),
    "client-ids-answer-none": lambda command, body: read_client_ids(command.body) == [],
    "client-ids-answer-odd": lambda command, body: (
        read_client_ids(command.body) == body["consumerIdList"]
    ),
    "lock-answer": lambda command, body: (
        read_locked(command.body) == set(map(_queue, body["lockOKMQSet"]))
    ),
    "lock-answer-none": lambda command, body: read_locked(command.body) == set(),
    "query-offset-answer": _same_offset,
    "max-offset-answer": _same_offset,
    "search-offset-answer": _same_offset,
    "route-answer": lambda command, body: (
        _without_cluster(read_topic_route(command.body)) == _without_cluster(route(body))
    ),
    "assignment-answer-pull-and-pop": _same_assignments,
    "assignment-answer-none": _same_assignments,
    "pull-answer": _same_messages,
    "pull-answer-nothing-new": _same_pull,
    "pull-answer-moved": _same_pull,
}


def _without_cluster(data: Any) -> Any:
    brokers = [(one.broker_name, dict(one.addresses)) for one in data.broker_datas]
    return sorted(data.queue_datas, key=lambda one: one.broker_name), sorted(brokers)
