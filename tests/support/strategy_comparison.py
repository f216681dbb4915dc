"""Random cases for the strategies of other languages, and what the specification and the engine answer to them."""

import os
from collections.abc import Callable
from random import Random, SystemRandom
from typing import Any

import pytest
from strategy_vectors import StrategyCase, first_character, random_case, random_wrapped_case

from rmqalloc import strategies, strategy

SEED = int(os.environ.get("RMQALLOC_SEED") or SystemRandom().randrange(2**32))
N_CASES = 100_000
"""How many cases the engine is compared on, for each strategy."""

SPECIFIED = ("ORDINAL", "STABLE")
WRAPPED = ("ROTATED", "CONSISTENT_HASH_BOUNDED", "MACHINE_ROOM_NEARBY_POOLED", "CANARY")


def random_cases(name: str, n_cases: int) -> list[StrategyCase]:
    """Cases of one strategy; ``RMQALLOC_SEED`` repeats them."""
    random = Random(f"{SEED} {name}")
    make = random_case if name in SPECIFIED else random_wrapped_case
    return [make(random, name) for _ in range(n_cases)]


def check(cases: list[StrategyCase], said: list[str], right: Callable[[StrategyCase], str]) -> None:
    """Compare all answers; of those that differ show the smallest, and how to see it again."""
    rows = zip(cases, said, map(right, cases), strict=True)
    wrong = [row for row in rows if row[1] != row[2]]
    if wrong:
        one, given, expected = min(wrong, key=lambda row: len(row[0].line()))
        pytest.fail(
            f"{len(wrong)} of {len(cases)} cases differ; RMQALLOC_SEED={SEED} repeats them.\n"
            f"case: {one.line()}\nthe program: {given}\nexpected: {expected}"
        )


def as_text(owners: Any) -> str:
    """Owners as the programs write them."""
    return ",".join(map(str, owners))


def of_page(one: StrategyCase) -> str:
    """What the page of the strategy answers."""
    return as_text(one.specified_owners())


def engine(name: str) -> Callable[[StrategyCase], str]:
    """What the engine answers; the test is skipped as long as it does not have the strategy."""
    if name not in strategies.STRATEGIES:
        pytest.skip(f"the engine has no {name}")
    made: dict[Any, Any] = {}

    def answer(one: StrategyCase) -> str:
        key = tuple(one.parameters.items())
        if key not in made:
            made[key] = strategy(name, **_parameters(one))
        try:
            return as_text(made[key].assign(one.queues, one.client_ids).owners.tolist())
        except ValueError as refusal:
            return f"error: {refusal}"

    return answer


def _parameters(one: StrategyCase) -> dict[str, Any]:
    given = dict(one.parameters)
    if "inner" in given:
        given["inner"] = strategy(given["inner"])
    if "tables" in given:
        given["tables"] = True
    if one.strategy == "MACHINE_ROOM_NEARBY_POOLED":
        given |= {"broker_room": lambda queue: first_character(queue.broker_name), "client_room": first_character}
    return given
