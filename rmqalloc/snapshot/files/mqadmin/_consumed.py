"""What several outputs of consumerProgress say of one group: of all its topics, or of one each
(``-t``).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from rmqalloc.model import RETRY_PREFIX, MessageQueue
from rmqalloc.snapshot.files.mqadmin._outputs import Progress
from rmqalloc.snapshot.files.mqadmin._sections import Section
from rmqalloc.snapshot.snapshot import Lag


class Consumed(NamedTuple):
    """How far a group is."""

    lags: list[Lag]
    owners: dict[MessageQueue, str]  # address of one client that has the queue
    is_whole: (
        bool  # whether owners are given of all topics, and every queue, retry topics aside, has one
    )
    # topics that the group subscribes to and of which owners are not given though those of others
    # are
    missing: list[str]
    consume_tps: float | None


def put_together(given: Sequence[Progress], subscriptions: Collection[str]) -> Consumed | None:
    """Return all outputs of consumerProgress of one group, None without any."""
    if not given:
        return None
    lags: dict[MessageQueue, _Place] = {}
    owners: dict[MessageQueue, str] = {}
    repeated: list[Lag] = []
    for one in given:
        repeated += _add(one, lags)
        owners |= one.owners
    asked = {lag.queue.topic for one in given if one.owners for lag in one.lags}
    missing = (
        sorted(t for t in subscriptions if t not in asked and not t.startswith(RETRY_PREFIX))
        if owners
        else []
    )
    all_lags = [*(lag for lag, _, _ in lags.values()), *repeated]
    return Consumed(
        all_lags,
        owners,
        all(one.is_whole for one in given) and not missing,
        missing,
        _tps(given, len(lags)),
    )


_Place = tuple[Lag, Section, int]
"""A lag with its output, and how far down it stands there."""


def _add(one: Progress, lags: dict[MessageQueue, _Place]) -> list[Lag]:
    """Add the lags of one output; what one output itself repeats is returned, for names that are
    cut may look alike.
    """
    repeated = []
    for lag, offset in zip(one.lags, one.offsets, strict=True):
        there, section, line = lags.setdefault(lag.queue, (lag, one.section, offset))
        if section is one.section:
            repeated += [lag] if line != offset else []
        elif there != lag:
            raise one.section.error(
                f"queue {lag.queue.queue_id} of topic {lag.queue.topic!r} on broker {lag.queue.broker_name!r} has offsets "
                f"{_offsets(lag)} here and {_offsets(there)} at {section.place(line)}; give one of the two outputs",
                offset,
            )
    return repeated


def _offsets(lag: Lag) -> str:
    return f"{lag.broker_offset} (broker) and {lag.consumer_offset} (consumer)"


def _tps(given: Sequence[Progress], n_queues: int) -> float | None:
    """Return messages consumed per second: those of an output that has all queues, else the sum
    over outputs that share none.
    """
    sizes = [len({lag.queue for lag in one.lags}) for one in given]
    whole = next((one for one, size in zip(given, sizes, strict=True) if size == n_queues), None)
    if whole is not None:
        return whole.consume_tps
    return sum(one.consume_tps for one in given) if sum(sizes) == n_queues else None
