"""The events that carry out a scenario of a plan on one group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rmqalloc.evidence import Known
from rmqalloc.globs import matcher
from rmqalloc.scenarios import (
    AddBroker,
    AddClients,
    RemoveBroker,
    RemoveClients,
    ScaleClients,
    Scenario,
    SetQueues,
    SetStrategy,
    SetVirtualNodes,
)
from rmqalloc.simulation._group_events import StagedEvent
from rmqalloc.simulation._group_shape import GroupShape, UnsimulatedError, shape_of
from rmqalloc.snapshot.snapshot import Snapshot
from rmqalloc.strategies import sort_client_ids


def events_of_scenario(
    scenario: Scenario, snapshot: Snapshot | Known, consumer_group: str
) -> list[StagedEvent]:
    """Return events for `simulate_group` that do to a group what a scenario does, one change after
    the other.

    Clients that leave are shut down, clients with another strategy are restarted one by one, and a
    broker that leaves is taken from the routes.

    Raises
    ------
    UnsimulatedError
        A change cannot be simulated, or the scenario does not concern the group.

    Examples
    --------
    >>> import rmqalloc
    >>> fewer = Scenario("fewer", [{"scale_clients": {"to": 3}}, {"remove_broker": {"brokers": "broker-c"}}])
    >>> [one.text for one in events_of_scenario(fewer, rmqalloc.read("example:seed"), "by-average")]
    ['scale to=3', 'change_topic topic=* brokers=broker-c read_queue_nums=0']
    """
    shape = shape_of(snapshot, consumer_group)
    if not matcher(scenario.groups)(consumer_group):
        raise UnsimulatedError(
            f"scenario {scenario.name!r} does not concern group {consumer_group!r}"
        )
    topics = [topic.name for topic in shape.topics if matcher(scenario.topics)(topic.name)]
    found = [event for change in scenario.changes for event in _events(change, shape, topics)]
    if not found:
        raise UnsimulatedError(
            f"scenario {scenario.name!r} changes nothing of group {consumer_group!r}"
        )
    return found


def _events(change: Any, shape: GroupShape, topics: list[str]) -> Iterator[StagedEvent]:
    """Yield the events of one change."""
    match change:
        case ScaleClients():
            if change.to != len(shape.clients):
                yield _event("scale", to=change.to)
        case AddClients():
            yield _event("join", clients=change.count if change.ids is None else list(change.ids))
        case RemoveClients():
            if gone := _leaving(change, shape):
                yield _event("shutdown", clients=gone)
        case SetQueues():
            mine = [topic for topic in topics if matcher(change.topics)(topic)]
            named = {} if change.brokers == ("*",) else {"brokers": list(change.brokers)}
            if mine:
                yield _event(
                    "change_topic",
                    topic=_all_or(mine, shape),
                    **named,
                    read_queue_nums=change.read_queue_nums,
                )
        case RemoveBroker():
            gone = [one for one in change.brokers if one in shape.brokers]
            if gone:
                yield _event(
                    "change_topic", topic=_all_or(topics, shape), brokers=gone, read_queue_nums=0
                )
        case AddBroker():
            numbers = {"brokers": [change.broker_name], "read_queue_nums": change.read_queue_nums}
            yield _event("change_topic", topic=_all_or(topics, shape), **numbers)
        case SetStrategy():
            yield _event("restart", strategy=change.strategy, **_params(change.params))
        case SetVirtualNodes():
            params = {**shape.method.params, "virtual_nodes": change.virtual_nodes}
            yield _event("restart", strategy=shape.method.name, **_params(params))
        case _:
            raise UnsimulatedError(
                f"{type(change).__name__} is not simulated: a script does not know machine rooms"
            )


def _event(kind: str, **given: Any) -> StagedEvent:
    """Return an event with the text that would have been given for it."""
    said = " ".join(f"{name}={_said(value)}" for name, value in given.items())
    return StagedEvent(f"{kind} {said}", kind, given)


def _said(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _params(params: Mapping[str, Any] | None) -> dict[str, Any]:
    return {"params": dict(params)} if params else {}


def _all_or(topics: list[str], shape: GroupShape) -> str | list[str]:
    """Return topics, or the pattern of all."""
    return "*" if len(topics) == len(shape.topics) else topics


def _leaving(change: RemoveClients, shape: GroupShape) -> list[str]:
    """Return the clients of the group that a change removes."""
    ids = sort_client_ids(shape.clients)
    if change.machine_room is not None or change.which == "spread":
        raise UnsimulatedError(
            "RemoveClients by machine room or spread is not simulated; name the clients"
        )
    if change.count is not None:
        return ids[: change.count] if change.which == "first" else ids[-change.count :]
    wanted = set(change.ids or ())
    return [
        one for one in ids if one in wanted or (change.pattern and matcher(change.pattern)(one))
    ]
