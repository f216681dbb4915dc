"""What a member of a group says to a broker, on a socket of its own: bodies as Java writes them, of the product's own data."""

import itertools
import json
import socket
import struct
from dataclasses import dataclass

from rmqalloc.remoting import HeartbeatReply
from rmqalloc.remoting._frame import Command, decode, encode
from rmqalloc.remoting.address import host_and_port

HEART_BEAT, CONSUMER_LIST, LOCK_BATCH, UNLOCK_BATCH, QUERY_ASSIGNMENT = 34, 38, 41, 42, 400
PATIENCE = 20


@dataclass
class Refused(Exception):
    """A broker's answer that is no success."""

    code: int
    remark: str


class WireMember:
    """A connection that brokers take for a client; it is `rmqalloc.rebalance`'s Remoting as far as heartbeats need one."""

    def __init__(self):
        self._sockets, self._numbers = {}, itertools.count(1)
        self.n_short = 0
        """Heartbeats sent without subscriptions."""

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        for one in self._sockets.values():
            one.close()

    def send_heartbeat(self, address, heartbeat):
        """Send it; what the broker says of the second form."""
        self.n_short += heartbeat.without_subscriptions
        answer = self.ask(address, HEART_BEAT, body=heartbeat_body(heartbeat))
        said = {name: answer.ext_fields.get(name) == "true" for name in ("IS_SUPPORT_HEART_BEAT_V2", "IS_SUB_CHANGE")}
        return HeartbeatReply(said["IS_SUPPORT_HEART_BEAT_V2"], said["IS_SUB_CHANGE"])

    def consumer_ids(self, address, consumer_group):
        """Client ids of a group, sorted."""
        answer = self.ask(address, CONSUMER_LIST, {"consumerGroup": consumer_group})
        return sorted(json.loads(answer.body)["consumerIdList"])

    def ask(self, address, code, fields=None, body=None):
        """The answer of a broker; `Refused` if it is no success."""
        text = b"" if body is None else json.dumps(body).encode()
        command = Command(code, next(self._numbers), fields or {}, text)
        if address not in self._sockets:
            self._sockets[address] = socket.create_connection(host_and_port(address), PATIENCE)
        self._sockets[address].sendall(encode(command))
        while (answer := self._next(self._sockets[address])).opaque != command.opaque or not answer.is_response:
            pass  # brokers tell members of changes in between
        if answer.code:
            raise Refused(answer.code, answer.remark)
        return answer

    @staticmethod
    def _next(connection):
        def exactly(n):
            found = b""
            while len(found) < n:
                found += (more := connection.recv(n - len(found)))
                assert more, "the broker closed the connection"
            return found

        return decode(exactly(*struct.unpack(">i", exactly(4))))


def heartbeat_body(heartbeat):
    """Java's ``HeartbeatData``."""
    return {
        "clientID": heartbeat.client_id,
        "producerDataSet": [],
        "consumerDataSet": [_consumer(one) for one in heartbeat.consumers],
        "heartbeatFingerprint": heartbeat.fingerprint,
        "withoutSub": heartbeat.without_subscriptions,
    }


def _consumer(data):
    return {
        "groupName": data.consumer_group,
        "consumeType": data.consume_type.value,
        "messageModel": data.message_model.value,
        "consumeFromWhere": data.consume_from_where.value,
        "unitMode": data.unit_mode,
        "subscriptionDataSet": [
            {"topic": one.topic, "subString": one.sub_string, "subVersion": one.sub_version, "expressionType": "TAG",
             "classFilterMode": False, "tagsSet": [], "codeSet": []}
            for one in data.subscriptions
        ],
    }  # fmt: skip


def lock_body(consumer_group, client_id, queues):
    """Java's ``LockBatchRequestBody`` and ``UnlockBatchRequestBody``."""
    found = [{"topic": one.topic, "brokerName": one.broker_name, "queueId": one.queue_id} for one in queues]
    return {"consumerGroup": consumer_group, "clientId": client_id, "mqSet": found}


def assignment_body(topic, consumer_group, client_id, strategy_name, model):
    """Java's ``QueryAssignmentRequestBody``."""
    return {"topic": topic, "consumerGroup": consumer_group, "clientId": client_id, "strategyName": strategy_name,
            "messageModel": model.value}  # fmt: skip
