"""The table of all strategies in docs/reference/strategies.md.

``python tests/support/strategy_table.py`` writes it there: names, rules, parameters and Java classes from the registry and
its docstrings, balance and movement as measured here on one group.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
from checkout import ROOT
from command_reference import between

from rmqalloc.strategies import STRATEGIES, Strategy, sort_client_ids, sort_queues, strategy

PAGE = ROOT / "docs" / "reference" / "strategies.md"
JAVA = ROOT / "java/src/main/java/io/github/rmqalloc/strategies"
JAVA_NAME = re.compile(r"``((?:Allocate|QueryAssignment)[\w.]+)``")

QUEUES = sort_queues(
    [("orders", f"az{i % 2}@broker-{i}", queue_id) for i in range(8) for queue_id in range(24)]
)
CLIENTS = sort_client_ids([f"10.{i % 2}.0.{i}@consumer-{i}" for i in range(48)])
ROOMS = {
    "broker_room": {f"az{i % 2}@broker-{i}": f"az{i % 2}" for i in range(8)},
    "client_room": {client: f"az{client[3]}" for client in CLIENTS},
}
GIVEN: dict[str, Callable[[], dict[str, Any]]] = {
    "CANARY/1": lambda: {"share": 0.2, "pattern": "*@consumer-1?"},
    "MACHINE_ROOM": lambda: {"machine_rooms": {"az0", "az1"}},
    "MACHINE_ROOM_NEARBY": lambda: {"inner": strategy("AVG"), **ROOMS},
    "MACHINE_ROOM_NEARBY_POOLED/1": lambda: ROOMS,
    "STICKY": lambda: {"owners": dict(zip(QUEUES, _names(strategy("AVG"), CLIENTS), strict=True))},
}
"""Parameters of those that need some for the group that is measured."""
NOT_MEASURED = {"CONFIG": "as configured", "POP": "queues have several owners"}


def _names(made: Strategy, clients: list[str]) -> list[str]:
    return [clients[owner] for owner in made.assign(QUEUES, clients).owners.tolist()]


def measured(name: str) -> tuple[str, str]:
    """Return the widest difference of loads, and how many queues move when one client leaves."""
    made_with = GIVEN.get(name, dict)()
    needed = {parameter.name for parameter in STRATEGIES[name].parameters if parameter.is_needed}
    if name in NOT_MEASURED or needed - {*made_with}:
        return NOT_MEASURED.get(name, "not measured"), "–"
    made = strategy(name, **made_with)
    before = np.array(_names(made, CLIENTS))
    spreads, moved = [spread(before, CLIENTS)], []
    for leaving in CLIENTS:
        rest = [client for client in CLIENTS if client != leaving]
        after = np.array(_names(made, rest))
        spreads.append(spread(after, rest))
        moved.append(np.count_nonzero(before != after))
    return str(max(spreads)), f"{np.mean(moved):.1f}"


def spread(owners: np.ndarray, clients: list[str]) -> int:
    """Return the load of the fullest client less that of the emptiest."""
    loads = [int(np.count_nonzero(owners == client)) for client in clients]
    return max(loads) - min(loads)


def parameters_of(made: type[Strategy]) -> str:
    """Return the parameters with their defaults; those that must be given are bold."""
    signature = inspect.signature(made).parameters
    return ", ".join(
        f"**`{parameter.name}`**" if parameter.is_needed else _with_default(made, signature[parameter.name])
        for parameter in made.parameters
    )  # fmt: skip


def _with_default(made: type[Strategy], parameter: inspect.Parameter) -> str:
    default = made.default_inner if parameter.name == "inner" else parameter.default
    shown = isinstance(default, int | float | str | Decimal)
    return f"`{parameter.name}`" + (f" (`{default}`)" if shown else "")


def java_class(made: type[Strategy]) -> str:
    """Return RocketMQ's class, or that of `java/`."""
    own = f"Allocate{made.__name__}"
    if (JAVA / f"{own}.java").exists():
        return f"`{own}`"
    found = JAVA_NAME.search(inspect.getdoc(made) or "")
    return f"`{found[1]}`" if found else "none"


def rule_of(made: type[Strategy]) -> str:
    """Return the first paragraph of the docstring in one line."""
    first = (inspect.getdoc(made) or "").partition("\n\n")[0]
    return " ".join(first.replace("``", "`").split())


def table() -> str:
    """Return the table as Markdown."""
    lines = [
        "| name | rule | balance | movement | parameters | Java class |",
        "| --- | --- | ---: | ---: | --- | --- |",
    ]
    for name, made in STRATEGIES.items():
        cells = (f"`{name}`", rule_of(made), *measured(name), parameters_of(made), java_class(made))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def with_table(page: str) -> str:
    """Return a page with the table between its marks."""
    return between(page, "strategies", f"\n{table()}\n")


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
