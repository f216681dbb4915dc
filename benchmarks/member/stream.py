"""A name server and a broker in a process of their own that have a message for every pull.

``python -m member.stream SIZE TOPICS QUEUES`` prints the address of the name server and serves
until it is ended: messages of SIZE bytes in TOPICS topics of QUEUES queues.
"""

import asyncio
import contextlib
import logging
import struct
import sys
from collections import defaultdict, deque

from wire_cluster import FOUND, NOT_FOUND, Stored, WireBroker, WireCluster, message_bytes

from rmqalloc.remoting.frames import Command

QUEUE_OFFSET_AT = 20
LONGEST_POLL = 15.0
END = 1 << 40


class StreamBroker(WireBroker):
    """A broker whose queues never end; a group gets messages once it pulls all of them."""

    def __init__(self, cluster, name):
        super().__init__(cluster, name)
        self.asked = deque(maxlen=1)
        self._templates = {}
        self._pulled, self._goes = defaultdict(set), defaultdict(asyncio.Event)

    async def _on_11(self, _channel, fields, _body):
        queue, offset = self._queue(fields), int(fields["queueOffset"])
        if queue.topic not in self.cluster.topics:
            await asyncio.sleep(LONGEST_POLL)
            return Command(NOT_FOUND, ext_fields=said(offset))
        if not await self._has_all(fields["consumerGroup"], queue):
            return Command(NOT_FOUND, ext_fields=said(offset))
        n_messages = int(fields["maxMsgNums"])
        return Command(
            FOUND,
            ext_fields=said(offset + n_messages),
            body=self._messages(queue, offset, n_messages),
        )

    async def _on_35(self, channel, fields, body):
        if "consumerGroup" not in fields:  # Java's client leaves a group of producers, too
            return Command(0)
        return await super()._on_35(channel, fields, body)

    async def _has_all(self, group, queue):
        self._pulled[group].add(queue)
        if len(self._pulled[group]) == sum(self.cluster.topics.values()):
            self._goes[group].set()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LONGEST_POLL):
                await self._goes[group].wait()
        return self._goes[group].is_set()

    def _messages(self, queue, offset, n_messages):
        if queue not in self._templates:
            stored = Stored(b"x" * self.cluster.size)
            self._templates[queue] = message_bytes(queue, 0, 0, stored, {"TAGS": "paid"})
        size = len(self._templates[queue])
        body = bytearray(self._templates[queue] * n_messages)
        for number in range(n_messages):
            struct.pack_into(">q", body, number * size + QUEUE_OFFSET_AT, offset + number)
        return bytes(body)


def said(following):
    """Fields of an answer to a pull."""
    return {"nextBeginOffset": str(following), "minOffset": "0", "maxOffset": str(END),
            "suggestWhichBrokerId": "0"}  # fmt: skip


class StreamCluster(WireCluster):
    """One broker that streams."""

    broker_class = StreamBroker

    def __init__(self, size, n_topics, n_queues):
        self.size, self.topics = size, {topic_name(number): n_queues for number in range(n_topics)}
        super().__init__(self.topics)


def topic_name(number):
    """Name of a topic by its number."""
    return f"orders-{number}"


async def serve(size, n_topics, n_queues):
    """Serve for ever."""
    logging.getLogger("asyncio").setLevel(
        logging.CRITICAL
    )  # consumers leave in the midst of answers
    async with StreamCluster(size, n_topics, n_queues) as cluster:
        print(cluster.name_server, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(*map(int, sys.argv[1:])))
