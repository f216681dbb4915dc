"""Groups for the strategies of our own, in a form that every language reads, and the vectors of
ORDINAL, ORDINAL/2 and STABLE.

``python -m strategy_vectors`` writes ``<name>-vectors.tsv`` of all of them to `tests/data`; the
owners come from the pages that specify them. A line has fields between tabs: strategy, parameters
(``name=value`` between ``;``), topic, queues (``broker:id`` between ``,``), client ids (between
``,``), owners (positions in the client ids between ``,``; -1 is nobody). Queues and client ids are
in RocketMQ's order. Texts are ASCII: all but letters, digits and ``- . _ @ # * ? / %`` stands as
``\\u`` and four hexadecimal digits for each UTF-16 code unit.
"""

import re
from random import Random
from typing import Any, NamedTuple

import specified
from checkout import DATA
from strategy_declarations import declared

from rmqalloc import MessageQueue, sort_client_ids, sort_queues

TOPICS = [
    "TopicTest",
    "orders",
    "%RETRY%order-svc",
    "a",
    "",
    "订单",
    "x😀y",
    "\uffff",
    "payments_2026",
    "T" * 60,
]
BROKERS = ["broker-a", "broker-a-1", "broker-b", "broker-10", "hz@b1", "", "中", "😀", "b,:;=\\ \t"]
ODD_IDS = [
    "",
    " ",
    "a",
    "@",
    "a@",
    "a@-5",
    "@-5",
    "a@b-007",
    "a@b-0",
    "a@b-00",
    "a@b-1@",
    "a@b-1@u@v",
    "a@b-",
    "b-3",
]
ODD_IDS += [
    "a@x-999999999",
    "a@x-1000000000",
    "a@x-٣",
    "a@x-3\u0661",
    "中@中-2",
    "😀@😀-3",
    "a@b--4",
    "a@4",
    "a,b@c-6",
]
PLAIN = re.compile(r"[A-Za-z0-9._@#*?/%-]*")
PATTERNS = ["-#", "#", "pod-#", "-#-eu", "中#", "#😀", "_#"]


class StrategyCase(NamedTuple):
    """One group: the strategy with its parameters, queues of one topic and client ids, as RocketMQ
    sorts them.
    """

    strategy: str
    parameters: dict[str, Any]
    queues: list[MessageQueue]
    client_ids: list[str]

    def line(self, owners: list[int] | None = None) -> str:
        """The case as it is written to a file or given to a program of another language."""
        queues = ",".join(f"{encoded(queue.broker_name)}:{queue.queue_id}" for queue in self.queues)
        parameters = ";".join(
            f"{name}={encoded(str(value))}" for name, value in self.parameters.items()
        )
        fields = [
            self.strategy,
            parameters,
            encoded(self.queues[0].topic),
            queues,
            ",".join(map(encoded, self.client_ids)),
        ]
        return "\t".join(fields + ([] if owners is None else [",".join(map(str, owners))]))

    def specified_owners(self) -> list[int]:
        """What the page of the strategy answers."""
        if self.strategy == "STABLE":
            return specified.stable(self.queues, self.client_ids, self.parameters.get("slack", 0))
        if self.strategy == "ORDINAL/2":
            return specified.ordinal_2(self.queues, self.client_ids, **self.parameters)
        pattern, with_tables = self.parameters.get("pattern", "-#"), "tables" in self.parameters
        return specified.ordinal(self.queues, self.client_ids, pattern, with_tables)


def encoded(text: str) -> str:
    r"""A text in ASCII.

    >>> encoded("a@b-1 中")
    'a@b-1\\u0020\\u4e2d'
    """
    if PLAIN.fullmatch(text):
        return text
    data = text.encode("utf-16-be", "surrogatepass")
    units = [(high << 8) + low for high, low in zip(data[::2], data[1::2], strict=True)]
    return "".join(chr(u) if PLAIN.fullmatch(chr(u)) else f"\\u{u:04x}" for u in units)


def case(
    strategy: str, parameters: dict[str, Any], queues: list[MessageQueue], client_ids: list[str]
) -> StrategyCase:
    """A case in RocketMQ's order."""
    return StrategyCase(strategy, parameters, sort_queues(queues), sort_client_ids(client_ids))


def topic_queues(topic: str, n_brokers: int, per_broker: int, first: int = 0) -> list[MessageQueue]:
    """Whole brokers of one topic."""
    return [
        MessageQueue(topic, f"broker-{b}", first + i)
        for b in range(n_brokers)
        for i in range(per_broker)
    ]


def slot_ids(slots: Any, suffix: str = "") -> list[str]:
    """Clients of a StatefulSet, by their slots."""
    return [f"10.{slot % 7}.3.{slot % 250}@consumer-{slot}{suffix}" for slot in slots]


# --- Random cases -----------------------------------------------------------------------------------------------------


def random_queues(random: Random) -> list[MessageQueue]:
    """Whole brokers, or any queues at all, of one topic; ids may be negative, queues may repeat."""
    topic = random.choice(TOPICS) + random.choice(["", str(random.randrange(1000))])
    first = random.choice([0, 0, 0, -1, -3, -(2**31), 2**31 - 40])
    brokers = random.sample(BROKERS, random.randint(1, 5))
    if random.random() < 0.7:
        return [
            MessageQueue(topic, broker, first + i)
            for broker in brokers
            for i in range(random.choice([1, 2, 4, 8]))
        ]
    n_queues = random.choice([1, 2, 3, 5, 8, random.randint(9, 40)])
    return [
        MessageQueue(topic, random.choice(brokers), first + random.randint(0, 30))
        for _ in range(n_queues)
    ]


def random_ids(random: Random, pattern: str = "-#") -> list[str]:
    """Slots with and without holes, ids without slots, odd ids, repeats, and mixtures of them."""
    size = random.choice([1, 2, 3, 4, 5, 7, 10, random.randint(11, 40)])
    slots = random.sample(range(random.choice([size, size + 1, size + 3, 4 * size + 70])), size)
    ids = slot_ids(slots, random.choice(["", "", "@unit"]))
    if random.random() < 0.5:
        ids = [f"10.0.0.{i}@x{pattern.replace('#', str(slot))}" for i, slot in enumerate(slots)]
    if random.random() < 0.2:
        ids = [f"10.0.{i}.9@{random.getrandbits(16)}#{random.getrandbits(50)}" for i in range(size)]
    if random.random() < 0.3:
        ids[: random.randint(0, size)] = random.choices(ODD_IDS, k=random.randint(1, size))
    if random.random() < 0.3:
        ids += random.choices(ids, k=random.randint(1, 3)) + [
            f"11.{one}" for one in random.choices(ids, k=2)
        ]
    return ids


def random_case(random: Random, strategy: str) -> StrategyCase:
    """A group for ORDINAL, ORDINAL/2 or STABLE."""
    if strategy == "STABLE":
        return case(
            strategy, random.choice([{}, {"slack": 1}]), random_queues(random), random_ids(random)
        )
    if strategy == "ORDINAL" and random.random() < 0.1:
        queues = random_queues(random)
        slots = random.sample(
            range(table_slots(len(queues))), random.randint(1, table_slots(len(queues)))
        )
        return case(strategy, {"tables": "true"}, queues, slot_ids(slots))
    pattern = random.choice(PATTERNS) if random.random() < 0.2 else "-#"
    parameters = {} if pattern == "-#" else {"pattern": pattern}
    return case(strategy, parameters, random_queues(random), random_ids(random, pattern))


WRAPPED = {case.name: case.parameters for case in declared("JAVA_CASES")}
"""How parameters are drawn, by strategy."""


def random_wrapped_case(random: Random, strategy: str) -> StrategyCase:
    """A group for a strategy over another one, or over RocketMQ's ring. Its machine rooms are those
    of `first_character`.
    """
    inner = random.choice(["AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH", "ORDINAL", "STABLE"])
    parameters = WRAPPED[strategy](random, inner)
    ids = random_ids(random)
    if random.random() < 0.5:
        ids += [
            f"{one.partition('@')[0]}@gray" for one in random.choices(ids, k=random.randint(1, 3))
        ]
    return case(strategy, parameters, random_queues(random), ids)


def first_character(text: str) -> str:
    """The machine room of a broker or a client, in the random cases."""
    return text[:1] or "-"


# --- Vectors ----------------------------------------------------------------------------------------------------------

SHAPES = [
    (1, 1, 1),
    (1, 1, 2),
    (1, 5, 40),
    (1, 7, 3),
    (3, 8, 4),
    (3, 8, 5),
    (4, 16, 16),
    (16, 4, 16),
    (8, 24, 48),
]
SHAPES += [(16, 64, 100)]
"""Brokers, queues of each, clients."""

FILES = {"ordinal": "ORDINAL", "ordinal-2": "ORDINAL/2", "stable": "STABLE"}
"""Strategies by the name of their file of vectors."""


def vectors(strategy: str) -> list[StrategyCase]:
    """Cases that say what each paragraph of the page means, and random ones."""
    random = Random(f"{strategy} vectors")
    parameters = [{}, {"slack": 1}] if strategy == "STABLE" else [{}]
    cases = [
        case(
            strategy,
            given,
            topic_queues("orders", n_brokers, per_broker),
            slot_ids(range(n_clients)),
        )
        for given in parameters
        for n_brokers, per_broker, n_clients in SHAPES
    ]
    queues = topic_queues("TopicTest", 3, 8)
    odd = [
        [i for i in range(13) if i not in (3, 7)],
        [5],
        [0, 2, 4, 6],
        [1_000_000],
        range(100, 104),
        [1, 71, 72, 73, 200],
    ]
    cases += [case(strategy, {}, queues, slot_ids(slots)) for slots in odd]
    ids = slot_ids(range(4))
    cases += [
        case(strategy, {}, queues, some)
        for some in (
            ODD_IDS,
            [*ids, *ids],
            [*ids, ""],
            ["", ""],
            [""],
            [*ids, *[f"9{one}" for one in ids]],
            [*ids, "gray"],
        )
    ]
    cases += [case(strategy, {}, topic_queues(topic, 2, 8, -3), ids) for topic in TOPICS]
    cases += [
        case(
            strategy,
            {},
            [MessageQueue("T", broker, i) for broker in BROKERS for i in (0, 0, 1)],
            ids,
        )
    ]
    cases += [
        random_case(random, strategy) for _ in range(60 - len(cases) + 10 * (strategy != "STABLE"))
    ]
    return cases + (table_vectors() if strategy == "ORDINAL" else [])


def table_vectors() -> list[StrategyCase]:
    """ORDINAL by tables: as many slots as there are orders of, and some of them missing."""
    cases = []
    for n_queues in (1, 2, 3, 5, 8, 24, 59, 60, 61, 192):
        k = table_slots(n_queues)
        queues = topic_queues(f"orders-{n_queues}", 1, n_queues)
        for slots in (range(k), range(1, k), (0, 2), (k - 1,)):
            cases.append(case("ORDINAL", {"tables": "true"}, queues, slot_ids(slots)))
    return cases


def table_slots(n_queues: int) -> int:
    """How many slots the table for so many queues has."""
    return len(specified.tables()[n_queues % 60 or 60][0])


def text(strategy: str) -> str:
    """The file of a strategy."""
    return "".join(f"{one.line(one.specified_owners())}\n" for one in vectors(strategy))


if __name__ == "__main__":
    for name, strategy in FILES.items():
        (DATA / f"{name}-vectors.tsv").write_text(text(strategy), encoding="ascii")
