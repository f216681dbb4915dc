"""One member in a process of its own: it starts, runs until its input ends, and prints what its
author would see, as lines of JSON.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from rmqalloc.client import Message, PushConsumer
from rmqalloc.errors import Error
from rmqalloc.remoting import Credentials


def ignore(_messages: Sequence[Message]) -> None:
    """Consume anything."""


class Lines(logging.Handler):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: list[tuple[str, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line."""
        self.lines.append((record.levelname, record.getMessage()))


async def run(case: dict[str, Any]) -> None:
    """Start a member; print what that did, and at each line of the input and its end how it is."""
    log = Lines()
    logging.getLogger().addHandler(log)
    logging.getLogger("rmqalloc").setLevel(logging.INFO)
    keys = Credentials(*case["keys"]) if case["keys"] else None
    consumer = PushConsumer(
        case["group"], name_server=case["name_server"], listener=ignore, credentials=keys
    )
    consumer.subscribe(case["topic"], *case["expression"])
    began = time.monotonic()
    try:
        await consumer.start()
        started = "started"
    except Error as error:
        started = f"{type(error).__name__}: {error}"
    say(started=started, seconds=time.monotonic() - began)
    while await asyncio.to_thread(sys.stdin.readline):
        say(**state(consumer, log))
    say(**state(consumer, log))
    await consumer.close()


def state(consumer: PushConsumer, log: Lines) -> dict[str, Any]:
    """Return how a member is doing; releases without health() know less."""
    health = consumer.health() if hasattr(consumer, "health") else None
    mine = [queue for queue in consumer.queues() if not queue.topic.startswith("%RETRY%")]
    return {
        "levels": dict(Counter(level for level, _ in log.lines)),
        "lines": log.lines,
        "queues": len(mine),
        "refused": None if health is None else [str(refusal) for refusal in health.refused],
        "heartbeats": None if health is None else len(health.heartbeats),
    }


def say(**content: Any) -> None:
    """Print a line."""
    print(json.dumps(content), flush=True)


if __name__ == "__main__":
    asyncio.run(run(json.loads(sys.argv[1])))
