"""The strategies of `java` at the committed answers of the real Java classes: what the brute force
itself stands on.
"""

import gzip
import json
from itertools import islice

from bruteforce import java

LEFT_OUT = "null elements, custom hashes, and questions that Java refused as a whole"


def compare(path, tally, every=1):
    """Every client of every n-th case, but for `LEFT_OUT`."""
    with gzip.open(path, "rt") as lines:
        for line in islice(lines, 0, None, every):
            _case(json.loads(line), tally)


def _case(case, tally):
    rule = _rule(case)
    if (
        rule is None
        or None in case["clients"]
        or any(None in queue for queue in case["queues"])
        or "result" not in case
    ):
        return
    queues, clients = list(map(tuple, case["queues"])), case["clients"]
    if len(set(queues)) < len(queues):
        return
    rooms = ({}, {})
    if "queue_rooms" in case["params"]:
        by_broker = {}
        for queue, room in zip(queues, case["params"]["queue_rooms"], strict=True):
            if by_broker.setdefault(queue[1], room) != room:
                return  # rooms by queue, which snapshots do not have
        rooms = by_broker, case["params"]["client_rooms"]
    for client, places in case["result"].items():
        if client in case.get("errors", {}) or places is None or case.get("result_of") == "config":
            continue
        found = java.allocate(rule, client, queues, clients, rooms)
        tally.same(
            f"golden {case['strategy']}",
            case["id"],
            sorted(queues[at] for at in places),
            sorted(found),
        )


def _rule(case):
    return _rule_of(case["strategy"], case["params"])


def _rule_of(name, params):
    if params.get("hash") not in (None, "md5", "MD5", "default"):
        return None
    if name == "CONSISTENT_HASH":
        return {"name": name, "virtual_nodes": params.get("vnodes", java.DEFAULT_NODES)}
    if name == "MACHINE_ROOM":
        return (
            {"name": name, "machine_rooms": params["idcs"]}
            if params.get("idcs") is not None
            else None
        )
    if name.startswith(java.NEARBY):
        inner = _rule_of(params["inner"]["strategy"], params["inner"].get("params", {}))
        return inner and {"name": java.NEARBY, "inner": inner}
    return {"name": name} if name in ("AVG", "AVG_BY_CIRCLE") else None
