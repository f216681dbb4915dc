"""Requests to servers on a socket of their own, without the product: what brokers say when they are
asked from outside.
"""

from __future__ import annotations

import json
import socket
import struct
from typing import Any

TOPIC_ROUTE, TOPIC_CONFIG, CLIENT_IDS, CONNECTIONS, MAX_OFFSET, COMMITTED = 105, 17, 38, 203, 30, 14
PATIENCE = 5.0


class Refused(Exception):
    """A server answered with an error."""


class Server:
    """A connection to a server; a context manager.

    Parameters
    ----------
    address : str
        ``host:port``.
    """

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), PATIENCE)
        self._opaque = 0

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def ask(self, code: int, **fields: Any) -> dict[str, Any]:
        """Return the header of the answer, with its body under ``body``.

        Raises
        ------
        Refused
            The answer is an error.
        OSError
            There is none.
        """
        self._opaque += 1
        header = {"code": code, "language": "OTHER", "version": 0, "opaque": self._opaque, "flag": 0,
                  "extFields": {name: str(value) for name, value in fields.items()}}  # fmt: skip
        text = json.dumps(header).encode()
        self._socket.sendall(struct.pack(">ii", 4 + len(text), len(text)) + text)
        while (answer := self._next())["opaque"] != self._opaque:
            pass
        if answer["code"]:
            raise Refused(f"{answer['code']}: {answer.get('remark')}")
        return answer

    def _next(self) -> dict[str, Any]:
        (length,) = struct.unpack(">i", self._exactly(4))
        frame = self._exactly(length)
        n = int.from_bytes(frame[1:4], "big")
        return {**json.loads(frame[4 : 4 + n]), "body": frame[4 + n :]}

    def _exactly(self, n: int) -> bytes:
        found = b""
        while len(found) < n:
            more = self._socket.recv(n - len(found))
            if not more:
                raise ConnectionError("the server closed the connection")
            found += more
        return found


def set_topic(address: str, topic: str, n_queues: int) -> None:
    """Make or change a topic at a broker."""
    with Server(address) as broker:
        broker.ask(TOPIC_CONFIG, topic=topic, defaultTopic="TBW102", readQueueNums=n_queues, writeQueueNums=n_queues,
                   perm=6, topicFilterType="SINGLE_TAG", topicSysFlag=0, order="false")  # fmt: skip


def client_ids(broker: Server, group: str) -> list[str]:
    """Ids of a group's clients as a broker lists them."""
    return sorted(json.loads(broker.ask(CLIENT_IDS, consumerGroup=group)["body"])["consumerIdList"])


def connected(broker: Server, group: str) -> list[str]:
    """Ids of a group's clients by their connections at a broker."""
    found = json.loads(broker.ask(CONNECTIONS, consumerGroup=group)["body"])
    return sorted(one["clientId"] for one in found["connectionSet"])


def max_offset(broker: Server, topic: str, queue_id: int) -> int:
    """Offset of the next message that a queue will get."""
    return int(broker.ask(MAX_OFFSET, topic=topic, queueId=queue_id)["extFields"]["offset"])


def committed(broker: Server, group: str, topic: str, queue_id: int) -> int:
    """Offset that a group has committed for a queue; -1 for none."""
    try:
        answer = broker.ask(COMMITTED, consumerGroup=group, topic=topic, queueId=queue_id)
    except Refused:
        return -1
    return int(answer["extFields"]["offset"])


def brokers_of(name_server: str, topic: str) -> dict[str, int]:
    """Read queues of a topic by broker, as the name server has them."""
    with Server(name_server) as server:
        try:
            route = json.loads(
                server.ask(TOPIC_ROUTE, topic=topic, acceptStandardJsonOnly="true")["body"]
            )
        except Refused:
            return {}
    return {one["brokerName"]: one["readQueueNums"] for one in route["queueDatas"]}
