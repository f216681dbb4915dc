"""Replay the golden answers with nothing but the installed package.

    python tests/support/replay_golden.py

A short form of ``test_golden.py`` for places without pytest: every answer of `allocate`, error
texts included.
"""

import gzip
import json
import sys
from pathlib import Path

import rmqalloc
from rmqalloc import MessageQueue, strategy
from rmqalloc.errors import ArgumentError, ArgumentTypeError

GOLDEN = Path(__file__).parents[1] / "data" / "golden.jsonl.gz"
KINDS = {"IllegalArgumentException": ArgumentError, "NullPointerException": ArgumentTypeError}


def made(name, params, case, queues):
    """The strategy of a case."""
    if name == "CONSISTENT_HASH":
        return strategy(name, **({"virtual_nodes": params["vnodes"]} if "vnodes" in params else {}))
    if name == "MACHINE_ROOM":
        return strategy(name, machine_rooms=params["idcs"])
    if name == "CONFIG":
        return strategy(name, message_queues=case.setdefault("configured", config(params)))
    inner = params.get("inner")
    if name == "POP":
        return strategy(
            name,
            inner=made(inner["strategy"], inner["params"], case, queues),
            pop_share_queue_num=params["share"],
        )
    if name.startswith("MACHINE_ROOM_NEARBY"):
        rooms = {id(queue): room for queue, room in zip(queues, params["queue_rooms"], strict=True)}
        return strategy(
            "MACHINE_ROOM_NEARBY",
            inner=made(inner["strategy"], inner["params"], case, queues),
            broker_room=lambda queue: rooms[id(queue)],
            client_room=params["client_rooms"].get,
        )
    return strategy(name, **params)


def config(params):
    """Queues of a CONFIG strategy, None where unset."""
    return (
        None
        if params.get("config") is None
        else [MessageQueue(*queue) for queue in params["config"]]
    )


def answer(call):
    """What a call returns, or the type and text of its error."""
    try:
        return call()
    except (ValueError, TypeError) as error:
        return type(error), str(error)


def agrees(got, said):
    """Whether an outcome is the Java error ``Class: message``; of a NullPointerException only the
    class counts.
    """
    kind, _, text = said.partition(": ")
    return (
        isinstance(got, tuple)
        and got[0] is KINDS[kind]
        and (kind == "NullPointerException" or got[1] == text)
    )


def wrong_answers(case):
    """Probes of a case that rmqalloc answers otherwise than Java, and the number of probes."""
    queues = [MessageQueue(*queue) for queue in case["queues"]]
    rule = answer(lambda: made(case["strategy"], case["params"], case, queues))
    if case.get("error_at") == "constructor":
        return [] if agrees(rule, case["error"]) else ["constructor"], 1
    wrong = []
    expected = {**case.get("result", {}), **case.get("errors", {})}
    if "error" in case:
        expected |= dict.fromkeys(case["clients"], case["error"])
    for client_id, said in expected.items():
        got = answer(lambda c=client_id: rule.allocate("g", c, queues, case["clients"]))
        if isinstance(said, str):
            right = agrees(got, said)
        elif said is None:
            right = got is None
        else:
            source = case["configured"] if case.get("result_of") == "config" else queues
            want = [source[i] for i in said]
            if case.get("queue_id_minus_one"):
                want = [queue._replace(queue_id=-1) for queue in want]
            right = got == want
        if not right:
            wrong.append(client_id)
    return wrong, len(expected)


def main():
    """Replay all and say how many agree."""
    cases = probes = 0
    wrong = []
    with gzip.open(GOLDEN, "rt") as lines:
        for line in lines:
            case = json.loads(line)
            bad, asked = wrong_answers(case)
            wrong += [(case["id"], client_id) for client_id in bad]
            cases, probes = cases + 1, probes + asked
    print(
        f"rmqalloc {rmqalloc.__version__}: {cases} cases, {probes} answers, {len(wrong)} differ from Java"
    )
    print(*wrong[:20], sep="\n", end="\n" * bool(wrong))
    return bool(wrong) or cases != 3049


if __name__ == "__main__":
    sys.exit(main())
