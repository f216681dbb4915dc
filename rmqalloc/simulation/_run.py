"""Running a script, under one seed or many."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from rmqalloc.documents.fields import ScenarioError
from rmqalloc.documents.memory import no_collection
from rmqalloc.errors import ArgumentError, all_is_ours
from rmqalloc.remoting import PROFILES
from rmqalloc.simulation._actions import perform
from rmqalloc.simulation._cluster import Cluster
from rmqalloc.simulation._events import Event
from rmqalloc.simulation._member import SimulatedGroup
from rmqalloc.simulation._messages import Flow, MessageCounts, count_all_messages
from rmqalloc.simulation._result import LEAD, EventResult, GroupResult, Ownership, Result
from rmqalloc.simulation._script import Script, read_script
from rmqalloc.simulation._script_parts import GroupPart
from rmqalloc.simulation._settings import SetConsumeMode
from rmqalloc.simulation._steps import ClusterStep, Course, Place
from rmqalloc.simulation._timeline import Times

Progress = Callable[[int, int], object]


class _EventSpan(NamedTuple):
    """Times and owners from the beginning of an event to the next one."""

    number: int
    event: str
    start: int
    end: int
    settled_after: int
    unowned: int
    double_owned: int
    counts: Counter[str]


class _Run(NamedTuple):
    """The results of one run."""

    course: Course
    events: list[EventResult]
    groups: list[GroupResult]
    ownerships: list[Ownership]
    requests: dict[str, int]


def simulate(
    script: Script | str | os.PathLike[str],
    seed: int | None = None,
    profile: str | None = None,
    seeds: int = 1,
    on_progress: Progress | None = None,
) -> Result:
    """Run a script with one or several seeds.

    Parameters
    ----------
    script : Script or path
        The script, or its file.
    seed : int, optional
        Seed of the first run; by default the script's.
    profile : str, optional
        Release; by default the script's: a key of `rmqalloc.remoting.PROFILES`.
    seeds : int
        Number of runs, each with another seed.
    on_progress : callable, optional
        Called after every run with the runs done and all runs.

    Returns
    -------
    Result

    Raises
    ------
    ScenarioError
        The profile does not support the script, or a broker refuses a step.
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
    ('shutdown clients=g-1', 0, 8, True)
    """
    if not isinstance(script, Script):
        script = read_script(script)
    profile = script.profile if profile is None else profile
    if profile not in PROFILES:
        raise ArgumentError(f"there is no profile {profile!r}; known are {', '.join(PROFILES)}")
    if seeds < 1:
        raise ArgumentError(f"seeds must be a number of runs from 1 on, got {seeds}")
    script.check_profile(profile)
    first = script.seed if seed is None else seed
    events: list[EventResult] = []
    groups: list[GroupResult] = []
    worst, drawn, drawn_seed = -1, None, first
    for number in range(seeds):
        run = _one_run(script, first + number, profile)
        events += run.events
        groups += run.groups
        unowned = sum(group.gap for group in run.groups)
        if unowned > worst:
            worst, drawn, drawn_seed = unowned, run, first + number
        if on_progress is not None:
            on_progress(number + 1, seeds)
    assert drawn is not None  # there is a run
    course = drawn.course
    since = max(0, course.begin - LEAD)
    return Result(
        script.name,
        profile,
        first,
        seeds,
        course.end - since,
        events,
        groups,
        drawn.requests,
        drawn.ownerships,
        drawn_seed,
        since,
        script.notes,
    )


def _one_run(script: Script, seed: int, profile: str) -> _Run:
    """Run a script under one seed."""
    course = script.course(seed)
    with no_collection(), all_is_ours():
        cluster = _built(script, course, Cluster(PROFILES[profile], seed, int(script.latency)))
        spans = _run(script, course, cluster)
        groups = list(cluster.groups.values())
        ownerships = [_ownership(group, course.end) for group in groups]
        moves = [_moves(group, course.end) for group in groups]
        rows = [_event(span, course, seed, ownerships, moves) for span in spans]
        of_groups = [
            _group(group, ownership, times, course, seed)
            for group, ownership, times in zip(groups, ownerships, moves, strict=True)
        ]
    requests = dict(sorted(cluster.network.requests.items()))
    return _Run(course, rows, of_groups, ownerships, requests)


def _built(script: Script, course: Course, cluster: Cluster) -> Cluster:
    """Return the cluster as it is when the simulation begins."""
    for broker in script.brokers:
        for settings in script.broker_settings:
            if settings.brokers is None or broker in settings.brokers:
                cluster.configure_broker(broker, settings.given())
        cluster.start_broker(broker)
    for topic in script.topics:
        for broker, read_queue_nums in topic.queues_by_broker(script.brokers).items():
            cluster.set_topic(topic.name, broker, read_queue_nums)
    produced = {topic.name: topic.produced_per_second for topic in script.topics}
    for number, part in enumerate(script.groups):
        strategy = part.made_strategy()
        assert strategy is not None  # it has a default
        flows = {topic: Flow(produced[topic], part.consumed_per_second) for topic in part.topics}
        cluster.add_group(
            part.name,
            flows,
            strategy,
            part.ordered,
            int(part.listener_time),
            part.server_assignment,
        )
        _configure(cluster, part, script, number)
    for start in course.starts:
        group, client = cluster.groups[start.group], start.client
        own = client.client_id, client.made_strategy(), client.topics
        cluster.clock.call_later(start.at, partial(cluster.join, group, start.name, *own))
    return cluster


def _configure(cluster: Cluster, part: GroupPart, script: Script, number: int) -> None:
    """Set what brokers know of a group before its first heartbeat."""
    if part.subscription_group is not None:
        for broker in script.brokers:
            cluster.configure_group(part.name, broker, **vars(part.subscription_group))
    if part.message_request_mode is None:
        return
    for topic in part.topics:
        mode = SetConsumeMode(
            topic=topic,
            mode=part.message_request_mode,
            pop_share_queue_num=part.pop_share_queue_num,
            group=part.name,
        )
        place = "groups", number, "message_request_mode"
        _perform(cluster, script, Event(0, "set_consume_mode", mode), place)


def _perform(cluster: Cluster, script: Script, step: ClusterStep | Event, place: Place) -> None:
    """Do a step; one that turns out to be impossible is an error at its place in the script."""
    try:
        perform(cluster, step)
    except ScenarioError as error:
        raise script.located(ScenarioError(error.what, place)) from None


def _run(script: Script, course: Course, cluster: Cluster) -> list[_EventSpan]:
    """Play the steps; return the times and owners from each event to the next one."""
    spans: list[_EventSpan] = []
    last_start = max((start.at for start in course.starts), default=0)
    event, start, last_step, before = "start", 0, last_start, Counter[str]()
    steps = list(reversed(course.steps))
    for number, timed in enumerate([*course.events, None]):
        end = course.end if timed is None else timed.at
        while steps and (steps[-1].at, steps[-1].event) < (end, number):
            step = steps.pop()
            cluster.run(step.at)
            _perform(cluster, script, step, step.place)
        cluster.run(end)
        counts = cluster.counts()
        owned = cluster.badly_owned()
        span = _EventSpan(
            number,
            event,
            start,
            end,
            settled_after=max(0, cluster.last_change() - last_step),
            unowned=owned.unowned,
            double_owned=owned.double_owned,
            counts=counts - before,
        )
        spans.append(span)
        if timed is not None:
            event, start, last_step, before = str(timed.event), end, timed.until, counts
    for group in cluster.groups.values():
        for member in group.members:
            member.reader.suspend()
    return spans[1:] if course.begin else spans


def _moves(group: SimulatedGroup, until: int) -> Times:
    """Return the times at which queues went to another client id."""
    numbers: dict[str, int] = {}
    names = []
    for member in group.members:
        names.append(numbers.setdefault(member.client_id, len(numbers)))
    return group.timeline.moves(until, np.array(names, np.int32))[1]


def _ownership(group: SimulatedGroup, until: int) -> Ownership:
    timeline = group.timeline
    intervals, processes = timeline.intervals(until)
    client_ids = [member.client_id for member in group.members]
    gaps, double_owned = timeline.gaps(until), timeline.double_owned(until)
    readings = [reading for reading in group.readings if timeline.is_first(reading.place)]
    return Ownership(
        group.name,
        timeline.queues,
        client_ids,
        intervals=intervals,
        processes=processes,
        gaps=gaps,
        double_owned=double_owned,
        flows=group.flows,
        readings=readings,
    )


def _event(
    span: _EventSpan, course: Course, seed: int, ownerships: list[Ownership], moves: list[Times]
) -> EventResult:
    """Return a row of an event, with figures of the timelines."""
    start, end, counts = span.start, span.end, span.counts
    gaps = [ownership.gaps.within(start, end) for ownership in ownerships]
    doubles = [ownership.double_owned.within(start, end) for ownership in ownerships]
    messages: MessageCounts | None = None
    for ownership in ownerships:
        found = _messages(ownership, end, start)
        if found is not None:
            messages = found if messages is None else messages.plus(found)
    made = counts.pop("process_queues", 0)
    passes = counts.pop("passes", 0)
    notices = counts.pop("notices", 0)
    return EventResult(
        seed=seed,
        number=span.number,
        at=start - course.begin,
        event=span.event,
        settled_after=span.settled_after,
        unowned=span.unowned,
        double_owned=span.double_owned,
        moved=sum(int(((times >= start) & (times < end)).sum()) for times in moves),
        gap=sum(spans.total() for spans in gaps),
        longest_gap=max((spans.longest() for spans in gaps), default=0),
        double=sum(spans.total() for spans in doubles),
        longest_double=max((spans.longest() for spans in doubles), default=0),
        consumed_twice=None if messages is None else messages.consumed_twice,
        delayed=None if messages is None else messages.delayed,
        longest_delay=None if messages is None else messages.longest_delay,
        process_queues=made,
        passes=passes,
        notices=notices,
        requests=counts.total(),
    )


def _messages(ownership: Ownership, until: int, since: int) -> MessageCounts | None:
    """Count the messages of a group; None if it is sent none."""
    if not any(flow.produced_per_second for flow in ownership.flows.values()):
        return None
    return count_all_messages(ownership.queues, ownership.flows, ownership.readings, until, since)


def _group(
    group: SimulatedGroup, ownership: Ownership, moves: Times, course: Course, seed: int
) -> GroupResult:
    gaps = ownership.gaps.within(course.begin, course.end)
    doubles = ownership.double_owned.within(course.begin, course.end)
    messages = _messages(ownership, course.end, course.begin)
    return GroupResult(
        seed=seed,
        consumer_group=group.name,
        n_queues=len(group.timeline.queues),
        n_processes=len(group.members),
        moved=int((moves >= course.begin).sum()),
        n_gaps=gaps.queue.size,
        gap=gaps.total(),
        longest_gap=gaps.longest(),
        n_double=doubles.queue.size,
        double=doubles.total(),
        longest_double=doubles.longest(),
        consumed_twice=None if messages is None else messages.consumed_twice,
        delayed=None if messages is None else messages.delayed,
        longest_delay=None if messages is None else messages.longest_delay,
        left=None if messages is None else messages.left,
    )
