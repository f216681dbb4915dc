"""A file compared with the running cluster, and lite topics of RocketMQ 5.5."""

from __future__ import annotations

import contextlib
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from live_consumers import Consumers

from clusters.incidents.foreign import Foreigner
from clusters.incidents.judging import ALL_CLEAR, Right, Said
from clusters.incidents.stage import QUEUES, Played, Stage, run_cli

RIGHT = Right("the queues of the killed client have another owner, and no others", 2)


@contextlib.contextmanager
def compared_with_file(stage: Stage, group: str, killed: Consumers) -> Iterator[None]:
    """Save a snapshot before something, and compare it with the cluster afterwards by ``diff -n``."""
    live = ["-n", stage.cluster.name_server, "-g", group]
    lost = {tuple(queue) for some in killed.owns(group).values() for queue in some}
    with tempfile.TemporaryDirectory() as folder:
        saved = str(Path(folder) / "before.json")
        code, _, err = run_cli("snapshot", *live, "--out", saved)
        assert code == 0, err
        yield
        since = time.monotonic()
        asked = ["diff", *live, saved, "--show", "queues", "--detailed-exitcode", "-o", "json"]
        code, out, err = run_cli(*asked)
        moved = [
            row for row in json.loads(out or "[]") if row["owner_before"] != row["owner_after"]
        ]
        found = {(row["topic"], row["broker_name"], row["queue_id"]) for row in moved}
        said = Said(code, {"findings": []}, f"{len(moved)} queues have another owner\n{err}")
        wrong = [] if code == 2 else [f"exit code {code}, right is 2: {err}"]
        wrong += (
            []
            if found == lost
            else [f"{len(found)} queues have another owner, {len(lost)} were the killed client's"]
        )
        played = Played(
            "`diff -n` with a file of before", RIGHT, said, time.monotonic() - since, wrong, 1
        )
        stage.played.append(played)
        print(f"{played.incident}: {wrong or 'right'}", flush=True)


def lite_topics(stage: Stage) -> None:
    """A group for lite topics: without a client, and with one as a proxy registers it."""
    topic, group = "lite-parent", "lite-group"
    brokers = stage.cluster.running
    for address in brokers.values():
        stage.java.do(
            "topic", topic=topic, broker=address, read=QUEUES, attributes={"+message.type": "LITE"}
        )
        stage.java.do("group", group=group, broker=address, attributes={"+lite.bind.topic": topic})

    def of_topic(_said: Said) -> list[str]:
        """What is false where the topic is asked for, and all groups that may read it."""
        code, out, err = run_cli(
            "check", "-n", stage.cluster.name_server, "-t", topic, "-o", "json"
        )
        reasons = {row["reason"] for row in json.loads(out or '{"unread": []}')["unread"]}
        return (
            [f"check -t {topic} says no-group, exit code {code} {err}"]
            if "no-group" in reasons or not out
            else []
        )

    never = ("no-group", ALL_CLEAR)
    since = time.monotonic()
    right = Right(
        "lite, and no client; not no-group; a note, as no backlog is known", 0,
        {"lite-topics": "note", "no-consumer": "note"}, never=never, no_errors=True,
    )  # fmt: skip
    stage.until("lite topics (5.5), a group without a client", group, right, since, 30, of_topic)
    since = time.monotonic()
    with Foreigner(
        brokers.values(),
        "vm@17844@0@zm718bkj",
        group,
        topic,
        language="JAVA",
        model="LITE_SELECTIVE",
    ):
        right = Right(
            "called lite; not no-group, no all-clear", 0, {"lite-topics": "note"}, says=("lite topics",), never=never,
            no_errors=True,
        )  # fmt: skip
        stage.until(
            "lite topics (5.5), a client as a proxy registers it", group, right, since, 30, of_topic
        )
