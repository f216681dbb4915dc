"""What is played, and the table of it."""

from __future__ import annotations

import time
from collections.abc import Callable

from live_cluster import LiveCluster
from live_consumers import Consumers
from proof import Report

from clusters.incidents import brokers, clients
from clusters.incidents.stage import Played, Stage

COLUMNS = ("incident", "right is", "what check says", "exit code", "answers", "seconds until said")


def plays(is_quick: bool) -> dict[str, Callable[[Stage], None]]:
    """What is played, by name."""
    short: dict[str, Callable[[Stage], None]] = {
        "killed-all": clients.all_killed,
        "tags": clients.other_tags,
    }
    if is_quick:
        return short
    return short | {
        "frozen-client": clients.frozen_client,
        "ordered": clients.ordered_killed,
        "new-group": clients.new_group,
        "killed-one": clients.killed_of_concurrent,
        "same-id": clients.same_id,
        "broadcasting": clients.broadcasting,
        "frozen-broker": brokers.frozen_and_thawed,
        "slave": brokers.slave_alone,
    }


def incidents(report: Report, is_quick: bool) -> None:
    """Play incidents, each with groups of its own, and ask ``check`` until it says what is right.

    No answer before may be false: no all-clear, no error about what is only not known.
    """
    with LiveCluster(options=()) as cluster, Consumers(cluster.name_server) as java:
        stage = Stage(cluster, java)
        for name, play in plays(is_quick).items():
            begun = time.monotonic()
            play(stage)
            print(f"  {name}: {time.monotonic() - begun:.0f} s in all", flush=True)
    judged(report, stage.played)


def judged(report: Report, played: list[Played]) -> None:
    """Report what was played; an empty list proves nothing."""
    report.head(COLUMNS)
    for one in played:
        code, seconds = one.said.code, f"{one.seconds:.1f}"
        report.row(one.incident, one.right.words, one.said.brief, code, one.n_answers, seconds)
    for one in played:
        for note in one.notes:
            report.say(f"* {one.incident}: {note}")
        for text in one.wrong:
            report.fault(f"{one.incident}: {text}")
    if not played:
        report.fault("no incident was played")
