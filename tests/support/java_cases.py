"""Random cases for the real RocketMQ classes: every strategy in many settings, on likely and
unlikely groups.

A `Setup` is one rule with its parameters, in the words of the Java program, of the package and of
the reference at once. All cases of a setup share the rule, so that one `Fleet` can hold them.
Everything follows from one seed.
"""

import zlib
from array import array
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

import random_groups as inputs
import reference
from reference import java_string, utf16

from rmqalloc import MessageQueue, strategy

GHOST = "ghost"  # asked for in every case, and never in the list
Case = dict[str, Any]


# --- Hash functions, as ``Rule.java`` has them ------------------------------------------------------------------------


def java_hash(key: str) -> int:
    """``String.hashCode()``, of the UTF-16 code units."""
    units = array("H", key.encode("utf-16", "surrogatepass")[2:])
    code = 0
    for unit in units:
        code = (31 * code + unit) & 0xFFFFFFFF
    return signed(code, 32)


def tiny(key: str) -> int:
    """Java's remainder has the sign of the dividend: 99 values, so that nearly every point is
    fought for.
    """
    code = java_hash(key)
    return abs(code) % 50 * (-1 if code < 0 else 1)


def wide(key: str) -> int:
    """All 64 bits, to tell a signed comparison from an unsigned one."""
    return signed(java_hash(key) * 0x9E3779B97F4A7C15, 64)


def signed(number: int, bits: int) -> int:
    number &= (1 << bits) - 1
    return number - (number >> (bits - 1) << bits)


HASHES: dict[str, Callable[[str], int]] = {"java_hash": java_hash, "tiny": tiny, "wide": wide}


# --- Rules ------------------------------------------------------------------------------------------------------------


class Rule(NamedTuple):
    """A rule in three spellings; `params` is a function of the case, as Java is told the room of
    every queue.
    """

    name: str
    params: Callable[[Case], dict[str, Any]]
    make: Callable[[], Any]
    reference: Callable[[], Any]
    source: list[MessageQueue] | None = (
        None  # what is handed out where that is not the queues of the case
    )
    by_broker: bool = True  # a fleet knows the room of a broker, not of each of its queues


class Setup(NamedTuple):
    """A rule, the family it counts for and how many cases it gets."""

    family: str
    rule: Rule
    n_cases: int


def plain(name: str, twin: type) -> Rule:
    return Rule(name, lambda case: {}, lambda: strategy(name), twin)


AVG = plain("AVG", reference.Avg)
CIRCLE = plain("AVG_BY_CIRCLE", reference.AvgByCircle)


def consistent_hash(virtual_nodes: int | None, hash_name: str | None = None) -> Rule:
    params: dict[str, Any] = {} if virtual_nodes is None else {"vnodes": virtual_nodes}
    ours: dict[str, Any] = {} if virtual_nodes is None else {"virtual_nodes": virtual_nodes}
    if hash_name is not None:
        params["hash"], ours["hash_function"] = hash_name, HASHES[hash_name]
    return Rule(
        "CONSISTENT_HASH",
        lambda case: params,
        lambda: strategy("CONSISTENT_HASH", **ours),
        lambda: reference.ConsistentHash(**ours),
    )


def machine_room(rooms: list[str] | None) -> Rule:
    rooms_set = None if rooms is None else set(rooms)
    return Rule(
        "MACHINE_ROOM",
        lambda case: {"idcs": rooms},
        lambda: strategy("MACHINE_ROOM", machine_rooms=rooms_set),
        lambda: reference.MachineRoom(rooms_set),
    )


def config(queues: list[MessageQueue] | None) -> Rule:
    return Rule(
        "CONFIG",
        lambda case: {"config": queues},
        lambda: strategy("CONFIG", message_queues=queues),
        lambda: reference.Config(queues),
        [] if queues is None else queues,
    )


class Rooms(NamedTuple):
    """Where brokers and clients stand: chance, but always the same for the same text."""

    salt: int
    broker_rooms: list[str | None]
    client_rooms: list[str | None]
    by_broker: bool  # else the queues of one broker lie in different rooms
    as_mappings: bool  # give the package mappings, which `params` fills, instead of functions
    known_brokers: dict[str | None, str | None]
    known_clients: dict[str | None, str | None]

    def of_queue(self, queue: MessageQueue) -> str | None:
        number = 0 if self.by_broker else queue.queue_id
        return self.pick(f"{queue.broker_name}/{number}", self.broker_rooms)

    def of_client(self, client_id: str) -> str | None:
        return self.pick(client_id, self.client_rooms)

    def pick(self, text: str, rooms: list[str | None]) -> str | None:
        return rooms[zlib.crc32(utf16(text), self.salt) % len(rooms)]

    def of_case(self, case: Case) -> dict[str, Any]:
        """The rooms of a case as Java is told them."""
        queues, clients = case["queues"] or (), case["clients"] or ()
        for spelled in (lambda text: text, java_string):
            self.known_brokers.update(
                (spelled(queue.broker_name), self.of_queue(queue)) for queue in queues
            )
            self.known_clients.update(
                (spelled(client), self.of_client(client)) for client in clients
            )
        return {
            "queue_rooms": list(map(self.of_queue, queues)),
            "client_rooms": {java_string(client): self.of_client(client) for client in clients},
        }


def nearby(inner: Rule, rooms: Rooms) -> Rule:
    def params(case: Case) -> dict[str, Any]:
        return {
            "inner": {"strategy": inner.name, "params": inner.params(case)},
            **rooms.of_case(case),
        }

    def make() -> Any:
        as_mappings = rooms.as_mappings and rooms.by_broker and None not in rooms.known_brokers
        broker_room = rooms.known_brokers if as_mappings else rooms.of_queue
        client_room = rooms.known_clients if as_mappings else rooms.of_client
        return strategy(
            "MACHINE_ROOM_NEARBY",
            inner=inner.make(),
            broker_room=broker_room,
            client_room=client_room,
        )

    def twin() -> Any:
        return reference.MachineRoomNearby(inner.reference(), rooms.of_queue, rooms.of_client)

    by_broker = rooms.by_broker and inner.by_broker
    return Rule(f"MACHINE_ROOM_NEARBY-{inner.name}", params, make, twin, inner.source, by_broker)


def pop(inner: Rule, share: int) -> Rule:
    return Rule(
        "POP",
        lambda case: {
            "inner": {"strategy": inner.name, "params": inner.params(case)},
            "share": share,
        },
        lambda: strategy("POP", inner=inner.make(), pop_share_queue_num=share),
        lambda: reference.Pop(inner.reference(), share),
    )


# --- Settings ---------------------------------------------------------------------------------------------------------

ROOM_NAMES = ["hz", "sh", "HZ", " ", "😀", "\uffff", "\ud800", "r10", "r2"]


def random_rooms(random: Random) -> Rooms:
    """Two to five rooms, some only for queues or only for clients; at times a broker or a client
    stands nowhere.
    """

    def some(nowhere: list[str | None]) -> list[str | None]:
        known: list[str | None] = list(random.sample(names, random.randint(1, len(names))))
        return known * 20 + nowhere if random.random() < 0.5 else known

    names = random.sample(ROOM_NAMES, random.randint(2, 5))
    rooms = some([None, ""]), some([None, ""])
    return Rooms(
        random.getrandbits(32), *rooms, random.random() < 0.8, random.random() < 0.5, {}, {}
    )


def setups(random: Random) -> list[Setup]:
    """Every strategy in every kind of setting: 2,300 cases and more."""
    configured = [
        MessageQueue("Cfg", random.choice(inputs.BROKERS), random.randint(-1, 3)) for _ in range(5)
    ]
    twins = [MessageQueue("Cfg", "b", 1), MessageQueue("Cfg", "b", 1)]
    rings = [consistent_hash(v) for v in (None, 0, 1, 2, 10, 100)]
    rings += [consistent_hash(v, name) for v in (0, 1, 2, 10) for name in HASHES]
    rings += [consistent_hash(100, "wide"), consistent_hash(None, "tiny")]
    rooms = [
        ["hz"],
        ["hz", "sh"],
        ["", "a", "😀", "\ue000"],
        [],
        None,
        random.sample(ROOM_NAMES, 4),
    ]
    inner = [AVG, CIRCLE, consistent_hash(10), consistent_hash(2, "tiny"), consistent_hash(0)]
    inner += [machine_room(["hz", "a", "sh"]), machine_room(None), config(twins), config(None)]
    inner += [
        nearby(AVG, random_rooms(random)),
        nearby(nearby(CIRCLE, random_rooms(random)), random_rooms(random)),
    ]
    inner += [nearby(consistent_hash(1), random_rooms(random))]
    shares = [-(2**31), -1, 0, 1, 2, 3, 5, 8, 2**31 - 1]
    return [
        Setup("AVG", AVG, 240),
        Setup("AVG_BY_CIRCLE", CIRCLE, 240),
        *(Setup("CONSISTENT_HASH", rule, 30) for rule in rings),
        *(Setup("MACHINE_ROOM", machine_room(some), 45) for some in rooms),
        *(Setup("CONFIG", config(queues), 25) for queues in (configured, twins, [], None)),
        *(
            Setup("MACHINE_ROOM_NEARBY", nearby(rule, random_rooms(random)), 14)
            for rule in inner * 3
        ),
        *(Setup("POP", pop(rule, share), 18) for rule in (AVG, CIRCLE) for share in shares),
        Setup("POP", pop(consistent_hash(10), 2), 18),
    ]


# --- Groups -----------------------------------------------------------------------------------------------------------

BROKERS = ["broker-a", "broker-a-1", "broker-b", "broker-10", "hz@b1", "hz@b2", "sh@b1"]
ODD_IDS = ["", " ", "\u3000", "\u00a0", "a", "a-0", "a-1", "a-0-1", "null", "中", "😀"]
ODD_IDS += ["x\ud800", "x\udfff", "x?", "\ue000", "\U00010000"]


def odd_text(random: Random) -> str:
    return "".join(random.choices(inputs.CHARACTERS, k=random.randint(0, 4)))


def random_clients(random: Random) -> list[str]:
    """Distinct and repeated ids, few and many, real-looking and odd ones."""
    size = random.choice([1, 2, 3, 4, 5, 7, 10, random.randint(11, 40)])
    real = [
        f"10.{random.randint(0, 3)}.0.{i}@{random.getrandbits(16)}#{random.getrandbits(50)}"
        for i in range(size)
    ]
    odd = [
        random.choice(ODD_IDS) if random.random() < 0.5 else odd_text(random) for _ in range(size)
    ]
    alike = [f"c{random.choice(['', '-', '-1'])}{i}" for i in range(size)]
    clients: list[str] = random.choice(
        [real, real, odd, alike, [*real[: size // 2], *odd[size // 2 :]]]
    )
    if random.random() < 0.3:
        clients = random.choices(clients, k=random.randint(1, size + 3))
    return random.sample(clients, len(clients))


def random_queues(random: Random, nulls: bool) -> list[MessageQueue]:
    """Whole brokers of one topic, or any queues at all; distinct objects even where they are equal."""
    base = random.choice([0, 0, 0, -1, -3, -(2**31), 2**31 - 40])
    if random.random() < 0.5:
        topic, per_broker = random.choice(inputs.TOPICS), random.choice([1, 2, 4, 8, 30])
        brokers = random.sample(BROKERS, random.randint(1, 5))
        queues = [
            MessageQueue(topic, broker, base + i) for broker in brokers for i in range(per_broker)
        ]
    else:
        texts = [None] if nulls else []
        queues = [
            MessageQueue(
                random.choice(inputs.TOPICS + texts),
                random.choice(
                    [
                        random.choice(inputs.BROKERS + texts),
                        random.choice(inputs.BROKERS),
                        odd_text(random),
                    ]
                ),
                base + random.randint(0, 30),
            )
            for _ in range(random.choice([1, 2, 3, 5, 8, random.randint(9, 60)]))
        ]
    return random.sample(queues, len(queues)) if random.random() < 0.7 else queues


def random_case(random: Random, setup: Setup) -> Case:
    """One group, and who is asked: all its members, strangers, the empty id, a blank one and null."""
    queues: list[MessageQueue] | None = random_queues(random, nulls=random.random() < 0.1)
    clients: list[str] | None = random_clients(random)
    if random.random() < 0.03:
        queues = random.choice([[], None])
    if random.random() < 0.03:
        clients = random.choice([[], None])
    members = dict.fromkeys(map(java_string, clients or ()))
    case = {"queues": queues, "clients": clients, "setup": setup}
    case["probes"] = [
        *dict.fromkeys([*members, GHOST, "", " ", "\u3000", random.choice(ODD_IDS), None])
    ]
    return case


def request(case: Case, number: int) -> dict[str, Any]:
    """What the Java program is asked."""
    rule = case["setup"].rule
    asked = {key: case[key] for key in ("queues", "clients", "probes")}
    sort = case["queues"] is not None and case["clients"] is not None
    return {"id": number, "strategy": rule.name, "params": rule.params(case), "sort": sort, **asked}


def random_cases(seed: int) -> list[Case]:
    """All cases of a seed."""
    random = Random(seed)
    return [random_case(random, setup) for setup in setups(random) for _ in range(setup.n_cases)]
