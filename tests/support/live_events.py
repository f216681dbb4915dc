"""Histories of clients and routes for live plans, and the units that they come to, worked out
without a stream.
"""

import json
import os
import random
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from checkout import ROOT
from page_blocks import blocks_of

START = datetime(2026, 1, 1, tzinfo=UTC).timestamp()

LISTED = int(time.time()) - 10_000
"""Time of the first file."""

Event = dict[str, Any]


def page_program() -> dict[str, Any]:
    """Return what the first block of docs/data/live-plans.md defines."""
    names: dict[str, Any] = {"__name__": "live"}
    page = (ROOT / "docs" / "data" / "live-plans.md").read_text(encoding="utf-8")
    exec(blocks_of(page)[0].text, names)
    return names


def history(
    n_events: int, n_topics: int, seed: int, seconds: float = 3600.0, delay: float = 240.0
) -> list[Event]:
    """Events of so many topics with two groups each, in an order of arrival in which some are late
    and some come twice.
    """
    made = random.Random(seed)
    events = []
    for number in range(n_events):
        happened = START + made.random() * seconds
        stamp = {
            "event_time": datetime.fromtimestamp(happened, UTC).isoformat(),
            "sequence": number,
        }
        topics = [f"T{number}" for number in made.sample(range(n_topics), made.choice([1, 1, 2]))]
        named = {"topic": topics[0]} if len(topics) == 1 else {"topics": topics}
        event = stamp | named | (_route(made) if made.random() < 0.2 else _membership(made))
        events += [(happened + made.random() * delay, event)] * made.choice([1, 1, 1, 2])
    return [event for _, event in sorted(events, key=lambda pair: pair[0])]


def _route(made: random.Random) -> Event:
    brokers = [
        {"broker_name": f"b{i}", "read_queue_nums": made.randrange(1, 9)}
        for i in range(made.randrange(0, 4))
    ]
    return {"kind": "route", "brokers": brokers}


def _membership(made: random.Random) -> Event:
    group, client = f"group-{made.choice('ab')}", f"c{made.randrange(6)}"
    kind = made.choice(["join", "join", "heartbeat", "leave"])
    channels = {"channels": 2} if made.random() < 0.1 else {}
    return {"kind": kind, "consumer_group": group, "client_id": client, **channels}


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


def units_of(events: Iterable[Event]) -> list[dict[str, Any]]:
    """The units that all events come to, whatever their order: the last of every client and route
    counts.
    """
    routes: dict[str, Any] = {}
    clients: dict[tuple[str, str], dict[str, int]] = {}
    for event in sorted(events, key=_moment):
        for topic in event.get("topics", [event.get("topic")]):
            if event["kind"] == "route":
                routes[topic] = event["brokers"]
            else:
                channels = 0 if event["kind"] == "leave" else event.get("channels", 1)
                of_group = clients.setdefault((event["consumer_group"], topic), {})
                of_group[event["client_id"]] = channels
    found = []
    for (group, topic), of_group in clients.items():
        ids = [client for client in sorted(of_group) for _ in range(of_group[client])]
        names = {"consumer_group": group, "topic": topic}
        if ids:
            found.append({**names, "brokers": routes.get(topic), "client_ids": ids})
    return found


def _moment(event: Event) -> tuple[datetime, int]:
    return datetime.fromisoformat(event["event_time"]), event["sequence"]
