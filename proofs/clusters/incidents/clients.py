"""Incidents of clients: killed, frozen, of another language, with other tags, new."""

from __future__ import annotations

import os
import signal
import time

from live_consumers import Consumers
from live_proofs import wait_for

from clusters.incidents.judging import Right, Said, allowed_partial
from clusters.incidents.stage import CLEAN, QUEUES, Stage, owned, unowned

SENT = 500
ALL = 2 * QUEUES
"""Queues of a topic."""
WITH_RETRY = ALL + 2
SOON = 30.0
EXPELLED_WITHIN = 240.0
"""A broker expels a client that is silent for 120 s, and looks every 10 s."""
LOCKED = 60.0
PASS = 20.0


def all_killed(stage: Stage) -> None:
    """All clients of a group killed, then messages."""
    group = topic = "killed-all"
    stage.topic(topic)
    with Consumers(stage.cluster.name_server) as process:
        stage.join(group, topic, "1", "2", "3", process=process)
        stage.wait_until_clean(group, WITH_RETRY, process)
        stage.java.do("send", topic=topic, count=80)
        stage.wait_until_consumed(group, topic)
        since = time.monotonic()
        process.kill()
        stage.java.do("send", topic=topic, count=SENT)
        right = Right(
            f"no-consumer with lag {SENT} on {ALL} queues", 2, {"no-consumer": "error"}, queues={"no-consumer": ALL},
            waiting=SENT, says=(f"{SENT} messages wait",), no_all_clear=True,
        )  # fmt: skip
        stage.until("all clients killed, then 500 messages", group, right, since, SOON)


def other_tags(stage: Stage) -> None:
    """One client takes TagA, one everything, and messages have no tag."""
    group = topic = "tags"
    stage.topic(topic)
    since = time.monotonic()
    stage.join(group, topic, "some", tags="TagA")
    stage.join(group, topic, "all")
    right = Right(
        "mixed-subscriptions, and that messages are skipped", 2, {"mixed-subscriptions": "error"}, ("actual-unowned",),
        says=("skipped permanently", "TagA"),
    )  # fmt: skip
    played = stage.until("one client takes TagA, one *", group, right, since, 60)
    wait_for(lambda: owned(stage.java, group, topic) >= ALL, "both own their queues")
    stage.java.do("send", topic=topic, count=400)
    stage.wait_until_consumed(group, topic)
    n = len(stage.java.do("consumed", group=group))
    played.notes.append(f"of 400 untagged messages {n} were consumed, and no lag is left")
    if n >= 400:
        played.wrong.append("every message was consumed, so nothing was lost")
    stage.leave(group)


def frozen_client(stage: Stage) -> None:
    """One of two consumers frozen until brokers expel it."""
    group = topic = "frozen-client"
    stage.topic(topic)
    with (
        Consumers(stage.cluster.name_server) as other,
        Consumers(stage.cluster.name_server) as frozen,
    ):
        stage.join(group, topic, "1", process=other)
        stage.join(group, topic, "2", process=frozen)
        stage.wait_until_clean(group, WITH_RETRY, other, frozen)

        def partial(_said: Said) -> list[str]:
            before = unowned(group, WITH_RETRY, other)
            said = stage.check(group, "--allow-partial", "--fail-on", "error")
            return allowed_partial(said, min(before, unowned(group, WITH_RETRY, other)))

        since = time.monotonic()
        os.kill(frozen.process.pid, signal.SIGSTOP)
        try:
            right = Right(
                "silent-client; owners not known; `--allow-partial` never 0", 2, {"silent-client": "warning"},
                not_known=("owners",), no_errors=True, no_all_clear=True,
            )  # fmt: skip
            played = stage.until("a client frozen (SIGSTOP)", group, right, since, 60, partial)
            # At the moment of that, all queues of the frozen client have no owner indeed: an error
            # is false only before.
            done = Right(
                "0 findings once the other client owns all", 0, no_errors_if_not_known=("owners",)
            )
            last = stage.until(
                "the same, until brokers expel it", group, done, since, EXPELLED_WITHIN, partial
            )
            last.notes.append(
                f"queues that nobody read at the end: {unowned(group, WITH_RETRY, other)}"
            )
            played.notes.append("asked with `--allow-partial --fail-on error`, too")
        finally:
            os.kill(frozen.process.pid, signal.SIGCONT)


def ordered_killed(stage: Stage) -> None:
    """A client of an ordered group killed: its locks stay for up to 60 s."""
    group = topic = "ordered"
    stage.topic(topic)
    with (
        Consumers(stage.cluster.name_server) as other,
        Consumers(stage.cluster.name_server) as killed,
    ):
        stage.join(group, topic, "1", process=other, orderly=True)
        stage.join(group, topic, "2", process=killed, orderly=True)
        stage.wait_until_clean(group, WITH_RETRY, other, killed)
        n_lost = sum(map(len, killed.owns(group).values()))
        since = time.monotonic()
        killed.kill()
        right = Right(
            "actual-unowned; wait for the lock, up to 60 s; do not restart", 2, {"actual-unowned": ""},
            queues={"actual-unowned": n_lost}, says=("Wait 60 s", "Do not restart clients"),
            never=("restart the client that",),
        )  # fmt: skip
        stage.until("a client of an ordered group killed (kill -9)", group, right, since, SOON)
        done = Right("0 findings once the locks are over", 0, never=right.never)
        stage.until(
            "the same, until the locks are over", group, done, since, LOCKED + 2 * PASS + SOON
        )


def new_group(stage: Stage) -> None:
    """A new group whose clients have the times of a default client."""
    group = topic = "new-group"
    stage.topic(topic)
    with Consumers(stage.cluster.name_server, options=()) as process:
        since = time.monotonic()
        stage.join(group, topic, "1", "2", process=process)
        right = Right(
            "only a warning: check again in 50 s", 2, {"actual-unowned": "warning"}, ("stale-route", "silent-client"),
            says=("Check again in 50 s",), no_errors=True,
        )  # fmt: skip
        stage.until("a new group, first seconds", group, right, since, 30)
        done = Right("0 findings; until then no error", 0, no_errors=True)
        stage.until("the same, once it has settled", group, done, since, 90)


def killed_of_concurrent(stage: Stage) -> None:
    """A client killed of a group that is not ordered, after the rebalance."""
    group = topic = "killed-one"
    stage.topic(topic)
    with (
        Consumers(stage.cluster.name_server) as other,
        Consumers(stage.cluster.name_server) as killed,
    ):
        stage.join(group, topic, "1", process=other)
        stage.join(group, topic, "2", process=killed)
        stage.wait_until_clean(group, WITH_RETRY, other, killed)
        since = time.monotonic()
        killed.kill()
        wait_for(lambda: owned(other, group, topic) == ALL, "the other client owns all")
        stage.until("control: a client killed, after the rebalance", group, CLEAN, since, 30)


def same_id(stage: Stage) -> None:
    """Two processes with one client id, and a third client."""
    group = topic = "same-id"
    stage.topic(topic)
    with (
        Consumers(stage.cluster.name_server) as first,
        Consumers(stage.cluster.name_server) as second,
    ):
        since = time.monotonic()
        stage.join(group, topic, "3")
        for process in (first, second):
            stage.join(group, topic, "twice", process=process)
        more = (
            "unowned-queue",
            "double-owned-queue",
            "actual-unowned",
            "actual-double-owned",
            "silent-client",
        )
        right = Right(
            "duplicate-client-id, and which queues it leaves unread", 2,
            {"duplicate-client-id": "error", "unowned-queue": "error"}, more,
        )  # fmt: skip
        stage.until("control: two processes with one client id", group, right, since, 60)
        stage.leave(group)


def broadcasting(stage: Stage) -> None:
    """A group that broadcasts."""
    group = topic = "broadcasting"
    stage.topic(topic)
    since = time.monotonic()
    stage.join(group, topic, "1", "2", broadcasting=True)
    right = Right("0 findings", 0, no_errors=True)
    stage.until("control: a group that broadcasts", group, right, since, 60)
    stage.leave(group)
