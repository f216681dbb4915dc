"""What is known to break an invariant, by RocketMQ or by what the simulation leaves out, each with
the evidence it needs.

A violation is a finding only if what was recorded shows its cause. Everything else is a failure of
the proof.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from chaos.recording import Interval, Record, Stored
from chaos.rules import Violation, consumed_by
from chaos.schedules import longest_step
from rmqalloc.remoting.clock import LOCK_RENEWAL

LOCK_BELIEVED = 30_000
"""A client believes in a lock so long after its last renewal (ms): ``ProcessQueue.REBALANCE_LOCK_MAX_LIVE_TIME``."""

LATE_UNLOCK = 20_000
"""4.9 unlocks a queue that it gave up with messages in it so much later (ms): ``ProcessQueue.unlockDelayTimeMills``."""

TIMEOUT = 5_000
"""A request of a step that gets no answer takes that long at most (ms)."""

STOPS = ("crash", "vanish", "freeze", "pause", "shutdown", "restart")
"""Events that stop a client."""


@dataclass(frozen=True)
class Finding:
    """A known cause of violations.

    Attributes
    ----------
    name : str
        What it is called.
    whose : str
        ``RocketMQ`` or ``simulation``.
    rules : tuple of str
        Invariants that it breaks.
    reason : str
        Why, with the Java class.
    shows : callable
        Whether a record shows that it is the cause of a violation.
    """

    name: str
    whose: str
    rules: tuple[str, ...]
    reason: str
    shows: Callable[[Record, Violation], bool]


def cause_of(record: Record, violation: Violation) -> Finding | None:
    """Return the known cause of a violation, None if it has none."""
    for finding in FINDINGS:
        if violation.rule in finding.rules and finding.shows(record, violation):
            return finding
    return None


def _forgot_locks(record: Record, violation: Violation) -> bool:
    """Return True if the queue's broker came back at most as long before as a client believes in a
    lock.
    """
    slack = _slack(record)
    for one in record.script.events:
        if one.kind == "restart_broker" and violation.queue.broker_name in one.detail.brokers:
            back = one.at + one.detail.lasts
            if back <= violation.since and violation.until <= back + LOCK_BELIEVED + slack:
                return True
    return False


def _unlocked_late(record: Record, violation: Violation) -> bool:
    """Return True if an owner had given the queue up 20 s before, by a release that unlocks late,
    and had it again.
    """
    if record.script.profile != "4.9":
        return False
    return any(
        _unlocks(record, violation, left, again) for left, again in _returns(record, violation)
    )


def _returns(record: Record, violation: Violation) -> Iterator[tuple[Interval, Interval]]:
    """Return each earlier interval of a process that owns the queue at the violation, with the one
    that holds it.
    """
    mine = [one for one in record.intervals if one.queue == violation.queue]
    for again in mine:
        if again.start <= violation.since < again.end:
            for left in mine:
                if left.process == again.process and left.end <= again.start:
                    yield left, again


def _unlocks(record: Record, violation: Violation, left: Interval, again: Interval) -> bool:
    """Return True if a late unlock lets another client in: it follows the removal, at the latest
    just before the return.
    """
    slack = _slack(record)
    for removed in (left.end, again.start):
        unlocked = removed + LATE_UNLOCK
        if (
            unlocked - slack <= violation.since
            and violation.until <= unlocked + LOCK_RENEWAL + slack
        ):
            return True
    return False


def _listener_at_work(record: Record, violation: Violation) -> bool:
    """Return True if one of the two owners ends no later than a listener works, and the other began
    meanwhile.
    """
    longest = int(record.script.groups[0].listener_time)
    ends = {one.end for one in record.intervals if one.queue == violation.queue}
    return violation.until - violation.since <= longest and violation.until in ends


def _kept_messages(record: Record, violation: Violation) -> bool:
    """Return True if a process goes on where it stopped itself, after or while others had the
    queue.
    """
    owner = _owner_at(record, violation, violation.since)
    before = [one for one in record.readings[violation.queue] if one.since < violation.since]
    owners = [_owners_at(record, violation, one.since) for one in before]
    if owner is None or all(had <= {owner} for had in owners):
        return False
    mine = [one for one, had in zip(before, owners, strict=True) if owner in had]
    at = next(
        one.offset for one in record.readings[violation.queue] if one.since == violation.since
    )
    return any(consumed_by(record.flow, one, one.until) == at for one in mine)


def _read_from_nowhere(record: Record, violation: Violation) -> bool:
    """Return True if 4.9 reads from the offset -1."""
    begun = {one.offset for one in record.readings[violation.queue] if one.since == violation.since}
    return record.script.profile == "4.9" and begun == {-1}


def _owner_at(record: Record, violation: Violation, time: int) -> int | None:
    """Return the process whose interval of the queue holds a time; the later one of two."""
    holding = [
        one
        for one in record.intervals
        if one.queue == violation.queue and one.start <= time < one.end
    ]
    return max(holding, key=lambda one: one.start).process if holding else None


def _owners_at(record: Record, violation: Violation, time: int) -> set[int]:
    """Return all processes whose interval of the queue holds a time."""
    mine = (one for one in record.intervals if one.queue == violation.queue)
    return {one.process for one in mine if one.start <= time < one.end}


def _empty_route(record: Record, violation: Violation) -> bool:
    """Return True if the topic has no queue left to read."""
    return not record.queues


def _step_of_one_moment(record: Record, violation: Violation) -> bool:
    """Return True if the stored offset is one of a later moment of its reading, or of a client that
    had just stopped.
    """
    if violation.rule == "skip":
        begun = next(
            one.offset for one in record.readings[violation.queue] if one.since == violation.since
        )
        ahead = [one for one in record.stored.get(violation.queue, []) if one.offset == begun]
    else:
        ahead = [one for one in record.stored[violation.queue] if one.at == violation.since]
    return any(
        _is_of_later_moment(record, violation, one) or _is_of_stopped(record, violation, one)
        for one in ahead
    )


def _is_of_later_moment(record: Record, violation: Violation, stored: Stored) -> bool:
    return any(
        one.since <= stored.at < one.until
        and consumed_by(record.flow, one, one.until) == stored.offset
        for one in record.readings[violation.queue]
    )


def _is_of_stopped(record: Record, violation: Violation, stored: Stored) -> bool:
    """Return True if a reading would have come to that offset in the step that its client was in
    when it stopped.
    """
    longest = longest_step(record.script) + TIMEOUT
    stops = {int(one.at) for one in record.script.events if one.kind in STOPS}
    if any(at <= stored.at <= at + longest for at in stops):
        return True
    able = record.flow.consumed_per_second * longest // 1_000
    ends = [
        consumed_by(record.flow, one, one.until)
        for one in record.readings[violation.queue]
        if one.until in stops
    ]
    return any(end < stored.offset <= end + able for end in ends)


def _slack(record: Record) -> int:
    """Return how long a few steps take."""
    return 2 * longest_step(record.script) + 1_000


FINDINGS = (
    Finding(
        "forgotten-locks",
        "RocketMQ",
        ("two-owners",),
        "Locks are in the memory of one broker (RebalanceLockManager). After its restart another client gets a lock that "
        "the owner believes in until its next renewal, at most 30 s (ProcessQueue.isLockExpired).",
        _forgot_locks,
    ),
    Finding(
        "late-unlock",
        "RocketMQ",
        ("two-owners",),
        "4.9 unlocks a queue 20 s after giving it up if messages waited in it (RebalancePushImpl.unlockDelay), also if "
        "the same client has locked it again meanwhile; the next client gets the lock.",
        _unlocked_late,
    ),
    Finding(
        "listener-at-work",
        "RocketMQ",
        ("two-owners",),
        "A listener that works on messages of a queue is not waited for by a shutdown "
        "(ConsumeMessageOrderlyService.shutdown unlocks all), nor from 5.2 on by a removal whose lock is older than 20 s "
        "(RebalancePushImpl.removeUnnecessaryMessageQueue); the next owner begins meanwhile.",
        _listener_at_work,
    ),
    Finding(
        "kept-messages",
        "RocketMQ",
        ("order",),
        "A client that was away for longer than its lock keeps its process queue and goes on with the messages in it once "
        "it has the lock again; the offset is read again only before the first pull (PullRequest.isPreviouslyLocked), "
        "which others may have moved far ahead.",
        _kept_messages,
    ),
    Finding(
        "read-from-nowhere",
        "RocketMQ",
        ("order",),
        "4.9 takes an offset that could not be read for -1 and pulls from there (DefaultMQPushConsumerImpl.pullMessage); "
        "the broker answers with its first message, so everything is consumed again.",
        _read_from_nowhere,
    ),
    Finding(
        "empty-route",
        "RocketMQ",
        ("double",),
        "5.5 passes over a route without a readable queue, and in earlier releases the strategy fails over none "
        "(RebalanceImpl.rebalanceByTopic), so clients keep the queues that they have, also those that two of them have.",
        _empty_route,
    ),
    Finding(
        "step-of-one-moment",
        "simulation",
        ("stored-ahead", "skip"),
        "A step of a client is one moment in the simulation: after a request that took time, the offsets that it sends "
        "are those of that later time, although the client stops in between or its other steps come first.",
        _step_of_one_moment,
    ),
)
