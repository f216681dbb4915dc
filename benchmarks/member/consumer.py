"""One consumer whose listener does nothing: ``python consumer.py NAME_SERVER GROUP KIND TOPIC...``.

KIND is ``plain``, ``async`` or ``in_order``. Each line of standard input is answered by a line with
two numbers: messages consumed and queues owned. The end of the input ends the program. It runs on
this package or on that of another checkout, so it takes nothing but what both have.
"""

import asyncio
import sys

from rmqalloc.client import ConsumeFromWhere, PushConsumer


def plain(messages):
    """Do nothing in a thread."""


async def waiting(messages):
    """Do nothing in the loop."""


async def main(name_server, group, kind, *topics):
    """Consume until the input ends."""
    consumer = PushConsumer(
        group,
        name_server=name_server,
        listener=waiting if kind == "async" else plain,
        orderly=kind == "in_order",
        consume_from_where=ConsumeFromWhere.FIRST_OFFSET,
        pull_threshold_for_queue=max(32, 4_000 // len(topics)),
    )
    for topic in topics:
        consumer.subscribe(topic)
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    async with consumer:
        while await reader.readline():
            offsets = consumer._member.consumer.offset_store.offsets()
            print(
                sum(offsets.values()),
                sum(it.topic in topics for it in consumer.queues()),
                flush=True,
            )


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
