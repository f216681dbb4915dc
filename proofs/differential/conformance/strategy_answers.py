"""Groups, and the queues that each client takes: by RocketMQ's own strategies, by the product, and
by client-go.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import go_driver
import java_driver
import replay_golden

from differential.conformance.files import Line

NAME = "strategies"
KEPT = {
    "AVG": 60,
    "AVG_BY_CIRCLE": 60,
    "CONSISTENT_HASH": 80,
    "MACHINE_ROOM": 40,
    "MACHINE_ROOM_NEARBY-AVG": 30,
}
"""How many groups are kept of each strategy."""

MOST_QUEUES = 60


def recorded() -> Iterator[Line]:
    """Return groups with the answers of the real classes, asked now; JavaFailed or JavaMissing if
    they cannot be.
    """
    groups = list(_groups())
    for group, said in zip(
        groups, java_driver.witness(_request(one) for one in groups), strict=True
    ):
        yield {
            **group,
            "takes": {client_id: said["result"][client_id] for client_id in group["clients"]},
        }


def _request(group: Line) -> Line:
    return {**group, "id": 0, "probes": group["clients"], "sort": False}


def _groups() -> Iterator[Line]:
    """Return small groups of the golden answers, those without an error and in order."""
    kept: Counter[str] = Counter()
    with gzip.open(replay_golden.GOLDEN, "rt") as lines:
        for case in map(json.loads, lines):
            name = case["strategy"]
            if kept[name] < KEPT.get(name, 0) and _is_plain(case):
                kept[name] += 1
                yield {key: case[key] for key in ("strategy", "params", "queues", "clients")}


def _is_plain(case: Line) -> bool:
    if (
        not case["sorted_input"]
        or "error" in case
        or "errors" in case
        or len(set(case["clients"])) < len(case["clients"])
    ):
        return False
    return 0 < len(case["queues"]) <= MOST_QUEUES and 0 < len(case["clients"]) <= MOST_QUEUES


def wrong_of_product(line: Line) -> list[str]:
    """Return the clients that the product gives other queues than Java does."""
    wrong: list[str] = replay_golden.wrong_answers({**line, "result": line["takes"]})[0]
    return wrong


def wrong_of_go(lines: Iterable[Line]) -> dict[str, tuple[int, int]]:
    """Return by strategy how many groups client-go was asked, and of how many it shares the queues
    otherwise.

    Raises
    ------
    go_driver.GoMissing
        There is no Go on this machine.
    """
    asked = list(lines)
    counts: dict[str, list[int]] = {}
    for line, said in zip(asked, go_driver.witness(map(_for_go, asked)), strict=True):
        count = counts.setdefault(line["strategy"], [0, 0])
        count[0] += 1
        count[1] += said.get("taken") != [line["takes"][client_id] for client_id in line["clients"]]
    return {name: (n, wrong) for name, (n, wrong) in counts.items()}


def _for_go(line: Line) -> dict[str, Any]:
    return {
        "strategy": line["strategy"].removesuffix("-AVG"),
        "virtual_nodes": line["params"].get("vnodes", 10),
        "machine_rooms": line["params"].get("idcs", []),
        "queues": line["queues"],
        "clients": line["clients"],
        "asked": line["clients"],
    }
