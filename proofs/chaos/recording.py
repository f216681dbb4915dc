"""What a simulation records of its one group, for judges that know nothing of the engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from chaos.schedules import Data, last_fault, settling
from rmqalloc import MessageQueue
from rmqalloc.remoting import PROFILES, ResponseError
from rmqalloc.simulation import Cluster, Flow, Script
from rmqalloc.simulation._messages import Reading
from rmqalloc.simulation._run import _built, _run


class Interval(NamedTuple):
    """A process works on a queue from a time to a time, in milliseconds since the beginning."""

    queue: MessageQueue
    process: int
    start: int
    end: int


class Stored(NamedTuple):
    """An offset reaches a broker, or is its answer, at a time."""

    at: int
    offset: int


Offsets = dict[MessageQueue, list[Stored]]


@dataclass
class Record:
    """A group from the beginning to the end of a simulation.

    Attributes
    ----------
    script : Script
        What happened.
    is_ordered : bool
        Whether the group consumes in order.
    flow : Flow
        Rates of each queue.
    queues : list of MessageQueue
        Queues that are to be read at the end.
    names : list of str
        The name of every process.
    intervals : list of Interval
        Who worked on what.
    readings : dict of MessageQueue to list of Reading
        What was consumed, by start.
    stored, answered : dict of MessageQueue to list of Stored
        Offsets that brokers stored, and those that they answered when asked (0 for none), in order.
    alive : set of int
        Processes that run at the end.
    settled, until : int
        T after the last fault, and the end.
    """

    script: Script
    is_ordered: bool
    flow: Flow
    queues: list[MessageQueue]
    names: list[str]
    intervals: list[Interval]
    readings: dict[MessageQueue, list[Reading]]
    alive: set[int]
    settled: int
    until: int
    stored: Offsets = field(default_factory=dict)
    answered: Offsets = field(default_factory=dict)


def play(data: Data) -> Record:
    """Run a script and return what it recorded."""
    script = Script.of(data)
    course = script.course()
    cluster = Cluster(PROFILES[script.profile], script.seed, int(script.latency))
    _built(script, course, cluster)
    stored: Offsets = {}
    answered: Offsets = {}
    for name in cluster.broker_names:
        _watch(cluster, name, stored, answered)
    _run(script, course, cluster)
    return _recorded(script, cluster, stored, answered)


def _watch(cluster: Cluster, broker_name: str, stored: Offsets, answered: Offsets) -> None:
    """Note what a broker stores and answers; its offsets outlive its restarts."""
    offsets = cluster._brokers[broker_name][0].offsets
    commit, query = offsets.commit_offsets, offsets.query_offset

    def noted(consumer_group: str, arrived: Mapping[MessageQueue, int]) -> None:
        for queue, offset in arrived.items():
            stored.setdefault(queue, []).append(Stored(cluster.clock.elapsed(), offset))
        commit(consumer_group, arrived)

    def asked(consumer_group: str, queue: MessageQueue) -> int:
        try:
            offset = query(consumer_group, queue)
        except ResponseError:
            answered.setdefault(queue, []).append(Stored(cluster.clock.elapsed(), 0))
            raise
        answered.setdefault(queue, []).append(Stored(cluster.clock.elapsed(), offset))
        return offset

    offsets.commit_offsets, offsets.query_offset = noted, asked  # type: ignore[method-assign]


def _recorded(script: Script, cluster: Cluster, stored: Offsets, answered: Offsets) -> Record:
    group = cluster.groups[script.groups[0].name]
    timeline, until = group.timeline, int(script.duration)
    spans, processes = timeline.intervals(until)
    rows = zip(
        spans.queue.tolist(),
        processes.tolist(),
        spans.start.tolist(),
        spans.end.tolist(),
        strict=True,
    )
    readings: dict[MessageQueue, list[Reading]] = {}
    for reading in sorted(group.readings, key=lambda one: one.since):
        readings.setdefault(timeline.queues[reading.place], []).append(reading)
    return Record(
        script=script,
        is_ordered=group.is_ordered,
        flow=group.flows[script.topics[0].name],
        queues=[queue for place, queue in enumerate(timeline.queues) if timeline.exists(place)],
        names=[member.name for member in group.members],
        intervals=[
            Interval(timeline.queues[place], process, start, end)
            for place, process, start, end in rows
        ],
        readings=readings,
        alive={number for number, member in enumerate(group.members) if member.process.is_alive},
        settled=last_fault(script) + settling(script),
        until=until,
        stored=stored,
        answered=answered,
    )
