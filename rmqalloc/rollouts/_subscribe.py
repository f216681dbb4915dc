"""A topic that is added to a group's subscriptions, or removed from them, client by client."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rmqalloc.errors import ArgumentError
from rmqalloc.evidence import Known
from rmqalloc.rollouts.planned_groups import planned_groups_of
from rmqalloc.rollouts.replay_groups import none_left, play_schedules
from rmqalloc.rollouts.rollout_result import Rollout
from rmqalloc.rollouts.schedule import (
    ClientView,
    GroupAtStart,
    Moment,
    Schedule,
    Step,
    everyone,
    turns_of,
)
from rmqalloc.snapshot.snapshot import Group, Snapshot, Topic
from rmqalloc.text import counted, literal, matcher


def change_subscription(
    snapshot: Snapshot | Known,
    topic: str,
    groups: Sequence[str] = ("*",),
    remove: bool = False,
    batch: int | str = 1,
    order: str = "shuffled",
    seed: int = 0,
    detail: bool = False,
) -> Rollout:
    """Subscribe the clients of every group to a topic, or unsubscribe them, a batch at a time.

    Brokers list all clients of a group, independent of subscriptions. All clients give queues of
    the topic to a client that is not subscribed, and it does not read them: these queues are
    unowned until the last client has followed.

    Examples
    --------
    >>> from rmqalloc.snapshot import Client, Topic, TopicBroker
    >>> topic, clients = Topic("T", (TopicBroker("b", 8),)), tuple(Client(f"c{i}") for i in range(4))
    >>> change_subscription(Snapshot((topic,), (Group("g", (), clients, strategy="AVG"),)), "T").steps["unowned"].to_pylist()
    [8, 6, 4, 2, 0]
    """
    known = Known.of(snapshot, groups)
    snapshot = _in_found_rooms(known, topic)
    if snapshot.topic(topic) is None:
        raise ArgumentError(
            f"the snapshot has no topic {topic!r}, so its queues are not known; give a topic that exists"
        )
    chosen, skipped = _chosen(snapshot, topic, groups, remove)
    # Other groups do not matter here and would only cost time.
    with_topic = replace(
        snapshot, groups=tuple(_subscribed(group, topic) for group in chosen) or snapshot.groups
    )

    verb = "leave" if remove else "subscribe"

    def schedule_of(group: GroupAtStart) -> Schedule:
        n_clients = len(group.client_ids)
        size, turns = turns_of(group, batch, order, seed)
        reading = everyone(n_clients) if remove else ~everyone(n_clients)
        steps = [Step("before", (Moment((ClientView(everyone(n_clients), reading),)),))]
        for number, turn in enumerate(turns, start=1):
            before, reading = reading, reading.copy()
            reading[turn] = not remove
            who = counted(len(turn), f"client {verb}s", f"clients {verb}")
            what = f"batch {number} of {len(turns)}: {who}"
            moment = Moment((ClientView(everyone(n_clients), reading),))
            steps.append(Step(what, (moment,), to_inform=reading ^ before, begins_with_one=True))
        return Schedule(group.client_ids, group.rooms, steps, size)

    planned = planned_groups_of(
        known.with_changed(with_topic), ("*",) if chosen else groups, (literal(topic),)
    )
    return play_schedules(planned, schedule_of, detail=detail, skipped=skipped)


def _in_found_rooms(known: Known, topic: str) -> Snapshot:
    """Return the snapshot with the brokers of a topic in the machine rooms that were found of them
    for other topics.
    """
    found: dict[str, set[str]] = {}
    for was, is_ in zip(known.given.topics, known.snapshot.topics, strict=True):
        for before, after in zip(was.brokers, is_.brokers, strict=True) if was is not is_ else ():
            if before.machine_room is None and after.machine_room is not None:
                found.setdefault(after.broker_name, set()).add(after.machine_room)
    rooms = {name: next(iter(of)) for name, of in found.items() if len(of) == 1}

    def placed(one: Topic) -> Topic:
        if one.name != topic or not rooms:
            return one
        brokers = (
            replace(b, machine_room=b.machine_room or rooms.get(b.broker_name)) for b in one.brokers
        )
        return replace(one, brokers=tuple(brokers))

    return replace(known.snapshot, topics=tuple(map(placed, known.snapshot.topics)))


def _chosen(
    snapshot: Snapshot, topic: str, groups: Sequence[str], remove: bool
) -> tuple[list[Group], dict[str, str]]:
    """Return groups whose subscription is to change, and why the others that match are skipped."""
    what = "does not subscribe" if remove else "subscribes already"
    is_wanted, chosen, skipped = matcher(tuple(groups)), [], {}
    for group in snapshot.groups:
        if is_wanted(group.name):
            if (topic in group.subscriptions) == remove:
                chosen.append(group)
            else:
                skipped[group.name] = f"consumer group {group.name!r} {what} to topic {topic!r}"
    if skipped and not chosen:
        raise none_left(skipped)
    return chosen, skipped


def _subscribed(group: Group, topic: str) -> Group:
    return (
        group
        if topic in group.subscriptions
        else replace(group, subscriptions=(*group.subscriptions, topic))
    )
