"""Running a script."""

from __future__ import annotations

import os
from collections import Counter
from functools import partial

import numpy as np

from rmqalloc.defects import all_is_ours
from rmqalloc.documents.fields import ScenarioError
from rmqalloc.errors import ArgumentError
from rmqalloc.garbage import no_collection
from rmqalloc.remoting import PROFILES
from rmqalloc.simulation._actions import perform
from rmqalloc.simulation._cluster import Cluster
from rmqalloc.simulation._events import Event
from rmqalloc.simulation._member import SimulatedGroup
from rmqalloc.simulation._messages import Flow, count_all_messages
from rmqalloc.simulation._result import EventResult, GroupResult, Ownership, Result
from rmqalloc.simulation._script import Script, read_script
from rmqalloc.simulation._script_parts import GroupPart
from rmqalloc.simulation._settings import SetConsumeMode
from rmqalloc.simulation._steps import Place
from rmqalloc.simulation._timeline import Times

OTHER_COUNTS = ("process_queues", "passes", "notices")


def simulate(
    script: Script | str | os.PathLike[str], seed: int | None = None, profile: str | None = None
) -> Result:
    """Run a script from its beginning to its end.

    Parameters
    ----------
    script : Script or path
        What to run, or a file of it.
    seed : int, optional
        Instead of the script's.
    profile : str, optional
        Instead of the script's: a key of `rmqalloc.remoting.PROFILES`.

    Returns
    -------
    Result

    Raises
    ------
    ScenarioError
        The profile does not have what the script asks for, or a broker refuses a step.
    ValueError
        There is no such profile.

    Examples
    --------
    One of four clients shuts down, and is missed for about a second.

    >>> script = Script.of({"duration": "1m", "brokers": "broker-a", "topics": [{"name": "t", "read_queue_nums": 24}],
    ...     "groups": [{"name": "g", "topics": "t", "clients": 4}],
    ...     "events": [{"at": "40s", "shutdown": {"clients": "g-1"}}]})
    >>> left = simulate(script).events[-1]
    >>> left.event, left.unowned, left.process_queues, left.settled_after < 1_500
    ('shutdown g-1', 0, 8, True)
    """
    if not isinstance(script, Script):
        script = read_script(script)
    profile = script.profile if profile is None else profile
    if profile not in PROFILES:
        raise ArgumentError(f"there is no profile {profile!r}; known are {', '.join(PROFILES)}")
    script.check_profile(profile)
    seed = script.seed if seed is None else seed
    with no_collection(), all_is_ours():
        cluster = _built(script, Cluster(PROFILES[profile], seed, int(script.latency)))
        seen = _run(script, cluster)
        ownerships = [_ownership(group, script.duration) for group in cluster.groups.values()]
        moves = [_moves(group, script.duration) for group in cluster.groups.values()]
        ends = [*(event.at for event in seen[1:]), script.duration]
        events = [
            _event(event, int(end), ownerships, moves)
            for event, end in zip(seen, ends, strict=True)
        ]
        groups = [
            _group(group, ownership, times, script.duration)
            for group, ownership, times in zip(
                cluster.groups.values(), ownerships, moves, strict=True
            )
        ]
    requests = dict(sorted(cluster.network.requests.items()))
    return Result(script.name, profile, seed, script.duration, events, groups, requests, ownerships)


def _built(script: Script, cluster: Cluster) -> Cluster:
    """Return the cluster as it is when the simulation begins."""
    for broker in script.brokers:
        for settings in script.broker_settings:
            if settings.brokers is None or broker in settings.brokers:
                cluster.configure_broker(broker, settings.given())
        cluster.start_broker(broker)
    for topic in script.topics:
        for broker in topic.brokers or script.brokers:
            cluster.set_topic(topic.name, broker, topic.read_queue_nums)
    produced = {topic.name: topic.produced_per_second for topic in script.topics}
    for number, part in enumerate(script.groups):
        strategy = part.made_strategy()
        assert strategy is not None  # it has a default
        flows = {topic: Flow(produced[topic], part.consumed_per_second) for topic in part.topics}
        group = cluster.add_group(
            part.name,
            flows,
            strategy,
            part.ordered,
            int(part.listener_time),
            part.server_assignment,
        )
        _configure(cluster, part, script, number)
        for i, name in enumerate(part.client_names):
            cluster.clock.call_later(i * part.start_every, partial(cluster.join, group, name))
    return cluster


def _configure(cluster: Cluster, part: GroupPart, script: Script, number: int) -> None:
    """Set what brokers know of a group before its first heartbeat."""
    if part.subscription_group is not None:
        for broker in script.brokers:
            cluster.configure_group(part.name, broker, **vars(part.subscription_group))
    if part.message_request_mode is None:
        return
    for topic in part.topics:
        mode = SetConsumeMode(part.name, topic, part.message_request_mode, part.pop_share_queue_num)
        _perform(
            cluster,
            script,
            Event(0, "set_consume_mode", mode),
            ("groups", number, "message_request_mode"),
        )


def _perform(cluster: Cluster, script: Script, event: Event, place: Place) -> int:
    """Do a step; one that turns out to be impossible is an error at its place in the script."""
    try:
        return perform(cluster, event)
    except ScenarioError as error:
        raise script.located(ScenarioError(error.what, place)) from None


def _run(script: Script, cluster: Cluster) -> list[EventResult]:
    """Play the events; return what the cluster shows before each and at the end, with zeros for
    what timelines say.
    """
    seen: list[EventResult] = []
    last_step = max(
        (max(0, len(one.client_names) - 1) * one.start_every for one in script.groups), default=0
    )
    event, start, before = "start", 0, Counter[str]()
    for i, one in [*sorted(enumerate(script.events), key=lambda event: event[1].at), (0, None)]:
        end = int(script.duration if one is None else one.at)
        cluster.run(end)
        counts = cluster.counts()
        new = counts - before
        unowned, double_owned = cluster.badly_owned()
        made, passes, notices = (new.pop(name, 0) for name in OTHER_COUNTS)
        settled = max(0, cluster.last_change() - last_step)
        seen.append(
            EventResult(
                start,
                event,
                settled,
                unowned,
                double_owned,
                made,
                0,
                passes,
                notices,
                new.total(),
                0,
                0,
                0,
                0,
            )
        )
        if one is not None:
            event, start, before = str(one), end, counts
            last_step = one.at + _perform(cluster, script, one, ("events", i, one.kind))
    for group in cluster.groups.values():
        for member in group.members:
            member.reader.suspend()
    return seen


def _moves(group: SimulatedGroup, until: int) -> Times:
    """Return the times at which queues went to another client id."""
    numbers: dict[str, int] = {}
    names = np.array(
        [numbers.setdefault(member.client_id, len(numbers)) for member in group.members], np.int32
    )
    return group.timeline.moves(until, names)[1]


def _ownership(group: SimulatedGroup, until: int) -> Ownership:
    timeline = group.timeline
    intervals, processes = timeline.intervals(until)
    client_ids = [member.client_id for member in group.members]
    gaps, double_owned = timeline.gaps(until), timeline.double_owned(until)
    return Ownership(
        group.name,
        timeline.queues,
        client_ids,
        intervals,
        processes,
        gaps,
        double_owned,
        group.flows,
        group.readings,
    )


def _event(
    seen: EventResult, end: int, ownerships: list[Ownership], moves: list[Times]
) -> EventResult:
    """Add what timelines say of the time from an event to the next one."""
    gaps = [one.gaps.within(seen.at, end) for one in ownerships]
    doubles = [one.double_owned.within(seen.at, end) for one in ownerships]
    return seen._replace(
        moved=sum(int(((times >= seen.at) & (times < end)).sum()) for times in moves),
        gap=sum(spans.total() for spans in gaps),
        longest_gap=max((spans.longest() for spans in gaps), default=0),
        double=sum(spans.total() for spans in doubles),
        longest_double=max((spans.longest() for spans in doubles), default=0),
    )


def _group(group: SimulatedGroup, ownership: Ownership, moves: Times, until: int) -> GroupResult:
    gaps, doubles = ownership.gaps, ownership.double_owned
    return GroupResult(
        group.name,
        len(group.timeline.queues),
        len(group.members),
        moves.size,
        gaps.queue.size,
        gaps.total(),
        gaps.longest(),
        doubles.queue.size,
        doubles.total(),
        doubles.longest(),
        *count_all_messages(ownership.queues, ownership.flows, ownership.readings, until),
    )
