"""Random cases for the strategies of other languages, and what the specification and the engine
answer to them.
"""

import os
from collections import defaultdict
from random import Random, SystemRandom
from typing import Any

import pytest
from strategy_vectors import (
    WRAPPED,
    StrategyCase,
    first_character,
    random_case,
    random_wrapped_case,
)

from rmqalloc import Fleet, strategy
from rmqalloc.strategies.by_name import reads_rooms

SEED = int(os.environ.get("RMQALLOC_SEED") or SystemRandom().randrange(2**32))
SPECIFIED = ("ORDINAL", "ORDINAL/2", "STABLE")

JAVA_CASES = dict.fromkeys(SPECIFIED, 20_000) | dict.fromkeys(WRAPPED, 10_000)
GO_CASES = dict.fromkeys(SPECIFIED, 34_000)
"""How many cases the engine is compared on: 100,000 for either language."""


def random_cases(name: str, n_cases: int) -> list[StrategyCase]:
    """Cases of one strategy; ``RMQALLOC_SEED`` repeats them."""
    random = Random(f"{SEED} {name}")
    make = random_case if name in SPECIFIED else random_wrapped_case
    return [make(random, name) for _ in range(n_cases)]


def check(cases: list[StrategyCase], said: list[str], right: list[str]) -> None:
    """Compare all answers; of those that differ show the smallest, and how to see it again."""
    wrong = [row for row in zip(cases, said, right, strict=True) if row[1] != row[2]]
    if wrong:
        one, given, expected = min(wrong, key=lambda row: len(row[0].line()))
        pytest.fail(
            f"{len(wrong)} of {len(cases)} cases differ; RMQALLOC_SEED={SEED} repeats them.\n"
            f"case: {one.line()}\nthe program: {given}\nexpected: {expected}"
        )


def as_text(owners: list[int]) -> str:
    """Owners as the programs write them."""
    return ",".join(map(str, owners))


def page_answers(cases: list[StrategyCase]) -> list[str]:
    """What the page of the strategy answers."""
    return [as_text(one.specified_owners()) for one in cases]


def engine_answers(cases: list[StrategyCase]) -> list[str]:
    """What the engine answers: cases with the same parameters are a fleet."""
    answers = [""] * len(cases)
    by_parameters = defaultdict(list)
    for i, one in enumerate(cases):
        by_parameters[tuple(one.parameters.items())].append(i)
    for alike in by_parameters.values():
        some = [cases[i] for i in alike]
        fleet = Fleet.from_groups(
            (f"g{i}", one.queues[0].topic, one.queues, one.client_ids) for i, one in enumerate(some)
        )
        owners = strategy(some[0].strategy, **_parameters(some[0])).assign_fleet(fleet).tolist()
        for i, start, end in zip(
            alike, fleet.queue_offsets[:-1], fleet.queue_offsets[1:], strict=True
        ):
            answers[i] = as_text(owners[start:end])
    return answers


def _parameters(one: StrategyCase) -> dict[str, Any]:
    given = dict(one.parameters)
    if "inner" in given:
        given["inner"] = strategy(given["inner"])
    if "tables" in given:
        given["tables"] = True
    if reads_rooms(one.strategy):
        given |= {
            "broker_room": lambda queue: first_character(queue.broker_name),
            "client_room": first_character,
        }
    return given
