"""Python members that join and leave on command: the twin of ``Consumers.java``, spoken to in the
same way.

``python wire_consumers.py NAME_SERVER SETTINGS``: every line of standard input is a command, every
line of standard output one JSON object, an answer or, whenever the queues of a member change, its
queues. Commands: ``join`` with what ``Member.java`` reads, ``leave``, ``show``. The end of the
input ends the program with all its members. SETTINGS is a JSON object: ``deliveries``, the file
that `Deliveries` writes, and ``intervals``, milliseconds of `rmqalloc.rebalance.Intervals`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import struct
import sys
import threading
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any

from live_rules import rule_of

from rmqalloc.client import ConsumeFromWhere, PushConsumer
from rmqalloc.rebalance import Intervals
from rmqalloc.remoting import MessageModel

LOOKS_EVERY = 0.05
TEXT = b"message "
RECORD = struct.Struct("<iiqq")


class Deliveries:
    """Every message that members were given, in a file of its own, as ``Deliveries.java`` writes
    it.

    Parameters
    ----------
    file : str
    """

    def __init__(self, file: str) -> None:
        self._names = open(f"{file}.keys", "xb", buffering=0)  # noqa: SIM115 (as long as the process)
        self._records = open(file, "xb", buffering=0)  # noqa: SIM115
        self._keys: dict[str, int] = {}
        self._lock = threading.Lock()

    def note(self, group: str, name: str, messages: Sequence[Any]) -> None:
        """Write messages that a member was given; from any thread."""
        now = time.time_ns() // 1000
        with self._lock:
            self._records.write(
                b"".join(
                    RECORD.pack(
                        self._key(group, name, one), number(bytes(one.body)), one.queue_offset, now
                    )
                    for one in messages
                )
            )

    def _key(self, group: str, name: str, message: Any) -> int:
        topic = f"%RETRY%{group}" if message.retry_topic is not None else message.topic
        line = f"{group}\t{name}\t{topic}\t{message.store_host}\t{message.queue_id}\n"
        if line not in self._keys:
            self._keys[line] = len(self._keys)
            self._names.write(line.encode())
        return self._keys[line]


def number(body: bytes) -> int:
    """The number in a body, -1 for none."""
    return int(body[len(TEXT) :]) if body.startswith(TEXT) else -1


class Members:
    """The members of this process, by name."""

    def __init__(self, name_server: str, settings: dict[str, Any]) -> None:
        self._name_server = name_server
        self._intervals = Intervals(**settings.get("intervals", {}))
        self._deliveries = Deliveries(settings["deliveries"])
        self._members: dict[str, PushConsumer] = {}
        self._shown: dict[str, dict[str, Any]] = {}

    async def obey(self, command: dict[str, Any]) -> Any:
        """Carry a command out."""
        name = command.get("name", "")
        match command["do"]:
            case "join":
                return await self._join(name, command)
            case "leave":
                await self._members.pop(name).close()
                return name
            case "show":
                return {one: picture(one, member) for one, member in sorted(self._members.items())}
            case other:
                raise ValueError(f"unknown command {other}")

    async def _join(self, name: str, command: dict[str, Any]) -> str:
        group, note = command["group"], self._deliveries.note
        consumer = PushConsumer(
            group,
            name_server=self._name_server,
            strategy=rule_of(command["strategy"]),
            listener=lambda messages: note(group, name, messages),
            instance_name=command.get("instance", name),
            orderly=bool(command.get("orderly")),
            message_model=MessageModel.BROADCASTING
            if command.get("broadcasting")
            else MessageModel.CLUSTERING,
            consume_from_where=ConsumeFromWhere.FIRST_OFFSET
            if command.get("from_first")
            else ConsumeFromWhere.LAST_OFFSET,
            heartbeat_v2=bool(command.get("heartbeat_v2")),
            intervals=self._intervals,
        )
        for topic in command["topics"]:
            consumer.subscribe(topic, command.get("tags") or "*")
        await consumer.start()
        self._members[name] = consumer
        return consumer.client_id

    async def watch(self) -> None:
        """Print the queues of a member whenever they change."""
        while True:
            for name, member in self._members.items():
                now = picture(name, member)
                if self._shown.get(name) != now:
                    self._shown[name] = now
                    say({"at": int(1000 * time.time()), "owns": now})
            await asyncio.sleep(LOOKS_EVERY)

    async def close(self) -> None:
        """All members leave."""
        for member in self._members.values():
            await member.close()


def picture(name: str, member: PushConsumer) -> dict[str, Any]:
    """Queues that a member works on, as ``Consumers.java`` shows them."""
    queues = [[one.topic, one.broker_name, one.queue_id] for one in sorted(member.queues())]
    return {"name": name, "client_id": member.client_id, "queues": queues}


def say(what: dict[str, Any]) -> None:
    """Print one line."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


async def commands() -> AsyncIterator[dict[str, Any]]:
    """The commands of standard input."""
    reader = asyncio.StreamReader(limit=1 << 20)
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    while line := await reader.readline():
        yield json.loads(line)


async def main() -> None:
    """Obey until the input ends."""
    logging.basicConfig(
        format="%(asctime)s %(name)s %(message)s", level=logging.INFO
    )  # on standard error
    members = Members(sys.argv[1], json.loads(sys.argv[2]))
    watch = asyncio.create_task(members.watch())
    say({"ready": True})
    async for command in commands():
        try:
            say({"done": command["do"], "answer": await members.obey(command)})
        except Exception as error:
            say({"failed": command["do"], "why": repr(error)})
    watch.cancel()
    await members.close()


if __name__ == "__main__":
    asyncio.run(main())
