"""Client-go's own functions, asked in this run: what they answer is what the engine's strategies of
Go's dialect answer.

``RMQALLOC_SEED`` repeats a run, ``RMQALLOC_GO_CASES=100000`` makes it a long one. Where Go is
missing, these tests are skipped and say what to install.
"""

import os
from collections import Counter
from random import Random, SystemRandom

import go_driver
import go_reference
import numpy as np
import pytest
import reference

from rmqalloc import Fleet, strategy

pytestmark = pytest.mark.go

SEED = int(os.environ.get("RMQALLOC_SEED") or SystemRandom().randrange(2**32))
N_CASES = int(os.environ.get("RMQALLOC_GO_CASES") or 5_000)

TOPICS = ["T", "orders", "%RETRY%g", "t-😀", "", "x" * 70]
BROKERS = [
    "broker-a",
    "b",
    "hz@b1",
    "hz@b2",
    "sh@b1",
    "hz@b@",
    "hz@",
    "@",
    "@b",
    "a@b@c",
    "",
    "😀@b",
    "é@" + "z" * 40,
]
ROOMS = [["hz"], ["sh", "hz"], [""], ["😀", "nowhere"], ["é", "a", "sh"], []]
IDS = [
    "10.0.0.{}@{}",
    "10.0.{}.1@{}#17384950",
    "{}.{}",
    "0{}{}",
    "é中😀{}-{}",
    "y" * 61 + "{}{}",
    "1{}10.0.0.1@{}",
]


def random_case(random):
    """A group as a harness of Go reads it: all sizes, ids and queues that repeat, empty names,
    lists out of order.
    """
    n_clients = random.choice([0, 1, 2, 3, 5, 8, random.randrange(40)])
    pattern = random.choice(IDS)
    ids = [pattern.format(random.randrange(30), random.randrange(3)) for _ in range(n_clients)]
    ids = [random.choice([*ids, ""]) if random.random() < 0.05 else one for one in ids]
    topic = random.choice(TOPICS)
    brokers = random.sample(BROKERS, random.randrange(1, 5))
    queues = [[topic, broker, i] for broker in brokers for i in range(random.randrange(12))]
    if random.random() < 0.2:
        queues = random.sample(queues * 2, random.randrange(len(queues) + 1))
    queues += [
        [random.choice(TOPICS), "b", random.randrange(-(2**31), 2**31)]
        for _ in range(random.random() < 0.1)
    ]
    if random.random() < 0.5:
        ids.sort()
        queues.sort()
    name = random.choice(
        [
            "AVG",
            "AVG_BY_CIRCLE",
            "MACHINE_ROOM_NEARBY",
            "MACHINE_ROOM",
            "MACHINE_ROOM",
            *3 * ["CONSISTENT_HASH"],
        ]
    )
    return {
        "strategy": name,
        "virtual_nodes": random.choice([1, 2, 3, 10, 10, 20, 130]),
        "machine_rooms": random.choice(ROOMS),
        "queues": queues,
        "clients": ids,
        "asked": [*dict.fromkeys(ids), "ghost", ""],
    }  # fmt: skip


def made(case):
    """The engine's strategy of a case, and the reference's."""
    match case["strategy"]:
        case "CONSISTENT_HASH":
            nodes = case["virtual_nodes"]
            return strategy(
                "CONSISTENT_HASH", dialect="go", virtual_nodes=nodes
            ), go_reference.GoConsistentHash(nodes)
        case "MACHINE_ROOM":
            rooms = case["machine_rooms"]
            return strategy(
                "MACHINE_ROOM", dialect="go", machine_rooms=rooms
            ), go_reference.GoMachineRoom(set(rooms))
        case "AVG_BY_CIRCLE":
            return strategy("AVG_BY_CIRCLE", dialect="go"), go_reference.GoAvgByCircle()
        case name:
            return strategy(name, dialect="go"), go_reference.GoAvg()


@pytest.fixture(scope="module")
def ask():
    """Client-go."""
    go_driver.built()
    return go_driver.witness


def compare(ask, n_cases, seed):
    """Compare the engine, one client at a time and all at once, and the slow twin with client-go;
    what was compared.
    """
    random = Random(seed)
    cases = [random_case(random) for _ in range(n_cases)]
    seen = Counter()
    for case, answer in zip(cases, ask(cases), strict=True):
        engine, twin = made(case)
        queues = list(map(tuple, case["queues"]))
        said = f"RMQALLOC_SEED={seed}: {case}"
        assert "panic" not in answer, said
        position = {id(queue): i for i, queue in enumerate(queues)}
        for one, taken in zip(case["asked"], answer["taken"], strict=True):
            slowly = twin.allocate("g", one, queues, case["clients"])
            assert [position[id(queue)] for queue in slowly] == taken, said
        # Of the engine, one client is asked alone; all others are asked at once below.
        asked = random.randrange(len(case["asked"]))
        one, taken = case["asked"][asked], answer["taken"][asked]
        if engine.dialect == "go" or (
            one and queues and case["clients"]
        ):  # Java's classes raise where Go's return nothing
            mine = engine.allocate("g", one, queues, case["clients"])
            assert [position[id(queue)] for queue in mine] == taken, said
        if queues and case["clients"]:
            check_owners(engine.assign(queues, case["clients"]).owners, case, answer, said)
        seen[case["strategy"]] += 1
        seen["answers"] += len(answer["taken"])
        seen["queues taken"] += sum(map(len, answer["taken"]))
    return cases, seen


def check_owners(owners, case, answer, said):
    expected = np.full(len(case["queues"]), -1)
    for one, taken in zip(case["asked"], answer["taken"], strict=True):
        assert (expected[taken] == -1).all(), said
        expected[taken] = case["clients"].index(one) if taken else -1
    assert owners.tolist() == expected.tolist(), said


def test_the_engine_answers_as_client_go(ask, capsys):
    cases, seen = compare(ask, N_CASES, SEED)
    with capsys.disabled():
        print(
            f"\ncompared with client-go: {len(cases):,} random cases (RMQALLOC_SEED={SEED}); {dict(seen)}"
        )
    assert (
        min(
            seen[name]
            for name in (
                "AVG",
                "AVG_BY_CIRCLE",
                "MACHINE_ROOM_NEARBY",
                "MACHINE_ROOM",
                "CONSISTENT_HASH",
            )
        )
        > 50
    )
    assert seen["queues taken"] > 5 * N_CASES


def test_a_fleet_answers_as_client_go(ask):
    """All units of one strategy at once."""
    random = Random(SEED + 1)
    cases = [
        one
        for one in (random_case(random) for _ in range(2000))
        if one["queues"] and one["clients"]
    ]
    answers = [*ask(cases)]
    for key in {(one["strategy"], one["virtual_nodes"], *one["machine_rooms"]) for one in cases}:
        mine = [
            i
            for i, one in enumerate(cases)
            if (one["strategy"], one["virtual_nodes"], *one["machine_rooms"]) == key
        ]
        fleet = Fleet.from_groups(
            [("g", "T", list(map(tuple, cases[i]["queues"])), cases[i]["clients"]) for i in mine]
        )
        engine, _ = made(cases[mine[0]])
        for threads in (1, 2):
            owners = np.split(
                engine.assign_fleet(fleet, threads=threads), fleet.queue_offsets[1:-1]
            )
            for i, of_unit in zip(mine, owners, strict=True):
                check_owners(of_unit, cases[i], answers[i], f"RMQALLOC_SEED={SEED}: {cases[i]}")


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"strategy": "CONSISTENT_HASH", "virtual_nodes": 0}, "integer divide by zero"),
        ({"strategy": "MACHINE_ROOM", "machine_rooms": ["hz", "hz"]}, "index out of range"),
    ],
)
def test_what_client_go_panics_with_is_refused(ask, parameters, said):
    queues = [["T", "hz@b", 0], ["T", "hz@b", 1]]
    [answer] = ask([{"queues": queues, "clients": ["c"], "asked": ["c"], **parameters}])
    assert said in answer["panic"]
    given = {name: value for name, value in parameters.items() if name != "strategy"}
    with pytest.raises(ValueError, match="client-go"):
        strategy(parameters["strategy"], dialect="go", **given).allocate("g", "c", queues, ["c"])


def test_client_go_gives_nobody_anything_below_one_point(ask):
    group = {"queues": [["T", "b", 0]], "clients": ["c"], "asked": ["c"]}
    [answer] = ask([{"strategy": "CONSISTENT_HASH", "virtual_nodes": -2, **group}])
    assert answer["taken"] == [[]]
    with pytest.raises(ValueError, match="empty circle"):
        strategy("CONSISTENT_HASH", dialect="go", virtual_nodes=-2)


def test_a_queue_at_a_point_belongs_to_the_next_one(ask):
    """Chance does not find a queue and a point of the same hash, so they are looked for."""
    texts = {go_reference.crc32(reference.text_form(("T", "b", i))): i for i in range(100_000)}
    ids = (
        f"{k * 0x9E3779B97F4A7C15 % 2**64:016x}" for k in range(10**6)
    )  # CRC-32 keeps ids apart that are nearly alike
    point, one = next((at, each) for each in ids if (at := go_reference.crc32(f"0{each}")) in texts)
    queues, ids = [("T", "b", texts[point])], [one, "other"]
    [answer] = ask(
        [
            {
                "strategy": "CONSISTENT_HASH",
                "virtual_nodes": 1,
                "queues": queues,
                "clients": ids,
                "asked": ids,
            }
        ]
    )
    assert answer["taken"] == [[], [0]]
    assert strategy("CONSISTENT_HASH", dialect="go", virtual_nodes=1).assign(
        queues, ids
    ).owners.tolist() == [1]
    assert go_reference.GoConsistentHash(1).allocate("g", "other", queues, ids) == queues
