"""Figures of queues that are open while clients follow a change: those of transitions, and of the
steps of rollouts.
"""

from __future__ import annotations

import numpy as np

from result_rules.ledger import CheckedRows, Mask, Values

_NOTHING = 1e-9
"""What a sum of shares that cancel out may leave."""

WHICH = ("unowned", "double_owned")


def open_rules(rows: CheckedRows, which: str, most: str, n_queues: Values) -> None:
    """Check the figures of one kind of open queues."""
    after, worst, p99, total = (
        f"{which}_{name}" for name in ("after", "seconds_worst", "seconds_p99", "queue_seconds")
    )
    expected = f"{which}_expected"
    rows.not_negative((most, after, expected, worst, p99, total), -_NOTHING)
    rows.at_most(
        f"{expected} is at most {most}", expected, rows[most].astype(float), rows.known(expected)
    )
    rows.at_most(f"{after} is at most {most}", after, most)
    rows.at_most(
        f"{expected} is at least {after}", rows[after].astype(float), expected, rows.known(expected)
    )
    rows.at_most(f"{p99} is at most {worst}", p99, worst, rows.known(p99, worst))
    rows.keep(f"{p99} is null where {worst} is", rows.known(p99) == rows.known(worst))
    rows.keep(f"{total} is null where {worst} is", rows.known(worst) | ~rows.known(total))
    longest = rows[worst] * np.maximum(n_queues, 1)
    rows.at_most(
        f"{total} is at most {worst} for every queue", total, longest, rows.known(total, worst)
    )
    none = rows[most] == 0
    for name in (expected, total):
        rows.keep(
            f"{name} is 0 where no queue is open", ~none | (rows[name] <= _NOTHING), rows[name]
        )
    counted = none & rows.known(
        total
    )  # else they are bounds, of queues that several clients may read
    for name in (worst, p99):
        rows.keep(f"{name} is 0 where no queue is open", ~counted | (rows[name] == 0), rows[name])


def message_rules(rows: CheckedRows) -> None:
    """Check that messages are queue-seconds times one rate."""
    delayed, twice = "messages_delayed", "messages_twice"
    rows.not_negative((delayed, twice))
    seconds = [f"{which}_queue_seconds" for which in WHICH]
    for name, total in zip((delayed, twice), seconds, strict=True):
        none: Mask = (rows[total] > 0) | (rows[name] == 0)
        rows.keep(f"{name} is 0 where {total} is", none, rows[name])
        rows.keep(f"{name} is null where {total} is", rows.known(total) | ~rows.known(name))
    known = rows.known(delayed, twice, *seconds)
    rows.same(
        "messages have one rate",
        rows[delayed] * rows[seconds[1]],
        rows[twice] * rows[seconds[0]],
        known,
    )
