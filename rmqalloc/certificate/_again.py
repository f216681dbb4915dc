"""A snapshot read again for the groups and topics of a saved plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rmqalloc._globs import literal
from rmqalloc.certificate._inputs import inputs_of
from rmqalloc.evidence import with_strategies
from rmqalloc.scenarios import Scenario
from rmqalloc.scenarios._changes import joining_ids, strategies_set
from rmqalloc.snapshot._snapshot import Snapshot
from rmqalloc.snapshot._units import RETRY_PREFIX
from rmqalloc.views._view_units import view_units


def names_of(inputs: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Patterns that the groups and the topics of a plan match, and no others."""
    return [literal(one["name"]) for one in inputs["groups"]], [literal(one) for one in inputs["topics"]]


def lacks_retry(inputs: Mapping[str, Any], snapshot: Snapshot) -> bool:
    """Whether a plan has retry topics that the snapshot does not have, so that they were made for it."""
    return any(one.startswith(RETRY_PREFIX) and snapshot.topic(one) is None for one in inputs["topics"])


def inputs_again(
    inputs: Mapping[str, Any], scenarios: Iterable[Mapping[str, Any]], snapshot: Snapshot
) -> dict[str, Any]:
    """The inputs that a plan of the same groups and topics would have by a snapshot, without lags.

    Raises
    ------
    NoMatchError
        A group or topic is not there.
    """
    made = [Scenario.of(one) for one in scenarios]
    groups, topics = names_of(inputs)
    known = with_strategies(snapshot, groups)
    with_retry, joining = lacks_retry(inputs, snapshot), joining_ids(made)
    read = view_units(known, groups, topics, with_retry, joining, with_shared=True, to_set=strategies_set(made))
    return inputs_of(read, ())
