"""CPU time per message of a member in Python, and of Java's consumer beside it: ``python -m
member_speed [--messages N]``.

A released broker on loopback holds messages of 100 bytes. Each kind of member joins a group of its
own, reads N of them to get warm, then 2 N that are sent while it waits, and the clock of its
process says what those cost it. Pulls bring 32 messages; the listener gets one at a time and does
nothing (Java's remembers the place of each). Ends with 1 if a member in Python takes more than
`MOST` microseconds per message.
"""

import argparse
import asyncio
import os
import struct
import subprocess
import sys
import time
from pathlib import Path

import tied
from live_cluster import BROKERS, LiveCluster
from live_consumers import Consumers

from rmqalloc import MessageQueue
from rmqalloc.client import ConsumeFromWhere, MemberCode, PushConsumer
from rmqalloc.remoting import ResponseError
from rmqalloc.remoting.address import host_and_port
from rmqalloc.remoting.connection import Connection
from rmqalloc.remoting.frames import Command, decode, encode
from rmqalloc.remoting.offset_codec import query_offset_fields, read_offset

MOST = 20.0
TOPIC, QUEUES, BODY, BROKER = "speed", 4, b"x" * 100, BROKERS[0]
SEND_BATCH, PER_BATCH = 320, 500
KINDS = ("plain", "async", "ordered")
PATIENCE = 300


async def send(address, n_messages):
    """Send messages to a broker, in batches, to its queues in turn."""
    reader, writer = await asyncio.open_connection(*host_and_port(address))
    one = struct.pack(">iiiii", 22 + len(BODY), 0, 0, 0, len(BODY)) + BODY + struct.pack(">h", 0)
    for number in range(n_messages // PER_BATCH):
        values = (
            "speed",
            TOPIC,
            "TBW102",
            "4",
            str(number % QUEUES),
            "0",
            "0",
            "0",
            "",
            "0",
            "false",
            "16",
            "true",
        )
        fields = dict(zip("abcdefghijklm", values, strict=True))
        writer.write(encode(Command(SEND_BATCH, number, fields, one * PER_BATCH)))
        answer = decode(await reader.readexactly(int.from_bytes(await reader.readexactly(4))))
        assert answer.code == 0, answer.remark
    writer.close()


async def consumed(address, group):
    """How many messages a group has stored as consumed."""
    connection, n_messages = Connection(address, codes=MemberCode), 0
    try:
        for queue_id in range(QUEUES):
            fields = query_offset_fields(group, MessageQueue(TOPIC, BROKER, queue_id))
            try:
                n_messages += read_offset(
                    (await connection.ask(MemberCode.QUERY_CONSUMER_OFFSET, fields)).ext_fields
                )
            except ResponseError:
                continue  # nothing is stored yet
    finally:
        await connection.close()
    return n_messages


async def until_consumed(address, group, n_messages):
    """Wait until a group has stored so many messages as consumed; members store every five seconds."""
    began = time.monotonic()
    while await consumed(address, group) < n_messages:
        assert time.monotonic() - began < PATIENCE, (
            f"{group} has not consumed {n_messages} messages"
        )
        await asyncio.sleep(0.1)


def cpu_seconds(pid):
    """CPU time of a process, its own and the system's."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def member(kind, name_server):
    """Be a member, until the input ends."""

    def listener(messages):
        return None

    async def in_loop(messages):
        return None

    consumer = PushConsumer(
        f"speed-{kind}", name_server=name_server, listener=in_loop if kind == "async" else listener,
        orderly=kind == "ordered", consume_from_where=ConsumeFromWhere.FIRST_OFFSET,
    )  # fmt: skip
    consumer.subscribe(TOPIC)
    async with consumer:
        await asyncio.to_thread(sys.stdin.read)


def measured(address, group, pid, before, n_messages):
    """Microseconds per message."""
    asyncio.run(until_consumed(address, group, before))
    asyncio.run(send(address, n_messages))
    asyncio.run(until_consumed(address, group, before + n_messages))
    warm = cpu_seconds(pid)
    asyncio.run(send(address, 2 * n_messages))
    asyncio.run(until_consumed(address, group, before + 3 * n_messages))
    return (cpu_seconds(pid) - warm) / (2 * n_messages) * 1e6


def main():
    """Measure each kind, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=50_000, metavar="N")
    parser.add_argument("--quick", action="store_true", help="3,200 messages")
    parser.add_argument("--member", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.member:
        asyncio.run(member(*given.member))
        return 0
    wanted = 3_200 if given.quick else given.messages
    n_messages, n_sent, found = wanted // PER_BATCH * PER_BATCH, 0, {}
    with LiveCluster() as cluster, Consumers(cluster.name_server) as java:
        address = cluster.running[BROKER]
        java.do("topic", topic=TOPIC, broker=address, read=QUEUES, write=QUEUES)
        for kind in KINDS:
            arguments = [
                sys.executable,
                "-m",
                "member_speed",
                "--member",
                kind,
                cluster.name_server,
            ]
            with tied.popen(arguments, stdin=subprocess.PIPE) as process:
                found[f"Python, {kind}"] = measured(
                    address, f"speed-{kind}", process.pid, n_sent, n_messages
                )
            n_sent += 3 * n_messages
        java.join("speed-java", "j", [TOPIC], strategy="AVG")
        found["Java"] = measured(address, "speed-java", java.process.pid, n_sent, n_messages)
    print("| member | CPU, µs per message |\n| --- | --- |")
    for kind, cost in found.items():
        print(f"| {kind} | {cost:.1f} |")
    return int(max(cost for kind, cost in found.items() if kind != "Java") > MOST)


if __name__ == "__main__":
    sys.exit(main())
