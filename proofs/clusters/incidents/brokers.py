"""Incidents of brokers: frozen, thawed, and a slave that does not stand in for its master."""

from __future__ import annotations

import asyncio
import re
import time

from live_cases import GONE, lose_master, start_pair
from live_cluster import BROKERS

from clusters.badday.frozen import frozen
from clusters.incidents.judging import ALL_CLEAR, Right, Said
from clusters.incidents.stage import CLEAN, Stage, double_owned, unowned
from rmqalloc.remoting.client import Remote
from rmqalloc.remoting.read_codes import ReadCode
from rmqalloc.snapshot.live._take import Wanted, take_snapshot

MEMBERS = ("1", "2", "3")
WITH_RETRY = 10
FROZEN_FOR = 45.0
"""Seconds, in which clients open several connections, one after the other, that the broker finds when it goes on."""


FREEZES = 3
"""How often it is frozen at most: dead connections are left where their heartbeats are read after their ends."""
NONE_DEAD = "the broker listed no dead connection, so nothing was shown"


def frozen_and_thawed(stage: Stage) -> None:
    """A broker frozen, and going on."""
    group = topic = "frozen-broker"
    stage.topic(topic)
    stage.join(group, topic, *MEMBERS)
    stage.wait_until_clean(group, WITH_RETRY)
    with frozen(stage.cluster, BROKERS[1]):
        since = time.monotonic()
        right = Right(
            "silent-broker; its queues not known; never that every queue is read", 2, {"silent-broker": "warning"},
            ("silent-client",), says=(BROKERS[1],), not_known=("brokers",), no_errors=True, no_all_clear=True,
        )  # fmt: skip
        stage.until("a broker frozen (SIGSTOP)", group, right, since, 60, _half)
        time.sleep(max(0.0, FROZEN_FOR - (time.monotonic() - since)))
    thawed(stage, group)
    for _ in range(FREEZES - 1):
        if stage.played[-1].wrong != [NONE_DEAD]:
            break
        stage.played.pop()
        with frozen(stage.cluster, BROKERS[1]):
            time.sleep(FROZEN_FOR)
        thawed(stage, group)
    stage.leave(group)


def thawed(stage: Stage, group: str) -> None:
    """The broker goes on and finds connections that clients gave up, and lists them until they were
    silent for 120 s.
    """
    since = time.monotonic()
    counts, open_ones, doubles, n_lasting = [0], [0], [0], [0]

    def false_now(said: Said) -> list[str]:
        told = [
            int(n.replace(",", ""))
            for n in re.findall(r"all ([\d,]+) clients? reported", said.text)
        ]
        (found,) = take_snapshot(
            [stage.cluster.name_server], wanted=Wanted((group,), lag=False)
        ).groups
        n, n_open = max([len(found.clients), *told]), unowned(group, WITH_RETRY, stage.java)
        counts.append(asyncio.run(listed(stage.cluster.brokers[BROKERS[1]], group)))
        lasting = min(n_open, open_ones[-1])
        open_ones.append(n_open)
        doubles.append(double_owned(group, stage.java))
        n_lasting[0] += lasting > 0
        wrong = [f"{n} clients are counted, there are {len(MEMBERS)}"] if n > len(MEMBERS) else []
        is_clear = not said.code or ALL_CLEAR in said.text
        return [
            *wrong,
            *(
                [f"an all-clear while {lasting} queues have no owner"]
                if lasting and is_clear
                else []
            ),
        ]

    played = stage.until(
        "the broker thawed (SIGCONT)", group, CLEAN, since, 200, false_now, at_least=20
    )
    if max(counts) <= len(MEMBERS):
        played.wrong.append(NONE_DEAD)
    played.notes.append(
        f"the broker itself listed up to {max(counts)} connections of {len(MEMBERS)} clients; up to {max(open_ones)} "
        f"queues had no owner by the clients' own tables, some at {n_lasting[0]} of {played.n_answers} answers, and up to "
        f"{max(doubles)} had several"
    )


async def listed(address: str, group: str) -> int:
    """Connections of a group that a broker lists."""
    async with Remote([address]) as remote:
        asked = {"consumerGroup": group}
        content, _ = await remote.ask(address, ReadCode.GET_CONSUMER_CONNECTION_LIST, asked)
        return len(content["connectionSet"])


def _half(said: Said) -> list[str]:
    """What is false if queues of the silent broker are not among those of which nothing is known."""
    n = said.unknown_queues()
    return (
        [f"{n} queues are not known, there are at least 4 at the silent broker"]
        if said.document and n < 4
        else []
    )


def slave_alone(stage: Stage) -> None:
    """A slave that would stand in for its master, if the name server let it; it does not by
    default.
    """
    start_pair(stage.cluster, enableSlaveActingMaster="true")
    group, topic = "bereft", "bereft-orders"
    since = time.monotonic()
    lose_master(stage.cluster, stage.java, group, topic)
    right = Right(
        "no-master and ordered-lock-holder-gone: the slave does not stand in", 2,
        {"no-master": "error", "ordered-lock-holder-gone": "error"},
        ("stranded-backlog", "topic-without-route", "actual-unowned", "silent-client"), says=(GONE,),
        never=("which acts as master", "ACTING_MASTER"),
    )  # fmt: skip
    played = stage.until("only a slave left, supportActingMaster=false", group, right, since, 60)
    snapshot = take_snapshot([stage.cluster.name_server], wanted=Wanted((group,), lag=False))
    roles = {one.role for one in snapshot.brokers if one.broker_name == GONE}
    played.notes.append(f"role of the slave: {', '.join(sorted(roles))}")
    if roles != {"SLAVE"}:
        played.wrong.append(f"the slave is {roles}")
    stage.leave(group)
    stage.cluster.kill_broker("pair-slave")
