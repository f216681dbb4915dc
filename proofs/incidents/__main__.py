"""Incidents on a real cluster, and what ``check`` says: ``python -m incidents [--quick] [--report
FILE]``.

Two brokers of RocketMQ 5.5.0 and real Java clients on loopback; needs a JDK and Maven. Ends with 1
if an answer is wrong.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from live_cluster import LiveCluster
from live_consumers import Consumers

from incidents import brokers, clients, compared
from incidents.page import page
from incidents.stage import Stage, all_right


def plays(is_quick: bool) -> dict[str, Callable[[Stage], None]]:
    """What is played, by name."""
    short: dict[str, Callable[[Stage], None]] = {
        "killed-all": clients.all_killed,
        "tags": clients.other_tags,
        "no-java": partial(clients.no_java, is_quick=is_quick),
        "lite": compared.lite_topics,
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


def main() -> int:
    """Play them, and write a page."""
    parser = argparse.ArgumentParser(prog="python -m incidents", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few of them")
    parser.add_argument(
        "--only", action="append", metavar="NAME", help="play only this; may be given several times"
    )
    parser.add_argument("--report", help="page to write")
    given = parser.parse_args()
    started = time.monotonic()
    chosen = plays(given.quick)
    if unknown := {*(given.only or ())} - chosen.keys():
        parser.error(f"there is no {', '.join(unknown)}; there are {', '.join(chosen)}")
    with LiveCluster(options=()) as cluster, Consumers(cluster.name_server) as java:
        stage = Stage(cluster, java)
        for name, play in chosen.items():
            if not given.only or name in given.only:
                begun = time.monotonic()
                play(stage)
                print(f"  {name}: {time.monotonic() - begun:.0f} s in all", flush=True)
    text = page(stage.played, time.monotonic() - started)
    print(text)
    if given.report:
        Path(given.report).write_text(text, encoding="utf-8")
    return 0 if all_right(stage.played) else 1


if __name__ == "__main__":
    sys.exit(main())
