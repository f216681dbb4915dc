"""Groups and topics whose owners are not compared, and why: not known on one side, or perhaps
hidden by what did not answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rmqalloc.evidence import Outcome
from rmqalloc.ownership.named_states import Unit
from rmqalloc.plans.diffs._changes_between import ClusterChange
from rmqalloc.plans.diffs._diff_result import ComparedState
from rmqalloc.plans.diffs._snapshot_side import SnapshotSide
from rmqalloc.results.and_more import named
from rmqalloc.text import counted

_CLIENTS_HIDDEN = "a partial snapshot lacks clients of the compared snapshot"
QUEUES_HIDDEN = (
    "a partial snapshot lacks the topic, or brokers of the topic, of the compared snapshot"
)


def groups_apart(
    names: Iterable[str], sides: Sequence[SnapshotSide], changes: Iterable[ClusterChange]
) -> dict[str, str]:
    """Return why the owners of groups are not compared, of those of which they are not."""
    unseen = [change for change in changes if _is_unseen(change)]
    hidden = {change.consumer_group for change in unseen if change.topic is None}
    found = {}
    for name in names:
        reasons = [_CLIENTS_HIDDEN] if name in hidden else []
        decided = [side.decision(name) for side in sides if name in side.groups]
        reasons += [decision.reason for decision in decided if not decision.outcome.is_answer]
        if reasons:
            found[name] = reasons[0]
    return found


def units_hidden(
    changes: Iterable[ClusterChange], readers: Mapping[str, Iterable[str]]
) -> dict[Unit, str]:
    """Return groups and topics of which a partial snapshot may lack queues."""
    found = {}
    for change in changes:
        if _is_unseen(change) and change.topic is not None:
            for group in readers.get(change.topic, ()):
                found[group, change.topic] = QUEUES_HIDDEN
    return found


def _is_unseen(change: ClusterChange) -> bool:
    """Return whether something is missing that a partial snapshot may lack."""
    return "_not_seen_" in change.change


def notes_of(apart: Mapping[str, str], units: Mapping[Unit, str]) -> dict[str, str]:
    """Return why a group is not compared, or not in all of its topics."""
    topics: dict[str, dict[str, list[str]]] = {}
    for (group, topic), why in units.items():
        topics.setdefault(group, {}).setdefault(why, []).append(topic)
    notes = {}
    for group, reasons in topics.items():
        parts = [f"topic {named(names)}: {why}" for why, names in reasons.items()]
        notes[group] = "; ".join(parts)
    return notes | dict(apart)


def warnings_of(notes: Mapping[str, str], sides: Iterable[ComparedState]) -> Iterator[str]:
    """Yield what partial snapshots lack, and a line for every reason for which owners are not
    compared.
    """
    for side in sides:
        if side.n_errors:
            requests = counted(side.n_errors, "request was", "requests were")
            yield (
                f"{side.name} is partial: {requests} not answered; names that are missing there are reported as not seen, "
                "not as gone"
            )
    by_reason: dict[str, list[str]] = {}
    for group, why in notes.items():
        by_reason.setdefault(why, []).append(group)
    for why, groups in by_reason.items():
        yield f"owners are not compared: {named(groups)}: {why}"


def refused(apart: Iterable[str], sides: Sequence[SnapshotSide]) -> tuple[str, ...]:
    """Return groups that are not compared until somebody states what is in doubt."""

    def is_refused(name: str) -> bool:
        decided = [side.decision(name) for side in sides if name in side.groups]
        return any(decision.outcome is Outcome.REFUSED for decision in decided)

    return tuple(filter(is_refused, apart))
