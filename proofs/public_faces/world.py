"""Good fleets, strategies and results that hostile arguments are given to; made once in a process."""

from functools import cached_property

import numpy as np
from strategy_cases import RULES

import rmqalloc
from public_faces import arrow
from rmqalloc import Fleet, MessageQueue
from rmqalloc.evaluation import PlanSpec
from rmqalloc.scenarios import Rules, scenarios_of
from rmqalloc.strategies import ConfigByClient

SCENARIOS = scenarios_of(
    [
        {"name": "fewer", "changes": [{"remove_clients": {"count": 1}}]},
        {"name": "more", "changes": [{"scale_clients": {"to": 5}}]},
        {
            "name": "some",
            "groups": ["group 1"],
            "changes": [{"add_broker": {"broker_name": "z", "read_queue_nums": 2}}],
        },
    ]
)
QUEUES = [MessageQueue("t", f"room{i % 2}@b", i) for i in range(6)]
CLIENTS = ["x@1", "y@2", "z@3"]


class Known:
    """A fleet and what its units are."""

    def __init__(self, units, fleet=None):
        self.fleet = fleet or Fleet.from_groups(units, on_error="report")
        self.groups = [group for group, *_ in units]
        self.topics = [topic for _, topic, *_ in units]
        self.queues = [
            [MessageQueue(topic, *queue) for queue in queues] for _, topic, queues, _ in units
        ]
        self.clients = [ids for *_, ids in units]

    @property
    def whole(self):
        return list(zip(self.groups, self.topics, self.queues, self.clients, strict=True))


def said(fleet):
    """What a fleet says of all its units, as `Known.whole`."""
    units = range(fleet.n_units)
    return [(*fleet.names_of(u), fleet.queues_of(u), fleet.client_ids_of(u)) for u in units]


def _units(n, repeat=False):
    return [
        (
            f"group é{i}",
            f"topic {i % 3}",
            [(f"b{q % 2}", q) for q in range(i % 4)],
            [f"client {i}-{c}" for c in range(i % 5)]
            + (["", "x", "x"] if repeat and i % 2 else []),
        )
        for i in range(n)
    ]


class World:
    """Everything good."""

    def __init__(self):
        alike = [
            ("g", "t", [("a", 0), ("b", 1)], ["x", "y"]),
            ("h", "t", [("a", 0), ("b", 1)], ["x", "y"]),
        ] * 3
        self.known = [
            Known(_units(7)),
            Known(_units(9, repeat=True)),
            Known(alike),
            Known(_units(1)),
            Known([]),
        ]
        self.rules = [(rule.label, rule.make()) for rule in RULES]
        by_client = {client: QUEUES[i : i + 1] for i, client in enumerate(CLIENTS)}
        self.rules.append(("CONFIG by client", ConfigByClient(by_client)))
        self.specs = [
            PlanSpec("AVG", scenarios=SCENARIOS),
            PlanSpec("CONSISTENT_HASH", scenarios=SCENARIOS[:2], output="best"),
            PlanSpec("AVG", output="owners"),
        ]

    def rules_with(self, name):
        """Strategies whose class answers a method by the function of that name in the code."""
        *_, method = name.split(".")
        found = [
            made for _, made in self.rules if _written(getattr(type(made), method, None)) == name
        ]
        if not found:
            raise LookupError(f"no strategy of tests/support/strategy_cases.py has {name}")
        return found

    @cached_property
    def snapshot(self):
        return rmqalloc.read("example:orders")

    @cached_property
    def plan(self):
        return rmqalloc.plan(
            self.snapshot, [{"name": "six", "changes": [{"scale_clients": {"to": 6}}]}]
        )

    @cached_property
    def findings(self):
        return rmqalloc.check(rmqalloc.read("example:duplicate-id"))

    @cached_property
    def simulated(self):
        from rmqalloc.simulation import Script, simulate

        script = {"duration": "10s", "brokers": "b", "topics": [{"name": "t", "read_queue_nums": 5}],
                  "groups": [{"name": "g", "topics": "t", "clients": ["x", "y"]}]}  # fmt: skip
        return simulate(Script.of(script))

    @cached_property
    def rooms(self):
        """A fleet that knows machine rooms."""
        import pyarrow as pa

        table = pa.Table.from_pylist(
            [
                {name: row[name] for name in (*arrow.BASE, "brokers", "client_rooms")}
                for row in arrow.ROWS
            ]
        )
        rooms = [["r"] * len(row["brokers"]) for row in arrow.ROWS]
        return Fleet.from_arrow(
            table.append_column("broker_rooms", pa.array(rooms)), on_error="report"
        )

    def rules_of(self, fleet, of_unit=None):
        """Two strategies for the units of a fleet."""
        table = (rmqalloc.strategy("AVG"), rmqalloc.strategy("CONSISTENT_HASH"))
        plain = np.arange(fleet.n_units, dtype=np.int32) % 2 if of_unit is None else of_unit
        return Rules(table, plain)


def _written(method):
    return f"{getattr(method, '__module__', '')}.{getattr(method, '__qualname__', '')}"
