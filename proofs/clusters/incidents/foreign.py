"""A client that is no Java: real heartbeats over a socket, and no answer to anything that a broker
asks.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Iterable
from typing import Any, Self

HEART_BEAT = 34
RELEASE_5 = 479
"""Ordinal of 5.3.3."""


class Foreigner:
    """A member of a group, at brokers until it is closed.

    Parameters
    ----------
    brokers : iterable of str
        Their addresses.
    client_id, group, topic : str
    language : str
        What it says it is written in.
    version : int
        Ordinal of the release that it says it has.
    model : str
        How messages are divided.
    """

    def __init__(
        self,
        brokers: Iterable[str],
        client_id: str,
        group: str,
        topic: str,
        language: str = "GO",
        version: int = RELEASE_5,
        model: str = "CLUSTERING",
    ) -> None:
        self._frame = _frame(_header(language, version), _heartbeat(client_id, group, topic, model))
        self._over = threading.Event()
        self._sockets = [socket.create_connection(_place(one), timeout=10) for one in brokers]
        self._threads = [
            threading.Thread(target=self._beat, args=(one,), daemon=True) for one in self._sockets
        ]
        for one in self._sockets:
            one.sendall(self._frame)
            code, remark = _answer(one)
            assert code == 0, f"a broker refuses the heartbeat of {client_id}: {code} {remark}"
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._over.set()
        for one in self._sockets:
            one.close()
        for thread in self._threads:
            thread.join(10)

    def _beat(self, connection: socket.socket) -> None:
        """A heartbeat every second; what comes is read, so that the broker is not held up, and
        thrown away.
        """
        connection.settimeout(1)
        while not self._over.is_set():
            try:
                if not connection.recv(1 << 16):
                    return
            except TimeoutError:
                connection.sendall(self._frame)
            except OSError:
                return


def _heartbeat(client_id: str, group: str, topic: str, model: str) -> dict[str, Any]:
    subscription = {
        "topic": topic, "subString": "*", "tagsSet": [], "codeSet": [], "subVersion": 1, "expressionType": "TAG",
        "classFilterMode": False,
    }  # fmt: skip
    consumer = {
        "groupName": group, "consumeType": "CONSUME_PASSIVELY", "messageModel": model,
        "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET", "subscriptionDataSet": [subscription], "unitMode": False,
    }  # fmt: skip
    return {"clientID": client_id, "consumerDataSet": [consumer], "producerDataSet": []}


def _header(language: str, version: int) -> dict[str, Any]:
    return {
        "code": HEART_BEAT, "language": language, "version": version, "opaque": 1, "flag": 0, "extFields": {},
        "serializeTypeCurrentRPC": "JSON",
    }  # fmt: skip


def _frame(header: dict[str, Any], body: dict[str, Any]) -> bytes:
    head, rest = json.dumps(header).encode(), json.dumps(body).encode()
    return struct.pack(">ii", 4 + len(head) + len(rest), len(head)) + head + rest


def _answer(connection: socket.socket) -> tuple[int, str]:
    """Code and remark of the first answer."""
    while True:
        (length,) = struct.unpack(">i", _bytes(connection, 4))
        frame = _bytes(connection, length)
        header = json.loads(frame[4 : 4 + (int.from_bytes(frame[:4]) & 0xFFFFFF)])
        if header["flag"] & 1:
            return header["code"], str(header.get("remark"))


def _bytes(connection: socket.socket, n: int) -> bytes:
    found = b""
    while len(found) < n:
        more = connection.recv(n - len(found))
        assert more, "the broker closed the connection"
        found += more
    return found


def _place(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host, int(port)
