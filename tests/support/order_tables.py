"""Finds the tables of ORDINAL: for m queues an order of all slots each, so that every subset of
slots is balanced.

Each queue goes to the first present slot of its order. That a subset S of slots is balanced says,
for each s in S, how many orders may have s first among S: m/|S| rounded down or up. These are
linear bounds on how often each order is taken, and a mixed-integer solver finds such numbers or
proves that there are none. Slots may be renamed in all orders at once, so the order 0, 1, 2, ... is
taken to be one of them: that leaves the solver a 720th of the work, and it decides every m.

    python -m order_tables --out FILE [--seconds 60]    writes the table of all m up to 60
"""

from __future__ import annotations

import argparse
from itertools import combinations, permutations
from pathlib import Path

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_matrix

MOST_SLOTS = 6
EVEN = 60  # orders of six slots can be even on every subset only by multiples of this


def subsets(n_slots: int) -> list[tuple[int, ...]]:
    """Those of two slots and more."""
    return [s for size in range(2, n_slots + 1) for s in combinations(range(n_slots), size)]


def constraints(n_slots: int) -> tuple[csr_matrix, np.ndarray]:
    """A row for each subset and slot in it, a column for each order; and the size of each row's
    subset.
    """
    orders = list(permutations(range(n_slots)))
    rows, columns, sizes = [], [], []
    for subset in subsets(n_slots):
        first_row = len(sizes)
        place = {slot: first_row + k for k, slot in enumerate(subset)}
        sizes += [len(subset)] * len(subset)
        for column, order in enumerate(orders):
            rows.append(place[next(slot for slot in order if slot in place)])
            columns.append(column)
    shape = (len(sizes), len(orders))
    return csr_matrix((np.ones(len(rows)), (rows, columns)), shape), np.array(sizes)


def orders_of(n_queues: int, n_slots: int, seconds: float) -> list[tuple[int, ...]] | None:
    """Orders for so many queues; an empty list if there are none, None if that was not found out in
    time.
    """
    matrix, sizes = constraints(n_slots)
    bound = LinearConstraint(matrix, n_queues // sizes, -(-n_queues // sizes))
    whole = LinearConstraint(np.ones((1, matrix.shape[1])), n_queues, n_queues)
    least = np.zeros(matrix.shape[1])
    least[0] = 1
    found = milp(
        np.zeros(matrix.shape[1]),
        integrality=np.ones(matrix.shape[1]),
        bounds=Bounds(least, n_queues),
        constraints=[bound, whole],
        options={"time_limit": seconds},
    )
    if found.x is None:
        return [] if found.status == 2 else None
    counts = np.rint(found.x).astype(int)
    return [
        order
        for order, n in zip(permutations(range(n_slots)), counts, strict=True)
        for _ in range(n)
    ]


def is_balanced(orders: list[tuple[int, ...]], n_slots: int) -> bool:
    """Whether the loads of every subset of slots differ by one at most."""
    for subset in [(slot,) for slot in range(n_slots)] + subsets(n_slots):
        loads = dict.fromkeys(subset, 0)
        for order in orders:
            loads[next(slot for slot in order if slot in loads)] += 1
        if max(loads.values()) - min(loads.values()) > 1:
            return False
    return True


def main() -> None:
    """Write the file, for each number of queues of as many slots as possible, up to six."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    lines = []
    for n_queues in range(1, EVEN + 1):
        n_slots, orders, said = MOST_SLOTS + 1, None, []
        while not orders:
            n_slots -= 1
            orders = orders_of(n_queues, n_slots, options.seconds)
            said.append(
                f"{n_slots} {'found' if orders else 'impossible' if orders == [] else 'not known'}"
            )
        assert is_balanced(orders, n_slots)
        print(f"{n_queues} queues: slots {', '.join(said)}", flush=True)
        lines.append(
            f"{n_queues} {n_slots} " + " ".join("".join(map(str, order)) for order in orders) + "\n"
        )
        options.out.write_text("".join(lines))


if __name__ == "__main__":
    main()
