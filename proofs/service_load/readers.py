"""Readers that ask one path after the other over connections that stay open, and what they waited
for.
"""

import asyncio
import random
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field

OPENMETRICS = "application/openmetrics-text; version=1.0.0"
PATHS = {
    "/v1/groups/{g}": 30,
    "/v1/groups?top=20": 20,
    "/metrics": 15,
    "/v1/status": 10,
    "/healthz": 10,
    "/v1/groups/{g}/plan?scale={n}&show=groups,queues": 5,
    "/v1/groups/{g}/explain?topic={t}&queue=broker-b:2": 5,
    "/v1/groups?where=consumer_group~group-1*&sort=-messages&top=10": 5,
}
"""What is asked, and in how many of a hundred requests."""


@dataclass
class Waited:
    """Seconds by path, and what went wrong."""

    seconds: dict = field(default_factory=lambda: defaultdict(list))
    errors: Counter = field(default_factory=Counter)


async def read_all(port, n_readers, n_groups, seconds):
    """Have so many readers ask for so long."""
    waited, end = Waited(), time.monotonic() + seconds
    await asyncio.gather(
        *(_reader(port, random.Random(seed), n_groups, end, waited) for seed in range(n_readers))
    )
    return waited


async def _reader(port, rng, n_groups, end, waited):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while time.monotonic() < end:
        kind = rng.choices(list(PATHS), list(PATHS.values()))[0]
        group = rng.randrange(n_groups)
        path = kind.format(g=f"group-{group}", t=f"topic-{group}", n=rng.randrange(1, 9))
        began = time.monotonic()
        try:
            status = await asyncio.wait_for(_asked(reader, writer, path), 60)
        except (OSError, EOFError, TimeoutError) as error:
            waited.errors[f"{kind}: {type(error).__name__}"] += 1
            writer.close()
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            continue
        if status != 200:
            waited.errors[f"{kind}: {status}"] += 1
        waited.seconds[kind].append(time.monotonic() - began)
    writer.close()


async def _asked(reader, writer, path):
    """The status of one answer, which is read to its end."""
    writer.write(
        f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: {OPENMETRICS}\r\n\r\n".encode()
    )
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    length = int(head.partition("content-length: ")[2].partition("\r\n")[0])
    await reader.readexactly(length)
    return int(head.split(" ", 2)[1])
