"""What a member of a group says to a broker, on a socket of its own, in the bodies of
`rmqalloc.remoting`.
"""

import itertools
import socket
import struct
from dataclasses import dataclass

from rmqalloc.remoting import group_fields, heartbeat_body, read_client_ids, read_heartbeat_reply
from rmqalloc.remoting.address import host_and_port
from rmqalloc.remoting.frames import Command, decode, encode

PULL, UPDATE_OFFSET, HEART_BEAT, UNREGISTER, SEND_BACK, CONSUMER_LIST = 11, 15, 34, 35, 36, 38
LOCK_BATCH, UNLOCK_BATCH, QUERY_ASSIGNMENT = 41, 42, 400
PATIENCE = 180


@dataclass
class Refused(Exception):
    """A broker's answer that is no success."""

    code: int
    remark: str


class WireMember:
    """A connection that brokers take for a client; it is `rmqalloc.rebalance`'s Remoting as far as
    heartbeats need one.
    """

    def __init__(self):
        self._sockets, self._numbers = {}, itertools.count(1)
        self.n_short = 0
        """Heartbeats sent without subscriptions."""
        self.requests = []
        """What brokers asked in between."""

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        for one in self._sockets.values():
            one.close()

    def send_heartbeat(self, address, heartbeat):
        """Send it; what the broker says of the second form."""
        self.n_short += heartbeat.without_subscriptions
        return read_heartbeat_reply(
            self.ask(address, HEART_BEAT, body=heartbeat_body(heartbeat)).ext_fields
        )

    def consumer_ids(self, address, consumer_group):
        """Client ids of a group, sorted."""
        return sorted(
            read_client_ids(self.ask(address, CONSUMER_LIST, group_fields(consumer_group)).body)
        )

    def ask(self, address, code, fields=None, body=b"", accept=(0,)):
        """The answer of a broker; `Refused` if its code is another one."""
        command = Command(code, next(self._numbers), fields or {}, body)
        self._connection(address).sendall(encode(command))
        while (answer := self._next(address)).opaque != command.opaque or not answer.is_response:
            self.requests.append(answer)
        if answer.code not in accept:
            raise Refused(answer.code, answer.remark)
        return answer

    def serve(self, address, answer):
        """Wait for a request of the broker that ``answer(request)`` has an answer to, and send it."""
        while (found := answer(request := self._next(address))) is None:
            self.requests.append(request)
        self._connection(address).sendall(encode(found.answering(request)))

    def _connection(self, address):
        if address not in self._sockets:
            self._sockets[address] = socket.create_connection(host_and_port(address), PATIENCE)
        return self._sockets[address]

    def _next(self, address):
        def exactly(n):
            found = b""
            while len(found) < n:
                found += (more := self._sockets[address].recv(n - len(found)))
                assert more, "the broker closed the connection"
            return found

        return decode(exactly(*struct.unpack(">i", exactly(4))))
