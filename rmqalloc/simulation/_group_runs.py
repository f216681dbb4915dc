"""Many runs of one group, each with another seed: `simulate_group`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import replace

import numpy as np

from rmqalloc.documents.fields import ScenarioError
from rmqalloc.errors import ArgumentError
from rmqalloc.evidence import Known
from rmqalloc.model import MessageQueue
from rmqalloc.simulation._group_events import StagedEvent, Timed, read_event
from rmqalloc.simulation._group_result import GroupRun, GroupSimulation
from rmqalloc.simulation._group_script import GroupScript, group_script
from rmqalloc.simulation._group_shape import GroupShape, shape_of
from rmqalloc.simulation._message_rates import MessageRates
from rmqalloc.simulation._messages import count_all_messages
from rmqalloc.simulation._result import EventResult, Ownership, Result
from rmqalloc.simulation._run import simulate
from rmqalloc.simulation._timeline import Spans
from rmqalloc.snapshot.snapshot import Snapshot

Progress = Callable[[int, int], object]

LEAD = 10_000
"""Milliseconds before the first event that are drawn."""

_NO_RATES = "how many messages the group is sent is not known, so nothing is said of messages"
_AT_ONCE = "how many messages its clients can consume is not known: they catch up at once, and delays are lower bounds"
_TOO_MANY = (
    "the group gets as many messages as it can consume, or more: delays grow whatever happens"
)


def simulate_group(
    snapshot: Snapshot | Known,
    consumer_group: str,
    events: Sequence[str | StagedEvent] | str,
    *,
    seeds: int = 50,
    first_seed: int = 0,
    rates: MessageRates | float | None = None,
    profile: str | None = None,
    in_step: bool = False,
    on_progress: Progress | None = None,
) -> GroupSimulation:
    """Simulate what events do to a group that a snapshot shows, many times.

    Topics, brokers, queues, clients, what they divide by and their release come from the snapshot.
    The clients start, settle, and then the events begin, at another moment of everybody's timers in
    every run.

    Parameters
    ----------
    snapshot : Snapshot or Known
    consumer_group : str
        Its name.
    events : sequence of str (or of what `events_of_scenario` returns), or str
        ``KIND key=value ...``, such as ``restart batch=2``, ``crash clients=1``, ``freeze
        lasts=45s``, ``scale to=6``, ``restart_broker brokers=broker-a lasts=30s``; see
        `rmqalloc.simulation.GROUP_EVENTS`.
    seeds : int
        How many runs.
    first_seed : int
        Seed of the first run; the others count on.
    rates : MessageRates or float, optional
        Messages per second that the group is sent; see `rates_between`. Without it nothing is said
        of messages.
    profile : str, optional
        Release, a key of `rmqalloc.remoting.PROFILES`; by default that of most of the clients.
    in_step : bool
        Whether clients still rebalance in step, as soon after the last one has joined; else they
        have drifted apart.
    on_progress : callable, optional
        Called after every run with the runs done and all runs.

    Raises
    ------
    UnsimulatedError
        A simulation cannot represent the group: it broadcasts, pops messages, or its clients or
        strategy are not known.
    ScenarioError
        An event is wrong, or not possible when it comes.
    NoMatchError
        There is no such group.

    Examples
    --------
    >>> import rmqalloc
    >>> made = simulate_group(rmqalloc.read("example:seed"), "by-average", "vanish clients=1", seeds=3)
    >>> made, made.quantiles("unowned_at_end")
    (<GroupSimulation of 'by-average': 1 event, 3 runs>, Quantiles(p50=0, p99=0, worst=0))
    >>> 100 < made.quantiles("settle_seconds").p50 < 160, made.quantiles("messages_delayed")
    (True, None)
    """
    if seeds < 1:
        raise ArgumentError(f"seeds must be a number of runs from 1 on, got {seeds}")
    given = (events,) if isinstance(events, str) else tuple(events)
    if not given:
        raise ScenarioError(
            "needs an event, such as 'restart batch=2' or 'crash clients=1'", "events"
        )
    shape = shape_of(snapshot, consumer_group, profile)
    staged = [read_event(one) if isinstance(one, str) else one for one in given]
    if isinstance(rates, int | float):
        rates = MessageRates(float(rates))
    scripts = (
        group_script(shape, staged, first_seed + number, rates, in_step) for number in range(seeds)
    )
    rows, drawn = _all_runs(
        shape, scripts, lambda done: None if on_progress is None else on_progress(done, seeds)
    )
    return GroupSimulation(
        shape.consumer_group,
        "brokers assign" if shape.is_served else str(shape.method),
        shape.profile,
        len(shape.clients),
        shape.n_queues,
        shape.lag,
        tuple(one.text for one in staged),
        rows,
        drawn,
        (*shape.notes, *_unsaid(rates, shape)),
    )


def _unsaid(rates: MessageRates | None, shape: GroupShape) -> Iterator[str]:
    """Yield what is not known of messages, or makes their figures useless."""
    if rates is None:
        yield _NO_RATES
    elif rates.consumed is None:
        yield _AT_ONCE
    elif sum(rates.by_topic(shape.topics).values()) >= rates.consumed:
        yield _TOO_MANY


def _all_runs(
    shape: GroupShape, scripts: Iterable[GroupScript], on_progress: Callable[[int], object]
) -> tuple[tuple[GroupRun, ...], Result]:
    """Return the figures of all runs, and the run in which queues were unowned longest."""
    known = {queue for topic in shape.topics for queue in topic.queues()}
    rows: list[GroupRun] = []
    worst, drawn = -1.0, None
    for number, made in enumerate(scripts, 1):
        result = simulate(made.script)
        mine = _figures(made, result, known)
        rows += mine
        unowned = sum(one.unowned_queue_seconds for one in mine)
        if unowned > worst:
            worst, drawn = unowned, _from_events(result, made.timed)
        on_progress(number)
    assert drawn is not None  # there is a run
    return tuple(rows), drawn


def _figures(made: GroupScript, result: Result, known: Set[MessageQueue]) -> list[GroupRun]:
    """Return the figures of a run, a row for every event; messages are those of queues that were
    there before.
    """
    [ownership] = result.ownerships
    readings = [one for one in ownership.readings if ownership.queues[one.place] in known]
    ownership = ownership._replace(readings=readings)
    ends = [*(one.at for one in made.timed[1:]), result.duration]
    return [_row(made, result, ownership, number, end) for number, end in enumerate(ends)]


def _row(
    made: GroupScript, result: Result, ownership: Ownership, number: int, end: int
) -> GroupRun:
    timed = made.timed[number]
    gaps, doubles = (
        ownership.gaps.within(timed.at, end),
        ownership.double_owned.within(timed.at, end),
    )
    times = np.concatenate([ownership.intervals.start, ownership.intervals.end])
    last = int(times[(times >= timed.at) & (times < end)].max(initial=timed.at))
    messages: list[float | None] = [None, None, None]
    if made.scale is not None:
        counts = count_all_messages(
            ownership.queues, ownership.flows, ownership.readings, end, timed.at
        )
        messages = [
            counts.delayed / made.scale,
            counts.longest_delay / 1_000,
            counts.consumed_twice / made.scale,
        ]
    return GroupRun(
        result.seed,
        number + 1,
        gaps.total() / 1_000,
        gaps.longest() / 1_000,
        doubles.total() / 1_000,
        doubles.longest() / 1_000,
        max(0, last - timed.until) / 1_000,
        sum(event.moved for event in result.events if timed.at <= event.at < end),
        int((gaps.end == end).sum()),
        int((doubles.end == end).sum()),
        *messages,
    )


def _from_events(result: Result, timed: Sequence[Timed]) -> Result:
    """Return a run from shortly before its first event on, with the events as they were given, for
    pictures.
    """
    since = timed[0].at - LEAD
    [ownership] = result.ownerships
    kept = ownership.intervals.end > since
    shifted = ownership._replace(
        intervals=_later(ownership.intervals, since),
        processes=ownership.processes[kept],
        gaps=_later(ownership.gaps, since),
        double_owned=_later(ownership.double_owned, since),
        readings=(),
    )
    start = result.events[0]._replace(at=0)
    events = [start, *(_marked(start, one, since) for one in timed)]
    return replace(result, duration=result.duration - since, events=events, ownerships=[shifted])


def _later(spans: Spans, since: int) -> Spans:
    """Return what of spans lies after a time, counted from it."""
    kept = spans.end > since
    return Spans(
        spans.queue[kept], np.maximum(spans.start[kept] - since, 0), spans.end[kept] - since
    )


def _marked(event: EventResult, timed: Timed, since: int) -> EventResult:
    return event._replace(at=timed.at - since, event=timed.text)
