"""Histories of clients and routes for live plans, and what they come to, worked out without a
stream.
"""

import json
import os
import random
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rmqalloc import strategy

START = datetime(2026, 1, 1, tzinfo=UTC).timestamp()

LISTED = int(time.time()) - 10_000
"""Time of the first file."""

Event = dict[str, Any]
Answer = dict[tuple[str, str], dict[tuple[str, int], str | None]]
"""By consumer group and topic: every queue with its owner."""


def history(
    n_events: int, n_topics: int, seed: int, seconds: float = 3600.0, delay: float = 240.0
) -> list[Event]:
    """Events of so many topics with two groups each, in an order of arrival in which some are late
    and some come twice.
    """
    made = random.Random(seed)
    events = []
    for number in range(n_events):
        topic = f"T{made.randrange(n_topics)}"
        happened = START + made.random() * seconds
        stamp = {
            "event_time": datetime.fromtimestamp(happened, UTC).isoformat(),
            "sequence": number,
            "topic": topic,
        }
        event = stamp | (_route(made) if made.random() < 0.2 else _membership(made, topic))
        events += [(happened + made.random() * delay, event)] * made.choice([1, 1, 1, 2])
    return [event for _, event in sorted(events, key=lambda one: one[0])]


def _route(made: random.Random) -> Event:
    brokers = [
        {"broker_name": f"b{i}", "read_queue_nums": made.randrange(1, 9)}
        for i in range(made.randrange(0, 4))
    ]
    return {"kind": "route", "brokers": brokers}


def _membership(made: random.Random, topic: str) -> Event:
    group, client = f"{topic}-{made.choice('ab')}", f"c{made.randrange(6)}"
    kind = made.choice(["join", "join", "heartbeat", "leave"])
    return {"kind": kind, "consumer_group": group, "client_id": client}


def write_files(folder: Path, events: list[Event], n_files: int) -> None:
    """The events as files of JSON lines, each there at once and in the order of arrival."""
    size = -(-len(events) // n_files)
    write_batches(
        folder, [events[number * size : (number + 1) * size] for number in range(n_files)]
    )


def write_batches(folder: Path, batches: Iterable[Iterable[Event | str]], first: int = 0) -> None:
    """A file for each of the batches; text is written as it is."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, events in enumerate(batches, first):
        text = "".join(
            (event if isinstance(event, str) else json.dumps(event)) + "\n" for event in events
        )
        hidden = folder / f".{number:04d}"
        hidden.write_text(text, encoding="utf-8")
        os.utime(
            hidden, (LISTED + number, LISTED + number)
        )  # Spark takes files in the order of their times
        hidden.rename(folder / f"{number:04d}.json")


def answer(events: Iterable[Event], name: str) -> Answer:
    """What all events come to, whatever their order: the last of every client and route counts."""
    routes, clients = {}, {}
    for event in sorted(
        events, key=lambda one: (datetime.fromisoformat(one["event_time"]), one["sequence"])
    ):
        if event["kind"] == "route":
            routes[event["topic"]] = event["brokers"]
        else:
            of_group = clients.setdefault((event["consumer_group"], event["topic"]), {})
            of_group[event["client_id"]] = event["kind"] != "leave"
    found = {}
    for unit, of_group in clients.items():
        ids = [client for client, is_there in of_group.items() if is_there]
        queues = [
            (one["broker_name"], i)
            for one in routes.get(unit[1], [])
            for i in range(one["read_queue_nums"])
        ]
        if ids and queues:
            assigned = strategy(name).assign([(unit[1], *queue) for queue in queues], ids)
            found[unit] = {queue[1:]: one for one in ids for queue in assigned.queues_of(one)}
        elif ids:
            found[unit] = {}
    return found


def followed(rows: Iterable[dict[str, Any]]) -> Answer:
    """What rows of live plans come to, one after the other; fails if one is missing or there twice."""
    found: Answer = {}
    clients = {}
    seen = set()
    for row in sorted(rows, key=lambda one: one["version"]):
        unit = (row["consumer_group"], row["topic"])
        assert (unit, row["version"]) not in seen, (
            f"a row is there twice: {unit}, version {row['version']}"
        )
        seen.add((unit, row["version"]))
        owned = found.setdefault(unit, {})
        for one in row["changed"]:
            queue = (one["broker_name"], one["queue_id"])
            assert owned.get(queue) == one["before"], (
                f"a row is missing before {unit}, version {row['version']}"
            )
            owned[queue] = one["after"]
            if one["change"] == "removed":
                del owned[queue]
        assert owned == dict(_owned(row)), (
            f"{unit}, version {row['version']}: owners are not what the changes come to"
        )
        clients[unit] = row["client_ids"]
    return {unit: owned for unit, owned in found.items() if clients[unit]}


def _owned(row: dict[str, Any]) -> Iterator[tuple[tuple[str, int], str | None]]:
    queues = [
        (one["broker_name"], i) for one in row["brokers"] for i in range(one["read_queue_nums"])
    ]
    for queue, owner in zip(queues, row["owners"], strict=True):
        yield queue, row["client_ids"][owner] if owner >= 0 else None
